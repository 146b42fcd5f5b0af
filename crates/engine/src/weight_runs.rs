//! The parts of a list whose weights are together, on the device or in the log.

use std::ops::Range;

use cenote_store::{List, WeightPlace, WeightRun};

/// The parts of a list, which has these `entries` of its page, and where their weights are; `runs`
/// are those of the page, ascending.
pub(crate) fn parts<'a>(
    list: List<'a>,
    entries: Range<usize>,
    runs: &'a [WeightRun<'a>],
) -> impl Iterator<Item = (List<'a>, WeightPlace<'a>)> {
    let from = runs.partition_point(|run| run.entries.end <= entries.start);
    let start = entries.start;
    let runs = runs[from..].iter().map_while(move |run| run.within(&entries));
    runs.map(move |run| {
        let within = run.entries.start - start..run.entries.end - start;
        let skip = list.skip + within.start as u64;
        (List { skip, targets: &list.targets[within], ..list }, run.place)
    })
}

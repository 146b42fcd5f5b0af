//! Copies of active lists and of pages, which wait for their weights: how many bytes of them a
//! worker may have, and where they are.

use std::ops::Range;

use cenote_store::{Adjacency, WeightColumn};

use crate::fetch::Slots;
use crate::tasks::PageTask;

/// Copies of one request.
pub(crate) trait Copies: Default {
    /// Whether there are any; false in visits without weights.
    const WAIT: bool = true;

    /// Bytes that the copies of a page take at most.
    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64;

    /// The addresses of the weights that they wait for; none of the ranges is empty.
    fn addresses(&self) -> impl Iterator<Item = Range<u64>>;

    /// Puts them in the order of their addresses, which need not be that of their pages.
    fn sort(&mut self);

    /// The pages of weights that they need, ascending, each once.
    fn weight_pages(&mut self, column: &WeightColumn) -> Vec<u64> {
        self.sort();
        let mut pages = Vec::new();
        for addresses in self.addresses() {
            let active = column.pages_of(addresses);
            let known = pages.last().map_or(0, |last| last + 1);
            pages.extend(active.start.max(known)..active.end);
        }
        pages
    }
}

impl Copies for () {
    const WAIT: bool = false;

    fn cost_of_page(_: &Adjacency, _: &WeightColumn, _: u64) -> u64 {
        0
    }

    fn addresses(&self) -> impl Iterator<Item = Range<u64>> {
        std::iter::empty()
    }

    fn sort(&mut self) {}
}

/// Bytes that the copies of some pages take at most. Vectors grow by doubling, so twice what they
/// hold.
pub(super) fn cost_of<C: Copies>(
    adjacency: &Adjacency,
    column: &WeightColumn,
    tasks: &[PageTask],
) -> u64 {
    2 * tasks.iter().map(|task| C::cost_of_page(adjacency, column, task.page)).sum::<u64>()
}

/// Copies that one worker may have waiting, as far as pages are not larger: what a fast drive
/// brings in a millisecond.
const COPIES_BYTES: u64 = 2 << 20;

/// Bytes of copies that one worker may have waiting: at least two of any page, and no more than all
/// lists.
pub(super) fn bytes_max<C: Copies>(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
    let (mut dearest, mut all) = (0, 0);
    for page in 0..adjacency.pages() {
        let cost = C::cost_of_page(adjacency, column, page);
        (dearest, all) = (cost.max(dearest), all + cost);
    }
    (4 * dearest).max(COPIES_BYTES).min(2 * all)
}

/// Cuts ascending tasks where the copies of one extent would take more than half of that.
pub(super) fn groups<'t, C: Copies>(
    adjacency: &Adjacency,
    column: &WeightColumn,
    tasks: &'t [PageTask],
    bytes_max: u64,
) -> Vec<&'t [PageTask]> {
    let (mut groups, mut start, mut cost) = (Vec::new(), 0, 0);
    for (i, task) in tasks.iter().enumerate() {
        let more = 2 * C::cost_of_page(adjacency, column, task.page);
        if cost > 0 && cost + more > bytes_max / 2 {
            groups.push(&tasks[start..i]);
            (start, cost) = (i, 0);
        }
        cost += more;
    }
    groups.push(&tasks[start..]);
    groups
}

/// The copies of one worker that wait.
pub(super) struct Waiting<C> {
    slots: Slots<(C, u64, usize)>,
    /// Bytes of all copies, and of what is on its way to become some.
    pub cost: u64,
}

impl<C> Waiting<C> {
    pub fn new() -> Self {
        Self { slots: Slots::new(), cost: 0 }
    }

    /// Sets copies aside for which `cost` is reserved; their place.
    pub fn put(&mut self, copies: C, cost: u64) -> usize {
        self.slots.insert((copies, cost, 0))
    }

    /// How many reads of weights the copies wait for.
    pub fn expect_parts(&mut self, place: usize, parts: usize) {
        self.slots.get_mut(place).2 = parts;
    }

    pub fn get_mut(&mut self, place: usize) -> &mut C {
        &mut self.slots.get_mut(place).0
    }

    /// One of the reads is done.
    pub fn part_done(&mut self, place: usize) {
        let (_, cost, parts) = self.slots.get_mut(place);
        *parts -= 1;
        if *parts == 0 {
            self.cost -= *cost;
            self.slots.remove(place);
        }
    }
}

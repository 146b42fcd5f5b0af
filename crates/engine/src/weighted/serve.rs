//! What a weighted visit does with pages: lists to a [`WeightedKernel`], or whole pages to a
//! [`WeightedPageKernel`](super::WeightedPageKernel). What is wanted of a page waits in a copy for
//! its weights; how many bytes of copies may wait is decided here.

use std::ops::Range;

use cenote_store::{Adjacency, List, Page, WeightColumn, Weights};

use super::WeightedKernel;
use super::batch::{self, Batch};
use crate::frontier::Wanted;
use crate::tasks::PageTask;

/// A page of lists that is there.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'p> {
    pub page: &'p Page<'p>,
    /// The page as it lies in the file.
    pub bytes: &'p [u8],
    pub task: PageTask,
    /// Address of the weight of its first entry.
    pub ordinal: u64,
}

/// Copies that wait for their weights.
pub(crate) trait Copies: Default {
    /// The addresses of the weights that they wait for; none of the ranges is empty.
    fn ordinals(&self) -> impl Iterator<Item = Range<u64>>;

    /// Puts them in the order of their addresses, which need not be that of their pages.
    fn sort(&mut self);

    /// The pages of weights that they need, ascending, each once.
    fn weight_pages(&mut self, column: &WeightColumn) -> Vec<u64> {
        self.sort();
        let mut pages = Vec::new();
        for ordinals in self.ordinals() {
            let wanted = column.pages_of(ordinals);
            let known = pages.last().map_or(0, |last| last + 1);
            pages.extend(wanted.start.max(known)..wanted.end);
        }
        pages
    }
}

/// One weighted visit's way with pages.
pub(crate) trait Serve: Sync {
    type Local: Send;
    type Batch: Copies;

    fn local(&self) -> Self::Local;

    /// Bytes that the copies of a page take at most.
    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64;

    /// Takes a page of lists: copies what needs weights, unless `now` has given them already.
    fn take(
        &self,
        local: &mut Self::Local,
        arrival: Arrival<'_>,
        batch: &mut Self::Batch,
        now: impl FnMut(&mut Self::Local, &List<'_>, u64) -> bool,
    );

    /// A list whose weights, from address `first` on, are there at once.
    fn list(
        &self,
        local: &mut Self::Local,
        list: &List<'_>,
        ordinal: u64,
        first: u64,
        weights: Weights<'_>,
    );

    /// Weights, from address `first` on, for all that waits for them.
    fn weights(
        &self,
        local: &mut Self::Local,
        batch: &mut Self::Batch,
        first: u64,
        weights: Weights<'_>,
    );
}

/// Wanted lists go to a kernel.
pub(crate) struct Lists<'a, K> {
    pub wanted: Wanted<'a>,
    pub kernel: &'a K,
}

impl<K: WeightedKernel> Serve for Lists<'_, K> {
    type Local = K::Local;
    type Batch = Batch;

    fn local(&self) -> K::Local {
        self.kernel.local()
    }

    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
        batch::cost_of_page(adjacency, column, page)
    }

    fn take(
        &self,
        local: &mut K::Local,
        arrival: Arrival<'_>,
        batch: &mut Batch,
        mut now: impl FnMut(&mut K::Local, &List<'_>, u64) -> bool,
    ) {
        let Arrival { page, task, ordinal, .. } = arrival;
        let mut give = |list: &List<'_>, start: usize| {
            let ordinal = ordinal + start as u64;
            if !list.targets.is_empty() && !now(local, list, ordinal) {
                batch.push(list, ordinal);
            }
        };
        if let Some(vertices) = self.wanted.list() {
            for &v in &vertices[task.from as usize..task.to as usize] {
                let place = (v - page.first_vertex()) as usize;
                give(&page.list(place), page.start(place));
            }
            return;
        }
        let mut start = 0;
        for list in page.lists() {
            if self.wanted.contains(list.vertex) {
                give(&list, start);
            }
            start += list.targets.len();
        }
    }

    fn list(
        &self,
        local: &mut K::Local,
        list: &List<'_>,
        ordinal: u64,
        first: u64,
        weights: Weights<'_>,
    ) {
        batch::serve(self.kernel, local, list, ordinal, first, weights);
    }

    fn weights(&self, local: &mut K::Local, batch: &mut Batch, first: u64, weights: Weights<'_>) {
        batch.serve(self.kernel, local, first, weights);
    }
}

/// The same of some pages. Vectors grow by doubling, so twice what they hold.
pub fn cost_of<S: Serve>(adjacency: &Adjacency, column: &WeightColumn, tasks: &[PageTask]) -> u64 {
    2 * tasks.iter().map(|task| S::cost_of_page(adjacency, column, task.page)).sum::<u64>()
}

/// Copies that one worker may have waiting, as far as pages are not larger: what a fast drive
/// brings in a millisecond.
const COPIES_BYTES: u64 = 2 << 20;

/// Bytes of copies that one worker may have waiting: at least two of any page, and no more than all
/// lists.
pub fn bytes_max<S: Serve>(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
    let (mut dearest, mut all) = (0, 0);
    for page in 0..adjacency.pages() {
        let cost = S::cost_of_page(adjacency, column, page);
        (dearest, all) = (cost.max(dearest), all + cost);
    }
    (4 * dearest).max(COPIES_BYTES).min(2 * all)
}

/// Cuts ascending tasks where the copies of one extent would take more than half of that.
pub fn groups<'t, S: Serve>(
    adjacency: &Adjacency,
    column: &WeightColumn,
    tasks: &'t [PageTask],
    bytes_max: u64,
) -> Vec<&'t [PageTask]> {
    let (mut groups, mut start, mut cost) = (Vec::new(), 0, 0);
    for (i, task) in tasks.iter().enumerate() {
        let more = 2 * S::cost_of_page(adjacency, column, task.page);
        if cost > 0 && cost + more > bytes_max / 2 {
            groups.push(&tasks[start..i]);
            (start, cost) = (i, 0);
        }
        cost += more;
    }
    groups.push(&tasks[start..]);
    groups
}

/// The batches of one worker that wait. Emptied places are used again.
pub(crate) struct Waiting<B> {
    slots: Vec<Slot<B>>,
    free: Vec<usize>,
    /// Bytes of all batches, and of what is on its way to become one.
    pub cost: u64,
}

struct Slot<B> {
    batch: B,
    /// Reads of weights that it waits for.
    parts: usize,
    cost: u64,
}

impl<B: Default> Waiting<B> {
    pub fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), cost: 0 }
    }

    /// Puts a batch aside that waits for so many reads, and for which `cost` is reserved. Gives
    /// its place.
    pub fn put(&mut self, batch: B, parts: usize, cost: u64) -> usize {
        let slot = Slot { batch, parts, cost };
        match self.free.pop() {
            Some(place) => {
                self.slots[place] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        }
    }

    pub fn batch(&mut self, place: usize) -> &mut B {
        &mut self.slots[place].batch
    }

    /// One read for a batch is done.
    pub fn done(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        slot.parts -= 1;
        if slot.parts == 0 {
            self.cost -= slot.cost;
            slot.batch = B::default();
            self.free.push(place);
        }
    }
}

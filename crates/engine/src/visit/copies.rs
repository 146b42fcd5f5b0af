//! Copies of active lists and pages that wait for their weights, and their memory limits.

use std::ops::Range;

use cenote_device::Slab;
use cenote_store::{Adjacency, WeightColumn};

use crate::tasks::PageTask;

/// The copies of one request.
pub(crate) trait Copies: Default {
    /// Whether the visit has weights, and so makes copies.
    const WAIT: bool = true;

    /// The most bytes that the copies of a page take.
    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64;

    /// The addresses of the weights that are on the device, as non-empty ranges.
    fn addresses(&self) -> impl Iterator<Item = Range<u64>>;

    /// Sorts the copies by address, which need not be the order of their pages.
    fn sort(&mut self);

    /// The pages of the missing weights, ascending, each once.
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

/// The most entries of a page of lists: those of the page, and those that the log adds.
pub(super) fn entries_max(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
    let addresses = column.addresses_of(page);
    addresses.end - addresses.start + adjacency.weight_edits(page) as u64
}

/// The most bytes that the copies of some pages take: twice their length, as vectors double.
pub(super) fn cost_of<C: Copies>(
    adjacency: &Adjacency,
    column: &WeightColumn,
    tasks: &[PageTask],
) -> u64 {
    2 * tasks.iter().map(|task| C::cost_of_page(adjacency, column, task.page)).sum::<u64>()
}

/// Bytes of copies that may wait in one worker: what a fast drive reads in a millisecond.
const COPIES_BYTES: u64 = 2 << 20;

/// They are at most one part in so many of all lists: little memory is worth more elsewhere.
const COPIES_SHARE: u64 = 64;

/// But at least so many bytes, and those of so many pages: with fewer, requests are small.
const COPIES_BYTES_LEAST: u64 = 256 << 10;
const COPIES_PAGES: u64 = 16;

/// The most bytes of copies that wait in one worker: [`COPIES_BYTES`], on small graphs less, but at
/// least two copies of any page, and no more than all lists.
pub(super) fn bytes_max<C: Copies>(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
    let (mut cost_max, mut all) = (0, 0);
    for page in 0..adjacency.pages() {
        let cost = C::cost_of_page(adjacency, column, page);
        (cost_max, all) = (cost.max(cost_max), all + cost);
    }
    let share = (all / COPIES_SHARE).max(COPIES_PAGES * cost_max);
    let share = share.clamp(COPIES_BYTES_LEAST, COPIES_BYTES);
    share.max(4 * cost_max).min(2 * all)
}

/// Splits ascending tasks so that the copies of an extent take at most half of `bytes_max`.
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

/// The waiting copies of one worker.
pub(super) struct Waiting<C> {
    /// Copies, their bytes, and how many reads of weights they wait for.
    slots: Slab<(C, u64, usize)>,
    /// Bytes of all copies, including those of lists in flight.
    pub cost: u64,
}

impl<C> Waiting<C> {
    pub fn new() -> Self {
        Self { slots: Slab::with_capacity(0), cost: 0 }
    }

    /// Stores copies for which `cost` is reserved; returns their slot.
    pub fn insert(&mut self, copies: C, cost: u64) -> u64 {
        self.slots.insert((copies, cost, 0))
    }

    /// Sets how many reads of weights the copies wait for.
    pub fn expect_parts(&mut self, place: u64, parts: usize) {
        self.slots.get_mut(place).2 = parts;
    }

    pub fn get_mut(&mut self, place: u64) -> &mut C {
        &mut self.slots.get_mut(place).0
    }

    /// Counts one read as done; after the last one, drops the copies.
    pub fn part_done(&mut self, place: u64) {
        let (_, cost, parts) = self.slots.get_mut(place);
        *parts -= 1;
        if *parts == 0 {
            self.cost -= *cost;
            self.slots.remove(place);
        }
    }
}

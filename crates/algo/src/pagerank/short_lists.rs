//! Sums of the shares of the lists of a page whose lists are short.
//!
//! A loop for each list would end at a place that the processor cannot foresee. So all entries of
//! [`BLOCK`] lists are summed in one loop, and a list has the difference of two of its sums, which
//! is exact since sums are integers. What follows from the sums is computed for all vertices of the
//! block in loops without branches.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use cenote_engine::{List, Page, VertexId, prefetch};

use super::fixed::WideSum;
use super::gather::{PREFETCH_ENTRIES, gather};
use super::load;

/// Lists of a block.
pub(super) const BLOCK: usize = 64;

/// Pages whose lists have at least so many entries on average are summed list by list. Kronecker
/// graphs and graphs of chance with tens of entries a vertex have no others; blocks took 5 to 20%
/// more time for them.
const LONG_LIST: usize = 8;

/// The most entries of a block: twice the mean that pages of short lists have.
const ENTRIES_MAX: usize = 2 * LONG_LIST * BLOCK;

/// Whether the lists of a page are short.
#[inline]
pub(super) fn are_short(page: &Page<'_>) -> bool {
    page.entries().len() < LONG_LIST * page.list_count()
}

/// Consecutive vertices with whole lists.
pub(super) struct Block<'a> {
    pub first: VertexId,
    /// The lengths of their lists.
    pub lengths: &'a [u16],
    pub sums: &'a [WideSum],
}

/// Takes the sums of a page.
pub(super) trait TakeSums {
    /// The sum of a list, or of a piece of one.
    fn list(&mut self, list: &List<'_>, sum: WideSum);

    /// The sums of whole lists.
    fn block(&mut self, block: &Block<'_>);
}

/// Bytes of [`Scratch`].
pub(super) const SCRATCH_BYTES: usize = size_of::<Scratch>();

/// Memory of a worker.
pub(super) struct Scratch {
    lengths: [u16; BLOCK],
    sums: [WideSum; BLOCK],
    /// Sums of the first entries of a block, of none first.
    before: [WideSum; ENTRIES_MAX + 1],
}

impl Scratch {
    pub fn new() -> Box<Self> {
        let none = WideSum::default();
        Box::new(Self { lengths: [0; BLOCK], sums: [none; BLOCK], before: [none; ENTRIES_MAX + 1] })
    }
}

/// Sums all lists of a page. Apart from the loop over long lists, so that it does not slow it down.
#[inline(never)]
pub(super) fn sum_page(
    shares: &[AtomicU64],
    page: &Page<'_>,
    scratch: &mut Scratch,
    into: &mut impl TakeSums,
) {
    let (entries, lists) = (page.entries(), page.list_count());
    prefetch_all(shares, &entries[..entries.len().min(PREFETCH_ENTRIES)]);
    // The first list and the last may be pieces.
    sum_lists(shares, page, 0..1, into);
    let last = lists - 1;
    for from in (1..last).step_by(BLOCK) {
        let to = (from + BLOCK).min(last);
        if page.start(to) - page.start(from) > ENTRIES_MAX {
            sum_lists(shares, page, from..to, into);
        } else {
            into.block(&scratch.sum_block(shares, page, from..to));
        }
    }
    sum_lists(shares, page, last.max(1)..lists, into);
}

/// Sums lists one by one.
fn sum_lists(shares: &[AtomicU64], page: &Page<'_>, lists: Range<usize>, into: &mut impl TakeSums) {
    for i in lists {
        let (list, from) = (page.list(i), page.start(i));
        let sum = gather(shares, page.entries(), from, from + list.targets.len());
        into.list(&list, sum);
    }
}

fn prefetch_all(shares: &[AtomicU64], targets: &[u32]) {
    targets.iter().for_each(|&target| prefetch(shares, target as usize));
}

impl Scratch {
    /// The sums of some of the lists of a page, none of them the last, of [`ENTRIES_MAX`] entries
    /// at most in all.
    #[inline(always)]
    fn sum_block(
        &mut self,
        shares: &[AtomicU64],
        page: &Page<'_>,
        lists: Range<usize>,
    ) -> Block<'_> {
        let Self { lengths, sums, before } = self;
        let (from, to) = (page.start(lists.start), page.start(lists.end));
        let entries = page.entries();
        let (own, later) = (&entries[from..to], entries.len().min(from + PREFETCH_ENTRIES));
        let mut sum = WideSum::default();
        let mut add = |target: u32, before: &mut WideSum| {
            sum.add_biased(load(&shares[target as usize]));
            *before = sum;
        };
        // The entries to prefetch end with the page.
        let ahead = own.len().min(entries.len() - later);
        let (sums_ahead, sums_rest) = before[1..=own.len()].split_at_mut(ahead);
        for ((&target, &later), before) in own.iter().zip(&entries[later..]).zip(sums_ahead) {
            prefetch(shares, later as usize);
            add(target, before);
        }
        own[ahead..].iter().zip(sums_rest).for_each(|(&target, before)| add(target, before));

        let first = page.first_vertex() + lists.start as VertexId;
        let (lengths, sums) = (&mut lengths[..lists.len()], &mut sums[..lists.len()]);
        let (mut start, mut last) = (from, WideSum::default());
        for ((i, length), sum) in (lists.start + 1..).zip(&mut *lengths).zip(&mut *sums) {
            let end = page.start(i);
            let next = before[end - from];
            *sum = next.minus(last).without_bias(end - start);
            // A page has 65,535 entries at most.
            *length = (end - start) as u16;
            (start, last) = (end, next);
        }
        Block { first, lengths, sums }
    }
}

//! Sums of the shares of all lists of a page.
//!
//! Short lists are summed in blocks of [`BLOCK`], so that what follows from a sum is computed for
//! many vertices in one loop without branches. If the lists of a block differ in length, a loop for
//! each would end at a place that the processor cannot foresee: then all entries of the block are
//! summed in one loop, and a list has the difference of two of its sums. That is exact, since
//! sums are integers.

use cenote_engine::{List, Page, VertexId, prefetch};

use super::fixed::{WidePair, WideSum};
use super::load;
use std::sync::atomic::AtomicU64;

/// How many entries ahead to prefetch. A bare gather on two cores, with 71 MB of shares and skewed
/// random targets, does in million entries a second: 240 without, 300 at 16, 400 at 32, 580 at 64,
/// 770 at 128.
pub(crate) const PREFETCH_ENTRIES: usize = 128;

/// Lists of a block.
pub(super) const BLOCK: usize = 64;

/// The most entries of a block that is summed in one loop: 8 a list.
const ENTRIES_MAX: usize = 8 * BLOCK;

/// Pages whose lists have at least so many entries on average are summed list by list.
const LONG_LIST: usize = 16;

/// Shares of so many consecutive vertices are in the processor's caches, or come in their order:
/// 256 KiB.
const NEAR: u32 = 1 << 15;

/// Every so many-th entry of a page is looked at to know whether its targets are near each other.
const SAMPLE_STEP: usize = 64;

/// What a vertex gives each neighbour.
pub(crate) trait Share: Sync {
    fn value(&self) -> f64;
}

impl Share for f64 {
    #[inline(always)]
    fn value(&self) -> f64 {
        *self
    }
}

impl Share for AtomicU64 {
    #[inline(always)]
    fn value(&self) -> f64 {
        load(self)
    }
}

/// The sum of the shares of `entries[from..to]`; where `far` is set, prefetches ahead in all
/// `entries`.
#[inline(always)]
pub(crate) fn gather<S: Share>(
    shares: &[S],
    entries: &[u32],
    (from, to): (usize, usize),
    far: bool,
) -> WideSum {
    let (pairs, odd) = entries[from..to].as_chunks::<2>();
    let (mut sums, mut done) = (WidePair::default(), 0);
    let value = |target: u32| shares[target as usize].value();
    if far {
        let (later, _) = entries[(from + PREFETCH_ENTRIES).min(entries.len())..].as_chunks::<2>();
        for (pair, later) in pairs.iter().zip(later) {
            later.iter().for_each(|&later| prefetch(shares, later as usize));
            sums.add_biased(pair.map(value));
            done += 1;
        }
    }
    pairs[done..].iter().for_each(|pair| sums.add_biased(pair.map(value)));
    let mut sum = sums.sum();
    odd.iter().for_each(|&target| sum.add_biased(value(target)));
    sum.without_bias(to - from)
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

/// Sums all lists of a page.
#[inline(always)]
pub(super) fn sum_page(
    shares: &[f64],
    page: &Page<'_>,
    scratch: &mut Scratch,
    into: &mut impl TakeSums,
) {
    let entries = page.entries();
    let far = !are_near(entries);
    if far {
        prefetch_all(shares, &entries[..entries.len().min(PREFETCH_ENTRIES)]);
    }
    let lists = page.list_count();
    let mut one = |i: usize| {
        let (from, to) = (page.start(i), page.end(i));
        into.list(&page.list(i), gather(shares, entries, (from, to), far));
    };
    if entries.len() >= LONG_LIST * lists {
        return (0..lists).for_each(one);
    }
    // The first list and the last may be pieces.
    one(0);
    if lists > 1 {
        one(lists - 1);
    }
    let mut sums = BlockSums { shares, page, far, scratch };
    for from in (1..lists.max(1) - usize::from(lists > 1)).step_by(BLOCK) {
        let to = (from + BLOCK).min(lists - 1);
        into.block(&sums.of(from, to));
    }
}

/// Whether the targets of a page are so near each other that it does not pay to prefetch their
/// shares.
fn are_near(entries: &[u32]) -> bool {
    let (mut least, mut most) = (u32::MAX, 0);
    for &target in entries.iter().step_by(SAMPLE_STEP).chain(entries.last()) {
        (least, most) = (least.min(target), most.max(target));
    }
    most.saturating_sub(least) < NEAR
}

#[inline(always)]
fn prefetch_all(shares: &[f64], targets: &[u32]) {
    targets.iter().for_each(|&target| prefetch(shares, target as usize));
}

struct BlockSums<'a> {
    shares: &'a [f64],
    page: &'a Page<'a>,
    far: bool,
    scratch: &'a mut Scratch,
}

impl BlockSums<'_> {
    /// The sums of some of the lists of the page, none of them the last.
    #[inline(always)]
    fn of(&mut self, from: usize, to: usize) -> Block<'_> {
        let (page, lists) = (self.page, to - from);
        let (first, lengths) = (page.start(from), &mut self.scratch.lengths[..lists]);
        let mut start = first;
        for (i, length) in (from + 1..).zip(&mut *lengths) {
            let end = page.start(i);
            // A page has 65,535 entries at most, of which starts in order were verified.
            *length = end.wrapping_sub(start) as u16;
            start = end;
        }
        let differs = lengths.iter().fold(0, |bits, length| bits | (length ^ lengths[0]));
        if differs == 0 || start - first > ENTRIES_MAX {
            self.list_by_list(first, lists);
        } else {
            self.in_one_loop(first, start, lists);
        }
        let (lengths, sums) = (&self.scratch.lengths[..lists], &self.scratch.sums[..lists]);
        Block { first: page.first_vertex() + from as VertexId, lengths, sums }
    }

    #[inline(always)]
    fn list_by_list(&mut self, first: usize, lists: usize) {
        let (entries, mut from) = (self.page.entries(), first);
        let Scratch { lengths, sums, .. } = &mut *self.scratch;
        for (sum, &length) in sums[..lists].iter_mut().zip(&*lengths) {
            let to = from + usize::from(length);
            *sum = gather(self.shares, entries, (from, to), self.far);
            from = to;
        }
    }

    #[inline(always)]
    fn in_one_loop(&mut self, from: usize, to: usize, lists: usize) {
        let (shares, entries) = (self.shares, self.page.entries());
        let value = |target: u32| shares[target as usize];
        let Scratch { lengths, sums, before } = &mut *self.scratch;
        let mut sum = WideSum::default();
        let own = &entries[from..to];
        let later = &entries[(from + PREFETCH_ENTRIES).min(entries.len())..];
        if self.far && later.len() >= own.len() {
            for ((&target, &later), before) in own.iter().zip(later).zip(&mut before[1..]) {
                prefetch(shares, later as usize);
                sum.add_biased(value(target));
                *before = sum;
            }
        } else {
            if self.far {
                prefetch_all(shares, later);
            }
            for (&target, before) in own.iter().zip(&mut before[1..]) {
                sum.add_biased(value(target));
                *before = sum;
            }
        }
        let (mut end, mut last) = (0, WideSum::default());
        for (sum, &length) in sums[..lists].iter_mut().zip(&*lengths) {
            end += usize::from(length);
            let next = before[end.min(ENTRIES_MAX)];
            *sum = next.minus(last).without_bias(usize::from(length));
            last = next;
        }
    }
}

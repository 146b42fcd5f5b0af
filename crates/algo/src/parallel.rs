//! Loops over many values on all threads of a run.
//!
//! The code that divides a loop among threads is large, and the compiler makes a copy of it for
//! each type that it is given. Here it gets a pointer to what is done with a block of values, so
//! one copy serves all loops.

use std::ops::{AddAssign, Range};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{Bitmap, VertexId};
use rayon::prelude::*;

/// Adds to counters that the threads of a run share. Where there is one thread, without the cost of
/// an atomic addition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adder {
    is_alone: bool,
}

impl Adder {
    /// For runs of so many threads.
    pub fn new(threads: usize) -> Self {
        Self { is_alone: threads == 1 }
    }

    /// Adds to a counter, which wraps, and returns what it was.
    #[inline(always)]
    pub fn add(self, counter: &AtomicU32, by: u32) -> u32 {
        if !self.is_alone {
            return counter.fetch_add(by, Ordering::Relaxed);
        }
        let before = counter.load(Ordering::Relaxed);
        counter.store(before.wrapping_add(by), Ordering::Relaxed);
        before
    }
}

/// Values that a thread takes at a time: enough that to take them costs little beside the work.
pub(crate) const BLOCK: usize = 1 << 12;

/// Calls `work` with ranges that make up `0..len`.
pub(crate) fn for_each_block(len: usize, work: impl Fn(Range<usize>) + Sync) {
    blocks_of(BLOCK, len, &work);
}

/// Calls `work` with ranges of `block` values, the last one shorter, that make up `0..len`.
pub(crate) fn blocks_of(block: usize, len: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let range = |at: usize| at * block..len.min((at + 1) * block);
    match len.div_ceil(block) {
        0 => {}
        1 => work(0..len),
        blocks => (0..blocks).into_par_iter().for_each(|at| work(range(at))),
    }
}

/// Calls `work` with all numbers less than `len`.
pub(crate) fn for_each(len: usize, work: impl Fn(usize) + Sync) {
    for_each_block(len, |range| range.for_each(&work));
}

/// Calls `work` with all values and their places.
pub(crate) fn for_each_of<T: Sync>(values: &[T], work: impl Fn(usize, &T) + Sync) {
    for_each_block(values.len(), |range| {
        range.clone().zip(&values[range]).for_each(|(at, value)| work(at, value));
    });
}

/// Adds the vertices of a range for which `has` is true to a set.
pub(crate) fn insert_where(
    set: &Bitmap,
    vertices: Range<VertexId>,
    has: impl Fn(VertexId) -> bool + Sync,
) {
    for_each_block(vertices.len(), |range| {
        let [start, end] = [range.start, range.end].map(|at| vertices.start + at as VertexId);
        set.insert_where(start..end, &has);
    });
}

/// Gives all of `values` the same value.
pub(crate) fn fill(values: &[AtomicU32], value: u32) {
    for_each_of(values, |_, of_one| of_one.store(value, Ordering::Relaxed));
}

/// Gives each of `to` the value of its place in `from`, of which there are as many.
pub(crate) fn copy(from: &[AtomicU32], to: &[AtomicU32]) {
    assert_eq!(from.len(), to.len(), "each value has a place");
    for_each_of(from, |at, from| to[at].store(from.load(Ordering::Relaxed), Ordering::Relaxed));
}

/// The sum of `of` over all numbers less than `len`. It does not depend on how they are divided
/// where numbers are added without rounding.
pub(crate) fn sum<N>(len: usize, of: impl Fn(usize) -> N + Sync) -> N
where
    N: AddAssign + Default + Send,
{
    sum_of_blocks(BLOCK, len, |range| {
        let mut sum = N::default();
        range.for_each(|at| sum += of(at));
        sum
    })
}

/// The sum of `of` over ranges of `block` values that make up `0..len`; as [`sum`].
pub(crate) fn sum_of_blocks<N>(block: usize, len: usize, of: impl Fn(Range<usize>) -> N + Sync) -> N
where
    N: AddAssign + Default + Send,
{
    let sum = Mutex::new(N::default());
    blocks_of(block, len, &|range| {
        let of_block = of(range);
        *sum.lock().unwrap_or_else(PoisonError::into_inner) += of_block;
    });
    sum.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many numbers less than `len` have a property.
pub(crate) fn count(len: usize, has: impl Fn(usize) -> bool + Sync) -> usize {
    sum(len, |at| usize::from(has(at)))
}

/// What `of` gives for all numbers less than `len`, in their order.
pub(crate) fn collect<T: Copy + Default + Send>(
    len: usize,
    of: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let mut values = vec![T::default(); len];
    for_each_chunk_mut(&mut values, BLOCK, |first, chunk| {
        (first..).zip(chunk).for_each(|(at, value)| *value = of(at));
    });
    values
}

/// What `of` gives for each of a few numbers, those less than `len`, in their order: a thread takes
/// one at a time.
pub(crate) fn collect_each<T: Send>(len: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    collect_of_blocks(1, len, |range| of(range.start))
}

/// What `of` gives for ranges of `block` values that make up `0..len`, in their order.
pub(crate) fn collect_of_blocks<T: Send>(
    block: usize,
    len: usize,
    of: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let mut found: Vec<Option<T>> = (0..len.div_ceil(block)).map(|_| None).collect();
    for_each_chunk_mut(&mut found, 1, |at, one| {
        one[0] = Some(of(at * block..len.min((at + 1) * block)));
    });
    found.into_iter().map(|found| found.expect("each block was visited")).collect()
}

/// Calls `work` with each of a few values and its place: a thread takes one at a time.
pub(crate) fn for_each_mut<T: Send>(values: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    for_each_chunk_mut(values, 1, |at, one| work(at, &mut one[0]));
}

/// What `of` gives for each of a few values, in their order: a thread takes one at a time.
pub(crate) fn map_mut<T: Send, U: Send>(
    values: &mut [T],
    of: impl Fn(usize, &mut T) -> U + Sync,
) -> Vec<U> {
    let mut both: Vec<(&mut T, Option<U>)> = values.iter_mut().map(|value| (value, None)).collect();
    for_each_mut(&mut both, |at, (value, found)| *found = Some(of(at, value)));
    both.into_iter().map(|(_, found)| found.expect("each value was visited")).collect()
}

/// What `of` gives for each of a few values that it takes, in their order.
pub(crate) fn map<T: Send, U: Send>(values: Vec<T>, of: impl Fn(T) -> U + Sync) -> Vec<U> {
    let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
    map_mut(&mut values, |_, value| of(value.take().expect("each value is visited once")))
}

/// Calls `work` with chunks of a slice, of `chunk` values, the last one shorter, and the places of
/// their first ones.
pub(crate) fn for_each_chunk_mut<T: Send>(
    values: &mut [T],
    chunk: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let count = values.len().div_ceil(chunk);
    let chunks = Mutex::new(values.chunks_mut(chunk).enumerate());
    blocks_of(1, count, &|_| {
        // The lock ends before the work begins.
        let next = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let (at, values) = next.expect("there are as many chunks as calls");
        work(at * chunk, values);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// None, one, a block, more than one, and the last one full.
    const LENGTHS: [usize; 6] = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK];

    #[test]
    fn each_value_is_visited_once() {
        for len in LENGTHS {
            let times: Vec<AtomicU32> = (0..len).map(|_| AtomicU32::new(0)).collect();
            for_each(len, |at| _ = times[at].fetch_add(1, Ordering::Relaxed));
            for_each_of(&times, |at, cell| {
                assert!(std::ptr::eq(cell, &times[at]));
                cell.fetch_add(1, Ordering::Relaxed);
            });
            let mut times: Vec<u32> = times.into_iter().map(AtomicU32::into_inner).collect();
            for_each_mut(&mut times, |_, cell| *cell += 1);
            assert!(times.iter().all(|times| *times == 3), "{len} values");
        }
    }

    #[test]
    fn what_is_collected_and_summed_is_of_all_values_in_order() {
        for len in LENGTHS {
            assert_eq!(collect(len, |at| at as u64), (0..len as u64).collect::<Vec<_>>());
            assert_eq!(sum(len, |at| at as u64), (0..len as u64).sum::<u64>());
            assert_eq!(count(len, |at| at % 3 == 0), len.div_ceil(3));
            let ranges = collect_of_blocks(7, len, |range| range);
            assert!(ranges.iter().all(|range| range.len() <= 7 && !range.is_empty()));
            assert_eq!(
                ranges.into_iter().flatten().collect::<Vec<_>>(),
                (0..len).collect::<Vec<_>>()
            );
            let mut values: Vec<usize> = (0..len).collect();
            let halves = map_mut(&mut values, |at, value| (at, *value / 2));
            let expected: Vec<_> = (0..len).map(|at| (at, at / 2)).collect();
            assert_eq!(halves, expected);
            assert_eq!(
                map(expected, |(_, half)| 2 * half),
                values.iter().map(|v| v / 2 * 2).collect::<Vec<_>>()
            );
        }
    }
}

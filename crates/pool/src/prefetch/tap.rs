//! TaP: sequential streams, found in a table of the pages that they would request next.
//!
//! A request for a page that no stream expects opens a stream that expects the next page. A request
//! for an expected page advances its stream by one. After [`TRIGGER`] consecutive requests, a miss
//! prefetches the next pages (Li et al., FAST 2008; dissertation 4.3.4). The table holds
//! [`STREAMS_MAX`] streams and replaces the one that has not advanced for the longest time.
//!
//! Misses and first uses of prefetched pages count as requests. Without the latter a stream would
//! end with its first batch: the pages of the batch are hits, so no stream would expect the miss
//! after them. Other hits do not count, since they do not need the device. A stream is identified
//! by its pages alone, so it may continue on another handle.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::{Lookup, Prefetcher};
use crate::PageId;

/// Most streams at a time.
pub const STREAMS_MAX: usize = 128;

/// Consecutive requests after which a stream is prefetched.
pub const TRIGGER: u32 = 4;

/// The table of expected pages.
#[derive(Debug, Default)]
pub struct Tap {
    /// By the page that is expected next.
    streams: FxHashMap<PageId, Stream>,
    /// Expected pages with the times since when, in this order; also outdated ones.
    order: VecDeque<(PageId, u64)>,
    now: u64,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Consecutive requests.
    length: u32,
    /// Since when its page is expected.
    moved: u64,
}

impl Tap {
    fn expect(&mut self, page: PageId, length: u32) {
        if self.streams.get(&page).is_some_and(|stream| stream.length >= length) {
            // The last page of a stream was requested again; the stream continues.
            return;
        }
        self.now += 1;
        self.streams.insert(page, Stream { length, moved: self.now });
        self.order.push_back((page, self.now));
        while self.streams.len() > STREAMS_MAX
            && let Some((oldest, time)) = self.order.pop_front()
        {
            if self.is_expected_since(oldest, time) {
                self.streams.remove(&oldest);
            }
        }
        self.compact();
    }

    fn is_expected_since(&self, page: PageId, time: u64) -> bool {
        self.streams.get(&page).is_some_and(|stream| stream.moved == time)
    }

    /// Drops outdated entries once they are half of the order: amortized O(1) per request.
    fn compact(&mut self) {
        if self.order.len() >= 2 * STREAMS_MAX {
            let streams = &self.streams;
            self.order.retain(|(page, time)| streams.get(page).is_some_and(|s| s.moved == *time));
        }
    }
}

impl Prefetcher for Tap {
    fn wants_hits(&self) -> bool {
        false
    }

    fn requested(&mut self, _stream: u64, page: PageId, lookup: Lookup) {
        if lookup == Lookup::Hit {
            return;
        }
        let length = self.streams.remove(&page).map_or(0, |stream| stream.length);
        if let Some(next) = page.checked_add(1) {
            self.expect(next, length.saturating_add(1));
        }
    }

    fn propose(&mut self, _stream: u64, page: PageId, n: usize, out: &mut Vec<PageId>) {
        let Some(next) = page.checked_add(1) else { return };
        if self.streams.get(&next).is_some_and(|stream| stream.length >= TRIGGER) {
            out.extend((next..=PageId::MAX).take(n));
        }
    }

    fn memory_bytes(&self) -> usize {
        self.streams.capacity() * (size_of::<(PageId, Stream)>() + 1)
            + self.order.capacity() * size_of::<(PageId, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss(tap: &mut Tap, page: PageId, n: usize) -> Vec<PageId> {
        tap.requested(0, page, Lookup::Miss);
        let mut out = vec![];
        tap.propose(0, page, n, &mut out);
        out
    }

    #[test]
    fn the_fourth_request_in_a_row_has_the_next_pages_read() {
        let mut tap = Tap::default();
        for page in 10..13 {
            assert!(miss(&mut tap, page, 7).is_empty(), "too early at {page}");
        }
        assert_eq!(miss(&mut tap, 13, 3), [14, 15, 16]);
    }

    #[test]
    fn a_long_scan_misses_one_page_of_each_batch_after_the_first() {
        let mut tap = Tap::default();
        let mut early = std::collections::HashSet::new();
        let mut misses = vec![];
        for page in 0..1000 {
            if early.contains(&page) {
                tap.requested(0, page, Lookup::PrefetchedHit);
            } else {
                misses.push(page);
                early.extend(miss(&mut tap, page, 7));
            }
        }
        let expected: Vec<_> = (0..3).chain((3..1000).step_by(8)).collect();
        assert_eq!(misses, expected);
    }

    #[test]
    fn interleaved_streams_are_all_followed() {
        let mut tap = Tap::default();
        let starts = [100, 5_000, 70_000, u64::MAX - 500];
        for step in 0..50 {
            for start in starts {
                let found = miss(&mut tap, start + step, 2);
                let page = start + step;
                let expected = if step < 3 { vec![] } else { vec![page + 1, page + 2] };
                assert_eq!(found, expected, "stream {start}, step {step}");
            }
        }
    }

    #[test]
    fn random_misses_propose_nothing_and_cost_bounded_memory() {
        let mut tap = Tap::default();
        for i in 0..100_000_u64 {
            let page = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            assert!(miss(&mut tap, page, 7).is_empty());
            assert!(tap.streams.len() <= STREAMS_MAX && tap.order.len() <= 2 * STREAMS_MAX);
        }
        assert!(tap.memory_bytes() < 64 << 10, "{} bytes", tap.memory_bytes());
    }

    #[test]
    fn a_stream_that_moves_outlives_those_that_do_not() {
        let mut tap = Tap::default();
        (0..4).for_each(|page| drop(miss(&mut tap, page, 1)));
        for round in 0..50 {
            // Just too few other streams to replace this one between two of its requests.
            for other in 0..STREAMS_MAX as u64 - 1 {
                miss(&mut tap, 1_000_000 + round * 10_000 + other * 3, 1);
            }
            assert_eq!(miss(&mut tap, 4 + round, 1), [5 + round], "lost in round {round}");
        }
        (0..STREAMS_MAX as u64).for_each(|s| drop(miss(&mut tap, 9_000_000 + s * 3, 1)));
        assert!(miss(&mut tap, 54, 1).is_empty(), "the oldest stream gives way");
    }

    #[test]
    fn a_page_missed_twice_does_not_end_its_stream() {
        let mut tap = Tap::default();
        (0..5).for_each(|page| drop(miss(&mut tap, page, 1)));
        assert_eq!(miss(&mut tap, 4, 1), [5]);
        assert_eq!(miss(&mut tap, 5, 1), [6]);
    }

    #[test]
    fn hits_change_nothing() {
        let mut tap = Tap::default();
        (0..3).for_each(|page| drop(miss(&mut tap, page, 1)));
        tap.requested(0, 3, Lookup::Hit);
        tap.requested(0, 500, Lookup::Hit);
        assert_eq!(tap.streams.len(), 1);
        assert_eq!(miss(&mut tap, 3, 1), [4]);
    }

    #[test]
    fn the_last_page_number_has_no_successor() {
        let mut tap = Tap::default();
        for page in u64::MAX - 5..u64::MAX - 1 {
            miss(&mut tap, page, 1);
        }
        assert_eq!(miss(&mut tap, u64::MAX - 1, 7), [u64::MAX]);
        assert!(miss(&mut tap, u64::MAX, 7).is_empty());
    }
}

//! S3-FIFO: a small queue for new pages, a main queue, and a ghost queue of evicted page numbers.
//!
//! A new page enters the small queue, a tenth of the pool. At the old end of it, pages that were
//! used more than once move to the main queue; the others are evicted and their numbers enter the
//! ghost queue. A page that is read while its number is in the ghost queue enters the main queue.
//! At the old end of that, a used page is reinserted with one use less (Yang et al., SOSP 2023,
//! Algorithm 1; counts up to 3).
//!
//! The virtual order is a dry run in which each evicted page is followed by a new one, which enters
//! the main queue as often as recent new pages did. Without new pages the run would soon take all
//! pages from one queue, and pages would be written long before their eviction.
//!
//! A prefetched page enters at the old end of the small queue. Its number does not enter the ghost
//! queue, because the page was not requested.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::queue::Queue;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// Greatest use count.
pub const USES_MAX: u8 = 3;

/// The two queues of pages, and the ghost queue.
#[derive(Debug)]
pub struct S3Fifo {
    small: Queue,
    main: Queue,
    /// Length from which on the small queue is evicted from.
    small_share: usize,
    ghost: Ghost,
    /// Whether the page was prefetched, so that it does not enter the ghost queue.
    prefetched: Box<[bool]>,
    /// Share of recent new pages that entered the main queue, in [`PARTS`].
    to_main: usize,
}

/// Parts of a page in which shares are counted.
const PARTS: usize = 1 << 16;
/// New pages over which a share is averaged, as a power of two.
const AVERAGE_SHIFT: u32 = 8;

impl S3Fifo {
    /// A policy for a pool of `frames`.
    pub fn new(frames: usize) -> Self {
        let small_share = (frames / 10).max(1);
        Self {
            small: Queue::new(frames),
            main: Queue::new(frames),
            small_share,
            ghost: Ghost::new(frames.saturating_sub(small_share)),
            prefetched: vec![false; frames].into(),
            to_main: 0,
        }
    }

    /// Moves a page to the main queue; returns the next frame of the small one.
    fn promote(&mut self, frame: FrameId, frames: &dyn Frames) -> Option<FrameId> {
        let next = self.small.hotter(frame);
        self.small.remove(frame);
        self.main.push_hot(frame);
        frames.set_uses(frame, 0);
        next
    }

    /// Reinserts a page into the main queue; returns the next frame there.
    fn recycle(&mut self, frame: FrameId, uses: u8, frames: &dyn Frames) -> FrameId {
        // If it is the newest already, nothing else is evictable: visit it again.
        let next = self.main.hotter(frame).unwrap_or(frame);
        self.main.move_to_hot(frame);
        frames.set_uses(frame, uses - 1);
        next
    }

    fn dry_run<'a>(&'a self, frames: &'a dyn Frames, reach: usize) -> DryRun<'a> {
        DryRun {
            policy: self,
            frames,
            looks_left: reach,
            small: self.small.coldest(),
            main: self.main.coldest(),
            recycled: VecDeque::new(),
            small_parts: self.small.len() * PARTS,
        }
    }
}

impl Policy for S3Fifo {
    fn hits(&self) -> HitRecording {
        HitRecording::Counted { max: USES_MAX }
    }

    fn admitted(&mut self, frame: FrameId, page: PageId, entrance: Entrance, frames: &dyn Frames) {
        frames.set_uses(frame, 0);
        self.prefetched[frame as usize] = entrance == Entrance::Cold;
        if entrance == Entrance::Cold {
            self.small.push_cold(frame);
            return;
        }
        let is_remembered = self.ghost.forget(page);
        self.to_main -= self.to_main >> AVERAGE_SHIFT;
        if is_remembered {
            self.to_main += PARTS >> AVERAGE_SHIFT;
            self.main.push_hot(frame);
        } else {
            self.small.push_hot(frame);
        }
    }

    fn touched(&mut self, _: FrameId, _write: bool) {}

    fn removed(&mut self, frame: FrameId, page: PageId) {
        if self.main.contains(frame) {
            self.main.remove(frame);
            return;
        }
        self.small.remove(frame);
        if !self.prefetched[frame as usize] {
            self.ghost.remember(page);
        }
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        let mut small = self.small.coldest();
        let mut main = self.main.coldest();
        let looks_max = (self.small.len() + self.main.len()) * (usize::from(USES_MAX) + 2);
        for _ in 0..looks_max {
            let of_small = small.filter(|_| main.is_none() || self.small.len() >= self.small_share);
            if let Some(frame) = of_small {
                if !frames.is_evictable(frame) {
                    small = self.small.hotter(frame);
                } else if frames.uses(frame) > 1 {
                    small = self.promote(frame, frames);
                    main = main.or(Some(frame));
                } else {
                    return Some(frame);
                }
                continue;
            }
            let frame = main?;
            main = match frames.uses(frame) {
                _ if !frames.is_evictable(frame) => self.main.hotter(frame),
                0 => return Some(frame),
                uses => Some(self.recycle(frame, uses, frames)),
            };
        }
        // Hits are faster than the loop: evict a used page.
        self.small.iter().chain(self.main.iter()).find(|&frame| frames.is_evictable(frame))
    }

    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        out.extend(self.dry_run(frames, reach).filter(|&f| frames.is_dirty(f)).take(n));
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        out.extend(self.dry_run(frames, reach).filter(|&f| !frames.is_dirty(f)).take(n));
    }
}

/// The pages in the order of their eviction, without changes of the queues.
struct DryRun<'a> {
    policy: &'a S3Fifo,
    frames: &'a dyn Frames,
    /// Pages that may still be visited for the first time.
    looks_left: usize,
    small: Option<FrameId>,
    main: Option<FrameId>,
    /// Pages that would follow the newest page of the main queue, with their remaining uses.
    recycled: VecDeque<(FrameId, u8)>,
    /// Length that the small queue would have, in [`PARTS`].
    small_parts: usize,
}

impl DryRun<'_> {
    /// Visits a frame; returns its uses if it is evictable.
    fn look(&mut self, frame: FrameId) -> Option<u8> {
        self.looks_left -= 1;
        self.frames.is_evictable(frame).then(|| self.frames.uses(frame))
    }

    /// Visits the next page of the small queue; it is evicted or promoted.
    fn step_small(&mut self, frame: FrameId) -> Option<FrameId> {
        self.small = self.policy.small.hotter(frame);
        if self.look(frame)? > 1 {
            self.recycled.push_back((frame, 0));
            self.small_parts = self.small_parts.saturating_sub(PARTS);
            return None;
        }
        // A new page takes its place, or enters the main queue.
        self.small_parts = self.small_parts.saturating_sub(self.policy.to_main);
        Some(frame)
    }

    /// Visits the next page of the main queue; it is evicted or reinserted.
    fn step_main(&mut self) -> Option<FrameId> {
        let (frame, uses) = match self.main {
            Some(frame) => {
                self.main = self.policy.main.hotter(frame);
                (frame, self.look(frame)?)
            }
            None => self.recycled.pop_front()?,
        };
        if uses > 0 {
            self.recycled.push_back((frame, uses - 1));
            return None;
        }
        // A new page enters the small queue, or the main one.
        self.small_parts += PARTS - self.policy.to_main;
        Some(frame)
    }
}

impl Iterator for DryRun<'_> {
    type Item = FrameId;

    fn next(&mut self) -> Option<FrameId> {
        loop {
            let main_is_empty = self.main.is_none() && self.recycled.is_empty();
            let small_gives = main_is_empty || self.small_parts >= self.policy.small_share * PARTS;
            let small = self.small.filter(|_| small_gives);
            let is_new = small.is_some() || self.main.is_some();
            if (is_new && self.looks_left == 0) || (small.is_none() && main_is_empty) {
                return None;
            }
            let leaves = match small {
                Some(frame) => self.step_small(frame),
                None => self.step_main(),
            };
            if leaves.is_some() {
                return leaves;
            }
        }
    }
}

/// The ghost queue: numbers of the last `capacity` evicted pages.
#[derive(Debug)]
struct Ghost {
    capacity: usize,
    /// In the order of eviction, including pages that were read again.
    order: VecDeque<(PageId, u64)>,
    /// With the time of eviction, which distinguishes evictions of the same page.
    times: FxHashMap<PageId, u64>,
    now: u64,
}

impl Ghost {
    fn new(capacity: usize) -> Self {
        Self { capacity, order: VecDeque::new(), times: FxHashMap::default(), now: 0 }
    }

    fn remember(&mut self, page: PageId) {
        self.now += 1;
        self.order.push_back((page, self.now));
        self.times.insert(page, self.now);
        while self.order.len() > self.capacity
            && let Some((oldest, time)) = self.order.pop_front()
        {
            if self.times.get(&oldest) == Some(&time) {
                self.times.remove(&oldest);
            }
        }
    }

    /// Removes a page; whether it was there.
    fn forget(&mut self, page: PageId) -> bool {
        self.times.remove(&page).is_some()
    }
}

//! SIEVE: one queue in insertion order, and a hand that moves from old to new pages.
//!
//! The hand passes pages that were used since its last visit and resets their use; it evicts the
//! first unused page, at any position (Zhang et al., NSDI 2024, Algorithm 1). Unlike in Clock,
//! surviving pages keep their position, so new pages are soon reached.
//!
//! A prefetched page enters at the hand. The virtual order is a dry run of the hand: unused pages
//! by distance, then used ones. Of the dirty pages it includes only unused ones between the hand
//! and the newest page. All others are evicted in a later lap, which may be far away: with them, up
//! to half of all writes were superfluous, since the pages were changed again before eviction.

use super::levels::Levels;
use super::queue::Queue;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// The pages in insertion order.
#[derive(Debug)]
pub struct Sieve {
    queue: Queue,
    /// The next frame to visit; `None` for the oldest. Stays on a victim until that is removed.
    hand: Option<FrameId>,
}

impl Sieve {
    /// A policy for a pool of `frames`.
    pub fn new(frames: usize) -> Self {
        Self { queue: Queue::new(frames), hand: None }
    }

    fn at_hand(&self) -> Option<FrameId> {
        self.hand.or(self.queue.coldest())
    }

    /// All frames, from the hand once around.
    fn lap(&self) -> impl Iterator<Item = FrameId> + '_ {
        let newer = |&frame: &FrameId| self.queue.hotter(frame);
        std::iter::successors(self.at_hand(), move |&frame| newer(&frame).or(self.queue.coldest()))
            .take(self.queue.len())
    }

    /// The frames from the hand to the newest.
    fn rest_of_lap(&self) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::successors(self.at_hand(), |&frame| self.queue.hotter(frame))
    }
}

impl Policy for Sieve {
    fn hits(&self) -> HitRecording {
        HitRecording::Counted { max: 1 }
    }

    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, frames: &dyn Frames) {
        frames.set_uses(frame, 0);
        match (entrance, self.hand) {
            (Entrance::Hot, _) => self.queue.push_hot(frame),
            (Entrance::Cold, None) => self.queue.push_cold(frame),
            (Entrance::Cold, Some(hand)) => {
                self.queue.insert_colder(frame, hand);
                self.hand = Some(frame);
            }
        }
    }

    fn touched(&mut self, _: FrameId, _write: bool) {}

    fn removed(&mut self, frame: FrameId, _: PageId) {
        if self.hand == Some(frame) {
            self.hand = self.queue.hotter(frame);
        }
        self.queue.remove(frame);
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        // The first lap resets all uses; a second finds an evictable page, if there is one.
        for _ in 0..2 * self.queue.len() {
            let frame = self.at_hand()?;
            if frames.is_evictable(frame) {
                if frames.uses(frame) == 0 {
                    self.hand = Some(frame);
                    return Some(frame);
                }
                frames.set_uses(frame, 0);
            }
            self.hand = self.queue.hotter(frame);
        }
        // Hits are faster than the hand: evict a used page.
        let victim = self.lap().find(|&frame| frames.is_evictable(frame))?;
        self.hand = Some(victim);
        Some(victim)
    }

    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let leaves_dirty = |&frame: &FrameId| {
            frames.is_dirty(frame) && frames.uses(frame) == 0 && frames.is_evictable(frame)
        };
        out.extend(self.rest_of_lap().take(reach).filter(leaves_dirty).take(n));
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let mut levels = Levels::<2>::new(n);
        for frame in self.lap().take(reach) {
            if levels.is_full() {
                break;
            }
            let uses = frames.uses(frame);
            if levels.wants(uses) && !frames.is_dirty(frame) && frames.is_evictable(frame) {
                levels.push(uses, frame);
            }
        }
        levels.append_to(out);
    }
}

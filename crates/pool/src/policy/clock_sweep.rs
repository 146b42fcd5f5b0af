//! Clock Sweep as in PostgreSQL: a rotating hand evicts pages whose use count is 0.
//!
//! A page enters with a count of one, each hit adds one up to [`USES_MAX`], and the hand decrements
//! the counts of evictable pages that it passes (dissertation 4.2.1, Fig. 4.4a).
//!
//! The virtual order is a dry run of the hand: by use count, then by distance from the hand.

use super::levels::Levels;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// Greatest use count, PostgreSQL's `BM_MAX_USAGE_COUNT`.
pub const USES_MAX: u8 = 5;

const LEVELS: usize = USES_MAX as usize + 1;

/// A hand over the frames in the order of their numbers.
#[derive(Debug)]
pub struct ClockSweep {
    resident: Box<[bool]>,
    /// The next frame to visit. It stays on a victim until that is removed, so that the victim is
    /// the first of the virtual order.
    hand: FrameId,
}

impl ClockSweep {
    /// A policy for a pool of `frames`.
    pub fn new(frames: usize) -> Self {
        Self { resident: vec![false; frames].into(), hand: 0 }
    }

    fn len(&self) -> usize {
        self.resident.len()
    }

    fn advance(&mut self) {
        self.hand = if self.hand as usize + 1 < self.len() { self.hand + 1 } else { 0 };
    }

    /// The frames that hold a page, from the hand once around, at most `reach`.
    fn lap(&self, reach: usize) -> impl Iterator<Item = FrameId> + '_ {
        let hand = self.hand;
        let frames = (hand..self.len() as FrameId).chain(0..hand);
        frames.filter(|&frame| self.resident[frame as usize]).take(reach)
    }

    fn may_leave(&self, frame: FrameId, frames: &dyn Frames) -> bool {
        self.resident[frame as usize] && frames.is_evictable(frame)
    }

    fn order(
        &self,
        n: usize,
        reach: usize,
        frames: &dyn Frames,
        dirty: bool,
        out: &mut Vec<FrameId>,
    ) {
        let mut levels = Levels::<LEVELS>::new(n);
        for frame in self.lap(reach) {
            if levels.is_full() {
                break;
            }
            let uses = frames.uses(frame);
            if levels.wants(uses) && frames.is_dirty(frame) == dirty && frames.is_evictable(frame) {
                levels.push(uses, frame);
            }
        }
        levels.append_to(out);
    }
}

impl Policy for ClockSweep {
    fn hits(&self) -> HitRecording {
        HitRecording::Counted { max: USES_MAX }
    }

    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, frames: &dyn Frames) {
        self.resident[frame as usize] = true;
        frames.set_uses(frame, u8::from(entrance == Entrance::Hot));
    }

    fn touched(&mut self, _: FrameId, _write: bool) {}

    fn removed(&mut self, frame: FrameId, _: PageId) {
        self.resident[frame as usize] = false;
        if self.hand == frame {
            self.advance();
        }
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        let mut stuck_count = 0;
        for _ in 0..self.len() * (LEVELS + 1) {
            if self.may_leave(self.hand, frames) {
                stuck_count = 0;
                match frames.uses(self.hand) {
                    0 => return Some(self.hand),
                    uses => frames.set_uses(self.hand, uses - 1),
                }
            } else {
                stuck_count += 1;
                if stuck_count > self.len() {
                    return None;
                }
            }
            self.advance();
        }
        // Hits are faster than the hand: evict a used page.
        let victim = self.lap(usize::MAX).find(|&frame| frames.is_evictable(frame))?;
        self.hand = victim;
        Some(victim)
    }

    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        self.order(n, reach, frames, true, out);
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        self.order(n, reach, frames, false, out);
    }
}

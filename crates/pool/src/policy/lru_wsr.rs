//! LRU with write sequence reordering: a dirty page gets a second chance before eviction.
//!
//! A dirty page at the cold end without the cold flag gets the flag and moves to the hot end; clean
//! or flagged pages are evicted, and any use clears the flag (Jung et al., IEEE Trans. Consumer
//! Electron. 54(3), 2008; dissertation 4.2.1, Fig. 4.4c).
//!
//! A search for dirty pages does the same with pages without the flag (Fig. 4.6b), and returns only
//! flagged ones.

use super::queue::Queue;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// The pages in the order of their last use or second chance.
#[derive(Debug)]
pub struct LruWsr {
    queue: Queue,
    cold: Box<[bool]>,
}

impl LruWsr {
    /// A policy for a pool of `frames`.
    pub fn new(frames: usize) -> Self {
        Self { queue: Queue::new(frames), cold: vec![false; frames].into() }
    }

    /// Moves a dirty page to the hot end and flags it; returns the next frame to visit.
    fn second_chance(&mut self, frame: FrameId) -> FrameId {
        self.cold[frame as usize] = true;
        // If it is the hottest already, nothing else is evictable: visit it again.
        let next = self.queue.hotter(frame).unwrap_or(frame);
        self.queue.move_to_hot(frame);
        next
    }
}

impl Policy for LruWsr {
    fn hits(&self) -> HitRecording {
        HitRecording::Ordered
    }

    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, _: &dyn Frames) {
        self.cold[frame as usize] = false;
        match entrance {
            Entrance::Hot => self.queue.push_hot(frame),
            Entrance::Cold => self.queue.push_cold(frame),
        }
    }

    fn touched(&mut self, frame: FrameId, _write: bool) {
        self.cold[frame as usize] = false;
        self.queue.move_to_hot(frame);
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        self.queue.remove(frame);
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        // Each page gets at most one second chance here, so the loop ends.
        let mut next = self.queue.coldest();
        while let Some(frame) = next {
            next = if !frames.is_evictable(frame) {
                self.queue.hotter(frame)
            } else if frames.is_dirty(frame) && !self.cold[frame as usize] {
                Some(self.second_chance(frame))
            } else {
                return Some(frame);
            };
        }
        None
    }

    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let wanted = out.len() + n;
        let mut next = self.queue.coldest();
        for _ in 0..reach {
            let Some(frame) = next.filter(|_| out.len() < wanted) else { break };
            next = if !frames.is_dirty(frame) || !frames.is_evictable(frame) {
                self.queue.hotter(frame)
            } else if self.cold[frame as usize] {
                out.push(frame);
                self.queue.hotter(frame)
            } else {
                Some(self.second_chance(frame))
            };
        }
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let clean = |&f: &FrameId| !frames.is_dirty(f) && frames.is_evictable(f);
        out.extend(self.queue.iter().take(reach).filter(clean).take(n));
    }
}

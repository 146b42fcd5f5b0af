//! Least recently used.

use super::queue::Queue;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// The pages in the order of their last use.
#[derive(Debug)]
pub struct Lru {
    queue: Queue,
}

impl Lru {
    /// A policy for a pool of `frames`.
    pub fn new(frames: usize) -> Self {
        Self { queue: Queue::new(frames) }
    }
}

impl Policy for Lru {
    fn hits(&self) -> HitRecording {
        HitRecording::Ordered
    }

    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, _: &dyn Frames) {
        match entrance {
            Entrance::Hot => self.queue.push_hot(frame),
            Entrance::Cold => self.queue.push_cold(frame),
        }
    }

    fn touched(&mut self, frame: FrameId, _write: bool) {
        self.queue.move_to_hot(frame);
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        self.queue.remove(frame);
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        self.queue.iter().find(|&frame| frames.is_evictable(frame))
    }

    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let dirty = |&f: &FrameId| frames.is_dirty(f) && frames.is_evictable(f);
        out.extend(self.queue.iter().take(reach).filter(dirty).take(n));
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let clean = |&f: &FrameId| !frames.is_dirty(f) && frames.is_evictable(f);
        out.extend(self.queue.iter().take(reach).filter(clean).take(n));
    }
}

//! LRU with write sequence reordering: a dirty page gets a second chance before it leaves.
//!
//! A dirty page at the cold end that is not marked cold goes to the hot end and is marked; marked
//! or clean it leaves, and any use takes the mark off (Jung et al., IEEE Trans. Consumer Electron.
//! 54(3), 2008; dissertation 4.2.1, Fig. 4.4c).
//!
//! Gathering dirty pages has the same effect on those that are not marked (Fig. 4.6b): they go to
//! the hot end with the mark, and only marked ones are named.

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
    /// For a pool of `frames`.
    pub fn new(frames: usize) -> Self {
        Self { queue: Queue::new(frames), cold: vec![false; frames].into() }
    }

    /// Moves a dirty page to the hot end with the mark set; gives the frame to look at next.
    fn spare(&mut self, frame: FrameId) -> FrameId {
        self.cold[frame as usize] = true;
        // The hottest has nowhere to go: nothing else can leave, so it is its own successor.
        let next = self.queue.hotter(frame).unwrap_or(frame);
        self.queue.heat(frame);
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
        self.queue.heat(frame);
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        self.queue.remove(frame);
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        // Each page is spared at most once here, so the walk ends.
        let mut next = self.queue.coldest();
        while let Some(frame) = next {
            next = if !frames.is_evictable(frame) {
                self.queue.hotter(frame)
            } else if frames.is_dirty(frame) && !self.cold[frame as usize] {
                Some(self.spare(frame))
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
                Some(self.spare(frame))
            };
        }
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let clean = |&f: &FrameId| !frames.is_dirty(f) && frames.is_evictable(f);
        out.extend(self.queue.iter().take(reach).filter(clean).take(n));
    }
}

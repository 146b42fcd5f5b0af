//! Clean-first LRU: among the coldest pages, clean ones are evicted before dirty ones.
//!
//! The `window` coldest pages are the clean-first region. Its coldest clean page is evicted or, if
//! there is none, the coldest page (Park et al., CASES 2006; dissertation 4.2.1, Fig. 4.4b). Each
//! eviction moves the next page into the region, so the virtual orders of dirty and of clean pages
//! are LRU's.
//!
//! To avoid a walk over a region full of dirty pages at each miss, an ordered map holds the pages
//! of the region that may be clean: a page is inserted when it enters the region or is
//! [cleaned](Policy::cleaned), and removed when it leaves the region or is found dirty. Each
//! operation takes O(log window); finding a victim removes dirty pages, amortized by their
//! insertions.

use std::collections::BTreeMap;

use super::queue::Queue;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// The pages in the order of their last use, and the clean ones of the window.
#[derive(Debug)]
pub struct Cflru {
    queue: Queue,
    window: usize,
    /// Whether the frame is among the `window` coldest.
    inside: Box<[bool]>,
    inside_count: usize,
    /// The hottest frame inside.
    edge: Option<FrameId>,
    /// Positions in the queue, ascending from the coldest.
    positions: Box<[i64]>,
    position_hottest: i64,
    position_coldest: i64,
    /// Every clean page inside, and some that have become dirty.
    maybe_clean: BTreeMap<i64, FrameId>,
}

impl Cflru {
    /// For a pool of `frames`, of which the `window` coldest are the clean-first region; a third
    /// is the authors' rule of thumb.
    pub fn new(frames: usize, window: usize) -> Self {
        Self {
            queue: Queue::new(frames),
            window,
            inside: vec![false; frames].into(),
            inside_count: 0,
            edge: None,
            positions: vec![0; frames].into(),
            position_hottest: 0,
            position_coldest: 0,
            maybe_clean: BTreeMap::new(),
        }
    }

    fn push_hot(&mut self, frame: FrameId) {
        self.position_hottest += 1;
        self.positions[frame as usize] = self.position_hottest;
        self.queue.push_hot(frame);
        self.fill_window();
    }

    fn push_cold(&mut self, frame: FrameId) {
        self.position_coldest -= 1;
        self.positions[frame as usize] = self.position_coldest;
        self.queue.push_cold(frame);
        if self.window == 0 {
            return;
        }
        self.enter_window(frame);
        self.edge = self.edge.or(Some(frame));
        if self.inside_count > self.window
            && let Some(edge) = self.edge
        {
            self.edge = self.queue.colder(edge);
            self.leave_window(edge);
        }
    }

    fn remove(&mut self, frame: FrameId) {
        if self.inside[frame as usize] {
            if self.edge == Some(frame) {
                self.edge = self.queue.colder(frame);
            }
            self.leave_window(frame);
        }
        self.queue.remove(frame);
        self.fill_window();
    }

    /// Moves the edge until the region is full or holds all pages.
    fn fill_window(&mut self) {
        while self.inside_count < self.window {
            let next = match self.edge {
                Some(edge) => self.queue.hotter(edge),
                None => self.queue.coldest(),
            };
            let Some(next) = next else { break };
            self.enter_window(next);
            self.edge = Some(next);
        }
    }

    fn enter_window(&mut self, frame: FrameId) {
        self.inside[frame as usize] = true;
        self.inside_count += 1;
        self.maybe_clean.insert(self.positions[frame as usize], frame);
    }

    fn leave_window(&mut self, frame: FrameId) {
        self.inside[frame as usize] = false;
        self.inside_count -= 1;
        self.maybe_clean.remove(&self.positions[frame as usize]);
    }

    fn coldest_clean(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        let mut dirty = Vec::new();
        let mut clean = None;
        for (&position, &frame) in &self.maybe_clean {
            if frames.is_dirty(frame) {
                dirty.push(position);
            } else if frames.is_evictable(frame) {
                clean = Some(frame);
                break;
            }
        }
        for position in dirty {
            self.maybe_clean.remove(&position);
        }
        clean
    }

    /// Frames outside the clean-first region, coldest first.
    fn outside(&self) -> impl Iterator<Item = FrameId> + '_ {
        let first = match self.edge {
            Some(edge) => self.queue.hotter(edge),
            None => self.queue.coldest(),
        };
        std::iter::successors(first, |&frame| self.queue.hotter(frame))
    }
}

impl Policy for Cflru {
    fn hits(&self) -> HitRecording {
        HitRecording::Ordered
    }

    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, _: &dyn Frames) {
        match entrance {
            Entrance::Hot => self.push_hot(frame),
            Entrance::Cold => self.push_cold(frame),
        }
    }

    fn touched(&mut self, frame: FrameId, _write: bool) {
        if self.queue.hottest() != Some(frame) {
            self.remove(frame);
            self.push_hot(frame);
        }
    }

    fn cleaned(&mut self, frame: FrameId) {
        if self.inside[frame as usize] {
            self.maybe_clean.insert(self.positions[frame as usize], frame);
        }
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        self.remove(frame);
    }

    fn victim(&mut self, frames: &dyn Frames) -> Option<FrameId> {
        self.coldest_clean(frames)
            .or_else(|| self.queue.iter().find(|&frame| frames.is_evictable(frame)))
    }

    fn next_dirty(&mut self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let dirty = |&f: &FrameId| frames.is_dirty(f) && frames.is_evictable(f);
        out.extend(self.queue.iter().take(reach).filter(dirty).take(n));
    }

    fn next_clean(&self, n: usize, reach: usize, frames: &dyn Frames, out: &mut Vec<FrameId>) {
        let clean = |&f: &FrameId| !frames.is_dirty(f) && frames.is_evictable(f);
        let candidates = self.maybe_clean.values().copied().chain(self.outside());
        out.extend(candidates.take(reach).filter(clean).take(n));
    }
}

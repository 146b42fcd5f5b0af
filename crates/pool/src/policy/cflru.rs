//! Clean-first LRU: of the coldest pages, a clean one leaves before a dirty one.
//!
//! The `window` coldest pages are the clean-first region. Its coldest clean page leaves; where it
//! has none, the coldest page of all does (Park et al., CASES 2006; dissertation 4.2.1,
//! Fig. 4.4b). As each page that leaves brings the next one into the region, dirty pages leave in
//! the order of their last use and so do clean ones: the virtual orders are LRU's.
//!
//! A region full of dirty pages must not cost a walk over a third of the pool for each miss. So
//! the pages of the region that may be clean are kept in an ordered map: a page joins it when it
//! comes into the region and when it was [cleaned](Policy::cleaned), and goes when it leaves the
//! region or is found dirty. Each is O(log window); finding a victim costs one look for every
//! page found dirty since, and each of those is paid for by its joining.

use std::collections::BTreeMap;

use super::queue::Queue;
use super::{Entrance, FrameId, Frames, HitRecording, Policy};
use crate::PageId;

/// The pages in the order of their last use, and the clean ones of the coldest apart.
#[derive(Debug)]
pub struct Cflru {
    queue: Queue,
    window: usize,
    /// Whether the frame is among the `window` coldest.
    inside: Box<[bool]>,
    inside_count: usize,
    /// The hottest frame inside.
    edge: Option<FrameId>,
    /// Ascending along the queue.
    positions: Box<[i64]>,
    position_hottest: i64,
    position_coldest: i64,
    /// Every clean page inside, and dirty ones that were not found out yet.
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
        self.come_in(frame);
        self.edge = self.edge.or(Some(frame));
        if self.inside_count > self.window
            && let Some(edge) = self.edge
        {
            self.edge = self.queue.colder(edge);
            self.go_out(edge);
        }
    }

    fn remove(&mut self, frame: FrameId) {
        if self.inside[frame as usize] {
            if self.edge == Some(frame) {
                self.edge = self.queue.colder(frame);
            }
            self.go_out(frame);
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
            self.come_in(next);
            self.edge = Some(next);
        }
    }

    fn come_in(&mut self, frame: FrameId) {
        self.inside[frame as usize] = true;
        self.inside_count += 1;
        self.maybe_clean.insert(self.positions[frame as usize], frame);
    }

    fn go_out(&mut self, frame: FrameId) {
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

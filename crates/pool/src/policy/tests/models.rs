//! The policies once more, on plain vectors and without a thought for speed.

use super::super::{Entrance, FrameId, Frames};
use super::Fake;
use crate::PageId;

/// A policy's second implementation.
pub trait Model: Clone {
    fn admitted(&mut self, frame: FrameId, page: PageId, entrance: Entrance, fake: &Fake);
    fn touched(&mut self, _: FrameId) {}
    fn removed(&mut self, frame: FrameId, page: PageId);
    fn victim(&mut self, fake: &Fake) -> Option<FrameId>;

    /// As `removed`, while a virtual order is asked for.
    fn removed_virtually(&mut self, frame: FrameId) {
        self.removed(frame, 0);
    }

    /// All that can leave, one after the other.
    fn leaving(&self, fake: &Fake) -> Vec<FrameId> {
        let (mut model, fake) = (self.clone(), fake.clone());
        let mut order = vec![];
        while let Some(frame) = model.victim(&fake) {
            model.removed_virtually(frame);
            order.push(frame);
        }
        order
    }

    fn next_dirty(&mut self, n: usize, _reach: usize, fake: &Fake) -> Vec<FrameId> {
        let mut order = self.leaving(fake);
        order.retain(|&frame| fake.is_dirty(frame));
        order.truncate(n);
        order
    }
}

fn evictable(frames: &[FrameId], fake: &Fake) -> Option<FrameId> {
    frames.iter().copied().find(|&frame| fake.is_evictable(frame))
}

fn take(frames: &mut Vec<FrameId>, frame: FrameId) {
    let len = frames.len();
    frames.retain(|&f| f != frame);
    assert_eq!(frames.len() + 1, len, "frame {frame} was there once");
}

fn enter(frames: &mut Vec<FrameId>, frame: FrameId, entrance: Entrance) {
    match entrance {
        Entrance::Hot => frames.push(frame),
        Entrance::Cold => frames.insert(0, frame),
    }
}

/// LRU and, with a window, CFLRU: coldest first.
#[derive(Clone)]
pub struct WindowedLru {
    pub order: Vec<FrameId>,
    pub window: usize,
}

impl Model for WindowedLru {
    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, _: &Fake) {
        enter(&mut self.order, frame, entrance);
    }

    fn touched(&mut self, frame: FrameId) {
        take(&mut self.order, frame);
        self.order.push(frame);
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        take(&mut self.order, frame);
    }

    fn victim(&mut self, fake: &Fake) -> Option<FrameId> {
        let window = &self.order[..self.window.min(self.order.len())];
        let clean: Vec<_> = window.iter().copied().filter(|&f| !fake.is_dirty(f)).collect();
        evictable(&clean, fake).or(evictable(&self.order, fake))
    }
}

/// LRU-WSR: coldest first, with the frames that are marked.
#[derive(Clone, Default)]
pub struct Wsr {
    order: Vec<FrameId>,
    marked: Vec<FrameId>,
}

impl Wsr {
    fn spare(&mut self, frame: FrameId) {
        self.marked.push(frame);
        take(&mut self.order, frame);
        self.order.push(frame);
    }
}

impl Model for Wsr {
    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, _: &Fake) {
        self.marked.retain(|&f| f != frame);
        enter(&mut self.order, frame, entrance);
    }

    fn touched(&mut self, frame: FrameId) {
        self.marked.retain(|&f| f != frame);
        take(&mut self.order, frame);
        self.order.push(frame);
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        take(&mut self.order, frame);
    }

    fn victim(&mut self, fake: &Fake) -> Option<FrameId> {
        loop {
            let frame = evictable(&self.order, fake)?;
            if !fake.is_dirty(frame) || self.marked.contains(&frame) {
                return Some(frame);
            }
            self.spare(frame);
        }
    }

    fn next_dirty(&mut self, n: usize, reach: usize, fake: &Fake) -> Vec<FrameId> {
        let mut out = vec![];
        let (mut at, mut looks) = (0, 0);
        while at < self.order.len() && looks < reach && out.len() < n {
            let frame = self.order[at];
            looks += 1;
            if !fake.is_dirty(frame) || !fake.is_evictable(frame) {
                at += 1;
            } else if self.marked.contains(&frame) {
                out.push(frame);
                at += 1;
            } else {
                self.spare(frame);
            }
        }
        out
    }
}

/// Clock Sweep: what the hand does in all its laps, in one formula.
#[derive(Clone)]
pub struct Clock {
    pub resident: Vec<bool>,
    pub hand: usize,
}

impl Clock {
    fn distance(&self, frame: FrameId) -> usize {
        (frame as usize + self.resident.len() - self.hand) % self.resident.len()
    }
}

impl Model for Clock {
    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, fake: &Fake) {
        self.resident[frame as usize] = true;
        fake.set_uses(frame, if entrance == Entrance::Hot { 1 } else { 0 });
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        self.resident[frame as usize] = false;
        if self.hand == frame as usize {
            self.hand = (self.hand + 1) % self.resident.len();
        }
    }

    fn victim(&mut self, fake: &Fake) -> Option<FrameId> {
        let can_leave = |&f: &FrameId| self.resident[f as usize] && fake.is_evictable(f);
        let frames: Vec<_> = (0..self.resident.len() as FrameId).filter(can_leave).collect();
        let key = |&f: &FrameId| (fake.uses(f), self.distance(f));
        let victim = frames.iter().copied().min_by_key(key)?;
        let (laps, distance) = key(&victim);
        for frame in frames {
            let passed = laps + u8::from(self.distance(frame) < distance);
            fake.set_uses(frame, fake.uses(frame) - passed);
        }
        self.hand = victim as usize;
        Some(victim)
    }
}

/// SIEVE: oldest first.
#[derive(Clone, Default)]
pub struct SieveModel {
    order: Vec<FrameId>,
    hand: usize,
}

impl Model for SieveModel {
    fn admitted(&mut self, frame: FrameId, _: PageId, entrance: Entrance, fake: &Fake) {
        fake.set_uses(frame, 0);
        match entrance {
            Entrance::Hot => self.order.push(frame),
            Entrance::Cold => self.order.insert(self.hand, frame),
        }
    }

    fn removed(&mut self, frame: FrameId, _: PageId) {
        let at = self.order.iter().position(|&f| f == frame).expect("the frame is there");
        self.order.remove(at);
        self.hand -= usize::from(at < self.hand);
        if self.hand >= self.order.len() {
            self.hand = 0;
        }
    }

    fn victim(&mut self, fake: &Fake) -> Option<FrameId> {
        let mut lap = self.order.clone();
        lap.rotate_left(self.hand);
        lap.retain(|&frame| fake.is_evictable(frame));
        let victim = match lap.iter().position(|&frame| fake.uses(frame) == 0) {
            Some(at) => {
                lap.truncate(at + 1);
                lap[at]
            }
            None => *lap.first()?,
        };
        lap.iter().for_each(|&frame| fake.set_uses(frame, 0));
        self.hand = self.order.iter().position(|&f| f == victim)?;
        Some(victim)
    }

    fn next_dirty(&mut self, n: usize, _reach: usize, fake: &Fake) -> Vec<FrameId> {
        let mut order = self.order[self.hand..].to_vec();
        order.retain(|&f| fake.uses(f) == 0 && fake.is_dirty(f) && fake.is_evictable(f));
        order.truncate(n);
        order
    }
}

/// S3-FIFO: oldest first.
#[derive(Clone)]
pub struct S3 {
    small: Vec<FrameId>,
    main: Vec<FrameId>,
    /// 65,536ths of pages that would have come into the small queue in a virtual order.
    newcomers: usize,
    /// 65,536ths of the pages that lately came into the main queue.
    to_main: usize,
    share: usize,
    ghost_capacity: usize,
    /// None where a page came back.
    ghost: Vec<Option<PageId>>,
    unasked: Vec<FrameId>,
}

impl S3 {
    pub fn new(frames: usize) -> Self {
        let share = (frames / 10).max(1);
        Self {
            small: vec![],
            main: vec![],
            newcomers: 0,
            to_main: 0,
            share,
            ghost_capacity: frames - share,
            ghost: vec![],
            unasked: vec![],
        }
    }
}

impl Model for S3 {
    fn admitted(&mut self, frame: FrameId, page: PageId, entrance: Entrance, fake: &Fake) {
        fake.set_uses(frame, 0);
        self.unasked.retain(|&f| f != frame);
        if entrance == Entrance::Cold {
            self.unasked.push(frame);
            self.small.insert(0, frame);
            return;
        }
        self.to_main -= self.to_main / 256;
        if let Some(seen) = self.ghost.iter_mut().find(|g| **g == Some(page)) {
            *seen = None;
            self.main.push(frame);
            self.to_main += 256;
        } else {
            self.small.push(frame);
        }
    }

    fn removed(&mut self, frame: FrameId, page: PageId) {
        if self.main.contains(&frame) {
            return take(&mut self.main, frame);
        }
        take(&mut self.small, frame);
        if !self.unasked.contains(&frame) {
            self.ghost.push(Some(page));
            if self.ghost.len() > self.ghost_capacity {
                self.ghost.remove(0);
            }
        }
    }

    fn removed_virtually(&mut self, frame: FrameId) {
        self.removed(frame, 0);
        self.newcomers += 65_536 - self.to_main;
    }

    fn victim(&mut self, fake: &Fake) -> Option<FrameId> {
        loop {
            let small = evictable(&self.small, fake);
            let main = evictable(&self.main, fake);
            let small_len = self.small.len() * 65_536 + self.newcomers;
            let small_gives = small_len >= self.share * 65_536 || main.is_none();
            match (small.filter(|_| small_gives), main) {
                (Some(frame), _) if fake.uses(frame) > 1 => {
                    take(&mut self.small, frame);
                    self.main.push(frame);
                    fake.set_uses(frame, 0);
                }
                (Some(frame), _) => return Some(frame),
                (None, Some(frame)) if fake.uses(frame) > 0 => {
                    take(&mut self.main, frame);
                    self.main.push(frame);
                    fake.set_uses(frame, fake.uses(frame) - 1);
                }
                (None, main) => return main,
            }
        }
    }
}

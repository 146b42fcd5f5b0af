//! What the policies cost: nanoseconds for a victim with its bookkeeping, and for the next dirty
//! and clean pages, in a pool of which about half is dirty.
//!
//! `cargo run --release -p cenote-pool --example policy_cost`
//!
//! Of three times the pool's pages, a tenth gets half of the accesses; half of them write. A dirty
//! victim is written with up to 7 more, as ACE does it; a search looks at half of the pool at most.

use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cenote_pool::policy::{Entrance, FrameId, Frames, HitRecording, Policy, PolicyKind};

const BATCH: usize = 8;

struct Flat {
    dirty: Vec<Cell<bool>>,
    uses: Vec<Cell<u8>>,
}

impl Frames for Flat {
    fn is_dirty(&self, frame: FrameId) -> bool {
        self.dirty[frame as usize].get()
    }

    fn is_evictable(&self, frame: FrameId) -> bool {
        frame as usize != usize::MAX
    }

    fn uses(&self, frame: FrameId) -> u8 {
        self.uses[frame as usize].get()
    }

    fn set_uses(&self, frame: FrameId, uses: u8) {
        self.uses[frame as usize].set(uses);
    }
}

/// Time and calls of one kind.
#[derive(Default)]
struct Cost {
    total: Duration,
    calls: u32,
    slowest: Duration,
}

impl Cost {
    fn measure<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = black_box(call());
        let took = start.elapsed();
        self.total += took;
        self.slowest = self.slowest.max(took);
        self.calls += 1;
        result
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mean = self.total.as_nanos() / u128::from(self.calls.max(1));
        write!(f, "{mean:>7} {:>6}", self.slowest.as_micros())
    }
}

#[derive(Default)]
struct Costs {
    victim: Cost,
    dirty: Cost,
    clean: Cost,
    touch: Cost,
    barren: Cost,
}

struct Pool {
    policy: Box<dyn Policy>,
    frames: Flat,
    page_of: Vec<u64>,
    frame_of: Vec<Option<FrameId>>,
    costs: Costs,
}

impl Pool {
    fn new(kind: PolicyKind, frames: usize) -> Self {
        let flat = Flat { dirty: vec![Cell::new(false); frames], uses: vec![Cell::new(0); frames] };
        Self {
            policy: kind.build(frames),
            frames: flat,
            page_of: vec![],
            frame_of: vec![None; 3 * frames],
            costs: Costs::default(),
        }
    }

    fn access(&mut self, page: u64, write: bool) {
        let frame = match self.frame_of[page as usize] {
            Some(frame) => self.hit(frame, write),
            None => self.miss(page),
        };
        if write {
            self.frames.dirty[frame as usize].set(true);
        }
    }

    fn hit(&mut self, frame: FrameId, write: bool) -> FrameId {
        match self.policy.hits() {
            HitRecording::Ordered => self.costs.touch.measure(|| self.policy.touched(frame, write)),
            HitRecording::Counted { max } => {
                let uses = &self.frames.uses[frame as usize];
                uses.set((uses.get() + 1).min(max));
            }
        }
        frame
    }

    fn miss(&mut self, page: u64) -> FrameId {
        let frame = if self.page_of.len() < self.frames.dirty.len() {
            self.page_of.push(page);
            self.page_of.len() as FrameId - 1
        } else {
            let victim = self.make_room();
            self.frame_of[self.page_of[victim as usize] as usize] = None;
            self.page_of[victim as usize] = page;
            victim
        };
        self.frame_of[page as usize] = Some(frame);
        self.policy.admitted(frame, page, Entrance::Hot, &self.frames);
        frame
    }

    fn make_room(&mut self) -> FrameId {
        let frames = &self.frames;
        let victim = self.costs.victim.measure(|| self.policy.victim(frames));
        let victim = victim.expect("nothing is pinned");
        if frames.dirty[victim as usize].get() {
            let mut batch = Vec::with_capacity(BATCH);
            let reach = frames.dirty.len() / 2;
            self.costs.dirty.measure(|| self.policy.next_dirty(BATCH, reach, frames, &mut batch));
            for &frame in batch.iter().chain([&victim]) {
                frames.dirty[frame as usize].set(false);
                self.policy.cleaned(frame);
            }
            batch.clear();
            self.costs.clean.measure(|| self.policy.next_clean(BATCH, reach, frames, &mut batch));
        }
        self.policy.removed(victim, self.page_of[victim as usize]);
        victim
    }
}

impl Pool {
    /// Searches for dirty pages where there are none: the whole reach is looked at.
    fn search_in_vain(&mut self) {
        self.frames.dirty.iter().for_each(|dirty| dirty.set(false));
        let (frames, mut none) = (&self.frames, vec![]);
        let reach = frames.dirty.len() / 2;
        for _ in 0..20 {
            let search = || self.policy.next_dirty(BATCH, reach, frames, &mut none);
            self.costs.barren.measure(search);
        }
    }
}

fn main() {
    println!("nanoseconds in the mean, microseconds at most, clock reading included");
    print!("policy   frames  dirty |   victim    us | 8 dirty    us | 8 clean    us ");
    println!("|   touch    us | in vain    us");
    for frames in [20_000, 200_000] {
        for kind in PolicyKind::ALL {
            let mut pool = Pool::new(kind, frames);
            let mut random = 7_u64;
            for access in 0..8 * frames {
                if access == 4 * frames {
                    pool.costs = Costs::default();
                }
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (spread, bits) = (3 * frames as u64, random >> 33);
                let page = if bits % 2 == 0 { bits / 2 % spread } else { bits / 2 % (spread / 10) };
                pool.access(page, random >> 20 & 1 == 0);
            }
            let dirty = pool.frames.dirty.iter().filter(|dirty| dirty.get()).count();
            pool.search_in_vain();
            let Costs { victim, dirty: next_dirty, clean, touch, barren } = &pool.costs;
            let percent = dirty * 100 / frames;
            print!("{kind:<8} {frames:>6} {percent:>5}% | {victim} | {next_dirty} ");
            println!("| {clean} | {touch} | {barren}");
        }
    }
}

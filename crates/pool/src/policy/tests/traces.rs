//! Random traces: what a pool does, with each answer compared.

use std::collections::HashMap;

use super::super::cflru::Cflru;
use super::super::{Entrance, FrameId, HitRecording, Policy, PolicyKind};
use super::models::{Clock, Model, S3, SieveModel, WindowedLru, Wsr};
use super::{Fake, Frames, Random};
use crate::PageId;

const STEPS: usize = 1500;
const SEEDS: u64 = 40;

/// A pool without pages, which passes the same events to a policy and to its model.
struct Pair<M> {
    policy: Box<dyn Policy>,
    model: M,
    /// As the policy sees the frames; the two differ in the counts of uses only, if at all.
    fake: Fake,
    fake_model: Fake,
    frame_of: HashMap<PageId, FrameId>,
    page_of: Vec<Option<PageId>>,
    /// Looking at dirty pages moves nothing (all but LRU-WSR).
    looks_are_free: bool,
}

impl<M: Model> Pair<M> {
    fn new(policy: Box<dyn Policy>, model: M, frames: usize) -> Self {
        let looks_are_free = !format!("{policy:?}").starts_with("LruWsr");
        Self {
            policy,
            model,
            fake: Fake::new(frames),
            fake_model: Fake::new(frames),
            frame_of: HashMap::new(),
            page_of: vec![None; frames],
            looks_are_free,
        }
    }

    fn set_dirty(&mut self, frame: FrameId, dirty: bool) {
        self.fake.set_dirty(frame, dirty);
        self.fake_model.set_dirty(frame, dirty);
        if !dirty {
            self.policy.cleaned(frame);
        }
    }

    fn set_pinned(&self, frame: FrameId, pinned: bool) {
        self.fake.set_pinned(frame, pinned);
        self.fake_model.set_pinned(frame, pinned);
    }

    fn set_all_pins(&self, pinned: bool) {
        for fake in [&self.fake, &self.fake_model] {
            fake.pinned.iter().for_each(|pin| pin.set(pinned));
        }
    }

    fn random_resident(&self, random: &mut Random) -> Option<FrameId> {
        let frame = random.below(self.page_of.len());
        self.page_of[frame].map(|_| frame as FrameId)
    }

    fn remove(&mut self, frame: FrameId) {
        let page = self.page_of[frame as usize].take().expect("the frame holds a page");
        self.frame_of.remove(&page);
        self.policy.removed(frame, page);
        self.model.removed(frame, page);
    }

    fn hit(&mut self, frame: FrameId, write: bool) {
        match self.policy.hits() {
            HitRecording::Ordered => {
                self.policy.touched(frame, write);
                self.model.touched(frame);
            }
            HitRecording::Counted { max } => {
                for fake in [&self.fake, &self.fake_model] {
                    fake.set_uses(frame, (fake.uses(frame) + 1).min(max));
                }
            }
        }
    }

    fn admit(&mut self, page: PageId, entrance: Entrance, frame: FrameId) {
        self.page_of[frame as usize] = Some(page);
        self.frame_of.insert(page, frame);
        self.policy.admitted(frame, page, entrance, &self.fake);
        self.model.admitted(frame, page, entrance, &self.fake_model);
    }

    /// An empty frame, after a victim has left; sometimes as ACE does it.
    fn make_room(&mut self, random: &mut Random) -> Option<FrameId> {
        if let Some(free) = self.page_of.iter().position(Option::is_none) {
            return Some(free as FrameId);
        }
        let victim = self.policy.victim(&self.fake);
        assert_eq!(victim, self.model.victim(&self.fake_model), "victim");
        let victim = victim?;
        if self.fake.is_dirty(victim) {
            if random.one_in(2) {
                let (n, reach) = (1 + random.below(8), 2 * self.page_of.len());
                let batch = self.compare_dirty(n, reach);
                assert_eq!(batch.first(), Some(&victim), "the victim is the first of the batch");
                batch.into_iter().for_each(|frame| self.set_dirty(frame, false));
            } else {
                self.set_dirty(victim, false);
            }
        }
        self.remove(victim);
        Some(victim)
    }

    fn access(&mut self, page: PageId, random: &mut Random) {
        let write = random.one_in(2);
        let frame = match self.frame_of.get(&page) {
            Some(&frame) => {
                self.hit(frame, write);
                frame
            }
            None => {
                let Some(frame) = self.make_room(random) else { return };
                let entrance = if random.one_in(8) { Entrance::Cold } else { Entrance::Hot };
                self.admit(page, entrance, frame);
                frame
            }
        };
        if write {
            self.set_dirty(frame, true);
        }
    }

    fn compare_dirty(&mut self, n: usize, reach: usize) -> Vec<FrameId> {
        let mut out = vec![];
        self.policy.next_dirty(n, reach, &self.fake, &mut out);
        let expected = self.model.next_dirty(n, reach, &self.fake_model);
        assert_eq!(out, expected, "next {n} dirty within {reach}");
        out
    }

    /// Asks for orders, with and without a bound; nothing may change by it.
    fn compare_orders(&mut self, random: &mut Random) {
        let (n, frames) = (random.below(10), self.page_of.len());
        let before = format!("{:?} {:?}", self.policy, self.fake.uses);
        let mut clean = vec![];
        self.policy.next_clean(n, usize::MAX, &self.fake, &mut clean);
        let order = self.model.leaving(&self.fake_model);
        let mut expected = order.clone();
        expected.retain(|&frame| !self.fake.is_dirty(frame));
        expected.truncate(n);
        assert_eq!(clean, expected, "next {n} clean");
        let reach = random.below(frames + 1);
        self.compare_bounded(&order, n, reach);
        if self.looks_are_free {
            self.compare_dirty(n, usize::MAX);
            let after = format!("{:?} {:?}", self.policy, self.fake.uses);
            assert_eq!(before, after, "looking changes nothing");
        } else if random.one_in(4) {
            self.compare_dirty(n, reach);
        }
    }

    /// Within a bound an order leaves some out and looks at no more frames.
    fn compare_bounded(&mut self, order: &[FrameId], n: usize, reach: usize) {
        let mut clean = vec![];
        self.fake.looked_at.borrow_mut().clear();
        self.policy.next_clean(n, reach, &self.fake, &mut clean);
        assert_bounded(&self.fake, &clean, order, n, reach, false);
        if self.looks_are_free {
            let mut dirty = vec![];
            self.fake.looked_at.borrow_mut().clear();
            self.policy.next_dirty(n, reach, &self.fake, &mut dirty);
            assert_bounded(&self.fake, &dirty, order, n, reach, true);
        }
    }

    fn assert_same_counts(&self) {
        assert_eq!(self.fake.uses, self.fake_model.uses, "counts of uses");
    }
}

fn assert_bounded(
    fake: &Fake,
    found: &[FrameId],
    order: &[FrameId],
    n: usize,
    reach: usize,
    dirty: bool,
) {
    let looks = fake.looked_at.borrow().len();
    assert!(looks <= reach, "{looks} frames looked at, {reach} allowed");
    assert!(found.len() <= n, "{} of {n}", found.len());
    assert!(found.iter().all(|&frame| fake.is_dirty(frame) == dirty), "dirty is {dirty}");
    let mut rest = order.iter();
    let in_order = found.iter().all(|frame| rest.any(|f| f == frame));
    assert!(in_order, "{found:?} within {reach} is not in the order {order:?}");
}

fn run<M: Model>(seed: u64, build: impl Fn(usize) -> (Box<dyn Policy>, M)) {
    let mut random = Random(seed);
    let frames = 1 + random.below(48);
    let (policy, model) = build(frames);
    let mut pair = Pair::new(policy, model, frames);
    let (pages, hot) = (3 * frames, frames.div_ceil(2));
    for _ in 0..STEPS {
        match random.below(24) {
            0 => pair.set_all_pins(false),
            1..4 => {
                if let Some(frame) = pair.random_resident(&mut random) {
                    pair.set_pinned(frame, random.one_in(2));
                }
            }
            4 => {
                if let Some(frame) = pair.random_resident(&mut random) {
                    pair.set_dirty(frame, false);
                }
            }
            5 => {
                if let Some(frame) = pair.random_resident(&mut random) {
                    pair.set_dirty(frame, false);
                    pair.remove(frame);
                }
            }
            6..9 => pair.compare_orders(&mut random),
            kind => {
                let range = if kind < 16 { hot } else { pages };
                let page = random.below(range) as PageId;
                pair.access(page, &mut random);
            }
        }
        pair.assert_same_counts();
    }
}

/// Runs the traces of all seeds; a failure names its seed.
fn run_all<M: Model>(build: impl Fn(usize) -> (Box<dyn Policy>, M)) {
    for seed in 0..SEEDS {
        let run = std::panic::AssertUnwindSafe(|| run(seed, &build));
        if let Err(fault) = std::panic::catch_unwind(run) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(fault);
        }
    }
}

#[test]
fn clock_sweep_does_what_the_formula_says() {
    run_all(|frames| {
        let model = Clock { resident: vec![false; frames], hand: 0 };
        (PolicyKind::Clock.build(frames), model)
    });
}

#[test]
fn lru_does_what_its_model_does() {
    run_all(|frames| (PolicyKind::Lru.build(frames), WindowedLru { order: vec![], window: 0 }));
}

#[test]
fn cflru_does_what_its_model_does_with_the_usual_window() {
    run_all(|frames| {
        (PolicyKind::Cflru.build(frames), WindowedLru { order: vec![], window: frames / 3 })
    });
}

#[test]
fn cflru_does_what_its_model_does_with_windows_from_none_to_all() {
    for window in [0, 1, 5, 20, 47, 100] {
        run_all(|frames| {
            let model = WindowedLru { order: vec![], window };
            (Box::new(Cflru::new(frames, window)), model)
        });
    }
}

#[test]
fn lru_wsr_does_what_its_model_does() {
    run_all(|frames| (PolicyKind::LruWsr.build(frames), Wsr::default()));
}

#[test]
fn s3_fifo_does_what_its_model_does() {
    run_all(|frames| (PolicyKind::S3Fifo.build(frames), S3::new(frames)));
}

#[test]
fn sieve_does_what_its_model_does() {
    run_all(|frames| (PolicyKind::Sieve.build(frames), SieveModel::default()));
}

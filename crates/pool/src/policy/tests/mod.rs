//! Each policy against a second one that is too simple to be wrong, on random traces; the papers'
//! figures; and what holds for all: a victim is found if there is one, and looking changes nothing.

mod figures;
mod models;
mod traces;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::{Entrance, FrameId, Frames, HitRecording, Policy, PolicyKind};

/// Frames without a pool.
#[derive(Clone, Debug)]
struct Fake {
    dirty: Vec<Cell<bool>>,
    pinned: Vec<Cell<bool>>,
    uses: Vec<Cell<u8>>,
    /// Counts as after a hit at once, whatever is set: hits faster than any hand.
    is_busy: bool,
    looked_at: RefCell<BTreeSet<FrameId>>,
}

impl Fake {
    fn new(frames: usize) -> Self {
        Self {
            dirty: vec![Cell::new(false); frames],
            pinned: vec![Cell::new(false); frames],
            uses: vec![Cell::new(0); frames],
            is_busy: false,
            looked_at: RefCell::default(),
        }
    }

    fn set_dirty(&self, frame: FrameId, dirty: bool) {
        self.dirty[frame as usize].set(dirty);
    }

    fn set_pinned(&self, frame: FrameId, pinned: bool) {
        self.pinned[frame as usize].set(pinned);
    }

    fn look(&self, frame: FrameId) -> usize {
        self.looked_at.borrow_mut().insert(frame);
        frame as usize
    }
}

impl Frames for Fake {
    fn is_dirty(&self, frame: FrameId) -> bool {
        self.dirty[self.look(frame)].get()
    }

    fn is_evictable(&self, frame: FrameId) -> bool {
        !self.pinned[self.look(frame)].get()
    }

    fn uses(&self, frame: FrameId) -> u8 {
        let frame = self.look(frame);
        if self.is_busy { 1 } else { self.uses[frame].get() }
    }

    fn set_uses(&self, frame: FrameId, uses: u8) {
        self.uses[frame as usize].set(uses);
    }
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn filled(kind: PolicyKind, frames: usize, fake: &Fake) -> Box<dyn Policy> {
    let mut policy = kind.build(frames);
    for frame in 0..frames as FrameId {
        policy.admitted(frame, u64::from(frame), Entrance::Hot, fake);
    }
    policy
}

fn use_once(policy: &mut dyn Policy, fake: &Fake, frame: FrameId) {
    match policy.hits() {
        HitRecording::Ordered => policy.touched(frame, false),
        HitRecording::Counted { max } => {
            let uses = &fake.uses[frame as usize];
            uses.set((uses.get() + 1).min(max));
        }
    }
}

#[test]
fn the_only_frame_that_can_leave_is_found_and_without_one_none_is() {
    for kind in PolicyKind::ALL {
        for (frames, survivor, uses, dirty) in
            [(1, 0, 0, false), (40, 39, 9, true), (40, 7, 2, false)]
        {
            let fake = Fake::new(frames);
            let mut policy = filled(kind, frames, &fake);
            for frame in 0..frames as FrameId {
                fake.set_pinned(frame, true);
                fake.set_dirty(frame, dirty);
                (0..uses).for_each(|_| use_once(policy.as_mut(), &fake, frame));
            }
            assert_eq!(policy.victim(&fake), None, "{kind} with all of {frames} pinned");
            fake.set_pinned(survivor, false);
            assert_eq!(policy.victim(&fake), Some(survivor), "{kind} with {frames} frames");
        }
    }
}

#[test]
fn an_empty_pool_has_no_victim() {
    for kind in PolicyKind::ALL {
        assert_eq!(kind.build(10).victim(&Fake::new(10)), None, "{kind}");
    }
}

#[test]
fn hits_faster_than_the_hand_do_not_keep_a_victim_from_being_found() {
    for kind in PolicyKind::ALL {
        let mut fake = Fake::new(30);
        let mut policy = filled(kind, 30, &fake);
        fake.is_busy = true;
        (0..29).for_each(|frame| fake.set_pinned(frame, true));
        assert_eq!(policy.victim(&fake), Some(29), "{kind}");
    }
}

#[test]
fn a_prefetched_page_leaves_before_pages_that_were_used() {
    for kind in PolicyKind::ALL {
        let fake = Fake::new(20);
        let mut policy = filled(kind, 20, &fake);
        let left = policy.victim(&fake).expect("a victim");
        policy.removed(left, u64::from(left));
        policy.admitted(left, 100, Entrance::Cold, &fake);
        for frame in (0..20).filter(|&frame| frame != left) {
            (0..2).for_each(|_| use_once(policy.as_mut(), &fake, frame));
        }
        assert_eq!(policy.victim(&fake), Some(left), "{kind}");
    }
}

#[test]
fn a_policy_is_found_by_its_name() {
    for kind in PolicyKind::ALL {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    let error = "fifo".parse::<PolicyKind>().unwrap_err();
    assert!(error.contains("'fifo'") && error.contains("lru-wsr"), "{error}");
}

//! The power fails at every change of any tier, or of the map; or a tier fails.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cenote_device::Device;
use cenote_device::backend::sim::{Effect, FaultPlan, SimDevice, Unsynced, When};
use cenote_tier::device::{Migrator, Outcome, TieredDevice, TieredError};
use cenote_tier::placement::Move;

use crate::oracle::{self, Oracle, SECTOR};
use crate::support::{self, BLOCK, Plug, Random, Strip};

/// Blocks of the device under test, and what the tiers hold.
const BLOCKS: u64 = 40;
const SLOTS: [u64; 3] = [7, 12, 48];

/// Crash points of all seeds together, at least.
const POINTS: u64 = 10_000;

struct Rig {
    /// The map, then the tiers.
    sims: Vec<Arc<SimDevice>>,
    strip: Arc<Strip>,
    device: TieredDevice,
    oracle: Arc<Mutex<Oracle>>,
    random: Random,
}

impl Rig {
    fn new(seed: u64, faults: impl Fn(usize) -> FaultPlan) -> Self {
        let sims: Vec<_> = (0..=SLOTS.len()).map(|at| support::sim(faults(at))).collect();
        let strip = Arc::new(Strip::default());
        let plug = |sim: &Arc<SimDevice>| {
            Arc::new(Plug { inner: Arc::clone(sim), strip: Arc::clone(&strip) })
        };
        let plugs: Vec<_> = sims.iter().map(plug).collect();
        let parts = support::parts(&plugs[1..], &SLOTS);
        let config = support::config(2 + (seed % 3) as u32);
        let device = TieredDevice::create(Arc::clone(&plugs[0]) as _, parts, &config).unwrap();
        let oracle = Oracle::new((BLOCKS * BLOCK) as usize / SECTOR);
        Self { sims, strip, device, oracle: Arc::new(Mutex::new(oracle)), random: Random(seed) }
    }

    fn write(&mut self) -> bool {
        let sectors = BLOCKS * BLOCK / SECTOR as u64;
        let first = self.random.below(sectors - 1);
        let count = (1 + self.random.below(30)).min(sectors - first);
        let (offset, len) = (first * SECTOR as u64, count as usize * SECTOR);
        let version = self.oracle.lock().unwrap().begin_write(offset, len);
        let written = oracle::write(&self.device, offset, len, version);
        if written.is_err() {
            self.oracle.lock().unwrap().write_failed(version);
        }
        written.is_ok()
    }

    /// The device has its whole length from the beginning.
    fn whole(self) -> Self {
        self.device.set_len(BLOCKS * BLOCK).unwrap();
        self.device.sync().unwrap();
        let mut oracle = self.oracle.lock().unwrap();
        oracle.set_len(BLOCKS * BLOCK);
        oracle.synced();
        drop(oracle);
        self
    }

    fn moves(&mut self) -> Vec<Move> {
        let count = 1 + self.random.below(6);
        let random = &mut self.random;
        let step = |_| Move {
            page: random.below(BLOCKS) as u32,
            to: random.below(SLOTS.len() as u64) as u8,
        };
        (0..count).map(step).collect()
    }

    /// One step of everything that users and migrations do.
    fn step(&mut self, migrator: &mut Migrator) {
        match self.random.below(10) {
            0..=3 => {
                self.write();
            }
            4 => {
                if self.device.sync().is_ok() {
                    self.oracle.lock().unwrap().synced();
                }
            }
            5 if self.random.below(4) == 0 => {
                let sectors = self.random.below(BLOCKS * BLOCK / SECTOR as u64);
                self.oracle.lock().unwrap().set_len(sectors * SECTOR as u64);
                self.device.set_len(sectors * SECTOR as u64).unwrap();
            }
            _ => {
                let moves = self.moves();
                migrator.carry_out(&moves).unwrap();
            }
        }
    }
}

/// Opens what a power cut left and compares it; then it must be of use.
fn verify(sims: &[Arc<SimDevice>], oracle: &Oracle, case: &str, use_it: bool) {
    let found = support::after_power_cut(sims);
    let device = support::open(&found[0], &found[1..]);
    oracle.check(&oracle::contents(&device), false, case);
    if !use_it {
        return;
    }
    let before = oracle::contents(&device);
    let moves: Vec<_> = (0..8).map(|page| Move { page, to: (page % 3) as u8 }).collect();
    Migrator::new(&device, 4).unwrap().carry_out(&moves).unwrap();
    assert!(oracle::contents(&device) == before, "{case}: moves changed contents");
    device.sync().unwrap();
    let again = support::after_power_cut(&found);
    let device = support::open(&again[0], &again[1..]);
    assert!(oracle::contents(&device) == before, "{case}: a synced restart changed contents");
}

#[test]
fn power_cut_at_every_change_loses_and_doubles_no_block() {
    let points = Arc::new(AtomicU64::new(0));
    let mut seed = 0;
    while points.load(Ordering::SeqCst) < POINTS {
        let unsynced = [Unsynced::Random, Unsynced::Lost, Unsynced::Torn, Unsynced::Kept];
        let unsynced = unsynced[seed as usize % 4];
        let plan = |at| FaultPlan { unsynced, ..FaultPlan::seeded(seed * 10 + at as u64) };
        let mut rig = Rig::new(seed, plan);
        rig.device.sync().unwrap();
        let (sims, oracle, points) =
            (rig.sims.clone(), Arc::clone(&rig.oracle), Arc::clone(&points));
        rig.strip.listen(Box::new(move |change| {
            points.fetch_add(1, Ordering::SeqCst);
            let case = format!("seed {seed}, change {change}");
            verify(&sims, &oracle.lock().unwrap(), &case, change % 16 == 0);
        }));
        let mut migrator = Migrator::new(&rig.device, 4).unwrap();
        for _ in 0..120 {
            rig.step(&mut migrator);
        }
        rig.strip.deaf();
        let case = format!("seed {seed}, at the end");
        rig.oracle.lock().unwrap().check(&oracle::contents(&rig.device), true, &case);
        seed += 1;
    }
    println!("{} crash points in {seed} runs", points.load(Ordering::SeqCst));
    assert!(seed >= 4, "not every way to lose what is not synced");
}

#[test]
fn a_tier_that_fails_now_and_then_loses_no_block() {
    let mut failed = 0;
    for seed in 0..60 {
        let eio = Effect::Errno(5);
        // The map's file works (its failures are another test's), and so do the first writes.
        let plan = |at: usize| {
            let mut random = Random(seed * 10 + at as u64);
            let mut plan = FaultPlan::seeded(random.bits());
            for n in (0..400).step_by(20).filter(|_| at > 0) {
                plan = plan.with(When::Write(2 + n + random.below(20)), eio);
                plan = plan.with(When::Read(2 + n + random.below(20)), eio);
            }
            plan
        };
        let mut rig = Rig::new(seed, plan).whole();
        let mut migrator = Migrator::new(&rig.device, 4).unwrap();
        for step in 0..150 {
            match rig.random.below(3) {
                0 => {
                    rig.write();
                }
                1 => {
                    let moves = rig.moves();
                    let outcomes = migrator.carry_out(&moves).unwrap();
                    failed += outcomes.iter().filter(|o| **o == Outcome::Failed).count();
                }
                _ => rig.device.sync().unwrap(),
            }
            if step % 5 > 0 {
                continue;
            }
            let case = format!("seed {seed}, step {step}");
            let oracle = rig.oracle.lock().unwrap();
            verify(&rig.sims, &oracle, &case, false);
            oracle.check(&oracle::contents(&rig.device), true, &case);
        }
    }
    assert!(failed > 100, "only {failed} moves met a fault");
}

#[test]
fn a_journal_that_fails_stops_migrations_and_loses_nothing() {
    fail_journals(3);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_journal_that_fails_stops_migrations_and_loses_nothing() {
    fail_journals(1);
}

/// One of so many operations fails, each in a run of its own.
fn fail_journals(one_in: usize) {
    let mut frozen = 0;
    for seed in (0..200).step_by(one_in) {
        let at = 30 + seed;
        let plan = |device: usize| match device {
            0 => FaultPlan::seeded(seed).with(When::Operation(at), Effect::Errno(5)),
            _ => FaultPlan::seeded(seed * 10 + device as u64),
        };
        let mut rig = Rig::new(seed, plan).whole();
        let mut migrator = Migrator::new(&rig.device, 4).unwrap();
        let mut is_frozen = false;
        for step in 0..100 {
            let case = format!("seed {seed}, step {step}");
            let was_frozen = is_frozen;
            match rig.random.below(3) {
                0 => assert!(rig.write() || is_frozen, "{case}: a write failed"),
                1 => {
                    let moves = rig.moves();
                    is_frozen |= migrator.carry_out(&moves).is_err();
                }
                _ => match rig.device.sync() {
                    Ok(()) => rig.oracle.lock().unwrap().synced(),
                    Err(_) => is_frozen = true,
                },
            }
            if step % 5 == 0 || (is_frozen && !was_frozen) {
                verify(&rig.sims, &rig.oracle.lock().unwrap(), &case, false);
            }
        }
        frozen += usize::from(is_frozen);
    }
    assert!(frozen > 50 / one_in, "the journal failed in {frozen} runs only");
}

/// Everything that a set consists of, after one change of each kind.
fn change(sims: &[Arc<SimDevice>], version: u32) {
    let device = support::open(&sims[0], &sims[1..]);
    oracle::write(&device, u64::from(version) % BLOCKS * BLOCK, BLOCK as usize, version).unwrap();
    let moves: Vec<_> =
        (0..8).map(|page| Move { page, to: ((page + version) % 3) as u8 }).collect();
    Migrator::new(&device, 4).unwrap().carry_out(&moves).unwrap();
    device.sync().unwrap();
}

fn new_set() -> Vec<Arc<SimDevice>> {
    let rig = Rig::new(1, |_| FaultPlan::none());
    for block in 0..BLOCKS {
        oracle::write(&rig.device, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
    rig.device.sync().unwrap();
    rig.sims
}

/// How opening a set fails, and that it writes nothing.
fn refusal(sims: &[Arc<SimDevice>]) -> Option<TieredError> {
    let before: Vec<_> = sims.iter().map(|sim| sim.contents()).collect();
    let tiers = sims[1..].iter().map(|tier| Arc::clone(tier) as Arc<dyn Device>).collect();
    let opened = TieredDevice::open(Arc::clone(&sims[0]) as _, tiers);
    assert!(sims.iter().zip(before).all(|(sim, before)| sim.contents() == before));
    opened.err()
}

#[test]
fn an_older_copy_of_any_member_is_refused_before_anything_is_written() {
    let mut states = vec![new_set()];
    for version in 2..6 {
        let next = support::after_power_cut(states.last().unwrap());
        change(&next, version);
        states.push(next);
    }
    for (older, newer) in (0..states.len()).flat_map(|at| (0..at).map(move |before| (before, at))) {
        for member in 0..=SLOTS.len() {
            let mut mixed = support::after_power_cut(&states[newer]);
            mixed[member] = Arc::clone(&states[older][member]);
            let case = format!("member {member} of state {older} in state {newer}");
            let Some(TieredError::Stale { older_generation, newer_generation, .. }) =
                refusal(&mixed)
            else {
                panic!("{case}: not refused");
            };
            assert_eq!(newer_generation - older_generation, (newer - older) as u32, "{case}");
        }
    }
    for state in &states {
        assert!(refusal(state).is_none(), "a set of one time is refused");
    }
}

#[test]
fn a_run_that_only_reads_begins_no_generation() {
    let sims = new_set();
    let before: Vec<_> = sims.iter().map(|sim| sim.contents()).collect();
    let device = support::open(&sims[0], &sims[1..]);
    oracle::contents(&device);
    device.sync().unwrap();
    assert!(sims.iter().zip(before).all(|(sim, before)| sim.contents() == before));
}

#[test]
fn power_cut_while_a_generation_begins_leaves_a_set_that_opens() {
    cut_while_a_generation_begins(4);
}

#[test]
#[ignore = "long: make soak"]
fn longer_power_cut_while_a_generation_begins_leaves_a_set_that_opens() {
    cut_while_a_generation_begins(12);
}

/// The power fails at every change of the first write after opening, twice in a row.
fn cut_while_a_generation_begins(seeds: u64) {
    let first = new_set();
    let contents = oracle::contents(&support::open(&first[0], &first[1..]));
    let mut points = 0;
    let unsynced = [Unsynced::Random, Unsynced::Lost, Unsynced::Torn, Unsynced::Kept];
    for (seed, kind) in (0..seeds).flat_map(|seed| unsynced.map(|kind| (seed, kind))) {
        let plan = |at: usize| FaultPlan { unsynced: kind, ..FaultPlan::seeded(seed + at as u64) };
        let mut states = vec![first.clone()];
        for _ in 0..2 {
            let base = &states[(seed as usize * 7) % states.len()];
            let sims: Vec<_> = base
                .iter()
                .enumerate()
                .map(|(at, device)| Arc::new(device.restart(plan(at))))
                .collect();
            states = states_of_first_change(&sims);
            points += states.len();
            for state in &states {
                assert!(refusal(state).is_none(), "seed {seed}: {:?}", refusal(state));
                let device = support::open(&state[0], &state[1..]);
                let found = oracle::contents(&device);
                let block = BLOCK as usize;
                assert!(found[block..] == contents[block..], "seed {seed}: a block changed");
            }
        }
    }
    assert!(points > 40 * seeds as usize, "only {points} points");
}

/// What a power cut leaves at each change while the first block is written.
fn states_of_first_change(sims: &[Arc<SimDevice>]) -> Vec<Vec<Arc<SimDevice>>> {
    let strip = Arc::new(Strip::default());
    let plug =
        |sim: &Arc<SimDevice>| Arc::new(Plug { inner: Arc::clone(sim), strip: Arc::clone(&strip) });
    let plugs: Vec<_> = sims.iter().map(|sim| plug(sim) as Arc<dyn Device>).collect();
    let device = TieredDevice::open(Arc::clone(&plugs[0]), plugs[1..].to_vec()).unwrap();
    let states = Arc::new(Mutex::new(Vec::new()));
    let (found, kept) = (Arc::clone(&states), sims.to_vec());
    strip.listen(Box::new(move |_| {
        found.lock().unwrap().push(support::after_power_cut(&kept));
    }));
    oracle::write(&device, 0, BLOCK as usize, 9).unwrap();
    device.sync().unwrap();
    strip.deaf();
    std::mem::take(&mut *states.lock().unwrap())
}

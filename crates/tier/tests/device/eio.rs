//! One operation of one device fails, whichever: a read, a write, a sync, a resize of a tier or of
//! the map. Nothing is lost that was promised, not even if the power fails behind it.

use std::ops::Range;
use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::sim::{Effect, FaultPlan, SimDevice, Unsynced, When};
use cenote_tier::device::{Migrator, TieredDevice};
use cenote_tier::placement::Move;

use crate::oracle::{self, Oracle, SECTOR};
use crate::support::{self, BLOCK, Random};

const BLOCKS: u64 = 40;
const SLOTS: [u64; 3] = [7, 12, 48];
const STEPS: u32 = 60;

/// What happened in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Story {
    failed: bool,
    frozen: bool,
}

/// Writes, moves and syncs as the seed says.
fn play(sims: &[Arc<SimDevice>], seed: u64) -> Story {
    let mut story = Story::default();
    let parts = support::parts(&sims[1..], &SLOTS);
    let created = TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(3));
    let Ok(device) = created else { return Story { failed: true, ..story } };
    let mut oracle = Oracle::new((BLOCKS * BLOCK) as usize / SECTOR);
    let mut random = Random(seed);
    // Until the first sync nothing is promised, not even that it is there.
    let Ok(()) = device.sync() else { return Story { failed: true, ..story } };
    device.set_len(BLOCKS * BLOCK).unwrap();
    oracle.set_len(BLOCKS * BLOCK);
    let Ok(mut migrator) = Migrator::new(&device, 4) else { return story };
    for step in 0..STEPS {
        match random.below(8) {
            0..=3 => {
                let sectors = BLOCKS * BLOCK / SECTOR as u64;
                let first = random.below(sectors);
                let count = (1 + random.below(30)).min(sectors - first);
                let (offset, len) = (first * SECTOR as u64, count as usize * SECTOR);
                let version = oracle.begin_write(offset, len);
                if oracle::write(&device, offset, len, version).is_err() {
                    oracle.write_failed(version);
                    story.failed = true;
                }
            }
            4 => match device.sync() {
                Ok(()) => oracle.synced(),
                Err(_) => story.failed = true,
            },
            _ => {
                let step = |_| Move {
                    page: random.below(BLOCKS) as u32,
                    to: random.below(SLOTS.len() as u64) as u8,
                };
                let moves: Vec<_> = (0..6).map(step).collect();
                story.frozen |= migrator.carry_out(&moves).is_err();
            }
        }
        if step % 12 == 11 {
            let case = format!("seed {seed}, step {step}, {story:?}");
            oracle.check(&oracle::contents(&device), true, &case);
            let found = support::after_power_cut(sims);
            let device = support::open(&found[0], &found[1..]);
            oracle.check(&oracle::contents(&device), false, &case);
            // What was found can be written to and moved again.
            if step + 12 > STEPS {
                assert!(oracle::write(&device, 0, SECTOR, 1 << 30).is_ok(), "{case}");
                let moves = [Move { page: 0, to: 2 }, Move { page: 0, to: 1 }];
                moves.iter().for_each(|step| {
                    Migrator::new(&device, 1).unwrap().carry_out(&[*step]).unwrap();
                });
                device.sync().unwrap();
            }
        }
    }
    story
}

fn sims(seed: u64, fault: Option<(usize, u64)>) -> Vec<Arc<SimDevice>> {
    let plan = |at: usize| {
        let unsynced = [Unsynced::Random, Unsynced::Lost, Unsynced::Torn, Unsynced::Kept];
        let unsynced = unsynced[seed as usize % 4];
        let plan = FaultPlan { unsynced, ..FaultPlan::seeded(seed * 10 + at as u64) };
        match fault {
            Some((device, operation)) if device == at => {
                plan.with(When::Operation(operation), Effect::Errno(5))
            }
            _ => plan,
        }
    };
    (0..=SLOTS.len()).map(|at| support::sim(plan(at))).collect()
}

#[test]
fn each_operation_of_each_device_may_fail() {
    // Each device with another seed, and so each way to lose what is not synced.
    let [runs, failed, frozen] = fail_each(|device| device..device + 1);
    assert!(runs > 300 && failed > 30 && frozen > 6, "{runs}, {failed}, {frozen}");
}

#[test]
#[ignore = "long: make soak"]
fn longer_each_operation_of_each_device_may_fail() {
    let [runs, failed, frozen] = fail_each(|_| 0..3);
    assert!(runs > 1_000 && failed > 100 && frozen > 20, "{runs}, {failed}, {frozen}");
}

/// Lets each operation of each device fail, in runs of the seeds that are chosen for the device.
fn fail_each(seeds_of: impl Fn(u64) -> Range<u64>) -> [u32; 3] {
    let (mut runs, mut failed, mut frozen) = (0, 0, 0);
    for device in 0..=SLOTS.len() {
        for seed in seeds_of(device as u64) {
            let whole = sims(seed, None);
            let story = play(&whole, seed);
            assert!(!story.failed && !story.frozen, "a run without faults: {story:?}");
            for operation in 0..whole[device].operations() {
                let story = play(&sims(seed, Some((device, operation))), seed);
                (runs, failed) = (runs + 1, failed + u32::from(story.failed));
                frozen += u32::from(story.frozen);
            }
        }
    }
    println!(
        "{runs} operations failed, {failed} were reported to the user, {frozen} froze the journal"
    );
    [runs, failed, frozen]
}

/// What lies before the cut is whole, what lies behind it is there, or zeros, or gone.
fn check_cut(device: &TieredDevice, keep: usize, case: &str) {
    let contents = oracle::contents(device);
    assert!(contents.len() == 12 * BLOCK as usize || contents.len() == keep, "{case}");
    for (sector, bytes) in contents.chunks(SECTOR).enumerate() {
        let version = oracle::version_of(sector, bytes);
        let is_kept = (sector + 1) * SECTOR <= keep;
        let allowed = if is_kept { &[Some(1)][..] } else { &[Some(0), Some(1)] };
        assert!(allowed.contains(&version), "{case}, sector {sector}: {version:?}");
    }
}

#[test]
fn a_resize_that_fails_cuts_off_nothing_else() {
    let keep = 4 * BLOCK as usize + 3 * SECTOR;
    let cut = |fault| {
        let sims = sims(1, fault);
        let parts = support::parts(&sims[1..], &[3, 4, 40]);
        let device =
            TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(2)).ok()?;
        (0..12)
            .try_for_each(|block| oracle::write(&device, block * BLOCK, BLOCK as usize, 1))
            .ok()?;
        device.sync().ok()?;
        let before: Vec<u64> = sims.iter().map(|sim| sim.operations()).collect();
        let case = format!("{fault:?}");
        let outcome = device.set_len(keep as u64);
        check_cut(&device, keep, &case);
        let found = support::after_power_cut(&sims);
        check_cut(&support::open(&found[0], &found[1..]), keep, &case);
        // Again, and then longer: the rest reads as zeros, if nothing failed.
        if outcome.is_ok() {
            device.set_len(12 * BLOCK).unwrap();
            let contents = oracle::contents(&device);
            assert!(contents[keep..].iter().all(|byte| *byte == 0), "{case}");
        }
        let after: Vec<u64> = sims.iter().map(|sim| sim.operations()).collect();
        Some((outcome.is_ok(), before, after))
    };
    let (is_ok, before, after) = cut(None).expect("nothing fails");
    assert!(is_ok);
    let mut failed = 0;
    for device in 0..before.len() {
        for operation in before[device]..after[device] {
            failed += u32::from(cut(Some((device, operation))).is_some_and(|(is_ok, ..)| !is_ok));
        }
    }
    assert!(failed >= 4, "{failed} resizes failed");
}

//! Threads that fill nearly full tiers while a worker moves what they wrote; no thread may
//! hang, or get the error that the tiers are full.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use cenote_device::backend::sim::FaultPlan;
use cenote_device::{Buffer, Device, Op, QueueConfig, Request};
use cenote_tier::device::{Migrator, Outcome, TieredDevice, Worker, WorkerConfig};
use cenote_tier::placement::Move;
use cenote_tier::spec::TierSpec;

use crate::files::Files;
use crate::oracle::{SECTOR, fill, version_of};
use crate::support::{self, BLOCK, Random};

const SLOTS: [u64; 3] = [8, 16, 40];
const USERS: u64 = 3;
const DEPTH: usize = 4;

/// Blocks of each user: together all that the tiers hold without their spare slots.
const SHARE: u64 = 20;
const BLOCKS: u64 = USERS * SHARE + 1;
const ROUNDS: u32 = 12;
const WRITES: u64 = 60;

/// What the users have done, to be read where they hang.
#[derive(Debug, Default)]
struct Progress {
    writes: [AtomicU64; USERS as usize],
    rounds: AtomicU64,
    moved: AtomicU64,
    is_over: AtomicBool,
}

/// One user's round: it writes its share in random pieces and reads it again.
fn user(device: &TieredDevice, user: u64, random: &mut Random, progress: &Progress) {
    let start = user * SHARE * BLOCK;
    let sectors = SHARE * BLOCK / SECTOR as u64;
    let unit = (device.block_bytes() / SECTOR).max(1) as u64;
    let mut versions = vec![0u32; sectors as usize];
    let mut queue = device.queue(&QueueConfig::with_depth(DEPTH)).unwrap();
    let mut completions = Vec::new();
    for write in 0..WRITES {
        let mut pushed = 0;
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for tag in 0..DEPTH as u64 {
            let first = random.below(sectors) / unit * unit;
            let count = (1 + random.below(30)).next_multiple_of(unit).min(sectors - first);
            let is_write = random.below(3) > 0;
            if taken.iter().any(|&(at, len)| at < first + count && first < at + len) {
                continue;
            }
            taken.push((first, count));
            let (offset, len) = (start + first * SECTOR as u64, count as usize * SECTOR);
            let mut buffer = Buffer::new(32 * SECTOR).unwrap();
            let version = write as u32 + 1;
            if is_write {
                fill(offset, version, &mut buffer[..len]);
                versions[first as usize..(first + count) as usize].fill(version);
            }
            let op = if is_write { Op::Write } else { Op::Read };
            queue.push(Request { tag, op, offset, len, buffer });
            pushed += 1;
        }
        queue.reap(pushed, &mut completions).unwrap();
        progress.writes[user as usize].fetch_add(1, Ordering::SeqCst);
        for done in completions.drain(..) {
            let moved = done.result.unwrap_or_else(|fault| panic!("{:?}: {fault}", done.op));
            assert!(done.op == Op::Read || moved == done.len, "a short write");
            for (at, bytes) in done.buffer[..moved].chunks(SECTOR).enumerate() {
                let sector = done.offset as usize / SECTOR + at;
                let wanted = versions[sector - start as usize / SECTOR];
                assert_eq!(version_of(sector, bytes), Some(wanted), "sector {sector}");
            }
        }
    }
}

/// Random moves without a pause, beside the worker's.
fn mover(device: &TieredDevice, seed: u64, progress: &Progress) {
    let mut random = Random(seed);
    let mut migrator = Migrator::new(device, 6).unwrap();
    while !progress.is_over.load(Ordering::SeqCst) {
        let step = |_| Move { page: random.below(BLOCKS) as u32, to: random.below(3) as u8 };
        let moves: Vec<_> = (0..6).map(step).collect();
        let outcomes = migrator.carry_out(&moves).unwrap();
        let moved = outcomes.iter().filter(|outcome| **outcome == Outcome::Moved).count();
        progress.moved.fetch_add(moved as u64, Ordering::SeqCst);
        std::thread::yield_now();
    }
}

/// Rounds of users on an empty device, with a worker and syncs.
fn play(device: &TieredDevice, seed: u64, progress: &Arc<Progress>) {
    let config = WorkerConfig::new("tlru".parse().unwrap(), TierSpec::text().to_vec())
        .batch(4)
        .recorded_bytes_max(1 << 20)
        .seed(seed);
    device.set_len(BLOCKS * BLOCK).unwrap();
    let worker = Worker::start(device, config).unwrap();
    let (own, shared) = (device.clone(), Arc::clone(progress));
    let mover = std::thread::spawn(move || mover(&own, seed, &shared));
    let barrier = Arc::new(Barrier::new(USERS as usize));
    let users: Vec<_> = (0..USERS)
        .map(|number| {
            let (device, progress) = (device.clone(), Arc::clone(progress));
            let (barrier, mut random) = (Arc::clone(&barrier), Random(seed * USERS + number));
            std::thread::spawn(move || {
                for round in 0..ROUNDS {
                    user(&device, number, &mut random, &progress);
                    if round % 3 == 0 {
                        device.sync().unwrap();
                    }
                    if barrier.wait().is_leader() {
                        progress.rounds.fetch_add(1, Ordering::SeqCst);
                        device.set_len(0).unwrap();
                        device.set_len(BLOCKS * BLOCK).unwrap();
                    }
                    barrier.wait();
                }
            })
        })
        .collect();
    users.into_iter().for_each(|user| user.join().unwrap());
    progress.is_over.store(true, Ordering::SeqCst);
    mover.join().unwrap();
    let (report, _) = worker.stop().unwrap();
    assert_eq!(report.failed, 0, "{report:?}");
    println!("seed {seed}: {report:?}, {progress:?}");
}

/// Fails with what is known if it takes too long.
fn watched(device: TieredDevice, seed: u64) {
    let (done, over) = channel();
    let progress = Arc::new(Progress::default());
    let (theirs, shared) = (device.clone(), Arc::clone(&progress));
    let thread = std::thread::spawn(move || {
        play(&theirs, seed, &shared);
        let _ = done.send(());
    });
    match over.recv_timeout(Duration::from_secs(60)) {
        Ok(()) => thread.join().unwrap(),
        Err(RecvTimeoutError::Disconnected) => {
            panic!("seed {seed}: {:?}", thread.join().expect_err("it did not end well"))
        }
        Err(RecvTimeoutError::Timeout) => {
            panic!("seed {seed}: it hangs: {progress:?}\n{:?}\n{device:#?}", device.tiers())
        }
    }
}

#[test]
fn users_of_nearly_full_simulated_tiers_never_hang() {
    for seed in 0..6 {
        let sims: Vec<_> =
            (0..4).map(|at| support::sim(FaultPlan::seeded(seed * 4 + at))).collect();
        let parts = support::parts(&sims[1..], &SLOTS);
        let map = Arc::clone(&sims[0]) as _;
        watched(TieredDevice::create(map, parts, &support::config(4)).unwrap(), seed);
    }
}

#[test]
fn users_of_nearly_full_files_never_hang() {
    let files = Files::new(SLOTS.len(), cenote_device::backend::file::BackendChoice::Auto);
    watched(files.create(&SLOTS, 4), 1);
}

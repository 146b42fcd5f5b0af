//! Users on threads of their own while blocks move under them, against what they wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cenote_device::backend::sim::FaultPlan;
use cenote_device::{Buffer, Device, Op, QueueConfig, Request};
use cenote_tier::device::{Migrator, Outcome, TieredDevice};
use cenote_tier::placement::Move;

use crate::oracle::{SECTOR, fill, version_of};
use crate::support::{self, BLOCK, Random};

const BLOCKS: u64 = 96;
const DEPTH: usize = 6;

/// Random reads and writes of one thread's part of the device, several at once.
fn user(device: &TieredDevice, share: std::ops::Range<u64>, seed: u64, requests: u64) {
    let mut random = Random(seed);
    let mut versions = vec![0u32; ((share.end - share.start) as usize) / SECTOR];
    let mut queue = device.queue(&QueueConfig::with_depth(DEPTH)).unwrap();
    let mut completions = Vec::new();
    // What is in flight, by tag: no two that touch each other, unless both read.
    let mut busy: Vec<Option<(Op, usize, usize, u32)>> = vec![None; DEPTH];
    for request in 0..requests {
        if queue.in_flight() == DEPTH {
            queue.reap(1, &mut completions).unwrap();
        }
        for done in completions.drain(..) {
            let (op, first, count, version) = busy[done.tag as usize].take().unwrap();
            assert_eq!(done.result, Ok(count * SECTOR), "seed {seed}, request {request}");
            for at in 0..count {
                if op == Op::Write {
                    versions[first + at] = version;
                    continue;
                }
                let sector = share.start as usize / SECTOR + first + at;
                let found = version_of(sector, &done.buffer[at * SECTOR..(at + 1) * SECTOR]);
                let case = format!("seed {seed}, request {request}, sector {sector}");
                assert_eq!(found, Some(versions[first + at]), "{case}");
            }
        }
        let first = random.below(versions.len() as u64) as usize;
        let count = (1 + random.below(40) as usize).min(versions.len() - first);
        let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
        let collides = |&(other, at, len, _): &(Op, usize, usize, u32)| {
            (op == Op::Write || other == Op::Write) && at < first + count && first < at + len
        };
        if busy.iter().flatten().any(collides) {
            continue;
        }
        let tag = busy.iter().position(Option::is_none).unwrap();
        let version = request as u32 + 1;
        busy[tag] = Some((op, first, count, version));
        let mut buffer = Buffer::new(64 * SECTOR).unwrap();
        let offset = share.start + (first * SECTOR) as u64;
        let len = count * SECTOR;
        if op == Op::Write {
            fill(offset, version, &mut buffer[..len]);
        }
        queue.push(Request { tag: tag as u64, op, offset, len, buffer });
    }
}

#[test]
fn users_find_what_they_wrote_while_blocks_move_under_them() {
    let sims: Vec<_> = (0..4).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &[20, 30, 120]);
    let device =
        TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(4)).unwrap();
    device.set_len(BLOCKS * BLOCK).unwrap();
    let (is_over, moved) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let half = BLOCKS / 2 * BLOCK;
        let users = [(0..half, 1), (half..2 * half, 2)];
        let users = users.map(|(share, seed)| {
            let device = &device;
            scope.spawn(move || user(device, share, seed, 20_000))
        });
        scope.spawn(|| {
            let mut random = Random(3);
            let mut migrator = Migrator::new(&device, 8).unwrap();
            while !is_over.load(Ordering::SeqCst) {
                let moves: Vec<_> = (0..8)
                    .map(|_| Move { page: random.below(BLOCKS) as u32, to: random.below(3) as u8 })
                    .collect();
                let outcomes = migrator.carry_out(&moves).unwrap();
                let done = outcomes.iter().filter(|o| **o == Outcome::Moved).count();
                moved.fetch_add(done as u64, Ordering::SeqCst);
            }
        });
        let ends = users.map(|user| user.join());
        is_over.store(true, Ordering::SeqCst);
        ends.into_iter().for_each(|end| end.unwrap());
    });
    let moved = moved.load(Ordering::SeqCst);
    assert!(moved > 100, "only {moved} blocks moved");
    device.sync().unwrap();
    let reopened = support::open(&sims[0], &sims[1..]);
    let before = crate::oracle::contents(&device);
    assert!(crate::oracle::contents(&reopened) == before, "another device was opened");
}

#[test]
fn a_write_waits_for_slots_that_a_reader_still_holds() {
    let sims: Vec<_> = (0..3).map(|at| support::sim(FaultPlan::seeded(at))).collect();
    let parts = support::parts(&sims[1..], &[4, 8]);
    let device =
        TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(4)).unwrap();
    for block in 0..5 {
        crate::oracle::write(&device, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
    // A read that is not reaped: no slot that is given up from now on can be used again.
    let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
    let buffer = Buffer::new(BLOCK as usize).unwrap();
    queue.push(Request { tag: 0, op: Op::Read, offset: 0, len: BLOCK as usize, buffer });
    let mut migrator = Migrator::new(&device, 1).unwrap();
    for round in 0..20 {
        migrator.carry_out(&[Move { page: 1, to: round % 2 }]).unwrap();
    }
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (5..10).all(|block| {
                crate::oracle::write(&device, block * BLOCK, BLOCK as usize, 1).is_ok()
            })
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!writer.is_finished(), "there was room: the test tests nothing");
        queue.reap(1, &mut Vec::new()).unwrap();
        assert!(writer.join().unwrap(), "the tiers were found full");
    });
}

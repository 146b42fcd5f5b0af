//! Power cuts at moments that are hard to meet.

use std::sync::Arc;

use cenote_device::backend::sim::{FaultPlan, SimDevice, Unsynced};
use cenote_device::{Buffer, Device, Op, QueueConfig, Request};
use cenote_tier::device::TieredDevice;

use crate::oracle::{self, Oracle, SECTOR, fill};
use crate::support::{self, BLOCK};

/// A sync promises what was written before it, even if the same block is being written again.
#[test]
fn a_sync_keeps_a_write_whose_block_is_being_written() {
    for unsynced in [Unsynced::Lost, Unsynced::Kept] {
        let plan = FaultPlan { unsynced, ..FaultPlan::seeded(1) };
        let sims: Vec<_> = (0..3).map(|_| support::sim(plan.clone())).collect();
        let parts = support::parts(&sims[1..], &[4, 8]);
        let map = Arc::clone(&sims[0]) as _;
        let device = TieredDevice::create(map, parts, &support::config(4)).unwrap();
        oracle::write(&device, 0, BLOCK as usize / 2, 1).unwrap();
        let mut queue = device.queue(&QueueConfig::with_depth(1)).unwrap();
        let (offset, len) = (BLOCK / 2, BLOCK as usize / 2);
        let mut buffer = Buffer::new(len).unwrap();
        fill(offset, 2, &mut buffer);
        queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer });
        queue.submit().unwrap();
        device.sync().unwrap();
        let found = support::after_power_cut(&sims);
        let found = oracle::contents(&support::open(&found[0], &found[1..]));
        assert_eq!(oracle::version_of(0, &found[..SECTOR]), Some(1), "{unsynced:?}");
        // The write goes on, and the next sync promises it.
        queue.reap(1, &mut Vec::new()).unwrap();
        device.sync().unwrap();
        let found = support::after_power_cut(&sims);
        let found = oracle::contents(&support::open(&found[0], &found[1..]));
        assert_eq!(oracle::version_of(4, &found[4 * SECTOR..5 * SECTOR]), Some(2));
    }
}

/// Damages the page of this number in both places of the journal, as a torn write does.
fn tear(map: &SimDevice, index: u32) -> usize {
    let bytes = map.contents();
    let is_journal = |page: &[u8]| page[..4] == *b"LNRJ" && page[16..20] == index.to_le_bytes();
    let pages = bytes.chunks(4096).enumerate().filter(|(_, page)| is_journal(page));
    pages.map(|(at, _)| map.flip_bit(at as u64 * 4096 + 100, 0)).count()
}

/// A sync of many blocks is cut: of its pages in the journal the first is torn and later ones are
/// whole. Another run writes the very same first page. What follows it must not come back to life.
#[test]
fn a_commit_that_never_ended_does_not_follow_a_later_one() {
    const BLOCKS: u64 = 300;
    let plan = FaultPlan { unsynced: Unsynced::Kept, ..FaultPlan::seeded(1) };
    let sims: Vec<_> = (0..3).map(|_| support::sim(plan.clone())).collect();
    let parts = support::parts(&sims[1..], &[800, 10]);
    let map = Arc::clone(&sims[0]) as _;
    let device = TieredDevice::create(map, parts, &support::config(8)).unwrap();
    let mut oracle = Oracle::new((700 * BLOCK) as usize / SECTOR);
    device.set_len(700 * BLOCK).unwrap();
    device.sync().unwrap();
    oracle.set_len(700 * BLOCK);
    oracle.synced();
    let write = |device: &TieredDevice, oracle: &mut Oracle, blocks: std::ops::Range<u64>| {
        for block in blocks {
            // The same bytes in both runs.
            let version = oracle.begin_write(block * BLOCK, SECTOR);
            oracle::write(device, block * BLOCK, SECTOR, version).unwrap();
        }
    };
    write(&device, &mut oracle, 0..BLOCKS);
    device.sync().unwrap();
    drop(device);
    // The power was cut in that sync: it has not returned.
    assert_eq!(tear(&sims[0], 1), 2, "one page in two places");
    let device = support::open(&sims[0], &sims[1..]);
    let told = "after the first cut";
    oracle.check(&oracle::contents(&device), false, told);
    assert_eq!(device.tier_of(0), None, "{told}: nothing of that sync is there");
    // The blocks of one page of the journal again; and then others, in the same slots, of which
    // the map hears nothing.
    write(&device, &mut oracle, 0..253);
    device.sync().unwrap();
    write(&device, &mut oracle, 400..448);
    drop(device);
    let device = support::open(&sims[0], &sims[1..]);
    oracle.check(&oracle::contents(&device), false, "after the second cut");
    assert_eq!(device.tier_of(299), None, "a block came back to life");
}

//! A reader that takes over what another process has added to the map, and the tiers that one sync
//! concerns.

use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::sim::{FaultPlan, SimDevice};
use cenote_tier::device::{Migrator, Refreshed, TieredDevice};
use cenote_tier::placement::Move;

use crate::oracle::{contents, write};
use crate::support::{self, BLOCK};

fn sims() -> Vec<Arc<SimDevice>> {
    (0..3).map(|at| support::sim(FaultPlan::seeded(at))).collect()
}

/// A device of some blocks, of which three or fewer lie on the first tier.
fn device(sims: &[Arc<SimDevice>], blocks: u64) -> TieredDevice {
    let parts = support::parts(&sims[1..], &[4, 4000]);
    let device =
        TieredDevice::create(Arc::clone(&sims[0]) as _, parts, &support::config(3)).unwrap();
    add(&device, 0..blocks);
    device
}

fn add(device: &TieredDevice, blocks: std::ops::Range<u64>) {
    for block in blocks {
        write(device, block * BLOCK, BLOCK as usize, 1).unwrap();
    }
    device.sync().unwrap();
}

#[test]
fn a_reader_takes_over_added_blocks_at_any_place_of_the_journals() {
    let (mut grown, mut outdated) = (0, 0);
    for step in [1, 3, 300, 1800] {
        let sims = sims();
        drop(device(&sims, 5));
        let writer = support::open(&sims[0], &sims[1..]);
        // The first change begins a generation.
        add(&writer, 0..1);
        let reader = support::open(&sims[0], &sims[1..]);
        let mut blocks = 5;
        for round in 0..40 {
            assert_eq!(reader.refresh().unwrap(), Refreshed::Newest);
            let expected = contents(&reader);
            // Written and not synced yet, so no part of the map.
            write(&writer, blocks * BLOCK, BLOCK as usize, 1).unwrap();
            assert_eq!(reader.refresh().unwrap(), Refreshed::Newest);
            assert!(contents(&reader) == expected);
            add(&writer, blocks..(blocks + step).min(3900));
            blocks = (blocks + step).min(3900);
            match reader.refresh().unwrap() {
                Refreshed::Grown => grown += 1,
                Refreshed::Outdated => {
                    // Two copies of the map were made meanwhile.
                    assert!(step > 1000, "{step} blocks");
                    outdated += 1;
                    break;
                }
                Refreshed::Newest => panic!("round {round}: {blocks} blocks came"),
            }
            assert!(contents(&reader) == contents(&writer), "{step} blocks, round {round}");
            if blocks == 3900 {
                break;
            }
        }
    }
    assert!(grown > 80 && outdated > 0, "{grown} grown, {outdated} outdated");
}

#[test]
fn a_reader_of_blocks_that_moved_is_outdated() {
    let sims = sims();
    drop(device(&sims, 9));
    let mover = support::open(&sims[0], &sims[1..]);
    let reader = support::open(&sims[0], &sims[1..]);
    let moved = Migrator::new(&mover, 4).unwrap().carry_out(&[Move { page: 0, to: 1 }]);
    assert_eq!(moved.unwrap(), [cenote_tier::device::Outcome::Moved]);
    assert_eq!(reader.refresh().unwrap(), Refreshed::Outdated);
}

#[test]
fn a_sync_is_of_the_tiers_that_were_written() {
    let sims = sims();
    drop(device(&sims, 9));
    let device = support::open(&sims[0], &sims[1..]);
    let syncs = || -> Vec<u64> { sims.iter().map(|sim| sim.changes()).collect() };
    let synced = || {
        let before = syncs();
        device.sync().unwrap();
        let after = syncs();
        before.iter().zip(after).map(|(before, after)| after > *before).collect::<Vec<_>>()
    };
    assert_eq!(synced(), [false, true, true], "a process before may have written to any");
    assert_eq!(synced(), [false, false, false]);
    let tiers = [device.tier_of(0), device.tier_of(8)];
    assert_eq!(tiers, [Some(0), Some(1)]);
    for (block, expected) in [(0, [false, true, false]), (8, [false, false, true])] {
        write(&device, block * BLOCK, BLOCK as usize, 2).unwrap();
        assert_eq!(synced(), expected, "block {block}");
        assert_eq!(synced(), [false, false, false]);
    }
    // A new block is one of the map, too.
    write(&device, 9 * BLOCK, BLOCK as usize, 2).unwrap();
    assert_eq!(synced(), [true, false, true]);
}

//! Each kind of fault, on the simulated device and, where it can be, over a real one.

use std::sync::Arc;

use cenote_device::backend::file::BackendChoice;
use cenote_device::backend::sim::{
    Effect, FaultPlan, POWER_CUT_ERRNO, SimConfig, SimDevice, Unsynced, When,
};
use cenote_device::wrapper::FaultDevice;
use cenote_device::{Buffer, Device, Op, QueueConfig, write_all};
use proptest::prelude::*;

use crate::support::{
    BLOCK, assert_pattern, directory, drain, errno, ideal_model, one, open, pattern, read, request,
    sim, write_pattern,
};

/// Runs a test over a simulated device with this plan, and over real files with it.
fn on_each(plan: &FaultPlan, test: impl Fn(&str, &dyn Device)) {
    test("sim", &sim(plan.clone()));
    let directory = directory();
    for (name, backend) in [("auto", BackendChoice::Auto), ("threads", BackendChoice::Threads)] {
        let inner = open(directory.path().join(name), backend, true).unwrap();
        test(name, &FaultDevice::new(inner, plan.clone()));
    }
}

fn read_one(device: &dyn Device, block: u64) -> cenote_device::Completion {
    one(device, Op::Read, block * BLOCK as u64, Buffer::new(BLOCK).unwrap())
}

fn write_one(device: &dyn Device, block: u64, seed: u64) -> cenote_device::Completion {
    one(device, Op::Write, block * BLOCK as u64, pattern(seed, BLOCK))
}

#[test]
fn nth_operation_fails_once_and_changes_nothing() {
    let plan = FaultPlan::none()
        .with(When::Write(1), Effect::Errno(libc::EIO))
        .with(When::Read(1), Effect::Errno(libc::EIO))
        .with(When::Operation(5), Effect::Errno(libc::EROFS));
    on_each(&plan, |name, device| {
        assert_eq!(errno(&write_one(device, 0, 1)), None, "{name}");
        assert_eq!(errno(&write_one(device, 0, 2)), Some(libc::EIO), "{name}");
        let found = read_one(device, 0);
        assert_pattern(&found.buffer, 1, name);
        assert_eq!(errno(&read_one(device, 0)), Some(libc::EIO), "{name}");
        assert_eq!(errno(&read_one(device, 0)), None, "{name}");
        let error = device.sync().unwrap_err().to_string();
        assert!(error.contains("cannot sync: Read-only file system"), "{name}: {error}");
        device.sync().unwrap();
    });
}

#[test]
fn failure_is_named_with_device_operation_and_place() {
    let device = sim(FaultPlan::none().with(When::Write(0), Effect::Errno(libc::EIO)));
    let error = write_all(&device, 8192, BLOCK, pattern(1, BLOCK)).unwrap_err().to_string();
    assert!(error.starts_with("sim:test: write of 4096 bytes at offset 8192 failed: "), "{error}");
    assert!(error.contains("Input/output error"), "{error}");
}

#[test]
fn bad_range_fails_every_read_that_touches_it() {
    let bad = (BLOCK as u64 + 100, BLOCK as u64 + 101);
    let plan = FaultPlan::none().with(When::ReadIn(bad.0, bad.1), Effect::Errno(libc::EIO));
    on_each(&plan, |name, device| {
        write_pattern(device, 1, 0, 3 * BLOCK);
        for _ in 0..2 {
            let found: Vec<_> = (0..3).map(|block| errno(&read_one(device, block))).collect();
            assert_eq!(found, [None, Some(libc::EIO), None], "{name}");
        }
    });
}

#[test]
fn chance_strikes_as_often_as_it_says_and_the_same_way_for_the_same_seed() {
    let struck = |seed| {
        let plan = FaultPlan::seeded(seed).with(When::ReadChance(0.25), Effect::Errno(libc::EIO));
        let device = sim(plan);
        write_pattern(&device, 1, 0, BLOCK);
        (0..1000).map(|_| errno(&read_one(&device, 0)).is_some()).collect::<Vec<_>>()
    };
    let count = struck(1).iter().filter(|&&struck| struck).count();
    assert!((200..300).contains(&count), "{count} of 1000");
    assert_eq!(struck(1), struck(1));
    assert_ne!(struck(1), struck(2));
}

#[test]
fn short_read_moves_leading_blocks_and_says_how_many() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let plan = FaultPlan::seeded(seed).with(When::Read(0), Effect::ShortRead);
        on_each(&plan, |name, device| {
            write_pattern(device, 1, 0, 4 * BLOCK);
            let short = one(device, Op::Read, 0, Buffer::new(4 * BLOCK).unwrap());
            let moved = short.result.unwrap();
            assert!(moved < 4 * BLOCK && moved.is_multiple_of(512), "{name}: {moved}");
            assert_eq!(short.len, 4 * BLOCK, "{name}");
            assert_pattern(&short.buffer[..moved], 1, name);
            assert!(short.buffer[moved..] != pattern(1, 4 * BLOCK)[moved..], "{name}");
        });
        let device = sim(plan);
        write_pattern(&device, 1, 0, 4 * BLOCK);
        let short = one(&device, Op::Read, 0, Buffer::new(4 * BLOCK).unwrap());
        lengths.insert(short.result.unwrap());
    }
    assert!(lengths.len() > 5, "the seed chooses the length: {lengths:?}");
}

#[test]
fn flipped_bit_is_read_wrong_every_time() {
    let plan = FaultPlan { flipped_bits: vec![(5000, 3)], ..FaultPlan::none() };
    on_each(&plan, |name, device| {
        write_pattern(device, 1, 0, 2 * BLOCK);
        let mut found = read(device, 0, 2 * BLOCK);
        assert_eq!(found[5000] ^ 8, pattern(1, 2 * BLOCK)[5000], "{name}");
        found[5000] ^= 8;
        assert_pattern(&found, 1, name);
        assert_pattern(&read(device, 0, BLOCK), 1, name);
    });
}

#[test]
fn bit_flipped_on_the_medium_stays_until_it_is_written_again() {
    let device = sim(FaultPlan::none());
    write_pattern(&device, 1, 0, BLOCK);
    device.set_len(3 * BLOCK as u64).unwrap();
    device.flip_bit(7, 0);
    device.flip_bit(2 * BLOCK as u64, 7);
    for synced in [false, true] {
        assert_eq!(read(&device, 0, BLOCK)[7] ^ 1, pattern(1, BLOCK)[7], "synced: {synced}");
        device.sync().unwrap();
    }
    assert_eq!(read(&device, 0, BLOCK)[7] ^ 1, pattern(1, BLOCK)[7]);
    assert_eq!(read(&device, 2 * BLOCK as u64, BLOCK)[0], 0x80);
    write_pattern(&device, 1, 0, BLOCK);
    assert_pattern(&read(&device, 0, BLOCK), 1, "written again");
}

#[test]
fn full_device_refuses_what_does_not_fit() {
    let plan = FaultPlan { capacity_bytes: Some(2 * BLOCK as u64), ..FaultPlan::none() };
    on_each(&plan, |name, device| {
        assert_eq!(errno(&write_one(device, 1, 1)), None, "{name}");
        assert_eq!(errno(&write_one(device, 2, 1)), Some(libc::ENOSPC), "{name}");
        assert_eq!(device.len_bytes().unwrap(), 2 * BLOCK as u64, "{name}");
        let error = device.set_len(3 * BLOCK as u64).unwrap_err().to_string();
        assert!(error.contains("No space left on device"), "{name}: {error}");
        assert_eq!(errno(&write_one(device, 0, 1)), None, "{name}: within is fine");
    });
}

#[test]
fn after_a_power_cut_everything_answers_that_the_device_is_gone() {
    on_each(&FaultPlan::power_cut(1, 2), |name, device| {
        assert_eq!(errno(&write_one(device, 0, 1)), None, "{name}");
        assert_eq!(errno(&read_one(device, 0)), None, "{name}");
        assert_eq!(errno(&write_one(device, 1, 1)), Some(POWER_CUT_ERRNO), "{name}");
        assert_eq!(errno(&read_one(device, 0)), Some(POWER_CUT_ERRNO), "{name}");
        for error in [device.sync(), device.set_len(0), device.len_bytes().map(drop)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("No such device"), "{name}: {error}");
        }
    });
}

#[test]
fn requests_in_flight_at_a_power_cut_are_not_acknowledged() {
    let device = sim(FaultPlan::power_cut(1, 3));
    let mut queue = device.queue(&QueueConfig::with_depth(4)).unwrap();
    for block in 0..4 {
        let at = block * BLOCK as u64;
        queue.push(request(block, Op::Write, at, BLOCK, pattern(1, BLOCK)));
    }
    let completions = drain(queue.as_mut());
    assert!(completions.iter().all(|write| errno(write) == Some(POWER_CUT_ERRNO)));
    assert!(device.is_power_cut());
}

#[test]
fn synced_writes_survive_every_power_cut_and_unsynced_ones_take_their_chance() {
    let (mut kept, mut lost, mut torn) = (0, 0, 0);
    for seed in 0..60 {
        let device = sim(FaultPlan::power_cut(seed, 5));
        write_pattern(&device, 1, 0, BLOCK);
        device.sync().unwrap();
        write_pattern(&device, 2, BLOCK as u64, BLOCK);
        write_pattern(&device, 3, 0, BLOCK);
        assert_eq!(device.unsynced_bytes(), 2 * BLOCK as u64);
        write_pattern(&device, 4, 2 * BLOCK as u64, BLOCK);
        assert!(device.sync().is_err(), "seed {seed}: the power failed during the sync");
        let found = device.restart(FaultPlan::none());
        assert!(!found.is_power_cut());
        let block = read(&found, 0, BLOCK);
        // Every sector is of the first write or of the second, never anything else.
        let (old, new) = (pattern(1, BLOCK), pattern(3, BLOCK));
        let news = (0..8).filter(|&sector| {
            let range = sector * 512..(sector + 1) * 512;
            let is_new = block[range.clone()] == new[range.clone()];
            assert!(is_new || block[range.clone()] == old[range], "seed {seed}, sector {sector}");
            is_new
        });
        match news.count() {
            0 => lost += 1,
            8 => kept += 1,
            _ => torn += 1,
        }
        assert_eq!(found.contents(), device.restart(FaultPlan::none()).contents(), "seed {seed}");
    }
    assert!(kept > 5 && lost > 5 && torn > 5, "kept {kept}, lost {lost}, torn {torn}");
}

fn plan_of(unsynced: Unsynced) -> FaultPlan {
    FaultPlan { unsynced, ..FaultPlan::seeded(3) }
}

#[test]
fn fate_of_unsynced_writes_can_be_chosen() {
    for unsynced in [Unsynced::Kept, Unsynced::Lost, Unsynced::Torn] {
        let device = sim(plan_of(unsynced));
        write_pattern(&device, 1, 0, BLOCK);
        device.sync().unwrap();
        write_pattern(&device, 2, 0, BLOCK);
        write_pattern(&device, 2, BLOCK as u64, BLOCK);
        let found = device.restart(FaultPlan::none());
        let first = read(&found, 0, BLOCK);
        match unsynced {
            Unsynced::Kept => assert_pattern(&first, 2, "kept"),
            Unsynced::Lost => {
                assert_pattern(&first, 1, "lost");
                assert_eq!(found.len_bytes().unwrap(), BLOCK as u64, "nor did the file grow");
            }
            _ => assert!(
                first != pattern(1, BLOCK)[..] && first != pattern(2, BLOCK)[..],
                "{unsynced:?}"
            ),
        }
    }
}

#[test]
fn sync_covers_only_writes_that_were_reaped() {
    let device = sim(plan_of(Unsynced::Lost));
    let mut queue = device.queue(&QueueConfig::with_depth(2)).unwrap();
    queue.push(request(0, Op::Write, 0, BLOCK, pattern(1, BLOCK)));
    queue.submit().unwrap();
    device.sync().unwrap();
    assert_eq!(device.unsynced_bytes(), BLOCK as u64, "the write was still in flight");
    assert_eq!(device.restart(FaultPlan::none()).len_bytes().unwrap(), 0);
    assert_pattern(&read(&device, 0, BLOCK), 1, "it is in the cache");
    drain(queue.as_mut());
    device.sync().unwrap();
    assert_pattern(&read(&device.restart(FaultPlan::none()), 0, BLOCK), 1, "synced");
}

#[test]
fn unsynced_resize_is_kept_or_lost() {
    for (unsynced, len) in [(Unsynced::Kept, BLOCK as u64), (Unsynced::Lost, 4 * BLOCK as u64)] {
        let device = sim(plan_of(unsynced));
        write_pattern(&device, 1, 0, 4 * BLOCK);
        device.sync().unwrap();
        device.set_len(BLOCK as u64).unwrap();
        let found = device.restart(FaultPlan::none());
        assert_eq!(found.len_bytes().unwrap(), len, "{unsynced:?}");
        assert_pattern(&found.contents(), 1, "what is left");
        device.sync().unwrap();
        assert_eq!(device.restart(FaultPlan::none()).len_bytes().unwrap(), BLOCK as u64);
    }
}

#[test]
fn torn_write_is_acknowledged_whole_and_found_in_part() {
    for seed in 0..40 {
        let device = sim(FaultPlan::seeded(seed).with(When::Write(1), Effect::TornWrite));
        write_pattern(&device, 1, 0, BLOCK);
        assert_eq!(write_one(&device, 0, 2).result, Ok(BLOCK));
        assert_pattern(&read(&device, 0, BLOCK), 2, "from the cache");
        device.sync().unwrap();
        let found = read(&device.restart(FaultPlan::none()), 0, BLOCK);
        let (old, new) = (pattern(1, BLOCK), pattern(2, BLOCK));
        let sector = |bytes: &[u8], i: usize| bytes[i * 512..(i + 1) * 512].to_vec();
        let news = (0..8).filter(|&i| sector(&found, i) == sector(&new, i)).count();
        let olds = (0..8).filter(|&i| sector(&found, i) == sector(&old, i)).count();
        assert_eq!(news + olds, 8, "seed {seed}: sectors are never mixed");
        assert!(news > 0 && olds > 0, "seed {seed}: {news} new sectors");
        assert_eq!(found, read(&device, 0, BLOCK), "a synced cache is gone");
    }
}

#[test]
fn torn_write_over_a_real_file_keeps_leading_blocks_only() {
    let directory = directory();
    for seed in 0..10 {
        let path = directory.path().join(format!("{seed}"));
        let inner = open(path, BackendChoice::Auto, true).unwrap();
        write_pattern(&*inner, 1, 0, BLOCK);
        let plan = FaultPlan::seeded(seed).with(When::Write(0), Effect::TornWrite);
        let device = FaultDevice::new(Arc::clone(&inner), plan);
        assert_eq!(write_one(&device, 0, 2).result, Ok(BLOCK));
        let found = read(&*inner, 0, BLOCK);
        let (old, new) = (pattern(1, BLOCK), pattern(2, BLOCK));
        let news = (0..8).take_while(|&i| found[i * 512..][..512] == new[i * 512..][..512]).count();
        assert!(news < 8, "seed {seed}");
        assert!(found[news * 512..] == old[news * 512..], "seed {seed}");
    }
}

#[test]
fn lost_write_is_acknowledged_synced_and_gone() {
    let device = sim(FaultPlan::seeded(1).with(When::Write(1), Effect::LostWrite));
    write_pattern(&device, 1, 0, BLOCK);
    assert_eq!(write_one(&device, 0, 2).result, Ok(BLOCK));
    device.sync().unwrap();
    assert_pattern(&read(&device.restart(FaultPlan::none()), 0, BLOCK), 1, "the old bytes");
}

#[test]
fn contents_can_be_given_and_taken() {
    let image = pattern(8, 3 * BLOCK)[..10_000].to_vec();
    let device = SimDevice::with_contents(SimConfig::new(ideal_model()), &image);
    assert_eq!(device.contents(), image);
    assert_eq!(device.restart(FaultPlan::none()).contents(), image, "they are durable");
}

#[test]
fn operations_are_counted_so_that_a_job_can_be_cut_at_each() {
    let job = |device: &SimDevice| {
        write_one(device, 0, 1);
        device.set_len(4 * BLOCK as u64).ok();
        device.sync().ok();
        read_one(device, 0);
    };
    let whole = sim(FaultPlan::none());
    job(&whole);
    assert_eq!(whole.operations(), 4);
    for operation in 0..=4 {
        let device = sim(FaultPlan::power_cut(9, operation));
        job(&device);
        assert_eq!(device.is_power_cut(), operation < 4, "cut at {operation}");
    }
}

#[test]
fn full_cache_makes_its_oldest_writes_durable() {
    let config =
        SimConfig::new(ideal_model()).cache_bytes(8 * BLOCK as u64).faults(plan_of(Unsynced::Lost));
    let device = SimDevice::new(config);
    for block in 0..100 {
        write_pattern(&device, block, block * BLOCK as u64, BLOCK);
        assert!(device.unsynced_bytes() <= 9 * BLOCK as u64, "the cache is finite");
    }
    write_pattern(&device, 1000, 50 * BLOCK as u64 + 512, 1024);
    for block in (0..100).filter(|&block| block != 50) {
        assert_pattern(&read(&device, block * BLOCK as u64, BLOCK), block, "whatever the layer");
    }
    assert_pattern(&read(&device, 50 * BLOCK as u64 + 512, 1024), 1000, "part of a chunk");
    let found = device.restart(FaultPlan::none());
    let len = found.len_bytes().unwrap();
    assert!((91..96).contains(&(len / BLOCK as u64)), "{len}: all but the youngest are durable");
    assert_pattern(&read(&found, 90 * BLOCK as u64, BLOCK), 90, "old");
}

proptest! {
    /// Whatever is done and whenever the power fails: every sector found afterwards holds what was
    /// synced last or something that was written to it later.
    #[test]
    fn any_power_cut_leaves_synced_sectors_or_later_ones(
        steps in proptest::collection::vec((0..5u8, 0..6u64, 1..4u64), 1..40),
        seed in any::<u64>(),
        cut in 0..40u64,
    ) {
        const SECTORS: usize = 16;
        let device = sim(FaultPlan::power_cut(seed, cut));
        // By sector: what may be found there.
        let mut allowed = vec![vec![0u8]; SECTORS];
        let mut number = 0u8;
        for (kind, sector, count) in steps {
            if kind == 0 {
                if device.sync().is_ok() {
                    allowed.iter_mut().for_each(|values| drop(values.drain(..values.len() - 1)));
                }
                continue;
            }
            number += 1;
            let mut buffer = Buffer::new(count as usize * 512).unwrap();
            buffer.fill(number);
            let write = one(&device, Op::Write, sector * 512, buffer);
            // Unless refused because the power was off already, it may be found.
            if write.result.is_ok() || device.operations() == cut + 1 {
                for values in &mut allowed[sector as usize..(sector + count) as usize] {
                    values.push(number);
                }
            }
        }
        let mut found = device.restart(FaultPlan::none()).contents();
        found.resize(SECTORS * 512, 0);
        for (sector, values) in allowed.iter().enumerate() {
            let bytes = &found[sector * 512..(sector + 1) * 512];
            prop_assert!(bytes.iter().all(|byte| *byte == bytes[0]), "sector {} is mixed", sector);
            let found = bytes[0];
            prop_assert!(values.contains(&found), "sector {}: {}, not {:?}", sector, found, values);
        }
    }
}

//! What fails, and which calls report it: writes, reads, checks, syncs, pins, configurations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::hooked::{Door, Hooked};
use crate::support::{
    PAGE_BYTES, Random, WRITERS, bump, config, device_fault, expect_all_frames, fill,
};
use crate::support::{pool, sim, version_of};
use cenote_device::Device;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::backend::sim::{Effect, FaultPlan, SimDevice, When};
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{Handle, Pool, PoolConfig, PoolError, Writer};

const EIO: Effect = Effect::Errno(libc::EIO);
const PAGES: u64 = 40;

fn bytes_of(page: u64) -> (u64, u64) {
    (page * PAGE_BYTES as u64, (page + 1) * PAGE_BYTES as u64)
}

fn read_of(page: u64) -> When {
    let (from, to) = bytes_of(page);
    When::ReadIn(from, to)
}

fn write_of(page: u64) -> When {
    let (from, to) = bytes_of(page);
    When::WriteIn(from, to)
}

fn disk_version(device: &SimDevice, page: u64) -> u64 {
    let at = page as usize * PAGE_BYTES;
    version_of(page, &device.contents()[at..at + PAGE_BYTES])
}

fn bump_all(handle: &Handle, pages: u64) {
    for page in 0..pages {
        bump(handle, page).unwrap();
    }
}

fn held_pages(fault: &PoolError) -> bool {
    matches!(fault, PoolError::Held { .. })
}

#[test]
fn a_page_that_cannot_be_written_stays_and_is_reported_once() {
    for writer in WRITERS {
        let device = sim(PAGES, FaultPlan::seeded(1).with(write_of(3), EIO));
        let pool = pool(&device, config(8, writer));
        let handle = pool.handle();
        for page in 0..6 {
            assert_eq!(bump(&handle, page).unwrap(), 1);
        }
        let fault = handle.flush().unwrap_err();
        let PoolError::WriteBack { failed: 1, tried: 6, page: 3, .. } = fault else {
            panic!("{writer}: {fault:?}")
        };
        assert_eq!(pool.dirty_pages(), 1, "{writer}: the others are written");
        for page in [0, 1, 2, 4, 5] {
            assert_eq!(disk_version(&device, page), 1);
        }
        // Every other page can go on, through all frames, with the bad one in memory.
        for page in (0..PAGES).filter(|&page| page != 3) {
            bump(&handle, page).unwrap();
        }
        assert_eq!(version_of(3, &handle.resident(3).expect("it stays in memory")), 1);
        assert!(handle.sync().is_err(), "{writer}: a sync never passes over it");
        assert_eq!(pool.dirty_pages(), 1);
        assert_eq!(disk_version(&device, 3), 0);
    }
}

#[test]
fn a_write_that_fails_once_succeeds_at_the_next_sync() {
    for writer in WRITERS {
        let device = sim(PAGES, FaultPlan::seeded(1).with(When::Write(2), EIO));
        let pool = pool(&device, config(8, writer));
        let handle = pool.handle();
        bump_all(&handle, 6);
        assert!(matches!(handle.sync(), Err(PoolError::WriteBack { failed: 1, .. })));
        handle.sync().unwrap();
        (0..6).for_each(|page| assert_eq!(disk_version(&device, page), 1, "{writer}"));
        assert_eq!(pool.stats().writes_failed, 1);
    }
}

#[test]
fn when_no_dirty_page_can_be_written_the_miss_fails_and_nothing_is_lost() {
    for writer in WRITERS {
        let plan = FaultPlan::seeded(1).with(When::WriteIn(0, u64::MAX), EIO);
        let device = sim(PAGES, plan);
        let pool = pool(&device, config(4, writer));
        let handle = pool.handle();
        bump_all(&handle, 4);
        let fault = handle.pin(9).unwrap_err();
        assert!(matches!(fault, PoolError::WriteBack { .. }), "{writer}: {fault:?}");
        (0..4).for_each(|page| assert_eq!(version_of(page, &handle.pin(page).unwrap()), 1));
        assert_eq!(pool.dirty_pages(), 4);
    }
}

#[test]
fn a_read_that_fails_is_reported_and_the_next_try_works() {
    for effect in [EIO, Effect::ShortRead] {
        let device = sim(PAGES, FaultPlan::seeded(1).with(When::Read(0), effect));
        let pool = pool(&device, config(4, Writer::Ace { batch: 4 }));
        let handle = pool.handle();
        let fault = handle.pin(7).unwrap_err();
        assert!(matches!(fault, PoolError::Device(_)), "{fault:?}");
        assert_eq!(version_of(7, &handle.pin(7).unwrap()), 0);
        assert_eq!(pool.stats().reads_failed, 1);
        expect_all_frames(&handle, 10);
    }
}

#[test]
fn a_failed_ask_leaves_the_other_asks_alone() {
    let device = sim(PAGES, FaultPlan::seeded(1).with(read_of(2), EIO));
    let pool = pool(&device, config(8, Writer::Ace { batch: 4 }));
    let handle = pool.handle();
    (0..4).for_each(|page| assert!(handle.submit(page, page).unwrap()));
    let (mut came, mut failed) = (Vec::new(), 0);
    for _ in 0..4 {
        match handle.poll(true) {
            Ok(taken) => came.push(taken.expect("four were asked for").0),
            Err(_) => failed += 1,
        }
    }
    came.sort_unstable();
    assert_eq!((came, failed), (vec![0, 1, 3], 1));
    assert!(handle.poll(true).unwrap().is_none());
    expect_all_frames(&handle, 10);
}

/// The first read of page 7 is held up until others wait for it, and then fails.
#[test]
fn threads_that_wait_for_a_page_whose_read_fails_read_it_themselves() {
    let plan = FaultPlan::seeded(1).with(When::Read(0), EIO);
    let waiting = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&waiting);
    let first = AtomicBool::new(true);
    let device = Hooked::new(sim(PAGES, plan), move |door| {
        if matches!(door, Door::Reap { reads: 1.., .. }) && first.swap(false, Ordering::AcqRel) {
            while seen.load(Ordering::Acquire) < 3 {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    });
    let config = config(4, Writer::Classical).patience_ms(10_000);
    let pool = Pool::new(device, config).unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| pool.handle().pin(7).map(|_| ()));
        for n in 0..3 {
            let (pool, waiting) = (&pool, &waiting);
            scope.spawn(move || {
                let handle = pool.handle();
                while pool.stats().misses == 0 {
                    std::thread::yield_now();
                }
                waiting.fetch_add(1, Ordering::AcqRel);
                let page = if n == 0 {
                    handle.submit(7, 0).unwrap();
                    handle.poll(true).unwrap().expect("it was asked for").1
                } else {
                    handle.pin(7).unwrap()
                };
                assert_eq!(version_of(7, &page), 0);
            });
        }
        assert!(reader.join().unwrap().is_err(), "the reader gets the fault");
    });
    assert!(started.elapsed() < Duration::from_secs(5), "no thread waits for a read that failed");
    assert_eq!(pool.stats().misses, 2, "one failed read, and one for all that waited");
}

#[test]
fn a_changed_bit_is_an_error_that_names_the_page() {
    let device = sim(PAGES, FaultPlan::none());
    device.flip_bit(7 * PAGE_BYTES as u64 + 100, 3);
    let pool = pool(&device, config(4, Writer::Ace { batch: 4 }));
    let handle = pool.handle();
    let fault = handle.pin(7).unwrap_err();
    assert!(matches!(fault, PoolError::Damaged { page: 7, .. }), "{fault:?}");
    assert!(fault.to_string().contains("page 7 is damaged"), "{fault}");
    handle.submit(7, 0).unwrap();
    assert!(matches!(handle.poll(true), Err(PoolError::Damaged { page: 7, .. })));
    device.flip_bit(7 * PAGE_BYTES as u64 + 100, 3);
    assert_eq!(version_of(7, &handle.pin(7).unwrap()), 0);
    expect_all_frames(&handle, 10);
}

#[test]
fn prefetched_pages_that_cannot_be_read_disturb_no_request() {
    let mut failed = 0;
    for end in 12..20 {
        // Reads from here on fail; only the prefetcher tries them.
        let plan = FaultPlan::seeded(1).with(When::ReadIn(bytes_of(end).0, u64::MAX), EIO);
        let tap = config(8, Writer::Ace { batch: 4 }).prefetch(PrefetchKind::Tap);
        let pool = pool(&sim(PAGES, plan), tap);
        let handle = pool.handle();
        for page in 0..end {
            assert_eq!(bump(&handle, page).unwrap(), 1);
        }
        failed += pool.stats().reads_failed;
        expect_all_frames(&handle, 0);
    }
    assert!(failed > 0, "the prefetcher reads ahead");
}

#[test]
fn a_sync_that_fails_poisons_syncs_and_nothing_else() {
    let failing = Arc::new(AtomicBool::new(false));
    let fails = Arc::clone(&failing);
    let device = Hooked::new(sim(PAGES, FaultPlan::none()), move |door| {
        if door == Door::Sync && fails.load(Ordering::Acquire) {
            return Err(device_fault());
        }
        Ok(())
    });
    let pool = Pool::new(device, config(4, Writer::Classical)).unwrap();
    let handle = pool.handle();
    bump(&handle, 1).unwrap();
    handle.sync().unwrap();
    bump(&handle, 1).unwrap();
    failing.store(true, Ordering::Release);
    assert!(matches!(handle.sync(), Err(PoolError::Device(_))));
    failing.store(false, Ordering::Release);
    assert!(matches!(handle.sync(), Err(PoolError::Poisoned { .. })));
    assert!(matches!(pool.sync(), Err(PoolError::Poisoned { .. })));
    assert_eq!(bump(&handle, 1).unwrap(), 3);
    handle.flush().unwrap();
    expect_all_frames(&handle, 10);
}

/// A kernel reports a lost page once: of two syncs at a time only one gets the error.
#[test]
fn of_two_syncs_at_once_none_succeeds_after_the_other_failed() {
    for _ in 0..20 {
        let has_failed = AtomicBool::new(false);
        let device = Hooked::new(sim(PAGES, FaultPlan::none()), move |door| match door {
            Door::Sync if !has_failed.swap(true, Ordering::AcqRel) => {
                std::thread::sleep(Duration::from_millis(2));
                Err(device_fault())
            }
            _ => Ok(()),
        });
        let pool = Pool::new(device, config(4, Writer::Classical)).unwrap();
        bump(&pool.handle(), 1).unwrap();
        std::thread::scope(|scope| {
            let syncs: Vec<_> = (0..2).map(|_| scope.spawn(|| pool.sync())).collect();
            for sync in syncs {
                assert!(sync.join().unwrap().is_err(), "the page may be lost");
            }
        });
    }
}

#[test]
fn more_pins_than_frames_are_an_error() {
    let pool = pool(&sim(PAGES, FaultPlan::none()), config(3, Writer::Ace { batch: 4 }));
    let handle = pool.handle();
    let guards: Vec<_> = (0..3).map(|page| handle.pin(page).unwrap()).collect();
    let fault = handle.pin(3).unwrap_err();
    assert!(matches!(fault, PoolError::AllPinned { page: 3, frames: 3, .. }), "{fault:?}");
    assert!(matches!(handle.submit(4, 0), Err(PoolError::AllPinned { .. })));
    assert!(matches!(handle.pin_new(5), Err(PoolError::AllPinned { .. })));
    drop(guards);
    handle.pin(3).unwrap();
    expect_all_frames(&handle, 10);
}

#[test]
fn threads_that_pin_more_than_the_frames_end_with_errors_and_not_in_a_deadlock() {
    let pool = pool(&sim(PAGES, FaultPlan::none()), config(4, Writer::Classical));
    let barrier = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (pool, barrier) = (&pool, &barrier);
            scope.spawn(move || {
                let handle = pool.handle();
                let first = handle.pin_mut(thread).unwrap();
                barrier.wait();
                let fault = handle.pin_mut(10 + thread).unwrap_err();
                assert!(matches!(fault, PoolError::AllPinned { .. }), "{fault:?}");
                barrier.wait();
                drop(first);
            });
        }
    });
    expect_all_frames(&pool.handle(), 20);
}

#[test]
fn endless_patience_is_no_overflow() {
    let patient = config(2, Writer::Classical).patience_ms(u64::MAX);
    let pool = pool(&sim(PAGES, FaultPlan::none()), patient);
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let handle = pool.handle();
            bump(&handle, 1).unwrap();
            let guards = (handle.pin_mut(1).unwrap(), handle.pin(2).unwrap());
            barrier.wait();
            std::thread::sleep(Duration::from_millis(20));
            drop(guards);
            barrier.wait();
            let guards = (handle.pin_mut(1).unwrap(), handle.pin(2).unwrap());
            barrier.wait();
            std::thread::sleep(Duration::from_millis(20));
            drop(guards);
        });
        let handle = pool.handle();
        barrier.wait();
        handle.flush().unwrap();
        barrier.wait();
        barrier.wait();
        assert_eq!(version_of(7, &handle.pin(7).unwrap()), 0);
        assert_eq!(version_of(1, &handle.pin_mut(1).unwrap()), 1);
    });
}

#[test]
fn a_thread_that_waits_for_itself_gets_an_error() {
    let pool = pool(&sim(PAGES, FaultPlan::none()), config(4, Writer::Classical));
    let handle = pool.handle();
    let mut guard = handle.pin_mut(3).unwrap();
    guard[0] ^= 1;
    let started = Instant::now();
    assert!(held_pages(&handle.pin(3).unwrap_err()));
    assert!(started.elapsed() >= Duration::from_millis(pool.config().patience_ms));
    assert!(held_pages(&handle.pin_mut(3).unwrap_err()));
    assert!(!handle.submit(3, 0).unwrap(), "it is not read again");
    assert!(handle.poll(false).unwrap().is_none());
    assert!(held_pages(&handle.poll(true).unwrap_err()));
    guard[0] ^= 1;
    drop(guard);
    assert_eq!(version_of(3, &handle.pin(3).unwrap()), 0);
}

#[test]
fn a_flush_that_gives_up_leaves_no_write_behind() {
    for writer in WRITERS {
        let device = sim(PAGES, FaultPlan::none());
        let pool = pool(&device, config(8, writer));
        let handle = pool.handle();
        bump_all(&handle, 6);
        let mut guard = handle.pin_mut(2).unwrap();
        fill(&mut guard, 2, 2);
        let other = pool.handle();
        assert!(held_pages(&other.flush().unwrap_err()), "{writer}");
        drop(guard);
        // The same handle has all its room for the next batches.
        for page in 0..PAGES {
            bump(&other, page).unwrap();
        }
        handle.sync().unwrap();
        assert_eq!(disk_version(&device, 2), 3);
        assert_eq!(disk_version(&device, 0), 2);
    }
}

/// Thread A asked for page 9 and flushes; B holds page 2, which A waits for, and waits for 9.
#[test]
fn a_flush_ends_the_reads_that_others_may_wait_for() {
    let quick = config(8, Writer::Classical).patience_ms(3_000);
    let pool = pool(&sim(PAGES, FaultPlan::none()), quick);
    bump(&pool.handle(), 2).unwrap();
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let handle = pool.handle();
            let guard = handle.pin_mut(2).unwrap();
            barrier.wait();
            handle.pin(9).unwrap();
            drop(guard);
        });
        let handle = pool.handle();
        handle.submit(9, 0).unwrap();
        barrier.wait();
        std::thread::sleep(Duration::from_millis(10));
        handle.flush().unwrap();
    });
}

#[test]
fn pages_behind_the_end_are_errors() {
    let pool = pool(&sim(PAGES, FaultPlan::none()), config(4, Writer::Classical));
    let handle = pool.handle();
    for page in [PAGES, u64::MAX - 1, u64::MAX] {
        assert!(matches!(handle.pin(page), Err(PoolError::NoSuchPage { pages: PAGES, .. })));
        assert!(matches!(handle.pin_mut(page), Err(PoolError::NoSuchPage { .. })));
        assert!(matches!(handle.submit(page, 0), Err(PoolError::NoSuchPage { .. })));
        assert!(handle.resident(page).is_none());
        assert!(!handle.insert_if_free(page, &[0; PAGE_BYTES]), "page {page} does not exist");
    }
    expect_all_frames(&handle, 0);
}

#[test]
fn a_new_page_far_behind_the_end_is_an_error_and_the_file_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    std::fs::write(&path, crate::support::first_contents(4, 4096)).unwrap();
    let device = file::open(&path, &OpenOptions::default()).unwrap();
    let pages = config(4, Writer::Classical).page_bytes(4096);
    let pool = Pool::new(device, pages).unwrap();
    let handle = pool.handle();
    for page in [u64::MAX, u64::MAX - 1, u64::MAX / 4096] {
        assert!(handle.pin_new(page).is_err(), "page {page}");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 * 4096);
    }
    assert_eq!(version_of(3, &handle.pin(3).unwrap()), 0);
    fill(&mut handle.pin_new(6).unwrap(), 6, 1);
    assert_eq!(pool.pages(), 7);
    handle.sync().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 7 * 4096);
    assert_eq!(handle.pin(5).unwrap()[..], [0; 4096], "a page never written");
}

#[test]
fn configurations_that_cannot_work_are_errors() {
    let good = config(4, Writer::Ace { batch: 4 });
    let bad: Vec<(&str, PoolConfig)> = vec![
        ("no frames", good.clone().frames(0)),
        ("frames beyond count", good.clone().frames(usize::MAX)),
        ("u32 frames", good.clone().frames(u32::MAX as usize)),
        ("tiny pages", good.clone().page_bytes(256)),
        ("odd pages", good.clone().page_bytes(1000)),
        ("endless pages", good.clone().page_bytes(1 << 62)),
        ("no batch", good.clone().writer(Writer::Ace { batch: 0 })),
        ("no cleaner batch", good.clone().writer(Writer::Cleaner { batch: 0 })),
        ("endless batch", good.clone().writer(Writer::Ace { batch: usize::MAX })),
        ("no depth", good.clone().read_depth(0)),
        ("endless depth", good.clone().read_depth(usize::MAX)),
        ("no eviction", good.clone().evict_batch(0)),
        ("endless eviction", good.clone().evict_batch(usize::MAX)),
    ];
    for (name, config) in bad {
        let pool = Pool::new(sim(PAGES, FaultPlan::none()) as Arc<dyn Device>, config);
        assert!(matches!(pool, Err(PoolError::Config { .. })), "{name}: {pool:?}");
    }
    let classical = pool(&sim(PAGES, FaultPlan::none()), config(4, Writer::Classical));
    assert!(matches!(cenote_pool::Cleaner::new(&classical), Err(PoolError::Config { .. })));
}

#[test]
fn a_cleaner_cleans_with_any_policy_and_batch() {
    for policy in cenote_pool::policy::PolicyKind::ALL {
        for batch in [1, 2, 3, 16] {
            for writer in [Writer::Cleaner { batch }, Writer::AceBackground { batch }] {
                let device = sim(PAGES, FaultPlan::seeded(1).with(When::Write(0), EIO));
                let pool = pool(&device, config(8, writer).policy(policy));
                let handle = pool.handle();
                let mut cleaner = cenote_pool::Cleaner::new(&pool).unwrap();
                assert_eq!(cleaner.step().unwrap(), 0, "nothing is dirty");
                let mut cleaned = 0;
                for _ in 0..5 {
                    for page in 0..PAGES {
                        bump(&handle, page).unwrap();
                        cleaned += cleaner.step().unwrap();
                        cleaner.finish().unwrap();
                    }
                }
                // Half of a batch of 16 is the whole pool: that is never due.
                assert!(cleaned > 0 || batch == 16, "{policy} {writer} {batch}");
                assert_eq!(pool.stats().writes_failed, 1);
                handle.sync().unwrap();
                (0..PAGES).for_each(|page| assert_eq!(disk_version(&device, page), 5));
            }
        }
    }
}

/// Fails every single operation of a small run, one at a time.
#[test]
fn whichever_operation_fails_every_page_is_right_or_reported() {
    for writer in WRITERS {
        for prefetch in [PrefetchKind::None, PrefetchKind::Both] {
            let whole = sim(PAGES, FaultPlan::seeded(3));
            for n in 0..run_with_a_fault(&whole, writer, prefetch) {
                for effect in [EIO, Effect::ShortRead] {
                    let plan = FaultPlan::seeded(3).with(When::Operation(n), effect);
                    run_with_a_fault(&sim(PAGES, plan), writer, prefetch);
                }
            }
        }
    }
}

/// Returns its operations: those at which it can be met by a fault.
fn run_with_a_fault(device: &Arc<SimDevice>, writer: Writer, prefetch: PrefetchKind) -> u64 {
    let pool = pool(device, config(6, writer).prefetch(prefetch));
    let handle = pool.handle();
    let mut random = Random::new(7);
    let mut versions = [0; PAGES as usize];
    let mut reported = 0;
    for n in 0..40 {
        let page = if n < 10 { n } else { random.skewed(PAGES) };
        match bump(&handle, page) {
            Ok(version) => {
                versions[page as usize] += 1;
                assert_eq!(version, versions[page as usize]);
            }
            Err(_) => reported += 1,
        }
        if n % 13 == 12 {
            let synced = handle.sync();
            let again = matches!(synced, Err(PoolError::Poisoned { .. }));
            reported += usize::from(synced.is_err() && !again);
        }
    }
    // A fault that met a prefetch or another page of a batch is counted only.
    let stats = pool.stats();
    let heard = reported as u64 <= 1 + stats.writes_failed + stats.reads_failed;
    assert!(heard, "{reported} reports of one fault");
    let operations = device.operations();
    match handle.sync() {
        Ok(()) => {}
        Err(PoolError::Poisoned { .. }) => handle.flush().unwrap(),
        Err(fault) => panic!("one fault heals by itself, except a sync's: {fault}"),
    }
    for (page, &version) in versions.iter().enumerate() {
        let page = page as u64;
        assert_eq!(disk_version(device, page), version, "{writer} {prefetch}: page {page}");
    }
    expect_all_frames(&handle, 0);
    operations
}

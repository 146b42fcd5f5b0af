//! Queues that break, or are used to their depth: no latch is lost, and nothing panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::hooked::{Door, Hooked};
use crate::support::{
    WRITERS, bump, config, device_fault, expect_all_frames, pool, sim, version_of,
};
use cenote_device::Device;
use cenote_device::backend::sim::FaultPlan;
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{Pool, Writer};

const PAGES: u64 = 40;

/// Most requests at once: all asks, a pin, and whatever is prefetched along, with few writes.
#[test]
fn asks_pins_and_prefetches_together_fit_the_queue() {
    for writer in WRITERS {
        for prefetch in PrefetchKind::ALL {
            let device = sim(400, FaultPlan::none());
            let deep = config(200, writer).prefetch(prefetch).evict_batch(16).read_depth(2);
            let pool = pool(&device, deep);
            let handle = pool.handle();
            for page in (0..400).step_by(3) {
                while handle.has_room() && page + 1 < 400 {
                    handle.submit(page, page).unwrap();
                    handle.submit(page + 1, page).unwrap();
                }
                assert_eq!(version_of(page, &handle.pin(page).unwrap()), 0);
                while handle.poll(true).unwrap().is_some() {}
            }
        }
    }
}

#[test]
fn a_handle_that_goes_with_asks_on_their_way_leaves_nothing_latched() {
    for prefetch in PrefetchKind::ALL {
        let with = config(8, Writer::Ace { batch: 4 }).prefetch(prefetch);
        let pool = pool(&sim(PAGES, FaultPlan::none()), with);
        for round in 0..5 {
            let handle = pool.handle();
            while handle.has_room() {
                handle.submit(round * 4 + handle.pending() as u64, 0).unwrap();
            }
            if round % 2 == 0 {
                drop(handle.poll(true).unwrap());
            }
        }
        expect_all_frames(&pool.handle(), 20);
    }
}

#[test]
fn a_queue_that_breaks_for_a_while_leaves_no_latch_and_loses_nothing() {
    let broken = Arc::new(AtomicUsize::new(usize::MAX));
    for writer in WRITERS {
        for door in 0..60 {
            let device = sim(PAGES, FaultPlan::none());
            let count = Arc::clone(&broken);
            count.store(usize::MAX, Ordering::Release);
            let hooked = Hooked::new(Arc::clone(&device) as Arc<dyn Device>, move |at| {
                let breaks = matches!(at, Door::Open | Door::Submit | Door::Reap { .. });
                let before = count.load(Ordering::Acquire);
                if !breaks || before == usize::MAX {
                    return Ok(());
                }
                count.store(before.wrapping_sub(1), Ordering::Release);
                if before == 0 { Err(device_fault()) } else { Ok(()) }
            });
            let tap = config(8, writer).prefetch(PrefetchKind::Tap);
            let pool = Pool::new(hooked, tap).unwrap();
            let handle = pool.handle();
            broken.store(door, Ordering::Release);
            let mut versions = [0; PAGES as usize];
            let mut work = |n: u64| {
                let page = if n.is_multiple_of(3) { n % PAGES } else { n * 7 % PAGES };
                if let Ok(version) = bump(&handle, page) {
                    assert_eq!(version, versions[page as usize] + 1);
                    versions[page as usize] = version;
                }
                if n.is_multiple_of(5)
                    && handle.has_room()
                    && handle.submit(n * 3 % PAGES, 0).is_ok()
                {
                    while matches!(handle.poll(true), Ok(Some(_)) | Err(_)) {}
                }
            };
            (0..30).for_each(&mut work);
            while handle.flush().is_err() {}
            assert_eq!(pool.dirty_pages(), 0);
            for (page, &version) in versions.iter().enumerate() {
                let page = page as u64;
                assert_eq!(version_of(page, &handle.pin(page).unwrap()), version, "door {door}");
            }
            expect_all_frames(&handle, 0);
        }
    }
}

/// Far more reads than the queue is deep fail, each with an error; then the queue works again.
#[test]
fn a_queue_that_stays_broken_fails_every_read_and_then_heals() {
    for prefetch in PrefetchKind::ALL {
        for fails_to_reap in [false, true] {
            let broken = Arc::new(AtomicBool::new(false));
            let is_broken = Arc::clone(&broken);
            let sim = sim(PAGES, FaultPlan::none()) as Arc<dyn Device>;
            let hooked = Hooked::new(sim, move |at| {
                let fails = at == Door::Submit || fails_to_reap && matches!(at, Door::Reap { .. });
                if fails && is_broken.load(Ordering::Acquire) {
                    Err(device_fault())
                } else {
                    Ok(())
                }
            });
            let with = config(8, Writer::Ace { batch: 4 }).prefetch(prefetch);
            let handle = Pool::new(hooked, with.evict_batch(1)).unwrap().handle();
            broken.store(true, Ordering::Release);
            for page in (0..PAGES).step_by(2) {
                assert!(handle.pin(page).is_err(), "{prefetch}: page {page}");
                assert!(handle.has_room() && handle.submit(page + 1, 0).is_err(), "{prefetch}");
            }
            broken.store(false, Ordering::Release);
            for page in 0..PAGES {
                assert_eq!(version_of(page, &handle.pin(page).unwrap()), 0);
            }
            expect_all_frames(&handle, 0);
        }
    }
}

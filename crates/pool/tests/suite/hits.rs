//! Misses never block hits: while reads and writes of one thread stand still at the device,
//! another's resident pages can be pinned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::hooked::{Door, Hooked};
use crate::support::{WRITERS, bump, config, sim, version_of};
use cenote_device::backend::sim::FaultPlan;
use cenote_pool::Pool;
use cenote_pool::policy::PolicyKind;

/// A device that stands still at the given door while its gate is closed.
struct Gate {
    closed: Arc<AtomicBool>,
    waiting: Arc<AtomicBool>,
}

fn gated(at: fn(Door) -> bool) -> (Gate, Arc<Hooked>) {
    let gate = Gate { closed: Arc::default(), waiting: Arc::default() };
    let (closed, waiting) = (Arc::clone(&gate.closed), Arc::clone(&gate.waiting));
    let device = Hooked::new(sim(100, FaultPlan::none()), move |door| {
        while at(door) && closed.load(Ordering::Acquire) {
            waiting.store(true, Ordering::Release);
            std::thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    });
    (gate, device)
}

/// One thread misses and stands still at `at`; meanwhile this one hits, reading and changing.
fn hits_go_on_while(at: fn(Door) -> bool) {
    for policy in PolicyKind::ALL {
        for writer in WRITERS {
            let (gate, device) = gated(at);
            let config = config(16, writer).policy(policy);
            let pool = Pool::new(device, config).unwrap();
            let handle = pool.handle();
            for page in 0..16 {
                bump(&handle, page).unwrap();
            }
            gate.closed.store(true, Ordering::Release);
            std::thread::scope(|scope| {
                scope.spawn(|| assert_eq!(version_of(50, &pool.handle().pin(50).unwrap()), 0));
                let started = Instant::now();
                while !gate.waiting.load(Ordering::Acquire) {
                    assert!(started.elapsed() < Duration::from_secs(5), "the miss never came");
                    std::thread::yield_now();
                }
                // One frame, that of the missing page, was emptied or is being so.
                let resident: Vec<u64> =
                    (0..16).filter(|&p| handle.resident(p).is_some()).collect();
                assert!(resident.len() >= 15, "{policy} {writer}: {resident:?}");
                // More hits than a handle collects before it passes them to the policy.
                for n in 0..10 * cenote_pool::RECORDS_MAX {
                    let page = resident[n % resident.len()];
                    assert!(version_of(page, &handle.pin(page).unwrap()) >= 1);
                    bump(&handle, page).unwrap();
                }
                assert!(gate.closed.load(Ordering::Acquire), "the miss stands still all the time");
                gate.closed.store(false, Ordering::Release);
            });
            handle.sync().unwrap();
        }
    }
}

#[test]
fn hits_go_on_while_a_miss_stands_still_at_its_read() {
    hits_go_on_while(|door| matches!(door, Door::Reap { reads: 1.., .. }));
}

#[test]
fn hits_go_on_while_a_miss_stands_still_at_its_write_back() {
    hits_go_on_while(|door| matches!(door, Door::Reap { writes: 1.., .. }));
}

#[test]
fn hits_go_on_while_a_sync_stands_still() {
    let (gate, device) = gated(|door| door == Door::Sync);
    let pool = Pool::new(device, config(4, WRITERS[0])).unwrap();
    let handle = pool.handle();
    bump(&handle, 1).unwrap();
    gate.closed.store(true, Ordering::Release);
    std::thread::scope(|scope| {
        scope.spawn(|| pool.sync().unwrap());
        while !gate.waiting.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        // Misses go on as well.
        for page in 0..20 {
            bump(&handle, page).unwrap();
        }
        gate.closed.store(false, Ordering::Release);
    });
}

//! Models of pin, evict and write-back: the very code of the pool under the `shuttle` scheduler,
//! which chooses the thread that runs at every latch, lock and atomic of frames and page table.
//!
//! `cargo test --workspace --features cenote-pool/model --test model`; `CENOTE_POOL_MODELS` sets
//! how many schedules each model runs under each scheduler. On a failure shuttle prints the
//! schedule, or the seed, to replay.

#![cfg(feature = "model")]
#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::Device;
use cenote_device::backend::sim::{FaultPlan, SimDevice};
use cenote_pool::policy::PolicyKind;
use cenote_pool::{Cleaner, Handle, Pool, Writer};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};
use support::{Oracle, PAGE_BYTES, WRITERS, bump, config, number_from, sim, version_of};

/// Runs a model under both schedulers.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let schedules = number_from("CENOTE_POOL_MODELS", 150) as usize;
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.silence_warnings = true;
    let model = Arc::new(model);
    let again = Arc::clone(&model);
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(move || model());
    Runner::new(PctScheduler::new(3, schedules), config).run(move || again());
}

fn pool(device: &Arc<SimDevice>, frames: usize, writer: Writer, policy: PolicyKind) -> Arc<Pool> {
    // Patience is counted in turns here: enough that only a circle uses it up.
    let config = config(frames, writer).policy(policy).read_depth(2).patience_ms(400);
    Pool::new(Arc::clone(device) as Arc<dyn Device>, config).unwrap()
}

fn change(handle: &Handle, oracle: &Oracle, page: u64) {
    let mut guard = handle.pin_mut(page).unwrap();
    oracle.expect(page, &guard);
    oracle.change(page, &mut guard);
}

/// Runs a thread for each of the jobs and waits for all.
fn together(pool: &Arc<Pool>, jobs: Vec<Box<dyn FnOnce(Handle) + Send>>) {
    let run = |job: Box<dyn FnOnce(Handle) + Send>| {
        let pool = Arc::clone(pool);
        thread::spawn(move || job(pool.handle()))
    };
    let threads: Vec<_> = jobs.into_iter().map(run).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// At the end: no latch and no frame is lost, and what is synced is what was written.
fn expect_whole(pool: &Arc<Pool>, device: &SimDevice, oracle: &Oracle) {
    let handle = pool.handle();
    handle.sync().unwrap();
    assert_eq!(pool.dirty_pages(), 0);
    let contents = device.contents();
    for (page, bytes) in contents.chunks(PAGE_BYTES).enumerate() {
        oracle.expect(page as u64, bytes);
    }
    let frames = pool.config().frames as u64;
    let guards: Vec<_> = (0..frames).map(|page| handle.pin_mut(page).unwrap()).collect();
    assert_eq!(guards.len() as u64, frames, "all latches are free");
}

/// Which writer and policy a schedule runs with: in turn, over all schedules.
fn turn(turns: &AtomicU64) -> (Writer, PolicyKind) {
    let turn = turns.fetch_add(1, Ordering::Relaxed) as usize;
    let policies = PolicyKind::ALL;
    (WRITERS[turn % WRITERS.len()], policies[turn / WRITERS.len() % policies.len()])
}

#[test]
fn writers_that_evict_each_other_lose_nothing() {
    let turns = AtomicU64::new(0);
    explore(move || {
        let (writer, policy) = turn(&turns);
        let device = sim(4, FaultPlan::none());
        let pool = pool(&device, 2, writer, policy);
        let oracle = Arc::new(Oracle::new(4));
        let jobs = (0..2).map(|thread| {
            let oracle = Arc::clone(&oracle);
            let job = move |handle: Handle| {
                for n in 0..4 {
                    change(&handle, &oracle, (n + 2 * thread) % 4);
                }
            };
            Box::new(job) as Box<dyn FnOnce(Handle) + Send>
        });
        together(&pool, jobs.collect());
        expect_whole(&pool, &device, &oracle);
    });
}

#[test]
fn readers_see_the_last_version_while_pages_come_and_go() {
    let turns = AtomicU64::new(0);
    explore(move || {
        let (writer, policy) = turn(&turns);
        let device = sim(4, FaultPlan::none());
        let pool = pool(&device, 3, writer, policy);
        let oracle = Arc::new(Oracle::new(4));
        let (a, b, c) = (Arc::clone(&oracle), Arc::clone(&oracle), Arc::clone(&oracle));
        together(
            &pool,
            vec![
                Box::new(move |handle| (0..4).for_each(|page| change(&handle, &a, page))),
                Box::new(move |handle| {
                    (0..4).rev().for_each(|page| b.expect(page, &handle.pin(page).unwrap()));
                }),
                Box::new(move |handle| {
                    for page in 0..4 {
                        if let Some(guard) = handle.resident(page) {
                            c.expect(page, &guard);
                        }
                    }
                }),
            ],
        );
        expect_whole(&pool, &device, &oracle);
    });
}

#[test]
fn threads_that_miss_the_same_page_cause_one_read() {
    explore(|| {
        let device = sim(4, FaultPlan::none());
        let pool = pool(&device, 3, Writer::Classical, PolicyKind::Clock);
        let read = |handle: Handle| {
            assert_eq!(version_of(1, &handle.pin(1).unwrap()), 0);
        };
        let ask = |handle: Handle| {
            handle.submit(1, 7).unwrap();
            let (tag, guard) = handle.poll(true).unwrap().expect("it was asked for");
            assert_eq!((tag, version_of(1, &guard)), (7, 0));
        };
        together(&pool, vec![Box::new(read), Box::new(read), Box::new(ask)]);
        assert_eq!(device.operations(), 1, "one read");
        assert_eq!(pool.stats().misses, 1);
    });
}

#[test]
fn a_change_during_the_write_back_makes_the_page_dirty_again() {
    let turns = AtomicU64::new(0);
    explore(move || {
        let (writer, policy) = turn(&turns);
        let device = sim(2, FaultPlan::none());
        let pool = pool(&device, 2, writer, policy);
        let oracle = Arc::new(Oracle::new(2));
        let (a, b) = (Arc::clone(&oracle), Arc::clone(&oracle));
        change(&pool.handle(), &oracle, 0);
        together(
            &pool,
            vec![
                Box::new(move |handle| (0..3).for_each(|_| change(&handle, &a, 0))),
                Box::new(|handle| (0..2).for_each(|_| handle.flush().unwrap())),
                Box::new(move |handle| {
                    handle.flush().unwrap();
                    change(&handle, &b, 1);
                }),
            ],
        );
        expect_whole(&pool, &device, &oracle);
    });
}

#[test]
fn a_cleaner_beside_writers_loses_nothing() {
    let turns = AtomicU64::new(0);
    explore(move || {
        let (_, policy) = turn(&turns);
        let device = sim(4, FaultPlan::none());
        let pool = pool(&device, 3, Writer::AceBackground { batch: 2 }, policy);
        let oracle = Arc::new(Oracle::new(4));
        let a = Arc::clone(&oracle);
        let clean = |handle: Handle| {
            let mut cleaner = Cleaner::new(handle.pool()).unwrap();
            for _ in 0..3 {
                cleaner.step().unwrap();
                cleaner.finish().unwrap();
            }
        };
        let write = move |handle: Handle| {
            [0, 1, 2, 3, 0, 1].into_iter().for_each(|page| change(&handle, &a, page));
        };
        together(&pool, vec![Box::new(write), Box::new(clean)]);
        expect_whole(&pool, &device, &oracle);
    });
}

#[test]
fn asks_that_cross_each_other_end() {
    let turns = AtomicU64::new(0);
    explore(move || {
        let (writer, policy) = turn(&turns);
        let device = sim(4, FaultPlan::none());
        let pool = pool(&device, 3, writer, policy);
        let ask = |pages: [u64; 2]| {
            move |handle: Handle| {
                for page in pages {
                    handle.submit(page, page).unwrap();
                }
                let mut came = 0;
                while let Some((tag, guard)) = handle.poll(true).unwrap() {
                    assert_eq!(version_of(tag, &guard), 0);
                    came += 1;
                }
                assert_eq!(came, 2);
            }
        };
        together(&pool, vec![Box::new(ask([1, 2])), Box::new(ask([2, 1]))]);
        expect_whole(&pool, &device, &Oracle::new(4));
    });
}

#[test]
fn a_sync_covers_all_that_was_written_before_it() {
    let turns = AtomicU64::new(0);
    explore(move || {
        let (writer, policy) = turn(&turns);
        let device = sim(4, FaultPlan::none());
        let pool = pool(&device, 2, writer, policy);
        let oracle = Arc::new(Oracle::new(4));
        // Versions whose guards are gone: those the sync has to cover.
        let released = Arc::new(Oracle::new(4));
        let (a, b) = (Arc::clone(&oracle), Arc::clone(&released));
        let (seen, disk) = (Arc::clone(&released), Arc::clone(&device));
        together(
            &pool,
            vec![
                Box::new(move |handle| {
                    for page in [0, 1, 2, 3, 1, 0] {
                        change(&handle, &a, page);
                        b.change(page, &mut [0; PAGE_BYTES]);
                    }
                }),
                Box::new(move |handle| {
                    let before: Vec<u64> = (0..4).map(|page| seen.version(page)).collect();
                    handle.sync().unwrap();
                    // Even if every write that was not synced is lost.
                    let after = disk.restart(FaultPlan::none()).contents();
                    for (page, bytes) in after.chunks(PAGE_BYTES).enumerate() {
                        assert!(version_of(page as u64, bytes) >= before[page]);
                    }
                }),
            ],
        );
        expect_whole(&pool, &device, &oracle);
    });
}

#[test]
fn a_thread_that_waits_for_a_read_that_fails_reads_again() {
    use cenote_device::backend::sim::{Effect, When};
    explore(|| {
        let plan = FaultPlan::seeded(1).with(When::Read(0), Effect::Errno(libc::EIO));
        let device = sim(4, plan);
        let pool = pool(&device, 2, Writer::Classical, PolicyKind::Sieve);
        let failed = Arc::new(AtomicU64::new(0));
        let read = || {
            let failed = Arc::clone(&failed);
            move |handle: Handle| match handle.pin(1) {
                Ok(guard) => assert_eq!(version_of(1, &guard), 0),
                Err(_) => drop(failed.fetch_add(1, Ordering::Relaxed)),
            }
        };
        together(&pool, vec![Box::new(read()), Box::new(read()), Box::new(read())]);
        assert_eq!(failed.load(Ordering::Relaxed), 1, "one thread gets the error");
        expect_whole(&pool, &device, &Oracle::new(4));
    });
}

/// The models must be able to fail: a version that is read, then written under another guard, is
/// overtaken in some schedule.
#[test]
#[should_panic(expected = "is the last")]
fn a_change_that_lets_go_of_its_page_is_found_out() {
    explore(|| {
        let device = sim(2, FaultPlan::none());
        let pool = pool(&device, 2, Writer::Classical, PolicyKind::Lru);
        let oracle = Arc::new(Oracle::new(2));
        let careless = || {
            let oracle = Arc::clone(&oracle);
            move |handle: Handle| {
                let version = version_of(0, &handle.pin(0).unwrap()) + 1;
                support::fill(&mut handle.pin_mut(0).unwrap(), 0, version);
                let mut guard = handle.pin_mut(1).unwrap();
                oracle.change(1, &mut guard);
            }
        };
        together(&pool, vec![Box::new(careless()), Box::new(careless())]);
        let handle = pool.handle();
        let (found, last) = (bump(&handle, 0).unwrap() - 1, oracle.version(1));
        assert_eq!(found, last, "page 0: version {found} was read, {last} is the last");
    });
}

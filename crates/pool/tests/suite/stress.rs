//! Many threads over a small hot pool, against an oracle of versions: every policy, writer and
//! prefetcher, on the simulated device and on a file.
//!
//! `CENOTE_POOL_SEED` sets the seed, `CENOTE_POOL_OPS` the operations of each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::hooked::Hooked;
use crate::support::{
    Oracle, PAGE_BYTES, Random, WRITERS, config, first_contents, number_from, sim,
};
use cenote_device::Device;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::backend::sim::FaultPlan;
use cenote_device::plan::Planner;
use cenote_device::profile::Profile;
use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{CleanerThread, Handle, Pool, PoolConfig, PoolError, Writer, scan};

const PAGES: u64 = 200;
const FRAMES: usize = 24;
const THREADS: u64 = 4;

fn seed() -> u64 {
    let seed = number_from("CENOTE_POOL_SEED", 20_251_122);
    println!("CENOTE_POOL_SEED={seed}");
    seed
}

/// One thread of the crowd.
struct Client<'a> {
    handle: Handle,
    oracle: &'a Oracle,
    planner: &'a Planner,
    random: Random,
}

impl Client<'_> {
    fn run(&mut self, ops: u64) -> Result<(), PoolError> {
        for _ in 0..ops {
            let page = self.random.skewed(self.oracle.pages());
            match self.random.below(100) {
                0..35 => self.oracle.expect(page, &self.handle.pin(page)?),
                35..65 => self.change(page)?,
                65..70 => self.renew(page)?,
                70..85 => self.ask_many()?,
                85..93 => {
                    if let Some(guard) = self.handle.resident(page) {
                        self.oracle.expect(page, &guard);
                    }
                }
                93..96 => self.pin_two()?,
                96 => self.pass()?,
                97 => self.handle.flush()?,
                98 => self.handle.sync()?,
                _ => self.ask_and_go_away(page)?,
            }
        }
        Ok(())
    }

    fn change(&self, page: u64) -> Result<(), PoolError> {
        let mut guard = self.handle.pin_mut(page)?;
        self.oracle.expect(page, &guard);
        self.oracle.change(page, &mut guard);
        Ok(())
    }

    fn renew(&self, page: u64) -> Result<(), PoolError> {
        let mut guard = self.handle.pin_new(page)?;
        assert!(guard.iter().all(|&byte| byte == 0), "a new page is empty");
        self.oracle.change(page, &mut guard);
        Ok(())
    }

    /// Two guards at once, the pages ascending as the pool's order of latches asks.
    fn pin_two(&mut self) -> Result<(), PoolError> {
        let (a, b) = (self.random.skewed(PAGES), self.random.skewed(PAGES));
        if a == b {
            return Ok(());
        }
        let first = self.handle.pin(a.min(b))?;
        let mut second = self.handle.pin_mut(a.max(b))?;
        self.oracle.expect(first.page(), &first);
        self.oracle.change(a.max(b), &mut second);
        Ok(())
    }

    /// Asks for several pages, looks at others meanwhile, takes all.
    fn ask_many(&mut self) -> Result<(), PoolError> {
        let mut tags = Vec::new();
        while self.handle.has_room() {
            let page = self.random.skewed(PAGES);
            let tag = self.random.next();
            self.handle.submit(page, tag)?;
            tags.push((tag, page));
        }
        let polls = self.random.below(3);
        for poll in 0.. {
            let taken = self.handle.poll(poll >= polls)?;
            let Some((tag, guard)) = taken else {
                if poll >= polls {
                    break;
                }
                continue;
            };
            let at = tags.iter().position(|&(asked, page)| asked == tag && page == guard.page());
            tags.swap_remove(at.expect("what is taken was asked for"));
            self.oracle.expect(guard.page(), &guard);
        }
        assert!(tags.is_empty(), "all that was asked for comes");
        Ok(())
    }

    /// Another handle that never takes what it asked for.
    fn ask_and_go_away(&self, page: u64) -> Result<(), PoolError> {
        let other = self.handle.pool().handle();
        other.submit(page, 0)?;
        other.submit(page / 2, 0).map(|_| ())
    }

    /// Every page of a pass has a version that it had during the pass.
    fn pass(&mut self) -> Result<(), PoolError> {
        let from = self.random.below(PAGES);
        let to = from + self.random.below(PAGES - from) + 1;
        let before: Vec<u64> = (0..PAGES).map(|page| self.oracle.version(page)).collect();
        let mut seen = 0;
        scan::pass(&self.handle, self.planner, from..to, |page, bytes| {
            let found = crate::support::version_of(page, bytes);
            // What is read from the device may be changed before it is shown; not the reverse.
            let allowed = before[page as usize]..=self.oracle.version(page);
            assert!(allowed.contains(&found), "a pass saw version {found} of {page}: {allowed:?}");
            seen += 1;
            Ok::<(), PoolError>(())
        })?;
        assert_eq!(seen, to - from, "a pass shows every page once");
        Ok(())
    }
}

/// Lets the crowd loose on a pool, then compares memory, and the device by itself.
fn crowd(device: Arc<dyn Device>, config: PoolConfig, seed: u64, ops: u64) {
    let oracle = Oracle::new(PAGES);
    let planner = Planner::new(&Profile::assumed(), config.page_bytes, 8 * config.page_bytes, 1);
    let pool = Pool::new(Arc::clone(&device), config.clone()).unwrap();
    let cleans = config.writer.has_cleaner();
    let cleaner = cleans.then(|| CleanerThread::spawn(&pool).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (pool, oracle, planner) = (&pool, &oracle, &planner);
            scope.spawn(move || {
                let random = Random::new(seed ^ (thread << 32));
                let mut client = Client { handle: pool.handle(), oracle, planner, random };
                client.run(ops).unwrap_or_else(|fault| panic!("thread {thread}: {fault}"));
            });
        }
    });
    drop(cleaner);
    let handle = pool.handle();
    handle.sync().unwrap();
    assert_eq!(pool.dirty_pages(), 0, "a sync leaves nothing dirty");
    oracle.expect_all(&handle);
    drop(handle);
    drop(pool);
    let again = Pool::new(device, config).unwrap();
    oracle.expect_all(&again.handle());
    every_frame_can_be_had(&again);
}

/// No latch leaked: all frames can be pinned exclusively at once.
fn every_frame_can_be_had(pool: &Arc<Pool>) {
    let handle = pool.handle();
    let guards: Vec<_> = (0..FRAMES as u64).map(|page| handle.pin_mut(page).unwrap()).collect();
    assert_eq!(guards.len(), FRAMES);
}

fn matrix() -> impl Iterator<Item = (PolicyKind, Writer, PrefetchKind)> {
    PolicyKind::ALL.into_iter().flat_map(|policy| {
        WRITERS.into_iter().flat_map(move |writer| {
            PrefetchKind::ALL.into_iter().map(move |prefetch| (policy, writer, prefetch))
        })
    })
}

fn stress_config(policy: PolicyKind, writer: Writer, prefetch: PrefetchKind) -> PoolConfig {
    config(FRAMES, writer).policy(policy).prefetch(prefetch).patience_ms(10_000)
}

/// Sleeps or yields now and then, so that the simulator's requests are really in flight while
/// other threads run.
fn dawdling(inner: Arc<dyn Device>, seed: u64) -> Arc<dyn Device> {
    let count = AtomicU64::new(seed);
    Hooked::new(inner, move |_| {
        let mut random = Random::new(count.fetch_add(1, Ordering::Relaxed));
        match random.below(16) {
            0 => std::thread::sleep(Duration::from_micros(random.below(20))),
            1..5 => std::thread::yield_now(),
            _ => {}
        }
        Ok(())
    })
}

#[test]
fn every_read_sees_the_last_write_on_the_simulated_device() {
    let seed = seed();
    let ops = number_from("CENOTE_POOL_OPS", 100);
    for (n, (policy, writer, prefetch)) in matrix().enumerate() {
        let seed = seed.wrapping_add(n as u64);
        println!("{policy} {writer} {prefetch} CENOTE_POOL_SEED={seed}");
        let device = dawdling(sim(PAGES, FaultPlan::seeded(seed)), seed);
        crowd(device, stress_config(policy, writer, prefetch), seed, ops);
    }
}

#[test]
fn every_read_sees_the_last_write_on_a_file() {
    let seed = seed();
    let ops = number_from("CENOTE_POOL_OPS", 50);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pages");
    for (n, (policy, writer, prefetch)) in matrix().enumerate() {
        let seed = seed.wrapping_add(n as u64);
        println!("{policy} {writer} {prefetch} CENOTE_POOL_SEED={seed}");
        let page_bytes = 8 * PAGE_BYTES;
        std::fs::write(&path, first_contents(PAGES, page_bytes)).unwrap();
        let device = file::open(&path, &OpenOptions::default()).unwrap();
        let config = stress_config(policy, writer, prefetch).page_bytes(page_bytes);
        crowd(device, config, seed, ops);
    }
}

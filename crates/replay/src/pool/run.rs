//! One replay: a load through a new pool, with one policy, writer and prefetcher.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};

use cenote_device::wrapper::{Stats, StatsDevice};
use cenote_device::{Device, Op};
use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_pool::{Cleaner, CleanerThread, Handle, Pool, PoolConfig, PoolStats, Writer};
use cenote_workload::page::PageOp;
use serde::Serialize;

use super::predict::Requests;
use super::target::Target;
use crate::control::Meter;
use crate::error::{ReplayError, Result, require};
use crate::load::{Load, Ops};

/// Accesses that a thread takes from the load at a time.
const CHUNK: usize = 64;

/// A writer without its batch size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriterKind {
    /// See [`Writer::Classical`].
    Classical,
    /// See [`Writer::Cleaner`].
    Cleaner,
    /// See [`Writer::Ace`].
    Ace,
    /// See [`Writer::AceBackground`].
    #[serde(rename = "ace-bg")]
    AceBackground,
}

impl WriterKind {
    /// All writers.
    pub const ALL: [Self; 4] = [Self::Classical, Self::Cleaner, Self::Ace, Self::AceBackground];

    /// The name in tables and options.
    pub fn name(self) -> &'static str {
        self.with(1).name()
    }

    /// Whether pages are written in the background.
    pub fn has_cleaner(self) -> bool {
        self.with(1).has_cleaner()
    }

    fn with(self, batch: usize) -> Writer {
        match self {
            Self::Classical => Writer::Classical,
            Self::Cleaner => Writer::Cleaner { batch },
            Self::Ace => Writer::Ace { batch },
            Self::AceBackground => Writer::AceBackground { batch },
        }
    }
}

impl fmt::Display for WriterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WriterKind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            format!("no writer is called '{name}'; there are classical, cleaner, ace, ace-bg")
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Combination {
    pub policy: PolicyKind,
    pub writer: WriterKind,
    pub prefetch: PrefetchKind,
}

/// The parameters that all combinations share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub page_bytes: usize,
    pub frames: usize,
    /// Pages that ACE writes at once.
    pub n_w: usize,
    /// Pages that are evicted at once for prefetched ones.
    pub n_e: usize,
    /// Pages that the cleaner writes at once, at most [`Setting::background_max`].
    pub cleaner_batch: usize,
    pub threads: usize,
    /// Accesses before time and counts begin.
    pub warm_up: u64,
}

impl Setting {
    /// Most pages to write at once in the background: half, since they cannot be evicted meanwhile.
    pub fn background_max(frames: usize) -> usize {
        (frames / 2).max(1)
    }

    fn writer(&self, kind: WriterKind) -> Writer {
        kind.with(match kind {
            WriterKind::Cleaner => self.cleaner_batch,
            WriterKind::AceBackground => self.n_w.min(Self::background_max(self.frames)),
            WriterKind::Classical | WriterKind::Ace => self.n_w,
        })
    }
}

/// The measurements of one replay, after the warm-up and before the final flush.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Time on the device's clock.
    pub seconds: f64,
    pub ops: u64,
    pub hits: u64,
    pub misses: u64,
    pub pages_written: u64,
    /// Pages of a full batch of writes.
    pub batch: usize,
    pub dirty_at_end: u64,
    pub prefetched: u64,
    pub prefetched_useful: u64,
    pub prefetched_wasted: u64,
    pub requests: Requests,
    pub device: Stats,
}

/// Replays `load` on a new pool.
pub(crate) fn run(
    target: &Target,
    load: &Load,
    combination: Combination,
    setting: &Setting,
    meter: &Meter<'_>,
) -> Result<Measured> {
    let config = pool_config(target, combination, setting);
    let device = target.device(load.pages * setting.page_bytes as u64)?;
    let device = Arc::new(StatsDevice::new(device));
    let pool = Pool::new(Arc::clone(&device) as Arc<dyn Device>, config)?;
    require(load.pages <= pool.pages(), || {
        let (name, pages) = (&target.name, pool.pages());
        format!("{name}: {load} needs {} pages, and there are {pages}", load.pages)
    })?;
    require(setting.warm_up < load.ops, || {
        let (warm_up, ops) = (setting.warm_up, load.ops);
        format!(
            "{load}: `warm_up` of {warm_up} accesses leaves nothing of {ops}: give more `ops` or \
             a shorter `warm_up`"
        )
    })?;
    let replay = Replay {
        pool: &pool,
        device: &device,
        source: Source::new(load.open()?, load.ops),
        failed: AtomicBool::new(false),
        is_simulated: target.is_simulated(),
        meter,
    };
    let measured = replay.measure(setting);
    // Also after an error, because a pool warns if it is dropped with dirty pages.
    let synced = pool.sync();
    let measured = measured?;
    synced?;
    Ok(measured)
}

fn pool_config(target: &Target, combination: Combination, setting: &Setting) -> PoolConfig {
    let k_r = target.model.channels(Op::Read, setting.page_bytes as u64) as usize;
    PoolConfig::ace(setting.page_bytes, setting.frames, &target.model)
        .policy(combination.policy)
        .writer(setting.writer(combination.writer))
        .prefetch(combination.prefetch)
        .evict_batch(setting.n_e)
        .read_depth(k_r)
}

/// The load, shared by the threads that replay it.
struct Source {
    state: Mutex<SourceState>,
}

struct SourceState {
    ops: Ops,
    left: u64,
}

impl Source {
    fn new(ops: Ops, left: u64) -> Self {
        Self { state: Mutex::new(SourceState { ops, left }) }
    }

    /// Takes the next accesses, at most `most`, into `chunk`.
    fn take(&self, most: u64, chunk: &mut Vec<PageOp>) -> Result<()> {
        chunk.clear();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let SourceState { ops, left } = &mut *state;
        let most = most.min(*left).min(CHUNK as u64);
        for op in ops.take(most as usize) {
            chunk.push(op?);
        }
        *left -= chunk.len() as u64;
        Ok(())
    }
}

struct Replay<'a> {
    pool: &'a Arc<Pool>,
    device: &'a StatsDevice,
    source: Source,
    /// Whether a thread failed, which ends the others.
    failed: AtomicBool,
    is_simulated: bool,
    meter: &'a Meter<'a>,
}

/// A snapshot of time and counts.
struct Snapshot {
    now_ns: u64,
    pool: PoolStats,
    device: Stats,
}

impl Replay<'_> {
    /// Runs the warm-up, then measures the rest between two snapshots.
    fn measure(&self, setting: &Setting) -> Result<Measured> {
        let has_cleaner = self.pool.config().writer.has_cleaner();
        let background = has_cleaner && !self.is_simulated;
        let thread = background.then(|| CleanerThread::spawn(self.pool)).transpose()?;
        let (ops, before, after) = if setting.threads == 1 {
            let inline = has_cleaner && self.is_simulated;
            let mut cleaner = inline.then(|| Cleaner::new(self.pool)).transpose()?;
            self.measure_alone(setting.warm_up, cleaner.as_mut())?
        } else {
            self.measure_together(setting)?
        };
        drop(thread);
        Ok(self.difference(ops, &before, &after))
    }

    fn measure_alone(
        &self,
        warm_up: u64,
        mut cleaner: Option<&mut Cleaner>,
    ) -> Result<(u64, Snapshot, Snapshot)> {
        let handle = self.pool.handle();
        self.drive(&handle, warm_up, cleaner.as_deref_mut())?;
        let before = self.snapshot();
        let ops = self.drive(&handle, u64::MAX, cleaner.as_deref_mut())?;
        if let Some(cleaner) = cleaner {
            cleaner.finish()?;
        }
        Ok((ops, before, self.snapshot()))
    }

    /// Runs the load on several threads, which keep their handles from the warm-up and wait at a
    /// barrier before and after each snapshot. None starts before all are spawned.
    fn measure_together(&self, setting: &Setting) -> Result<(u64, Snapshot, Snapshot)> {
        let barrier = Barrier::new(setting.threads + 1);
        let begin = OnceLock::new();
        let work = || if *begin.wait() { self.work(setting, &barrier) } else { Ok(0) };
        std::thread::scope(|scope| {
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work);
            let threads: std::io::Result<Vec<_>> = (0..setting.threads).map(spawn).collect();
            begin.get_or_init(|| threads.is_ok());
            let refused = |source| ReplayError::Threads { threads: setting.threads, source };
            let threads = threads.map_err(refused)?;
            barrier.wait();
            let before = self.snapshot();
            barrier.wait();
            barrier.wait();
            let after = self.snapshot();
            let mut ops = 0;
            for thread in threads {
                ops += thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok((ops, before, after))
        })
    }

    /// Work of one of several threads: its share of the warm-up, then accesses until the load ends.
    fn work(&self, setting: &Setting, barrier: &Barrier) -> Result<u64> {
        let handle = self.pool.handle();
        let drive = |most| {
            let done = self.drive(&handle, most, None);
            self.failed.fetch_or(done.is_err(), Ordering::Relaxed);
            done
        };
        let warmed = drive(setting.warm_up / setting.threads as u64);
        barrier.wait();
        barrier.wait();
        let done = warmed.and_then(|_| drive(u64::MAX));
        barrier.wait();
        done
    }

    /// Replays up to `most` accesses; returns how many.
    fn drive(&self, handle: &Handle, most: u64, mut cleaner: Option<&mut Cleaner>) -> Result<u64> {
        let mut chunk = Vec::with_capacity(CHUNK);
        let mut ops = 0;
        loop {
            self.source.take(most - ops, &mut chunk)?;
            if chunk.is_empty() || self.failed.load(Ordering::Relaxed) {
                return Ok(ops);
            }
            for op in &chunk {
                if let Some(cleaner) = &mut cleaner {
                    cleaner.step()?;
                }
                access(handle, *op)?;
            }
            ops += chunk.len() as u64;
            self.meter.advance(chunk.len() as u64);
            self.meter.control.check()?;
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            now_ns: self.device.clock().now_ns(),
            pool: self.pool.stats(),
            device: self.device.stats(),
        }
    }

    fn difference(&self, ops: u64, before: &Snapshot, after: &Snapshot) -> Measured {
        let count = |of: fn(&PoolStats) -> u64| of(&after.pool) - of(&before.pool);
        let sizes = after.pool.batch_sizes.iter().zip(&before.pool.batch_sizes);
        let prefetched = count(|s| s.prefetched);
        let misses = count(|s| s.misses);
        Measured {
            seconds: (after.now_ns - before.now_ns) as f64 / 1e9,
            ops,
            hits: count(|s| s.hits),
            misses,
            pages_written: count(|s| s.pages_written),
            batch: self.pool.config().writer.batch(),
            dirty_at_end: self.pool.dirty_pages() as u64,
            prefetched,
            prefetched_useful: count(|s| s.prefetched_useful),
            prefetched_wasted: count(|s| s.prefetched_wasted),
            requests: Requests {
                reads: misses + prefetched,
                read_batches: count(|s| s.read_batches),
                write_batches: sizes.map(|(after, before)| after - before).collect(),
            },
            device: after.device.since(&before.device),
        }
    }
}

/// One access; a write changes some bytes.
fn access(handle: &Handle, op: PageOp) -> Result<()> {
    if op.write {
        let mut page = handle.pin_mut(op.page)?;
        page[0] = page[0].wrapping_add(1);
    } else {
        std::hint::black_box(handle.pin(op.page)?[0]);
    }
    Ok(())
}

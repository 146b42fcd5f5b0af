//! The engine: one graph, one memory budget, worker threads, and statistics of its visits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::Clock;
use cenote_pool::Pool;
use cenote_store::{Adjacency, Direction, Graph, KeptRuns, UnpackedPages, VertexId};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::bands::{StateCounts, StateFile};
use crate::config::{EngineConfig, THREADS_MAX};
use crate::error::{EngineError, Result};
use crate::explain::{Counts, RunStats, StepLog, StepRecord};
use crate::frontier::ActiveSet;
use crate::memory_plan::{self, CopiesMax, MemoryPlan, Needs, RunMemory, decoded_bytes};
use crate::pages;
use crate::read_ahead::ReadAhead;
use crate::schedule::Schedule;
use crate::tasks::active_pages;

/// Runs visits over one graph within one memory budget.
#[derive(Debug)]
pub struct Engine {
    pub(crate) graph: Arc<Graph>,
    pub(crate) config: EngineConfig,
    pub(crate) memory: MemoryPlan,
    pub(crate) schedule: Schedule,
    /// None where the budget leaves no frame and the strategy needs none.
    pub(crate) pages: Option<Arc<Pool>>,
    pub(crate) unpacked: UnpackedPages,
    /// Whether full passes use these, too.
    pub(crate) unpacked_in_passes: bool,
    pub(crate) workers: ThreadPool,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) copies_max: CopiesMax,
    pub(crate) read_ahead: ReadAhead,
    /// Whether a visit or a look-up is running.
    busy: AtomicBool,
    totals: Mutex<Totals>,
    /// What all state files have read and written.
    pub(crate) state: Arc<StateCounts>,
    _kept_runs: KeptRuns,
}

/// Totals of a run.
#[derive(Debug, Default)]
struct Totals {
    stats: RunStats,
    steps: StepLog,
    /// The reads so far of visits that make one step together.
    group: Option<Counts>,
}

impl Engine {
    /// An engine over `graph` for an algorithm with these `needs`.
    ///
    /// # Errors
    /// [`EngineError::Budget`] if `config.memory_bytes` is too small; [`EngineError::Threads`] if
    /// the threads cannot be started.
    pub fn new(graph: Arc<Graph>, config: EngineConfig, needs: &Needs) -> Result<Self> {
        let (schedule, memory) = Self::plan(&graph, &config, needs)?;
        let pages = pages::pool(&graph, &schedule, &memory)?;
        let kept_runs = graph.keep_runs(memory.run_bytes);
        let unpacked = UnpackedPages::new(&graph, memory.unpacked_bytes);
        let unpacked_in_passes = memory_plan::unpacks_in_passes(&graph);
        let workers = ThreadPoolBuilder::new()
            .num_threads(config.threads)
            .thread_name(|i| format!("cenote-worker-{i}"))
            .build()
            .map_err(|e| EngineError::Threads { threads: config.threads, reason: e.to_string() })?;
        let clock = graph.device().clock();
        Ok(Self {
            graph,
            config,
            memory,
            schedule,
            pages,
            unpacked,
            unpacked_in_passes,
            workers,
            clock,
            copies_max: CopiesMax::default(),
            read_ahead: ReadAhead::default(),
            busy: AtomicBool::new(false),
            totals: Mutex::default(),
            state: Arc::default(),
            _kept_runs: kept_runs,
        })
    }

    /// How [`Engine::new`] would divide the budget; allocates nothing.
    ///
    /// # Errors
    /// As [`Engine::new`], except for threads that the system refuses.
    pub fn plan(
        graph: &Graph,
        config: &EngineConfig,
        needs: &Needs,
    ) -> Result<(Schedule, MemoryPlan)> {
        let threads = config.threads;
        if !(1..=THREADS_MAX).contains(&threads) {
            let reason = format!("1 to {THREADS_MAX} are possible");
            return Err(EngineError::Threads { threads, reason });
        }
        let decode_bytes = threads as u64 * decoded_bytes(graph);
        let fixed = Self::fixed_bytes(graph, config).saturating_add(needs.state_bytes);
        let left = config.memory_bytes.saturating_sub(fixed);
        let left = left_beside_queues(graph, left);
        // A device's own buffers may take more than in proportion, and not fit beside most of it.
        let has_buffers = graph.device().queue_bytes(1, graph.page_bytes()) > 0;
        let passes = config.passes && !has_buffers;
        let schedule = Schedule::new(&config.clone().passes(passes), graph.page_bytes(), left);
        let queues = graph.device().queue_bytes(schedule.depth_max, schedule.request_bytes);
        let buffer_bytes = schedule.buffer_bytes() + decode_bytes + queues as u64;
        let memory = MemoryPlan::divide(graph, config, needs, buffer_bytes)?;
        Ok((schedule, memory))
    }

    /// Bytes of the budget that a run takes beside state, buffers and cached pages: the index, a
    /// decoded page a worker where pages are packed, and pages of delta runs.
    pub fn fixed_bytes(graph: &Graph, config: &EngineConfig) -> u64 {
        let decode_bytes = config.threads as u64 * decoded_bytes(graph);
        let runs = RunMemory::least(graph, config.threads).bytes();
        graph.memory_bytes_without_runs() as u64 + decode_bytes + runs
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The configuration.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// How the memory budget is divided.
    pub fn memory(&self) -> &MemoryPlan {
        &self.memory
    }

    /// Request size and depth in use.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Fraction of the useful pages that the cache can hold, 0 to 1.
    pub fn cached_fraction(&self) -> f64 {
        let fraction = self.memory.cached_fraction(&self.graph);
        let pages = memory_plan::adjacency_pages(&self.graph).max(1) as f64;
        let all = memory_plan::useful_pages(&self.graph, &self.config) as f64;
        let frames = self.memory.cache_bytes / Pool::frame_bytes(self.graph.page_bytes());
        if all > pages { (frames as f64 / all).min(1.0) } else { fraction }
    }

    /// Runs `work` on a worker thread, so that Rayon's parallel iterators use this engine's
    /// workers.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let (mut work, mut made) = (Some(work), None);
        self.run_on_worker(&mut || made = work.take().map(|work| work()));
        made.expect("the work was done")
    }

    /// As [`Engine::install`]; compiled once, not for each closure.
    fn run_on_worker(&self, work: &mut (dyn FnMut() + Send)) {
        self.workers.install(work);
    }

    /// Totals so far.
    pub fn stats(&self) -> RunStats {
        let mut stats = self.totals().stats;
        let state = self.state.counts();
        stats.bytes_read += state.bytes_read;
        stats.read_requests += state.reads;
        stats.state_bytes_read = state.bytes_read;
        stats.bytes_written = state.bytes_written;
        stats.write_requests = state.writes;
        stats
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work`, whose visits, and transfers of state files, are recorded as one step.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn step<R, E>(
        &self,
        label: impl Into<String>,
        work: impl FnOnce() -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let (started_ns, before) = (self.clock.now_ns(), self.state.counts());
        self.totals().group = Some(Counts::default());
        let done = work();
        let mut counts = self.totals().group.take().unwrap_or_default();
        let state = self.state.counts();
        let lists = counts;
        counts.requests += state.reads - before.reads;
        counts.bytes += state.bytes_read - before.bytes_read;
        counts.bytes_written += state.bytes_written - before.bytes_written;
        if done.is_ok() {
            self.push_step(label.into(), None, counts, started_ns);
            let seconds = (self.clock.now_ns() - started_ns) as f64 / 1e9;
            self.totals().add(lists, seconds);
        }
        done
    }

    /// The steps so far; empty unless [`EngineConfig::explain`] is set.
    pub fn explain(&self) -> Vec<StepRecord> {
        self.totals().steps.records().to_vec()
    }

    /// How many pages hold lists of the `active` set; 0 if [`Engine::visit`] would refuse the set.
    pub fn active_pages(&self, direction: Direction, active: &ActiveSet<'_>) -> u64 {
        match (self.check_active_set(active), self.graph.adjacency(direction)) {
            (Ok(()), Some(adjacency)) => active_pages(adjacency, active),
            _ => 0,
        }
    }

    pub(crate) fn check_active_set(&self, active: &ActiveSet<'_>) -> Result<()> {
        let vertices = self.graph.vertices();
        match active.vertices() {
            Some(given) if given != vertices => Err(EngineError::ActiveSet { given, vertices }),
            _ => Ok(()),
        }
    }

    pub(crate) fn check_vertex(&self, vertex: VertexId) -> Result<()> {
        let vertices = self.graph.vertices();
        if (vertex as usize) < vertices {
            return Ok(());
        }
        Err(EngineError::Vertex { vertex, vertices })
    }

    /// A file for vertex state that does not fit in memory, in [`EngineConfig::state_dir`], with
    /// buffers of `buffer_bytes` in total for its large transfers.
    ///
    /// # Errors
    /// [`EngineError::Missing`] without a folder; it cannot be written to.
    pub fn state_file(&self, buffer_bytes: u64) -> Result<StateFile> {
        let folder = self.config.state_dir.as_deref();
        let folder = folder.ok_or(EngineError::Missing { what: "folder for vertex state" })?;
        StateFile::create(folder, buffer_bytes, Arc::clone(&self.state))
    }

    /// Returns [`EngineError::Interrupted`] if the run was cancelled.
    pub fn check_cancel(&self) -> Result<()> {
        if self.config.cancel.is_raised() { Err(EngineError::Interrupted) } else { Ok(()) }
    }

    /// Begins a visit or a look-up. One at a time: buffers and frames are planned for one.
    pub(crate) fn begin(&self) -> Result<BusyGuard<'_>> {
        self.check_cancel()?;
        if self.busy.swap(true, Ordering::Acquire) {
            return Err(EngineError::Busy);
        }
        self.schedule.correct();
        Ok(BusyGuard(&self.busy))
    }

    /// Whether the calling thread is one of the workers.
    pub(crate) fn on_worker(&self) -> bool {
        self.workers.current_thread_index().is_some()
    }

    pub(crate) fn adjacency(&self, direction: Direction) -> Result<&Adjacency> {
        self.graph.adjacency(direction).ok_or(EngineError::Missing { what: "in-edges" })
    }

    pub(crate) fn record(
        &self,
        label: String,
        frontier: Option<u64>,
        counts: Counts,
        started_ns: u64,
    ) {
        let seconds = (self.clock.now_ns() - started_ns) as f64 / 1e9;
        {
            let mut totals = self.totals();
            if let Some(group) = &mut totals.group {
                *group += counts;
                return;
            }
            totals.add(counts, seconds);
        }
        self.push_step(label, frontier, counts, started_ns);
    }

    fn push_step(&self, label: String, frontier: Option<u64>, counts: Counts, started_ns: u64) {
        if !self.config.explain {
            return;
        }
        let step = StepRecord {
            label,
            label_last: None,
            started_ns,
            frontier,
            pages_cached: counts.pages_cached,
            pages_read: counts.pages_read,
            pages_gap: counts.pages_fetched - counts.pages_read,
            requests: counts.requests,
            bytes: counts.bytes,
            bytes_written: counts.bytes_written,
            seconds_predicted: self.schedule.seconds_predicted(counts.requests, counts.bytes),
            seconds: (self.clock.now_ns() - started_ns) as f64 / 1e9,
        };
        self.totals().steps.push(step, self.config.steps_max);
    }
}

impl Totals {
    fn add(&mut self, counts: Counts, seconds: f64) {
        self.stats.bytes_read += counts.bytes;
        self.stats.read_requests += counts.requests;
        self.stats.pages_cached += counts.pages_cached;
        self.stats.steps += 1;
        self.stats.visit_seconds += seconds;
    }
}

/// Keeps the engine busy until it is dropped.
pub(crate) struct BusyGuard<'e>(&'e AtomicBool);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// The part of `bytes` that remains for the engine's buffers if the device keeps buffers of its
/// own. Both grow with the requests, so one large request gives the proportion.
fn left_beside_queues(graph: &Graph, bytes: u64) -> u64 {
    const REQUEST_BYTES: u64 = 256 << 10;
    let queue_bytes = graph.device().queue_bytes(1, REQUEST_BYTES as usize) as u64;
    (u128::from(bytes) * u128::from(REQUEST_BYTES) / u128::from(REQUEST_BYTES + queue_bytes)) as u64
}

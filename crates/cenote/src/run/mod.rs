//! Runs of algorithms on a graph.
//!
//! - [`Run`]: the builder that all algorithms share
//! - [`Algorithm`]: parameters, result and summary of an algorithm
//! - [`Answer`]: the result of a run, with the user's ids
//! - [`Stats`], [`Report`]: statistics of a run
//! - [`Estimate`]: estimated memory, reads and time
//! - [`Recording`], [`Bounds`]: what a run records for its report, and what bounded it
//! - `page`, `picture`: the report; [`degrees_picture`]: one of a graph's degrees

mod answer;
mod bound;
mod estimate;
mod page;
mod picture;
mod recording;
mod stats;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::threads::cores;
use cenote_engine::{EngineConfig, Strategy, THREADS_MAX};
use cenote_import::workspace::folder_of;
use cenote_store::{Ids, VertexId};
use serde::Serialize;

pub use self::answer::Answer;
pub use self::bound::{Bound, Bounds};
pub use self::estimate::Estimate;
pub use self::picture::degrees as degrees_picture;
pub use self::recording::{LargerBudget, LatencyCount, ProfiledDrive, Recording, TimedStep};
use self::recording::{Recorder, STEPS_MAX};
pub(crate) use self::stats::Stopwatch;
pub use self::stats::{Report, Stats};
use crate::error::{Error, Result};
use crate::graph::{Graph, StoredGraph};
use crate::keys::{Keys, PairKeys};
use crate::memory::{MemorySize, budget_bytes, page_bytes};
use crate::output;
pub use crate::output::table::{Column, Listed};
pub use crate::watch::Progress;
use crate::watch::Watch;
pub use cenote_algo::Bands;

/// The parameters, result and summary of an algorithm.
pub trait Algorithm: fmt::Debug + Sized {
    /// Its name in reports.
    const NAME: &'static str;
    /// The parameter without which its result has no values per vertex, if there is one.
    const PER_VERTEX: Option<&'static str> = None;
    /// Its parameters, with ids resolved to vertices.
    type Config: fmt::Debug;
    /// Its result.
    type Output: fmt::Debug;
    /// A summary of its result, with the user's ids.
    type Summary: Serialize + fmt::Debug;

    /// Resolves ids and checks parameters.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`], [`Error::Parameter`].
    fn config(&self, job: &Job<'_>) -> Result<Self::Config>;

    /// Estimates a run.
    ///
    /// # Errors
    /// As [`Algorithm::run`].
    fn estimate(config: &Self::Config, job: &Job<'_>) -> Result<cenote_algo::Estimate>;

    /// Runs the algorithm.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`], [`Error::Cancelled`], [`Error::Corrupt`], [`Error::Device`].
    fn run(config: &mut Self::Config, job: &Job<'_>) -> Result<Self::Output>;

    /// Checks the result with a serial algorithm.
    ///
    /// # Errors
    /// [`Error::Wrong`].
    fn verify(config: &Self::Config, graph: &StoredGraph, output: &Self::Output) -> Result<()>;

    /// Statistics of the engine.
    fn engine_run(output: &Self::Output) -> &cenote_algo::Run;

    /// Iterations, rounds or steps, as the algorithm counts them.
    fn iterations(output: &Self::Output) -> u64 {
        Self::engine_run(output).stats.steps
    }

    /// A summary of the result.
    ///
    /// # Errors
    /// Ids cannot be read.
    fn summary(config: &Self::Config, ids: &Ids, output: &Self::Output) -> Result<Self::Summary>;

    /// The values of all vertices; empty if there are none, or if the run has written its output.
    fn columns(output: &Self::Output) -> Vec<Column<'_>>;

    /// Gives the memory of a result that lies in a file back to the system, until it is used again.
    fn release(_: &Self::Output) {}

    /// The rows of the answer, if it has not one for each vertex.
    fn rows(_: &Self::Output) -> Option<Listed<'_>> {
        None
    }

    /// What a Parquet file says about the answer beside its rows: keys with values. `file`
    /// distinguishes the file of the graph from all others, where that is possible.
    fn metadata(
        _: &Self::Output,
        _: &StoredGraph,
        _file: Option<&str>,
    ) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Prepares for writing the output to `path`, before the run.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the parameters exclude an output, [`Error::InvalidInput`] if the
    /// extension of the path is not a format.
    fn prepare_output(&mut self, path: &Path, graph: &StoredGraph) -> Result<()> {
        output::table::check(path, graph)
    }

    /// Files that the parameters name.
    fn inputs(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// An algorithm on a graph with its options; made by [`Graph::bfs`] and the like.
#[derive(Debug)]
pub struct Run<'g, A> {
    graph: &'g Graph,
    pub(crate) algorithm: A,
    memory: Option<MemorySize>,
    threads: usize,
    strategy: Strategy,
    depth: Option<usize>,
    cache: Option<MemorySize>,
    state_dir: Option<PathBuf>,
    explain: bool,
    record: bool,
    verify: bool,
    out: Option<PathBuf>,
    report: Option<PathBuf>,
    command: Option<String>,
    watch: Watch,
    /// The first parameter that could not be parsed.
    failed: Option<Error>,
}

/// The inputs of an algorithm for one run.
#[derive(Debug)]
pub struct Job<'r> {
    pub(crate) graph: &'r Arc<StoredGraph>,
    pub(crate) engine: EngineConfig,
    pub(crate) out: Option<&'r Path>,
    pub(crate) inputs: Vec<PathBuf>,
    pub(crate) verify: bool,
    /// Distinguishes the file of the graph from all others, where that is possible.
    pub(crate) file: Option<String>,
}

impl Job<'_> {
    pub(crate) fn vertices(&self, keys: &Keys) -> Result<Vec<VertexId>> {
        keys.vertices(self.graph, self.engine.memory_bytes)
    }

    pub(crate) fn pairs(&self, keys: &PairKeys) -> Result<Vec<(VertexId, VertexId)>> {
        keys.pairs(self.graph, self.engine.memory_bytes)
    }
}

impl<'g, A: Algorithm> Run<'g, A> {
    pub(crate) fn new(graph: &'g Graph, algorithm: A) -> Self {
        Self {
            graph,
            algorithm,
            memory: None,
            threads: cores(),
            strategy: Strategy::Auto,
            depth: None,
            cache: None,
            state_dir: None,
            explain: false,
            record: false,
            verify: false,
            out: None,
            report: None,
            command: None,
            watch: Watch::default(),
            failed: None,
        }
    }

    /// Memory budget of the run: bytes, or text such as `256MiB`, or `10%` of the graph's pages
    /// [default: half of the machine's memory].
    pub fn memory(mut self, size: impl TryInto<MemorySize, Error: Into<Error>>) -> Self {
        self.memory = self.size(size);
        self
    }

    /// The most memory for cached pages, within the budget [default: what the budget leaves].
    pub fn cache(mut self, size: impl TryInto<MemorySize, Error: Into<Error>>) -> Self {
        self.cache = self.size(size);
        self
    }

    /// The folder for a file without a name with the state of vertices, where it does not fit in
    /// memory [default: that of the graph; none for one on a block device]. Only algorithms that
    /// can do so put their state in a file: see `docs/algorithms.md`.
    pub fn state_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.state_dir = Some(folder.into());
        self
    }

    fn size(&mut self, size: impl TryInto<MemorySize, Error: Into<Error>>) -> Option<MemorySize> {
        match size.try_into() {
            Ok(size) => Some(size),
            Err(error) => {
                self.failed.get_or_insert(error.into());
                None
            }
        }
    }

    /// Worker threads, 1 to 512 [default: one per core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// How pages are read [default: planned by the drive's profile].
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Requests in flight over all threads [default: from the drive's profile].
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }

    /// Keeps a record of each step: [`Stats::steps`].
    pub fn explain(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }

    /// Checks the result with a serial algorithm; takes memory beyond the budget, and time.
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Writes the answer to a file. A path that cannot be written to is refused before the run.
    pub fn out(mut self, path: impl Into<PathBuf>) -> Self {
        self.out = Some(path.into());
        self
    }

    /// Records what [`Answer::write_report`] shows of a run beside its statistics: samples of the
    /// process, steps, the time of reads, estimates. A thread takes the samples; the record takes
    /// less than a megabyte, beside the budget [default: no].
    pub fn record(mut self, record: bool) -> Self {
        self.record = record;
        self
    }

    /// Records the run, and writes its report to a file that ends in `.html`; see
    /// [`Answer::write_report`]. A path that cannot be written to is refused before the run.
    pub fn report(mut self, path: impl Into<PathBuf>) -> Self {
        self.report = Some(path.into());
        self
    }

    /// The command or the call that this run is, as its report quotes it [default: none].
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// Calls `progress` several times a second while the run reads.
    pub fn progress(mut self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watch.set_progress(progress);
        self
    }

    /// Ends the run with [`Error::Cancelled`] when `cancel` returns true. All threads call it, many
    /// times a second.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// Estimates the run.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn estimate(mut self) -> Result<Estimate> {
        self.prepare()?;
        let mut job = self.job()?;
        let config = self.algorithm.config(&job)?;
        estimate::<A>(&config, &mut job)
    }

    /// Runs the algorithm.
    ///
    /// # Errors
    /// A wrong parameter or id, a too small budget, a damaged graph, a failed device, cancellation,
    /// or an output that cannot be written.
    pub fn run(mut self) -> Result<Answer<A>> {
        self.prepare()?;
        let mut job = self.job()?;
        let mut config = self.algorithm.config(&job)?;
        if self.watch.has_progress() {
            let estimate = A::estimate(&config, &job)?;
            // Progress counts what is read of the graph.
            let of_state = estimate.bands.map_or(0, |bands| bands.state_bytes_read);
            let expected = estimate.bytes_read - of_state;
            job.engine.cancel = self.watch.for_run(self.graph.budgets.clone(), expected);
        }
        let recorder = self.recorder(&config, &mut job)?;
        let stopwatch = Stopwatch::start();
        let output = A::run(&mut config, &job)?;
        let mut stats = stopwatch.stop::<A>(&job, &output, self.explain);
        let steps = || A::engine_run(&output).steps.clone();
        let recording =
            recorder.map(|recorder| recorder.stop(&stats, steps(), self.graph.profile()));
        if self.verify {
            A::verify(&config, self.graph.stored(), &output)?;
            stats.verified = true;
        }
        let inputs = job.inputs;
        let graph = Arc::clone(self.graph.stored());
        let (watch, file) = (self.watch, self.graph.file_identity.clone());
        let command = self.command;
        let profile = recording.is_some().then(|| self.graph.profile().model());
        let answer: Answer<A> = Answer {
            graph,
            config,
            output,
            stats,
            watch,
            inputs,
            file,
            path: self.graph.path().to_owned(),
            command,
            recording,
            model: profile,
        };
        if let Some(path) = &self.out {
            answer.write_prepared(path)?;
        }
        if let Some(path) = &self.report {
            answer.write_report(path)?;
        }
        Ok(answer)
    }

    fn prepare(&mut self) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.threads > THREADS_MAX {
            let reason = format!("is {}: 1 to {THREADS_MAX} are possible", self.threads);
            return Err(Error::parameter("threads", reason));
        }
        if let Some(path) = &self.out {
            self.algorithm.prepare_output(path, self.graph.stored())?;
            output::check(path, &inputs(self.graph, &self.algorithm))?;
        }
        if let Some(path) = &self.report {
            let mut kept = inputs(self.graph, &self.algorithm);
            kept.extend(self.out.clone());
            crate::report::check(path, &kept)?;
        }
        Ok(())
    }

    /// Whether the run is recorded.
    fn records(&self) -> bool {
        self.record || self.report.is_some()
    }

    /// The recorder of the run, if it is recorded.
    fn recorder(&self, config: &A::Config, job: &mut Job<'_>) -> Result<Option<Recorder>> {
        if !self.records() {
            return Ok(None);
        }
        let estimate = estimate::<A>(config, job)?;
        let larger = larger_budgets::<A>(config, job, estimate.plan.bytes_read);
        let started_ns = self.graph.stored().device().clock().now_ns();
        Recorder::start(&self.graph.budgets, started_ns, (estimate, larger)).map(Some)
    }

    fn job(&self) -> Result<Job<'_>> {
        let graph = self.graph.stored();
        let page_bytes = page_bytes(graph);
        self.graph.allow_depth(self.depth.unwrap_or(0));
        let memory_bytes = budget_bytes(self.memory, graph)?;
        let engine = EngineConfig::with_memory(memory_bytes)
            .threads(self.threads)
            .strategy(self.strategy)
            .profile(self.graph.profile().clone())
            .depth(self.depth)
            .state_dir(self.state_dir.clone().or_else(|| folder_of_file(self.graph.path())))
            .cache_bytes(self.cache.map(|size| size.bytes_of(page_bytes)))
            .explain(self.explain || self.records())
            .steps_max(if self.explain { usize::MAX } else { STEPS_MAX })
            .cancel(self.watch.for_engine());
        let inputs = inputs(self.graph, &self.algorithm);
        let file = self.graph.file_identity.clone();
        Ok(Job { graph, engine, out: self.out.as_deref(), inputs, verify: self.verify, file })
    }
}

/// Says that a result has no values per vertex, and what would give them.
pub(crate) fn no_values<A: Algorithm>() -> String {
    let parameter = A::PER_VERTEX.map(|name| format!(" without `{name}`")).unwrap_or_default();
    format!("{} has no value per vertex{parameter}", A::NAME)
}

/// The folder of a graph in files.
fn folder_of_file(graph: &Path) -> Option<PathBuf> {
    let is_file = graph.metadata().is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| folder_of(graph))
}

/// Files that the output of a run must not replace.
fn inputs<A: Algorithm>(graph: &Graph, algorithm: &A) -> Vec<PathBuf> {
    let mut inputs = algorithm.inputs();
    inputs.push(graph.path().to_owned());
    inputs
}

/// Estimates a run.
fn estimate<A: Algorithm>(config: &A::Config, job: &mut Job<'_>) -> Result<Estimate> {
    let plan = A::estimate(config, job)?;
    // Too little memory is an error that names the least.
    let own = std::mem::replace(&mut job.engine.memory_bytes, 1);
    let refused = A::estimate(config, job).err();
    job.engine.memory_bytes = own;
    let least = match refused {
        Some(Error::MemoryBudget { needed, .. }) => needed,
        // No smaller one than that is known to do.
        _ => own,
    };
    Ok(Estimate::new(A::NAME, &job.engine, plan, least))
}

/// The most doublings of a budget that are estimated.
const DOUBLINGS_MAX: u32 = 12;

/// Estimates of the reads with budgets of 2, 4, 8.. times the own, up to the one that reads least.
fn larger_budgets<A: Algorithm>(
    config: &A::Config,
    job: &mut Job<'_>,
    bytes_read: u64,
) -> Vec<LargerBudget> {
    let own = job.engine.memory_bytes;
    let mut budgets = Vec::new();
    for doubling in 1..=DOUBLINGS_MAX {
        let Some(memory_bytes) = own.checked_shl(doubling).filter(|bytes| *bytes > own) else {
            break;
        };
        job.engine.memory_bytes = memory_bytes;
        // Whatever cannot be estimated is not suggested.
        let Ok(estimate) = A::estimate(config, job) else { break };
        budgets.push(LargerBudget { memory_bytes, bytes_read: estimate.bytes_read });
    }
    job.engine.memory_bytes = own;
    let least = budgets.iter().map(|budget| budget.bytes_read).min().unwrap_or(bytes_read);
    let enough = budgets.iter().position(|budget| budget.bytes_read == least);
    let useful = if least < bytes_read { enough.map_or(0, |place| place + 1) } else { 0 };
    budgets.truncate(useful);
    budgets
}

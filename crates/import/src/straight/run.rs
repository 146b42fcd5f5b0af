//! One pass over edges that are not imported, whatever is found of their vertices.

use std::sync::atomic::Ordering;

use cenote_device::clock::RealClock;

use super::answer::VertexIds;
use super::integers::{IntegerVisitor, MetIds, Numbered};
use super::names::{NameVisitor, Named};
use super::state::State;
use crate::blocks::{self, Meter, Pass, PassError, PassResult, pass_memory};
use crate::budget::Budget;
use crate::config::{IdKind, ImportConfig, Input};
use crate::driver::{block_bytes, check_options, seconds_since};
use crate::error::{ImportError, Result};
use crate::ids::kind::id_kind;
use crate::ids::strings::{Dictionary, StringMap};
use crate::input::{self, Unchanged};
use crate::once::{Copies, OpenCopies};
use crate::report::{Phase, Progress};
use crate::rows::STREAM_MEMORY;
use crate::workspace::SpillOnly;

/// What is found of the vertices of edges.
pub(super) trait Finding {
    type State: State;
    /// Values by ascending id.
    type Found;
    /// Bytes of a name beside those of the dictionary, while names are sorted.
    const NAME_BYTES: usize;

    /// The ids in ascending order, and what was found.
    fn of_integers(
        numbered: Numbered<'_, Self::State>,
        threads: usize,
    ) -> Result<(VertexIds, Self::Found)>;

    /// As [`Finding::of_integers`].
    fn of_names(
        names: StringMap<'_>,
        state: &Self::State,
        budget: &Budget,
    ) -> Result<(VertexIds, Self::Found)>;
}

/// What a pass has found, with its statistics.
#[derive(Debug)]
pub(super) struct Answer<T> {
    pub ids: VertexIds,
    pub found: T,
    pub stats: PassStats,
}

/// Statistics of a pass over edges that are not imported.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PassStats {
    /// Edges of the inputs, with repeated ones and self-loops.
    pub input_edges: u64,
    /// Bytes read from the inputs, before decompression.
    pub input_bytes: u64,
    /// Bytes of the inputs after decompression.
    pub unpacked_bytes: u64,
    /// Largest memory held, as counted by the budget, in bytes.
    pub peak_memory_bytes: u64,
    /// Seconds of reading and parsing, and of what is done with each edge.
    pub seconds_read: f64,
    /// Seconds of all.
    pub seconds: f64,
    /// Number of worker threads.
    pub threads: usize,
}

/// Finds something in one pass. `config` is that of an import of the same edges. Of inputs without
/// an edge or a vertex, files as well as edges in memory, it is nothing.
pub(super) fn find<F: Finding>(
    inputs: &[Input<'_>],
    config: &ImportConfig,
    progress: &dyn Progress,
) -> Result<Answer<F::Found>> {
    let started = RealClock::default();
    check_options(inputs, config)?;
    let ids = id_kind(inputs, config.ids, config.memory_bytes);
    let config = &ImportConfig { ids, ..config.clone() };
    let workspace = SpillOnly(config.temp_dir.clone().unwrap_or_else(std::env::temp_dir));
    let copies = Copies::new(inputs, &workspace, config)?;
    let (budget, meter) = (Budget::new(config.memory_bytes), Meter::default());
    let run = Run {
        inputs,
        config,
        progress,
        budget: &budget,
        copies: &copies,
        meter: &meter,
        unchanged: Unchanged::new(inputs),
    };
    let rows = inputs.iter().filter(|input| !matches!(input, Input::File(_))).count();
    let bytes = copies.memory() + rows * STREAM_MEMORY;
    let _memory = budget.hold(bytes, "copies of inputs that can be read only once")?;
    let mut answer = run.all::<F>(&started)?;
    answer.stats.peak_memory_bytes = budget.peak() as u64;
    answer.stats.seconds = seconds_since(&started);
    Ok(answer)
}

struct Run<'a> {
    inputs: &'a [Input<'a>],
    config: &'a ImportConfig,
    progress: &'a dyn Progress,
    budget: &'a Budget,
    copies: &'a dyn OpenCopies,
    meter: &'a Meter,
    unchanged: Unchanged<'a>,
}

impl Run<'_> {
    fn all<F: Finding>(&self, started: &RealClock) -> Result<Answer<F::Found>> {
        match self.config.ids {
            IdKind::String => self.named::<F>(false, started),
            IdKind::Integer => self.integers::<F>(false, started).map_err(PassError::into_import),
            IdKind::Auto => match self.integers::<F>(true, started) {
                Err(PassError::NotInteger) => self.named::<F>(true, started),
                Err(PassError::Import(error)) => Err(error),
                Ok(answer) => Ok(answer),
            },
        }
    }

    fn integers<F: Finding>(
        &self,
        auto: bool,
        started: &RealClock,
    ) -> std::result::Result<Answer<F::Found>, PassError> {
        let met: MetIds<'_, F::State> =
            MetIds::new(self.budget).map_err(|error| self.before_pass(error))?;
        self.check_pass()?;
        let loops = self.config.keep_self_loops;
        let worker = || Ok(IntegerVisitor::new(&met, loops, auto));
        let done = blocks::run(&self.pass(false), worker).map_err(|error| match error {
            PassError::Import(error) => self.explain(error, met.count(), 0).into(),
            other => other,
        })?;
        let stats = self.read(done, started)?;
        let count = met.count();
        let found = F::of_integers(met.finish(), self.config.workers());
        let (ids, found) = found.map_err(|error| self.explain(error, count, 0))?;
        Ok(Answer { ids, found, stats })
    }

    fn named<F: Finding>(&self, again: bool, started: &RealClock) -> Result<Answer<F::Found>> {
        let names = Dictionary::new(self.budget).map_err(|error| self.before_pass(error))?;
        let named: Named<'_, F::State> =
            Named::new(self.budget).map_err(|error| self.before_pass(error))?;
        self.check_pass()?;
        let loops = self.config.keep_self_loops;
        let worker = || Ok(NameVisitor::new(&names, &named, loops));
        let done = blocks::run(&self.pass(again), worker);
        let done =
            done.map_err(|error| self.explain(error.into_import(), names.count(), F::NAME_BYTES))?;
        let stats = self.read(done, started)?;
        let (count, (state, memory)) = (names.count(), named.finish());
        let (ids, found) = names
            .finish(self.config.workers())
            .and_then(|names| F::of_names(names, &state, self.budget))
            .map_err(|error| self.explain(error, count, 0))?;
        drop(memory);
        Ok(Answer { ids, found, stats })
    }

    fn pass(&self, again: bool) -> Pass<'_> {
        self.progress.begin(Phase::Read, input::total_bytes(self.inputs, None));
        let workers = self.config.workers();
        Pass {
            inputs: self.inputs,
            budget: self.budget,
            progress: self.progress,
            workers,
            block_bytes: block_bytes(self.budget.limit(), workers),
            directed: self.config.directed,
            weights: None,
            copies: self.copies,
            again,
            edges_only: false,
            meter: self.meter,
        }
    }

    fn read(&self, done: PassResult<u64>, started: &RealClock) -> Result<PassStats> {
        self.unchanged.check()?;
        self.progress.begin(Phase::Order, None);
        Ok(PassStats {
            input_edges: done.outputs.iter().sum(),
            input_bytes: done.input_bytes,
            unpacked_bytes: done.unpacked_bytes,
            seconds_read: seconds_since(started),
            threads: self.config.workers(),
            ..PassStats::default()
        })
    }

    /// Refuses a budget that has no room for a pass, with one that has.
    fn check_pass(&self) -> Result<()> {
        let (given, used) = (self.budget.limit(), self.budget.used());
        if used + self.pass_bytes(given) <= given {
            return Ok(());
        }
        let needed = self.beside_pass(used);
        Err(ImportError::Memory { input: None, given, needed, what: "reading the input" })
    }

    /// Adds the memory of the pass to an error of what is needed before it.
    fn before_pass(&self, error: ImportError) -> ImportError {
        match error {
            ImportError::Memory { input, given, needed, what } => {
                ImportError::Memory { input, given, needed: self.beside_pass(needed), what }
            }
            other => other,
        }
    }

    /// A budget of whole MiB that holds `bytes` beside a pass and the window of a packed file.
    fn beside_pass(&self, bytes: usize) -> usize {
        let window = self.meter.window.load(Ordering::Relaxed);
        let bytes = bytes.saturating_add(window.max(input::largest_window(self.inputs)));
        let mut limit = bytes.max(1).next_multiple_of(1 << 20);
        while bytes + self.pass_bytes(limit) > limit {
            limit += 1 << 20;
        }
        limit
    }

    fn pass_bytes(&self, limit: usize) -> usize {
        let workers = self.config.workers();
        pass_memory(workers, block_bytes(limit, workers))
    }

    /// Adds to an error of missing memory how far the vertices came, and how much would do if each
    /// took so many bytes more in the end.
    fn explain(&self, error: ImportError, vertices: u64, more_bytes: usize) -> ImportError {
        let ImportError::Memory { input, given, needed, what } = error else { return error };
        let window = self.meter.window.load(Ordering::Relaxed);
        if vertices == 0 || input.is_some() {
            // The blocks beside a window grow with the budget.
            let others = needed.saturating_sub(self.pass_bytes(given) + window);
            let needed = if window > 0 { self.beside_pass(others) } else { needed };
            return ImportError::Memory { input, given, needed, what };
        }
        let [read, unpacked, parsed] = self.meter.read();
        let total = input::total_bytes(self.inputs, None).map(|bytes| bytes as f64);
        // What was read and not yet parsed gave no ids.
        let done = total.map(|total| (read / total.max(1.0)) * (parsed / unpacked.max(1.0)));
        let part = match done {
            Some(done) => format!("{:.0}% of the input", (done * 100.0).clamp(1.0, 100.0)),
            None => "the input so far".to_owned(),
        };
        // Ids may repeat more often later on, so this is at most about the need.
        let times = done.map_or(2.0, |done| 1.1 / done.clamp(0.001, 1.0));
        let growing = needed.saturating_sub(window) + vertices as usize * more_bytes;
        let needed = window + ((growing as f64 * times) as usize).next_multiple_of(1 << 20);
        ImportError::Straight { given, needed, vertices, part, what }
    }
}

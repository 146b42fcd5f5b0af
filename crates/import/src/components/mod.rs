//! Weakly connected components of edges that are not imported: one pass over the inputs, nothing on
//! disk.
//!
//! **Returns** for every vertex the one with the smallest id in its component, as the algorithm of
//! stored graphs does.
//!
//! **Trick.** Workers parse blocks; each id gets a number when it is met first, from a concurrent
//! hash table ([`table`]) or the dictionary of names, and the two numbers of an edge are joined in
//! a concurrent union-find ([`forest`]). Edges are not kept. At the end ids are sorted, and the
//! first id of each set labels it; so the answer does not depend on threads, or on the order of the
//! edges.
//!
//! **Memory.** 19 to 24 bytes for each integer id, and 4 MiB while the table grows; for a name its
//! text and about 50 bytes.
//!
//! - [`answer`]: sorted ids and their labels
//! - [`integers`], [`names`]: what workers do with ids of either kind

mod answer;
mod forest;
mod integers;
mod names;
mod table;

use std::path::PathBuf;

use cenote_device::clock::RealClock;
use cenote_device::setters;
use cenote_store::VertexId;

pub use self::answer::VertexIds;
use self::answer::{Labelled, of_integers, of_names};
use self::integers::{IntegerJoiner, Joined};
use self::names::{NameJoiner, NamedSets};
use crate::blocks::{self, Meter, Pass, PassError, PassResult};
use crate::budget::Budget;
use crate::config::{IdKind, ImportConfig, Input};
use crate::driver::{block_bytes, check_options, names as names_of, seconds_since};
use crate::error::{ImportError, Result};
use crate::ids::strings::Dictionary;
use crate::input::{self, Unchanged};
use crate::once::{Copies, OpenCopies};
use crate::report::{Phase, Progress};
use crate::rows::STREAM_MEMORY;
use crate::workspace::SpillOnly;

/// Bytes of a name beside those of the dictionary, while names are sorted and labelled.
const LABEL_BYTES: usize = 24;

/// Options for the components of edges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ComponentsConfig {
    /// Kind of the ids.
    pub ids: IdKind,
    /// Memory budget in bytes, of reading and of the answer.
    pub memory_bytes: usize,
    /// Worker threads, at most [`THREADS_MAX`](crate::THREADS_MAX); 0: one per core.
    pub threads: usize,
    /// Folder for the copy of an input that can be read only once, while its ids may turn out to be
    /// strings; `None`: that of the system.
    pub temp_dir: Option<PathBuf>,
}

impl Default for ComponentsConfig {
    fn default() -> Self {
        Self { ids: IdKind::Auto, memory_bytes: 1 << 30, threads: 0, temp_dir: None }
    }
}

impl ComponentsConfig {
    setters! {
        ids: IdKind,
        memory_bytes: usize,
        threads: usize,
        temp_dir: Option<PathBuf>,
    }
}

/// The weakly connected components of edges.
#[derive(Debug)]
#[non_exhaustive]
pub struct Components {
    /// The ids of the vertices, in ascending order.
    pub ids: VertexIds,
    /// For each vertex the place in `ids` of the smallest id in its component.
    pub labels: Vec<VertexId>,
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The place of the smallest id in the largest; of components of one size that of the smallest
    /// id.
    pub largest_label: VertexId,
    /// Edges of the inputs, with repeated ones and self-loops.
    pub input_edges: u64,
    /// Bytes read from the inputs, before decompression.
    pub input_bytes: u64,
    /// Bytes of the inputs after decompression.
    pub unpacked_bytes: u64,
    /// Largest memory held, as counted by the budget, in bytes.
    pub peak_memory_bytes: u64,
    /// Seconds of reading, parsing and joining.
    pub seconds_read: f64,
    /// Seconds of all.
    pub seconds: f64,
    /// Number of worker threads.
    pub threads: usize,
}

/// Computes the weakly connected components of edges in one pass. Inputs of vertices may add some
/// without edges; a self-loop is an edge.
///
/// # Errors
/// As [`import_edges`](crate::import_edges) for the inputs and the options;
/// [`ImportError::Straight`] if the vertices do not fit the memory.
pub fn components(
    inputs: &[Input<'_>],
    config: &ComponentsConfig,
    progress: &dyn Progress,
) -> Result<Components> {
    let started = RealClock::default();
    let ComponentsConfig { ids, memory_bytes, threads, .. } = *config;
    let as_import = &ImportConfig::default().ids(ids).memory_bytes(memory_bytes).threads(threads);
    check_options(inputs, as_import)?;
    let workspace = SpillOnly(config.temp_dir.clone().unwrap_or_else(std::env::temp_dir));
    let copies = Copies::new(inputs, &workspace, as_import)?;
    let (budget, meter) = (Budget::new(memory_bytes), Meter::default());
    let run = Run {
        inputs,
        config: as_import,
        progress,
        budget: &budget,
        copies: &copies,
        meter: &meter,
        unchanged: Unchanged::new(inputs),
    };
    let rows = inputs.iter().filter(|input| !matches!(input, Input::File(_))).count();
    let bytes = copies.memory() + rows * STREAM_MEMORY;
    let _memory = budget.hold(bytes, "copies of inputs that can be read only once")?;
    let mut components = run.all(&started)?;
    components.peak_memory_bytes = budget.peak() as u64;
    components.seconds = seconds_since(&started);
    Ok(components)
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

/// What is left of a pass.
struct Read {
    edges: u64,
    input_bytes: u64,
    unpacked_bytes: u64,
    seconds: f64,
}

impl Run<'_> {
    fn all(&self, started: &RealClock) -> Result<Components> {
        match self.config.ids {
            IdKind::String => self.named(false, started),
            IdKind::Integer => self.integers(false, started).map_err(PassError::into_import),
            IdKind::Auto => match self.integers(true, started) {
                Err(PassError::NotInteger) => self.named(true, started),
                Err(PassError::Import(error)) => Err(error),
                Ok(components) => Ok(components),
            },
        }
    }

    fn integers(
        &self,
        auto: bool,
        started: &RealClock,
    ) -> std::result::Result<Components, PassError> {
        let joined = Joined::new(self.budget)?;
        let done = blocks::run(&self.pass(false), || Ok(IntegerJoiner::new(&joined, auto)));
        let done = done.map_err(|error| match error {
            PassError::Import(error) => self.explain(error, joined.count(), 0).into(),
            other => other,
        })?;
        let read = self.read(done, started)?;
        let labelled = of_integers(joined.finish(), self.config.workers())?;
        Ok(self.answer(labelled, &read)?)
    }

    fn named(&self, again: bool, started: &RealClock) -> Result<Components> {
        let (names, sets) = (Dictionary::new(self.budget)?, NamedSets::new(self.budget)?);
        let done = blocks::run(&self.pass(again), || Ok(NameJoiner::new(&names, &sets)));
        let done =
            done.map_err(|error| self.explain(error.into_import(), names.count(), LABEL_BYTES))?;
        let read = self.read(done, started)?;
        let (count, (forest, memory)) = (names.count(), sets.finish());
        let labelled = names
            .finish(self.config.workers())
            .and_then(|names| of_names(names, &forest, self.budget))
            .map_err(|error| self.explain(error, count, 0))?;
        drop(memory);
        self.answer(labelled, &read)
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
            directed: false,
            weights: None,
            copies: self.copies,
            again,
            edges_only: false,
            meter: self.meter,
        }
    }

    fn read(&self, done: PassResult<u64>, started: &RealClock) -> Result<Read> {
        self.unchanged.check()?;
        self.progress.begin(Phase::Order, None);
        Ok(Read {
            edges: done.outputs.iter().sum(),
            input_bytes: done.input_bytes,
            unpacked_bytes: done.unpacked_bytes,
            seconds: seconds_since(started),
        })
    }

    fn answer(&self, labelled: Labelled, read: &Read) -> Result<Components> {
        let Labelled { ids, labels } = labelled;
        if ids.is_empty() {
            return Err(ImportError::Empty { inputs: names_of(self.inputs) });
        }
        let mut sizes: Vec<VertexId> = vec![0; labels.len()];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        let components = sizes.iter().filter(|size| **size > 0).count() as u64;
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let label = sizes.iter().position(|&size| size == largest).unwrap_or(0);
        Ok(Components {
            ids,
            labels,
            components,
            largest: largest.into(),
            largest_label: label as VertexId,
            input_edges: read.edges,
            input_bytes: read.input_bytes,
            unpacked_bytes: read.unpacked_bytes,
            peak_memory_bytes: 0,
            seconds_read: read.seconds,
            seconds: 0.0,
            threads: self.config.workers(),
        })
    }

    /// Adds to an error of missing memory how far the vertices came, and how much would do if each
    /// took so many bytes more in the end.
    fn explain(&self, error: ImportError, vertices: u64, more_bytes: usize) -> ImportError {
        let ImportError::Memory { given, needed, what } = error else { return error };
        if vertices == 0 {
            return ImportError::Memory { given, needed, what };
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
        let needed = needed + vertices as usize * more_bytes;
        let needed = ((needed as f64 * times) as usize).next_multiple_of(1 << 20);
        ImportError::Straight { given, needed, vertices, part, what }
    }
}

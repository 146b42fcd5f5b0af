//! Weakly connected components straight from edges, without a graph file.
//!
//! - [`Components`]: the inputs and the options
//! - [`EdgeComponents`]: the answer, written and summed up as that of
//!   [`Graph::wcc`](crate::Graph::wcc)
//! - [`EdgeStats`], [`EdgeReport`]: statistics
//! - [`ComponentBatches`]: the answer as Arrow batches

use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use cenote_import::{Components as Sets, ComponentsConfig, ImportError, VertexIds};
use cenote_store::superblock::IdKind as StoredKind;
use cenote_store::{IdRef, VertexId};
use serde::Serialize;

use crate::algorithm::WccSummary;
use crate::error::{Error, Result};
use crate::import::{
    ArrowBatches, Edge, EdgeId, Edges, Format, Hooks, IdKind, Input, InputSpec, Phase, Vertices,
    arrow_array,
};
use crate::memory::{budget_of_machine, cpu_seconds, half_of_machine, peak_rss_bytes};
use crate::output;
use crate::output::arrow::IdBuilder;
use crate::output::table::{self, BATCH, Column, Rows, Table, Written};

/// The weakly connected components of edges in files, on standard input or in memory: one pass, in
/// which nothing is written to disk.
///
/// Answers are those of an import and [`Graph::wcc`](crate::Graph::wcc). The ids of all vertices
/// and their sets are in memory, 19 to 24 bytes for each integer; a graph file takes less.
///
/// ```
/// # fn main() -> cenote::Result<()> {
/// let squares = (0..1000u64).map(|i| (i, i * i % 1000));
/// let answer = cenote::Components::new().edges(squares).memory("64MiB").run()?;
/// assert_eq!((answer.ids.len(), answer.components), (1000, 8));
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "nothing is read before `run`"]
pub struct Components<'a> {
    inputs: Vec<Input<'a>>,
    config: ComponentsConfig,
    memory: Option<String>,
    out: Option<PathBuf>,
    hooks: Hooks<'a>,
}

impl<'a> Components<'a> {
    /// Components of no edges yet, in half of the machine's memory, with all cores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the edges of an iterator: `(source, target)` with integer or string ids.
    pub fn edges<I>(self, edges: I) -> Self
    where
        I: IntoIterator<Item: Edge, IntoIter: Send + 'a>,
    {
        self.input(Edges::iter(edges))
    }

    /// Adds edges in memory.
    pub fn slice<E: Edge + Sync>(self, edges: &'a [E]) -> Self {
        self.input(Edges::slice(edges))
    }

    /// Adds the batches of a reader, such as one of the Arrow C data interface. [`ArrowBatches`]
    /// selects the columns.
    pub fn arrow(self, reader: impl arrow_array::RecordBatchReader + Send + 'a) -> Self {
        self.input(ArrowBatches::new(reader))
    }

    /// Adds vertices by their ids. One that no edge has is a component of its own.
    pub fn vertices<I>(self, ids: I) -> Self
    where
        I: IntoIterator<Item: EdgeId, IntoIter: Send + 'a>,
    {
        self.input(Vertices::iter(ids))
    }

    /// Adds the vertices of a file: text with an id a line, or `.u32` and `.u64` integers.
    pub fn vertices_path(self, path: impl Into<PathBuf>) -> Self {
        self.input(InputSpec::vertices(path))
    }

    /// Adds a file, whose extension is its format.
    pub fn path(self, path: impl Into<PathBuf>) -> Self {
        self.input(InputSpec::new(path))
    }

    /// Adds standard input.
    pub fn stdin(self, format: Format) -> Self {
        self.input(InputSpec::with_format("-", format))
    }

    /// Adds any input.
    pub fn input(mut self, input: impl Into<Input<'a>>) -> Self {
        self.inputs.push(input.into());
        self
    }

    /// The kind of ids [default: integers if all of them are].
    pub fn ids(mut self, ids: IdKind) -> Self {
        self.config.ids = ids;
        self
    }

    /// Memory budget, such as `512MiB` or `25%` of the machine's [default: half of it].
    pub fn memory(mut self, size: impl ToString) -> Self {
        self.memory = Some(size.to_string());
        self
    }

    /// Worker threads [default: one for each core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads;
        self
    }

    /// Folder for the copy of an input that can be read only once, while its ids may turn out to be
    /// strings [default: that of the system]. With [`ids`](Self::ids) nothing is copied.
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.config.temp_dir = Some(folder.into());
        self
    }

    /// Writes the answer to a file: `.parquet`, `.csv` or `.npy`. A path that cannot be written to
    /// is refused before anything is read.
    pub fn out(mut self, path: impl Into<PathBuf>) -> Self {
        self.out = Some(path.into());
        self
    }

    /// Calls `report` with the phase, the bytes done in it, and its total bytes, if known.
    pub fn progress(mut self, report: impl FnMut(Phase, u64, Option<u64>) + Send + 'a) -> Self {
        self.hooks.set_progress(report);
        self
    }

    /// Stops soon after `is_cancelled` returns true.
    pub fn cancel(mut self, is_cancelled: impl Fn() -> bool + Sync + 'a) -> Self {
        self.hooks.set_cancel(is_cancelled);
        self
    }

    /// Reads the edges and computes their components.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`] if the vertices do not fit the memory; inputs that cannot be read,
    /// or that are not what their format says; an output that cannot be written; cancellation.
    pub fn run(mut self) -> Result<EdgeComponents> {
        self.config.memory_bytes = self.memory_bytes()?;
        let paths: Vec<PathBuf> =
            self.inputs.iter().filter_map(|input| Some(input.path()?.to_owned())).collect();
        if let Some(path) = &self.out {
            let kind = match self.config.ids {
                IdKind::String => StoredKind::Strings,
                IdKind::Auto | IdKind::Integer => StoredKind::Integers,
            };
            table::check_kind(path, kind)?;
            output::check(path, &paths)?;
        }
        let cpu_before = cpu_seconds();
        let sets = cenote_import::components(&self.inputs, &self.config, &self.hooks);
        let sets = sets.map_err(of_edges)?;
        let stats = EdgeStats {
            algorithm: "wcc",
            vertices: sets.ids.len() as u64,
            input_edges: sets.input_edges,
            seconds: sets.seconds,
            bytes_read: sets.input_bytes,
            bytes_per_second: sets.input_bytes as f64 / sets.seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            memory_budget_bytes: self.config.memory_bytes,
            memory_used_bytes: sets.peak_memory_bytes,
            cpu_seconds: cpu_seconds() - cpu_before,
            seconds_read: sets.seconds_read,
            threads: sets.threads,
        };
        let answer = EdgeComponents { sets, stats, inputs: paths };
        if let Some(path) = &self.out {
            answer.write_unless(path, &|| self.hooks.is_cancelled())?;
        }
        Ok(answer)
    }

    /// The memory budget in bytes.
    fn memory_bytes(&self) -> Result<usize> {
        let wrong = |reason: String| Error::parameter("memory", reason);
        let bytes = match &self.memory {
            None => half_of_machine()?,
            Some(text) => {
                let size = text.parse().map_err(|reason| wrong(format!("is {text}: {reason}")))?;
                budget_of_machine(size)?
            }
        };
        usize::try_from(bytes).map_err(|_| wrong(format!("is {bytes}: it is too large")))
    }
}

/// An error of reading edges.
fn of_edges(error: ImportError) -> Error {
    let (given, needed, breakdown) = match error {
        ImportError::Memory { given, needed, what } => {
            (given, needed, format!("the budget ended with {what}"))
        }
        ImportError::Straight { given, needed, vertices, part, .. } => {
            let less = "a graph file takes less, which `cenote import` makes of the edges";
            (given, needed, format!("about, by {vertices} vertices in {part}; {less}"))
        }
        other => return other.into(),
    };
    Error::MemoryBudget {
        what: "to find components without a graph file".to_owned(),
        given: given as u64,
        needed: needed as u64,
        suggested: (needed as u64).div_ceil(1 << 20),
        breakdown,
    }
}

/// Statistics of a run over edges.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EdgeStats {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Vertices met.
    pub vertices: u64,
    /// Edges of the inputs, with repeated ones and self-loops.
    pub input_edges: u64,
    /// Seconds of the run.
    pub seconds: f64,
    /// Bytes read, before decompression.
    pub bytes_read: u64,
    /// Bytes read per second.
    pub bytes_per_second: f64,
    /// Peak resident memory of the process.
    pub peak_rss_bytes: u64,
    /// Memory budget of the run.
    pub memory_budget_bytes: usize,
    /// The most of it that was held.
    pub memory_used_bytes: u64,
    /// Processor time of the whole process while it ran, all threads.
    pub cpu_seconds: f64,
    /// Seconds until all edges were read and joined.
    pub seconds_read: f64,
    /// Worker threads.
    pub threads: usize,
}

/// Statistics and summary.
#[derive(Debug, Serialize)]
pub struct EdgeReport<'a> {
    /// The statistics.
    #[serde(flatten)]
    pub stats: &'a EdgeStats,
    /// The summary of the components.
    pub result: WccSummary,
}

/// The components of edges. Dereferences to ids in ascending order and their labels.
#[derive(Debug)]
pub struct EdgeComponents {
    sets: Sets,
    stats: EdgeStats,
    inputs: Vec<PathBuf>,
}

impl Deref for EdgeComponents {
    type Target = Sets;

    fn deref(&self) -> &Sets {
        &self.sets
    }
}

impl EdgeComponents {
    /// Statistics of the run.
    pub fn stats(&self) -> &EdgeStats {
        &self.stats
    }

    /// A summary, as that of [`Graph::wcc`](crate::Graph::wcc).
    pub fn summary(&self) -> WccSummary {
        WccSummary {
            components: self.components,
            largest: self.largest,
            largest_label: Some(self.ids.get(self.largest_label).to_id()),
            since: None,
            everything_because: None,
        }
    }

    /// Statistics and summary, as `cenote run --json` prints them.
    pub fn report(&self) -> EdgeReport<'_> {
        EdgeReport { stats: &self.stats, result: self.summary() }
    }

    /// Writes the component of each vertex, by ascending id, as `.parquet`, `.csv` or `.npy`. The
    /// file appears under its name when it is complete. Returns the bytes written.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the extension is not a format or the path must not be replaced.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<u64> {
        self.write_unless(path.as_ref(), &|| false)
    }

    fn write_unless(&self, path: &Path, is_cancelled: &dyn Fn() -> bool) -> Result<u64> {
        table::check_kind(path, self.ids.kind())?;
        let columns = [Column::vertex("component", |v| Some(self.labels[v as usize]))];
        let check = || if is_cancelled() { Err(Error::Cancelled) } else { Ok(()) };
        let metadata = Vec::new();
        let table = Table { rows: &self.ids, columns: &columns, metadata, check: &check };
        table::write_rows(path, &self.inputs, &table)
    }
}

impl Rows for VertexIds {
    fn kind(&self) -> StoredKind {
        match self.integers() {
            Some(_) => StoredKind::Integers,
            None => StoredKind::Strings,
        }
    }

    fn end(&self) -> VertexId {
        self.len() as VertexId
    }

    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn for_each(
        &self,
        ranks: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Written,
    ) -> Written {
        ranks.into_iter().try_for_each(|rank| visit(rank, self.get(rank)))
    }

    fn name_of(&self, v: VertexId) -> IdRef<'_> {
        self.get(v)
    }
}

/// The component of each vertex in batches of 65,536 rows, by ascending id: columns `vertex` and
/// `component`, of `UInt64` or `LargeUtf8`.
#[derive(Debug)]
pub struct ComponentBatches {
    answer: Arc<EdgeComponents>,
    schema: SchemaRef,
    next: VertexId,
}

impl ComponentBatches {
    /// The batches of an answer.
    pub fn new(answer: Arc<EdgeComponents>) -> Self {
        let kind = IdBuilder::data_type(answer.ids.kind());
        let fields =
            vec![Field::new("vertex", kind.clone(), false), Field::new("component", kind, true)];
        Self { answer, schema: Arc::new(Schema::new(fields)), next: 0 }
    }
}

impl Iterator for ComponentBatches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (ids, labels) = (&self.answer.ids, &self.answer.labels);
        let ranks = self.next..self.next.saturating_add(BATCH).min(ids.end());
        if ranks.is_empty() {
            return None;
        }
        self.next = ranks.end;
        let mut columns = [IdBuilder::new(ids.kind()), IdBuilder::new(ids.kind())];
        for rank in ranks {
            columns[0].push(Some(ids.get(rank)));
            columns[1].push(Some(ids.get(labels[rank as usize])));
        }
        let arrays = columns.iter_mut().map(IdBuilder::finish).collect();
        Some(RecordBatch::try_new(Arc::clone(&self.schema), arrays))
    }
}

impl RecordBatchReader for ComponentBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

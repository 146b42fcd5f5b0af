//! Builds graph files from edges in files, on standard input or in memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_device::Device;
use cenote_import::output::OutputRefused;
pub use cenote_import::{
    ArrowBatches, Edge, EdgeId, EdgeWeight, Edges, Format, Header, IdKind, ImportError,
    ImportReport, Input, InputSpec, Phase, VertexValues, Vertices, arrow_array,
};
use cenote_import::{FileWorkspace, ImportConfig, Progress, Result, Streamed, Workspace};
use cenote_store::ValueType;
pub use cenote_store::{Codec, HubNeighboursChoice, Order, WeightType};

use crate::lock::ReplacerLock;
use crate::memory::MemorySize;
use crate::tiers::spec::{self, TierArg};
use crate::tiers::workspace::{self, TieredWorkspace};
use crate::tiers::{kept, members};

/// Called with the current phase, the bytes done in it, and its total bytes if known.
type OnProgress<'a> = Box<dyn FnMut(Phase, u64, Option<u64>) + Send + 'a>;
type IsCancelled<'a> = Box<dyn Fn() -> bool + Sync + 'a>;

/// An import: its inputs and the properties of the graph.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let out = folder.path().join("squares.cenote");
/// let squares = (0..1000u64).map(|i| (i, i * i % 1000));
/// let report = cenote::Import::new().edges(squares).directed().memory("64MiB").run(out)?;
/// assert_eq!(report.vertices, 1000);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is imported before `run`"]
pub struct Import<'a> {
    inputs: Vec<Input<'a>>,
    values: Option<VertexValues<'a>>,
    config: ImportConfig,
    memory: String,
    tiers: Vec<String>,
    tier_policy: String,
    tier_block: String,
    hooks: Hooks<'a>,
}

impl Default for Import<'_> {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            values: None,
            config: ImportConfig::default().auto_order(true),
            memory: "1GiB".to_owned(),
            tiers: Vec::new(),
            tier_policy: kept::POLICY.to_owned(),
            tier_block: "16KiB".to_owned(),
            hooks: Hooks::default(),
        }
    }
}

impl<'a> Import<'a> {
    /// An import of an undirected graph, in 1 GiB of memory, with all cores.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the edges of an iterator: `(source, target)` or `(source, target, weight)` with integer
    /// or string ids. They are spilled to disk.
    pub fn edges<I>(self, edges: I) -> Self
    where
        I: IntoIterator<Item: Edge, IntoIter: Send + 'a>,
    {
        self.input(Edges::iter(edges))
    }

    /// Adds edges in memory, which are not spilled.
    pub fn slice<E: Edge + Sync>(self, edges: &'a [E]) -> Self {
        self.input(Edges::slice(edges))
    }

    /// Adds the batches of a reader, such as one of the Arrow C data interface. They are spilled to
    /// disk. [`ArrowBatches`] selects the columns.
    pub fn arrow(self, reader: impl arrow_array::RecordBatchReader + Send + 'a) -> Self {
        self.input(ArrowBatches::new(reader))
    }

    /// Adds vertices by their integer or string ids. One that no edge has is stored without edges.
    pub fn vertices<I>(self, ids: I) -> Self
    where
        I: IntoIterator<Item: EdgeId, IntoIter: Send + 'a>,
    {
        self.input(Vertices::iter(ids))
    }

    /// Adds the vertices of a file: text with an id a line, and its value behind it if it has one,
    /// or `.u32` and `.u64` little-endian integers. Values need a file that can be read twice; a
    /// vertex with several has the last one.
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

    /// Makes the graph directed.
    pub fn directed(mut self) -> Self {
        self.config.directed = true;
        self
    }

    /// Stores the in-edges of a directed graph, too.
    pub fn in_edges(mut self) -> Self {
        self.config.in_edges = true;
        self
    }

    /// Stores weights as this type; a repeated edge keeps its smallest weight.
    pub fn weights(mut self, kind: WeightType) -> Self {
        self.config.weights = Some(kind);
        self
    }

    /// Type of the values of vertices [default: of `u64`, `i64` and `f64` the first that holds the
    /// first value].
    pub fn values(mut self, kind: ValueType) -> Self {
        self.config.values = Some(kind);
        self
    }

    /// Values of vertices, besides those of files of vertices; all are of one type.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use cenote::import::arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    /// use cenote::import::{VertexValues, arrow_array::RecordBatchIterator};
    ///
    /// let ids = Arc::new(StringArray::from(vec!["ada", "cem"])) as ArrayRef;
    /// let ages = Arc::new(Float64Array::from(vec![36.0, 41.5])) as ArrayRef;
    /// let batch = RecordBatch::try_from_iter([("id", ids), ("age", ages)])?;
    /// let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("friends.cenote");
    /// let edges = [("ada", "bob"), ("bob", "cem")];
    /// let import = cenote::Import::new().edges(edges).vertex_values(VertexValues::new(reader));
    /// import.memory("64MiB").run(&path)?;
    /// let graph = cenote::Graph::open(&path)?;
    /// assert_eq!(graph.value("cem")?, Some(cenote::Value::F64(41.5)));
    /// assert_eq!(graph.value("bob")?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn vertex_values(mut self, values: VertexValues<'a>) -> Self {
        self.values = Some(values);
        self
    }

    /// Stores repeated edges as often as they occur.
    pub fn keep_duplicates(mut self) -> Self {
        self.config.keep_duplicates = true;
        self
    }

    /// Stores edges from a vertex to itself.
    pub fn keep_self_loops(mut self) -> Self {
        self.config.keep_self_loops = true;
        self
    }

    /// The kind of ids [default: strings where an input has the type of strings, else integers if
    /// all of them are].
    pub fn ids(mut self, ids: IdKind) -> Self {
        self.config.ids = ids;
        self
    }

    /// The order of the vertices [default: see [`auto_order`](Self::auto_order)].
    pub fn order(mut self, order: Order) -> Self {
        (self.config.order, self.config.auto_order) = (order, false);
        self
    }

    /// Takes the order of clusters for a large graph of few edges per vertex whose ids do not bring
    /// neighbours together, if memory has room to find it, else that of the ids: the default. The
    /// report says why.
    pub fn auto_order(mut self) -> Self {
        self.config.auto_order = true;
        self
    }

    /// Memory budget, such as `512MiB` or `25%` of the machine's.
    pub fn memory(mut self, size: impl ToString) -> Self {
        self.memory = size.to_string();
        self
    }

    /// Page size of the graph file in bytes: a power of two from 4,096 to 65,536.
    pub fn page_bytes(mut self, bytes: u32) -> Self {
        self.config.page_bytes = bytes;
        self
    }

    /// Free space of each page of lists, in percent, 0 to 50 [default: 0]: when changes are merged,
    /// lists grow into it before pages are split.
    pub fn free_space(mut self, percent: u32) -> Self {
        self.config.free_space = percent;
        self
    }

    /// The encoding of lists [default: packed].
    pub fn codec(mut self, codec: Codec) -> Self {
        self.config.codec = codec;
        self
    }

    /// Whether to store hub neighbours.
    pub fn hub_neighbours(mut self, choice: HubNeighboursChoice) -> Self {
        self.config.hub_neighbours = choice;
        self
    }

    /// Worker threads [default: one for each core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.config.threads = threads;
        self
    }

    /// Replaces the graph file if it exists.
    pub fn overwrite(mut self) -> Self {
        self.config.overwrite = true;
        self
    }

    /// Folder for temporary files [default: that of the graph file].
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.config.temp_dir = Some(folder.into());
        self
    }

    /// Spreads the graph over several drives, the fastest first: `NAME=FOLDER[:CAPACITY]` for each.
    pub fn tier(mut self, tier: impl ToString) -> Self {
        self.tiers.push(tier.to_string());
        self
    }

    /// The policy that decides which blocks lie on which tier.
    pub fn tier_policy(mut self, policy: impl ToString) -> Self {
        self.tier_policy = policy.to_string();
        self
    }

    /// The unit of migration between tiers: a power of two from 4KiB to 1MiB.
    pub fn tier_block(mut self, size: impl ToString) -> Self {
        self.tier_block = size.to_string();
        self
    }

    /// Calls `report` with the phase, the bytes done in it, and its total bytes, if known.
    pub fn progress(mut self, report: impl FnMut(Phase, u64, Option<u64>) + Send + 'a) -> Self {
        self.hooks.set_progress(report);
        self
    }

    /// Stops the import soon after `is_cancelled` returns true.
    pub fn cancel(mut self, is_cancelled: impl Fn() -> bool + Sync + 'a) -> Self {
        self.hooks.set_cancel(is_cancelled);
        self
    }

    /// Imports into the graph file `out`. On any error nothing is left behind.
    pub fn run(mut self, out: impl AsRef<Path>) -> Result<ImportReport> {
        let out = out.as_ref();
        self.config.memory_bytes = self.memory_bytes()?;
        let paths: Vec<&Path> = self.inputs.iter().filter_map(Input::path).collect();
        let remove = workspace::abandoned_tiers(out);
        remove.iter().for_each(|path| drop(std::fs::remove_file(path)));
        let temp_dir = self.config.temp_dir.as_deref();
        let file = FileWorkspace::new(out, &paths, temp_dir, self.config.overwrite)?;
        if members::is_tier(out) {
            let reason = "is a tier of a graph, which would be lost; give another output";
            return Err(OutputRefused { path: out.to_owned(), reason }.into());
        }
        let import = |workspace: &dyn Workspace| {
            let values = self.values.as_ref();
            cenote_import::import_with_values(
                &self.inputs,
                values,
                workspace,
                &self.config,
                &self.hooks,
            )
        };
        if !self.tiers.is_empty() {
            return import(&self.tiered(file, out)?).map_err(more_tiers);
        }
        let mut replaced = workspace::files_of_replaced(out).map_err(parameter)?;
        if !replaced.is_empty() {
            replaced.push(kept::path_of(out));
        }
        let report = import(&ImportedFile { files: file, out })?;
        replaced.iter().for_each(|path| drop(std::fs::remove_file(path)));
        Ok(report)
    }

    /// A budget in bytes that suffices for what the iterators will give.
    pub(crate) fn memory_for(&self, streamed: &Streamed) -> u64 {
        self.config.memory_for(streamed) as u64
    }

    /// The memory budget in bytes.
    pub fn memory_bytes(&self) -> Result<usize> {
        let wrong =
            |reason: String| ImportError::Options(format!("`memory` {}: {reason}", self.memory));
        let size: MemorySize = self.memory.parse().map_err(wrong)?;
        let unknown = || wrong("the machine's memory is unknown: give bytes".to_owned());
        let bytes = size.bytes_of_machine().ok_or_else(unknown)?;
        usize::try_from(bytes).map_err(|_| wrong("it is too large".to_owned()))
    }

    fn tiered(&self, file: FileWorkspace, out: &Path) -> Result<TieredWorkspace> {
        let wrong =
            |name: &str, reason: String| ImportError::Options(format!("`{name}`: {reason}"));
        let tier = |text: &String| text.parse::<TierArg>().map_err(|reason| wrong("tier", reason));
        let tiers: Vec<TierArg> = self.tiers.iter().map(tier).collect::<Result<_>>()?;
        spec::check(&tiers).map_err(parameter)?;
        let block_bytes = match self.tier_block.parse::<MemorySize>() {
            Ok(MemorySize::Bytes(bytes)) => u32::try_from(bytes).ok(),
            _ => None,
        };
        let block_bytes =
            block_bytes.filter(|bytes| spec::can_be_block(*bytes)).ok_or_else(|| {
                wrong("tier_block", "expected 4KiB to 1MiB, a power of two".to_owned())
            })?;
        let policy =
            kept::policy(&self.tier_policy).map_err(|reason| wrong("tier_policy", reason))?;
        TieredWorkspace::new(file, out, &tiers, block_bytes, policy).map_err(parameter)
    }
}

/// An error of a parameter.
fn parameter(error: impl std::fmt::Display) -> ImportError {
    ImportError::Options(format!("{error:#}"))
}

/// Replaces a remedy that does not help if the tiers are full.
fn more_tiers(error: ImportError) -> ImportError {
    match error {
        ImportError::Full { device, role, written, needed, remedy: "out" } => {
            let remedy = "tier` or more capacity as `tier";
            ImportError::Full { device, role, written, needed, remedy }
        }
        other => other,
    }
}

/// The files of an import. Its output may replace a graph, which no other process does meanwhile.
pub(crate) struct ImportedFile<'a> {
    pub files: FileWorkspace,
    pub out: &'a Path,
}

impl Workspace for ImportedFile<'_> {
    fn spill(&self) -> Result<Arc<dyn Device>> {
        self.files.spill()
    }

    fn output(&self) -> Result<Arc<dyn Device>> {
        self.files.output()
    }

    fn publish(&self) -> Result<()> {
        let _lock = ReplacerLock::wait(self.out);
        self.files.publish()
    }
}

/// The arguments of the last call of a progress closure, and the closure.
type Reported<'a> = (Phase, u64, Option<u64>, OnProgress<'a>);

/// The closures of an import.
#[derive(Default)]
pub(crate) struct Hooks<'a> {
    on_progress: Option<Mutex<Reported<'a>>>,
    is_cancelled: Option<IsCancelled<'a>>,
}

impl<'a> Hooks<'a> {
    pub fn set_progress(&mut self, report: impl FnMut(Phase, u64, Option<u64>) + Send + 'a) {
        self.on_progress = Some(Mutex::new((Phase::Read, 0, None, Box::new(report))));
    }

    pub fn set_cancel(&mut self, is_cancelled: impl Fn() -> bool + Sync + 'a) {
        self.is_cancelled = Some(Box::new(is_cancelled));
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.as_ref().is_some_and(|is_cancelled| is_cancelled())
    }
}

impl Progress for Hooks<'_> {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        let Some(last) = &self.on_progress else { return };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        (last.0, last.1, last.2) = (phase, 0, total);
        (last.3)(phase, 0, total);
    }

    fn advance(&self, bytes: u64) {
        let Some(last) = &self.on_progress else { return };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let (phase, done, total, report) = &mut *last;
        *done += bytes;
        if bytes > 0 {
            report(*phase, *done, *total);
        }
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

//! Compacting: writes a graph as an import of its edges would, and puts it in its place.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use cenote_device::Device;
use cenote_import::{
    FileWorkspace, ImportConfig, ImportError, ImportReport, Phase, Workspace, rewrite,
};
use cenote_store::{HubNeighboursChoice, Order};
use serde::Serialize;

use crate::drive::Warning;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::import::{Hooks, ImportedFile};
use crate::lock::{ReplacerLock, WriterLock};
use crate::memory::{MemorySize, budget_of_machine};
use crate::tiers::members;
use crate::update::replaced;

/// Memory if none is given.
const MEMORY_BYTES: u64 = 1 << 30;

/// A rewrite of a stored graph: its pages in order, vertices numbered by their ids or by
/// [`order`](Self::order), derived sections anew, no log and no free pages. The file is that of an
/// import of the same edges and vertices.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("packages.cenote");
/// cenote::Import::new().edges([("vim", "libc6"), ("bash", "libc6")]).directed().run(&path)?;
/// let mut update = cenote::Update::open(&path)?;
/// update.add("dash", "libc6")?;
/// update.commit()?;
/// drop(update);
/// let report = cenote::Graph::open(&path)?.compact().memory("64MiB").run()?;
/// assert!(report.bytes_after < report.bytes_before);
/// assert_eq!(cenote::Graph::open(&path)?.info()?.appended_vertices, 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is compacted before `run`"]
pub struct Compact<'a> {
    path: PathBuf,
    at: Option<String>,
    out: Option<PathBuf>,
    overwrite: bool,
    order: Option<Order>,
    hub_neighbours: Option<HubNeighboursChoice>,
    free_space: Option<u32>,
    memory: Result<MemorySize, String>,
    threads: usize,
    temp_dir: Option<PathBuf>,
    hooks: Hooks<'a>,
}

/// What a compaction did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CompactReport {
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges, each undirected one once.
    pub edges: u64,
    /// Bytes of the graph before.
    pub bytes_before: u64,
    /// Bytes of the compacted graph.
    pub bytes_after: u64,
    /// Changes of the log that are in the lists now.
    pub merged: u64,
    /// Pages that held nothing.
    pub free_pages: u64,
    /// Vertices that updates had appended.
    pub appended_vertices: u64,
    /// Deleted vertices that were dropped.
    pub deleted_vertices: u64,
    /// Order of the vertices.
    pub order: &'static str,
    /// Bytes written to spill files.
    pub spill_bytes: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Largest memory held, as counted by the budget, in bytes.
    pub peak_memory_bytes: u64,
    /// Warnings from opening the graph.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

impl Graph {
    /// A compaction of the graph of this path, as it is when it is run. This [`Graph`] stays as it
    /// is.
    pub fn compact<'c>(&self) -> Compact<'c> {
        Compact::new(&self.path)
    }
}

impl<'a> Compact<'a> {
    /// A compaction of the graph of this path, in 1 GiB of memory, with all cores.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            at: None,
            out: None,
            overwrite: false,
            order: None,
            hub_neighbours: None,
            free_space: None,
            memory: Ok(MemorySize::Bytes(MEMORY_BYTES)),
            threads: 0,
            temp_dir: None,
            hooks: Hooks::default(),
        }
    }

    /// Writes another graph file and leaves this one as it is [default: replaces it].
    pub fn out(mut self, path: impl Into<PathBuf>) -> Self {
        self.out = Some(path.into());
        self
    }

    /// Writes the graph as it was at a snapshot, with [`out`](Self::out).
    pub fn at(mut self, name: impl Into<String>) -> Self {
        self.at = Some(name.into());
        self
    }

    /// Replaces the file of [`out`](Self::out) if it exists.
    pub fn overwrite(mut self) -> Self {
        self.overwrite = true;
        self
    }

    /// The order of the vertices [default: the graph's].
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Whether to store hub neighbours [default: yes if the graph has them; where updates have
    /// removed them, as an import decides].
    pub fn hub_neighbours(mut self, choice: HubNeighboursChoice) -> Self {
        self.hub_neighbours = Some(choice);
        self
    }

    /// Free space of each page of lists, in percent, 0 to 50, as
    /// [`Import::free_space`](crate::Import::free_space) [default: the graph's].
    pub fn free_space(mut self, percent: u32) -> Self {
        self.free_space = Some(percent);
        self
    }

    /// Memory budget, such as `512MiB` or `25%` of the machine's [default: 1GiB].
    pub fn memory(mut self, size: impl ToString) -> Self {
        self.memory = size.to_string().parse();
        self
    }

    /// Worker threads [default: one for each core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Folder for temporary files [default: that of the new graph file].
    pub fn temp_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.temp_dir = Some(folder.into());
        self
    }

    /// Calls `report` with the phase, the bytes done in it, and its total bytes, if known.
    pub fn progress(mut self, report: impl FnMut(Phase, u64, Option<u64>) + Send + 'a) -> Self {
        self.hooks.set_progress(report);
        self
    }

    /// Ends the compaction with [`Error::Cancelled`] soon after `is_cancelled` returns true.
    pub fn cancel(mut self, is_cancelled: impl Fn() -> bool + Sync + 'a) -> Self {
        self.hooks.set_cancel(is_cancelled);
        self
    }

    /// Compacts the graph. The new file is synced before it gets the name of the graph; after any
    /// error, also after a crash, the graph is as it was.
    ///
    /// Without [`out`](Self::out) other writers are refused until it ends. Readers keep the file
    /// that they have open, which takes up its space until the last of them ends. With `out` the
    /// graph is only read, as of the moment of the call.
    ///
    /// # Errors
    /// [`Error::Locked`] if a writer has the graph open or an import replaces it meanwhile;
    /// [`Error::Unsupported`] to replace tiers, a drive or a graph with snapshots;
    /// [`Error::InvalidInput`] if all vertices are deleted;
    /// [`Error::MemoryBudget`]; and errors of reading and writing.
    pub fn run(self) -> Result<CompactReport> {
        let started = Instant::now();
        let mut report = match (&self.out, &self.at) {
            (Some(out), _) => self.write(out)?,
            (None, None) => self.replace()?,
            (None, Some(_)) => {
                let reason =
                    "is a snapshot, which does not replace the graph: give a file as `out`";
                return Err(Error::parameter("at", reason));
            }
        };
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Writes the compacted graph to another file.
    fn write(&self, out: &Path) -> Result<CompactReport> {
        let options = Graph::options().migration(false);
        let options = match &self.at {
            Some(name) => options.at(name),
            None => options,
        };
        let graph = options.open(&self.path)?;
        let tiers = match graph.tiers() {
            Some(_) => members::files_of_replaced(&self.path)?,
            None => Vec::new(),
        };
        let mut inputs: Vec<&Path> = tiers.iter().map(PathBuf::as_path).collect();
        inputs.push(&self.path);
        let temp_dir = self.temp_dir.as_deref();
        let files = FileWorkspace::new(out, &inputs, temp_dir, self.overwrite)?;
        if members::is_map(out) {
            let reason = "is a graph over tiers: remove it, or give another file as `out`";
            return Err(Error::input(out, reason));
        }
        self.rewrite(&graph, &ImportedFile { files, out })
    }

    /// Replaces the graph.
    fn replace(&self) -> Result<CompactReport> {
        // The name of a link stays a link.
        let path = fs::canonicalize(&self.path)
            .map_err(Error::io(format!("cannot open {}", self.path.display())))?;
        self.check_replaceable(&path)?;
        let (lock, graph) = self.lock(&path)?;
        if !graph.stored().superblock().snapshots.is_empty() {
            return Err(self.irreplaceable("a graph with snapshots, which would be lost,"));
        }
        let metadata = path.metadata();
        let metadata =
            metadata.map_err(Error::io(format!("cannot read the owner of {}", path.display())))?;
        let temp_dir = self.temp_dir.as_deref();
        let files = FileWorkspace::new(&path, &[], temp_dir, true)?.like(metadata);
        let is_lost = AtomicBool::new(false);
        let replacing = Replacing { files, lock: &lock, path: &path, is_lost: &is_lost };
        let done = self.rewrite(&graph, &replacing);
        if is_lost.into_inner() {
            return Err(replaced(&self.path));
        }
        done
    }

    fn check_replaceable(&self, path: &Path) -> Result<()> {
        let kind = path.metadata().map(|metadata| metadata.file_type());
        match kind {
            Ok(kind) if kind.is_block_device() => Err(self.irreplaceable("a drive")),
            Ok(kind) if !kind.is_file() => Err(Error::input(&self.path, "it is no file")),
            _ if members::is_map(path) => Err(self.irreplaceable("a graph over tiers")),
            _ => Ok(()),
        }
    }

    fn irreplaceable(&self, what: &str) -> Error {
        let shown = self.path.display();
        let reason = format!(
            "{shown}: {what} cannot be replaced by its compacted graph: give another file as `out`"
        );
        Error::Unsupported(reason.into())
    }

    /// Takes the writer's lock and opens the graph that it locks.
    fn lock(&self, path: &Path) -> Result<(WriterLock, Graph)> {
        loop {
            let lock = WriterLock::take(path)?;
            let graph = Graph::options().migration(false).open(path)?;
            // An import may have replaced the graph between the lock and the opening.
            if lock.is_of(path) {
                return Ok((lock, graph));
            }
        }
    }

    fn rewrite(&self, graph: &Graph, workspace: &dyn Workspace) -> Result<CompactReport> {
        if graph.vertices() == 0 {
            let reason = "all its vertices are deleted, and a compacted graph has one at least";
            return Err(Error::input(&self.path, reason));
        }
        let stored = graph.stored();
        let own = ImportConfig::of_stored(stored);
        let (order, hub_neighbours) = (own.order, own.hub_neighbours);
        let free_space = own.free_space;
        let config = own
            .order(self.order.unwrap_or(order))
            .hub_neighbours(self.hub_neighbours.unwrap_or(hub_neighbours))
            .free_space(self.free_space.unwrap_or(free_space))
            .memory_bytes(self.memory_bytes()?)
            .threads(self.threads)
            .temp_dir(self.temp_dir.clone());
        let superblock = stored.superblock();
        let done: ImportReport = rewrite(stored, workspace, &config, &self.hooks)?;
        Ok(CompactReport {
            vertices: done.vertices,
            edges: done.edges,
            bytes_before: superblock.file_bytes(),
            bytes_after: done.output_bytes,
            merged: stored.logged_changes(),
            free_pages: stored.free_pages(),
            appended_vertices: superblock.appended(),
            deleted_vertices: superblock.deleted(),
            order: done.order,
            spill_bytes: done.spill_bytes,
            seconds: 0.0,
            peak_memory_bytes: done.peak_memory_bytes,
            warnings: graph.warnings().to_vec(),
        })
    }

    fn memory_bytes(&self) -> Result<usize> {
        let wrong = |reason: &str| Error::parameter("memory", reason);
        let size = self.memory.as_ref().map_err(|reason| wrong(reason))?;
        usize::try_from(budget_of_machine(*size)?).map_err(|_| wrong("is too large"))
    }
}

/// The files of a compaction that replaces the graph whose writer it is.
struct Replacing<'a> {
    files: FileWorkspace,
    lock: &'a WriterLock,
    path: &'a Path,
    is_lost: &'a AtomicBool,
}

impl Workspace for Replacing<'_> {
    fn spill(&self) -> cenote_import::Result<Arc<dyn Device>> {
        self.files.spill()
    }

    fn output(&self) -> cenote_import::Result<Arc<dyn Device>> {
        self.files.output()
    }

    fn publish(&self) -> cenote_import::Result<()> {
        // An import does not take the writer's lock: what it has written is not lost.
        let _lock = ReplacerLock::wait(self.path);
        if !self.lock.is_of(self.path) {
            self.is_lost.store(true, Ordering::Relaxed);
            return Err(ImportError::Changed { input: self.path.display().to_string() });
        }
        self.files.publish()
    }
}

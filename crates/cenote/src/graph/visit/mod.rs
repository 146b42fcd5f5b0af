//! Passes over lists in batches, for loops of the caller's own: a [`Visit`] is opened as a
//! [`ListReader`], each [`Pass`] of which iterates over [`ListBatch`]es.
//!
//! - [`window`]: reads a window of pages through the engine
//! - [`batch`]: assembles the pieces of a window to a batch

mod batch;
mod window;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::task::Poll;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cenote_device::threads::cores;
use cenote_engine::{
    ActiveSet, Cancel, Engine, EngineConfig, Frontier, Needs, RunStats, THREADS_MAX,
    weighted_pages_bytes_for,
};
use cenote_store::{Direction, VertexId};

use self::batch::Assembler;
pub use self::batch::ListBatch;
use self::window::Windows;
use super::{Graph, neighbors};
use crate::error::{Error, Result};
use crate::memory::{MemorySize, budget_bytes};

/// Most edges of a batch, unless the caller or the budget says less.
const BATCH_EDGES: u64 = 1 << 21;

/// The batches of a pass take at most `1 / BATCHES_SHARE` of the budget by default.
const BATCHES_SHARE: u64 = 4;

/// Batches that are in memory at a time: being read, assembled, queued, and in use by the caller.
const BATCHES_HELD: u64 = 4;

/// Batches that wait for the caller.
const QUEUED_MAX: usize = 1;

/// Bytes of an edge in a batch: the target and, at most, the vertex and offset of a list of its
/// own; and those of its weight.
const EDGE_BYTES: u64 = 16;
const WEIGHT_BYTES: u64 = 8;

/// Options for passes over the lists of a graph; made by [`Graph::visit`].
#[derive(Debug)]
pub struct Visit<'g> {
    graph: &'g Graph,
    direction: Direction,
    weights: bool,
    memory: Option<Result<MemorySize>>,
    threads: usize,
    batch_edges: Option<u64>,
}

impl<'g> Visit<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        let threads = cores();
        let direction = Direction::Out;
        Self { graph, direction, weights: false, memory: None, threads, batch_edges: None }
    }

    /// The direction of the lists [default: out].
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Whether batches have weights [default: no].
    pub fn weights(mut self, weights: bool) -> Self {
        self.weights = weights;
        self
    }

    /// Memory for the index, requests, batches and cached pages: bytes, or text such as `256MiB`,
    /// or `10%` of the graph's pages [default: half of the machine's memory].
    pub fn memory(mut self, size: impl TryInto<MemorySize, Error: Into<Error>>) -> Self {
        self.memory = Some(size.try_into().map_err(Into::into));
        self
    }

    /// Worker threads, 1 to 512 [default: one per core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Most edges of a batch, at least two pages of lists [default: 2,097,152, or what fits a
    /// quarter of the budget].
    pub fn batch_edges(mut self, edges: u64) -> Self {
        self.batch_edges = Some(edges);
        self
    }

    /// Prepares for passes: starts threads and reserves memory.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`]; [`Error::Parameter`]; [`Error::Unsupported`] if the graph has no
    /// lists of the direction, or no weights.
    pub fn open(self) -> Result<ListReader> {
        let Self { graph, direction, weights, memory, threads, batch_edges } = self;
        neighbors::check_direction(graph, direction)?;
        if !(1..=THREADS_MAX).contains(&threads) {
            let reason = format!("is {threads}: 1 to {THREADS_MAX} are possible");
            return Err(Error::parameter("threads", reason));
        }
        if batch_edges == Some(0) {
            return Err(Error::parameter("batch_edges", "is 0: at least 1 is needed"));
        }
        let stored = graph.stored();
        if weights && !stored.is_weighted() {
            let path = graph.path().display();
            let reason = format!("{path}: the edges have no weights: import it with `weights`");
            return Err(Error::Unsupported(reason.into()));
        }
        let memory_bytes = budget_bytes(memory.transpose()?, stored)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopped);
        let config = EngineConfig::with_memory(memory_bytes)
            .threads(threads)
            .weighted(weights)
            .cancel(Cancel::when(move || flag.load(Ordering::Relaxed)));
        let edge_bytes = EDGE_BYTES + if weights { WEIGHT_BYTES } else { 0 };
        let fitting = memory_bytes / BATCHES_SHARE / (BATCHES_HELD * edge_bytes);
        let lists = stored.adjacency(direction).expect("the direction was checked");
        let page_edges = lists.page_entries_max().max(1);
        let wanted = batch_edges.unwrap_or(BATCH_EDGES.min(fitting));
        // Half for the pages of a window, half for the list that the window before has begun.
        let batch_edges = wanted.max(2 * page_edges);
        let window_pages = (batch_edges / 2 / page_edges).max(1);
        let mut state_bytes = Frontier::bytes_for(stored.vertices(), 1)
            .saturating_add(batch_edges.saturating_mul(BATCHES_HELD * edge_bytes));
        if weights {
            let waiting = weighted_pages_bytes_for(stored, &config, direction);
            state_bytes = state_bytes.saturating_add(waiting.map_err(Error::from)?);
        }
        let needs = Needs { what: "visit", state_bytes, scratch_bytes: 0 };
        let engine = graph.engine(config, &needs)?;
        let reader = Reader {
            engine,
            direction,
            weights,
            batch_edges,
            window_pages,
            stopped,
            is_busy: AtomicBool::new(false),
        };
        Ok(ListReader(Arc::new(reader)))
    }
}

/// What passes have in common.
struct Reader {
    engine: Engine,
    direction: Direction,
    weights: bool,
    batch_edges: u64,
    window_pages: u64,
    /// Whether the pass has to end.
    stopped: Arc<AtomicBool>,
    /// Whether a pass goes on.
    is_busy: AtomicBool,
}

/// Reads lists in passes, one at a time. Pages that the budget can hold stay in memory from pass to
/// pass. It stays open when the [`Graph`] is closed.
///
/// ```
/// # use cenote::{Graph, Import};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("path.cenote");
/// Import::new().edges((0u64..99).map(|v| (v, v + 1))).memory("64MiB").run(&path)?;
/// let lists = Graph::open(&path)?.visit().memory("64MiB").open()?;
/// let mut entries = 0;
/// for batch in lists.pass(None)? {
///     entries += batch?.targets.len();
/// }
/// assert_eq!(entries, 198, "each undirected edge is in two lists");
/// let batch = lists.pass(Some(&[7]))?.next().expect("vertex 7 has a list")?;
/// assert_eq!((batch.vertices, batch.targets), (vec![7], vec![6, 8]));
/// # Ok(())
/// # }
/// ```
pub struct ListReader(Arc<Reader>);

impl fmt::Debug for ListReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListReader").field("batch_edges", &self.0.batch_edges).finish()
    }
}

impl ListReader {
    /// Starts a pass over the lists of the `frontier`, in any order, or of all vertices: a thread
    /// that reads while the caller works, at most one batch ahead.
    ///
    /// Batches ascend by vertex and depend on the graph, the frontier and the most edges of a batch
    /// alone. Empty lists are left out. A list is in one piece, unless it is longer than half of
    /// [`ListReader::batch_edges`]: then each of consecutive batches may have a piece of it, in
    /// order, under the same vertex.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the graph has no such vertex, or another pass goes on.
    pub fn pass(&self, frontier: Option<&[VertexId]>) -> Result<Pass> {
        let vertices = self.0.engine.graph().vertices();
        let unknown = |v: &&VertexId| **v as usize >= vertices;
        if let Some(vertex) = frontier.and_then(|given| given.iter().find(unknown)) {
            let reason = format!("has the vertex {vertex}: the graph has {vertices} vertices");
            return Err(Error::parameter("frontier", reason));
        }
        let frontier = match frontier {
            None => None,
            Some(given) => {
                let mut set = Frontier::new(vertices).map_err(Error::from)?;
                set.set(given);
                Some(set)
            }
        };
        let reader = Arc::clone(&self.0);
        if reader.is_busy.swap(true, Ordering::Acquire) {
            let reason = "is visited by a pass that goes on: end it first, or open another visit";
            return Err(Error::parameter("the graph", reason));
        }
        let (sender, batches) = sync_channel(QUEUED_MAX);
        let work = Arc::clone(&self.0);
        let mut pass = Pass { reader, batches: Some(batches), thread: None };
        let started = Builder::new()
            .name("cenote-visit".to_owned())
            .spawn(move || work.read(frontier.as_ref(), &sender));
        pass.thread = Some(started.map_err(Error::io("cannot start the thread of a visit"))?);
        Ok(pass)
    }

    /// Most edges of a batch.
    pub fn batch_edges(&self) -> u64 {
        self.0.batch_edges
    }

    /// What all passes have read so far.
    pub fn stats(&self) -> RunStats {
        self.0.engine.stats()
    }
}

impl Reader {
    /// Sends all batches, then ends; also when there is an error, or the caller has left.
    fn read(&self, frontier: Option<&Frontier>, sender: &SyncSender<Result<ListBatch>>) {
        let active = frontier.map_or(ActiveSet::All, ActiveSet::In);
        let lists = self.engine.graph().adjacency(self.direction).expect("it was checked");
        let mut windows = Windows::new(lists, active, self.window_pages);
        let mut assembler = Assembler::new(self.weights, self.batch_edges / 2);
        while let Some(tasks) = windows.next() {
            let parts = window::read(&self.engine, self.direction, self.weights, active, &tasks);
            let batch = match parts {
                Ok(parts) => assembler.add(parts),
                Err(error) => return drop(sender.send(Err(error.into()))),
            };
            if batch.is_some_and(|batch| sender.send(Ok(batch)).is_err()) {
                return;
            }
        }
        if let Some(batch) = assembler.finish() {
            drop(sender.send(Ok(batch)));
        }
    }
}

/// A pass over lists: an iterator of batches. Dropping it ends the pass.
pub struct Pass {
    reader: Arc<Reader>,
    /// None once the pass has ended.
    batches: Option<Receiver<Result<ListBatch>>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("has_ended", &self.batches.is_none()).finish()
    }
}

impl Pass {
    /// The next batch, if it comes within a time. After an error there are no more.
    pub fn poll_for(&mut self, time: Duration) -> Poll<Option<Result<ListBatch>>> {
        let Some(batches) = &self.batches else { return Poll::Ready(None) };
        match batches.recv_timeout(time) {
            Ok(batch) => Poll::Ready(Some(batch)),
            Err(RecvTimeoutError::Timeout) => Poll::Pending,
            Err(RecvTimeoutError::Disconnected) => {
                if let Err(panic) = self.end() {
                    std::panic::resume_unwind(panic);
                }
                Poll::Ready(None)
            }
        }
    }

    /// Ends the thread, and lets the next pass begin.
    fn end(&mut self) -> std::thread::Result<()> {
        if self.batches.take().is_none() {
            return Ok(());
        }
        self.reader.stopped.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        self.reader.stopped.store(false, Ordering::Relaxed);
        self.reader.is_busy.store(false, Ordering::Release);
        ended
    }
}

impl Iterator for Pass {
    type Item = Result<ListBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Poll::Ready(batch) = self.poll_for(Duration::MAX) {
                return batch;
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        // A panic of the thread has been printed to stderr; a drop must not panic.
        drop(self.end());
    }
}

//! A graph that can change, with readers of older epochs.
//!
//! - [`Store`]: opens [`Graph`]s, each as of one epoch, and one transaction at a time
//! - [`Transaction`]: writes pages copy-on-write and commits them
//! - `live`: small batches of changes, which go to the log; `places`: where they belong in lists
//! - `flush`: makes a log, and writes flushes to it
//! - `delta_runs`: which changes become runs, and when runs are merged
//! - `draft`: pages of a commit to be; `beside`: merges while commits go on
//! - `allocator`: free pages, and when they can be reused
//! - `page_writer`: pages on their way to the device, neighbours together
//! - `rebuild`: rebuilds derived sections from the lists
//! - `snapshots`: makes and removes snapshots

mod allocator;
mod beside;
mod delta_runs;
pub(crate) mod draft;
mod flush;
mod live;
mod page_writer;
mod places;
mod rebuild;
mod snapshots;
pub(crate) mod transaction;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use cenote_device::threads::cores;
use cenote_device::{Buffer, Device, setters};
use cenote_pool::Pool;

use crate::commit::{Commit, Latest};
use crate::error::{PageError, Result, StoreError};
use crate::format::LOG_BLOCK_BYTES;
use crate::graph::Graph;
use crate::ids::IdRef;
use crate::log::{FlushPlace, LogArea, Pending};
use crate::pages::{LookupConfig, LookupPool};
use crate::readers::{Readers, lock};
use crate::snapshot::Snapshots;
use crate::superblock::Superblock;
use crate::update::Batch;
use crate::update::watch::{UNWATCHED, Watch};
use crate::{Direction, VertexId};

use allocator::Allocator;
use beside::Merging;
pub use beside::PreparedMerge;
use draft::Draft;
use flush::FlushWaits;
pub(crate) use live::Live;
pub use transaction::Transaction;

/// Pages that an update brings into memory at once.
pub(crate) const WINDOW_PAGES: u64 = 256;

/// Windows that an update has in memory: one that it changes, one that it reads, and room so that
/// neither is given up for the other.
const WINDOWS: u64 = 3;

/// Most threads that rewrite lists unless the caller asks for more.
const THREADS_MAX: usize = 4;

/// Reads of lists that are in flight.
const READ_DEPTH: usize = 32;

/// Large reads of lists that are in flight, where a window is read ahead.
pub(crate) const LOAD_DEPTH: usize = 8;

/// The bytes of such a read, of pages of so many: a window is [`LOAD_DEPTH`] of them.
pub(crate) fn load_bytes(page_bytes: usize) -> usize {
    let most = (LOAD_BYTES_MAX / page_bytes).max(1);
    most.min(WINDOW_PAGES as usize / LOAD_DEPTH) * page_bytes
}

/// Most bytes of such a read, but for larger pages.
const LOAD_BYTES_MAX: usize = 256 << 10;

/// Bytes of zeros that are written at once.
const ZEROS_BYTES: u64 = 1 << 20;

/// Most vertices that are new in runs and log: their lists share the last page.
const NEW_VERTICES_MAX: usize = u16::MAX as usize;

/// Most bytes of their ids.
const NEW_IDS_BYTES_MAX: usize = 16 << 20;

/// A graph that this process may change.
///
/// A [`Graph`] of a store does not change with later commits: its pages are not reused until it is
/// dropped. There is one writer at a time: the caller ensures that no other store has the graph
/// open; the callback of [`Store::open_shared`] reports the readers elsewhere, whose pages are
/// kept.
#[derive(Debug)]
pub struct Store {
    device: Arc<dyn Device>,
    file: Arc<str>,
    state: Mutex<State>,
    /// A transaction holds it from its beginning to its end.
    live: Mutex<Live>,
    flush_waits: FlushWaits,
    limits: WriteLimits,
    readers: Arc<Readers>,
    elsewhere: Elsewhere,
    cut_flush: Option<PageError>,
}

/// What a writer may let grow before it merges changes into the lists, and how it writes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteLimits {
    /// Most bytes of a log that is made; it takes a quarter of the graph, but at least 1 MiB. For 0
    /// none is made.
    pub bytes: u64,
    /// Most changes of edges in the log, with those that cancel each other out. Each takes
    /// [`WriteLimits::CHANGE_BYTES`] of memory, and 32 bytes of a reader's, 40 or 48 with a weight.
    pub changes: usize,
    /// Most bytes of delta runs, in percent of those of the lists, of packed ones as if they were
    /// raw: a full log becomes a run while there is room, else it is merged into the lists with all
    /// runs. For 0 none does. Passes over the lists take longer the more there is in runs.
    pub run_percent: u64,
    /// The same for batches that are too large for the log: in a series of them it is faster to
    /// merge more at a time. [`Store::settle`] ends the series.
    pub bulk_run_percent: u64,
    /// The same for small batches while the caller merges beside its commits, with
    /// [`Store::prepare_merge`] whenever [`Store::is_merge_due`]; not more than `run_percent` where
    /// it does not.
    pub beside_percent: u64,
    /// Most bytes of delta runs that a writer keeps in memory, beside a few pages of each run.
    pub run_bytes: u64,
    /// Bytes of pages that a writer keeps in memory, at least those that a merge reads at once:
    /// what small batches look up again is not read again.
    pub page_bytes: u64,
    /// Most requests of a commit that are in flight.
    pub write_depth: usize,
    /// Most bytes of each, but a page at least: neighbouring pages are written together.
    pub write_bytes: usize,
    /// Threads that rewrite lists and look for the places of changes in them.
    pub threads: usize,
    /// The fewest pages of lists that are worth these threads.
    pub thread_pages: u64,
    /// Whether a flush is synced. If not, the last batches may be lost in a power cut, but none in
    /// part and none before another that is there.
    pub synced: bool,
}

impl Default for WriteLimits {
    /// 64 MiB and 262,144 changes, synced, and runs of 4% of the lists, of 50% during a series of
    /// large batches; as many threads as there are cores, but at most 4.
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            changes: 1 << 18,
            run_percent: 4,
            bulk_run_percent: 50,
            beside_percent: 0,
            run_bytes: 16 << 20,
            page_bytes: 0,
            write_depth: 16,
            write_bytes: 64 << 10,
            threads: cores().min(THREADS_MAX),
            thread_pages: 128,
            synced: true,
        }
    }
}

impl WriteLimits {
    setters! { bytes: u64, changes: usize, run_percent: u64, run_bytes: u64 }
    setters! { bulk_run_percent: u64, beside_percent: u64, page_bytes: u64, synced: bool }
    setters! { write_depth: usize, write_bytes: usize, threads: usize, thread_pages: u64 }

    /// Bytes of a writer's memory for a change of the log: as it is pending, as it is durable, and
    /// the numbers of its lists.
    pub const CHANGE_BYTES: usize = 250;

    /// Most changes of a batch that goes to the log. For more a pass over their lists is faster
    /// than to look up the place of each.
    pub const LOGGED_MAX: usize = 1 << 14;

    /// Bytes of memory for pages, of so many bytes, and delta runs that are kept, once the graph is
    /// large: [`Store::kept_bytes`] are fewer before, but for a few pages of each run.
    pub fn kept_bytes_max(&self, page_bytes: usize) -> u64 {
        let frame_bytes = Pool::frame_bytes(page_bytes);
        let frames = (self.page_bytes / frame_bytes).max(WINDOWS * WINDOW_PAGES);
        frames * frame_bytes + self.run_bytes
    }

    /// Bytes of the log of a graph.
    fn bytes_of(&self, graph_bytes: u64) -> u64 {
        (graph_bytes / 4).max(1 << 20).min(self.bytes)
    }
}

/// The oldest epoch that readers outside of a store use.
struct Elsewhere(Box<dyn Fn() -> Result<Option<u64>> + Send + Sync>);

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

#[derive(Debug)]
struct State {
    commit: Commit,
    /// Those of the commit.
    snapshots: Arc<Snapshots>,
    /// The changes of the log that are durable.
    pending: Pending,
    /// The merge beside commits that has begun.
    merging: Option<Merging>,
    /// Set by a failed write, after which the content of the device is unknown.
    poisoned: bool,
}

impl Store {
    /// Opens a graph that no other process has open.
    ///
    /// # Errors
    /// As [`Store::open_shared`].
    pub fn open(device: Arc<dyn Device>) -> Result<Self> {
        Self::open_shared(device, || Ok(None))
    }

    /// Opens a graph for changes, makes what it finds durable, and erases the slot of an
    /// interrupted commit. `oldest` returns the oldest epoch that is read by graphs not of this
    /// store; each transaction calls it once.
    ///
    /// # Errors
    /// As [`Graph::open`], and if the device cannot be written to.
    pub fn open_shared(
        device: Arc<dyn Device>,
        oldest: impl Fn() -> Result<Option<u64>> + Send + Sync + 'static,
    ) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let Latest { mut commit, pending, log, .. } = Latest::read(device.as_ref(), &file, true)?;
        let snapshots = Arc::new(Snapshots::of(device.as_ref(), &file, &commit)?);
        // A process may have ended between a write and its sync, so that a power cut would undo
        // what is found here, below what is written next.
        device.sync()?;
        let mut is_changed = false;
        if commit.other_slot.take().is_some() {
            let page_bytes = u64::from(commit.superblock.page_bytes);
            write_zeros(device.as_ref(), commit.superblock.other_slot() * page_bytes, page_bytes)?;
            is_changed = true;
        }
        let mut cut_flush = None;
        let mut next = FlushPlace::FIRST;
        if let Some(end) = log {
            let area = LogArea::of(&commit.superblock);
            if end.has_rest {
                let blocks = area.blocks() - end.next.block;
                let bytes = blocks * LOG_BLOCK_BYTES as u64;
                write_zeros(device.as_ref(), area.offset(end.next.block), bytes)?;
                is_changed = true;
            }
            cut_flush = end.cut_flush(&file, &commit.superblock);
            next = end.next;
        }
        if is_changed {
            device.sync()?;
        }
        let live = Mutex::new(Live::new(pending.clone(), next));
        Ok(Self {
            device,
            file,
            state: Mutex::new(State { commit, snapshots, pending, merging: None, poisoned: false }),
            live,
            flush_waits: FlushWaits::default(),
            limits: WriteLimits::default(),
            readers: Arc::default(),
            elsewhere: Elsewhere(Box::new(oldest)),
            cut_flush,
        })
    }

    /// Sets the limits; they are those of [`WriteLimits::default`] otherwise.
    pub fn with_limits(mut self, limits: WriteLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What was wrong with the last flush of the log when the store was opened: a crash during a
    /// commit leaves a part of one.
    pub fn cut_flush_fault(&self) -> Option<&PageError> {
        self.cut_flush.as_ref()
    }

    /// The superblock of the newest commit, with the changes of the log.
    pub fn superblock(&self) -> Superblock {
        let live = lock(&self.live);
        live.pending().superblock(&lock(&self.state).commit.superblock)
    }

    /// Bytes of memory of the indexes, the ids and the snapshots, which a writer holds, of the
    /// pages that it reads, and of as many changes as the log may have. Loads the indexes where
    /// they are not yet.
    pub fn memory_bytes(&self) -> Result<u64> {
        let mut live = lock(&self.live);
        let (graph, ids) = (self.base_graph(&mut live)?, self.base_ids(&mut live)?);
        for direction in [Direction::Out, Direction::In] {
            graph.load_weights(direction)?;
        }
        // Pages are counted below, also those of ids.
        let indexes = graph.index_bytes() + ids.appended_bytes();
        // Look-ups of the log have pages of their own.
        let frames = self.frames(graph.superblock()) + WINDOWS * WINDOW_PAGES;
        let pages = frames * Pool::frame_bytes(graph.page_bytes());
        let changes = match graph.superblock().logs_edges() {
            true => live.memory_bytes(&self.limits) as u64,
            false => 0,
        };
        let snapshots = lock(&self.state).snapshots.memory_bytes();
        Ok((indexes + snapshots) as u64 + pages + changes)
    }

    /// Bytes of [`Store::memory_bytes`] for pages and delta runs that are kept.
    pub fn kept_bytes(&self) -> Result<u64> {
        let graph = self.base_graph(&mut lock(&self.live))?;
        let pages = self.frames(graph.superblock()) * Pool::frame_bytes(graph.page_bytes());
        Ok(pages + graph.run_bytes() as u64)
    }

    /// Bytes of [`Store::memory_bytes`] that stay free during a commit of more than
    /// [`WriteLimits::LOGGED_MAX`] changes, since none of them goes to the log.
    ///
    /// # Errors
    /// As [`Store::memory_bytes`].
    pub fn free_log_bytes(&self) -> Result<u64> {
        let mut live = lock(&self.live);
        if !self.base_graph(&mut live)?.superblock().logs_edges() {
            return Ok(0);
        }
        // A commit may have fewer changes than were wanted, and go to the log after all.
        let changes = live.pending().logged_changes + WriteLimits::LOGGED_MAX;
        let used = WriteLimits { changes, ..self.limits };
        Ok(live.memory_bytes(&self.limits).saturating_sub(live.memory_bytes(&used)) as u64)
    }

    /// Number of changes in the log, which the lists do not have yet.
    pub fn logged_changes(&self) -> u64 {
        lock(&self.live).pending().edges.len() as u64
    }

    /// The epoch of the newest commit.
    pub fn epoch(&self) -> u64 {
        lock(&self.state).commit.superblock.epoch
    }

    /// Number of vertices, the deleted ones included, with those of batches that are becoming
    /// durable.
    pub fn vertices(&self) -> u64 {
        lock(&self.live).pending().counts.vertices
    }

    /// Opens the graph as of the newest commit and the changes of the log, and loads its indexes.
    pub fn graph(&self, plan: impl FnOnce(&Superblock) -> LookupConfig) -> Result<Graph> {
        let (latest, pin) = {
            // Pin before another commit can make this epoch an old one.
            let state = lock(&self.state);
            let (commit, pending) = (state.commit.clone(), state.pending.clone());
            let pin = self.readers.pin(commit.superblock.epoch);
            (Latest { pending, ..Latest::without_log(commit) }, pin)
        };
        Graph::of(Arc::clone(&self.device), Arc::clone(&self.file), latest, plan, Some(pin))
    }

    /// Pages that a writer keeps in memory.
    fn frames(&self, superblock: &Superblock) -> u64 {
        let frames = self.limits.page_bytes / Pool::frame_bytes(superblock.page_bytes as usize);
        frames.min(superblock.pages_total).max(WINDOWS * WINDOW_PAGES)
    }

    /// The graph as of the newest commit, for a writer, with pages that one before it had in
    /// memory.
    fn committed(&self, pool: Option<Arc<LookupPool>>) -> Result<Graph> {
        let latest = Latest::without_log(lock(&self.state).commit.clone());
        let lookups = LookupConfig::default();
        let frames = self.frames(&latest.commit.superblock);
        let lookups = lookups.frames(frames).read_depth(READ_DEPTH);
        let lookups = lookups.run_bytes(self.limits.run_bytes);
        let (device, file) = (Arc::clone(&self.device), Arc::clone(&self.file));
        Graph::with_pool(device, file, latest, lookups, None, pool)
    }

    /// The integer ids below this number are the numbers of their vertices, deleted ones too.
    pub fn own_numbers(&self) -> Result<VertexId> {
        let mut live = lock(&self.live);
        Ok(self.base_ids(&mut live)?.own_numbers())
    }

    /// The vertices of ids, which ascend, deleted ones too; `None` where the graph has no such id.
    pub fn vertices_of(&self, ids: &[IdRef<'_>]) -> Result<Vec<Option<VertexId>>> {
        let mut live = lock(&self.live);
        loop {
            let (base, pin) = (self.base_ids(&mut live)?, self.readers.pin(self.epoch()));
            drop(live);
            let mut vertices = base.numbers_of(ids)?;
            drop(pin);
            live = lock(&self.live);
            // A merge beside may have moved ids from the log to the commit meanwhile.
            if Arc::ptr_eq(&base, &self.base_ids(&mut live)?) {
                live.add_named(ids, &mut vertices);
                return Ok(vertices);
            }
        }
    }

    /// Where the log of the newest commit lies, if there is one.
    fn log_area(&self) -> Option<LogArea> {
        let state = lock(&self.state);
        let superblock = &state.commit.superblock;
        (!superblock.log.is_empty()).then(|| LogArea::of(superblock))
    }

    fn check_health(&self) -> Result<()> {
        match lock(&self.state).poisoned {
            true => Err(StoreError::Poisoned { file: self.file.to_string() }),
            false => Ok(()),
        }
    }

    /// Begins a transaction; waits for the previous one to end. Merges the changes of delta runs
    /// and log first.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] after a failed write, errors of opening a queue, and those of
    /// [`Store::merge`].
    pub fn begin(&self) -> Result<Transaction<'_>> {
        self.begin_watched(UNWATCHED)
    }

    /// As [`Store::begin`], watched while it merges.
    pub(crate) fn begin_watched<'s>(&'s self, watch: Watch<'s>) -> Result<Transaction<'s>> {
        loop {
            let live = self.quiet(lock(&self.live));
            let has_runs = lock(&self.state).commit.superblock.has_delta_runs();
            if live.pending().is_empty() && !has_runs {
                return self.begin_with(live, watch);
            }
            self.update_with(live, &Batch::default(), watch)?;
        }
    }

    pub(crate) fn begin_with<'s>(
        &'s self,
        live: MutexGuard<'s, Live>,
        watch: Watch<'s>,
    ) -> Result<Transaction<'s>> {
        self.check_health()?;
        let (commit, snapshots) = {
            let state = lock(&self.state);
            (state.commit.clone(), Arc::clone(&state.snapshots))
        };
        let allocator = self.allocator(&commit, &snapshots)?;
        let draft = Draft::new(self, commit, allocator, watch)?;
        Ok(Transaction::new(live, draft, snapshots))
    }

    /// The pages that the next commit may write to.
    fn allocator(&self, commit: &Commit, snapshots: &Snapshots) -> Result<Allocator> {
        let oldest = [self.readers.oldest(), (self.elsewhere.0)()?].into_iter().flatten().min();
        // The other slot holds the previous epoch.
        let reusable = (commit.superblock.epoch - 1).min(oldest.unwrap_or(u64::MAX));
        let (free, end) = (&commit.extents.free, commit.superblock.pages_total);
        match &lock(&self.state).merging {
            None => Ok(Allocator::new(free, end, reusable, &snapshots.pages)),
            Some(merging) => Ok(merging.allocator((free, end), reusable, &snapshots.pages)),
        }
    }

    fn publish(&self, commit: Commit, snapshots: Arc<Snapshots>) -> Result<()> {
        self.device.sync()?;
        commit.publish(self.device.as_ref())?;
        let mut state = lock(&self.state);
        state.pending = Pending::new(&commit.superblock);
        (state.commit, state.snapshots) = (commit, snapshots);
        Ok(())
    }
}

/// Writes zeros, which are durable after a sync.
fn write_zeros(device: &dyn Device, offset: u64, bytes: u64) -> Result<()> {
    let mut buffer = Buffer::new(bytes.min(ZEROS_BYTES) as usize)?;
    let mut done = 0;
    while done < bytes {
        let len = (bytes - done).min(ZEROS_BYTES) as usize;
        buffer = cenote_device::write_all(device, offset + done, len, buffer)?;
        done += len as u64;
    }
    Ok(())
}

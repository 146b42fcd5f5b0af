//! Merges delta runs into the lists while commits go on.
//!
//! A merge is prepared without holding up the writer: it reads the runs and lists of the commit
//! with which it begins and writes the pages of new lists, indexes and lengths to places that no
//! commit uses. Commits go on meanwhile; their changes lie in the log and in later runs, which name
//! pages of the lists before. The last step is a commit like any other: it names the new pages, and
//! writes the changes that came meanwhile as one run, with their places in the new lists.
//!
//! - A commit meanwhile keeps the lists and the runs that are being merged
//!   ([`RunIndex::next_run`](crate::runs::index::RunIndex::next_run)) and does not allocate the
//!   pages of the merge. In its free list they are free, so after a crash they are.
//! - A commit that rewrites lists supersedes the merge, which then ends and changes nothing.
//! - A page of the new lists has the epoch after the one with which the merge began. No other page
//!   in its place ever has that epoch, because no commit allocates it before the merge ends.

use std::ops::Range;

use cenote_pool::{PageId, Pool};

#[cfg(doc)]
use super::Transaction;
use super::allocator::Allocator;
use super::delta_runs::{list_pages, pages_of_run, run_pages, run_pages_max};
use super::draft::{Draft, Made};
use super::{LOAD_DEPTH, Store, WINDOW_PAGES, WINDOWS, load_bytes};
use crate::commit::{Commit, Latest};
use crate::delta::ListDelta;
use crate::error::{Result, StoreError};
use crate::format::LOG_BLOCK_BYTES;
use crate::graph::Graph;
use crate::log::{LoggedBatch, Pending, log_fault};
use crate::pages::LookupConfig;
use crate::readers::{Pin, lock};
use crate::runs::index::RunIndex;
use crate::runs::write::RunWriter;
use crate::superblock::SectionKind;
use crate::table::{Extent, Extents};
use crate::update::rebase::{Rebase, Rebased};
use crate::update::watch::{UNWATCHED, Watch};
use crate::update::{Batch, Update, Updated};
use crate::{Direction, VertexId};

/// A merge beside commits, as these have to know of it.
#[derive(Debug)]
pub(super) struct Merging {
    /// The commit with which it began.
    epoch: u64,
    /// So many runs are merged.
    runs: usize,
    /// Physical pages that it may write to, ascending.
    reserved: Vec<Range<PageId>>,
    /// A commit has rewritten lists.
    is_superseded: bool,
}

impl Merging {
    pub fn runs(&self) -> usize {
        if self.is_superseded { 0 } else { self.runs }
    }

    /// The pages that a commit may write to meanwhile; see [`Allocator::new`].
    pub fn allocator(
        &self,
        (free, end): (&[Extent], PageId),
        oldest: u64,
        kept: &[Range<PageId>],
    ) -> Allocator {
        let mut all: Vec<Range<PageId>> = [kept, &self.reserved].concat();
        all.sort_unstable_by_key(|pages| pages.start);
        let mut allocator = Allocator::new(free, end, oldest, &all);
        let reserved_to = self.reserved.last().map_or(0, |pages| pages.end);
        allocator.reserve_to(reserved_to, self.epoch);
        allocator
    }
}

/// Ends what a merge beside commits holds.
#[derive(Debug)]
struct Reservation<'s>(&'s Store);

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).merging = None;
    }
}

/// New lists that wait for their commit.
#[must_use = "nothing is merged before `finish`"]
#[derive(Debug)]
pub struct PreparedMerge<'s> {
    made: Made,
    /// The epoch of its pages.
    written: u64,
    /// How many runs are merged.
    runs: usize,
    /// The graph with the new lists and without any run.
    after: Graph,
    updated: Updated,
    reservation: Reservation<'s>,
}

impl Store {
    /// Whether there are delta runs that leave no room for one more full log in
    /// [`run_percent`](super::WriteLimits::run_percent), and that with the log take at least a
    /// quarter of one or of this room: it is time to merge them, while commits have the room of
    /// [`beside_percent`](super::WriteLimits::beside_percent).
    pub fn is_merge_due(&self) -> Result<bool> {
        let Some(area) = self.log_area() else { return Ok(false) };
        let (graph, pending) = {
            let mut live = lock(&self.live);
            (self.base_graph(&mut live)?, live.pending().edges.len() as u64)
        };
        let bytes = area.blocks() * LOG_BLOCK_BYTES as u64;
        let changes =
            (bytes / LoggedBatch::change_bytes(None) as u64).min(self.limits.changes as u64);
        let most = run_pages_max(&graph, self.limits.run_percent);
        let (runs, full) = (run_pages(&graph), pages_of_run(&graph, changes));
        let both = runs + pages_of_run(&graph, pending);
        // What was committed during a merge is a run after it. In a graph with less room than for a
        // full log each commit would begin the next merge if any run were due.
        Ok(graph.runs() > 0 && runs + full > most && 4 * both >= full.min(most))
    }

    /// Whether there is room for a batch neither in the log nor in a run, so that its commit would
    /// rewrite the lists.
    pub fn has_no_room(&self, batch: &Batch) -> Result<bool> {
        let Some(area) = self.log_area() else { return Ok(false) };
        let mut live = lock(&self.live);
        self.base_graph(&mut live)?;
        Ok(!live.has_room(&area, &self.limits, batch)
            && !self.has_room_for_run(&live, batch, batch.changes.len()))
    }

    /// Most bytes of memory of a merge beside commits.
    pub fn beside_bytes(&self) -> Result<u64> {
        let graph = self.base_graph(&mut lock(&self.live))?;
        let frames = WINDOWS * WINDOW_PAGES * Pool::frame_bytes(graph.page_bytes());
        let indexes = (graph.index_bytes() - graph.run_bytes()) as u64;
        // Indexes and page table are there as before and as after the merge; no runs are kept.
        let reads = (LOAD_DEPTH * load_bytes(graph.page_bytes())) as u64;
        Ok(frames + reads + 2 * indexes + list_pages(&graph) * PAGE_BYTES)
    }

    /// Writes the lists with the changes of all delta runs, while other threads commit; nothing
    /// changes before [`PreparedMerge::finish`]. `None` if there are no runs, if another merge is
    /// under way, or if a commit has rewritten the lists meanwhile. `watch` may commit, too.
    ///
    /// In memory: the indexes of the graph twice more, 4 MiB of pages of 4 KiB, and 64 bytes for
    /// each page of lists.
    ///
    /// # Errors
    /// [`StoreError::Cancelled`]; errors of reading and writing. The graph stays as it was.
    pub fn prepare_merge(&self, watch: Watch<'_>) -> Result<Option<PreparedMerge<'_>>> {
        let Some((commit, runs, pin)) = self.begin_beside()? else { return Ok(None) };
        let reservation = Reservation(self);
        match self.prepare(reservation, (commit, runs, pin), watch) {
            Ok(prepared) => Ok(Some(prepared)),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Superseded) => Ok(None),
        }
    }

    fn begin_beside(&self) -> Result<Option<(Commit, usize, Pin)>> {
        self.check_health()?;
        let mut live = lock(&self.live);
        let graph = self.base_graph(&mut live)?;
        let mut state = lock(&self.state);
        let runs = graph.runs();
        if state.merging.is_some() || runs == 0 {
            return Ok(None);
        }
        let commit = state.commit.clone();
        let epoch = commit.superblock.epoch;
        let reserved = Vec::new();
        state.merging = Some(Merging { epoch, runs, reserved, is_superseded: false });
        Ok(Some((commit, runs, self.readers.pin(epoch))))
    }

    fn prepare<'s>(
        &'s self,
        reservation: Reservation<'s>,
        (commit, runs, pin): (Commit, usize, Pin),
        watch: Watch<'_>,
    ) -> std::result::Result<PreparedMerge<'s>, Stop> {
        let mut draft = Draft::new(self, commit.clone(), Allocator::empty(), watch)?.beside();
        let lookups = LookupConfig::default().frames(WINDOWS * WINDOW_PAGES).run_bytes(0);
        let open = |commit, pin| {
            let (device, file) = (self.device.clone(), self.file.clone());
            Graph::of(device, file, Latest::without_log(commit), |_| lookups, pin)
        };
        let before = open(commit, Some(pin))?;
        let vertices = before.vertices() as VertexId;
        let mut updated = Updated {
            merged_entries: before.run_changes(),
            ..Updated::unchanged(before.superblock().epoch)
        };
        let batch = Batch::default();
        let mut update = Update { graph: &before, draft: &mut draft, batch: &batch, vertices };
        let rewritten = update.lists(&mut updated);
        rewritten.map_err(|error| self.stop(error))?;
        draft.remove(SectionKind::DeltaRuns);
        draft.remove(SectionKind::DeltaIndex);
        draft.superblock().listed_vertices = vertices.into();
        draft.settle()?;
        drop(before);
        updated.pages_written = draft.pages_written();
        let extents = Extents { table: draft.table(), ..Extents::default() };
        let superblock = draft.superblock().clone();
        let written = superblock.epoch;
        let after = open(Commit { superblock, extents, other_slot: None }, None)?;
        let made = std::mem::take(&mut draft.made);
        Ok(PreparedMerge { made, written, runs, after, updated, reservation })
    }

    /// Why a merge beside commits ends.
    fn stop(&self, error: StoreError) -> Stop {
        if self.is_superseded() { Stop::Superseded } else { Stop::Failed(error) }
    }

    /// Whether a commit has rewritten the lists since the merge beside commits began.
    pub(super) fn is_superseded(&self) -> bool {
        lock(&self.state).merging.as_ref().is_none_or(|merging| merging.is_superseded)
    }

    /// A commit has rewritten lists or removed runs.
    pub(super) fn supersede_merge(&self) {
        if let Some(merging) = &mut lock(&self.state).merging {
            merging.is_superseded = true;
        }
    }

    /// Reserves pages for a merge beside commits: no commit allocates them before it ends.
    pub(super) fn reserve(&self, pages: u64) -> Result<Allocator> {
        // No transaction is under way.
        let _live = lock(&self.live);
        self.check_health()?;
        let (commit, snapshots) = {
            let state = lock(&self.state);
            (state.commit.clone(), state.snapshots.clone())
        };
        let mut allocator = self.allocator(&commit, &snapshots)?;
        let mut state = lock(&self.state);
        let merging = state.merging.as_mut().filter(|merging| !merging.is_superseded);
        let cancelled = || StoreError::Cancelled { file: self.file.to_string() };
        let merging = merging.ok_or_else(cancelled)?;
        let mut new: Vec<Range<PageId>> = Vec::new();
        for _ in 0..pages {
            let page = allocator.allocate();
            match new.last_mut() {
                Some(last) if last.end == page => last.end += 1,
                _ => new.push(page..page + 1),
            }
        }
        merging.reserved.extend(new.iter().cloned());
        merging.reserved.sort_unstable_by_key(|pages| pages.start);
        Ok(Allocator::of(&new))
    }
}

/// Bytes of memory for a page of lists: its index word twice, its first entry and lengths, and the
/// spans of the list that goes on in it.
const PAGE_BYTES: u64 = 64;

enum Stop {
    Superseded,
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl PreparedMerge<'_> {
    /// Makes the new lists those of the graph, in a commit that is durable when this returns. It
    /// writes the changes that were committed meanwhile as a delta run. `None`, and nothing
    /// changes, if a commit has rewritten the lists meanwhile, or if the new lists cannot have
    /// these changes as a run ([`Store::merge`] can merge them).
    ///
    /// # Errors
    /// Errors of reading, and those of [`Transaction::commit`].
    pub fn finish(self) -> Result<Option<Updated>> {
        let Self { mut made, written, runs, after, mut updated, reservation } = self;
        let store = reservation.0;
        let live = store.quiet(store.lock_live());
        if store.is_superseded() {
            return Ok(None);
        }
        let mut transaction = store.begin_with(live, UNWATCHED)?;
        let (graph, lists) = (transaction.base()?, std::mem::take(&mut made.lists));
        let pending = transaction.pending();
        let (counts, new_ids) = (pending.counts, pending.new_ids.clone());
        let mut meanwhile = Vec::new();
        for (direction, pages) in &lists {
            let delta = since(&graph, *direction, runs, pending)?;
            let [before, after] = [&*graph, &after].map(|graph| graph.adjacency(*direction));
            let (before, after) = before.zip(after).expect("both have this direction");
            let rebase = Rebase { before, delta, after, pages };
            let Some(rebased) = rebase.plan()? else { return Ok(None) };
            meanwhile.push((*direction, rebase, rebased));
        }
        let is_merged = meanwhile.iter().all(|(.., rebased)| rebased.edits == 0);
        if is_merged && counts.vertices > after.vertices() as u64 {
            // Without a run the lists would lack the vertices.
            return Ok(None);
        }
        updated.spilled = pending.edges.len() as u64;
        transaction.adopt(made, written);
        if !is_merged {
            write_run(&mut transaction.draft, &graph, &meanwhile)?;
        }
        let batch = Batch { new_ids, ..Batch::default() };
        let vertices = counts.vertices as VertexId;
        let mut update =
            Update { graph: &graph, draft: &mut transaction.draft, batch: &batch, vertices };
        update.ids()?;
        let superblock = transaction.superblock();
        superblock.listed_vertices = after.vertices() as u64;
        counts.set(superblock);
        updated.pages_written += transaction.draft.pages_written();
        updated.epoch = transaction.commit()?;
        Ok(Some(updated))
    }
}

/// The changes of a direction from runs behind the first ones, and from the log.
fn since(graph: &Graph, direction: Direction, runs: usize, pending: &Pending) -> Result<ListDelta> {
    let lists = graph.adjacency(direction).expect("the graph has this direction");
    let delta = lists.with_log(lists.runs_from(runs), pending, direction, graph.is_directed());
    delta.map_err(|fault| log_fault(graph.file(), graph.superblock(), fault))
}

/// Writes the changes that came meanwhile as the only run.
fn write_run(
    draft: &mut Draft<'_>,
    graph: &Graph,
    meanwhile: &[(Direction, Rebase<'_>, Rebased)],
) -> Result<()> {
    let mut writer = RunWriter::begin(draft, graph, &RunIndex::default(), (0, 0))?;
    for (direction, rebase, rebased) in meanwhile {
        rebase.for_each_group(rebased, &mut |group| writer.group(group))?;
        writer.end(*direction)?;
    }
    writer.finish()
}

//! The writer's side of the log: small batches that become durable without a commit.
//!
//! Threads that commit at the same time share a flush (`flush`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, MutexGuard};

use cenote_device::Queue;
use cenote_pool::Handle;

use super::delta_runs::is_for_commit;
use super::places::{Finder, Nets, Place};
use super::{
    NEW_IDS_BYTES_MAX, NEW_VERTICES_MAX, READ_DEPTH, Store, WINDOW_PAGES, WINDOWS, WriteLimits,
};
use crate::degrees::longer;
use crate::error::Result;
use crate::graph::Graph;
use crate::ids::{Id, IdRef, Ids};
use crate::log::{EdgeOp, FlushPlace, LogArea, LoggedBatch, LoggedChange};
use crate::log::{Pending, PendingEdge, encoded_id_bytes};
use crate::pages::LookupPool;
use crate::readers::lock;
use crate::superblock::Superblock;
use crate::update::watch::{UNWATCHED, Watch};
use crate::update::{Answer, Batch, Change, Op, Updated, check};
use crate::weights::{Weight, WeightType};
use crate::{Direction, VertexId};

/// Changes whose pages are read ahead together.
const AHEAD_CHANGES: usize = 512;

/// Copies of a new id in memory: as it is pending, as it is durable, and to look it up.
const NEW_ID_COPIES: usize = 3;

/// Most threads that read ahead at the same time, for which the pool has frames enough; and most
/// handles that are kept for the next commits.
const HANDLES_MAX: usize = 16;
const _: () = assert!((HANDLES_MAX + 1) * READ_DEPTH < (WINDOWS * WINDOW_PAGES) as usize);

/// Changes since the last commit, and the flushes that make them durable.
#[derive(Debug)]
pub(crate) struct Live {
    /// With batches that are not durable yet.
    pending: Pending,
    /// The vertices of pending ids.
    named: HashMap<Id, VertexId>,
    /// Where the next flush goes.
    pub(super) next: FlushPlace,
    /// All flushes up to this one are synced.
    pub(super) durable: u64,
    /// The batches of the next flush.
    pub(super) queued: Vec<LoggedBatch>,
    pub(super) queued_bytes: usize,
    pub(super) is_flushing: bool,
    /// Batches that were queued and that are in the log, since the store was opened.
    pub(super) batches: u64,
    pub(super) batches_logged: u64,
    /// What look-ups need, from the first one on.
    base: Option<Base>,
    /// For the next base.
    kept_pages: Option<KeptPages>,
    /// A queue for the next flush.
    pub(super) log_queue: Idle<Box<dyn Queue>>,
}

#[derive(Debug)]
struct Base {
    /// The graph of the last commit.
    graph: Arc<Graph>,
    ids: Arc<Ids>,
    nets: Nets,
    handles: Idle<Handle>,
    /// Threads that read ahead without the lock.
    readers: usize,
}

/// What look-ups of one commit leave for the next one, which has the same lists and ids.
#[derive(Debug)]
pub(crate) struct KeptPages {
    pool: Arc<LookupPool>,
    handles: Idle<Handle>,
}

/// What is kept for the next thread that needs it: to open a queue takes longer than to use it.
pub(super) struct Idle<T>(pub Vec<T>);

impl<T> fmt::Debug for Idle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} idle", self.0.len())
    }
}

impl Base {
    fn for_look_ups(&mut self) -> Result<(Arc<Graph>, Handle)> {
        let handle = match self.handles.0.pop() {
            Some(handle) => handle,
            None => self.graph.handle_of_any_thread()?,
        };
        Ok((Arc::clone(&self.graph), handle))
    }
}

/// What becomes of a change.
enum Outcome {
    Answer(Answer),
    Change(Logged),
    /// A page could not be read with one change more.
    NoRoom,
}

struct Logged {
    change: LoggedChange,
    places: [Option<Place>; 2],
    /// What became of the edge before.
    before: Option<PendingEdge>,
}

impl Live {
    pub fn new(pending: Pending, next: FlushPlace) -> Self {
        let base = pending.counts.vertices as usize - pending.new_ids.len();
        let named = (base..).zip(&pending.new_ids).map(|(v, id)| (id.clone(), v as VertexId));
        Self {
            named: named.collect(),
            pending,
            next,
            durable: next.number - 1,
            queued: Vec::new(),
            queued_bytes: 0,
            is_flushing: false,
            batches: 0,
            batches_logged: 0,
            base: None,
            kept_pages: None,
            log_queue: Idle(Vec::new()),
        }
    }

    pub fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Bytes of memory for as many changes as the log may have, and for the new ids that it has.
    pub fn memory_bytes(&self, limits: &WriteLimits) -> usize {
        let Pending { logged_changes, ref new_ids, id_bytes, .. } = self.pending;
        let most = if limits.bytes == 0 { 0 } else { limits.changes };
        let changes = logged_changes.max(most).saturating_mul(WriteLimits::CHANGE_BYTES);
        changes.saturating_add(NEW_ID_COPIES * (new_ids.len() * size_of::<Id>() + id_bytes))
    }

    /// A commit has taken all changes. `keeps_pages` if lists and ids lie where they lay.
    pub fn reset(&mut self, superblock: &Superblock, keeps_pages: bool) {
        let batches = self.batches;
        let base = self.base.take().filter(|_| keeps_pages);
        let kept = base.map(|Base { graph, handles, .. }| KeptPages {
            pool: graph.pages.lookup_pool(),
            handles,
        });
        let log_queue = std::mem::replace(&mut self.log_queue, Idle(Vec::new()));
        *self = Self::new(Pending::new(superblock), FlushPlace::FIRST);
        (self.batches, self.batches_logged, self.log_queue) = (batches, batches, log_queue);
        self.kept_pages = kept;
    }

    /// Sets the vertices of ids that only the log has.
    pub fn add_named(&self, ids: &[IdRef<'_>], vertices: &mut [Option<VertexId>]) {
        if self.named.is_empty() {
            return;
        }
        for (id, vertex) in ids.iter().zip(vertices).filter(|(_, vertex)| vertex.is_none()) {
            *vertex = self.named.get(&id.to_id()).copied();
        }
    }

    pub(super) fn has_room(&self, area: &LogArea, limits: &WriteLimits, batch: &Batch) -> bool {
        let weights = self.weight_type();
        let bytes = LoggedBatch::encoded_bytes(&batch.new_ids, batch.changes.len(), weights);
        let blocks = LogArea::blocks_for(self.queued_bytes + bytes);
        // A graph without vertices has no page to read new lists with.
        self.base().graph.vertices() > 0
            && batch.changes.len() <= WriteLimits::LOGGED_MAX
            && self.next.block + blocks <= area.blocks()
            && self.pending.logged_changes + batch.changes.len() <= limits.changes
            && self.new_vertices() + batch.new_ids.len() <= NEW_VERTICES_MAX
            && self.pending.id_bytes + encoded_id_bytes(&batch.new_ids) <= NEW_IDS_BYTES_MAX
    }

    /// Vertices of runs and log, whose lists share the last page.
    pub(super) fn new_vertices(&self) -> usize {
        let graph = &self.base().graph;
        let listed = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_vertices());
        self.pending.new_ids.len() + graph.vertices() - listed as usize
    }

    /// Adds a batch to the pending changes, or none of it if it does not fit.
    fn place(
        &mut self,
        batch: &Batch,
        finder: &mut Finder<'_>,
    ) -> Result<Option<(LoggedBatch, Vec<Answer>)>> {
        let before = self.pending.counts;
        let mut made = Vec::new();
        let mut answers = Vec::with_capacity(batch.changes.len());
        self.pending.add_ids(&batch.new_ids);
        let placed = self.place_each(batch, finder, &mut made, &mut answers);
        if !matches!(placed, Ok(true)) {
            for logged in made.iter().rev() {
                self.pending.put_back(&logged.change, logged.before);
                self.count(logged, -1);
            }
            self.pending.take_back_ids(batch.new_ids.len());
            self.pending.counts = before;
            return placed.map(|_| None);
        }
        for (vertex, id) in (before.vertices..).zip(&batch.new_ids) {
            self.named.insert(id.clone(), vertex as VertexId);
        }
        let changes: Vec<_> = made.into_iter().map(|logged| logged.change).collect();
        self.pending.logged_changes += changes.len();
        let (new_ids, counts) = (batch.new_ids.clone(), self.pending.counts);
        Ok(Some((LoggedBatch { new_ids, changes, counts }, answers)))
    }

    fn place_each(
        &mut self,
        batch: &Batch,
        finder: &mut Finder<'_>,
        made: &mut Vec<Logged>,
        answers: &mut Vec<Answer>,
    ) -> Result<bool> {
        let graph = Arc::clone(&self.base().graph);
        let mut is_longest_known = true;
        let mut weights = batch.weights.iter().copied();
        for (i, some) in batch.changes.chunks(AHEAD_CHANGES).enumerate() {
            // The first of them are in memory.
            if i > 0 {
                finder.read_ahead(some)?;
            }
            for change in some {
                match self.outcome(&graph, finder, change, weights.next().flatten())? {
                    Outcome::Answer(answer) => answers.push(answer),
                    Outcome::Change(logged) => {
                        let is_new = self.pending.apply(&logged.change);
                        assert!(is_new, "the edge was looked up");
                        self.count(&logged, 1);
                        is_longest_known &= self.follow_longest(&logged);
                        made.push(logged);
                        answers.push(Answer::Done);
                    }
                    Outcome::NoRoom => return Ok(false),
                }
            }
        }
        if !is_longest_known {
            let longest = self.base().nets.longest(&graph)?;
            let counts = &mut self.pending.counts;
            (counts.degree_max, counts.degree_max_vertex) = longest;
        }
        Ok(true)
    }

    fn weight_type(&self) -> Option<WeightType> {
        self.base().graph.superblock().weight_type()
    }

    /// Keeps a handle on the graph of the newest commit for the next batch.
    fn keep(&mut self, handle: Handle) {
        let base = self.base.as_mut().expect("it was loaded before");
        if base.handles.0.len() < HANDLES_MAX {
            base.handles.0.push(handle);
        }
    }

    /// The graph of the newest commit, which was opened for look-ups before.
    pub(super) fn base_graph(&self) -> &Arc<Graph> {
        &self.base().graph
    }

    fn base(&self) -> &Base {
        self.base.as_ref().expect("it was loaded before")
    }

    fn outcome(
        &self,
        graph: &Graph,
        finder: &mut Finder<'_>,
        &Change { op, source, target }: &Change,
        weight: Option<Weight>,
    ) -> Result<Outcome> {
        let superblock = graph.superblock();
        let op = match op {
            Op::Add => EdgeOp::Add,
            Op::Delete => EdgeOp::Delete,
            Op::Set => EdgeOp::Set,
            Op::AddVertex => return Ok(Outcome::Answer(Answer::Present)),
            _ => unreachable!("the batch is a commit"),
        };
        if op == EdgeOp::Add && source == target && !superblock.self_loops_kept {
            return Ok(Outcome::Answer(Answer::SelfLoop));
        }
        let before = self.pending.edge(source, target).copied();
        let refused = |is_there| match (op, is_there) {
            (EdgeOp::Add, true) => Some(Outcome::Answer(Answer::Present)),
            (EdgeOp::Delete | EdgeOp::Set, false) => Some(Outcome::Answer(Answer::Absent)),
            _ => None,
        };
        if let Some(answer) = before.and_then(|before| refused(before.is_there())) {
            return Ok(answer);
        }
        let first = finder.find(Direction::Out, source, target)?;
        if let Some(answer) = refused(before.map_or(first.is_there, |before| before.is_there())) {
            return Ok(answer);
        }
        let weight = weight.map(|weight| weight.ordered().expect("weights were checked"));
        if let (EdgeOp::Delete, Some(wanted)) = (op, weight) {
            let weight = before.map_or_else(|| finder.weight(&first, target), |b| Ok(b.weight))?;
            if weight != wanted {
                return Ok(Outcome::Answer(Answer::Absent));
            }
        }
        let second = match (superblock.directed, superblock.in_edges) {
            (true, true) => Some(finder.find(Direction::In, target, source)?),
            (false, _) if source != target => Some(finder.find(Direction::Out, target, source)?),
            _ => None,
        };
        let places = [Some(first), second];
        let nets = &self.base().nets;
        // Both may be in one page.
        let has_room = |place: &Place| op == EdgeOp::Set || nets.has_room(place, 2 * op.entries());
        if !places.iter().flatten().all(has_room) {
            return Ok(Outcome::NoRoom);
        }
        let of_target = match second {
            Some(second) => second.page,
            None if superblock.directed => 0,
            None => first.page,
        };
        let pages = [first.page, of_target];
        let weight = if op == EdgeOp::Delete { 0 } else { weight.unwrap_or(0) };
        let change = LoggedChange { op, source, target, weight, pages };
        Ok(Outcome::Change(Logged { change, places, before }))
    }

    /// Counts a change that is made, or with -1 one that is taken back.
    fn count(&mut self, logged: &Logged, times: i64) {
        let nets = &mut self.base.as_mut().expect("it was loaded before").nets;
        let entries = times * logged.change.op.entries();
        if entries != 0 {
            logged.places.iter().flatten().for_each(|place| nets.count(place, entries));
        }
    }

    /// Keeps the longest list of targets up to date; false if it became shorter.
    fn follow_longest(&mut self, logged: &Logged) -> bool {
        let nets = &self.base.as_ref().expect("it was loaded before").nets;
        let counts = &mut self.pending.counts;
        let mut is_known = true;
        let lists = logged.places.iter().flatten();
        for place in lists.filter(|place| place.direction == Direction::Out) {
            let longest = (counts.degree_max, counts.degree_max_vertex);
            match logged.change.op {
                EdgeOp::Add => {
                    (counts.degree_max, counts.degree_max_vertex) =
                        longer(longest, (nets.degree(place), place.owner));
                }
                EdgeOp::Delete => is_known &= place.owner != longest.1,
                EdgeOp::Set => {}
            }
        }
        is_known
    }
}

impl Store {
    /// Makes a batch of changes durable: in the log, which takes one write and one sync. Of a log
    /// without room the changes become a delta run if there is room for one
    /// ([`WriteLimits::run_percent`]), and so does a batch that is too large for the log
    /// ([`WriteLimits::bulk_run_percent`]); else the batch is made by [`Store::update`], with all
    /// changes of runs and log. So is a batch that deletes vertices, changes their values or
    /// concerns deleted ones, each of a graph with repeated edges, and in a graph with weights one
    /// that the log has no room for. Threads that commit at the same time share a write; those of
    /// them that have new ids must not run at the same time.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn commit(&self, batch: &Batch) -> Result<Updated> {
        self.commit_watched(batch, UNWATCHED)
    }

    /// [`Store::commit`], watched while it reads or rewrites lists: what goes to the log is not.
    ///
    /// # Errors
    /// As [`Store::commit`], and [`StoreError::Cancelled`](crate::StoreError::Cancelled).
    pub fn commit_watched(&self, batch: &Batch, watch: Watch<'_>) -> Result<Updated> {
        self.check_health()?;
        let mut live = lock(&self.live);
        if !lock(&self.state).commit.superblock.logs_edges() {
            return self.make_commit(live, batch, watch);
        }
        let (mut log_bytes, mut pages_written) = (0, 0);
        if self.log_area().is_none() {
            let is_commit = |change: &Change| change.op.is_commit();
            let is_large = batch.changes.len() > WriteLimits::LOGGED_MAX;
            let is_for_lists = is_large || batch.changes.iter().any(is_commit);
            if self.limits.bytes == 0 || is_for_lists {
                return self.make_commit(live, batch, watch);
            }
            check(&self.load_base(&mut live)?.graph, None, batch)?;
            (log_bytes, pages_written) = self.create_log(live)?;
            live = lock(&self.live);
        }
        let mut spilled = 0;
        let (mut live, logged, answers) = loop {
            let (mut ready, graph, handle) = self.read_ahead(live, batch)?;
            let area = self.log_area().expect("it was just made");
            let new = ready.pending.new_ids.len() as u64;
            check(&graph, Some((new, &ready.named)), batch)?;
            let is_for_commit = is_for_commit(&graph, batch);
            if !is_for_commit && ready.has_room(&area, &self.limits, batch) {
                let mut finder = Finder::new(&graph, handle);
                let placed = ready.place(batch, &mut finder)?;
                ready.keep(finder.into_handle());
                if let Some((logged, answers)) = placed {
                    break (ready, logged, answers);
                }
            }
            // A run of the log alone, after which it has room for the batch.
            let is_small = !is_for_commit && batch.changes.len() <= WriteLimits::LOGGED_MAX;
            if spilled == 0 && is_small && self.has_room_for_run(&ready, batch, 0) {
                if let Some(run) = self.spill(ready)? {
                    spilled = run.changes;
                    pages_written += run.pages;
                    live = lock(&self.live);
                    continue;
                }
            } else {
                drop(ready);
            }
            let mut updated = self.make_commit(lock(&self.live), batch, watch)?;
            updated.log_bytes += log_bytes;
            updated.pages_written += pages_written;
            updated.spilled += spilled;
            return Ok(updated);
        };
        if !logged.changes.is_empty() || !logged.new_ids.is_empty() {
            let (ids, weights) = (&logged.new_ids, live.weight_type());
            let bytes = LoggedBatch::encoded_bytes(ids, logged.changes.len(), weights);
            live.queued_bytes += bytes;
            live.queued.push(logged);
            live.batches += 1;
        }
        // An answer may follow from batches of other threads that are not durable yet.
        log_bytes += self.flush(live)?;
        let unchanged = Updated::unchanged(self.epoch());
        Ok(Updated { answers, log_bytes, pages_written, spilled, ..unchanged })
    }

    /// Brings what the first changes of a batch need into memory, while other threads commit.
    /// Returns the graph of the newest commit and a handle on it.
    fn read_ahead<'s>(
        &'s self,
        mut live: MutexGuard<'s, Live>,
        batch: &Batch,
    ) -> Result<(MutexGuard<'s, Live>, Arc<Graph>, Handle)> {
        let first = &batch.changes[..batch.changes.len().min(AHEAD_CHANGES)];
        let base = self.load_base(&mut live)?;
        let (graph, handle) = base.for_look_ups()?;
        let finder = Finder::new(&graph, handle);
        if base.readers == HANDLES_MAX {
            finder.read_ahead(first)?;
            let handle = finder.into_handle();
            return Ok((live, graph, handle));
        }
        base.readers += 1;
        drop(live);
        let read = finder.read_ahead(first);
        let handle = finder.into_handle();
        let mut live = lock(&self.live);
        let base = self.load_base(&mut live)?;
        let is_same = Arc::ptr_eq(&base.graph, &graph);
        base.readers -= usize::from(is_same);
        read?;
        if is_same {
            return Ok((live, graph, handle));
        }
        // There was a commit meanwhile.
        let (graph, handle) = base.for_look_ups()?;
        Ok((live, graph, handle))
    }

    pub(crate) fn lock_live(&self) -> MutexGuard<'_, Live> {
        lock(&self.live)
    }

    fn load_base<'l>(&self, live: &'l mut Live) -> Result<&'l mut Base> {
        if live.base.is_none() {
            let (pool, handles) = match live.kept_pages.take() {
                Some(KeptPages { pool, handles }) => (Some(pool), handles),
                None => (None, Idle(Vec::new())),
            };
            let graph = Arc::new(self.committed(pool)?);
            let ids = Arc::new(graph.ids()?);
            let nets = Nets::of(&live.pending, &graph);
            live.base = Some(Base { graph, ids, nets, handles, readers: 0 });
        }
        Ok(live.base.as_mut().expect("it was just loaded"))
    }

    /// The ids of the last commit.
    pub(super) fn base_ids(&self, live: &mut Live) -> Result<Arc<Ids>> {
        Ok(Arc::clone(&self.load_base(live)?.ids))
    }

    /// The graph of the last commit, as it is or was opened for look-ups.
    pub(super) fn base_graph(&self, live: &mut Live) -> Result<Arc<Graph>> {
        Ok(Arc::clone(&self.load_base(live)?.graph))
    }
}

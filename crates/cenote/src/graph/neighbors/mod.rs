//! Look-ups of the lists of many vertices: read by all threads with many requests in flight, passed
//! to the caller in the given order.
//!
//! How long a list is stands in its page, so a window is as many lists as there is room for by an
//! estimate. Where it was too low, they are read again in smaller windows.
//!
//! - `requested`: the vertices, from ids and files
//! - `readers`: the threads that read
//! - `known`: ids of the neighbours in a window, looked up together
//! - [`NeighborList`]: what the caller gets

mod known;
mod list;
mod readers;
mod requested;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use cenote_device::threads::cores;
use cenote_engine::THREADS_MAX;
use cenote_pool::Pool;
use cenote_store::{Adjacency, Direction, Id, Ids, ListsRead, VertexId, Weight};

use self::known::{KnownIds, lists_fitting};
pub use self::list::NeighborList;
use self::readers::{Reader, Room};
use self::requested::Requested;
use super::Graph;
use super::open::{FRAMES_SHARE, RUNS_SHARE};
use crate::error::{Error, Result};
use crate::keys::IdLines;
use crate::memory::{half_of_machine, size};
use crate::watch::Watch;

/// Vertices that one thread looks up at a time: first few, so that the first lists come soon, then
/// more and more, since their lists share pages.
const WINDOW_VERTICES_MIN: usize = 1 << 10;
const WINDOW_VERTICES_MAX: usize = 1 << 13;

/// Ids that are looked up at a time, and bytes of their text. A search reads a page or two; ids
/// that are looked up together are found by reading each page once.
const WINDOW_IDS: u64 = 1 << 16;
/// They are fewer where they would take more than `1 / IDS_SHARE` of the memory, which the ids of
/// neighbours take when these are found.
const WINDOW_IDS_MIN: u64 = 1 << 10;
const IDS_SHARE: u64 = 8;
/// Memory for an id until it is found, and how much of that is text.
const ID_BYTES: u64 = 128;
const ID_TEXT_BYTES: u64 = 32;

/// Bytes per entry of a list: as stored and by ids, of a window that is read while the one before
/// is passed on.
const ENTRY_BYTES: u64 = 16;

/// Bytes per entry of a weighted list: also weights, and sorted copies.
const WEIGHTED_ENTRY_BYTES: u64 = 64;

/// A window is estimated to take `1 / ESTIMATE_SHARE` of the memory for lists, so that few windows
/// do not fit.
const ESTIMATE_SHARE: u64 = 2;

/// A list takes as much memory as so many entries beside its entries.
const LIST_ENTRIES: u64 = 8;

/// Smaller lists are read whatever the budget.
const LIST_BYTES_FREE: u64 = 8 << 20;

/// Default memory for lists and pages.
const MEMORY_BYTES: u64 = 256 << 20;

/// Gets the vertices of a window, and their lists.
type VisitWindow<'v, E> = &'v mut dyn FnMut(&[VertexId], &[Vec<VertexId>]) -> Result<(), E>;

/// Gets a vertex, its list and the weights.
pub(super) type VisitStored<'v, E> =
    &'v mut dyn FnMut(VertexId, &[VertexId], &[Weight]) -> Result<(), E>;

/// A look-up of the lists of single vertices.
#[derive(Debug)]
pub struct Neighbors<'g> {
    pub(super) graph: &'g Graph,
    pub(super) direction: Direction,
    pub(super) threads: usize,
    memory_bytes: u64,
    is_memory_given: bool,
    pub(super) watch: Watch,
    /// Whether the weights of edges are read, if there are any.
    weights: bool,
    ids: Vec<String>,
    /// Vertices by their numbers, after those of the ids.
    vertices: Vec<VertexId>,
    file: Option<PathBuf>,
}

impl<'g> Neighbors<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self {
            graph,
            direction: Direction::Out,
            threads: cores(),
            memory_bytes: MEMORY_BYTES,
            is_memory_given: false,
            watch: Watch::default(),
            weights: true,
            ids: Vec::new(),
            vertices: Vec::new(),
            file: None,
        }
    }

    /// The direction of the lists [default: out].
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Reading threads, 1 to 512 [default: one per core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, THREADS_MAX);
        self
    }

    /// Memory for pages and lists, in bytes [default: 256 MiB]. One list may take 8 MiB in any
    /// case. [`OpenOptions::lookups`](super::OpenOptions::lookups) reserves the part for pages.
    pub fn memory(mut self, memory_bytes: u64) -> Self {
        (self.memory_bytes, self.is_memory_given) = (memory_bytes, true);
        self
    }

    /// Whether the weights of edges are read [default: if the graph has them].
    pub fn weights(mut self, weights: bool) -> Self {
        self.weights = weights;
        self
    }

    /// Ends with [`Error::Cancelled`] when `cancel` returns true.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// The same look-up of other vertices.
    pub(super) fn with_vertices(&self, vertices: Vec<VertexId>) -> Self {
        let (watch, ids, file) = (self.watch.clone(), Vec::new(), None);
        Self { watch, ids, vertices, file, ..*self }
    }

    /// Memory for a sample.
    pub(super) fn sample_bytes(&self) -> Result<u64> {
        if self.is_memory_given { Ok(self.memory_bytes) } else { half_of_machine() }
    }

    /// Adds a vertex by its id.
    pub fn of(mut self, id: impl ToString) -> Self {
        self.ids.push(id.to_string());
        self
    }

    /// Adds the vertices of a file, an id a line, which is streamed; `-` is standard input.
    pub fn of_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Calls `visit` with each given vertex and its list, in the given order: `of` first, then the
    /// file. Lists before an unknown id come before its error.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`]; [`Error::Unsupported`] if the graph does not store the direction;
    /// [`Error::MemoryBudget`] if one list does not fit; errors of `visit`.
    pub fn for_each<E: From<Error>>(
        &self,
        mut visit: impl FnMut(&NeighborList<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (ids, ids_bytes) = (self.graph.kept_ids()?, self.ids_bytes());
        self.for_each_window(&mut |vertices, lists| {
            let mut rest = vertices.iter().zip(lists);
            let mut first = 0;
            while first < lists.len() {
                let count = lists_fitting(ids, &lists[first..], ids_bytes);
                let known = KnownIds::of(ids, &lists[first..][..count], ids_bytes)?;
                for (&vertex, list) in rest.by_ref().take(count) {
                    self.watch.check()?;
                    let weights = self.weights_of(vertex)?;
                    visit(&NeighborList::new(ids, known.as_ref(), vertex, list, weights)?)?;
                }
                first += count;
            }
            Ok(())
        })
    }

    /// [`Neighbors::for_each`] with each vertex, its list and the weights as they are stored.
    pub(super) fn for_each_stored<E: From<Error>>(
        &self,
        visit: VisitStored<'_, E>,
    ) -> Result<(), E> {
        self.for_each_window(&mut |vertices, lists| {
            for (&vertex, list) in vertices.iter().zip(lists) {
                self.watch.check()?;
                visit(vertex, list, &self.weights_of(vertex)?)?;
            }
            Ok(())
        })
    }

    /// Calls `visit` with the lists of some vertices at a time, as they are stored.
    fn for_each_window<E: From<Error>>(&self, visit: VisitWindow<'_, E>) -> Result<(), E> {
        check_direction(self.graph, self.direction)?;
        let graph = self.graph.stored();
        let ids = self.graph.kept_ids()?;
        let mut requested = self.requested()?;
        std::thread::scope(|scope| {
            let readers = (0..self.threads).map(|_| Reader::start(scope, graph, self.direction));
            let readers = readers.collect::<Result<Vec<_>>>()?;
            let (mut window, mut factor) = (Window::default(), 1.0);
            let mut vertices_max = self.threads * WINDOW_VERTICES_MIN;
            loop {
                // The next lists are read while these are passed on.
                let next = self.next_window(ids, &mut requested, vertices_max, factor);
                let (next, fault) =
                    next.map_or_else(|e| (Window::default(), Some(e)), |next| (next, None));
                next.submit(&readers);
                if !self.pass_on(&readers, &window, visit)? {
                    // They are read again before the next ones, with more room for each.
                    next.parts(&readers).for_each(|(reader, _)| drop(reader.receive()));
                    requested.fault = fault.or(requested.fault.take());
                    requested.put_back(&next.vertices);
                    requested.put_back(&window.vertices);
                    factor = window.factor.max(factor) * 2.0;
                    window = Window::default();
                    continue;
                }
                factor = window.factor_found().unwrap_or(factor);
                if let Some(fault) = fault {
                    return Err(fault.into());
                }
                if next.vertices.is_empty() {
                    return Ok(());
                }
                window = next;
                vertices_max = (2 * vertices_max).min(self.threads * WINDOW_VERTICES_MAX);
            }
        })
    }

    /// Passes the lists of a window on; false, and none is passed on, if there is no room for all.
    fn pass_on<E: From<Error>>(
        &self,
        readers: &[Reader],
        window: &Window,
        visit: VisitWindow<'_, E>,
    ) -> Result<bool, E> {
        let mut lists = vec![Vec::new(); window.vertices.len()];
        let mut parts = window.parts(readers);
        while let Some((reader, part)) = parts.next() {
            match reader.receive()? {
                ListsRead::Whole(of_part) => {
                    part.iter().zip(of_part).for_each(|(&at, list)| lists[at as usize] = list);
                }
                ListsRead::NoRoom { vertex, degree } if window.vertices.len() == 1 => {
                    return Err(self.no_room(vertex, degree)?.into());
                }
                ListsRead::NoRoom { .. } => {
                    parts.for_each(|(reader, _)| drop(reader.receive()));
                    return Ok(false);
                }
            }
        }
        visit(&window.vertices, &lists)?;
        Ok(true)
    }

    /// The neighbours of all given vertices, list after list.
    ///
    /// # Errors
    /// As [`for_each`](Self::for_each).
    pub fn collect(&self) -> Result<Vec<Vec<Id>>> {
        let mut lists = Vec::new();
        self.for_each(|list| {
            let mut ids = Vec::with_capacity(list.degree());
            list.for_each(|id, _| {
                ids.push(id.to_id());
                Ok::<_, Error>(())
            })?;
            lists.push(ids);
            Ok::<_, Error>(())
        })?;
        Ok(lists)
    }

    fn requested(&self) -> Result<Requested<'_>> {
        let file = self.file.as_deref().map(IdLines::open).transpose()?;
        let (ids_max, found) = (self.ids_max(), VecDeque::new());
        let (given, vertices) = (self.ids.iter(), self.vertices.iter());
        Ok(Requested { given, vertices, file, ids_max, found, fault: None })
    }

    /// The weights of a list, if the graph has any and they are read.
    fn weights_of(&self, vertex: VertexId) -> Result<Vec<Weight>> {
        let mut weights = Vec::new();
        if self.weights && self.graph.stored().is_weighted() {
            self.graph.stored().read_weights(self.direction, vertex, &mut weights)?;
        }
        Ok(weights)
    }

    /// The given vertices, in the given order; one may be given twice.
    pub(super) fn given(&self) -> Result<Vec<VertexId>> {
        let (graph, ids) = (self.graph.stored(), self.graph.kept_ids()?);
        check_direction(self.graph, self.direction)?;
        let (mut requested, mut vertices) = (self.requested()?, Vec::new());
        while let Some(vertex) = requested.next(graph, ids)? {
            self.watch.check()?;
            vertices.push(vertex);
        }
        Ok(vertices)
    }

    /// Memory for ids: at first for those that are looked up, then for those of neighbours.
    fn ids_bytes(&self) -> u64 {
        (self.memory_bytes / IDS_SHARE).max(WINDOW_IDS_MIN * ID_BYTES)
    }

    /// Most ids that are looked up at a time.
    fn ids_max(&self) -> u64 {
        (self.ids_bytes() / ID_BYTES).min(WINDOW_IDS)
    }

    fn entry_bytes(&self) -> u64 {
        let weighted = self.graph.stored().is_weighted();
        if weighted { WEIGHTED_ENTRY_BYTES } else { ENTRY_BYTES }
    }

    /// Memory for lists: what the graph and look-ups of pages and ids leave.
    fn lists_bytes(&self) -> u64 {
        let graph = self.graph.stored();
        let others = graph.index_bytes() + graph.lookup_bytes();
        self.memory_bytes.saturating_sub(others as u64 + self.ids_bytes())
    }

    /// At most so many vertices to read next, if their lists are `factor` times as long as they
    /// seem.
    fn next_window(
        &self,
        ids: &Ids,
        requested: &mut Requested<'_>,
        vertices_max: usize,
        factor: f64,
    ) -> Result<Window> {
        let graph = self.graph.stored();
        let Some(lists) = graph.adjacency(self.direction) else { return Ok(Window::default()) };
        let entries_max = self.lists_bytes() / self.entry_bytes();
        let estimate_max = (entries_max / ESTIMATE_SHARE) as f64 / factor;
        let (mut vertices, mut estimate) = (Vec::new(), 0);
        while vertices.len() < vertices_max {
            self.watch.check()?;
            let vertex = match requested.next(graph, ids) {
                Ok(Some(vertex)) => vertex,
                Ok(None) => break,
                Err(fault) if vertices.is_empty() => return Err(fault),
                Err(fault) => {
                    requested.fault = Some(fault);
                    break;
                }
            };
            let with_it = estimate + entries_about(lists, vertex) + LIST_ENTRIES;
            if with_it as f64 > estimate_max && !vertices.is_empty() {
                requested.put_back(&[vertex]);
                break;
            }
            vertices.push(vertex);
            estimate = with_it;
        }
        let one = LIST_BYTES_FREE / self.entry_bytes();
        let entries = if vertices.len() == 1 { entries_max.max(one) } else { entries_max };
        Ok(Window::new(vertices, entries, (estimate, factor)))
    }

    /// The error that a list alone does not fit.
    #[cold]
    fn no_room(&self, vertex: VertexId, degree: u64) -> Result<Error> {
        let graph = self.graph.stored();
        let list_bytes = degree * self.entry_bytes();
        let held = list_bytes + graph.index_bytes() as u64;
        // Ids and runs take as large a part of more memory, and so do pages, until all fit. What is
        // kept of runs now is in `index_bytes`, too.
        let runs = if graph.superblock().has_delta_runs() { 1.0 / RUNS_SHARE as f64 } else { 0.0 };
        let rest = 1.0 - 1.0 / IDS_SHARE as f64 - runs;
        let page_bytes = graph.superblock().page_bytes as usize;
        let all_pages = graph.superblock().pages_total * Pool::frame_bytes(page_bytes);
        let with_all_pages = (held + all_pages) as f64 / rest;
        let with_share = held as f64 / (rest - 1.0 / FRAMES_SHARE as f64);
        let needed = with_all_pages.min(with_share).ceil() as u64;
        Ok(Error::MemoryBudget {
            what: format!("the list of vertex {}", self.graph.kept_ids()?.id_of(vertex)?),
            given: self.memory_bytes,
            needed,
            suggested: needed.div_ceil(1 << 20) + 1,
            breakdown: format!(
                "list {}, of {} for lists",
                size(list_bytes),
                size(self.lists_bytes())
            ),
        })
    }
}

/// Vertices whose lists are read together.
#[derive(Default)]
struct Window {
    vertices: Vec<VertexId>,
    /// Their places, ascending by vertex: each reader has pages of its own.
    sorted: Vec<u32>,
    /// Entries that their lists seem to have, and how many times as many they were taken to have.
    estimate: u64,
    factor: f64,
    room: Arc<Room>,
}

impl Window {
    /// Lists that take as much memory as `entries_max` at most.
    fn new(vertices: Vec<VertexId>, entries_max: u64, (estimate, factor): (u64, f64)) -> Self {
        let mut sorted: Vec<u32> = (0..vertices.len() as u32).collect();
        sorted.sort_unstable_by_key(|&at| vertices[at as usize]);
        let own = LIST_ENTRIES * vertices.len() as u64;
        let room = Arc::new(Room::new(entries_max.saturating_sub(own)));
        Self { vertices, sorted, estimate, factor, room }
    }

    /// The places of its vertices, divided among the readers.
    fn parts<'w>(
        &'w self,
        readers: &'w [Reader],
    ) -> impl Iterator<Item = (&'w Reader, &'w [u32])> + use<'w> {
        let share = self.sorted.len().div_ceil(readers.len()).max(1);
        readers.iter().zip(self.sorted.chunks(share))
    }

    /// Has the readers read it.
    fn submit(&self, readers: &[Reader]) {
        for (reader, part) in self.parts(readers) {
            let vertices = part.iter().map(|&at| self.vertices[at as usize]).collect();
            reader.submit(vertices, &self.room);
        }
    }

    /// How many times as many entries as they seemed to have the lists had, once all are read; at
    /// least 1.
    fn factor_found(&self) -> Option<f64> {
        (self.estimate > 0).then(|| (self.room.taken() as f64 / self.estimate as f64).max(1.0))
    }
}

/// About how many entries a list has: of its first and last page half, or where it is one page, the
/// mean of its lists.
fn entries_about(lists: &Adjacency, vertex: VertexId) -> u64 {
    let pages = lists.pages_of(vertex);
    let of_page = lists.stored_edges().div_ceil(lists.pages().max(1));
    match pages.end() - pages.start() {
        0 => of_page / lists.vertices_in(*pages.start()).len().max(1) as u64 + 1,
        more => more * of_page,
    }
}

/// An error if the graph has no lists of a direction.
pub(super) fn check_direction(graph: &Graph, direction: Direction) -> Result<()> {
    if graph.stored().adjacency(direction).is_some() {
        return Ok(());
    }
    let path = graph.path().display();
    let reason = format!("{path}: the graph has no in-edges: import it with `in_edges`");
    Err(Error::Unsupported(reason.into()))
}

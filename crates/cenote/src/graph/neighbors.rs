//! Look-ups of the lists of many vertices: read by all threads with many requests in flight, passed
//! to the caller in the given order.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, Scope};

use cenote_engine::THREADS_MAX;
use cenote_store::{Direction, Id, IdRef, Ids, StoreError, VertexId, Weight};

use super::open::LISTS_SHARE;
use super::{Graph, StoredGraph};
use crate::error::{Error, Result};
use crate::keys::{IdLines, unknown_vertex};
use crate::memory::{size, threads_default};
use crate::watch::Watch;

/// Vertices that one thread looks up at a time.
const WINDOW_VERTICES: usize = 4096;

/// Ids that are looked up at a time, and bytes of their text. A search reads a page or two; ids
/// that are looked up together are found by reading each page once.
const WINDOW_IDS: u64 = 1 << 16;
/// They are fewer where they would take more than `1 / IDS_SHARE` of the memory.
const WINDOW_IDS_MIN: u64 = 1 << 10;
const IDS_SHARE: u64 = 16;
/// Memory for an id until it is found, and how much of that is text.
const ID_BYTES: u64 = 128;
const ID_TEXT_BYTES: u64 = 32;

/// Bytes per entry of a list: as read and assembled, while the lists before are passed on.
const ENTRY_BYTES: u64 = 16;

/// Bytes per entry of a weighted list: also weights, and sorted copies.
const WEIGHTED_ENTRY_BYTES: u64 = 64;

/// Smaller lists are read whatever the budget.
const LIST_BYTES_FREE: u64 = 8 << 20;

/// Default memory for lists and pages.
const MEMORY_BYTES: u64 = 256 << 20;

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
            threads: threads_default(),
            memory_bytes: MEMORY_BYTES,
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
        self.memory_bytes = memory_bytes;
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
        let Self { graph, direction, threads, memory_bytes, weights, .. } = *self;
        let (watch, ids, file) = (self.watch.clone(), Vec::new(), None);
        Self { graph, direction, threads, memory_bytes, watch, weights, ids, vertices, file }
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
        let ids = self.graph.kept_ids()?;
        self.for_each_stored(&mut |vertex, list, weights| {
            visit(&NeighborList::new(ids, vertex, list, weights)?)
        })
    }

    /// [`Neighbors::for_each`] with each vertex, its list and the weights as they are stored.
    pub(super) fn for_each_stored<E: From<Error>>(
        &self,
        visit: VisitStored<'_, E>,
    ) -> Result<(), E> {
        check_direction(self.graph, self.direction)?;
        let graph = self.graph.stored();
        let ids = self.graph.kept_ids()?;
        let mut requested = self.requested()?;
        std::thread::scope(|scope| {
            let readers = (0..self.threads).map(|_| Reader::start(scope, graph, self.direction));
            let readers = readers.collect::<Result<Vec<_>>>()?;
            let (mut carried, mut batch) = (None, Vec::new());
            loop {
                // The next lists are read while these are passed on.
                let next = self.next_batch(ids, &mut requested, &mut carried);
                let (next, fault) = next.map_or_else(|e| (vec![], Some(e)), |next| (next, None));
                parts(&readers, &next).for_each(|(reader, part)| reader.submit(part));
                for (reader, part) in parts(&readers, &batch) {
                    for (&vertex, list) in part.iter().zip(reader.receive()?) {
                        self.watch.check()?;
                        visit(vertex, &list, &self.weights_of(vertex)?)?;
                    }
                }
                if let Some(fault) = fault {
                    return Err(fault.into());
                }
                if next.is_empty() {
                    return Ok(());
                }
                batch = next;
            }
        })
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

    /// Most ids that are looked up at a time.
    fn ids_max(&self) -> u64 {
        (self.memory_bytes / IDS_SHARE / ID_BYTES).clamp(WINDOW_IDS_MIN, WINDOW_IDS)
    }

    /// The most memory that the list of a vertex takes.
    fn bytes_of(&self, vertex: VertexId) -> u64 {
        let graph = self.graph.stored();
        let Some(lists) = graph.adjacency(self.direction) else { return 0 };
        let pages = lists.pages_of(vertex);
        let entries = (pages.end() - pages.start() + 1) * lists.page_entries_max();
        entries * if graph.is_weighted() { WEIGHTED_ENTRY_BYTES } else { ENTRY_BYTES }
    }

    /// The vertices to read next. One whose list does not fit is carried over.
    fn next_batch(
        &self,
        ids: &Ids,
        requested: &mut Requested<'_>,
        carried: &mut Option<VertexId>,
    ) -> Result<Vec<VertexId>> {
        let graph = self.graph.stored();
        let lists_bytes = self.memory_bytes.saturating_sub(graph.memory_bytes() as u64);
        let lists_bytes = (lists_bytes / LISTS_SHARE).saturating_sub(self.ids_max() * ID_BYTES);
        let (mut vertices, mut bytes) = (Vec::new(), 0);
        while vertices.len() < self.threads * WINDOW_VERTICES {
            self.watch.check()?;
            let next = carried.take().map_or_else(|| requested.next(graph, ids), |v| Ok(Some(v)));
            let vertex = match next {
                Ok(Some(vertex)) => vertex,
                Ok(None) => break,
                Err(fault) if vertices.is_empty() => return Err(fault),
                Err(fault) => {
                    requested.fault = Some(fault);
                    break;
                }
            };
            let list_bytes = self.bytes_of(vertex);
            bytes += list_bytes;
            if bytes > lists_bytes && !vertices.is_empty() {
                *carried = Some(vertex);
                break;
            }
            if list_bytes > lists_bytes.max(LIST_BYTES_FREE) {
                // So that `1 / LISTS_SHARE` of what the graph leaves holds list and ids.
                let needed = LISTS_SHARE * list_bytes + graph.memory_bytes() as u64;
                let needed = (needed * IDS_SHARE).div_ceil(IDS_SHARE - LISTS_SHARE);
                return Err(Error::MemoryBudget {
                    what: format!("the list of vertex {}", ids.id_of(vertex)?),
                    given: self.memory_bytes,
                    needed,
                    suggested: needed.div_ceil(1 << 20) + 1,
                    breakdown: format!(
                        "list {}, of {} for lists",
                        size(list_bytes),
                        size(lists_bytes)
                    ),
                });
            }
            vertices.push(vertex);
        }
        Ok(vertices)
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

/// The requested ids: those given, then the lines of a file.
struct Requested<'a> {
    given: std::slice::Iter<'a, String>,
    vertices: std::slice::Iter<'a, VertexId>,
    file: Option<IdLines>,
    /// Most ids that are looked up at a time.
    ids_max: u64,
    /// Vertices of the ids that were looked up.
    found: VecDeque<VertexId>,
    /// The error of the id or line after them.
    fault: Option<Error>,
}

impl<'a> Requested<'a> {
    /// The next vertex; none after the last.
    fn next(&mut self, graph: &StoredGraph, ids: &Ids) -> Result<Option<VertexId>> {
        if self.found.is_empty() && self.fault.is_none() {
            self.look_up(graph, ids)?;
        }
        match (self.found.pop_front(), self.fault.take()) {
            (None, Some(fault)) => Err(fault),
            (None, None) => Ok(self.vertices.next().copied()),
            (found, fault) => {
                self.fault = fault;
                Ok(found)
            }
        }
    }

    /// Finds the vertices of the next ids, up to the first that has none.
    fn look_up(&mut self, graph: &StoredGraph, ids: &Ids) -> Result<()> {
        let (texts, fault) = self.read();
        let parsed: Vec<_> = texts.iter().map(|(text, _)| ids.parse(text)).collect();
        let mut sorted: Vec<IdRef<'_>> = parsed.iter().flatten().copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let vertices = ids.vertices_of(&sorted)?;
        let vertex_of = |id: &Option<IdRef<'_>>| {
            let at = sorted.binary_search(id.as_ref()?).expect("it is one of them");
            vertices[at]
        };
        self.found.extend(parsed.iter().map_while(vertex_of));
        self.fault = match texts.get(self.found.len()) {
            None => fault,
            Some((text, line)) => {
                let place = line.zip(self.file.as_ref()).map(|(line, file)| file.place_of(line));
                Some(unknown_vertex(graph, ids, text, &place.unwrap_or_default()))
            }
        };
        Ok(())
    }

    /// The next ids, each with the number of its line if it has one, and the error after them.
    fn read(&mut self) -> (Vec<Text<'a>>, Option<Error>) {
        let (mut texts, mut bytes): (Vec<Text<'a>>, u64) = (Vec::new(), 0);
        while (texts.len() as u64) < self.ids_max && bytes < self.ids_max * ID_TEXT_BYTES {
            let text: Text<'a> = match (self.given.next(), &mut self.file) {
                (Some(id), _) => (id.as_str().into(), None),
                (None, None) => break,
                (None, Some(file)) => match file.next() {
                    Ok(None) => break,
                    Ok(Some(line)) => (line.into(), Some(file.number())),
                    Err(error) => return (texts, Some(error)),
                },
            };
            bytes += text.0.len() as u64;
            texts.push(text);
        }
        (texts, None)
    }
}

/// An id, and the number of its line if it is one of a file.
type Text<'a> = (Cow<'a, str>, Option<u64>);

/// Divides a batch among the readers.
fn parts<'a>(
    readers: &'a [Reader],
    batch: &'a [VertexId],
) -> impl Iterator<Item = (&'a Reader, &'a [VertexId])> {
    let share = batch.len().div_ceil(readers.len()).max(1);
    readers.iter().zip(batch.chunks(share))
}

/// A thread that reads lists with its own queue to the device.
struct Reader {
    requests: Sender<Vec<VertexId>>,
    results: Receiver<cenote_store::Result<Vec<Vec<VertexId>>>>,
}

impl Reader {
    fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        graph: &'env StoredGraph,
        direction: Direction,
    ) -> Result<Self> {
        let ((requests, received), (sent, results)) =
            (mpsc::channel::<Vec<VertexId>>(), mpsc::channel());
        let read = move || {
            let mut lookup = None;
            for vertices in received {
                if lookup.is_none() {
                    match graph.lookup() {
                        Ok(made) => lookup = Some(made),
                        Err(error) => drop(sent.send(Err(error))),
                    }
                }
                let Some(lookup) = &mut lookup else { continue };
                if sent.send(lookup.read(direction, &vertices)).is_err() {
                    break;
                }
            }
        };
        let refused = "cannot start the threads that read lists: give fewer `threads`";
        Builder::new().spawn_scoped(scope, read).map_err(Error::io(refused))?;
        Ok(Self { requests, results })
    }

    fn submit(&self, vertices: &[VertexId]) {
        // If the reader has panicked, `receive` reports it.
        let _ = self.requests.send(vertices.to_vec());
    }

    fn receive(&self) -> Result<Vec<Vec<VertexId>>> {
        let lists = self.results.recv();
        Ok(lists.map_err(|_| Error::Device("a thread that reads lists ended early".into()))??)
    }
}

/// The list of one vertex, in the order of the user's ids.
#[derive(Debug)]
pub struct NeighborList<'a> {
    ids: &'a Ids,
    vertex: VertexId,
    ranks: Cow<'a, [VertexId]>,
    weights: Vec<Weight>,
}

impl<'a> NeighborList<'a> {
    fn new(
        ids: &'a Ids,
        vertex: VertexId,
        list: &'a [VertexId],
        weights: &[Weight],
    ) -> Result<Self> {
        let weights = weights.to_vec();
        if ids.is_natural() {
            return Ok(Self { ids, vertex, ranks: list.into(), weights });
        }
        let mut ranks = Vec::with_capacity(list.len());
        ids.ranks_of(list, &mut ranks)?;
        if weights.is_empty() {
            ranks.sort_unstable();
            return Ok(Self { ids, vertex, ranks: ranks.into(), weights });
        }
        // Repeated edges keep their order.
        let mut ranked: Vec<(VertexId, Weight)> = ranks.into_iter().zip(weights).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let (ranks, weights): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
        Ok(Self { ids, vertex, ranks: ranks.into(), weights })
    }

    /// The user's id of the vertex.
    ///
    /// # Errors
    /// Its id cannot be read.
    pub fn vertex(&self) -> Result<Id> {
        Ok(self.ids.id_of(self.vertex)?)
    }

    /// The number of the vertex.
    pub fn number(&self) -> VertexId {
        self.vertex
    }

    /// Its length.
    pub fn degree(&self) -> usize {
        self.ranks.len()
    }

    /// The ids of the neighbours at some places of the list, which ascend.
    ///
    /// # Errors
    /// Their ids cannot be read.
    ///
    /// # Panics
    /// If the list has no such place.
    pub fn ids_at(&self, places: &[usize]) -> Result<Vec<Id>> {
        let ranks: Vec<VertexId> = places.iter().map(|&place| self.ranks[place]).collect();
        let mut ids = Vec::with_capacity(ranks.len());
        self.ids.for_each_of(&ranks, |id| {
            ids.push(id.to_id());
            Ok::<_, StoreError>(())
        })?;
        Ok(ids)
    }

    /// The weights of the edges; empty if the graph has none, or they are not read.
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// Calls `visit` with each neighbour and the weight of the edge, if it has one. Ids are
    /// streamed, so the ids of a long list are never all in memory.
    ///
    /// # Errors
    /// Errors of `visit`, or an id cannot be read.
    pub fn for_each<E: From<StoreError>>(
        &self,
        mut visit: impl FnMut(IdRef<'_>, Option<Weight>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut weights = self.weights.iter().copied();
        self.ids.for_each_of(&self.ranks, |id| visit(id, weights.next()))
    }
}

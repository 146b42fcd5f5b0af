//! The lists of many vertices: read by all threads with many requests in flight, given in the order
//! in which they were asked for.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, Scope};

use cenote_engine::THREADS_MAX;
use cenote_store::{Direction, Id, IdRef, Ids, StoreError, VertexId, Weight};

use super::open::LISTS_SHARE;
use super::{Graph, StoredGraph};
use crate::error::{Error, Result};
use crate::keys::{IdLines, vertex_of};
use crate::memory::{size, threads_default};
use crate::watch::Watch;

/// Vertices that one thread looks up at once.
const WINDOW_VERTICES: usize = 4096;

/// Memory of an entry of a list: as it came and put together, while as much is given of the lists
/// before.
const ENTRY_BYTES: u64 = 16;

/// Memory of a weighted entry of the one list that is given: weights, and put into order.
const WEIGHTED_ENTRY_BYTES: u64 = 64;

/// Lists of less are read whatever the budget says.
const LIST_BYTES_FREE: u64 = 8 << 20;

/// Memory for lists and pages unless said otherwise.
const MEMORY_BYTES: u64 = 256 << 20;

/// The lists of single vertices.
#[derive(Debug)]
pub struct Neighbors<'g> {
    graph: &'g Graph,
    direction: Direction,
    threads: usize,
    memory_bytes: u64,
    watch: Watch,
    ids: Vec<String>,
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
            ids: Vec::new(),
            file: None,
        }
    }

    /// Which neighbours [default: those that edges lead to].
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Threads that read, 1 to 512 [default: one per core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, THREADS_MAX);
        self
    }

    /// Memory for pages that are read and lists that are given, bytes [default: 256 MiB]. One list
    /// may take 8 MiB whatever is said. [`OpenOptions::lookups`](super::OpenOptions::lookups) makes
    /// room for the pages.
    pub fn memory(mut self, memory_bytes: u64) -> Self {
        self.memory_bytes = memory_bytes;
        self
    }

    /// Ends with [`Error::Cancelled`] when `cancel` answers yes.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// Adds a vertex by its id.
    pub fn of(mut self, id: impl ToString) -> Self {
        self.ids.push(id.to_string());
        self
    }

    /// Adds the vertices of a file, an id a line; `-` is standard input. It is read bit by bit.
    pub fn of_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Calls `visit` with each vertex that was named and its list, in the order in which they were
    /// named: `of` first, then the file.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`]; [`Error::Unsupported`] where the graph does not store the
    /// direction; [`Error::MemoryBudget`] where one list takes more than there is; what `visit`
    /// gives back.
    pub fn for_each<E: From<Error>>(
        &self,
        mut visit: impl FnMut(&NeighborList<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let graph = self.graph.stored();
        if graph.adjacency(self.direction).is_none() {
            let reason = format!(
                "{}: the graph has no in-edges: import it with `in_edges`",
                self.graph.path().display()
            );
            return Err(Error::Unsupported(reason.into()).into());
        }
        let ids = graph.ids().map_err(Error::from)?;
        let mut asked = self.asked()?;
        std::thread::scope(|scope| {
            let readers = (0..self.threads).map(|_| Reader::start(scope, graph, self.direction));
            let readers = readers.collect::<Result<Vec<_>>>()?;
            let (mut carried, mut batch) = (None, Vec::new());
            loop {
                // The next lists are on their way while these are given.
                let next = self.next_batch(&ids, &mut asked, &mut carried)?;
                parts(&readers, &next).for_each(|(reader, part)| reader.submit(part));
                for (reader, part) in parts(&readers, &batch) {
                    for (&vertex, list) in part.iter().zip(reader.receive()?) {
                        self.watch.check()?;
                        visit(&NeighborList::new(graph, &ids, self.direction, vertex, &list)?)?;
                    }
                }
                if next.is_empty() {
                    return Ok(());
                }
                batch = next;
            }
        })
    }

    /// The neighbours of all vertices that were named, list after list.
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

    fn asked(&self) -> Result<Asked<'_>> {
        let file = self.file.as_deref().map(IdLines::open).transpose()?;
        Ok(Asked { given: self.ids.iter(), file })
    }

    /// Most memory that the list of a vertex takes.
    fn bytes_of(&self, vertex: VertexId) -> u64 {
        let graph = self.graph.stored();
        let Some(lists) = graph.adjacency(self.direction) else { return 0 };
        let pages = lists.pages_of(vertex);
        let entries = (pages.end() - pages.start() + 1) * lists.page_entries_max();
        entries * if graph.is_weighted() { WEIGHTED_ENTRY_BYTES } else { ENTRY_BYTES }
    }

    /// The vertices that are read next. One whose list does not fit any more is carried over.
    fn next_batch(
        &self,
        ids: &Ids,
        asked: &mut Asked<'_>,
        carried: &mut Option<VertexId>,
    ) -> Result<Vec<VertexId>> {
        let graph = self.graph.stored();
        let lists_bytes = self.memory_bytes.saturating_sub(graph.memory_bytes() as u64);
        let lists_bytes = lists_bytes / LISTS_SHARE;
        let (mut vertices, mut bytes) = (Vec::new(), 0);
        while vertices.len() < self.threads * WINDOW_VERTICES {
            self.watch.check()?;
            let next = match carried.take() {
                Some(vertex) => Some(vertex),
                None => asked.next(graph, ids)?,
            };
            let Some(vertex) = next else { break };
            let list_bytes = self.bytes_of(vertex);
            bytes += list_bytes;
            if bytes > lists_bytes && !vertices.is_empty() {
                *carried = Some(vertex);
                break;
            }
            if list_bytes > lists_bytes.max(LIST_BYTES_FREE) {
                let needed = LISTS_SHARE * list_bytes + graph.memory_bytes() as u64;
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

/// Ids as they come: those given, then the lines of a file.
struct Asked<'a> {
    given: std::slice::Iter<'a, String>,
    file: Option<IdLines>,
}

impl Asked<'_> {
    /// The next vertex; none after the last.
    fn next(&mut self, graph: &StoredGraph, ids: &Ids) -> Result<Option<VertexId>> {
        if let Some(id) = self.given.next() {
            return vertex_of(graph, ids, id, "").map(Some);
        }
        let Some(file) = &mut self.file else { return Ok(None) };
        let Some(line) = file.next()? else { return Ok(None) };
        vertex_of(graph, ids, &line, &file.place()).map(Some)
    }
}

/// Each reader's part of a batch.
fn parts<'a>(
    readers: &'a [Reader],
    batch: &'a [VertexId],
) -> impl Iterator<Item = (&'a Reader, &'a [VertexId])> {
    let share = batch.len().div_ceil(readers.len()).max(1);
    readers.iter().zip(batch.chunks(share))
}

/// A thread that reads lists, and keeps its queue to the device.
struct Reader {
    asked: Sender<Vec<VertexId>>,
    found: Receiver<cenote_store::Result<Vec<Vec<VertexId>>>>,
}

impl Reader {
    fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        graph: &'env StoredGraph,
        direction: Direction,
    ) -> Result<Self> {
        let ((asked, orders), (results, found)) =
            (mpsc::channel::<Vec<VertexId>>(), mpsc::channel());
        let read = move || {
            let mut lookup = None;
            for vertices in orders {
                if lookup.is_none() {
                    match graph.lookup() {
                        Ok(made) => lookup = Some(made),
                        Err(error) => drop(results.send(Err(error))),
                    }
                }
                let Some(lookup) = &mut lookup else { continue };
                if results.send(lookup.read(direction, &vertices)).is_err() {
                    break;
                }
            }
        };
        let refused = "cannot start the threads that read lists: give fewer `threads`";
        Builder::new().spawn_scoped(scope, read).map_err(Error::io(refused))?;
        Ok(Self { asked, found })
    }

    fn submit(&self, vertices: &[VertexId]) {
        // A reader that is gone has panicked, which `receive` reports.
        let _ = self.asked.send(vertices.to_vec());
    }

    fn receive(&self) -> Result<Vec<Vec<VertexId>>> {
        let found = self.found.recv();
        Ok(found.map_err(|_| Error::Device("a thread that reads lists ended early".into()))??)
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
        graph: &StoredGraph,
        ids: &'a Ids,
        direction: Direction,
        vertex: VertexId,
        list: &'a [VertexId],
    ) -> Result<Self> {
        let mut weights = Vec::new();
        if graph.is_weighted() {
            graph.read_weights(direction, vertex, &mut weights)?;
        }
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

    /// The vertex, as the user calls it.
    ///
    /// # Errors
    /// Its id cannot be read.
    pub fn vertex(&self) -> Result<Id> {
        Ok(self.ids.id_of(self.vertex)?)
    }

    /// Its length.
    pub fn degree(&self) -> usize {
        self.ranks.len()
    }

    /// A weight for each neighbour of a weighted graph; else none.
    pub fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// Calls `visit` with each neighbour and the weight of the edge, if it has one. Ids are read as
    /// they are visited: a long list is never in memory with them.
    ///
    /// # Errors
    /// What `visit` gives back, or an id cannot be read.
    pub fn for_each<E: From<StoreError>>(
        &self,
        mut visit: impl FnMut(IdRef<'_>, Option<Weight>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut weights = self.weights.iter().copied();
        self.ids.for_each_of(&self.ranks, |id| visit(id, weights.next()))
    }
}

//! A stored graph as an input: streams of its edges, by the ranks of their ends, and of its ids.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use cenote_store::edges::for_each_edge;
use cenote_store::superblock::IdKind;
use cenote_store::{Graph, IdRef, Ids, IdsSource, StoreError, VertexId, WeightType};

use crate::edges::{EdgeWeight, OpenRows};
use crate::error::{ImportError, Result};
use crate::rows::{RowReader, no_weight};
use crate::thread_rows::{RowSender, THREAD_ROWS_MEMORY, ThreadRows};

/// Buffers of a pass over the lists: 2 MiB, less for weights, and a decoded page.
const PASS_BYTES: usize = 3 << 20;

/// The stored graph of an import, as its driver sees it.
#[derive(Clone, Copy)]
pub(crate) struct StoredSource<'a> {
    pub ids: &'a StoredIds,
    /// Memory that it takes during the whole import, beside that of passes over it.
    pub held_bytes: usize,
}

impl StoredSource<'_> {
    /// Bytes of memory of a pass over the edges, or over the ids.
    pub fn pass_bytes(&self) -> usize {
        // Which vertices have an edge is a bit each.
        PASS_BYTES + THREAD_ROWS_MEMORY + self.ids.vertices as usize / 8
    }

    /// Fails if the new graph has other numbers of vertices and edges.
    pub fn check(&self, vertices: u64, edges: u64) -> Result<()> {
        let StoredIds { file, vertices: own_vertices, edges: own_edges, .. } = self.ids;
        if (vertices, edges) == (*own_vertices, *own_edges) {
            return Ok(());
        }
        let reason = format!(
            "counts {own_vertices} vertices and {own_edges} edges, but {vertices} and {edges} were \
             found; run `cenote check` on it"
        );
        Err(ImportError::Format { input: file.clone(), reason })
    }
}

/// The ids of a stored graph, streamed by rank.
pub(crate) struct StoredIds {
    pub file: String,
    pub ids: Arc<Ids>,
    /// Kind of the ids in a new graph.
    kind: IdKind,
    pub vertices: u64,
    pub edges: u64,
}

impl StoredIds {
    pub fn new(graph: &Graph) -> Result<Self> {
        let ids = Arc::new(graph.ids()?);
        let (vertices, edges) = (ids.live_vertices(), graph.superblock().edges);
        let kind = match ids.kind() {
            IdKind::Strings => IdKind::Strings,
            IdKind::Dense | IdKind::Integers => match greatest(&ids)? {
                // They ascend: none is missing.
                Some(greatest) if Some(greatest) == vertices.checked_sub(1) => IdKind::Dense,
                _ => IdKind::Integers,
            },
        };
        Ok(Self { file: graph.file().to_string(), ids, kind, vertices, edges })
    }

    /// Kind of the ids in reports.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            IdKind::Dense => "none",
            IdKind::Integers => "integer",
            IdKind::Strings => "string",
        }
    }

    /// The rank of every vertex among those that are not deleted; `None` where each is its own.
    pub fn ranks(&self) -> Result<Option<Vec<VertexId>>> {
        if self.ids.is_natural() && self.vertices == self.ids.vertices() {
            return Ok(None);
        }
        let mut ranks = vec![0; self.ids.vertices() as usize];
        let mut rank = 0;
        self.ids.for_each_vertex(|vertex| {
            ranks[vertex as usize] = rank;
            rank += 1;
        })?;
        Ok(Some(ranks))
    }

    /// Calls `write` with the ids in ascending order.
    pub fn stream<T>(&self, write: impl FnOnce(IdsSource<'_>) -> Result<T>) -> Result<T> {
        if self.kind == IdKind::Dense {
            return write(IdsSource::Dense);
        }
        let (ids, last) = (Arc::clone(&self.ids), self.ids.vertices() as VertexId);
        let rows = ThreadRows::start(move |rows| {
            let put = |_, id: IdRef<'_>| rows.push(|row| put_id(id, row)).map_err(stopped);
            ids.for_each(0..last, put).map_err(ended)
        })?;
        let mut rows = BufReader::new(rows);
        if self.kind == IdKind::Integers {
            let mut next = || {
                let mut id = [0; 8];
                rows.read_exact(&mut id)?;
                Ok(u64::from_le_bytes(id))
            };
            return write(IdsSource::Integers(&mut next));
        }
        let mut next = |name: &mut Vec<u8>| {
            let mut length = [0; 4];
            rows.read_exact(&mut length)?;
            let start = name.len();
            name.resize(start + u32::from_le_bytes(length) as usize, 0);
            rows.read_exact(&mut name[start..])
        };
        write(IdsSource::Strings(&mut next))
    }
}

/// The greatest id, if it is an integer.
fn greatest(ids: &Ids) -> Result<Option<u64>> {
    let mut greatest = None;
    let end = ids.vertices() as VertexId;
    // The last ones may be deleted.
    let start = if ids.live_vertices() == ids.vertices() { end.saturating_sub(1) } else { 0 };
    ids.for_each(start..end, |_, id| {
        if let IdRef::Integer(id) = id {
            greatest = Some(id);
        }
        Ok::<(), StoreError>(())
    })?;
    Ok(greatest)
}

fn put_id(id: IdRef<'_>, row: &mut Vec<u8>) {
    match id {
        IdRef::Integer(id) => row.extend_from_slice(&id.to_le_bytes()),
        IdRef::String(name) => {
            row.extend_from_slice(&(name.len() as u32).to_le_bytes());
            row.extend_from_slice(name.as_bytes());
        }
    }
}

/// Passes an error of the stream through a visitor of the store.
fn stopped(source: io::Error) -> StoreError {
    StoreError::Export { source }
}

/// Passes an error of the store through a stream.
fn ended(error: StoreError) -> io::Error {
    match error {
        StoreError::Export { source } => source,
        error => io::Error::other(ImportError::Store(error)),
    }
}

/// The edges of a stored graph by the ranks of their ends.
pub(crate) struct StoredEdges {
    pub graph: Arc<Graph>,
    /// The rank of each vertex; `None` where it is its own.
    pub ranks: Option<Arc<[VertexId]>>,
}

impl OpenRows for StoredEdges {
    fn has_names(&self) -> bool {
        false
    }

    fn count(&self) -> Option<u64> {
        Some(self.graph.superblock().edges)
    }

    fn check(&self, weights: Option<WeightType>) -> std::result::Result<(), String> {
        let own = self.graph.superblock().weights.map(|weights| weights.kind());
        if weights == own { Ok(()) } else { Err("`weights` are other than its own".to_owned()) }
    }

    fn open(&self, weights: Option<WeightType>) -> Option<RowReader<'_>> {
        let (graph, ranks) = (Arc::clone(&self.graph), self.ranks.clone());
        match ThreadRows::start(move |rows| put_edges(&graph, ranks.as_deref(), weights, rows)) {
            Ok(rows) => Some(Box::new(rows)),
            Err(error) => Some(Box::new(Failed(Some(error)))),
        }
    }
}

fn put_edges(
    graph: &Graph,
    ranks: Option<&[VertexId]>,
    weights: Option<WeightType>,
    rows: &mut RowSender,
) -> io::Result<()> {
    let rank = |vertex: VertexId| u64::from(ranks.map_or(vertex, |ranks| ranks[vertex as usize]));
    let done = for_each_edge(graph, &mut |_, _| {}, &mut |source, target, weight| {
        let bits = match (weights, weight) {
            (Some(kind), Some(weight)) => Some(weight.ordered(kind).ok_or_else(|| {
                stopped(io::Error::new(io::ErrorKind::InvalidData, no_weight(kind)))
            })?),
            _ => None,
        };
        let put = |row: &mut Vec<u8>| {
            row.extend_from_slice(&rank(source).to_le_bytes());
            row.extend_from_slice(&rank(target).to_le_bytes());
            if let Some(bits) = bits {
                row.extend_from_slice(&bits.to_le_bytes());
            }
        };
        rows.push(put).map_err(stopped)
    });
    done.map(drop).map_err(ended)
}

/// A stream that could not be started.
struct Failed(Option<ImportError>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0.take() {
            Some(error) => Err(io::Error::other(error)),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

//! Subgraphs: the edges that some vertices, or the vertices near them, have between them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cenote_device::threads::cores;
use cenote_engine::{Bitmap, THREADS_MAX};
use cenote_import::{Edge, EdgeId, Streamed, StreamedIds};
use cenote_store::{Direction, Id, VertexId, WeightType};
use serde::Serialize;

use super::part::{
    check_weights, entries_of, import_like, of_shares, put_row, streamed_ids, sufficient_for_visits,
};
use super::{Graph, ListBatch, Pass, StoredGraph, Visit};
use crate::error::{Error, Result};
use crate::import::{HubNeighboursChoice, IdKind, Import};
use crate::keys::Keys;
use crate::memory::{MemorySize, budget_bytes};
use crate::output::{self, partial};
use crate::watch::Watch;

/// Its name in errors.
const WHAT: &str = "subgraph";

/// Shares of the budget: half for the import of the edges, a quarter for reading lists, and a
/// quarter for the vertices and their ids.
const HALF: u64 = 2;
const QUARTER: u64 = 4;
const SHARES: &str = "half of it for the import of the edges, a quarter each for reading lists and \
                      for the vertices";

/// Bytes of a vertex: in the list of all, of those to visit next, and its id.
const VERTEX_BYTES: u64 = 4 + 8 + size_of::<Id>() as u64;

/// A subgraph to be written: all edges between the vertices that are at most some hops away from
/// the given ones; made by [`Graph::subgraph`].
#[derive(Debug)]
pub struct Subgraph<'g> {
    graph: &'g Graph,
    keys: Keys,
    hops: u32,
    memory: Option<Result<MemorySize>>,
    threads: usize,
    overwrite: bool,
    watch: Watch,
    on_progress: OnProgress,
}

type ProgressFn = dyn Fn(&'static str, u64, Option<u64>) + Send + Sync;

/// The caller's closure.
#[derive(Clone, Default)]
struct OnProgress(Option<Arc<ProgressFn>>);

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnProgress").finish_non_exhaustive()
    }
}

impl OnProgress {
    fn report(&self, phase: &'static str, done: u64, total: Option<u64>) {
        if let Some(progress) = &self.0 {
            progress(phase, done, total);
        }
    }
}

/// What was written of a subgraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Extracted {
    /// Its vertices.
    pub vertices: u64,
    /// Its edges.
    pub edges: u64,
    /// Vertices without an edge that are not in the file, since it is a list of edges; a graph file
    /// has them.
    pub isolated: u64,
    /// Bytes of lists and weights that were read.
    pub bytes_read: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

impl<'g> Subgraph<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self {
            graph,
            keys: Keys::default(),
            hops: 0,
            memory: None,
            threads: cores(),
            overwrite: false,
            watch: Watch::default(),
            on_progress: OnProgress::default(),
        }
    }

    /// Adds a vertex, by the user's id.
    pub fn source(mut self, id: impl ToString) -> Self {
        self.keys.push(id);
        self
    }

    /// Adds the vertices of a file, one id a line.
    pub fn sources_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.keys.push_file(path);
        self
    }

    /// How many edges the other vertices may be away; on a directed graph along out-edges
    /// [default: 0, the given vertices alone].
    pub fn hops(mut self, hops: u32) -> Self {
        self.hops = hops;
        self
    }

    /// Memory budget: bytes, or text such as `256MiB`, or `10%` of the graph's pages [default: half
    /// of the machine's memory].
    pub fn memory(mut self, size: impl TryInto<MemorySize, Error: Into<Error>>) -> Self {
        self.memory = Some(size.try_into().map_err(Into::into));
        self
    }

    /// Worker threads, 1 to 512 [default: one per core].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, THREADS_MAX);
        self
    }

    /// Replaces the file if it exists.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Ends with [`Error::Cancelled`] when `cancel` returns true.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// Calls `progress` with the phase, what is done of it, and all of it if known: vertices that
    /// are found, bytes of the import of their edges, pages of the list of edges.
    pub fn progress(
        mut self,
        progress: impl Fn(&'static str, u64, Option<u64>) + Send + Sync + 'static,
    ) -> Self {
        self.on_progress = OnProgress(Some(Arc::new(progress)));
        self
    }

    /// Writes the subgraph: `.cenote` is a graph file with the kind, the weights and the ids of
    /// this graph; `.parquet`, `.txt`, `.el` and `.tsv` are lists of its edges, as of
    /// [`Graph::export`]. The lists of the vertices are read once for the edges, those at fewer
    /// hops once more before, unless they stay in memory. Values of vertices are not written.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] without a vertex, for a file that exists or another ending;
    /// [`Error::UnknownVertex`]; [`Error::MemoryBudget`]; [`Error::Unsupported`] for weights beyond
    /// 2^53.
    pub fn write(mut self, path: impl AsRef<Path>) -> Result<Extracted> {
        let path = path.as_ref();
        let memory = self.memory.take().transpose()?;
        let memory_bytes = budget_bytes(memory, self.graph.stored())?;
        let inputs = [&self.graph.path].into_iter().chain(self.keys.files());
        output::check(path, &inputs.collect::<Vec<_>>())?;
        if path.exists() && !self.overwrite {
            return Err(Error::input(path, "it exists: choose another name, or give `overwrite`"));
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_graph = match ending.to_ascii_lowercase().as_str() {
            "cenote" => true,
            "parquet" | "txt" | "el" | "tsv" => false,
            _ => {
                let reason = "cannot write a subgraph to this ending: use .cenote, .parquet, .txt \
                              or .tsv";
                return Err(Error::input(path, reason));
            }
        };
        let reason = "subgraphs of graphs with weights beyond 2^53 cannot be written";
        check_weights(self.graph, reason)?;
        let vertices = self.near(memory_bytes)?;
        if is_graph {
            return self.build(path, &vertices, memory_bytes);
        }
        // The graph file that becomes a list of edges.
        let mut name = partial::partial_name(path);
        name.push(".cenote");
        let graph = Removed(path.with_file_name(name));
        let mut extracted = self.build(&graph.0, &vertices, memory_bytes)?;
        let watch = self.watch.clone();
        let found = Graph::open(&graph.0)?;
        let export = found.export().cancel(move || watch.check().is_err());
        let exported = export.write(path, &mut |done, total| {
            self.on_progress.report("exporting", done, Some(total));
        })?;
        extracted.isolated = exported.isolated;
        extracted.file_bytes = exported.file_bytes;
        Ok(extracted)
    }

    /// The vertices of the subgraph, ascending.
    fn near(&self, memory_bytes: u64) -> Result<Vec<VertexId>> {
        let stored = self.graph.stored();
        let given = self.keys.vertices(stored, memory_bytes)?;
        if given.is_empty() {
            let reason = "has no vertex: name one at least".to_owned();
            return Err(Error::parameter("source", reason));
        }
        let chosen = Bitmap::new(stored.vertices()).map_err(Error::from)?;
        let most = self.most(memory_bytes);
        let mut next: Vec<VertexId> = given.into_iter().filter(|&v| chosen.insert(v)).collect();
        let mut count = next.len() as u64;
        if self.hops > 0 {
            let visit = self.visit(memory_bytes / QUARTER);
            let lists = visit.open().map_err(|error| self.refused(error, memory_bytes))?;
            for _ in 0..self.hops {
                let frontier = std::mem::take(&mut next);
                if frontier.is_empty() {
                    break;
                }
                for batch in lists.pass(Some(&frontier))? {
                    self.watch.check()?;
                    next.extend(batch?.targets.into_iter().filter(|&v| chosen.insert(v)));
                    let found = count + next.len() as u64;
                    self.on_progress.report("finding", found, None);
                    self.check_count(found, most)?;
                }
                count += next.len() as u64;
            }
        }
        self.check_count(count, most)?;
        Ok(chosen.iter().collect())
    }

    /// How many vertices the budget holds beside a bit for each of the graph.
    fn most(&self, memory_bytes: u64) -> u64 {
        let room = memory_bytes / QUARTER;
        room.saturating_sub(Bitmap::bytes_for(self.graph.stored().vertices())) / VERTEX_BYTES
    }

    fn check_count(&self, count: u64, most: u64) -> Result<()> {
        if count <= most {
            return Ok(());
        }
        let vertices = self.graph.stored().vertices();
        let set_bytes = Bitmap::bytes_for(vertices);
        let mebibytes =
            |count: u64| ((count * VERTEX_BYTES + set_bytes) * QUARTER).div_ceil(1 << 20);
        let reason = format!(
            "holds {most} vertices in the quarter that is for them, and the subgraph has {count} \
             or more, which need {}MiB: give at least {}MiB, enough for all {vertices} of the \
             graph, or take fewer hops",
            mebibytes(count),
            self.sufficient()?.div_ceil(1 << 20),
        );
        Err(Error::parameter("memory", reason))
    }

    /// A budget that suffices for all vertices of the graph.
    fn sufficient(&self) -> Result<u64> {
        let superblock = self.graph.stored().superblock();
        let ids = streamed_ids(self.graph)?;
        let (vertices, edges) = (self.graph.stored().vertices() as u64, superblock.edges);
        self.sufficient_for(&Streamed { streams: 2, vertices, edges, ids })
    }

    /// A budget that suffices for a subgraph.
    fn sufficient_for(&self, streamed: &Streamed) -> Result<u64> {
        let names_bytes = match streamed.ids {
            StreamedIds::Names(bytes) => bytes,
            StreamedIds::Integers(_) => 0,
        };
        let count = streamed.vertices + names_bytes.div_ceil(VERTEX_BYTES);
        let set_bytes = Bitmap::bytes_for(self.graph.stored().vertices());
        let vertices_bytes = (count * VERTEX_BYTES + set_bytes) * QUARTER;
        let lists_bytes = sufficient_for_visits(self.graph, |bytes| self.visit(bytes))?;
        let lists_bytes = lists_bytes * QUARTER;
        // Fewer vertices may have longer lists, and get hub neighbours that all together do not.
        let stored = self.graph.stored();
        let may_have_hubs = !stored.is_directed() || stored.has_in_edges();
        let import = match may_have_hubs {
            true => self.import().hub_neighbours(HubNeighboursChoice::Yes),
            false => self.import(),
        };
        let import_bytes = import.memory_for(streamed) * HALF;
        Ok(vertices_bytes.max(lists_bytes).max(import_bytes))
    }

    /// The error of a share of the budget, before the vertices are known.
    fn refused(&self, error: Error, memory_bytes: u64) -> Error {
        of_shares(WHAT, error, memory_bytes, SHARES, || self.sufficient())
    }

    fn visit(&self, memory_bytes: u64) -> Visit<'_> {
        let has_weights = self.graph.stored().is_weighted();
        self.graph.visit().weights(has_weights).threads(self.threads).memory(memory_bytes)
    }

    /// An import of the subgraph, still without vertices and edges.
    fn import<'e>(&self) -> Import<'e> {
        let stored = self.graph.stored();
        let import = import_like(self.graph).threads(self.threads);
        match (stored.is_directed(), stored.has_in_edges()) {
            (true, true) => import.directed().in_edges(),
            (true, false) => import.directed(),
            (false, _) => import,
        }
    }

    /// Writes the graph file of these vertices.
    fn build(&self, path: &Path, vertices: &[VertexId], memory_bytes: u64) -> Result<Extracted> {
        let ids = self.graph.kept_ids()?;
        if super::has_names(self.graph.stored()) {
            let (count, mut text_bytes) = (vertices.len() as u64, 0);
            let most = self.most(memory_bytes);
            let mut names = Vec::new();
            for &v in vertices {
                self.watch.check()?;
                let name = ids.id_of(v)?.to_string();
                text_bytes += name.len() as u64;
                // The error counts all names; beyond the budget they are not kept.
                if count + text_bytes.div_ceil(VERTEX_BYTES) <= most {
                    names.push(name);
                }
            }
            self.check_count(count + text_bytes.div_ceil(VERTEX_BYTES), most)?;
            return self.build_with(path, (vertices, names.as_slice()), memory_bytes);
        }
        let integers = vertices.iter().map(|&v| match ids.id_of(v)? {
            Id::Integer(integer) => Ok(integer),
            Id::String(_) => unreachable!("graphs with names have a branch of their own"),
        });
        let integers = integers.collect::<cenote_store::Result<Vec<u64>>>()?;
        self.build_with(path, (vertices, integers.as_slice()), memory_bytes)
    }

    fn build_with<I: EdgeId + Sync>(
        &self,
        path: &Path,
        (vertices, ids): (&[VertexId], &[I]),
        memory_bytes: u64,
    ) -> Result<Extracted> {
        let stored = self.graph.stored();
        let refused = |error| {
            let streamed = || streamed(stored, vertices, ids);
            of_shares(WHAT, error, memory_bytes, SHARES, || self.sufficient_for(&streamed()?))
        };
        let lists = self.visit(memory_bytes / QUARTER).open().map_err(refused)?;
        let fault = Mutex::new(None);
        let rows = Rows {
            pass: lists.pass(Some(vertices))?,
            batch: None,
            list: 0,
            entry: 0,
            vertices,
            ids,
            directed: stored.is_directed(),
            fault: &fault,
        };
        let kind_of_ids = if I::IS_NAME { IdKind::String } else { IdKind::Integer };
        let mut import = self
            .import()
            .edges(rows)
            .vertices(ids)
            .ids(kind_of_ids)
            .memory(memory_bytes / HALF)
            .cancel(|| self.watch.check().is_err())
            .progress(|phase, done, total| self.on_progress.report(phase.name(), done, total));
        if self.overwrite {
            import = import.overwrite();
        }
        let report = import.run(path);
        // The import only knows that the iterator had an error.
        let fault = fault.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(fault) = fault {
            return Err(fault);
        }
        let report = report.map_err(|error| refused(error.into()))?;
        Ok(Extracted {
            vertices: report.vertices,
            edges: report.edges,
            isolated: 0,
            bytes_read: lists.stats().bytes_read,
            file_bytes: report.output_bytes,
        })
    }
}

/// What the import of these vertices, with these ids, is given at most.
fn streamed<I: EdgeId>(graph: &StoredGraph, vertices: &[VertexId], ids: &[I]) -> Result<Streamed> {
    let edges = entries_of(graph, Direction::Out, vertices)?.min(graph.superblock().edges);
    let (mut largest, mut bytes) = (0, 0);
    for id in ids {
        let mut row = Vec::new();
        id.put(&mut row).map_err(Error::InvalidInput)?;
        bytes += row.len() as u64;
        largest = largest.max(row.try_into().map_or(0, u64::from_le_bytes));
    }
    let ids = if I::IS_NAME { StreamedIds::Names(bytes) } else { StreamedIds::Integers(largest) };
    Ok(Streamed { streams: 2, vertices: vertices.len() as u64, edges, ids })
}

/// A file that is removed in the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        // It may never have been made.
        drop(std::fs::remove_file(&self.0));
    }
}

/// The edges between some vertices.
struct Rows<'a, I> {
    pass: Pass,
    batch: Option<ListBatch>,
    /// The list and the entry of the batch that come next.
    list: usize,
    entry: usize,
    /// Ascending.
    vertices: &'a [VertexId],
    /// Of each vertex.
    ids: &'a [I],
    directed: bool,
    /// Why the lists could not be read.
    fault: &'a Mutex<Option<Error>>,
}

impl<'a, I> Rows<'a, I> {
    /// The next edge of the batch.
    fn next_of_batch(&mut self) -> Option<Row<'a, I>> {
        let batch = self.batch.as_ref()?;
        while let Some(&source) = batch.vertices.get(self.list) {
            let end = batch.offsets[self.list + 1] as usize;
            while self.entry < end {
                let (entry, target) = (self.entry, batch.targets[self.entry]);
                self.entry += 1;
                // An undirected edge is in the lists of both its ends.
                if !self.directed && target < source {
                    continue;
                }
                let Ok(to) = self.vertices.binary_search(&target) else { continue };
                let Ok(from) = self.vertices.binary_search(&source) else { continue };
                let weight = batch.weights.as_ref().map_or(0.0, |weights| weights[entry]);
                return Some(Row(Some((&self.ids[from], &self.ids[to], weight))));
            }
            self.list += 1;
        }
        None
    }
}

impl<'a, I> Iterator for Rows<'a, I> {
    type Item = Row<'a, I>;

    fn next(&mut self) -> Option<Row<'a, I>> {
        loop {
            if let Some(row) = self.next_of_batch() {
                return Some(row);
            }
            // Also a call after the last edge finds none.
            (self.batch, self.list, self.entry) = (None, 0, 0);
            match self.pass.next()? {
                Ok(batch) => self.batch = Some(batch),
                Err(error) => {
                    if let Ok(mut fault) = self.fault.lock() {
                        *fault = Some(error);
                    }
                    return Some(Row(None));
                }
            }
        }
    }
}

/// An edge with the ids of its ends and its weight; `None` ends the import.
struct Row<'a, I>(Option<(&'a I, &'a I, f64)>);

impl<I: EdgeId> Edge for Row<'_, I> {
    const HAS_NAMES: bool = I::IS_NAME;
    const HAS_WEIGHT: bool = true;

    fn put(&self, weights: Option<WeightType>, rows: &mut Vec<u8>) -> Result<(), String> {
        put_row(self.0, weights, rows)
    }
}

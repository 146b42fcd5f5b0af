//! Degrees of edges that are not imported.
//!
//! **Returns** for every vertex the number of its edges, as the algorithm of stored graphs does on
//! a graph that keeps repeated edges: a pass cannot tell an edge from one that it has met before.
//! Self-loops are left out unless they are kept, too; their vertices are there anyway.
//!
//! **Memory.** For each integer id 24 to 29 bytes, 32 to 38 on a directed graph; for a name its
//! text and about 60 bytes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::memory::prefetch;
use cenote_device::{HugeVec, setters};
use cenote_store::VertexId;

use super::answer::{VertexIds, ids_of, rows_of};
use super::integers::Numbered;
use super::run::{Answer, Finding, PassStats, find};
use super::state::State;
use crate::budget::Budget;
use crate::config::{IdKind, ImportConfig, Input};
use crate::error::{ImportError, Result};
use crate::ids::strings::StringMap;
use crate::report::Progress;

const WHAT: &str = "the degrees";

const SEGMENT_BITS: u32 = 20;
const SEGMENT: usize = 1 << SEGMENT_BITS;

/// Bytes of a row of ids and numbers, and of an id.
const ROW_BYTES: usize = 12;
const ID_BYTES: usize = size_of::<u64>();

/// Options for the degrees of edges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EdgeDegreesConfig {
    /// Kind of the ids.
    pub ids: IdKind,
    /// Whether edges lead from source to target.
    pub directed: bool,
    /// Counts repeated edges as often as they occur; without it there is no answer.
    pub keep_duplicates: bool,
    /// Counts edges from a vertex to itself.
    pub keep_self_loops: bool,
    /// Memory budget in bytes, of reading and of the answer.
    pub memory_bytes: usize,
    /// Worker threads, at most [`THREADS_MAX`](crate::THREADS_MAX); 0: one per core.
    pub threads: usize,
    /// Folder for the copy of an input that can be read only once, while its ids may turn out to be
    /// strings; `None`: that of the system.
    pub temp_dir: Option<PathBuf>,
}

impl Default for EdgeDegreesConfig {
    fn default() -> Self {
        Self {
            ids: IdKind::Auto,
            directed: false,
            keep_duplicates: false,
            keep_self_loops: false,
            memory_bytes: 1 << 30,
            threads: 0,
            temp_dir: None,
        }
    }
}

impl EdgeDegreesConfig {
    setters! {
        ids: IdKind,
        directed: bool,
        keep_duplicates: bool,
        keep_self_loops: bool,
        memory_bytes: usize,
        threads: usize,
        temp_dir: Option<PathBuf>,
    }
}

/// The degrees of the vertices of edges.
#[derive(Debug)]
#[non_exhaustive]
pub struct EdgeDegrees {
    /// The ids of the vertices, in ascending order.
    pub ids: VertexIds,
    /// For each vertex the number of its edges; if they are directed, of those that leave it.
    pub out: Vec<u64>,
    /// If edges are directed, for each vertex the number of those that lead to it.
    pub inward: Option<Vec<u64>>,
    /// Statistics of the pass.
    pub stats: PassStats,
}

/// Counts the edges of every vertex in one pass. Inputs of vertices may add some without edges.
///
/// # Errors
/// As [`import_edges`](crate::import_edges) for the inputs and the options;
/// [`ImportError::Options`] unless repeated edges are kept; [`ImportError::Straight`] if the
/// vertices do not fit the memory.
pub fn edge_degrees(
    inputs: &[Input<'_>],
    config: &EdgeDegreesConfig,
    progress: &dyn Progress,
) -> Result<EdgeDegrees> {
    if !config.keep_duplicates {
        return Err(ImportError::Options(
            "degrees straight from edges: one pass cannot leave out repeated edges; count them as \
             often as they occur with `keep_duplicates`, or import the edges and count the \
             degrees of the graph"
                .to_owned(),
        ));
    }
    let as_import = ImportConfig::default()
        .ids(config.ids)
        .directed(config.directed)
        .keep_duplicates(true)
        .keep_self_loops(config.keep_self_loops)
        .memory_bytes(config.memory_bytes)
        .threads(config.threads)
        .temp_dir(config.temp_dir.clone());
    if config.directed {
        let Answer { ids, found: [out, inward], stats } =
            find::<Counted<2>>(inputs, &as_import, progress)?;
        return Ok(EdgeDegrees { ids, out, inward: Some(inward), stats });
    }
    let Answer { ids, found: [out], stats } = find::<Counted<1>>(inputs, &as_import, progress)?;
    Ok(EdgeDegrees { ids, out, inward: None, stats })
}

/// For each vertex its degree, or its out-degree and its in-degree.
#[derive(Debug, Default)]
struct Counts<const WIDTH: usize> {
    /// Segments never move.
    segments: Vec<HugeVec<AtomicU64>>,
}

impl<const WIDTH: usize> Counts<WIDTH> {
    #[inline]
    fn slot(&self, vertex: VertexId, side: usize) -> &AtomicU64 {
        let at = vertex as usize;
        &self.segments[at >> SEGMENT_BITS][(at & (SEGMENT - 1)) * WIDTH + side % WIDTH]
    }

    #[inline]
    fn get(&self, vertex: VertexId) -> [u64; WIDTH] {
        std::array::from_fn(|side| self.slot(vertex, side).load(Ordering::Relaxed))
    }
}

impl<const WIDTH: usize> State for Counts<WIDTH> {
    const VERTEX_BYTES: usize = WIDTH * size_of::<AtomicU64>();

    fn grow(&mut self, vertices: usize) -> Result<()> {
        while self.segments.len() * SEGMENT < vertices {
            self.segments.push(HugeVec::zeroed(SEGMENT * WIDTH)?);
        }
        Ok(())
    }

    #[inline]
    fn prefetch(&self, vertex: VertexId) {
        let at = vertex as usize;
        prefetch(&self.segments[at >> SEGMENT_BITS], (at & (SEGMENT - 1)) * WIDTH);
    }

    #[inline]
    fn edge(&self, source: VertexId, target: VertexId) -> [VertexId; 2] {
        if source != target {
            self.slot(source, 0).fetch_add(1, Ordering::Relaxed);
            self.slot(target, 1).fetch_add(1, Ordering::Relaxed);
        }
        [source, target]
    }

    /// One entry of each list of the vertex.
    fn self_loop(&self, vertex: VertexId) {
        for side in 0..WIDTH {
            self.slot(vertex, side).fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Finds degrees.
struct Counted<const WIDTH: usize>;

impl<const WIDTH: usize> Finding for Counted<WIDTH> {
    type State = Counts<WIDTH>;
    type Found = [Vec<u64>; WIDTH];
    const NAME_BYTES: usize = 20 + WIDTH * size_of::<u64>();

    fn of_integers(
        numbered: Numbered<'_, Counts<WIDTH>>,
        threads: usize,
    ) -> Result<(VertexIds, [Vec<u64>; WIDTH])> {
        let Numbered { table, state, count, mut memory } = numbered;
        // Beside the counts first rows, then, row by row, ids with their degrees.
        let bytes = Counts::<WIDTH>::VERTEX_BYTES;
        let needed = count * (bytes + ROW_BYTES.max(ID_BYTES + bytes));
        memory.resize(needed.max(memory.bytes()), WHAT)?;
        let rows = rows_of(table, count, threads)?;
        let mut degrees: [Vec<u64>; WIDTH] = std::array::from_fn(|_| vec![0; count]);
        let ids = ids_of(rows, |at, number| {
            for (degrees, found) in degrees.iter_mut().zip(state.get(number)) {
                degrees[at] = found;
            }
        });
        drop(memory);
        Ok((ids, degrees))
    }

    fn of_names(
        names: StringMap<'_>,
        state: &Counts<WIDTH>,
        budget: &Budget,
    ) -> Result<(VertexIds, [Vec<u64>; WIDTH])> {
        let count = names.len() as usize;
        let _memory = budget.hold(count * Counts::<WIDTH>::VERTEX_BYTES, WHAT)?;
        let mut degrees: [Vec<u64>; WIDTH] = std::array::from_fn(|_| vec![0; count]);
        for number in 0..count as VertexId {
            let at = names.dense(number.into()) as usize;
            for (degrees, found) in degrees.iter_mut().zip(state.get(number)) {
                degrees[at] = found;
            }
        }
        Ok((VertexIds::of_names(names), degrees))
    }
}

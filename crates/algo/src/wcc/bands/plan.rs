//! Sizes of bands and blocks, and what a run reads and writes.

use cenote_engine::{
    Bitmap, BlockRef, Blocks, Direction, Engine, EngineConfig, EngineError, Graph, MemoryPlan,
    Needs, STATE_ALIGN_BYTES, Schedule,
};

use crate::bands::{band_of_each, block_bytes, buffer_bytes, fewest_bands};
use crate::estimate::{Estimate, Reads, kept, may_be_in_bands};
use crate::ranks;
use crate::report::{Bands, Result, pages};

/// Bytes of an edge in a block.
const EDGE_BYTES: u64 = PAIR_BYTES as u64;

/// Bytes of two vertices: an edge, or a root with its label.
pub(super) const PAIR_BYTES: usize = 8;

/// The most passes over hub neighbours; Kronecker graphs of 2^18 to 2^24 vertices take them all.
pub(super) const HUB_PASSES_MAX: u32 = 4;
const HUB_PASSES: f64 = HUB_PASSES_MAX as f64;

/// Bytes of a label.
const LABEL_BYTES: u64 = 4;

/// Bytes of a request: a vertex, the root above that wants its label, that tree's vertices; where
/// vertices are not in the order of their ids, the smallest id and its vertex.
pub(super) fn request_bytes(graph: &Graph) -> usize {
    if ranks::is_natural(graph) { 12 } else { 20 }
}

/// How large the parts in memory are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub vertices: usize,
    pub bands: usize,
    /// Vertices of a band, of which the last may have fewer.
    pub band: usize,
    /// Buffers for large transfers.
    pub buffer_bytes: u64,
    pub block_bytes: usize,
    /// All of it.
    pub state_bytes: u64,
}

/// Bytes of a vertex in the band: parent, neighbour below, number of vertices; where vertices are
/// not in the order of their ids, the smallest id and its vertex.
fn vertex_bytes(graph: &Graph) -> u64 {
    if ranks::is_natural(graph) { 12 } else { 20 }
}

impl Layout {
    /// So many bands with `memory_bytes` for all of the state but the sets.
    fn new(graph: &Graph, config: &EngineConfig, bands: usize, memory_bytes: u64) -> Self {
        let (vertices, threads) = (graph.vertices(), config.threads);
        let (band, bands) = band_of_each(vertices, bands);
        let buffer_bytes = buffer_bytes(memory_bytes);
        // Blocks of edges and of requests, for each band, and those that are read.
        let block_bytes = block_bytes(memory_bytes, threads, 2 * bands + 16);
        let blocks = Blocks::memory_bytes(threads, 2 * bands, block_bytes)
            + Blocks::memory_bytes(threads, 0, block_bytes);
        let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
        // Twice, since vectors of them grow, and for edges that are written again.
        let refs = 4 * BlockRef::bytes_for(EDGE_BYTES * entries, block_bytes)
            + 64 * bands as u64 * (threads as u64 + 1) * bands as u64;
        let state_bytes =
            vertex_bytes(graph) * band.min(vertices) as u64 + buffer_bytes + blocks + refs;
        Self { vertices, bands, band, buffer_bytes, block_bytes, state_bytes }
    }

    /// The fewest bands that fit the budget beside `more_bytes`.
    fn choose(graph: &Graph, config: &EngineConfig, more_bytes: u64) -> Self {
        fewest_bands(
            (graph, config),
            more_bytes,
            |bands, memory_bytes| Self::new(graph, config, bands, memory_bytes),
            |layout| layout.state_bytes,
        )
    }

    /// The band of a vertex.
    #[inline(always)]
    pub fn band_of(&self, v: u32) -> usize {
        v as usize / self.band
    }
}

/// A run in bands.
#[derive(Clone, Debug)]
pub(crate) struct BandPlan {
    pub layout: Layout,
    pub needs: Needs,
    /// For statistics.
    pub report: Bands,
    schedule: Schedule,
    memory: MemoryPlan,
    write_rate: f64,
    threads: usize,
}

/// Bytes of the sets of vertices: the giant component, and on undirected graphs the lists that are
/// not read again.
fn set_bytes(graph: &Graph) -> u64 {
    let sets = if graph.is_directed() { 1 } else { 2 };
    sets * Bitmap::bytes_for(graph.vertices())
}

/// Plans a run in bands if `refused` says that the state does not fit in memory; otherwise returns
/// that error, or one that says what bands need.
pub(crate) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    refused: EngineError,
) -> Result<BandPlan> {
    if !may_be_in_bands(graph, config, &refused) {
        return Err(refused.into());
    }
    let more = set_bytes(graph);
    let layout = Layout::choose(graph, config, more);
    let what = "components in bands of vertices";
    let needs = Needs { what, state_bytes: layout.state_bytes + more, scratch_bytes: 0 };
    let (schedule, memory) = Engine::plan(graph, config, &needs)?;
    let labels = LABEL_BYTES * layout.vertices as u64;
    let because = format!(
        "the vertex state does not fit in memory: a set of the giant component does, and one of {} \
         bands at a time",
        layout.bands
    );
    let report = Bands {
        count: layout.bands as u32,
        vertices: layout.band.min(layout.vertices) as u32,
        band_bytes: vertex_bytes(graph) * layout.band.min(layout.vertices) as u64,
        from_blocks: layout.bands as u32,
        block_bytes: 0,
        file_bytes: labels,
        // Trees within their bands, then labels.
        state_bytes_read: labels,
        bytes_written: 2 * labels,
        because,
    };
    let write_rate = config.write_bytes_per_second(256 << 10);
    let threads = config.threads;
    Ok(BandPlan { layout, needs, report, schedule, memory, write_rate, threads })
}

impl BandPlan {
    /// The estimate of the run. Edges outside the giant component are in its maximum only.
    pub fn estimate(self, graph: &Graph) -> Estimate {
        let all = pages(graph, Direction::Out) as f64;
        let hub_neighbours = graph.hub_neighbours().map(|section| section.pages() as f64);
        let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
        let edges = if graph.is_directed() { entries } else { entries / 2 };
        // Written again by every band that contracts an end.
        let again = 1.0 + (self.layout.bands as f64).ln();
        // At most every vertex is a tree whose request is read twice, and is answered.
        let requests = (2 * request_bytes(graph) + PAIR_BYTES) as f64 * self.layout.vertices as f64;
        // The last block of every writer is not full.
        let writers = (self.layout.bands * self.layout.bands * 3 * self.threads) as f64;
        let padding = (writers * STATE_ALIGN_BYTES as f64).min(edges as f64 * 4096.0);
        let blocks = EDGE_BYTES as f64 * edges as f64 * again + requests + padding;
        let blocks = blocks / graph.page_bytes() as f64;
        let (reads, because) = match (hub_neighbours, graph.is_directed()) {
            (hubs, true) => {
                let hubs = hubs.unwrap_or(0.0);
                let again = 1.0 - kept(graph, &self.memory, pages(graph, Direction::Out));
                let passes = |of_hubs: f64| (1.0 + again) * all + of_hubs * hubs;
                let reads =
                    Reads::between(passes(1.0), passes(HUB_PASSES), passes(HUB_PASSES) + blocks);
                (reads, "two passes over the pages, less what stays in memory")
            }
            (Some(hubs), false) => (
                Reads::between(hubs, HUB_PASSES * hubs, HUB_PASSES * hubs + 2.0 * all + blocks),
                "the hub neighbours, and the lists of vertices outside the giant component",
            ),
            (None, false) => (
                Reads::between(all, all, 2.0 * all + blocks),
                "one pass over the pages, and the lists of vertices outside the giant component",
            ),
        };
        let because = format!("{because}; {}", self.report.because);
        let schedule = self.schedule.clone();
        let estimate = Estimate::new(graph, (schedule, self.memory), reads.uncached(), because);
        estimate.with_bands(&self.schedule, self.write_rate, self.report)
    }
}

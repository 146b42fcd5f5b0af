//! Sizes of bands, windows and blocks.

use cenote_engine::{BlockRef, Blocks, Direction, EngineConfig, Graph, Schedule, WeightColumn};

use super::divisors::Divisors;
use super::grid::Width;
use super::reach::{Reach, Span};
use super::{sums, totals};
use crate::bands::{VERTICES_ALIGN, band_of_each, block_bytes, buffer_bytes, fewest_bands};
use crate::report::pages;

/// Bytes of a share.
pub(super) const SHARE_BYTES: u64 = 8;

/// Bytes in memory for a vertex of the window: its sum, the stored sums of the windows before and
/// after it, its share and that of the window before, and divisor.
const fn window_vertex_bytes(weighted: bool) -> usize {
    let bytes = 16 + 2 * 16 + 2 * 8 + Divisors::bytes(weighted);
    // Before them its total is added up.
    assert!(totals::TOTAL_BYTES + 8 + Divisors::bytes(true) <= bytes || !weighted);
    bytes
}

/// How large the parts in memory are.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Layout {
    pub vertices: usize,
    pub bands: usize,
    /// Vertices of a band, of which the last may have fewer.
    pub band: usize,
    /// Vertices of a window.
    pub window: usize,
    /// Buffers for large transfers.
    pub buffer_bytes: u64,
    /// Bytes of an entry in a block.
    pub width: Width,
    pub block_bytes: usize,
    /// All of it.
    pub state_bytes: u64,
}

impl Layout {
    /// So many bands with `memory_bytes` for all of the state.
    fn new(
        graph: &Graph,
        config: &EngineConfig,
        direction: Direction,
        bands: usize,
        memory_bytes: u64,
    ) -> Self {
        let (vertices, threads) = (graph.vertices(), config.threads);
        let (band, bands) = band_of_each(vertices, bands);
        let window_vertex_bytes = window_vertex_bytes(config.weighted);
        let window_least = (VERTICES_ALIGN * window_vertex_bytes) as u64;
        let of_window = usize::try_from((memory_bytes / 6).clamp(window_least, 16 << 20));
        let window = of_window.expect("clamped") / window_vertex_bytes;
        let window = (window / VERTICES_ALIGN * VERTICES_ALIGN).max(VERTICES_ALIGN);
        let window = window.min(vertices.next_multiple_of(VERTICES_ALIGN));
        let buffer_bytes = buffer_bytes(memory_bytes);
        let block_bytes = block_bytes(memory_bytes, threads, bands + 8);
        let adjacency = graph.adjacency(direction);
        let entries = adjacency.map_or(0, |lists| lists.stored_edges());
        let column = graph.weights(direction).filter(|_| config.weighted);
        let width = Width::of(band, column.map(WeightColumn::kind));
        // What a worker decodes: of a block at most three times its bytes.
        let runs_bytes = sums::runs_bytes_max(config.weighted);
        let decoded = (3 * block_bytes as u64).max(runs_bytes) * threads as u64;
        let blocks = Blocks::memory_bytes(threads, bands, block_bytes);
        let windows = vertices.div_ceil(window) as u64;
        let entry_bytes = 5 + width.weight as u64;
        let refs = 2 * BlockRef::bytes_for(entry_bytes * entries, block_bytes)
            + (24 + 32 * threads as u64) * windows * bands as u64
            + Reach::bytes_for(windows as usize, bands)
            + (threads * bands * size_of::<Span>()) as u64;
        let state_bytes = SHARE_BYTES * band.min(vertices) as u64
            + (window_vertex_bytes * window) as u64
            + buffer_bytes
            + blocks
            + decoded
            + refs;
        Self { vertices, bands, band, window, buffer_bytes, width, block_bytes, state_bytes }
    }

    /// The fewest bands that fit the budget beside `more_bytes`.
    pub fn choose(
        graph: &Graph,
        config: &EngineConfig,
        direction: Direction,
        more_bytes: u64,
    ) -> Self {
        fewest_bands(
            (graph, config),
            more_bytes,
            |bands, memory_bytes| Self::new(graph, config, direction, bands, memory_bytes),
            |layout| layout.state_bytes,
        )
    }

    /// The band of the last vertex of a window.
    pub fn last_own_band(&self, w: usize) -> usize {
        (((w + 1) * self.window).min(self.vertices) - 1) / self.band
    }

    pub fn windows(&self) -> usize {
        self.vertices.div_ceil(self.window)
    }

    /// Pages of a pass over the lists, window by window: those at the ends of two are read twice.
    /// By weight also pages of weights: at the ends of windows and of requests twice, too.
    pub fn pass_pages(
        &self,
        graph: &Graph,
        direction: Direction,
        weights: Option<&Schedule>,
    ) -> f64 {
        let (lists, twice) = (pages(graph, direction), self.windows() as u64 - 1);
        let Some(schedule) = weights else { return (lists + twice) as f64 };
        let column = graph.weights(direction).map_or(0, WeightColumn::pages);
        let requests = schedule.requests_for_bytes(lists * graph.page_bytes() as u64);
        let entries = graph.adjacency(direction).map_or(0, |lists| lists.stored_edges());
        (lists + twice + column + (twice + requests).min(entries)) as f64
    }
}

//! Sizes of bands, windows and blocks, and the cheapest source of each band's entries.

use cenote_engine::{
    BlockRef, Blocks, Direction, Engine, EngineConfig, EngineError, Graph, MemoryPlan, Needs,
    STATE_ALIGN_BYTES, Schedule, WeightColumn, weighted_bytes_for,
};

use super::super::restart::Restart;
use super::super::weighted::{rank, share};
use super::super::{PageRankConfig, pages_of, pulls};
use super::divisors::Divisors;
use super::grid::Width;
use super::reach::{Reach, Span};
use super::sample::Spread;
use super::{sums, totals};
use crate::bands::{VERTICES_ALIGN, band_of_each, block_bytes, buffer_bytes, fewest_bands};
use crate::estimate::{Estimate, Reads, kept, may_be_in_bands};
use crate::ranks;
use crate::report::{Bands, Result, pages};

/// Bytes of a share.
const SHARE_BYTES: u64 = 8;

/// Bytes in memory for a vertex of the window: its sum, the stored sums of the windows before and
/// after it, its share and that of the window before, and divisor.
const fn window_vertex_bytes(weighted: bool) -> usize {
    let bytes = 16 + 2 * 16 + 2 * 8 + Divisors::bytes(weighted);
    // Before them its total is added up.
    assert!(totals::TOTAL_BYTES + 8 + Divisors::bytes(true) <= bytes || !weighted);
    bytes
}

/// Bytes of a run's vertex and length in a block, about.
const RUN_BYTES: f64 = 2.2;

/// How large the parts in memory are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
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
    fn choose(graph: &Graph, config: &EngineConfig, direction: Direction, more_bytes: u64) -> Self {
        fewest_bands(
            (graph, config),
            more_bytes,
            |bands, memory_bytes| Self::new(graph, config, direction, bands, memory_bytes),
            |layout| layout.state_bytes,
        )
    }

    pub fn windows(&self) -> usize {
        self.vertices.div_ceil(self.window)
    }

    /// Pages of a pass over the lists, window by window: those at the ends of two are read twice.
    /// By weight also pages of weights: at the ends of windows and of requests twice, too.
    fn pass_pages(&self, graph: &Graph, direction: Direction, weights: Option<&Schedule>) -> f64 {
        let (lists, twice) = (pages(graph, direction), self.windows() as u64 - 1);
        let Some(schedule) = weights else { return (lists + twice) as f64 };
        let column = graph.weights(direction).map_or(0, WeightColumn::pages);
        let requests = schedule.requests_for_bytes(lists * graph.page_bytes() as u64);
        (lists + twice + column + twice + requests) as f64
    }
}

/// Bytes that a run moves, as planned.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// Passes over the lists.
    passes: f64,
    state_read: f64,
    written: f64,
    blocks: f64,
}

/// A run in bands.
#[derive(Clone, Debug)]
pub(crate) struct BandPlan {
    pub layout: Layout,
    pub direction: Direction,
    /// Whether vertices add up the shares of their in-neighbours, not give theirs away.
    pub pulls: bool,
    pub weighted: bool,
    /// Whether the entries of each band come from blocks.
    pub in_blocks: Vec<bool>,
    pub needs: Needs,
    /// For statistics.
    pub report: Bands,
    traffic: Traffic,
    /// Pages of a pass, and those of the out-lists that are read once before.
    pass: f64,
    before: f64,
    schedule: Schedule,
    memory: MemoryPlan,
    write_rate: f64,
}

/// Plans a run in bands if `refused` says that the state does not fit in memory; otherwise returns
/// that error, or one that says what bands need.
pub(crate) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    pagerank: &PageRankConfig,
    refused: EngineError,
) -> Result<BandPlan> {
    if !may_be_in_bands(graph, config, &refused) {
        return Err(refused.into());
    }
    let pulls = pulls(graph);
    let direction = if graph.is_directed() && pulls { Direction::In } else { Direction::Out };
    let visits = if pagerank.weighted { weighted_bytes(graph, config, direction)? } else { 0 };
    let more = Restart::bytes_for(graph, pagerank) + visits;
    let layout = Layout::choose(graph, config, direction, more);
    let what = "pagerank in bands of vertices";
    let needs = Needs { what, state_bytes: layout.state_bytes + more, scratch_bytes: 0 };
    let (schedule, memory) = Engine::plan(graph, config, &needs)?;
    let spread = Spread::of(graph, (direction, pulls), &layout)?;
    let iterations = f64::from(pagerank.iterations);
    let cached = kept(graph, &memory, pages_of(graph, direction, pagerank));
    let weights = pagerank.weighted.then_some(&schedule);
    let pass = layout.pass_pages(graph, direction, weights);
    // By weight, totals come from the out-lists.
    let before = match direction {
        Direction::In if pagerank.weighted => layout.pass_pages(graph, Direction::Out, weights),
        _ => 0.0,
    };
    let rates = (schedule.bytes_per_second(), config.write_bytes_per_second(256 << 10));
    let seconds = |traffic: &Traffic| {
        let pages = before + pass * passes_read(traffic.passes, cached);
        let read = pages * graph.page_bytes() as f64 + traffic.state_read;
        read / rates.0 + traffic.written / rates.1
    };
    let plan = |in_blocks: Vec<bool>| {
        let mut traffic = traffic((graph, pulls), config, &layout, &spread, &in_blocks, iterations);
        let sums_weights = pagerank.weighted && direction == Direction::Out;
        traffic.passes += f64::from(u8::from(sums_weights));
        (seconds(&traffic), traffic, in_blocks)
    };
    let plans = candidates(&spread).map(plan);
    let reread = plans[0].0;
    let (best, traffic, in_blocks) =
        plans.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are three");
    let because = reason(&layout, &in_blocks, (best, reread));
    let report = report((graph, pulls), config, &layout, &in_blocks, (&traffic, because));
    let write_rate = rates.1;
    Ok(BandPlan {
        layout,
        direction,
        pulls,
        weighted: pagerank.weighted,
        in_blocks,
        needs,
        report,
        traffic,
        pass,
        before,
        schedule,
        memory,
        write_rate,
    })
}

/// Bytes of visits with weights: of the lists of the iterations, and of out-lists.
fn weighted_bytes(graph: &Graph, config: &EngineConfig, direction: Direction) -> Result<u64> {
    let out = weighted_bytes_for(graph, config, Direction::Out)?;
    Ok(out.max(weighted_bytes_for(graph, config, direction)?))
}

/// Passes over lists of which a part stays in memory after the first.
fn passes_read(passes: f64, cached: f64) -> f64 {
    passes - (passes - 1.0).max(0.0) * cached
}

/// The sources to compare: all bands from the lists, all but the one with most entries from blocks,
/// all from blocks.
fn candidates(spread: &Spread) -> [Vec<bool>; 3] {
    let bands = spread.entries.len();
    let most = (0..bands).max_by(|&a, &b| spread.entries[a].total_cmp(&spread.entries[b]));
    [vec![false; bands], (0..bands).map(|b| Some(b) != most).collect(), vec![true; bands]]
}

fn traffic(
    (graph, pulls): (&Graph, bool),
    config: &EngineConfig,
    layout: &Layout,
    spread: &Spread,
    in_blocks: &[bool],
    iterations: f64,
) -> Traffic {
    let n = layout.vertices as f64;
    let windows = layout.windows() as f64;
    // The last block of every writer is not full.
    let padding = windows * config.threads as f64 * STATE_ALIGN_BYTES as f64 / 2.0;
    let width = (layout.width.entry + layout.width.weight) as f64;
    let of_band = |b: usize| {
        let bytes = spread.entries[b] * width + spread.runs[b] * RUN_BYTES;
        bytes + padding.min(bytes)
    };
    let blocks: f64 = (0..layout.bands).filter(|&b| in_blocks[b]).map(of_band).sum();
    let from_lists = |&b: &usize| !in_blocks[b];
    let visited: f64 = (0..layout.bands).filter(from_lists).map(|b| spread.visited[b]).sum();
    // The first visit of all lists finds out what later ones leave out.
    let first = (0..layout.bands).find(from_lists).map_or(0.0, |b| 1.0 - spread.visited[b]);
    let of_stored = |&(part, lists): &(f64, f64)| match part * windows {
        0.0 => 0.0,
        stored => stored * sums::window_bytes(layout.window, lists / stored),
    };
    let sums: f64 = spread.stored.iter().map(of_stored).sum();
    let share = SHARE_BYTES as f64 * n;
    let divisor = Divisors::bytes(config.weighted) as f64 * n;
    let ranks = if ranks::is_natural(graph) { 0.0 } else { 4.0 * n };
    let reached: f64 = spread.reached.iter().sum();
    let (read, written) = match pulls {
        // Shares of all bands, and of the windows before they are replaced.
        true => (2.0 * share + divisor + sums, share + sums),
        // Ranks of windows for each band, and those of the band before they are replaced.
        false => ((reached + 1.0) * (share + divisor), share),
    };
    Traffic {
        passes: iterations * visited + first + f64::from(u8::from(blocks > 0.0)),
        state_read: iterations * (read + blocks) + share + divisor,
        written: share + divisor + iterations * written + blocks + share + ranks,
        blocks,
    }
}

fn reason(layout: &Layout, in_blocks: &[bool], (best, reread): (f64, f64)) -> String {
    let bands = layout.bands;
    let blocks = in_blocks.iter().filter(|in_blocks| **in_blocks).count();
    let fit = "the vertex state does not fit in memory";
    let reread = format!("{best:.2} s of device time, {reread:.2} s if every band reads the lists");
    match blocks {
        0 if bands == 1 => format!("{fit}, one copy of the shares does"),
        0 => format!("{fit}: each of {bands} bands reads the lists, which costs least"),
        all if all == bands => format!("{fit}: {bands} bands, all from blocks: {reread}"),
        some => format!("{fit}: {bands} bands, {some} of them from blocks: {reread}"),
    }
}

fn report(
    (graph, pulls): (&Graph, bool),
    config: &EngineConfig,
    layout: &Layout,
    in_blocks: &[bool],
    (traffic, because): (&Traffic, String),
) -> Bands {
    let vertex_bytes = SHARE_BYTES + Divisors::bytes(config.weighted) as u64;
    let mut file = vertex_bytes * layout.vertices as u64 + traffic.blocks as u64;
    if !pulls {
        file += SHARE_BYTES * layout.vertices as u64;
    } else if layout.bands > 1 {
        file += layout.windows() as u64 * sums::slot_bytes(layout.window);
    }
    if !ranks::is_natural(graph) {
        file += 4 * layout.vertices as u64;
    }
    Bands {
        count: layout.bands as u32,
        vertices: layout.band.min(layout.vertices) as u32,
        band_bytes: SHARE_BYTES * layout.band.min(layout.vertices) as u64,
        from_blocks: in_blocks.iter().filter(|in_blocks| **in_blocks).count() as u32,
        block_bytes: traffic.blocks as u64,
        file_bytes: file,
        state_bytes_read: traffic.state_read as u64,
        bytes_written: traffic.written as u64,
        because,
    }
}

impl BandPlan {
    /// The number that is kept of a vertex: its share, unless ranks are given away in equal parts.
    #[inline(always)]
    pub fn number_of(&self, vertex_rank: f64, divisor: f64) -> f64 {
        if self.keeps_shares() { share(vertex_rank, divisor) } else { vertex_rank }
    }

    /// The rank of a vertex with this number.
    #[inline(always)]
    pub fn rank_of(&self, number: f64, divisor: f64) -> f64 {
        if self.keeps_shares() { rank(number, divisor) } else { number }
    }

    fn keeps_shares(&self) -> bool {
        self.pulls || self.weighted
    }

    /// The estimate of the run.
    pub fn estimate(self, graph: &Graph, pagerank: &PageRankConfig) -> Estimate {
        let cached = kept(graph, &self.memory, pages_of(graph, self.direction, pagerank));
        let read = self.before + self.pass * passes_read(self.traffic.passes, cached);
        let visited = self.before + self.pass * self.traffic.passes;
        let reads = Reads::about(read).visiting(visited);
        let because = self.report.because.clone();
        let schedule = self.schedule.clone();
        let estimate = Estimate::new(graph, (schedule, self.memory), reads, because);
        estimate.with_bands(&self.schedule, self.write_rate, self.report)
    }
}

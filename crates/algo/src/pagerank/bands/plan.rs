//! The cheapest source of each band's entries, and what a run moves.

use cenote_engine::{
    Direction, Engine, EngineConfig, EngineError, Graph, MemoryPlan, Needs, STATE_ALIGN_BYTES,
    Schedule, weighted_bytes_for,
};

use super::super::restart::Restart;
use super::super::weighted::{rank, share};
use super::super::{PageRankConfig, pages_of, pulls};
use super::divisors::Divisors;
use super::layout::{Layout, SHARE_BYTES};
use super::sample::Spread;
use super::sums;
use crate::estimate::{Estimate, Reads, kept, may_be_in_bands};
use crate::ranks;
use crate::report::{Bands, Result, pages};

/// Bytes of a run's vertex and length in a block, about.
const RUN_BYTES: f64 = 2.2;

/// Bytes of a window's lists for each worker that takes part in writing them to blocks, about.
const WRITER_BYTES: f64 = (256 << 10) as f64;

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
        let mut traffic =
            traffic((graph, direction, pulls), config, &layout, &spread, &in_blocks, iterations);
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
    (graph, direction, pulls): (&Graph, Direction, bool),
    config: &EngineConfig,
    layout: &Layout,
    spread: &Spread,
    in_blocks: &[bool],
    iterations: f64,
) -> Traffic {
    let n = layout.vertices as f64;
    let windows = layout.windows() as f64;
    let window_bytes = pages(graph, direction) as f64 * graph.page_bytes() as f64 / windows;
    let writers = (window_bytes / WRITER_BYTES).clamp(1.0, config.threads as f64);
    let width = (layout.width.entry + layout.width.weight) as f64;
    let of_band = |b: usize| {
        let bytes = spread.entries[b] * width + spread.runs[b] * RUN_BYTES;
        let reached = spread.reached[b] * windows;
        // Of each window, the last block of every writer is not full.
        let partial = (reached * writers).min(spread.runs[b]).max(f64::MIN_POSITIVE);
        let align = STATE_ALIGN_BYTES as f64;
        partial * (bytes / partial + align / 2.0).max(align)
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
    let reread = format!("{best:.2} s of device time, {reread:.2} s if all read their lists");
    match blocks {
        0 if bands == 1 => format!("{fit}, one copy of the shares does"),
        0 => {
            format!("{fit}: each of {bands} bands reads the lists that reach it, which costs least")
        }
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

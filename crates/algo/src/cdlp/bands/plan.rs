//! Memory and reads of a label propagation in bands.

use cenote_engine::{EngineConfig, EngineError, Graph};

use super::super::CdlpConfig;
use super::super::frequent::Frequent;
use crate::bands::{Changes, GatherPlan};
use crate::estimate::{Estimate, Reads};
use crate::neighbourhood::entries_bound;
use crate::ranks::is_natural;
use crate::report::{Result, graph_pages};

/// The share of vertices that later iterations look at, on social graphs.
const LATER_SHARE: f64 = 0.52;

/// Plans a run in bands; see [`BandPlan::choose`](crate::bands::BandPlan::choose).
pub(in super::super) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    cdlp: &CdlpConfig,
    refused: EngineError,
) -> Result<GatherPlan> {
    let n = graph.vertices();
    let longest = entries_bound(graph);
    let tables = config.threads as u64 * Frequent::bytes_for(longest);
    let sets = Changes::bytes_for(n, config.threads);
    let what = "cdlp in bands of vertices";
    let plan = GatherPlan::choose(graph, config, (what, tables + sets), refused)?;
    let labels = 4 * n as u64;
    let (read, written) = plan.sweep_bytes();
    let sweeps =
        if cdlp.iterations == 0 { 0.0 } else { 1.0 + LATER_SHARE * f64::from(cdlp.iterations - 1) };
    let of_sweeps = |bytes: u64| (sweeps * bytes as f64) as u64;
    // Labels are counted, and where vertices are not in the order of their ids they are named, by
    // bands.
    let bands = plan.bands.layout.bands as u64;
    let named = if is_natural(graph) { 0 } else { bands * labels };
    let read = of_sweeps(read) + bands * labels + 2 * named;
    // All labels are written in every iteration.
    let written = u64::from(cdlp.iterations) * written + labels + named;
    Ok(plan.with((2 * labels, read, written)))
}

/// The estimate of a run.
pub(in super::super) fn estimate(plan: GatherPlan, graph: &Graph, cdlp: &CdlpConfig) -> Estimate {
    let pass = graph_pages(graph) as f64;
    let iterations = f64::from(cdlp.iterations);
    let uncached = 1.0 - plan.bands.memory.cached_fraction(graph);
    let later = (iterations - 1.0).max(0.0);
    let passes = |share: f64| iterations.min(1.0) + share * later * uncached;
    let again = plan.again();
    let reads = Reads::between(
        pass * passes(0.1),
        pass * passes(LATER_SHARE) * again,
        pass * passes(2.0) * again * 1.5,
    );
    let because = "at most a pass over the pages per iteration, less what is cached; later ones \
                   skip vertices whose neighbours did not change";
    let visited = pass * (iterations.min(1.0) + LATER_SHARE * later);
    let state = plan.bands.report.state_bytes_read;
    let estimate = plan.bands.estimate(graph, reads.visiting(visited), because);
    // Iterations end early where no label changes any more, and lists whose neighbours lie near
    // each other need few bands.
    let bytes_read_at_least = (pass * passes(0.1)) as u64 * graph.page_bytes() as u64;
    Estimate {
        bytes_read_at_least,
        bytes_read_at_most: estimate.bytes_read_at_most + state,
        ..estimate
    }
}

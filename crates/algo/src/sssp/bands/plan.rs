//! Memory and reads of a search in bands.

use cenote_engine::{
    Bitmap, Direction, EngineConfig, EngineError, Frontier, Graph, Strategy, weighted_bytes_for,
    weighted_pages_bytes_for,
};

use super::super::{SsspConfig, visits};
use super::band::Band;
use super::bounds::Bounds;
use super::lists::Lists;
use super::parents::CANDIDATE_BYTES;
use super::relax::MESSAGE_BYTES;
use crate::bands::{BandPlan, Shape, Traffic, list_max, parents};
use crate::estimate::{Estimate, Reads, kept};
use crate::kind::is_lattice;
use crate::report::{Result, pages};

/// Messages a vertex, of edges that lead to other bands.
const MESSAGES_PER_VERTEX: f64 = 3.0;

/// Bytes of distances a vertex that are read, and as many written, on lattices and roads in small
/// steps: few vertices are followed at a time.
const LATTICE_BYTES: u64 = 1024;

/// About how often a band is visited whose lists are then in memory.
const VISITS_WITH_LISTS: u64 = 8;

/// How often parents read all distances; how many are proposed, a vertex, and how many candidates
/// go to other bands.
const PARENT_READS: u64 = 3;
const PROPOSED: f64 = 1.3;
const CANDIDATES: f64 = 1.5;

/// A search in bands, either way within the same needs.
pub(in super::super) struct Plan {
    /// With the lists of a band in memory, if most edges stay within bands.
    pub with_lists: Option<BandPlan>,
    /// In steps.
    pub steps: BandPlan,
}

/// Plans a search in bands; see [`BandPlan::choose`].
pub(in super::super) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    sssp: &SsspConfig,
    refused: EngineError,
) -> Result<Plan> {
    let shape = shape(graph, config, sssp)?;
    let steps = BandPlan::choose(graph, config, &shape, refused)?;
    let shape = Shape {
        vertex_bytes: shape.vertex_bytes + Lists::vertex_bytes(graph),
        fixed_bytes: shape.fixed_bytes + Lists::fixed_bytes(graph),
        ..shape
    };
    let with_lists = match may_load_lists(graph, config) {
        true => BandPlan::of(graph, config, &shape).ok(),
        false => None,
    };
    let Some(with_lists) = with_lists else {
        return Ok(Plan { with_lists: None, steps: with_traffic(steps, graph, sssp, false) });
    };
    let [lists_state, steps_state] = [&with_lists, &steps].map(|plan| plan.needs.state_bytes);
    let with_lists = with_lists.with_state(graph, config, steps_state)?;
    let steps = steps.with_state(graph, config, lists_state)?;
    Ok(Plan {
        with_lists: Some(with_traffic(with_lists, graph, sssp, true)),
        steps: with_traffic(steps, graph, sssp, false),
    })
}

/// Whether lists of a band may be in memory.
fn may_load_lists(graph: &Graph, config: &EngineConfig) -> bool {
    is_lattice(graph) && config.strategy == Strategy::Auto
}

/// What is in memory in steps.
fn shape(graph: &Graph, config: &EngineConfig, sssp: &SsspConfig) -> Result<Shape> {
    let n = graph.vertices();
    let frontier = Frontier::bytes_with_list_max(n, config.threads, list_max(n));
    let bitmaps = if sssp.parents { 3 } else { 1 } * Bitmap::bytes_for(n);
    let sets = Bounds::bytes_for(n) + bitmaps + frontier + Band::more_bytes(n);
    let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
    let buffers = weighted_bytes_for(graph, config, Direction::Out)?.max(weighted_pages_bytes_for(
        graph,
        config,
        Direction::Out,
    )?);
    Ok(Shape {
        what: "sssp in bands of vertices",
        vertex_bytes: 8,
        fixed_bytes: sets + buffers,
        messages: if sssp.parents { 2 } else { 1 },
        message_bytes: 2 * MESSAGE_BYTES as u64 * entries
            + if sssp.parents {
                CANDIDATE_BYTES as u64 * entries + parents::message_bytes_max(graph)
            } else {
                0
            },
        ..Shape::default()
    })
}

/// Adds what a search moves.
fn with_traffic(plan: BandPlan, graph: &Graph, sssp: &SsspConfig, has_lists: bool) -> BandPlan {
    let n = graph.vertices();
    let bands = plan.layout.bands;
    let lists = if has_lists { " with its lists" } else { "" };
    let because =
        format!("a bound of a byte a vertex does, and one of {bands} bands at a time{lists}");
    let distances = 8 * n as u64;
    let messages = match bands {
        1 => 0.0,
        _ => MESSAGE_BYTES as f64 * MESSAGES_PER_VERTEX * (bands as f64 - 1.0) / bands as f64,
    };
    let messages = (messages * n as f64) as u64;
    let moved = match is_lattice(graph) {
        true if has_lists => VISITS_WITH_LISTS * distances,
        true => LATTICE_BYTES * n as u64,
        false => (visits(graph).max(1.0) / 2.0 * distances as f64) as u64,
    };
    let found = match sssp.parents {
        false => Traffic::default(),
        true => {
            let others = (bands as f64 - 1.0) / bands as f64;
            let candidates = (CANDIDATE_BYTES as f64 * CANDIDATES * others * n as f64) as u64;
            let mut found = parents::traffic(graph, PROPOSED);
            found.file_bytes += candidates;
            found.state_bytes_read += PARENT_READS * distances + candidates;
            found.bytes_written += candidates;
            found.block_bytes += candidates;
            found
        }
    };
    plan.with(Traffic {
        file_bytes: distances + messages + found.file_bytes,
        state_bytes_read: moved + distances + messages + found.state_bytes_read,
        bytes_written: moved + messages + found.bytes_written,
        block_bytes: messages + found.block_bytes,
        because: because + &found.because,
    })
}

/// The estimate of a search.
pub(in super::super) fn estimate(plan: Plan, graph: &Graph, sssp: &SsspConfig) -> Estimate {
    let has_lists = plan.with_lists.is_some();
    let plan = plan.with_lists.unwrap_or(plan.steps);
    let column = graph.weights(Direction::Out).map_or(0, |column| column.pages());
    let total = pages(graph, Direction::Out) + column;
    let missing = 1.0 - kept(graph, &plan.memory, total);
    // A pass for parents.
    let again = if sssp.parents { total as f64 * missing } else { 0.0 };
    let reads = |visits: f64| total as f64 * (1.0 + (visits - 1.0).max(0.0) * missing);
    let (likely, most, because) = match is_lattice(graph) {
        true => {
            let each = graph.vertices() as f64 * missing;
            let (likely, because) = if has_lists {
                let visits = VISITS_WITH_LISTS;
                let because = format!(
                    "the lists of each band about {visits} times where neighbours lie near each \
                     other in the file; else small steps read about a page a vertex, of lists and \
                     of distances"
                );
                (reads(visits as f64), because)
            } else {
                let because = "small steps read about a page a vertex, of lists and of distances";
                (total as f64 + 1.5 * each, because.to_owned())
            };
            (again + likely, 3.0 * (again + total as f64) + 8.0 * each, because)
        }
        false => {
            let visits = visits(graph);
            let because = format!(
                "the pages of all reachable vertices and their weights, and those that do not stay \
                 in memory about {visits:.0} times"
            );
            (again + reads(visits), 4.0 * (again + reads(visits)), because)
        }
    };
    let estimate = plan.estimate(graph, Reads::between(1.0, likely, most), &because);
    let messages = if sssp.parents { parents::message_bytes_max(graph) } else { 0 };
    Estimate {
        // A search that reaches little visits few bands.
        bytes_read_at_least: graph.page_bytes() as u64,
        bytes_read_at_most: estimate.bytes_read_at_most + messages,
        ..estimate
    }
}

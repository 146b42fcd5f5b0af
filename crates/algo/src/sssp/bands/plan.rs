//! Memory and reads of a search in bands.

use cenote_engine::{
    Bitmap, Direction, EngineConfig, EngineError, Frontier, Graph, weighted_bytes_for,
    weighted_pages_bytes_for,
};

use super::super::{SsspConfig, visits};
use super::band::Band;
use super::bounds::Bounds;
use super::relax::MESSAGE_BYTES;
use crate::bands::{BandPlan, Shape, Traffic, list_max};
use crate::estimate::{Estimate, Reads, kept};
use crate::kind::is_lattice;
use crate::report::{Result, pages};

/// Messages a vertex, of edges that lead to other bands.
const MESSAGES_PER_VERTEX: f64 = 3.0;

/// Bytes of distances a vertex that are read, and as many written, on lattices and roads: few
/// vertices are followed at a time.
const LATTICE_BYTES: u64 = 1024;

/// Plans a search in bands; see [`BandPlan::choose`]. Parents need their memory.
pub(in super::super) fn choose(
    graph: &Graph,
    config: &EngineConfig,
    sssp: &SsspConfig,
    refused: EngineError,
) -> Result<BandPlan> {
    if sssp.parents {
        return Err(refused.into());
    }
    let n = graph.vertices();
    let frontier = Frontier::bytes_with_list_max(n, config.threads, list_max(n));
    let sets = Bounds::bytes_for(n) + Bitmap::bytes_for(n) + frontier + Band::more_bytes(n);
    let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
    let buffers = weighted_bytes_for(graph, config, Direction::Out)?.max(weighted_pages_bytes_for(
        graph,
        config,
        Direction::Out,
    )?);
    let shape = Shape {
        what: "sssp in bands of vertices",
        vertex_bytes: 8,
        fixed_bytes: sets + buffers,
        messages: 1,
        message_bytes: 2 * MESSAGE_BYTES as u64 * entries,
        ..Shape::default()
    };
    let plan = BandPlan::choose(graph, config, &shape, refused)?;
    let bands = plan.layout.bands;
    let because = format!("a bound of a byte a vertex does, and one of {bands} bands at a time");
    let distances = 8 * n as u64;
    let messages = match bands {
        1 => 0.0,
        _ => MESSAGE_BYTES as f64 * MESSAGES_PER_VERTEX * (bands as f64 - 1.0) / bands as f64,
    };
    let messages = (messages * n as f64) as u64;
    let moved = match is_lattice(graph) {
        true => LATTICE_BYTES * n as u64,
        false => (visits(graph).max(1.0) / 2.0 * distances as f64) as u64,
    };
    Ok(plan.with(Traffic {
        file_bytes: distances + messages,
        state_bytes_read: moved + distances + messages,
        bytes_written: moved + messages,
        block_bytes: messages,
        because,
    }))
}

/// The estimate of a search.
pub(in super::super) fn estimate(plan: BandPlan, graph: &Graph) -> Estimate {
    let column = graph.weights(Direction::Out).map_or(0, |column| column.pages());
    let total = pages(graph, Direction::Out) + column;
    let missing = 1.0 - kept(graph, &plan.memory, total);
    let reads = |visits: f64| total as f64 * (1.0 + (visits - 1.0).max(0.0) * missing);
    let (likely, most, because) = match is_lattice(graph) {
        true => {
            let each = graph.vertices() as f64 * missing;
            let because = "small steps read about a page a vertex, of lists and of distances";
            (total as f64 + 1.5 * each, 3.0 * total as f64 + 8.0 * each, because.to_owned())
        }
        false => {
            let visits = visits(graph);
            let because = format!(
                "the pages of all reachable vertices and their weights, and those that do not stay \
                 in memory about {visits:.0} times"
            );
            (reads(visits), 4.0 * reads(visits), because)
        }
    };
    let estimate = plan.estimate(graph, Reads::between(1.0, likely, most), &because);
    // A search that reaches little visits few bands.
    Estimate { bytes_read_at_least: graph.page_bytes() as u64, ..estimate }
}

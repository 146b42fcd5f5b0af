//! Orders the vertices by something else than their ids: computes the vertex of every rank.
//!
//! A shuffle needs only the number of vertices. All other orders need the graph, which is built in
//! natural order on a spill file first. Then the edges are mapped, partitioned and sorted again
//! from the start, so every order uses the same code. The temporary graph vanishes with its file.
//!
//! - [`choose`]: chooses an order, by what [`sample`] says of the graph and by trying clusters
//! - [`bfs`], [`cluster`]: two of the orders

mod bfs;
mod choose;
mod cluster;
pub(crate) mod sample;

use std::cmp::Reverse;
use std::sync::Arc;

use cenote_device::mix;
use cenote_pool::Pool;

use self::bfs::Search;
use self::cluster::{Degree, Loaded, Stored};
use crate::budget::Held;
use crate::config::ImportConfig;
use crate::driver::{Gathered, Import, explain_output};
use crate::error::Result;
use crate::ids::map::Placed;
use crate::report::Phase;
use cenote_store::format::Codec;
use cenote_store::order::Order;
use cenote_store::{Direction, Graph, LookupConfig, VertexId};

const WHAT: &str = "the order of the vertices";
/// Buffers of the streams over the temporary graph: two of 2 MiB each.
const STREAMS_BYTES: usize = 4 << 20;
/// Bytes of memory for each page of the temporary graph: its index, and a copy of a level of fewer
/// than half as many vertices.
const INDEX_BYTES: usize = 8;

impl<'a> Import<'a> {
    /// Computes the vertex of every rank, unless the order is natural. Returns the bytes spilled.
    pub(super) fn place(&self, gathered: &mut Gathered<'a>) -> Result<u64> {
        let order = self.config.order;
        if gathered.ids.placed.is_some() {
            return Ok(0);
        }
        let vertices = gathered.ids.len() as usize;
        let mut memory = self.budget.hold(memory_of(order, vertices, 0), WHAT)?;
        let (vertex_of, spilled) = match order {
            Order::Natural => return Ok(0),
            Order::Random { seed } => {
                self.progress.begin(Phase::Order, None);
                (shuffled(vertices, seed), 0)
            }
            Order::Degree | Order::Bfs | Order::Cluster => {
                // Held again after the temporary graph was built.
                drop(memory);
                let (graph, spilled) = self.natural_graph(gathered)?;
                self.progress.begin(Phase::Order, None);
                memory = self.budget.hold(memory_of(order, vertices, graph.bytes()), WHAT)?;
                let vertex_of = match order {
                    Order::Cluster => self.by_cluster(graph, vertices)?,
                    _ => self.by_degrees(graph, order)?,
                };
                (vertex_of, spilled)
            }
        };
        memory.shrink_to(vertices * size_of::<VertexId>());
        gathered.ids.placed = Some(Placed { order, vertex_of, _memory: memory });
        Ok(spilled)
    }

    fn by_degrees(&self, graph: Temporary, order: Order) -> Result<Vec<VertexId>> {
        let frames_max = if order == Order::Bfs { usize::MAX } else { 0 };
        let (graph, _frames) = graph.open(self, frames_max)?;
        let degrees = degrees(&graph)?;
        let ranks = by_degree(&degrees);
        if order == Order::Degree {
            return Ok(inverse_into(&ranks, degrees));
        }
        let joined = ranks.partition_point(|&rank| degrees[rank as usize] > 0);
        Search::new((&graph, &graph.handle()?), degrees, self.progress).run(&ranks, joined)
    }

    /// With all lists in memory, where it has room for them.
    fn by_cluster(&self, graph: Temporary, vertices: usize) -> Result<Vec<VertexId>> {
        let bytes = graph.bytes_of_lists(vertices);
        let is_loaded = graph.are_lists_countable()
            && self.budget.free() >= graph.bytes_with(FRAMES_MIN) + bytes;
        let (graph, _frames) = graph.open(self, if is_loaded { 0 } else { usize::MAX })?;
        let _lists = self.budget.hold(if is_loaded { bytes } else { 0 }, WHAT)?;
        let degrees = Degree::all(&graph)?;
        let ranks = match is_loaded {
            true => cluster::order(&mut Loaded::load(&graph)?, &degrees, self.progress)?,
            false => cluster::order(&mut Stored::new(&graph)?, &degrees, self.progress)?,
        };
        Ok(inverse(&ranks))
    }

    /// Builds the graph in natural order, with lists of targets only, on a spill file.
    fn natural_graph(&self, gathered: &Gathered<'a>) -> Result<(Temporary, u64)> {
        let config = ImportConfig {
            order: Order::Natural,
            auto_order: false,
            in_edges: false,
            codec: Codec::Raw,
            ..self.config.clone()
        };
        let natural = Import { config: &config, temporary: true, ..*self };
        let device = self.workspace.spill()?;
        let parts = natural.partition(gathered)?;
        let output = Arc::clone(&device);
        let written =
            natural.write(&gathered.ids, &gathered.collected, &parts, output).map_err(|error| {
                let needed = parts.graph_bytes(gathered.ids.len());
                explain_output(error, needed, "the graph in natural order", "temp_dir")
            })?;
        let spilled = parts.file.device_bytes() + written.spill_bytes + written.output_bytes;
        let page_bytes = config.page_bytes as usize;
        let pages = written.output_bytes as usize / page_bytes;
        Ok((Temporary { device, pages, page_bytes }, spilled))
    }
}

/// A graph in natural order that exists only during the import.
struct Temporary {
    device: Arc<dyn cenote_device::Device>,
    pages: usize,
    page_bytes: usize,
}

impl Temporary {
    fn bytes(&self) -> usize {
        self.pages * self.page_bytes
    }

    /// Whether its lists have fewer than 2^32 entries.
    fn are_lists_countable(&self) -> bool {
        self.bytes() / size_of::<VertexId>() < u32::MAX as usize
    }

    /// Most bytes of memory of its lists.
    fn bytes_of_lists(&self, vertices: usize) -> usize {
        Loaded::memory(vertices, self.bytes() / size_of::<VertexId>())
    }

    /// Bytes of memory of the open graph with so many frames.
    fn bytes_with(&self, frames: usize) -> usize {
        let frame_bytes = Pool::frame_bytes(self.page_bytes) as usize;
        STREAMS_BYTES + self.pages * INDEX_BYTES + frames.min(self.pages) * frame_bytes
    }

    /// Opens the graph with frames for at most so many pages, as the budget allows.
    fn open<'b>(self, import: &Import<'b>, frames_max: usize) -> Result<(Graph, Held<'b>)> {
        let free = import.budget.free().saturating_sub(self.bytes_with(0));
        let frames = (free / Pool::frame_bytes(self.page_bytes) as usize).min(frames_max);
        let frames = frames.clamp(FRAMES_MIN, self.pages.max(FRAMES_MIN));
        let held = import.budget.hold(self.bytes_with(frames), WHAT)?;
        let lookups = LookupConfig::default().frames(frames as u64);
        Ok((Graph::open_with(self.device, |_| lookups)?, held))
    }
}

/// With fewer frames a look-up over several pages would evict its own.
const FRAMES_MIN: usize = 16;

/// Most memory of computing an order, beside the ids of the edges, with a temporary graph of
/// `graph_bytes`.
pub(super) fn memory(order: Order, vertices: usize, graph_bytes: usize) -> usize {
    let is_graph_needed = matches!(order, Order::Degree | Order::Bfs | Order::Cluster);
    let pages = if is_graph_needed { graph_bytes / 4096 + FRAMES_MIN } else { 0 };
    let frames = FRAMES_MIN * Pool::frame_bytes(64 << 10) as usize;
    let graph = if is_graph_needed { STREAMS_BYTES + pages * INDEX_BYTES + frames } else { 0 };
    memory_of(order, vertices, graph_bytes) + graph
}

fn memory_of(order: Order, vertices: usize, graph_bytes: usize) -> usize {
    let entry = size_of::<VertexId>();
    match order {
        Order::Natural => 0,
        Order::Random { .. } => vertices * entry,
        // Degrees, later reused for the vertices of the ranks, and the ranks by degree.
        Order::Degree => vertices * 2 * entry,
        Order::Bfs => vertices * 2 * entry + Search::memory(vertices),
        Order::Cluster => cluster::memory(vertices, graph_bytes),
    }
}

/// Fisher-Yates shuffle with random numbers of SplitMix64.
fn shuffled(vertices: usize, seed: u64) -> Vec<VertexId> {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut vertex_of: Vec<VertexId> = (0..vertices as VertexId).collect();
    let mut state = seed;
    for last in (1..vertices).rev() {
        state = state.wrapping_add(STEP);
        // The high half of the product is nearly uniform in `0..=last`.
        let chosen = (u128::from(mix(state)) * (last as u128 + 1)) >> 64;
        vertex_of.swap(last, chosen as usize);
    }
    vertex_of
}

/// Lengths of the lists of targets, at most 2^32 - 1.
fn degrees(graph: &Graph) -> Result<Vec<u32>> {
    let mut degrees = Vec::with_capacity(graph.vertices());
    graph.degrees(Direction::Out, &mut |_, lengths| {
        degrees.extend(lengths.iter().map(|&length| u32::try_from(length).unwrap_or(u32::MAX)));
    })?;
    Ok(degrees)
}

fn by_degree(degrees: &[u32]) -> Vec<VertexId> {
    let mut ranks: Vec<VertexId> = (0..degrees.len() as VertexId).collect();
    ranks.sort_unstable_by_key(|&rank| (Reverse(degrees[rank as usize]), rank));
    ranks
}

/// The inverse of a permutation, in reused memory.
fn inverse_into(permutation: &[VertexId], mut memory: Vec<VertexId>) -> Vec<VertexId> {
    assert_eq!(permutation.len(), memory.len(), "both are as long as the graph has vertices");
    for (&value, at) in permutation.iter().zip(0..) {
        memory[value as usize] = at;
    }
    memory
}

pub(super) fn inverse(permutation: &[VertexId]) -> Vec<VertexId> {
    inverse_into(permutation, vec![0; permutation.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_that_the_seed_decides() {
        for vertices in [0, 1, 2, 3, 1000] {
            let one = shuffled(vertices, 1);
            let mut sorted = one.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..vertices as VertexId));
            assert_eq!(one, shuffled(vertices, 1));
            assert!(vertices < 1000 || one != shuffled(vertices, 2));
        }
    }

    #[test]
    fn every_rank_is_shuffled_to_every_place_about_equally_often() {
        const ROUNDS: u64 = 6000;
        let mut counts = [[0u32; 6]; 6];
        for seed in 0..ROUNDS {
            let places = shuffled(6, seed);
            places.iter().enumerate().for_each(|(at, &v)| counts[at][v as usize] += 1);
        }
        // A thousand each; the standard deviation is 29.
        assert!(counts.iter().flatten().all(|&n| (850..1150).contains(&n)), "{counts:?}");
    }

    #[test]
    fn degrees_fall_and_equals_stay_in_order() {
        assert_eq!(by_degree(&[1, 3, 0, 3, 1]), [1, 3, 0, 4, 2]);
        assert_eq!(inverse(&[1, 3, 0, 4, 2]), [2, 0, 4, 1, 3]);
    }
}

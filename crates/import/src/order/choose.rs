//! Chooses an order of the vertices: that of clusters for large sparse graphs whose ids do not
//! bring neighbours together, else the natural one.

use super::cluster::{self, Degree, Loaded};
use super::sample::{Shape, percent};
use super::{FRAMES_MIN, WHAT, inverse, memory, memory_of};
use crate::driver::{Gathered, Import};
use crate::error::Result;
use crate::ids::map::Placed;
use crate::report::Phase;
use cenote_store::VertexId;
use cenote_store::order::Order;

/// Clusters are taken if the ids leave the ends of so many times as many edges apart: about 4 on a
/// road network in the order of its rows, where searches then read a fifth, and just below 3 on a
/// grid, where they read as much.
const APART_TIMES: f64 = 3.0;

/// An order that was chosen, and why.
pub(crate) struct Choice {
    pub order: Order,
    pub why: String,
    /// A budget that suffices to try clusters, if that was what lacked.
    pub memory_bytes: Option<u64>,
    /// Bytes that were spilled to find out.
    pub spilled: u64,
}

impl Choice {
    fn natural(why: String, spilled: u64) -> Self {
        Self { order: Order::Natural, why, memory_bytes: None, spilled }
    }
}

impl<'a> Import<'a> {
    /// Chooses the order of the vertices, where that is asked for: that of clusters if a sample of
    /// the edges does not rule it out, if memory has room for it, and if it brings more neighbours
    /// together than the ids do. The vertices are placed then.
    pub(crate) fn choose_order(&self, gathered: &mut Gathered<'a>) -> Result<Option<Choice>> {
        if !self.config.auto_order {
            return Ok(None);
        }
        let natural = |why| Choice::natural(why, 0);
        let edges = gathered.collected.edges;
        let Gathered { ids, collected, .. } = gathered;
        let Some(sample) = collected.order_sample.take() else {
            let why = match ids.kind() {
                "string" => "edges between strings are not sampled",
                _ => "the memory is too little for a sample of the edges",
            };
            return Ok(Some(natural(why.to_owned())));
        };
        let ranks = |(source, target)| (ids.dense(source), ids.dense(target));
        let sample = sample.finish().into_iter().map(ranks);
        let sample: Vec<_> = sample.filter(|(source, target)| source != target).collect();
        let shape = Shape::of(&sample, self.config.directed, (ids.len(), edges));
        drop(sample);
        if let Some(why) = shape.why_natural() {
            return Ok(Some(natural(why)));
        }
        self.try_clusters(gathered).map(Some)
    }

    /// Places the vertices in the order of clusters, unless memory lacks or the ids do as well.
    fn try_clusters(&self, gathered: &mut Gathered<'a>) -> Result<Choice> {
        let vertices = gathered.ids.len() as usize;
        let entries = gathered.collected.edges as usize * if self.config.directed { 1 } else { 2 };
        // Pages of the graph in natural order have headers and an index of their lists, and weights
        // lie beside.
        let graph_bytes = (entries + entries / 4 + vertices) * size_of::<VertexId>()
            + entries * self.config.weight_bytes();
        let lists = Loaded::memory(vertices, graph_bytes / size_of::<VertexId>());
        let sufficient =
            |needed| self.sufficient_for(Order::Cluster, self.budget.used().saturating_add(needed));
        let lacks = |budget: usize, spilled| {
            let mib = budget.div_ceil(1 << 20);
            let why = format!("clusters of neighbours need a budget of about {mib} MiB");
            Choice { memory_bytes: Some(budget as u64), ..Choice::natural(why, spilled) }
        };
        let budget = sufficient(lists + memory(Order::Cluster, vertices, graph_bytes));
        if budget > self.budget.limit() {
            return Ok(lacks(budget, 0));
        }
        let (graph, spilled) = self.natural_graph(gathered)?;
        self.progress.begin(Phase::Order, None);
        let bytes = memory_of(Order::Cluster, vertices, graph.bytes());
        let needed = graph.bytes_with(FRAMES_MIN) + graph.bytes_of_lists(vertices) + bytes;
        if needed > self.budget.free() {
            return Ok(lacks(sufficient(needed), spilled));
        }
        if !graph.are_lists_countable() {
            let why = "clusters are tried for up to 2^32 entries of lists".to_owned();
            return Ok(Choice::natural(why, spilled));
        }
        let mut held = self.budget.hold(bytes, WHAT)?;
        let _lists = self.budget.hold(graph.bytes_of_lists(vertices), WHAT)?;
        let (graph, _frames) = graph.open(self, 0)?;
        let mut lists = Loaded::load(&graph)?;
        let by_id = lists.together_by_id();
        let least = 1.0 - (1.0 - by_id) / APART_TIMES;
        let at_most = lists.together_at_most();
        if at_most < least {
            let why = format!(
                "parts of the graph bring the ends of {} of the edges together, the ids of {}",
                percent(at_most),
                percent(by_id)
            );
            return Ok(Choice::natural(why, spilled));
        }
        let ranks = cluster::order(&mut lists, &Degree::all(&graph)?, self.progress)?;
        let vertex_of = inverse(&ranks);
        let by_cluster = lists.together_in(&ranks, &vertex_of);
        let why = format!(
            "clusters bring the ends of {} of the edges together, the ids of {}",
            percent(by_cluster),
            percent(by_id)
        );
        if by_cluster < least {
            return Ok(Choice::natural(why, spilled));
        }
        held.shrink_to(vertices * size_of::<VertexId>());
        let order = Order::Cluster;
        gathered.ids.placed = Some(Placed { order, vertex_of, _memory: held });
        Ok(Choice { order, ..Choice::natural(why, spilled) })
    }
}

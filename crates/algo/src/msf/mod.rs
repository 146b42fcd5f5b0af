//! Minimum spanning forest.
//!
//! **Returns** for every component of an undirected graph the edges of least total weight that
//! connect its vertices: n - c edges on n vertices in c components. Of equal weights the edge whose
//! smaller end has the smaller id is the lighter one, then the one whose larger end has, so there
//! is one answer. Edges of a graph without weights weigh 1: then it is a spanning forest. Weights
//! may be negative; self-loops are passed over, of repeated edges the lightest counts.
//!
//! **Source.** Borůvka, 1926: every component takes its lightest edge to another one, all of them
//! at once, and what these edges join is a component of the next pass.
//!
//! **Trick.** A pass reads only the lists of vertices that had an edge to another component in the
//! pass before. As soon as the edges between components fit in memory, a pass keeps them, and the
//! others need no drive. The edge that joins a component stays in the component's slot, so the
//! forest takes no memory of its own.
//!
//! Steps: [`components`], [`between`].

mod between;
mod components;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, EngineConfig, Frontier, Graph, Kernel, List, Needs,
    VertexId, Weight, WeightNumber, WeightType, Weights, weighted_bytes_for, with_numbers,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::ranks::{Ranks, Vertices};
use crate::report::{AlgoError, Result, Run, pages};
use between::{Between, Part};
use components::{Components, Edge};
pub use verify::verify;

const NAME: &str = "msf";

/// An edge of the forest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForestEdge {
    /// The end with the smaller id.
    pub source: VertexId,
    /// The end with the larger id.
    pub target: VertexId,
    /// Its weight; 1 on a graph without weights.
    pub weight: Weight,
}

/// The sum of the weights of a forest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Total {
    /// Of integers, exact.
    Integer(i128),
    /// Of floating-point numbers, added up as `f64` in the order of the edges.
    Float(f64),
}

/// A minimum spanning forest.
#[derive(Debug)]
#[non_exhaustive]
pub struct Msf {
    edges: Components,
    vertices: Vertices,
    kind: Option<WeightType>,
    /// Number of components, those of one vertex included.
    pub components: u64,
    /// The sum of the weights.
    pub total: Total,
    /// Passes over lists on the device.
    pub passes: u64,
    /// Statistics of the run.
    pub run: Run,
}

impl Msf {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.edges.forest().len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edge at a place, by ascending ids of source and target.
    pub fn edge(&self, place: usize) -> ForestEdge {
        let edge = self.edges.forest()[place].get();
        let (source, target) = edge.ends();
        ForestEdge {
            source: self.vertices.of(source),
            target: self.vertices.of(target),
            weight: weight(self.kind, edge),
        }
    }

    /// All edges, by ascending ids of source and target.
    pub fn edges(&self) -> impl Iterator<Item = ForestEdge> + '_ {
        (0..self.len()).map(|place| self.edge(place))
    }

    /// The type of the weights; `None` on a graph without weights.
    pub fn kind(&self) -> Option<WeightType> {
        self.kind
    }
}

fn weight(kind: Option<WeightType>, edge: Edge) -> Weight {
    kind.map_or(Weight::U32(1), |kind| kind.weight(edge.weight))
}

/// Memory: 4 bytes a vertex for its component and 16 for its slot, two sets; 4 bytes if the graph
/// is not in the order of its ids; the memory of weighted visits, and an index of weights of 8
/// bytes a page of lists. Optionally 16 bytes for each edge, to keep those between components.
///
/// # Errors
/// An index that cannot be read.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Result<Needs> {
    let n = graph.vertices();
    let sets = Bitmap::bytes_for(n) + Frontier::bytes_for(n, config.threads);
    let weighted = weighted_bytes_for(graph, config, Direction::Out)?;
    let state_bytes = Components::bytes_for(n) + sets + Ranks::bytes_for(graph) + weighted;
    let scratch_bytes = Between::bytes_for(graph.superblock().stored_out, config.threads);
    Ok(Needs { what: NAME, state_bytes, scratch_bytes })
}

/// Pages of weights are cached as pages of lists are.
fn with_weights(graph: &Graph, config: EngineConfig) -> EngineConfig {
    config.weighted(graph.is_weighted())
}

fn check(graph: &Graph) -> Result<()> {
    if graph.is_directed() {
        return Err(AlgoError::Unsupported {
            what: NAME,
            needs: "an undirected graph",
            remedy: "import it as undirected",
        });
    }
    Ok(())
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    check(graph)?;
    let config = &with_weights(graph, config.clone());
    let plan = Engine::plan(graph, config, &needs(graph, config)?)?;
    let column = graph.weights(Direction::Out).map_or(0, |column| column.pages());
    let total = pages(graph, Direction::Out) + column;
    let pass = total as f64;
    let entries = graph.superblock().stored_out;
    let all = Between::bytes_for(entries, config.threads);
    let (likely, at_most, because) = match all <= plan.1.scratch_bytes {
        true => (1.0, 1.0, "one pass over the pages; the edges stay in memory"),
        false => {
            let missing = 1.0 - kept(graph, &plan.1, total);
            let because = "a pass over the pages, less what is cached, until the edges between \
                           components fit in memory: three to six as a rule";
            (1.0 + 3.5 * missing, 1.0 + 7.0 * missing, because)
        }
    };
    let reads = Reads::between(pass, pass * likely, pass * at_most).filling(0.2, 1.0);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Finds the forest.
///
/// # Errors
/// A directed graph; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig) -> Result<Msf> {
    check(graph)?;
    let config = with_weights(graph, config);
    let needs = needs(graph, &config)?;
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let n = graph.vertices();
        let ranks = Ranks::load(graph)?;
        let components = Components::new(n)?;
        let mut search = Search { engine: &engine, ranks, components, passes: 0 };
        search.run()?;
        let Search { ranks, mut components, passes, .. } = search;
        let joined = components.gather() as u64;
        let kind = graph.superblock().weights.map(|weights| weights.kind());
        let total = total(kind, &components);
        let vertices = ranks.into_vertices(graph)?;
        let components_count = graph.live_vertices() as u64 - joined;
        let run = Run::of(&engine);
        let (edges, components) = (components, components_count);
        Ok(Msf { edges, vertices, kind, components, total, passes, run })
    })
}

fn total(kind: Option<WeightType>, components: &Components) -> Total {
    let weights = components.forest().iter().map(|slot| weight(kind, slot.get()));
    match kind {
        Some(WeightType::F32 | WeightType::F64) => Total::Float(weights.map(Weight::to_f64).sum()),
        _ => Total::Integer(weights.map(integer).sum()),
    }
}

fn integer(weight: Weight) -> i128 {
    match weight {
        Weight::U32(weight) => weight.into(),
        Weight::I64(weight) => weight.into(),
        Weight::F32(_) | Weight::F64(_) => 0,
    }
}

/// The state between passes. Components are of ranks: so ties are by id.
struct Search<'e> {
    engine: &'e Engine,
    ranks: Ranks,
    components: Components,
    passes: u64,
}

impl Search<'_> {
    fn run(&mut self) -> Result<()> {
        let graph = self.engine.graph();
        let mut frontier = Frontier::new(graph.vertices())?;
        let outside = Bitmap::new(graph.vertices())?;
        // Entries that may lead to another component: both ends of each edge.
        let mut entries = graph.superblock().stored_out;
        while entries > 0 {
            let room = Between::bytes_for(entries, self.engine.config().threads);
            let keeps = room <= self.engine.memory().scratch_bytes;
            let between = if keeps {
                Some(Between::new(entries, self.engine.config().threads)?)
            } else {
                None
            };
            let active = if self.passes == 0 { ActiveSet::All } else { ActiveSet::In(&frontier) };
            self.passes += 1;
            entries = self.pass(active, &outside, between.as_ref())?;
            self.components.join(self.engine)?;
            if let Some(mut between) = between {
                return between.join(&mut self.components, self.engine);
            }
            frontier.set(outside.iter());
            outside.iter().for_each(|v| outside.remove(v));
        }
        Ok(())
    }

    /// Offers every edge to another component. Returns the number of entries that lead to one.
    fn pass(
        &self,
        active: ActiveSet<'_>,
        outside: &Bitmap,
        between: Option<&Between>,
    ) -> Result<u64> {
        let kernel = Offer { ranks: &self.ranks, components: &self.components, outside, between };
        let label = format!("pass {}", self.passes);
        let weighted = self.engine.graph().is_weighted();
        let counts = match weighted {
            true => self.engine.visit_weighted(label, Direction::Out, active, &kernel)?,
            false => self.engine.visit(label, Direction::Out, active, &kernel)?,
        };
        Ok(counts.into_iter().map(|local| local.entries).sum())
    }
}

/// Offers the edges of lists to the components of their vertices.
struct Offer<'a> {
    ranks: &'a Ranks,
    components: &'a Components,
    /// Vertices with an edge to another component.
    outside: &'a Bitmap,
    /// Keeps these edges, if there is room.
    between: Option<&'a Between>,
}

/// What a worker counts and keeps.
struct Found<'a> {
    entries: u64,
    part: Option<Part<'a>>,
}

impl<'a> Offer<'a> {
    #[inline(always)]
    fn offer(&self, found: &mut Found<'a>, list: &List<'_>, weight: impl Fn(usize) -> u64) {
        let v = self.ranks.of(list.vertex);
        let component = self.components.of(v);
        let mut lightest = Edge::NONE;
        let before = found.entries;
        for (i, &target) in list.targets.iter().enumerate() {
            if let Some(&later) = list.targets.get(i + components::AHEAD) {
                self.components.prefetch(self.ranks.of(later));
            }
            let target = self.ranks.of(target);
            if self.components.of(target) == component {
                continue;
            }
            let edge = Edge::new(weight(i), v, target);
            lightest = lightest.min(edge);
            found.entries += 1;
            // Its other end lists it, too.
            if v < target
                && let Some(part) = &mut found.part
            {
                part.push(edge);
            }
        }
        if found.entries > before {
            self.components.offer(component, lightest);
            self.outside.insert(list.vertex);
        }
    }
}

impl<'a> Kernel for Offer<'a> {
    type Local = Found<'a>;

    fn local(&self) -> Found<'a> {
        Found { entries: 0, part: self.between.map(Between::part) }
    }

    fn list(&self, found: &mut Found<'a>, list: &List<'_>) {
        self.offer(found, list, |_| 0);
    }

    fn weighted_list(&self, found: &mut Found<'a>, list: &List<'_>, weights: Weights<'_>) {
        let kind = weights.kind();
        with_numbers!(weights, numbers => {
            self.offer(found, list, |i| kind.ordered(numbers[i].bits()));
        });
    }
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}

//! Communities by label propagation.
//!
//! **Returns** for every vertex its label after a number of iterations, as the LDBC Graphalytics
//! benchmark defines it (specification 1.0, section 2.3.3, CDLP): every vertex starts with its own
//! id as label; in an iteration all vertices at once take the most frequent label of their
//! neighbours, of equally frequent ones the smallest. On a directed graph a neighbour counts once
//! for each direction in which there is an edge. A vertex without neighbours keeps its label.
//! Labels are vertices, ordered as the user's ids are.
//!
//! **Source.** Raghavan, Albert and Kumara, "Near linear time algorithm to detect community
//! structures in large-scale networks", Physical Review E 2007, made synchronous and deterministic
//! by LDBC Graphalytics.
//!
//! **Trick.** A label can change only if a neighbour's did. Once few labels change, an iteration
//! visits only neighbours of changed vertices; an iteration without changes is the last. The most
//! frequent label is found by sorting short lists, and with a small hash table for long ones
//! ([`frequent`]).
//!
//! With less memory, labels lie in a file, in bands of vertices: [`bands`].

mod bands;
mod frequent;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Engine, EngineConfig, Frontier, Graph, HugeVec, Needs, VertexId,
    prefetch_of_many, setters,
};

use crate::estimate::{Estimate, Reads, engine_for, plan_for};
use crate::groups::{Groups, Labels};
use crate::neighbourhood::{self, Neighbourhood};
use crate::parallel::fill;
use crate::plain::Lists;
use crate::ranks::{Ranks, for_each_by_id};
use crate::report::{AlgoError, Result, Run, demand_in_edges, graph_pages};
pub(crate) use frequent::Frequent;

const NAME: &str = "cdlp";

/// The next frontier is collected if at most `1 / COLLECT_SHARE` of the vertices changed before.
const COLLECT_SHARE: u64 = 4;

/// Parameters of label propagation.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CdlpConfig {
    /// The most iterations; fewer if no label changes any more.
    pub iterations: u32,
}

impl Default for CdlpConfig {
    fn default() -> Self {
        Self { iterations: 10 }
    }
}

impl CdlpConfig {
    setters! { iterations: u32 }
}

/// The result of label propagation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cdlp {
    groups: Groups,
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last iteration changed nothing.
    pub converged: bool,
    /// The number of different labels.
    pub communities: u64,
    /// Vertices with the most frequent label.
    pub largest: u64,
    /// That label, of several the smallest by id; `None` in a graph without vertices.
    pub largest_label: Option<VertexId>,
    /// Statistics of the run.
    pub run: Run,
}

impl Cdlp {
    /// The label of `v`.
    pub fn label(&self, v: VertexId) -> VertexId {
        self.groups.labels[v as usize]
    }

    /// The labels of all vertices.
    pub fn labels(&self) -> &[VertexId] {
        &self.groups.labels
    }

    /// Gives the memory of labels in a state file back, until they are used again.
    pub fn release(&self) {
        self.groups.labels.release();
    }

    fn with(groups: Groups, (iterations, converged): (u32, bool), run: Run) -> Self {
        let Groups { count, largest, largest_label, .. } = groups;
        Self { groups, iterations, converged, communities: count, largest, largest_label, run }
    }
}

/// Memory: 8 bytes a vertex for labels, three sets; per thread the labels of the longest
/// neighbourhood.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let n = graph.vertices();
    let (lists, scratch_bytes) = neighbourhood::bytes_for(graph, config);
    let longest = neighbourhood::entries_bound(graph);
    let tables = config.threads as u64 * Frequent::bytes_for(longest);
    let sets = 2 * Bitmap::bytes_for(n) + Frontier::bytes_for(n, config.threads);
    Needs { what: NAME, state_bytes: 8 * n as u64 + sets + tables + lists, scratch_bytes }
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig, cdlp: &CdlpConfig) -> Result<Estimate> {
    demand_in_edges(graph, NAME)?;
    let plan = match plan_for(graph, config, |config| needs(graph, config)) {
        Err(AlgoError::Engine(refused)) => {
            let plan = bands::choose(graph, config, cdlp, refused)?;
            return Ok(bands::estimate(plan, graph, cdlp));
        }
        planned => planned?,
    };
    let pass = graph_pages(graph) as f64;
    let uncached = 1.0 - plan.1.cached_fraction(graph);
    let iterations = f64::from(cdlp.iterations);
    // How soon neighbourhoods converge depends on the graph.
    let passes = |share: f64| iterations.min(1.0) + share * (iterations - 1.0).max(0.0) * uncached;
    let reads = Reads::between(pass * passes(0.5), pass * passes(0.75), pass * passes(1.0))
        .visiting(pass * (1.0 + 0.75 * (iterations - 1.0).max(0.0)));
    let because = "at most a pass over the pages per iteration, less what is cached; later ones \
                   skip vertices whose neighbours did not change";
    let reads = neighbourhood::using(graph, config, &plan.1, reads);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Runs the label propagation.
///
/// # Errors
/// A directed graph without in-edges; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, cdlp: &CdlpConfig) -> Result<Cdlp> {
    demand_in_edges(graph, NAME)?;
    if let Err(AlgoError::Engine(refused)) = plan_for(graph, &config, |config| needs(graph, config))
    {
        let plan = bands::choose(graph, &config, cdlp, refused)?;
        return bands::run(graph, config, cdlp, &plan);
    }
    let engine = engine_for(graph, config, |config| needs(graph, config))?;
    engine.install(|| {
        let mut propagation = Propagation::new(&engine)?;
        let mut iterations = 0;
        let mut converged = false;
        while iterations < cdlp.iterations && !converged {
            iterations += 1;
            converged = propagation.iterate(&format!("iteration {iterations}"))? == 0;
        }
        propagation.finish(iterations, converged)
    })
}

// ------------------------------------------------------------------------------------------------
// Iterations

struct Propagation<'e> {
    engine: &'e Engine,
    /// Labels before the iteration, as ranks, so that the smallest label has the smallest id.
    labels: HugeVec<AtomicU32>,
    /// Labels after the iteration, of the vertices in `changed`.
    next: HugeVec<AtomicU32>,
    changed: Bitmap,
    /// Vertices with a neighbour that changed, where these are collected.
    touched: Bitmap,
    frontier: Frontier,
    /// Whether `frontier` holds all vertices that may change.
    collected: bool,
    changes: u64,
}

impl<'e> Propagation<'e> {
    fn new(engine: &'e Engine) -> Result<Self> {
        let n = engine.graph().vertices();
        let labels: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
        let mut rank = 0;
        for_each_by_id(engine.graph(), |v| {
            labels[v as usize].store(rank, Ordering::Relaxed);
            rank += 1;
        })?;
        Ok(Self {
            engine,
            labels,
            next: HugeVec::zeroed(n)?,
            changed: Bitmap::new(n)?,
            touched: Bitmap::new(n)?,
            frontier: Frontier::new(n)?,
            collected: false,
            changes: n as u64,
        })
    }

    /// Runs one iteration; returns how many labels changed.
    fn iterate(&mut self, label: &str) -> Result<u64> {
        let n = self.labels.len() as u64;
        let collects = self.changes <= n / COLLECT_SHARE;
        let step = Step {
            labels: &self.labels,
            next: &self.next,
            changed: &self.changed,
            touched: collects.then_some(&self.touched),
        };
        let active = if self.collected { ActiveSet::In(&self.frontier) } else { ActiveSet::All };
        neighbourhood::visit(self.engine, label, active, &step)?;
        self.changes = self.changed.count();
        self.changed.iter().for_each(|v| {
            let label = self.next[v as usize].load(Ordering::Relaxed);
            self.labels[v as usize].store(label, Ordering::Relaxed);
        });
        self.changed.clear();
        if collects {
            self.frontier.set(self.touched.iter());
            self.touched.clear();
        }
        self.collected = collects;
        Ok(self.changes)
    }

    fn finish(self, iterations: u32, converged: bool) -> Result<Cdlp> {
        fill(&self.next, 0);
        let groups = Groups::new(self.engine.graph(), Labels::Ranks, self.labels, self.next)?;
        Ok(Cdlp::with(groups, (iterations, converged), Run::of(self.engine)))
    }
}

/// Each vertex takes the most frequent label of its neighbours.
struct Step<'a> {
    labels: &'a [AtomicU32],
    next: &'a [AtomicU32],
    changed: &'a Bitmap,
    touched: Option<&'a Bitmap>,
}

impl Neighbourhood for Step<'_> {
    type Local = Frequent;

    fn local(&self) -> Frequent {
        Frequent::default()
    }

    fn prefetch(&self, neighbours: &[VertexId]) {
        prefetch_of_many(self.labels, neighbours);
    }

    fn take(&self, frequent: &mut Frequent, v: VertexId, neighbours: &[&[VertexId]]) {
        let Some(most) = frequent.of_neighbours(self.labels, neighbours) else { return };
        if most == self.labels[v as usize].load(Ordering::Relaxed) {
            return;
        }
        self.next[v as usize].store(most, Ordering::Relaxed);
        self.changed.insert(v);
        if let Some(touched) = self.touched {
            for &u in neighbours.iter().copied().flatten() {
                if !touched.contains(u) {
                    touched.insert(u);
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Runs the iterations again serially, counting each vertex's labels in a map, and asserts that
/// every label is the same and that the counts follow from the labels. Keeps all lists in memory.
pub fn verify(graph: &Graph, config: &CdlpConfig, cdlp: &Cdlp) -> Result<()> {
    let lists = Lists::both_ways(graph)?;
    let ranks = Ranks::load(graph)?;
    let mut labels: Vec<VertexId> = (0..lists.vertices()).map(|v| ranks.of(v)).collect();
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..config.iterations {
        let next = (0..lists.vertices()).map(|v| {
            counts.clear();
            for &u in lists.of_vertex(v) {
                *counts.entry(labels[u as usize]).or_insert(0u64) += 1;
            }
            let most = counts.values().max();
            let first = counts.iter().find(|&(_, count)| Some(count) == most);
            first.map_or(labels[v as usize], |(&label, _)| label)
        });
        let next: Vec<VertexId> = next.collect();
        if next == labels {
            break;
        }
        labels = next;
    }
    let mut sizes = vec![0u64; labels.len()];
    for (v, &expected) in (0..).zip(&labels) {
        sizes[expected as usize] += u64::from(!graph.is_deleted(v));
        let found = ranks.of(cdlp.label(v));
        if found != expected {
            let fault = format!("the label of vertex {v} has the rank {found}, not {expected}");
            return Err(wrong(fault));
        }
    }
    let communities = sizes.iter().filter(|&&size| size > 0).count() as u64;
    let largest = sizes.iter().copied().max().unwrap_or(0);
    if (cdlp.communities, cdlp.largest) != (communities, largest) {
        return Err(wrong(format!(
            "{} communities, the largest of {}; expected {communities} and {largest}",
            cdlp.communities, cdlp.largest
        )));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}

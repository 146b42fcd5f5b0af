//! Weakly connected components.
//!
//! **Returns** for every vertex the vertex with the smallest id in its component; two vertices are
//! in one component if a path of edges joins them, whatever the edges' directions.
//!
//! **Source.** Default: one pass over the edges with a concurrent union-find that links the larger
//! root below the smaller (Jayanti and Tarjan, PODC 2016) and halves paths. `block` and `vertex`
//! are the CAVE paper's Algorithm 3: a breadth-first search from each vertex not yet visited.
//!
//! **Trick.** An undirected edge is stored at both its ends. The rest of a list is skipped as soon
//! as its vertex is in the component of the vertex of largest degree, the giant component: an edge
//! is skipped at both ends only if both are in that component, so no join is lost, and of its lists
//! little more than the first entry is read (after Afforest, IPDPS 2018, which needs samples and a
//! second pass). If the graph stores hub neighbours (for each vertex the neighbours of largest
//! degree), they alone join nearly all of the giant component, whose lists are then not read.
//!
//! With less memory, the labels lie in a file, and bands of vertices are contracted: [`bands`].

mod bands;
mod forest;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Change, DiffReport, Direction, Engine, EngineConfig, EngineError, Frontier,
    FrontierPart, Graph, HubNeighbours, HugeVec, Kernel, List, Needs, Op, StoreError, Strategy,
    VertexId, Weight, for_each_change, for_each_list, prefetch,
};

use crate::estimate::{Estimate, Reads, kept};
use crate::groups::{Groups, Labels};
use crate::parallel::{self, fill};
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result, Run, pages};

pub(crate) use forest::{Forest, JoinAll, JoinUntilGiant};

const NAME: &str = "wcc";

/// The weakly connected components of a graph.
#[derive(Debug)]
#[non_exhaustive]
pub struct Wcc {
    pub(crate) groups: Groups,
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The label of the largest component, of several the smallest by id; `None` in a graph without
    /// vertices.
    pub largest_label: Option<VertexId>,
    /// What was read if they follow from an earlier answer: see [`run_since`].
    pub since: Option<DiffReport>,
    /// Statistics of the run.
    pub run: Run,
}

impl Wcc {
    /// The vertex with the smallest id in the component of `v`.
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

    fn with(groups: Groups, run: Run) -> Self {
        let Groups { count, largest, largest_label, .. } = groups;
        Self { groups, components: count, largest, largest_label, since: None, run }
    }

    /// The components whose vertices `labels` gives a common label, any of them.
    fn of(labels: HugeVec<AtomicU32>, engine: &Engine) -> Result<Self> {
        let sizes = HugeVec::zeroed(labels.len())?;
        let groups = Groups::new(engine.graph(), Labels::Members, labels, sizes)?;
        Ok(Self::with(groups, Run::of(engine)))
    }
}

/// Memory: labels and component sizes (8 bytes a vertex); a set with hub neighbours; the sets of a
/// search for the paper's strategies.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Needs {
    let n = graph.vertices();
    let searches = match config.strategy {
        Strategy::Auto if graph.superblock().has_hub_neighbours() => Bitmap::bytes_for(n),
        Strategy::Auto => 0,
        _ => Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads),
    };
    // They are those of `scc` too, of an undirected graph.
    Needs { what: "components", state_bytes: 8 * n as u64 + searches, scratch_bytes: 0 }
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    let of_passes = config.clone().passes(true);
    let plan = match Engine::plan(graph, &of_passes, &needs(graph, config)) {
        Ok(plan) => plan,
        Err(refused) => return Ok(bands::choose(graph, config, refused)?.estimate(graph)),
    };
    let all = pages(graph, Direction::Out);
    let missing = 1.0 - kept(graph, &plan.1, all);
    let (all, single) = (all as f64, graph.vertices() as f64 * missing);
    let (reads, because) = match config.strategy {
        Strategy::Auto => match graph.hub_neighbours() {
            Some(hub_neighbours) => {
                let hub_neighbours = hub_neighbours.pages() as f64;
                let because =
                    "the hub neighbours, and the lists of vertices outside the giant component";
                (Reads::between(hub_neighbours, hub_neighbours, hub_neighbours + all), because)
            }
            None => (Reads::about(all), "one pass over the pages"),
        },
        _ => (
            Reads::between(all, all * (1.0 + missing), all + single),
            "repeated searches, about two passes over the pages, less what stays in memory",
        ),
    };
    Ok(Estimate::new(graph, plan, reads.by(config.strategy), because))
}

/// Computes the components.
pub fn run(graph: &Arc<Graph>, config: EngineConfig) -> Result<Wcc> {
    let needs = needs(graph, &config);
    let of_passes = config.clone().passes(true);
    if let Err(refused) = Engine::plan(graph, &of_passes, &needs) {
        let plan = bands::choose(graph, &config, refused)?;
        return bands::run(graph, config, &plan);
    }
    let strategy = config.strategy;
    let engine = Engine::new(Arc::clone(graph), of_passes, &needs)?;
    engine.install(|| {
        let labels = match strategy {
            Strategy::Auto => by_union(&engine)?,
            Strategy::Block | Strategy::Vertex => by_search(&engine)?,
        };
        Wcc::of(labels, &engine)
    })
}

/// Memory beside [`needs`] of [`run_since`]: the labels before (4 bytes a vertex), and the earlier
/// state with its pages for look-ups.
pub fn needs_since(before: &Graph) -> u64 {
    4 * before.vertices() as u64 + before.memory_bytes() as u64
}

/// All that [`run_since`] needs.
fn all_needs_since(graph: &Graph, config: &EngineConfig, before: &Graph) -> Needs {
    let mut needs = needs(graph, config);
    needs.state_bytes += needs_since(before);
    // Those that are new, and whether an edge was added to each.
    needs.state_bytes += 5 * (graph.vertices() - before.vertices().min(graph.vertices())) as u64;
    needs
}

/// Bytes of the budget that [`run_since`] leaves for buffers and pages, which are free before it
/// begins.
pub fn free_bytes_since(graph: &Graph, config: &EngineConfig, before: &Graph) -> Result<u64> {
    let (_, plan) = Engine::plan(graph, config, &all_needs_since(graph, config, before))?;
    // Also what is kept of delta runs before a run sets memory aside for them.
    let index_bytes = graph.memory_bytes() as u64;
    Ok(config.memory_bytes.saturating_sub(index_bytes + plan.state_bytes))
}

/// Computes the components from those of an earlier state of the graph, given by the labels of its
/// vertices, and from the edges that were added since: only the pages of lists that changed are
/// read. `None` if an edge was deleted since, after which components may have come apart.
pub fn run_since(
    graph: &Arc<Graph>,
    config: EngineConfig,
    before: &Graph,
    labels: &[VertexId],
) -> Result<Option<Wcc>> {
    assert_eq!(labels.len(), before.vertices(), "a label for each vertex of the earlier state");
    let needs = all_needs_since(graph, &config, before);
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let forest = Forest::new(graph.vertices())?;
        parallel::for_each_of(labels, |v, label| {
            forest.join(v as VertexId, *label);
        });
        let mut join = |Change { op, source, target }, _: Option<Weight>| match op {
            Op::Add => {
                forest.join(source, target);
                Ok(())
            }
            // A vertex that is deleted loses its edges first.
            Op::Delete => Err(Stop::Deleted),
            _ => Ok(()),
        };
        let report = match for_each_change(before, graph, &mut |_, _| {}, &mut join) {
            Ok(report) => report,
            Err(Stop::Deleted) => return Ok(None),
            Err(Stop::Failed(error)) => return Err(EngineError::from(error).into()),
        };
        forest.flatten();
        Ok(Some(Wcc { since: Some(report), ..Wcc::of(forest.0, &engine)? }))
    })
}

/// Why a comparison of two states ended.
enum Stop {
    Deleted,
    Failed(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

// ------------------------------------------------------------------------------------------------
// One pass, union-find

/// How many vertices ahead the parents of hub neighbours are prefetched.
const PREFETCH_VERTICES: usize = 16;

/// Joins each vertex with its hub neighbours.
pub(crate) struct JoinHubNeighbours<'a> {
    pub forest: &'a Forest,
    /// Collects the vertices without further neighbours in the same direction.
    pub done: Option<&'a Bitmap>,
}

impl Kernel for JoinHubNeighbours<'_> {
    type Local = ();

    fn local(&self) {}

    fn hub_neighbours(&self, (): &mut (), first: VertexId, hub_neighbours: &[HubNeighbours]) {
        for (at, (v, hubs)) in (first..).zip(hub_neighbours).enumerate() {
            if let Some(later) = hub_neighbours.get(at + PREFETCH_VERTICES) {
                later.0.iter().for_each(|&hub| prefetch(self.forest.cells(), hub as usize));
            }
            let mut root = self.forest.root(v);
            for &neighbour in hubs.neighbours() {
                if self.forest.parent(neighbour) != root {
                    root = self.forest.join(root, neighbour);
                }
            }
            if let Some(done) = self.done.filter(|_| hubs.is_whole()) {
                done.insert(v);
            }
        }
    }
}

/// Hub neighbours join nearly all of the giant component. Then only the lists of vertices outside
/// it are read that have further neighbours: an edge within the giant component joins nothing, and
/// any other edge is in a list of an end outside.
///
/// On a directed graph hub neighbours are in-neighbours. An edge that is in none of the in-lists
/// that are read leads into the giant component: only vertices that are still outside have one.
fn by_hub_neighbours(engine: &Engine, forest: &Forest) -> Result<()> {
    let graph = engine.graph();
    let mut done = Bitmap::new(graph.vertices())?;
    let insert_giant = |done: &Bitmap| {
        let giant = forest.root(graph.superblock().degree_max_vertex);
        let all = 0..graph.vertices() as VertexId;
        parallel::insert_where(done, all, |v| forest.root(v) == giant);
    };
    let join = JoinHubNeighbours { forest, done: Some(&done) };
    engine.visit_hub_neighbours("hub neighbours", &join)?;
    insert_giant(&done);
    let rest = "outside the giant component";
    engine.visit(rest, Direction::In, ActiveSet::NotIn(&done), &JoinAll(forest))?;
    if graph.is_directed() {
        done.clear();
        insert_giant(&done);
        engine.visit(rest, Direction::Out, ActiveSet::NotIn(&done), &JoinAll(forest))?;
    }
    Ok(())
}

fn by_union(engine: &Engine) -> Result<HugeVec<AtomicU32>> {
    let graph = engine.graph();
    let forest = Forest::new(graph.vertices())?;
    if graph.superblock().has_hub_neighbours() {
        by_hub_neighbours(engine, &forest)?;
    } else if graph.is_directed() {
        engine.visit("pass", Direction::Out, ActiveSet::All, &JoinAll(&forest))?;
    } else {
        let giant = graph.superblock().degree_max_vertex;
        let kernel = JoinUntilGiant { forest: &forest, giant };
        engine.visit("pass", Direction::Out, ActiveSet::All, &kernel)?;
    }
    forest.flatten();
    Ok(forest.0)
}

// ------------------------------------------------------------------------------------------------
// The paper's repeated search

const UNLABELLED: u32 = u32::MAX;

struct Label<'a> {
    labels: &'a [AtomicU32],
    next: &'a Frontier,
    label: VertexId,
}

impl Kernel for Label<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &target in list.targets {
            let label = &self.labels[target as usize];
            if label.load(Ordering::Relaxed) == UNLABELLED && self.next.add(target, part) {
                label.store(self.label, Ordering::Relaxed);
            }
        }
    }
}

fn by_search(engine: &Engine) -> Result<HugeVec<AtomicU32>> {
    let graph = engine.graph();
    if graph.is_directed() && !graph.has_in_edges() {
        return Err(AlgoError::Unsupported {
            what: "components by the paper's repeated search",
            needs: "in-edges on a directed graph",
            remedy: "use the `strategy` auto, or import with `in_edges`",
        });
    }
    let n = graph.vertices();
    let labels: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
    fill(&labels, UNLABELLED);
    let (mut frontier, mut next) = (Frontier::new(n)?, Frontier::new(n)?);
    for start in 0..n as VertexId {
        if labels[start as usize].load(Ordering::Relaxed) != UNLABELLED {
            continue;
        }
        labels[start as usize].store(start, Ordering::Relaxed);
        frontier.set([start]);
        while !frontier.is_empty() {
            let kernel = Label { labels: &labels, next: &next, label: start };
            let mut parts =
                engine.visit("search", Direction::Out, ActiveSet::In(&frontier), &kernel)?;
            if graph.is_directed() {
                parts.extend(engine.visit(
                    "search",
                    Direction::In,
                    ActiveSet::In(&frontier),
                    &kernel,
                )?);
            }
            frontier.advance(&mut next, parts);
        }
    }
    Ok(labels)
}

// ------------------------------------------------------------------------------------------------
// Verifier

/// Computes the components again serially, and asserts that every label is the vertex with the
/// smallest id in its component, and that the counts follow from the labels. Takes 8 bytes a
/// vertex.
pub fn verify(graph: &Graph, wcc: &Wcc) -> Result<()> {
    let ranks = Ranks::load(graph)?;
    let mut parents: Vec<VertexId> = (0..graph.vertices() as VertexId).collect();
    fn root(parents: &mut [VertexId], mut v: VertexId) -> VertexId {
        while parents[v as usize] != v {
            parents[v as usize] = parents[parents[v as usize] as usize];
            v = parents[v as usize];
        }
        v
    }
    for_each_list(graph, Direction::Out, |list| {
        for &target in list.targets {
            let (a, b) = (root(&mut parents, list.vertex), root(&mut parents, target));
            match ranks.of(a) < ranks.of(b) {
                true => parents[b as usize] = a,
                false => parents[a as usize] = b,
            }
        }
    })?;
    let mut sizes = vec![0u32; parents.len()];
    for v in 0..parents.len() as VertexId {
        let (found, expected) = (wcc.label(v), root(&mut parents, v));
        sizes[expected as usize] += u32::from(!graph.is_deleted(v));
        if found != expected {
            return Err(wrong(format!("vertex {v} is labelled {found}, not {expected}")));
        }
    }
    let components = sizes.iter().filter(|&&size| size > 0).count() as u64;
    let largest = sizes.iter().copied().max().map_or(0, u64::from);
    if (wcc.components, wcc.largest) != (components, largest) {
        return Err(wrong(format!(
            "{} components, the largest of {}; expected {components} and {largest}",
            wcc.components, wcc.largest
        )));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}

//! Degrees.
//!
//! **Returns** for every vertex the number of its edges: the entries of its list. A repeated edge
//! counts as often as the graph keeps it, a self-loop that it keeps counts once, also on an
//! undirected graph (NetworkX counts two there). On a directed graph every vertex has two degrees:
//! the edges that leave it and those that lead to it.
//!
//! **Trick.** A graph file has the degrees in pages of their own, a few per cent of its bytes; they
//! are read in place of the lists where they are up to date. Only the in-degrees of a directed
//! graph without in-edges take a pass over the out-lists.
//!
//! With less memory, the degrees lie in a file: [`bands`].

mod bands;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, EngineConfig, Graph, HugeVec, Kernel, List, Needs, StateArray,
    VertexId, for_each_list,
};

use crate::estimate::{Estimate, Reads};
use crate::parallel;
use crate::ranks::Ranks;
use crate::report::{AlgoError, Result, Run, pages};

const NAME: &str = "degrees";

/// The degrees of all vertices.
#[derive(Debug)]
#[non_exhaustive]
pub struct Degrees {
    out: StateArray<u64>,
    inward: Option<StateArray<u64>>,
    ids: Ranks,
    /// Entries of all lists: edges on a directed graph, twice the edges on an undirected one, where
    /// a self-loop counts once.
    pub entries: u64,
    /// Vertices without an edge, in either direction.
    pub isolated: u64,
    /// Statistics of the run.
    pub run: Run,
}

impl Degrees {
    /// The number of edges of `v`; on a directed graph of those that leave it.
    pub fn out_degree(&self, v: VertexId) -> u64 {
        self.out[v as usize]
    }

    /// The number of edges that lead to `v`; as [`Degrees::out_degree`] on an undirected graph.
    pub fn in_degree(&self, v: VertexId) -> u64 {
        self.inward.as_ref().unwrap_or(&self.out)[v as usize]
    }

    /// All edges at `v`: on a directed graph the sum of both degrees.
    pub fn degree(&self, v: VertexId) -> u64 {
        match &self.inward {
            None => self.out_degree(v),
            Some(inward) => self.out_degree(v) + inward[v as usize],
        }
    }

    /// The out-degrees of all vertices; the degrees, on an undirected graph.
    pub fn out_degrees(&self) -> &[u64] {
        &self.out
    }

    /// The in-degrees of all vertices; `None` for an undirected graph.
    pub fn in_degrees(&self) -> Option<&[u64]> {
        self.inward.as_deref()
    }

    /// Gives the memory of degrees in a state file back, until they are used again.
    pub fn release(&self) {
        self.out.release();
        self.inward.iter().for_each(StateArray::release);
        self.ids.release();
    }

    /// The `count` vertices of highest degree, highest first; ties in the order of ids.
    pub fn top(&self, count: usize) -> Vec<(VertexId, u64)> {
        let values = (0..).zip(self.out.iter()).map(|(v, _)| (v, self.degree(v) as f64));
        let top = self.ids.top(count, values);
        top.into_iter().map(|(v, _)| (v, self.degree(v))).collect()
    }
}

/// Whether in-degrees are counted in the out-lists.
fn counts(graph: &Graph) -> bool {
    graph.is_directed() && !graph.has_in_edges()
}

/// The directions whose degrees are stored.
fn stored(graph: &Graph) -> &'static [Direction] {
    const BOTH: &[Direction] = &[Direction::Out, Direction::In];
    &BOTH[..if graph.is_directed() && graph.has_in_edges() { 2 } else { 1 }]
}

/// Memory: 8 bytes a vertex, 16 on a directed graph; 4 more if the graph is not in the order of its
/// ids.
pub fn needs(graph: &Graph, _: &EngineConfig) -> Needs {
    let n = graph.vertices() as u64;
    let state_bytes = if graph.is_directed() { 16 } else { 8 } * n + Ranks::bytes_for(graph);
    Needs { what: NAME, state_bytes, scratch_bytes: 0 }
}

/// Estimates the memory and reads of a run.
pub fn estimate(graph: &Graph, config: &EngineConfig) -> Result<Estimate> {
    let plan = match Engine::plan(graph, config, &needs(graph, config)) {
        Ok(plan) => plan,
        Err(refused) => return Ok(bands::choose(graph, config, refused)?.estimate(graph)),
    };
    let degrees: u64 = stored(graph).iter().map(|&direction| graph.degree_pages(direction)).sum();
    let (lists, because) = match counts(graph) {
        true => {
            (pages(graph, Direction::Out), "the pages of out-degrees, and a pass over the lists")
        }
        false => (0, "the pages of degrees, or the lists if these are newer"),
    };
    let reads = Reads::about((degrees + lists) as f64).visiting(lists as f64);
    Ok(Estimate::new(graph, plan, reads.uncached(), because))
}

/// Reads the degrees.
///
/// # Errors
/// Any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig) -> Result<Degrees> {
    let needs = needs(graph, &config);
    if let Err(refused) = Engine::plan(graph, &config, &needs) {
        let plan = bands::choose(graph, &config, refused)?;
        return bands::run(graph, config, &plan);
    }
    let engine = Engine::new(Arc::clone(graph), config, &needs)?;
    engine.install(|| {
        let threads = engine.config().threads;
        let out = read(graph, Direction::Out, threads)?;
        let inward = match (graph.is_directed(), counts(graph)) {
            (false, _) => None,
            (true, false) => Some(read(graph, Direction::In, threads)?),
            (true, true) => Some(count(&engine)?),
        };
        let entries = parallel::sum(out.len(), |v| out[v]);
        let is_isolated =
            |v: usize| out[v] == 0 && inward.as_ref().is_none_or(|inward| inward[v] == 0);
        let without = parallel::count(out.len(), is_isolated);
        let isolated = (without - graph.deleted().len()) as u64;
        let mut run = Run::of(&engine);
        for &direction in stored(graph) {
            run.stats.bytes_read += graph.degree_pages(direction) * graph.page_bytes() as u64;
        }
        let (out, inward) = (out.into(), inward.map(StateArray::from));
        Ok(Degrees { out, inward, ids: Ranks::load(graph)?, entries, isolated, run })
    })
}

/// The stored degrees of a direction.
fn read(graph: &Graph, direction: Direction, threads: usize) -> Result<HugeVec<u64>> {
    let all: HugeVec<AtomicU64> = HugeVec::zeroed(graph.vertices())?;
    let take = |(): &mut (), first: VertexId, degrees: &[u64]| {
        for (all, &degree) in all[first as usize..].iter().zip(degrees) {
            all.store(degree, Ordering::Relaxed);
        }
    };
    graph.degrees_on(threads, direction, &take)?;
    Ok(all.into_plain())
}

/// The in-degrees, counted in the out-lists.
fn count(engine: &Engine) -> Result<HugeVec<u64>> {
    let kernel = Count { degrees: HugeVec::zeroed(engine.graph().vertices())? };
    engine.visit("in-degrees", Direction::Out, ActiveSet::All, &kernel)?;
    Ok(kernel.degrees.into_plain())
}

struct Count {
    degrees: HugeVec<AtomicU64>,
}

impl Kernel for Count {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        for &target in list.targets {
            self.degrees[target as usize].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Counts again in the out-lists, serially, and asserts that every degree, the entries and the
/// isolated vertices are the same. Takes 16 bytes a vertex.
pub fn verify(graph: &Graph, degrees: &Degrees) -> Result<()> {
    let n = graph.vertices();
    let (mut out, mut inward) = (vec![0_u64; n], vec![0_u64; n]);
    for_each_list(graph, Direction::Out, |list| {
        out[list.vertex as usize] += list.targets.len() as u64;
        list.targets.iter().for_each(|&target| inward[target as usize] += 1);
    })?;
    let mut isolated = 0;
    for v in 0..n {
        let at = v as VertexId;
        let found = (degrees.out_degree(at), degrees.in_degree(at));
        if found != (out[v], inward[v]) {
            let expected = (out[v], inward[v]);
            return Err(wrong(format!(
                "the degrees of vertex {v} are {found:?}, not {expected:?}"
            )));
        }
        isolated += u64::from(found == (0, 0) && !graph.is_deleted(at));
    }
    let expected = (out.iter().sum::<u64>(), isolated);
    let found = (degrees.entries, degrees.isolated);
    if found != expected {
        return Err(wrong(format!(
            "entries and isolated vertices are {found:?}, not {expected:?}"
        )));
    }
    Ok(())
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}

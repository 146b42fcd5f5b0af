//! Communities by modularity: Leiden and Louvain.

mod gather;
mod level;
mod levels;
mod lists;
mod moves;
mod partition;
mod refine;
mod tally;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    Adjacency, Direction, Engine, EngineConfig, Graph, HugeVec, Needs, VertexId, setters,
};
use rayon::prelude::*;

use crate::estimate::{Estimate, Reads, engine_for, kept, plan_for};
use crate::groups::{Groups, Labels, clear};
use crate::ranks::{Ranks, for_each_by_id};
use crate::report::{AlgoError, Result, Run, pages};
use gather::Numbers;
use level::{Level, Room};
use levels::Levels;
use lists::Scale;
use partition::{ISOLATED, Partition};
use tally::Tally;
pub use verify::verify;

const METHODS: &str = "leiden and louvain";

/// The method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// With refinement: communities are connected.
    #[default]
    Leiden,
    /// Without.
    Louvain,
}

/// Parameters.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CommunitiesConfig {
    /// The method.
    pub method: Method,
    /// The resolution: with larger ones communities are smaller.
    pub resolution: f64,
    /// The most iterations; fewer if modularity does not grow any more.
    pub iterations: u32,
}

impl Default for CommunitiesConfig {
    fn default() -> Self {
        Self { method: Method::Leiden, resolution: 1.0, iterations: 2 }
    }
}

impl CommunitiesConfig {
    /// The defaults of a method.
    pub fn of(method: Method) -> Self {
        Self::default().method(method)
    }

    setters! { method: Method, resolution: f64, iterations: u32 }
}

/// The communities.
#[derive(Debug)]
#[non_exhaustive]
pub struct Communities {
    groups: Groups,
    /// The modularity.
    pub modularity: f64,
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last iteration gained nothing.
    pub converged: bool,
    /// Levels of the last iteration, that of the vertices included.
    pub levels: u64,
    /// Visits of lists on the device.
    pub passes: u64,
    /// Number of communities.
    pub communities: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// Its label.
    pub largest_label: Option<VertexId>,
    /// Statistics of the run.
    pub run: Run,
}

impl Communities {
    /// The vertex with the smallest id in the community of `v`.
    pub fn label(&self, v: VertexId) -> VertexId {
        self.groups.labels[v as usize]
    }

    /// That of all vertices.
    pub fn labels(&self) -> &[VertexId] {
        &self.groups.labels
    }
}

/// Memory.
pub fn needs(graph: &Graph, config: &EngineConfig) -> Result<Needs> {
    let n = graph.vertices();
    let longest = graph.adjacency(Direction::Out).map_or(0, Adjacency::list_entries_bound);
    let state_bytes = partition::bytes_for(n, config.threads)
        + Ranks::bytes_for(graph)
        + lists::bytes_for(graph, config)?
        + config.threads as u64 * Tally::bytes_for(longest)
        + Numbers::bytes_for(n)
        + gather::SLOTS_MIN * 16;
    let entries = graph.superblock().stored_out;
    let scratch_bytes = 20 * entries + 2 * Level::bytes_for(n as u64, entries);
    Ok(Needs { what: METHODS, state_bytes, scratch_bytes })
}

/// Estimates the memory and reads of a run.
pub fn estimate(
    graph: &Graph,
    config: &EngineConfig,
    communities: &CommunitiesConfig,
) -> Result<Estimate> {
    lists::check(graph)?;
    let plan = plan_for(graph, config, |config| needs(graph, config).unwrap())?;
    let pass = pages(graph, Direction::Out) as f64;
    let reads = Reads::between(pass, pass, pass * 20.0 * f64::from(communities.iterations));
    Ok(Estimate::new(graph, plan, reads, "TODO"))
}

/// Finds communities.
pub fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    communities: &CommunitiesConfig,
) -> Result<Communities> {
    lists::check(graph)?;
    let config = config.weighted(graph.is_weighted());
    let scale = Scale::of(graph)?;
    let engine = engine_for(graph, config, |config| needs(graph, config).unwrap())?;
    engine.install(|| {
        let partition = Partition::new(&engine, scale, communities.resolution)?;
        Search { engine: &engine, config: communities, partition }.run()
    })
}

struct Search<'e> {
    engine: &'e Engine,
    config: &'e CommunitiesConfig,
    partition: Partition<'e>,
}

impl Search<'_> {
    fn run(mut self) -> Result<Communities> {
        let (mut modularity, mut iterations, mut converged, mut levels) = (f64::NEG_INFINITY, 0, false, 0);
        while iterations < self.config.iterations && !converged {
            iterations += 1;
            let before = modularity;
            (modularity, levels) = self.iterate(iterations)?;
            if std::env::var_os("COMM_DEBUG").is_some() {
                eprintln!("iteration {iterations}: {modularity}");
            }
            converged = modularity <= before + 1e-9;
        }
        let (engine, passes) = (self.engine, self.partition.passes);
        let groups = self.name()?;
        let Groups { count, largest, largest_label, .. } = groups;
        let run = Run::of(engine);
        Ok(Communities {
            groups,
            modularity,
            iterations,
            converged,
            levels,
            passes,
            communities: count,
            largest,
            largest_label,
            run,
        })
    }

    /// Moves, refines and aggregates; returns the modularity and the number of levels.
    fn iterate(&mut self, iteration: u32) -> Result<(f64, u64)> {
        let name = format!("iteration {iteration}");
        let partition = &mut self.partition;
        let degrees = partition.degrees()?;
        let totals = partition.totals(&degrees)?;
        partition.move_vertices(&degrees, &totals, &name)?;
        match self.config.method {
            Method::Leiden => partition.refine(&totals, &degrees, &name)?,
            Method::Louvain => partition.for_each_connected(|v, label| {
                partition.other[v as usize].store(label, Ordering::Relaxed);
            }),
        }
        drop((degrees, totals));
        let (nodes, labels) = self.number()?;
        let partition = &mut self.partition;
        let memory = self.engine.memory();
        let room = Room {
            bytes: memory.scratch_bytes + 16 * partition.labels.len() as u64,
            budget: self.engine.config().memory_bytes,
        };
        let level = partition.gather(nodes, &room)?;
        let (total, density) = (partition.total, partition.density);
        let levels = Levels { engine: self.engine, method: self.config.method, total, density };
        let clustered = levels.cluster(level, labels)?;
        let partition = &self.partition;
        partition.for_each_connected(|v, _| {
            let node = partition::get(&partition.other, v);
            let label = clustered.labels[node as usize];
            partition.labels[v as usize].store(label, Ordering::Relaxed);
        });
        let total = total.max(1) as f64;
        let modularity = clustered.within as f64 / total
            - self.config.resolution * (clustered.squares as f64 / total / total);
        Ok((modularity, clustered.levels + 1))
    }

    /// Replaces the labels of subsets by numbers of nodes; returns how many there are, and their
    /// communities.
    fn number(&mut self) -> Result<(usize, HugeVec<u32>)> {
        let partition = &self.partition;
        let n = partition.labels.len();
        (0..n).into_par_iter().for_each(|v| {
            if partition.labels[v].load(Ordering::Relaxed) == ISOLATED {
                partition.other[v].store(ISOLATED, Ordering::Relaxed);
            }
        });
        let nodes = Numbers::of(&partition.other)?;
        let communities = Numbers::of(&partition.labels)?;
        let labels: HugeVec<AtomicU32> = HugeVec::zeroed(nodes.count as usize)?;
        partition.for_each_connected(|v, label| {
            let node = nodes.number(partition::get(&partition.other, v));
            partition.other[v as usize].store(node, Ordering::Relaxed);
            labels[node as usize].store(communities.number(label), Ordering::Relaxed);
        });
        Ok((nodes.count as usize, labels.into_plain()))
    }

    /// Names every community by its vertex with the smallest id.
    fn name(self) -> Result<Groups> {
        let Partition { engine, labels, other, .. } = self.partition;
        let graph = engine.graph();
        other.par_iter().for_each(|name| name.store(ISOLATED, Ordering::Relaxed));
        for_each_by_id(graph, |v| {
            let label = partition::get(&labels, v);
            let name = if label == ISOLATED {
                v
            } else {
                if partition::get(&other, label) == ISOLATED {
                    other[label as usize].store(v, Ordering::Relaxed);
                }
                partition::get(&other, label)
            };
            labels[v as usize].store(name, Ordering::Relaxed);
        })?;
        clear(&other);
        Groups::new(graph, Labels::Members, labels, other)
    }
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: METHODS, fault }
}

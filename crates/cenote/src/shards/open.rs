//! A shard that is open: its part in algorithms over all shards.

use std::ops::Range;
use std::sync::Arc;

use cenote_algo::shards::{Part, ShardAlgorithm, ShardRun};
use cenote_device::threads::cores;
use cenote_engine::{Cancel, EngineConfig, THREADS_MAX};
use cenote_store::{IdRef, VertexId};

use crate::error::{Error, Result};
use crate::graph::Graph;

/// A part of `1 / CALLER_SHARE` of a budget is for copies of messages outside the run.
const CALLER_SHARE: u64 = 8;

/// A shard that is open, and its part in algorithms over all shards. The caller passes on the
/// messages between this shard and the others, which are open in other processes.
///
/// ```
/// # use cenote::shards::{Manifest, OpenShard, ShardAlgorithm, Sharding};
/// # use cenote::{Graph, Import};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("path.cenote");
/// Import::new().edges((0u64..99).map(|v| (v, v + 1))).memory("64MiB").run(&path)?;
/// let shards = folder.path().join("shards");
/// Sharding::new(&Graph::open(&path)?, 1).write(&shards)?;
/// let graph = Graph::open(shards.join(&Manifest::read(&shards)?.shards[0].file))?;
/// let shard = OpenShard::new(&graph, 0, &[0, 100], false)?.connected(vec![Vec::new()]);
/// let mut run = shard.run(&ShardAlgorithm::Wcc { hub: 0 }, 64 << 20, Some(1), || false)?;
/// let step = run.step(0, &[], &[])?;
/// assert!(step.messages[0].is_none(), "there is no other shard");
/// assert_eq!(step.report[..3], [("sent", 0), ("unsent", 0), ("components", 1)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OpenShard<'g> {
    graph: &'g Graph,
    part: Arc<Part>,
}

impl<'g> OpenShard<'g> {
    /// The shard `index` of a set, whose file is `graph`.
    ///
    /// `starts` has the first number of each shard, then that of all vertices; `is_directed` says
    /// whether the graph that was cut is.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the ids of the file are not numbers that ascend.
    ///
    /// # Panics
    /// If `starts` has no shard `index`.
    pub fn new(graph: &'g Graph, index: usize, starts: &[u64], is_directed: bool) -> Result<Self> {
        let stored = graph.stored();
        let table = graph.kept_ids()?.load()?;
        let mut numbers = Vec::with_capacity(stored.vertices());
        for v in 0..stored.vertices() as VertexId {
            match table.get(v) {
                IdRef::Integer(number) if numbers.last().is_none_or(|last| *last < number) => {
                    numbers.push(number);
                }
                id => {
                    let reason = format!("{}: vertex {v} has the id {id}", graph.path().display());
                    let remedy = "it is no shard, whose ids ascend: give a file that `shard` wrote";
                    return Err(Error::InvalidInput(format!("{reason}: {remedy}")));
                }
            }
        }
        let place = |start: &u64| numbers.partition_point(|number| number < start) as VertexId;
        let cuts: Vec<VertexId> = starts.iter().map(place).collect();
        let runs: Vec<Range<VertexId>> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
        assert!(index < runs.len(), "shard {index} of {}", runs.len());
        let part = Part {
            graph: Arc::clone(stored),
            is_directed,
            index,
            vertices_total: starts.last().copied().unwrap_or(0),
            numbers: Arc::new(numbers),
            mirrored: vec![Vec::new(); runs.len()],
            runs,
        };
        Ok(Self { graph, part: Arc::new(part) })
    }

    /// The shard of a file, whose part is known.
    ///
    /// # Panics
    /// If the part is of another graph.
    pub fn of(graph: &'g Graph, part: Arc<Part>) -> Self {
        assert!(Arc::ptr_eq(graph.stored(), &part.graph), "the part is of this graph");
        Self { graph, part }
    }

    /// The shard with what it has to know of the others: for each the own vertices that are in its
    /// boundary, ascending, counted from the first own one.
    ///
    /// # Panics
    /// If there is not a list for each shard.
    #[must_use]
    pub fn connected(self, mirrored: Vec<Vec<u32>>) -> Self {
        assert_eq!(mirrored.len(), self.part.runs.len(), "a list for each shard");
        let part = Part { mirrored, ..Part::clone(&self.part) };
        Self { graph: self.graph, part: Arc::new(part) }
    }

    /// Its vertices, and those that other shards know.
    pub fn part(&self) -> &Arc<Part> {
        &self.part
    }

    /// The number of the vertex with the longest out-list, and its length.
    pub fn hub(&self) -> (u64, u64) {
        let superblock = self.part.graph.superblock();
        let vertex = superblock.degree_max_vertex as usize;
        (self.part.numbers.get(vertex).copied().unwrap_or(0), superblock.degree_max)
    }

    /// Bytes of the numbers of vertices, and of what is known of other shards, here and at the
    /// caller.
    fn held_bytes(&self) -> u64 {
        let mirrored: usize = self.part.mirrored.iter().map(Vec::len).sum();
        8 * (self.part.places() + mirrored) as u64
    }

    /// Starts a run of an algorithm within a budget, on `threads` [one a core]. The budget covers
    /// the numbers of vertices too; an eighth of it is for what the caller does with messages.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`]; [`Error::Parameter`] for threads, or weights that are negative.
    pub fn run(
        &self,
        algorithm: &ShardAlgorithm,
        memory_bytes: u64,
        threads: Option<usize>,
        is_cancelled: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<ShardRun> {
        let threads = threads.unwrap_or_else(cores);
        if !(1..=THREADS_MAX).contains(&threads) {
            let reason = format!("is {threads}: 1 to {THREADS_MAX} are possible");
            return Err(Error::parameter("threads", reason));
        }
        let held = self.held_bytes();
        let left = (memory_bytes - memory_bytes / CALLER_SHARE).saturating_sub(held);
        let config = EngineConfig::with_memory(left).threads(threads);
        let config = self.graph.planned(config.cancel(Cancel::when(is_cancelled)));
        let run = ShardRun::new(Arc::clone(&self.part), config, algorithm);
        run.map_err(|error| match Error::from(error) {
            Error::MemoryBudget { what, needed, breakdown, .. } => {
                let needed = (needed + held) * CALLER_SHARE / (CALLER_SHARE - 1) + 1;
                Error::MemoryBudget {
                    what: format!("{what} on shard {}", self.part.index),
                    given: memory_bytes,
                    needed,
                    suggested: needed.div_ceil(1 << 20),
                    breakdown: format!("numbers of vertices {held}, {breakdown}"),
                }
            }
            other => other,
        })
    }
}

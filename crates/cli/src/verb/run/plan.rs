//! How a run is to be done: flags, profile, budget.

use std::sync::Arc;

use anyhow::{Context, Result};
use cenote_engine::{Cancel, Direction, EngineConfig, Graph, Strategy};

use crate::args::{Threads, whole};
use crate::cancel;
use crate::graph_file::{GraphArg, Opening};
use cenote::memory::{self, MemorySize};
use cenote::tiers::members::Access;

/// Flags that say how a run is to be done.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub graph: GraphArg,
    /// Memory for everything the run keeps; a percentage is of the graph's pages [default: half of
    /// the machine's memory]
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemorySize>,
    #[command(flatten)]
    threads: Threads,
    /// How pages are fetched: auto, or the CAVE paper's block or vertex
    #[arg(long, value_name = "STRATEGY", default_value = "auto")]
    pub strategy: Strategy,
    /// Requests in flight over all threads, 1 to 4096 [default: from the drive's profile]
    #[arg(long, value_name = "N", value_parser = whole(1..=4096))]
    depth: Option<usize>,
    /// Memory for cached pages at most, within the budget [default: what the budget leaves]
    #[arg(long, value_name = "SIZE")]
    cache: Option<MemorySize>,
    /// Leave the pages of a graph over tiers where they are
    #[arg(long)]
    no_migration: bool,
    /// Write the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

impl PlanArgs {
    /// Opens the graph and finds out how to run on it.
    pub fn open(&self, explain: bool) -> Result<(Arc<Graph>, EngineConfig)> {
        self.open_for(if self.no_migration { Access::Read } else { Access::Move }, explain)
    }

    /// The same for an estimate, which changes nothing.
    pub fn open_to_estimate(&self) -> Result<(Arc<Graph>, EngineConfig)> {
        self.open_for(Access::Read, false)
    }

    fn open_for(&self, access: Access, explain: bool) -> Result<(Arc<Graph>, EngineConfig)> {
        let opening = Opening::new(&self.graph.graph, access, self.depth.unwrap_or(0))?;
        let profile = opening.profile().clone();
        let graph = Arc::new(opening.open()?);
        if profile.assumed {
            tracing::warn!(
                "no profile of the drive under {}: reads are planned for an assumed one; \
                 `cenote profile --quick DIR` measures it in 20 seconds",
                self.graph.graph.display()
            );
        }
        let page_bytes = page_bytes(&graph);
        let memory_bytes = match self.memory {
            Some(size) => size.bytes_of(page_bytes),
            None => {
                memory::machine_bytes()
                    .context("cannot tell the machine's memory: give --memory")?
                    / 2
            }
        };
        let config = EngineConfig::with_memory(memory_bytes)
            .threads(self.threads.count())
            .strategy(self.strategy)
            .profile(profile)
            .depth(self.depth)
            .cache_bytes(self.cache.map(|size| size.bytes_of(page_bytes)))
            .explain(explain)
            .cancel(Cancel::when(cancel::cancelled));
        Ok((graph, config))
    }
}

/// Bytes of the pages that hold lists, in either direction.
pub fn page_bytes(graph: &Graph) -> u64 {
    let pages = |direction| graph.adjacency(direction).map_or(0, |lists| lists.pages());
    let inward = if graph.is_directed() { pages(Direction::In) } else { 0 };
    (pages(Direction::Out) + inward) * graph.page_bytes() as u64
}

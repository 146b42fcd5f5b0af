//! Flags that all runs share.

use std::path::PathBuf;

use anyhow::Result;
use cenote::run::{Algorithm, Run};
use cenote::{Graph, MemorySize, Strategy};

use crate::args::{Threads, whole};
use crate::cancel;
use crate::graph_file::{GraphArg, SnapshotArg};

/// Flags that all runs share.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub graph: GraphArg,
    #[command(flatten)]
    at: SnapshotArg,
    /// Memory budget of the run; a percentage is of the graph's pages [default: half of the
    /// machine's memory]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<MemorySize>,
    #[command(flatten)]
    pub threads: Threads,
    /// How pages are read: auto, or the CAVE paper's block or vertex
    #[arg(long, value_name = "STRATEGY", default_value = "auto")]
    pub strategy: Strategy,
    /// Requests in flight over all threads, 1 to 4096 [default: from the drive's profile]
    #[arg(long, value_name = "N", value_parser = whole(1..=4096))]
    depth: Option<usize>,
    /// The most memory for cached pages, within the budget [default: what the budget leaves]
    #[arg(long, value_name = "SIZE")]
    cache: Option<MemorySize>,
    /// Folder for a file with the state of vertices, where that does not fit in memory
    /// [default: the graph's]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Do not move pages of a graph over tiers
    #[arg(long)]
    no_migration: bool,
    /// Write the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

impl PlanArgs {
    /// The first given flag that needs a graph.
    pub fn for_graphs(&self) -> Option<&'static str> {
        let flags = [
            (self.at.at.is_some(), "--at"),
            (self.strategy != Strategy::Auto, "--strategy"),
            (self.depth.is_some(), "--depth"),
            (self.cache.is_some(), "--cache"),
            (self.state_dir.is_some(), "--state-dir"),
            (self.no_migration, "--no-migration"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    /// Opens the graph for a run.
    pub fn open(&self) -> Result<Graph> {
        let options = Graph::options().migration(!self.no_migration);
        self.graph.open_with(&self.at.of(options), true)
    }

    /// Opens the graph for an estimate, without migration.
    pub fn open_to_estimate(&self) -> Result<Graph> {
        self.graph.open_with(&self.at.of(Graph::options().migration(false)), true)
    }

    /// Sets the flags' values.
    pub fn apply<'g, A: Algorithm>(&self, mut run: Run<'g, A>) -> Run<'g, A> {
        run = run.threads(self.threads.count()).strategy(self.strategy).cancel(cancel::cancelled);
        if let Some(memory) = self.memory {
            run = run.memory(memory);
        }
        if let Some(depth) = self.depth {
            run = run.depth(depth);
        }
        if let Some(cache) = self.cache {
            run = run.cache(cache);
        }
        if let Some(folder) = &self.state_dir {
            run = run.state_dir(folder);
        }
        run
    }
}

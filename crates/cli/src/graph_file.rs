//! The graph argument of verbs.
//!
//! [`GraphArg`] opens the graph and prints its warnings; [`SnapshotArg`] at a snapshot.

use std::path::PathBuf;

use anyhow::Result;
use cenote::graph::OpenOptions;
use cenote::{Graph, Warning};

/// The graph argument.
#[derive(clap::Args, Clone, Debug)]
pub struct GraphArg {
    /// Graph file, made by `cenote import`
    #[arg(value_name = "GRAPH")]
    pub graph: PathBuf,
}

/// The flag for a snapshot.
#[derive(clap::Args, Clone, Debug)]
pub struct SnapshotArg {
    /// Read the graph as it was at this snapshot, made by `cenote snapshot`
    #[arg(long, value_name = "NAME")]
    pub at: Option<String>,
}

impl SnapshotArg {
    /// The options to open the graph at the snapshot, if one was given.
    pub fn of(&self, options: OpenOptions) -> OpenOptions {
        match &self.at {
            Some(name) => options.at(name),
            None => options,
        }
    }
}

impl GraphArg {
    /// Opens the graph; never writes to it.
    pub fn open(&self, at: &SnapshotArg) -> Result<Graph> {
        self.open_with(&at.of(Graph::options().migration(false)), false)
    }

    /// Opens the graph and prints its warnings; a missing profile of the drive only if `is_run`.
    pub fn open_with(&self, options: &OpenOptions, is_run: bool) -> Result<Graph> {
        let graph = options.open(&self.graph)?;
        for warning in graph.warnings() {
            if is_run || !matches!(warning, Warning::NotProfiled { .. }) {
                tracing::warn!("{warning}");
            }
        }
        Ok(graph)
    }
}

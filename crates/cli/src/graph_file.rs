//! The graph that a verb reads.

use std::path::PathBuf;

use anyhow::Result;
use cenote::graph::OpenOptions;
use cenote::{Graph, Warning};

/// The graph that a verb reads.
#[derive(clap::Args, Clone, Debug)]
pub struct GraphArg {
    /// Graph file, made by `cenote import`
    #[arg(value_name = "GRAPH")]
    pub graph: PathBuf,
}

impl GraphArg {
    /// Opens the graph; never writes to it.
    pub fn open(&self) -> Result<Graph> {
        self.open_with(&Graph::options().migration(false), false)
    }

    /// Opens the graph and prints its warnings. That its drive was never measured matters only
    /// where `is_run`.
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

//! The graph that a verb reads.

use std::path::PathBuf;

use anyhow::Result;
use cenote::Graph;
use cenote::Warning;

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
        let graph = Graph::options().migration(false).open(&self.graph)?;
        // What was never measured matters to runs only.
        let is_fault = |warning: &&Warning| !matches!(warning, Warning::NotProfiled { .. });
        graph.warnings().iter().filter(is_fault).for_each(|warning| tracing::warn!("{warning}"));
        Ok(graph)
    }
}

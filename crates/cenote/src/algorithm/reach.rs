//! [`Graph::reach`](crate::Graph::reach).

use std::path::{Path, PathBuf};

use cenote_algo::reach::{self, ReachConfig};
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::Target;
use super::ends::{Ends, Search};
use crate::error::{Error, Result};
use crate::graph::StoredGraph;
use crate::run::{Algorithm, Column, Job};

/// Whether vertices can be reached; [`cenote_algo::reach`].
#[derive(Clone, Debug, Default)]
pub struct Reach {
    ends: Ends,
}

impl Search for Reach {
    fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }
}

/// Summary of a reachability search.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ReachSummary {
    /// The source.
    pub source: Id,
    /// Whether the source is the default, the vertex of largest degree.
    pub source_chosen: bool,
    /// Whether all targets can be reached.
    pub reachable: bool,
    /// Whether the search ran from both ends.
    pub bidirectional: bool,
    /// The targets.
    pub targets: Vec<Target>,
}

impl Algorithm for Reach {
    const NAME: &'static str = "reach";
    type Config = ReachConfig;
    type Output = reach::Reach;
    type Summary = ReachSummary;

    fn config(&self, job: &Job<'_>) -> Result<ReachConfig> {
        let (source, targets) = self.ends.one_source(job)?;
        Ok(ReachConfig::default().source(source).targets(targets))
    }

    calls!(reach: estimate() run(config) verify(config));

    fn summary(config: &ReachConfig, ids: &Ids, reach: &reach::Reach) -> Result<ReachSummary> {
        let mut targets = Target::all(ids, &config.targets, |_| true)?;
        for (target, &reachable) in targets.iter_mut().zip(&reach.reachable) {
            target.reachable = reachable;
        }
        Ok(ReachSummary {
            source: ids.id_of(reach.source)?,
            source_chosen: config.source.is_none(),
            reachable: reach.reachable.iter().all(|&reachable| reachable),
            bidirectional: reach.bidirectional,
            targets,
        })
    }

    fn columns(_: &reach::Reach) -> Vec<Column<'_>> {
        Vec::new()
    }

    fn prepare_output(&mut self, _: &Path, _: &StoredGraph) -> Result<()> {
        let reason =
            "cannot be given: reach has no answer of every vertex, as `bfs` and `dfs` have";
        Err(Error::parameter("out", reason))
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.ends.files()
    }
}

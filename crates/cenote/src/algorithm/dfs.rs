//! [`Graph::dfs`](crate::Graph::dfs) and
//! [`Graph::lexicographic_dfs`](crate::Graph::lexicographic_dfs).

use std::path::{Path, PathBuf};

use cenote_algo::dfs::lexicographic::{self, Lexicographic, LexicographicConfig};
use cenote_algo::dfs::pseudo::{self, PseudoDfsConfig};
use cenote_engine::AsynchronousConfig;
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::Target;
use super::ends::{Ends, Search};
use crate::error::{Error, Result};
use crate::graph::StoredGraph;
use crate::output::table;
use crate::run::{Algorithm, Column, Job, Run};

/// Pseudo-DFS: depth-first search in no fixed order; [`cenote_algo::dfs::pseudo`].
#[derive(Clone, Debug, Default)]
pub struct PseudoDfs {
    ends: Ends,
    visit: AsynchronousConfig,
}

/// Depth-first search in lexicographic order; [`cenote_algo::dfs::lexicographic`].
#[derive(Clone, Debug, Default)]
pub struct LexicographicDfs {
    ends: Ends,
}

impl Search for PseudoDfs {
    fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }
}

impl Search for LexicographicDfs {
    fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }
}

impl Run<'_, PseudoDfs> {
    /// Splits a stack of more entries than this.
    pub fn threshold(mut self, entries: u64) -> Self {
        self.algorithm.visit.threshold = entries.max(1);
        self
    }

    /// The most stacks, each with one request in flight [default: from the depth].
    pub fn stacks(mut self, stacks: usize) -> Self {
        self.algorithm.visit.stacks = Some(stacks.max(1));
        self
    }
}

/// The order of visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DfsOrder {
    /// Any order: many stacks in parallel.
    Pseudo,
    /// The smallest unvisited neighbour first.
    Lexicographic,
}

/// Summary of a depth-first search.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DfsSummary {
    /// The order of visits.
    pub order: DfsOrder,
    /// The source.
    pub source: Id,
    /// Whether the source is the default, the vertex of largest degree.
    pub source_chosen: bool,
    /// Vertices reached; none if a pseudo-DFS ended early.
    pub reached: Option<u64>,
    /// Whether the search ended because all targets were reached.
    pub ended_early: bool,
    /// Depth of the search tree, in edges (lexicographic).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// The targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
}

impl Algorithm for PseudoDfs {
    const NAME: &'static str = "dfs";
    type Config = PseudoDfsConfig;
    type Output = pseudo::PseudoDfs;
    type Summary = DfsSummary;

    fn config(&self, job: &Job<'_>) -> Result<PseudoDfsConfig> {
        let (source, targets) = self.ends.one_source(job)?;
        Ok(PseudoDfsConfig::default().source(source).targets(targets).asynchronous(self.visit))
    }

    calls!(pseudo: estimate() run(config) verify(config));

    fn summary(config: &PseudoDfsConfig, ids: &Ids, dfs: &pseudo::PseudoDfs) -> Result<DfsSummary> {
        Ok(DfsSummary {
            order: DfsOrder::Pseudo,
            source: ids.id_of(dfs.source)?,
            source_chosen: config.source.is_none(),
            reached: dfs.reached(),
            ended_early: dfs.ended_early,
            depth: None,
            targets: Target::all(ids, &config.targets, |v| dfs.is_reached(v))?,
        })
    }

    fn columns(dfs: &pseudo::PseudoDfs) -> Vec<Column<'_>> {
        vec![Column::count("reached", |v| Some(u64::from(dfs.is_reached(v))))]
    }

    fn prepare_output(&mut self, path: &Path, graph: &StoredGraph) -> Result<()> {
        if self.ends.targets.is_empty() {
            return table::check(path, graph);
        }
        let reason = "says of every vertex whether it can be reached, and `target` ends the \
                      search before that is known: leave one of them out, or search in \
                      lexicographic order";
        Err(Error::parameter("out", reason))
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.ends.files()
    }
}

impl Algorithm for LexicographicDfs {
    const NAME: &'static str = "dfs";
    type Config = LexicographicConfig;
    type Output = Lexicographic;
    type Summary = DfsSummary;

    fn config(&self, job: &Job<'_>) -> Result<LexicographicConfig> {
        let (source, targets) = self.ends.one_source(job)?;
        Ok(LexicographicConfig::default().source(source).targets(targets))
    }

    calls!(lexicographic: estimate() run(config) verify(config));

    fn summary(config: &LexicographicConfig, ids: &Ids, dfs: &Lexicographic) -> Result<DfsSummary> {
        Ok(DfsSummary {
            order: DfsOrder::Lexicographic,
            source: ids.id_of(dfs.source)?,
            source_chosen: config.source.is_none(),
            reached: Some(dfs.reached),
            ended_early: dfs.ended_early,
            depth: Some(dfs.depth),
            targets: Target::all(ids, &config.targets, |v| dfs.order(v).is_some())?,
        })
    }

    fn columns(dfs: &Lexicographic) -> Vec<Column<'_>> {
        vec![
            Column::count("order", |v| dfs.order(v).map(u64::from)),
            Column::vertex("parent", |v| dfs.parent(v)),
            Column::count("finish", |v| dfs.finish(v).map(u64::from)),
        ]
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.ends.files()
    }
}

//! [`Graph::bfs`](crate::Graph::bfs).

use std::path::PathBuf;

use cenote_algo::bfs::{self, BfsConfig};
use cenote_store::{Id, Ids, VertexId};
use serde::Serialize;

use super::Target;
use super::ends::{Ends, FromSeveral, Search};
use crate::error::Result;
use crate::run::{Algorithm, Column, Job, Run};

/// Breadth-first search: levels and parents; [`cenote_algo::bfs`].
#[derive(Clone, Debug, Default)]
pub struct Bfs {
    ends: Ends,
    parents: bool,
}

impl Search for Bfs {
    const FROM_ONE: bool = false;

    fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }
}

impl FromSeveral for Bfs {}

impl Run<'_, Bfs> {
    /// Whether to find parents: the neighbour on the level before with the smallest id.
    pub fn parents(mut self, parents: bool) -> Self {
        self.algorithm.parents = parents;
        self
    }
}

/// Summary of a breadth-first search.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BfsSummary {
    /// The first source.
    pub source: Id,
    /// Number of different sources.
    pub sources: u64,
    /// Whether the source is the default, the vertex of largest degree.
    pub source_chosen: bool,
    /// Vertices reached.
    pub reached: u64,
    /// The largest level.
    pub depth: u32,
    /// Whether the search ended because all targets were reached.
    pub ended_early: bool,
    /// The targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
}

impl Algorithm for Bfs {
    const NAME: &'static str = "bfs";
    type Config = BfsConfig;
    type Output = bfs::Bfs;
    type Summary = BfsSummary;

    fn config(&self, job: &Job<'_>) -> Result<BfsConfig> {
        let (sources, targets) = self.ends.vertices(job)?;
        Ok(BfsConfig::default().sources(sources).targets(targets).parents(self.parents))
    }

    calls!(bfs: estimate(config) run(config) verify());

    fn summary(config: &BfsConfig, ids: &Ids, bfs: &bfs::Bfs) -> Result<BfsSummary> {
        let mut targets = Target::all(ids, &config.targets, |v| bfs.level(v).is_some())?;
        for (target, &v) in targets.iter_mut().zip(&config.targets) {
            target.level = bfs.level(v);
            target.set_path(ids, bfs.path_to(v))?;
        }
        Ok(BfsSummary {
            source: ids.id_of(first(&config.sources, &bfs.sources))?,
            sources: bfs.sources.len() as u64,
            source_chosen: config.sources.is_empty(),
            reached: bfs.reached,
            depth: bfs.depth,
            ended_early: bfs.ended_early,
            targets,
        })
    }

    fn columns(bfs: &bfs::Bfs) -> Vec<Column<'_>> {
        let mut columns = vec![Column::count("level", |v| bfs.level(v).map(u64::from))];
        if bfs.has_parents() {
            columns.push(Column::vertex("parent", |v| bfs.parent(v)));
        }
        columns
    }

    fn release(bfs: &bfs::Bfs) {
        bfs.release();
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.ends.files()
    }
}

/// The source that a summary names: the first given one, or the default.
pub(super) fn first(given: &[VertexId], used: &[VertexId]) -> VertexId {
    *given.first().unwrap_or(&used[0])
}

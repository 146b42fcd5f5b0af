//! [`Graph::sssp`](crate::Graph::sssp).

use std::path::PathBuf;

use cenote_algo::sssp::{self, Distance, SsspConfig};
use cenote_store::{Id, Ids};
use serde::{Serialize, Serializer};

use super::Target;
use super::bfs::first;
use super::ends::{Ends, FromSeveral, Search};
use crate::error::Result;
use crate::graph::StoredGraph;
use crate::run::{Algorithm, Column, Job, Run};

/// Shortest paths over weighted edges; [`cenote_algo::sssp`].
#[derive(Clone, Debug, Default)]
pub struct Sssp {
    ends: Ends,
    delta: Option<f64>,
    parents: bool,
}

impl Search for Sssp {
    const FROM_ONE: bool = false;

    fn ends(&mut self) -> &mut Ends {
        &mut self.ends
    }
}

impl FromSeveral for Sssp {}

impl Run<'_, Sssp> {
    /// Width of a bucket of distances, in the unit of the weights [default: from the weights].
    pub fn delta(mut self, delta: f64) -> Self {
        self.algorithm.delta = Some(delta);
        self
    }

    /// Whether parents are found too: over which vertex with the smallest id a shortest path comes.
    pub fn parents(mut self, parents: bool) -> Self {
        self.algorithm.parents = parents;
        self
    }
}

/// A finished search in a few numbers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SsspSummary {
    /// The first of the sources.
    pub source: Id,
    /// Different sources.
    pub sources: u64,
    /// Whether the source is the vertex of largest degree, for want of another.
    pub source_chosen: bool,
    /// Vertices reached.
    pub reached: u64,
    /// Of the vertices at the largest distance the one with the smallest id.
    pub farthest: Id,
    /// Its distance.
    #[serde(serialize_with = "number")]
    pub distance_max: Distance,
    /// The bucket width that was used.
    pub delta: f64,
    /// Buckets that were worked off.
    pub buckets: u64,
    /// The targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetDistance>,
}

/// A target and how far it is.
#[derive(Clone, Debug, Serialize)]
pub struct TargetDistance {
    /// The target.
    #[serde(flatten)]
    pub target: Target,
    /// Its distance, if it can be reached.
    #[serde(serialize_with = "number_if_any")]
    pub distance: Option<Distance>,
}

/// An integer where weights are integers.
fn number<S: Serializer>(distance: &Distance, serializer: S) -> Result<S::Ok, S::Error> {
    match distance {
        Distance::Integer(distance) => serializer.serialize_u64(*distance),
        Distance::Float(distance) => serializer.serialize_f64(*distance),
    }
}

fn number_if_any<S: Serializer>(
    distance: &Option<Distance>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match distance {
        Some(distance) => number(distance, serializer),
        None => serializer.serialize_none(),
    }
}

impl Algorithm for Sssp {
    const NAME: &'static str = "sssp";
    type Config = SsspConfig;
    type Output = sssp::Sssp;
    type Summary = SsspSummary;

    fn config(&self, job: &Job<'_>) -> Result<SsspConfig> {
        let (sources, targets) = self.ends.vertices(job)?;
        Ok(SsspConfig::default()
            .sources(sources)
            .targets(targets)
            .delta(self.delta)
            .parents(self.parents))
    }

    fn estimate(config: &SsspConfig, job: &Job<'_>) -> Result<cenote_algo::Estimate> {
        Ok(sssp::estimate(job.graph, &job.engine, config)?)
    }

    fn run(config: &mut SsspConfig, job: &Job<'_>) -> Result<sssp::Sssp> {
        Ok(sssp::run(job.graph, job.engine.clone(), config)?)
    }

    fn verify(_: &SsspConfig, graph: &StoredGraph, sssp: &sssp::Sssp) -> Result<()> {
        Ok(sssp::verify(graph, sssp)?)
    }

    fn engine_run(sssp: &sssp::Sssp) -> &cenote_algo::Run {
        &sssp.run
    }

    fn summary(config: &SsspConfig, ids: &Ids, sssp: &sssp::Sssp) -> Result<SsspSummary> {
        let mut targets = Target::all(ids, &config.targets, |v| sssp.distance(v).is_some())?;
        for (target, &v) in targets.iter_mut().zip(&config.targets) {
            target.set_path(ids, sssp.path_to(v))?;
        }
        let distances = config.targets.iter().map(|&v| sssp.distance(v));
        let targets = targets.into_iter().zip(distances);
        Ok(SsspSummary {
            source: ids.id_of(first(&config.sources, &sssp.sources))?,
            sources: sssp.sources.len() as u64,
            source_chosen: config.sources.is_empty(),
            reached: sssp.reached,
            farthest: ids.id_of(sssp.farthest.0)?,
            distance_max: sssp.farthest.1,
            delta: sssp.delta,
            buckets: sssp.buckets,
            targets: targets
                .map(|(target, distance)| TargetDistance { target, distance })
                .collect(),
        })
    }

    fn columns(sssp: &sssp::Sssp) -> Vec<Column<'_>> {
        let integer = |v| match sssp.distance(v)? {
            Distance::Integer(distance) => Some(distance),
            Distance::Float(_) => None,
        };
        let mut columns = vec![if sssp.is_integer() {
            Column::count("distance", integer)
        } else {
            Column::measure("distance", |v| sssp.distance(v).map(Distance::to_f64))
        }];
        if sssp.has_parents() {
            columns.push(Column::vertex("parent", |v| sssp.parent(v)));
        }
        columns
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.ends.files()
    }
}

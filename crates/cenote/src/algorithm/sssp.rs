//! [`Graph::sssp`](crate::Graph::sssp).

use std::path::PathBuf;

use cenote_algo::sssp::{self, Distance, SsspConfig};
use cenote_store::{Id, Ids};
use serde::{Serialize, Serializer};

use super::Target;
use super::bfs::first;
use super::ends::{Ends, FromSeveral, Search};
use crate::error::Result;
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

    /// Whether to find parents: of the vertices before on shortest paths, the smallest id.
    pub fn parents(mut self, parents: bool) -> Self {
        self.algorithm.parents = parents;
        self
    }
}

/// Summary of a shortest-path search.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SsspSummary {
    /// The first source.
    pub source: Id,
    /// Number of different sources.
    pub sources: u64,
    /// Whether the source is the default, the vertex of largest degree.
    pub source_chosen: bool,
    /// Vertices reached.
    pub reached: u64,
    /// The vertex at the largest distance, of several the one with the smallest id.
    pub farthest: Id,
    /// Its distance.
    #[serde(serialize_with = "number")]
    pub distance_max: Distance,
    /// The bucket width.
    pub delta: f64,
    /// Buckets processed.
    pub buckets: u64,
    /// The targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetDistance>,
}

/// A target and its distance.
#[derive(Clone, Debug, Serialize)]
pub struct TargetDistance {
    /// The target.
    #[serde(flatten)]
    pub target: Target,
    /// Its distance, if it can be reached.
    #[serde(serialize_with = "number_if_any")]
    pub distance: Option<Distance>,
}

/// An integer, or a float if weights are floats.
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

    calls!(sssp: estimate(config) run(config) verify());

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

    fn release(sssp: &sssp::Sssp) {
        sssp.release();
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.ends.files()
    }
}

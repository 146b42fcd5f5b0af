//! [`Graph::leiden`](crate::Graph::leiden) and [`Graph::louvain`](crate::Graph::louvain).

use cenote_algo::communities::{self, CommunitiesConfig, Method};
use cenote_store::{Id, Ids};
use serde::Serialize;

use crate::error::Result;
use crate::run::{Algorithm, Column, Job, Run};

/// Communities by the Leiden algorithm; [`cenote_algo::communities`].
#[derive(Clone, Debug)]
pub struct Leiden {
    config: CommunitiesConfig,
}

/// Communities by the Louvain algorithm; [`cenote_algo::communities`].
#[derive(Clone, Debug)]
pub struct Louvain {
    config: CommunitiesConfig,
}

/// Summary of communities.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CommunitiesSummary {
    /// Their modularity, by the resolution that was given.
    pub modularity: f64,
    /// Number of communities.
    pub communities: u64,
    /// Communities of one vertex.
    pub single: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// Its label.
    pub largest_label: Option<Id>,
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last two gained nothing.
    pub converged: bool,
    /// Levels of the last iteration, that of the vertices included.
    pub levels: u64,
}

macro_rules! method {
    ($method:ident, $name:literal) => {
        impl Default for $method {
            fn default() -> Self {
                Self { config: CommunitiesConfig::of(Method::$method) }
            }
        }

        impl Run<'_, $method> {
            /// The resolution: with larger ones communities are smaller [default: 1].
            pub fn resolution(mut self, resolution: f64) -> Self {
                self.algorithm.config.resolution = resolution;
                self
            }

            /// The most iterations; fewer if two in a row gain nothing [default: 3].
            pub fn iterations(mut self, iterations: u32) -> Self {
                self.algorithm.config.iterations = iterations;
                self
            }
        }

        impl Algorithm for $method {
            const NAME: &'static str = $name;
            type Config = CommunitiesConfig;
            type Output = communities::Communities;
            type Summary = CommunitiesSummary;

            fn config(&self, _: &Job<'_>) -> Result<CommunitiesConfig> {
                Ok(self.config)
            }

            calls!(communities: estimate(config) run(config) verify(config));

            fn iterations(found: &communities::Communities) -> u64 {
                found.iterations.into()
            }

            fn summary(
                _: &CommunitiesConfig,
                ids: &Ids,
                found: &communities::Communities,
            ) -> Result<CommunitiesSummary> {
                summary(ids, found)
            }

            fn columns(found: &communities::Communities) -> Vec<Column<'_>> {
                vec![Column::vertex("label", |v| Some(found.label(v)))]
            }
        }
    };
}

method!(Leiden, "leiden");
method!(Louvain, "louvain");

fn summary(ids: &Ids, found: &communities::Communities) -> Result<CommunitiesSummary> {
    Ok(CommunitiesSummary {
        modularity: found.modularity,
        communities: found.communities,
        single: found.single,
        largest: found.largest,
        largest_label: found.largest_label.map(|v| ids.id_of(v)).transpose()?,
        iterations: found.iterations,
        converged: found.converged,
        levels: found.levels,
    })
}

//! [`Graph::mis`](crate::Graph::mis).

use cenote_algo::mis::{self, MisConfig};
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::run::{Algorithm, Column, Job, Run};

/// A maximal independent set; [`cenote_algo::mis`].
#[derive(Clone, Debug, Default)]
pub struct Mis {
    config: MisConfig,
}

impl Run<'_, Mis> {
    /// Seed of the priorities, and so of the choice of the set.
    pub fn seed(mut self, seed: u64) -> Self {
        self.algorithm.config.seed = seed;
        self
    }
}

/// Summary of a maximal independent set.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MisSummary {
    /// Vertices in the set.
    pub size: u64,
    /// Seed of the priorities.
    pub seed: u64,
    /// Rounds, over lists on the device and in memory.
    pub rounds: u64,
}

impl Algorithm for Mis {
    const NAME: &'static str = "mis";
    type Config = MisConfig;
    type Output = mis::Mis;
    type Summary = MisSummary;

    fn config(&self, _: &Job<'_>) -> Result<MisConfig> {
        Ok(self.config)
    }

    calls!(mis: estimate() run(config) verify(config));

    fn iterations(mis: &mis::Mis) -> u64 {
        mis.rounds
    }

    fn summary(config: &MisConfig, _: &Ids, mis: &mis::Mis) -> Result<MisSummary> {
        Ok(MisSummary { size: mis.size, seed: config.seed, rounds: mis.rounds })
    }

    fn columns(mis: &mis::Mis) -> Vec<Column<'_>> {
        vec![Column::count("member", |v| Some(u64::from(mis.contains(v))))]
    }
}

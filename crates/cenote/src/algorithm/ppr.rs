//! [`Graph::ppr`](crate::Graph::ppr).

use std::path::PathBuf;

use cenote_algo::ppr::{self, PprConfig};
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::keys::Keys;
use crate::run::{Algorithm, Column, Job, Listed, Run};

/// Personalised PageRank of many seeds; [`cenote_algo::ppr`].
#[derive(Clone, Debug, Default)]
pub struct Ppr {
    config: PprConfig,
    seeds: Keys,
}

impl Run<'_, Ppr> {
    /// Adds a seed, by the user's id [default: the vertex of largest degree].
    pub fn seed(mut self, id: impl ToString) -> Self {
        self.algorithm.seeds.push(id);
        self
    }

    /// Adds the seeds of a file, one id a line.
    pub fn seeds_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.seeds.push_file(path);
        self
    }

    /// Vertices of highest rank for each seed [default: 10].
    pub fn top_k(mut self, top_k: u32) -> Self {
        self.algorithm.config.top_k = top_k;
        self
    }

    /// Probability that the surfer follows an edge [default: 0.85].
    pub fn damping(mut self, damping: f64) -> Self {
        self.algorithm.config.damping = damping;
        self
    }

    /// On an undirected graph, a rank is too low by at most this times the degree of its vertex
    /// [default: 1e-5].
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.algorithm.config.tolerance = tolerance;
        self
    }
}

/// Summary of personalised PageRank.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PprSummary {
    /// Number of different seeds.
    pub seeds: u64,
    /// Rows: vertices of highest rank of all seeds.
    pub rows: u64,
    /// The most by which any rank is too low.
    pub error_max: f64,
    /// The mean over the seeds of the most by which their ranks are too low.
    pub error_mean: f64,
}

impl Algorithm for Ppr {
    const NAME: &'static str = "ppr";
    type Config = PprConfig;
    type Output = ppr::Ppr;
    type Summary = PprSummary;

    fn config(&self, job: &Job<'_>) -> Result<PprConfig> {
        Ok(self.config.clone().seeds(job.vertices(&self.seeds)?))
    }

    calls!(ppr: estimate(config) run(config) verify(config));

    fn iterations(found: &ppr::Ppr) -> u64 {
        found.rounds
    }

    fn summary(_: &PprConfig, _: &Ids, found: &ppr::Ppr) -> Result<PprSummary> {
        let seeds = found.seeds.len() as u64;
        Ok(PprSummary {
            seeds,
            rows: found.rows.len() as u64,
            error_max: found.unsettled.iter().copied().fold(0.0, f64::max),
            error_mean: found.unsettled.iter().sum::<f64>() / seeds as f64,
        })
    }

    fn columns(found: &ppr::Ppr) -> Vec<Column<'_>> {
        vec![
            Column::vertex("vertex", |row| Some(found.rows[row as usize].vertex)),
            Column::real("rank", |row| found.rows[row as usize].rank),
        ]
    }

    fn rows(found: &ppr::Ppr) -> Option<Listed<'_>> {
        let vertex = Box::new(|row: u32| found.rows[row as usize].seed);
        // The configuration was checked for that.
        Some(Listed { key: "seed", count: found.rows.len() as u32, vertex })
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.seeds.files().to_vec()
    }
}

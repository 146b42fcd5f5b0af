//! [`Graph::betweenness`](crate::Graph::betweenness).

use std::path::PathBuf;

use cenote_algo::betweenness::{self, BetweennessConfig, Scale};
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::{Central, TOP, ids_of};
use crate::error::Result;
use crate::keys::Keys;
use crate::run::{Algorithm, Answer, Column, Job, Run};

/// Betweenness centrality from given sources; [`cenote_algo::betweenness`].
#[derive(Clone, Debug, Default)]
pub struct Betweenness {
    sources: Keys,
    samples: Option<(u64, u64)>,
    scale: Scale,
}

impl Run<'_, Betweenness> {
    /// Adds a source, by the user's id [default: the vertex of largest degree].
    pub fn source(mut self, id: impl ToString) -> Self {
        self.algorithm.sources.push(id);
        self
    }

    /// Adds the sources of a file, one id a line.
    pub fn sources_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.sources.push_file(path);
        self
    }

    /// Searches from this many random vertices instead.
    pub fn samples(mut self, samples: u64, seed: u64) -> Self {
        self.algorithm.samples = Some((samples, seed));
        self
    }

    /// How the sums over the sources are scaled [default: unscaled].
    pub fn scale(mut self, scale: Scale) -> Self {
        self.algorithm.scale = scale;
        self
    }
}

/// Summary of a betweenness run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BetweennessSummary {
    /// Sources, each counted once.
    pub sources: u64,
    /// The most searches that ran side by side.
    pub batch: usize,
    /// The vertices of highest betweenness.
    pub top: Vec<Central>,
}

impl Answer<Betweenness> {
    /// The `count` vertices of highest betweenness, highest first, by the user's ids.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn top(&self, count: usize) -> Result<Vec<(Id, f64)>> {
        ids_of(&self.ids()?, betweenness::Betweenness::top(self, count))
    }
}

impl Algorithm for Betweenness {
    const NAME: &'static str = "betweenness";
    type Config = BetweennessConfig;
    type Output = betweenness::Betweenness;
    type Summary = BetweennessSummary;

    fn config(&self, job: &Job<'_>) -> Result<BetweennessConfig> {
        let sources = match self.samples {
            Some((samples, seed)) => betweenness::sample(job.graph, samples, seed)?,
            None => job.vertices(&self.sources)?,
        };
        Ok(BetweennessConfig::default().sources(sources).scale(self.scale))
    }

    calls!(betweenness: estimate(config) run(config) verify());

    fn summary(
        _: &BetweennessConfig,
        ids: &Ids,
        found: &betweenness::Betweenness,
    ) -> Result<BetweennessSummary> {
        let central = |(vertex, betweenness)| Central { vertex, betweenness };
        Ok(BetweennessSummary {
            sources: found.sources.len() as u64,
            batch: found.batch,
            top: ids_of(ids, found.top(TOP))?.into_iter().map(central).collect(),
        })
    }

    fn columns(found: &betweenness::Betweenness) -> Vec<Column<'_>> {
        vec![Column::real("betweenness", |v| found.betweenness(v))]
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.sources.files().to_vec()
    }
}

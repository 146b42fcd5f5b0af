//! [`Graph::betweenness`](crate::Graph::betweenness).

use std::path::PathBuf;

use cenote_algo::betweenness::{self, BetweennessConfig, Scale};
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::{Central, TOP, ids_of};
use crate::error::Result;
use crate::graph::StoredGraph;
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

    /// Searches from so many vertices instead, chosen at random.
    pub fn samples(mut self, samples: u64, seed: u64) -> Self {
        self.algorithm.samples = Some((samples, seed));
        self
    }

    /// What is made of the sums over the sources [default: nothing].
    pub fn scale(mut self, scale: Scale) -> Self {
        self.algorithm.scale = scale;
        self
    }
}

/// Centrality in a few numbers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct BetweennessSummary {
    /// Sources, each counted once.
    pub sources: u64,
    /// Searches that went side by side, at most.
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

    fn estimate(config: &BetweennessConfig, job: &Job<'_>) -> Result<cenote_algo::Estimate> {
        Ok(betweenness::estimate(job.graph, &job.engine, config)?)
    }

    fn run(config: &mut BetweennessConfig, job: &Job<'_>) -> Result<betweenness::Betweenness> {
        Ok(betweenness::run(job.graph, job.engine.clone(), config)?)
    }

    fn verify(
        _: &BetweennessConfig,
        graph: &StoredGraph,
        found: &betweenness::Betweenness,
    ) -> Result<()> {
        Ok(betweenness::verify(graph, found)?)
    }

    fn engine_run(found: &betweenness::Betweenness) -> &cenote_algo::Run {
        &found.run
    }

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

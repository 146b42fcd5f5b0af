//! [`Graph::cdlp`](crate::Graph::cdlp).

use cenote_algo::cdlp::{self, CdlpConfig};
use cenote_store::{Id, Ids};
use serde::Serialize;

use crate::error::Result;
use crate::graph::StoredGraph;
use crate::run::{Algorithm, Column, Job, Run};

/// Communities by label propagation; [`cenote_algo::cdlp`].
#[derive(Clone, Debug, Default)]
pub struct Cdlp {
    config: CdlpConfig,
}

impl Run<'_, Cdlp> {
    /// Iterations; fewer are done where nothing changes any more [default: 10].
    pub fn iterations(mut self, iterations: u32) -> Self {
        self.algorithm.config.iterations = iterations;
        self
    }
}

/// Communities in a few numbers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CdlpSummary {
    /// Iterations done.
    pub iterations: u32,
    /// Whether the last iteration changed nothing.
    pub converged: bool,
    /// Number of communities.
    pub communities: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// Its label.
    pub largest_label: Option<Id>,
}

impl Algorithm for Cdlp {
    const NAME: &'static str = "cdlp";
    type Config = CdlpConfig;
    type Output = cdlp::Cdlp;
    type Summary = CdlpSummary;

    fn config(&self, _: &Job<'_>) -> Result<CdlpConfig> {
        Ok(self.config)
    }

    fn estimate(config: &CdlpConfig, job: &Job<'_>) -> Result<cenote_algo::Estimate> {
        Ok(cdlp::estimate(job.graph, &job.engine, config)?)
    }

    fn run(config: &mut CdlpConfig, job: &Job<'_>) -> Result<cdlp::Cdlp> {
        Ok(cdlp::run(job.graph, job.engine.clone(), config)?)
    }

    fn verify(config: &CdlpConfig, graph: &StoredGraph, cdlp: &cdlp::Cdlp) -> Result<()> {
        Ok(cdlp::verify(graph, config, cdlp)?)
    }

    fn engine_run(cdlp: &cdlp::Cdlp) -> &cenote_algo::Run {
        &cdlp.run
    }

    fn iterations(cdlp: &cdlp::Cdlp) -> u64 {
        cdlp.iterations.into()
    }

    fn summary(_: &CdlpConfig, ids: &Ids, cdlp: &cdlp::Cdlp) -> Result<CdlpSummary> {
        Ok(CdlpSummary {
            iterations: cdlp.iterations,
            converged: cdlp.converged,
            communities: cdlp.communities,
            largest: cdlp.largest,
            largest_label: cdlp.largest_label.map(|v| ids.id_of(v)).transpose()?,
        })
    }

    fn columns(cdlp: &cdlp::Cdlp) -> Vec<Column<'_>> {
        vec![Column::vertex("label", |v| Some(cdlp.label(v)))]
    }
}

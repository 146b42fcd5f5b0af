//! [`Graph::cdlp`](crate::Graph::cdlp).

use cenote_algo::cdlp::{self, CdlpConfig};
use cenote_store::{Id, Ids};
use serde::Serialize;

use crate::error::Result;
use crate::run::{Algorithm, Column, Job, Run};

/// Communities by label propagation; [`cenote_algo::cdlp`].
#[derive(Clone, Debug, Default)]
pub struct Cdlp {
    config: CdlpConfig,
}

impl Run<'_, Cdlp> {
    /// The most iterations; fewer if no label changes any more [default: 10].
    pub fn iterations(mut self, iterations: u32) -> Self {
        self.algorithm.config.iterations = iterations;
        self
    }
}

/// Summary of a label propagation.
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

    calls!(cdlp: estimate(config) run(config) verify(config));

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
    fn release(cdlp: &cdlp::Cdlp) {
        cdlp.release();
    }
}

//! [`Graph::lcc`](crate::Graph::lcc).

use cenote_algo::lcc;
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::graph::StoredGraph;
use crate::run::{Algorithm, Column, Job};

/// Local clustering coefficients; [`cenote_algo::lcc`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Lcc;

/// Coefficients in one number.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LccSummary {
    /// Of the coefficients of all vertices.
    pub mean: f64,
}

impl Algorithm for Lcc {
    const NAME: &'static str = "lcc";
    type Config = ();
    type Output = lcc::Lcc;
    type Summary = LccSummary;

    fn config(&self, _: &Job<'_>) -> Result<()> {
        Ok(())
    }

    fn estimate(_: &(), job: &Job<'_>) -> Result<cenote_algo::Estimate> {
        Ok(lcc::estimate(job.graph, &job.engine)?)
    }

    fn run(_: &mut (), job: &Job<'_>) -> Result<lcc::Lcc> {
        Ok(lcc::run(job.graph, job.engine.clone())?)
    }

    fn verify(_: &(), graph: &StoredGraph, lcc: &lcc::Lcc) -> Result<()> {
        Ok(lcc::verify(graph, lcc)?)
    }

    fn engine_run(lcc: &lcc::Lcc) -> &cenote_algo::Run {
        &lcc.run
    }

    fn iterations(lcc: &lcc::Lcc) -> u64 {
        lcc.chunks()
    }

    fn summary(_: &(), _: &Ids, lcc: &lcc::Lcc) -> Result<LccSummary> {
        Ok(LccSummary { mean: lcc.mean })
    }

    fn columns(lcc: &lcc::Lcc) -> Vec<Column<'_>> {
        vec![Column::real("lcc", |v| lcc.coefficient(v))]
    }
}

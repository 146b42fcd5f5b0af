//! [`Graph::lcc`](crate::Graph::lcc).

use cenote_algo::lcc;
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::run::{Algorithm, Column, Job};

/// Local clustering coefficients; [`cenote_algo::lcc`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Lcc;

/// Summary of the local clustering coefficients.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LccSummary {
    /// Mean coefficient of all vertices.
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

    calls!(lcc: estimate() run() verify());

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

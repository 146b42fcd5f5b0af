//! [`Graph::wcc`](crate::Graph::wcc) and [`Graph::scc`](crate::Graph::scc).

use cenote_algo::{scc, wcc};
use cenote_store::{Id, Ids};
use serde::Serialize;

use crate::error::Result;
use crate::run::{Algorithm, Column, Job};

/// Weakly connected components; [`cenote_algo::wcc`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Wcc;

/// Summary of weakly connected components.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WccSummary {
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The smallest id in the largest.
    pub largest_label: Option<Id>,
}

impl Algorithm for Wcc {
    const NAME: &'static str = "wcc";
    type Config = ();
    type Output = wcc::Wcc;
    type Summary = WccSummary;

    fn config(&self, _: &Job<'_>) -> Result<()> {
        Ok(())
    }

    calls!(wcc: estimate() run() verify());

    fn summary(_: &(), ids: &Ids, wcc: &wcc::Wcc) -> Result<WccSummary> {
        let largest_label = wcc.largest_label.map(|v| ids.id_of(v)).transpose()?;
        Ok(WccSummary { components: wcc.components, largest: wcc.largest, largest_label })
    }

    fn columns(wcc: &wcc::Wcc) -> Vec<Column<'_>> {
        vec![Column::vertex("component", |v| Some(wcc.label(v)))]
    }
}

/// Strongly connected components; [`cenote_algo::scc`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Scc;

/// Summary of strongly connected components.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SccSummary {
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The smallest id in the largest.
    pub largest_label: Option<Id>,
    /// Components of one vertex.
    pub single: u64,
}

impl Algorithm for Scc {
    const NAME: &'static str = "scc";
    type Config = ();
    type Output = scc::Scc;
    type Summary = SccSummary;

    fn config(&self, _: &Job<'_>) -> Result<()> {
        Ok(())
    }

    calls!(scc: estimate() run() verify());

    fn summary(_: &(), ids: &Ids, scc: &scc::Scc) -> Result<SccSummary> {
        let largest_label = scc.largest_label.map(|v| ids.id_of(v)).transpose()?;
        let (components, largest, single) = (scc.components, scc.largest, scc.single);
        Ok(SccSummary { components, largest, largest_label, single })
    }

    fn columns(scc: &scc::Scc) -> Vec<Column<'_>> {
        vec![Column::vertex("component", |v| Some(scc.label(v)))]
    }
}

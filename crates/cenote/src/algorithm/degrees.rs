//! [`Graph::count_degrees`](crate::Graph::count_degrees).

use cenote_algo::degrees;
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::{TOP, ids_of};
use crate::error::Result;
use crate::run::{Algorithm, Answer, Column, Job};

/// Degrees of all vertices; [`cenote_algo::degrees`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Degrees;

/// Summary of the degrees.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DegreesSummary {
    /// Mean degree; on a directed graph of out-degree and in-degree together.
    pub mean: f64,
    /// Vertices without an edge.
    pub isolated: u64,
    /// The vertices of highest degree; on a directed graph by the sum of both.
    pub top: Vec<Degree>,
}

/// A vertex and its degree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Degree {
    /// The user's id.
    pub vertex: Id,
    /// Its degree; on a directed graph the sum of both.
    pub degree: u64,
}

impl Answer<Degrees> {
    /// The `count` vertices of highest degree, highest first, by the user's ids.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn top(&self, count: usize) -> Result<Vec<(Id, u64)>> {
        ids_of(&self.ids()?, degrees::Degrees::top(self, count))
    }
}

impl DegreesSummary {
    pub(crate) fn new((entries, vertices): (u64, u64), isolated: u64, top: Vec<(Id, u64)>) -> Self {
        let degree = |(vertex, degree)| Degree { vertex, degree };
        let mean = entries as f64 / vertices.max(1) as f64;
        Self { mean, isolated, top: top.into_iter().map(degree).collect() }
    }
}

impl Algorithm for Degrees {
    const NAME: &'static str = "degrees";
    type Config = ();
    type Output = degrees::Degrees;
    type Summary = DegreesSummary;

    fn config(&self, _: &Job<'_>) -> Result<()> {
        Ok(())
    }

    calls!(degrees: estimate() run() verify());

    fn summary(_: &(), ids: &Ids, found: &degrees::Degrees) -> Result<DegreesSummary> {
        let both = if found.in_degrees().is_some() { 2 } else { 1 };
        let counts = (both * found.entries, ids.live_vertices());
        Ok(DegreesSummary::new(counts, found.isolated, ids_of(ids, found.top(TOP))?))
    }

    fn columns(found: &degrees::Degrees) -> Vec<Column<'_>> {
        if found.in_degrees().is_none() {
            return vec![Column::count("degree", |v| Some(found.degree(v)))];
        }
        vec![
            Column::count("out_degree", |v| Some(found.out_degree(v))),
            Column::count("in_degree", |v| Some(found.in_degree(v))),
        ]
    }
    fn release(found: &degrees::Degrees) {
        found.release();
    }
}

//! [`Graph::triangles`](crate::Graph::triangles).

use std::path::Path;

use cenote_algo::triangles::{self, TrianglesConfig};
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::graph::StoredGraph;
use crate::output::table;
use crate::run::{Algorithm, Column, Job, Run};

/// Triangles of the graph, and of every vertex; [`cenote_algo::triangles`].
#[derive(Clone, Debug, Default)]
pub struct Triangles {
    config: TrianglesConfig,
}

impl Run<'_, Triangles> {
    /// Whether to count the triangles of each vertex (8 bytes a vertex).
    pub fn per_vertex(mut self, per_vertex: bool) -> Self {
        self.algorithm.config.per_vertex = per_vertex;
        self
    }
}

/// Summary of a triangle count.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TrianglesSummary {
    /// Triangles of the graph.
    pub triangles: u64,
    /// Fraction of the pairs of neighbours that are adjacent.
    pub transitivity: f64,
    /// Chunks of oriented lists, each of which took a pass over the graph.
    pub chunks: u64,
}

impl Algorithm for Triangles {
    const NAME: &'static str = "triangles";
    const PER_VERTEX: Option<&'static str> = Some("per_vertex");
    type Config = TrianglesConfig;
    type Output = triangles::Triangles;
    type Summary = TrianglesSummary;

    fn config(&self, _: &Job<'_>) -> Result<TrianglesConfig> {
        Ok(self.config)
    }

    calls!(triangles: estimate(config) run(config) verify());

    fn iterations(found: &triangles::Triangles) -> u64 {
        found.chunks
    }

    fn summary(
        _: &TrianglesConfig,
        _: &Ids,
        found: &triangles::Triangles,
    ) -> Result<TrianglesSummary> {
        let (triangles, transitivity) = (found.triangles, found.transitivity());
        Ok(TrianglesSummary { triangles, transitivity, chunks: found.chunks })
    }

    /// Empty unless triangles were counted per vertex.
    fn columns(found: &triangles::Triangles) -> Vec<Column<'_>> {
        let column = || Column::count("triangles", |v| found.of(v));
        found.has_counts().then(column).into_iter().collect()
    }

    fn prepare_output(&mut self, path: &Path, graph: &StoredGraph) -> Result<()> {
        self.config.per_vertex = true;
        table::check(path, graph)
    }
}

//! [`Graph::similar`](crate::Graph::similar).

use std::path::PathBuf;

use cenote_algo::similar::{self, Measure, SimilarConfig};
use cenote_store::Ids;
use serde::Serialize;

use crate::error::Result;
use crate::keys::{Keys, PairKeys};
use crate::run::{Algorithm, Column, Job, Listed, Run};

/// Similarity of vertices by common neighbours; [`cenote_algo::similar`].
#[derive(Clone, Debug, Default)]
pub struct Similar {
    config: SimilarConfig,
    pairs: PairKeys,
    sources: Keys,
}

impl Run<'_, Similar> {
    /// How similar two vertices are [default: Jaccard].
    pub fn measure(mut self, measure: Measure) -> Self {
        self.algorithm.config.measure = measure;
        self
    }

    /// Adds a pair of vertices, by the user's ids.
    pub fn pair(mut self, source: impl ToString, target: impl ToString) -> Self {
        self.algorithm.pairs.push(source, target);
        self
    }

    /// Adds the pairs of a file, two ids a line, with a tab, a comma or white space between.
    pub fn pairs_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.pairs.set_file(path);
        self
    }

    /// Adds a vertex whose most similar ones are found, by the user's id [default, without pairs:
    /// the vertex of largest degree].
    pub fn source(mut self, id: impl ToString) -> Self {
        self.algorithm.sources.push(id);
        self
    }

    /// Adds the sources of a file, one id a line.
    pub fn sources_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.sources.push_file(path);
        self
    }

    /// Most similar vertices of each source [default: 10].
    pub fn top(mut self, top: u32) -> Self {
        self.algorithm.config.top = top;
        self
    }
}

/// Summary of similarities.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SimilarSummary {
    /// Rows: pairs, or the most similar vertices of all sources.
    pub rows: u64,
    /// Rows with a common neighbour.
    pub similar: u64,
    /// The mean score of all rows.
    pub mean: Option<f64>,
    /// The largest score.
    pub max: Option<f64>,
    /// How often lists were gathered in memory, as many as fit.
    pub batches: u64,
}

impl Algorithm for Similar {
    const NAME: &'static str = "similar";
    type Config = SimilarConfig;
    type Output = similar::Similar;
    type Summary = SimilarSummary;

    fn config(&self, job: &Job<'_>) -> Result<SimilarConfig> {
        let sources = job.vertices(&self.sources)?;
        Ok(self.config.clone().pairs(job.pairs(&self.pairs)?).sources(sources))
    }

    calls!(similar: estimate(config) run(config) verify(config));

    fn iterations(found: &similar::Similar) -> u64 {
        found.batches
    }

    fn summary(_: &SimilarConfig, _: &Ids, found: &similar::Similar) -> Result<SimilarSummary> {
        let rows = found.rows.len() as u64;
        let scores = || found.rows.iter().map(|row| row.score);
        Ok(SimilarSummary {
            rows,
            similar: scores().filter(|&score| score > 0.0).count() as u64,
            mean: (rows > 0).then(|| scores().sum::<f64>() / rows as f64),
            max: scores().max_by(f64::total_cmp),
            batches: found.batches,
        })
    }

    fn columns(found: &similar::Similar) -> Vec<Column<'_>> {
        vec![
            Column::vertex("target", |row| Some(found.rows[row as usize].target)),
            Column::real("score", |row| found.rows[row as usize].score),
        ]
    }

    fn rows(found: &similar::Similar) -> Option<Listed<'_>> {
        let vertex = Box::new(|row: u32| found.rows[row as usize].source);
        // The configuration was checked for that.
        Some(Listed { key: "source", count: found.rows.len() as u32, vertex })
    }

    fn inputs(&self) -> Vec<PathBuf> {
        [self.sources.files().to_vec(), self.pairs.files()].concat()
    }
}

//! [`Graph::pagerank`](crate::Graph::pagerank).

use std::path::PathBuf;

use cenote_algo::pagerank::{self, PageRankConfig, Variant};
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::{Ranked, TOP, ids_of};
use crate::error::Result;
use crate::keys::Keys;
use crate::run::{Algorithm, Answer, Column, Job, Run};

/// The default limit of iterations with a tolerance.
const TOLERANCE_ITERATIONS_MAX: u32 = 1000;

/// PageRank by power iteration; [`cenote_algo::pagerank`].
#[derive(Clone, Debug, Default)]
pub struct PageRank {
    config: PageRankConfig,
    iterations: Option<u32>,
    personalize: Keys,
}

impl Run<'_, PageRank> {
    /// The most iterations [default: 10, with a tolerance 1000].
    pub fn iterations(mut self, iterations: u32) -> Self {
        self.algorithm.iterations = Some(iterations);
        self
    }

    /// Stops when the ranks change by less than this in an iteration, summed over all vertices.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.algorithm.config.tolerance = Some(tolerance);
        self
    }

    /// Probability that the surfer follows an edge [default: 0.85].
    pub fn damping(mut self, damping: f64) -> Self {
        self.algorithm.config.damping = damping;
        self
    }

    /// Adds a vertex where the surfer starts and to which it returns [default: all].
    pub fn personalize(mut self, id: impl ToString) -> Self {
        self.algorithm.personalize.push(id);
        self
    }

    /// Adds the vertices of a file, one id a line.
    pub fn personalize_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.personalize.push_file(path);
        self
    }

    /// A weight of each given vertex, those of files last: it starts and returns to a vertex in
    /// proportion to its weight [default: equal ones].
    pub fn personalize_weights(mut self, weights: impl IntoIterator<Item = f64>) -> Self {
        self.algorithm.config.personalize_weights = weights.into_iter().collect();
        self
    }

    /// Whether an edge is followed in proportion to its weight.
    pub fn weighted(mut self, weighted: bool) -> Self {
        self.algorithm.config.weighted = weighted;
        self
    }

    /// The definition of PageRank [default: the standard one].
    pub fn variant(mut self, variant: Variant) -> Self {
        self.algorithm.config.variant = variant;
        self
    }
}

/// Summary of a PageRank run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PageRankSummary {
    /// Iterations done.
    pub iterations: u32,
    /// Whether the tolerance was met; none without a tolerance.
    pub converged: Option<bool>,
    /// Change of the ranks in the last iteration, summed over all vertices.
    pub change: Option<f64>,
    /// The vertices of highest rank.
    pub top: Vec<Ranked>,
}

impl Answer<PageRank> {
    /// The `count` vertices of highest rank, highest first, by the user's ids.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn top(&self, count: usize) -> Result<Vec<(Id, f64)>> {
        ids_of(&self.ids()?, pagerank::PageRank::top(self, count))
    }
}

impl Algorithm for PageRank {
    const NAME: &'static str = "pagerank";
    type Config = PageRankConfig;
    type Output = pagerank::PageRank;
    type Summary = PageRankSummary;

    fn config(&self, job: &Job<'_>) -> Result<PageRankConfig> {
        let mut personalize = job.vertices(&self.personalize)?;
        if self.config.personalize_weights.is_empty() {
            personalize.sort_unstable();
            personalize.dedup();
        }
        let usual = match self.config.tolerance {
            Some(_) => TOLERANCE_ITERATIONS_MAX,
            None => self.config.iterations,
        };
        let config = self.config.clone().iterations(self.iterations.unwrap_or(usual));
        Ok(config.personalize(personalize))
    }

    calls!(pagerank: estimate(config) run(config) verify(config));

    fn iterations(ranks: &pagerank::PageRank) -> u64 {
        ranks.iterations.into()
    }

    fn summary(
        _: &PageRankConfig,
        ids: &Ids,
        ranks: &pagerank::PageRank,
    ) -> Result<PageRankSummary> {
        let top = ids_of(ids, ranks.top(TOP))?;
        Ok(PageRankSummary {
            iterations: ranks.iterations,
            converged: ranks.converged,
            change: ranks.change,
            top: top.into_iter().map(|(vertex, rank)| Ranked { vertex, rank }).collect(),
        })
    }

    fn columns(ranks: &pagerank::PageRank) -> Vec<Column<'_>> {
        vec![Column::real("rank", |v| ranks.rank(v))]
    }

    fn release(ranks: &pagerank::PageRank) {
        ranks.release();
    }

    fn inputs(&self) -> Vec<PathBuf> {
        self.personalize.files().to_vec()
    }
}

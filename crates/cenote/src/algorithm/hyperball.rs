//! [`Graph::hyperball`](crate::Graph::hyperball).

use cenote_algo::hyperball::{self, HyperballConfig};
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::{TOP, ids_of};
use crate::error::Result;
use crate::run::{Algorithm, Answer, Column, Job, Run};

/// Neighbourhood function and distance centralities, estimated; [`cenote_algo::hyperball`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Hyperball {
    config: HyperballConfig,
}

impl Run<'_, Hyperball> {
    /// Registers of a counter: a power of two from 16 to 4096. Four times as many halve the error
    /// [default: 64].
    pub fn registers(mut self, registers: u32) -> Self {
        self.algorithm.config.registers = registers;
        self
    }

    /// The most iterations: distances beyond are not counted [default: until no counter grows].
    pub fn iterations(mut self, iterations: u32) -> Self {
        self.algorithm.config.iterations = Some(iterations);
        self
    }

    /// Seed of the hashes of ids [default: 0].
    pub fn seed(mut self, seed: u64) -> Self {
        self.algorithm.config.seed = seed;
        self
    }

    /// On a directed graph, whether distances are those from a vertex to others, not those from
    /// others to it [default: no].
    pub fn outgoing(mut self, outgoing: bool) -> Self {
        self.algorithm.config.outgoing = outgoing;
        self
    }
}

/// A vertex and its harmonic centrality.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Harmonic {
    /// The user's id.
    pub vertex: Id,
    /// The sum of the reciprocal distances of the others.
    pub harmonic: f64,
}

/// Summary of HyperBall.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct HyperballSummary {
    /// Registers of a counter.
    pub registers: u32,
    /// The relative standard deviation of the number of vertices within a distance of a vertex.
    pub error: f64,
    /// The largest distance that was seen: at most the longest one.
    pub distance_max: u32,
    /// Whether all distances were counted.
    pub converged: bool,
    /// Runs over the lists, each for a part of the registers.
    pub slices: u32,
    /// The distance within which 90% of the pairs with a path lie, interpolated.
    pub effective_diameter: f64,
    /// The average distance of pairs of different vertices with a path.
    pub average_distance: Option<f64>,
    /// The ordered pairs of vertices at distance 0, 1, 2.. at most.
    pub neighborhood: Vec<f64>,
    /// The vertices of highest harmonic centrality.
    pub top: Vec<Harmonic>,
}

impl Answer<Hyperball> {
    /// The `count` vertices of highest harmonic centrality, highest first, by the user's ids.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn top(&self, count: usize) -> Result<Vec<(Id, f64)>> {
        ids_of(&self.ids()?, hyperball::Hyperball::top(self, count))
    }
}

impl Algorithm for Hyperball {
    const NAME: &'static str = "hyperball";
    type Config = HyperballConfig;
    type Output = hyperball::Hyperball;
    type Summary = HyperballSummary;

    fn config(&self, _: &Job<'_>) -> Result<HyperballConfig> {
        Ok(self.config)
    }

    calls!(hyperball: estimate(config) run(config) verify(config));

    fn iterations(found: &hyperball::Hyperball) -> u64 {
        found.iterations.into()
    }

    fn summary(
        config: &HyperballConfig,
        ids: &Ids,
        found: &hyperball::Hyperball,
    ) -> Result<HyperballSummary> {
        let top = ids_of(ids, found.top(TOP))?;
        Ok(HyperballSummary {
            registers: config.registers,
            error: found.error,
            distance_max: found.iterations,
            converged: found.converged,
            slices: found.slices,
            effective_diameter: found.effective_diameter,
            average_distance: found.average_distance,
            neighborhood: found.neighborhood.clone(),
            top: top.into_iter().map(|(vertex, harmonic)| Harmonic { vertex, harmonic }).collect(),
        })
    }

    fn columns(found: &hyperball::Hyperball) -> Vec<Column<'_>> {
        vec![
            Column::real("harmonic", |v| found.harmonic(v)),
            Column::real("closeness", |v| found.closeness(v)),
            Column::real("reachable", |v| found.reachable(v)),
        ]
    }
}

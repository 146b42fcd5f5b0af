//! Erdős–Rényi G(n, m): m distinct undirected edges, all sets equally likely.
//!
//! The trick: the n(n-1)/2 pairs are numbered, and edge `i` is the image of `i` under a bijection
//! of the numbers, so edges are distinct without remembering any.

use std::ops::Range;

use crate::error::{Result, require};
use crate::permutation::Permutation;
use crate::random::Counter;
use crate::{Edge, EdgeSource, VERTICES_MAX, prepare, setters};

/// Parameters of a uniform graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UniformConfig {
    /// Number of vertices, 2 to 2^32.
    pub vertices: u64,
    /// Number of distinct undirected edges, at most n(n-1)/2.
    pub edges: u64,
    /// The same seed gives the same graph.
    pub seed: u64,
}

impl UniformConfig {
    /// The graph of seed 1.
    pub fn new(vertices: u64, edges: u64) -> Self {
        Self { vertices, edges, seed: 1 }
    }

    setters! { vertices: u64, edges: u64, seed: u64 }
}

/// A uniform random graph.
#[derive(Debug)]
pub struct Uniform {
    vertices: u64,
    edges: u64,
    pairs: Permutation,
    flip: Counter,
}

impl Uniform {
    /// Fails if a parameter is out of range.
    pub fn new(config: UniformConfig) -> Result<Self> {
        let UniformConfig { vertices, edges, seed } = config;
        require((2..=VERTICES_MAX).contains(&vertices), "vertices", vertices, "2 to 2^32")?;
        let pairs = (u128::from(vertices) * u128::from(vertices - 1) / 2) as u64;
        require(
            (1..=pairs).contains(&edges),
            "edges",
            edges,
            format!("1 to {pairs}, the pairs of {vertices} vertices"),
        )?;
        Ok(Self {
            vertices,
            edges,
            pairs: Permutation::new(pairs, Counter::new(seed, 0)),
            flip: Counter::new(seed, 1),
        })
    }

    /// A pair by its number: the first vertex and a step of at most n/2 around the ring of
    /// vertices. Each unordered pair has one such form (for even n, half the ring at step n/2).
    #[inline(always)]
    fn pair(&self, number: u64) -> Edge {
        let first = number % self.vertices;
        let second = first + 1 + number / self.vertices;
        let second = if second >= self.vertices { second - self.vertices } else { second };
        [first as u32, second as u32]
    }
}

impl EdgeSource for Uniform {
    fn vertices(&self) -> u64 {
        self.vertices
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>) {
        prepare(&range, self.edges, out);
        out.extend(range.map(|index| {
            let [first, second] = self.pair(self.pairs.apply(index));
            // As a directed graph, both directions must be equally likely.
            if self.flip.at(index) >> 63 == 0 { [first, second] } else { [second, first] }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_pairs_of_a_complete_graph_come_once() {
        for vertices in 2..40 {
            let edges = vertices * (vertices - 1) / 2;
            let graph = Uniform::new(UniformConfig { vertices, edges, seed: vertices }).unwrap();
            let mut out = Vec::new();
            graph.fill(0..edges, &mut out);
            let distinct: BTreeSet<_> = out.iter().map(|&[a, b]| (a.min(b), a.max(b))).collect();
            assert_eq!(distinct.len() as u64, edges, "{vertices} vertices");
            assert!(distinct.iter().all(|(a, b)| a < b && u64::from(*b) < vertices));
        }
    }

    #[test]
    fn more_edges_than_pairs_is_an_error() {
        let error = Uniform::new(UniformConfig { vertices: 4, edges: 7, seed: 1 }).unwrap_err();
        assert_eq!(error.to_string(), "edges is 7: expected 1 to 6, the pairs of 4 vertices");
    }
}

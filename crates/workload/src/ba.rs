//! Barabási–Albert preferential attachment, computed edge by edge.
//!
//! Sanders and Schulz, "Scalable generation of scale-free graphs", Information Processing Letters
//! 116 (2016): write the edges into one list of endpoints; a new edge's target is the content of
//! a uniformly random earlier place. A place with a source is known by its number alone; a place
//! with a target is computed anew by the same rule. So no thread ever needs another's edges, and
//! the chain is two steps long on average.
//!
//! Here a vertex draws from the places of strictly earlier vertices, so that there are no
//! self-loops; parallel edges occur, as in the paper, mostly among the first vertices.

use std::ops::Range;

use crate::error::{Result, require};
use crate::random::Counter;
use crate::{Edge, EdgeSource, VERTICES_MAX, prepare};

/// What a preferential-attachment graph is made of.
#[derive(Clone, Debug)]
pub struct BaConfig {
    /// Vertices, 2 to 2^32.
    pub vertices: u64,
    /// Edges that each vertex after the first brings along.
    pub edges_per_vertex: u64,
    /// The same seed gives the same graph.
    pub seed: u64,
}

/// A Barabási–Albert graph.
#[derive(Debug)]
pub struct Ba {
    vertices: u64,
    edges_per_vertex: u64,
    random: Counter,
}

impl Ba {
    /// Checks the parameters.
    pub fn new(config: BaConfig) -> Result<Self> {
        let BaConfig { vertices, edges_per_vertex, seed } = config;
        require((2..=VERTICES_MAX).contains(&vertices), "vertices", vertices, "2 to 2^32")?;
        require(
            (1..=1 << 20).contains(&edges_per_vertex),
            "edges-per-vertex",
            edges_per_vertex,
            "1 to 1048576",
        )?;
        Ok(Self { vertices, edges_per_vertex, random: Counter::new(seed, 0) })
    }

    /// The vertex that brings edge `edge` along; vertex 0 brings none.
    #[inline(always)]
    fn source(&self, edge: u64) -> u64 {
        1 + edge / self.edges_per_vertex
    }

    /// Follows the places until one holds a source.
    #[inline(always)]
    fn target(&self, mut edge: u64) -> u64 {
        loop {
            // Places of the vertices before this one: a source (even) and a target (odd) per edge.
            let places = (self.source(edge) - 1) * self.edges_per_vertex * 2;
            if places == 0 {
                return 0;
            }
            let place = self.random.below(edge, places);
            edge = place / 2;
            if place.is_multiple_of(2) {
                return self.source(edge);
            }
        }
    }
}

impl EdgeSource for Ba {
    fn vertices(&self) -> u64 {
        self.vertices
    }

    fn edges(&self) -> u64 {
        (self.vertices - 1) * self.edges_per_vertex
    }

    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>) {
        prepare(&range, self.edges(), out);
        out.extend(range.map(|edge| [self.source(edge) as u32, self.target(edge) as u32]));
    }
}

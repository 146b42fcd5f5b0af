//! Barabási–Albert preferential attachment, computed edge by edge.
//!
//! Sanders and Schulz, "Scalable generation of scale-free graphs", Information Processing Letters
//! 116 (2016): all edges form one list of endpoints, and the target of a new edge is the endpoint
//! at a uniformly random earlier place. A place of a source is known by its number; a place of a
//! target is computed by the same rule. So threads need not share edges, and the chain has two
//! steps on average.
//!
//! Here a vertex draws only from places of earlier vertices, so there are no self-loops; parallel
//! edges occur, as in the paper, mostly among the first vertices.

use std::ops::Range;

use crate::error::{Result, require};
use crate::random::Counter;
use crate::{Edge, EdgeSource, VERTICES_MAX, prepare, setters};

/// Parameters of a preferential-attachment graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BaConfig {
    /// Number of vertices, 2 to 2^32.
    pub vertices: u64,
    /// Edges of each vertex after the first.
    pub edges_per_vertex: u64,
    /// The same seed gives the same graph.
    pub seed: u64,
}

impl BaConfig {
    /// The graph of seed 1.
    pub fn new(vertices: u64, edges_per_vertex: u64) -> Self {
        Self { vertices, edges_per_vertex, seed: 1 }
    }

    setters! { vertices: u64, edges_per_vertex: u64, seed: u64 }
}

/// A Barabási–Albert graph.
#[derive(Debug)]
pub struct Ba {
    vertices: u64,
    edges_per_vertex: u64,
    random: Counter,
}

impl Ba {
    /// Fails if a parameter is out of range.
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

    /// The source of an edge; vertex 0 has none.
    #[inline(always)]
    fn source(&self, edge: u64) -> u64 {
        1 + edge / self.edges_per_vertex
    }

    /// Follows places until one holds a source.
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

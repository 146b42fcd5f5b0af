//! Watts–Strogatz: a ring in which some edges are rewired into shortcuts.
//!
//! "Collective dynamics of 'small-world' networks", Nature 393 (1998): each vertex is connected to
//! its `neighbors` nearest on the ring, and the far end of each edge moves with `probability` to a
//! uniformly random vertex. There are no self-loops; a shortcut may repeat another edge, which only
//! a generator with the whole graph in memory could detect.

use std::ops::Range;

use crate::error::{Result, float, require};
use crate::random::Counter;
use crate::{Edge, EdgeSource, VERTICES_MAX, prepare, setters};

/// Parameters of a small-world graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SmallWorldConfig {
    /// Number of vertices on the ring, 3 to 2^32.
    pub vertices: u64,
    /// Neighbours of each vertex on the ring, an even number below `vertices`.
    pub neighbors: u64,
    /// Probability that an edge is rewired, 0 to 1.
    pub probability: f64,
    /// The same seed gives the same graph.
    pub seed: u64,
}

impl SmallWorldConfig {
    /// The graph of seed 1.
    pub fn new(vertices: u64, neighbors: u64, probability: f64) -> Self {
        Self { vertices, neighbors, probability, seed: 1 }
    }

    setters! { vertices: u64, neighbors: u64, probability: f64, seed: u64 }
}

/// A small-world graph.
#[derive(Debug)]
pub struct SmallWorld {
    vertices: u64,
    half: u64,
    /// An edge is rewired if 53 random bits are below this.
    threshold: u64,
    coin: Counter,
    shortcut: Counter,
}

impl SmallWorld {
    /// Fails if a parameter is out of range.
    pub fn new(config: SmallWorldConfig) -> Result<Self> {
        let SmallWorldConfig { vertices, neighbors, probability, seed } = config;
        require((3..=VERTICES_MAX).contains(&vertices), "vertices", vertices, "3 to 2^32")?;
        require(
            neighbors >= 2 && neighbors < vertices && neighbors.is_multiple_of(2),
            "neighbors",
            neighbors,
            format!("an even number from 2, below the {vertices} vertices"),
        )?;
        require((0.0..=1.0).contains(&probability), "probability", float(probability), "0 to 1")?;
        Ok(Self {
            vertices,
            half: neighbors / 2,
            threshold: (probability * (1u64 << 53) as f64) as u64,
            coin: Counter::new(seed, 0),
            shortcut: Counter::new(seed, 1),
        })
    }
}

impl EdgeSource for SmallWorld {
    fn vertices(&self) -> u64 {
        self.vertices
    }

    fn edges(&self) -> u64 {
        self.vertices * self.half
    }

    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>) {
        prepare(&range, self.edges(), out);
        out.extend(range.map(|index| {
            let source = index / self.half;
            let step = if self.coin.at(index) >> 11 < self.threshold {
                1 + self.shortcut.below(index, self.vertices - 1)
            } else {
                1 + index % self.half
            };
            let target = source + step;
            let target = if target >= self.vertices { target - self.vertices } else { target };
            [source as u32, target as u32]
        }));
    }
}

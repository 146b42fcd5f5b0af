//! Random edge lists of many shapes, and names for their vertices.

use cenote_workload::EdgeSource;
use cenote_workload::ba::{Ba, BaConfig};
use cenote_workload::grid::{Grid, GridConfig};
use cenote_workload::kron::{Kron, KronConfig};
use cenote_workload::smallworld::{SmallWorld, SmallWorldConfig};
use cenote_workload::uniform::{Uniform, UniformConfig};

use crate::random::Random;

/// Shape of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Few edges among few vertices: repeated edges, self-loops, odd corners.
    Tiny,
    /// Hubs and many vertices of small degree.
    Kron,
    /// Uniformly random edges.
    Uniform,
    /// Preferential attachment.
    Attached,
    /// A grid, with a huge diameter.
    Grid,
    /// A ring with shortcuts.
    Ring,
    /// A hub whose list spans pages.
    Star,
    /// A path.
    Path,
    /// Many small components.
    Islands,
    /// Hubs, and enough pages that visits are planned, shared by workers and cached.
    LargeKron,
    /// Uniformly random edges on many pages.
    LargeUniform,
    /// A grid on many pages, with hundreds of steps.
    LargeGrid,
}

/// Shapes of graphs of hundreds of pages.
pub const LARGE_SHAPES: [Shape; 3] = [Shape::LargeKron, Shape::LargeUniform, Shape::LargeGrid];

/// Shapes of small graphs.
pub const SHAPES: [Shape; 9] = [
    Shape::Tiny,
    Shape::Kron,
    Shape::Uniform,
    Shape::Attached,
    Shape::Grid,
    Shape::Ring,
    Shape::Star,
    Shape::Path,
    Shape::Islands,
];

impl Shape {
    /// Random edges of this shape, at least one, with some repeated edges and self-loops.
    pub fn edges(self, random: &mut Random) -> Vec<(u64, u64)> {
        let seed = random.bits();
        let mut edges = match self {
            Shape::Tiny => {
                let (vertices, count) = (1 + random.below(9), 1 + random.below(20));
                (0..count).map(|_| (random.below(vertices), random.below(vertices))).collect()
            }
            Shape::Kron => {
                let (scale, edge_factor) = (4 + random.below(7) as u32, 1 + random.below(10));
                generated(Kron::new(
                    KronConfig::default().scale(scale).edge_factor(edge_factor).seed(seed),
                ))
            }
            Shape::Uniform => {
                let vertices = 50 + random.below(1500);
                let edges = vertices / 2 + random.below(4 * vertices);
                generated(Uniform::new(UniformConfig::new(vertices, edges).seed(seed)))
            }
            Shape::Attached => {
                let (vertices, edges_per_vertex) = (30 + random.below(900), 1 + random.below(4));
                generated(Ba::new(BaConfig::new(vertices, edges_per_vertex).seed(seed)))
            }
            Shape::Grid => {
                let (rows, columns) = (2 + random.below(30), 2 + random.below(50));
                generated(Grid::new(GridConfig::new(rows, columns)))
            }
            Shape::Ring => {
                let (vertices, neighbors) = (20 + random.below(700), 2 * (1 + random.below(3)));
                let config = SmallWorldConfig::new(vertices, neighbors, 0.1).seed(seed);
                generated(SmallWorld::new(config))
            }
            Shape::Star => star(random),
            Shape::Path => (0..1 + random.below(300)).map(|v| (v, v + 1)).collect(),
            Shape::Islands => islands(random),
            Shape::LargeKron => {
                let (scale, edge_factor) = (11 + random.below(4) as u32, 8 + random.below(16));
                generated(Kron::new(
                    KronConfig::default().scale(scale).edge_factor(edge_factor).seed(seed),
                ))
            }
            Shape::LargeUniform => {
                let vertices = 5_000 + random.below(40_000);
                let edges = 20_000 + random.below(200_000);
                generated(Uniform::new(UniformConfig::new(vertices, edges).seed(seed)))
            }
            Shape::LargeGrid => {
                let (rows, columns) = (100 + random.below(60), 200 + random.below(300));
                generated(Grid::new(GridConfig::new(rows, columns)))
            }
        };
        for _ in 0..random.below(4) {
            let again = edges[random.index(edges.len())];
            edges.push(random.pick(&[again, (again.1, again.0), (again.0, again.0)]));
        }
        edges
    }
}

fn generated<G: EdgeSource>(made: cenote_workload::Result<G>) -> Vec<(u64, u64)> {
    let source = made.expect("the parameters are within the generator's limits");
    let mut edges = Vec::new();
    source.fill(0..source.edges(), &mut edges);
    edges.into_iter().map(|[a, b]| (a.into(), b.into())).collect()
}

fn star(random: &mut Random) -> Vec<(u64, u64)> {
    let (leaves, hub) = (900 + random.below(4000), random.below(3));
    let mut edges: Vec<_> = (0..leaves).map(|leaf| (hub, leaf)).collect();
    for _ in 0..random.below(2000) {
        edges.push((random.below(5), random.below(leaves)));
    }
    edges
}

fn islands(random: &mut Random) -> Vec<(u64, u64)> {
    let (size, vertices) = (2 + random.below(12), 20 + random.below(1200));
    let joined =
        (0..vertices).filter(|v| v % size != 0).map(|v| (v, v - 1 - random.below(v % size)));
    joined.chain([(0, 0)]).collect()
}

/// The user's ids of vertices that a shape numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The numbers themselves.
    Dense,
    /// Integers with gaps.
    Spaced,
    /// Integers below 2^64 in another order.
    Scattered,
    /// Strings in another order.
    Names,
}

/// All namings.
pub const NAMINGS: [Naming; 4] = [Naming::Dense, Naming::Spaced, Naming::Scattered, Naming::Names];

impl Naming {
    /// The id of vertex `number`, if ids are integers.
    pub fn integer(self, number: u64) -> Option<u64> {
        match self {
            Naming::Dense => Some(number),
            Naming::Spaced => Some(number * 1009 + 3),
            Naming::Scattered => Some((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            Naming::Names => None,
        }
    }

    /// The id of vertex `number` as text.
    pub fn name(self, number: u64) -> String {
        let name = || format!("n{}", number.wrapping_mul(0x9e37_79b9) % 1_000_003);
        self.integer(number).map_or_else(name, |id| id.to_string())
    }

    /// The sort key of an id: integers by value, strings by bytes.
    pub fn key(self, number: u64) -> (u64, String) {
        match self.integer(number) {
            Some(integer) => (integer, String::new()),
            None => (0, self.name(number)),
        }
    }
}

//! A grid graph: every vertex is connected to its right and lower neighbours.
//!
//! Vertex (row, column) is `row * columns + column`. Edges are ordered by rows: first those to the
//! right, then those down. Nothing is random.

use std::ops::Range;

use crate::error::{Result, require};
use crate::{Edge, EdgeSource, VERTICES_MAX, prepare, setters};

/// Parameters of a grid.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GridConfig {
    /// Number of rows, from 1.
    pub rows: u64,
    /// Number of columns, from 1; rows x columns is 2 to 2^32.
    pub columns: u64,
}

impl GridConfig {
    /// A grid of this size.
    pub fn new(rows: u64, columns: u64) -> Self {
        Self { rows, columns }
    }

    setters! { rows: u64, columns: u64 }
}

/// A grid graph.
#[derive(Debug)]
pub struct Grid {
    rows: u64,
    columns: u64,
}

impl Grid {
    /// Fails if a parameter is out of range.
    pub fn new(config: GridConfig) -> Result<Self> {
        let GridConfig { rows, columns } = config;
        let vertices = u128::from(rows) * u128::from(columns);
        require(
            (2..=u128::from(VERTICES_MAX)).contains(&vertices),
            "rows x columns",
            format!("{rows} x {columns}"),
            "2 to 2^32 vertices",
        )?;
        Ok(Self { rows, columns })
    }
}

impl EdgeSource for Grid {
    fn vertices(&self) -> u64 {
        self.rows * self.columns
    }

    fn edges(&self) -> u64 {
        self.rows * (self.columns - 1) + (self.rows - 1) * self.columns
    }

    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>) {
        prepare(&range, self.edges(), out);
        let across = self.columns - 1;
        out.extend(range.map(|index| {
            // The last row has no edges down, so it is merely shorter.
            let (row, place) = (index / (across + self.columns), index % (across + self.columns));
            let (column, step) =
                if place < across { (place, 1) } else { (place - across, self.columns) };
            let source = row * self.columns + column;
            [source as u32, (source + step) as u32]
        }));
    }
}

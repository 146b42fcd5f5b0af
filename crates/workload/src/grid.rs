//! A plane grid: every vertex is joined to its neighbours right and below.
//!
//! Vertex (row, column) is `row * columns + column`. Edges come row by row: first those to the
//! right, then those down. There is nothing random in it.

use std::ops::Range;

use crate::error::{Result, require};
use crate::{Edge, EdgeSource, VERTICES_MAX, prepare};

/// What a grid is made of.
#[derive(Clone, Debug)]
pub struct GridConfig {
    /// Rows, from 1.
    pub rows: u64,
    /// Columns, from 1; rows x columns is 2 to 2^32.
    pub columns: u64,
}

/// A grid with four neighbours.
#[derive(Debug)]
pub struct Grid {
    rows: u64,
    columns: u64,
}

impl Grid {
    /// Checks the parameters.
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
            // The last row has no edges down: it is merely a shorter one.
            let (row, place) = (index / (across + self.columns), index % (across + self.columns));
            let (column, step) =
                if place < across { (place, 1) } else { (place - across, self.columns) };
            let source = row * self.columns + column;
            [source as u32, (source + step) as u32]
        }));
    }
}

//! Orders of the vertices other than that of the user's ids.
//!
//! The *rank* of a vertex is the place of its id among all ids in ascending order. In the natural
//! order each vertex is its rank. A graph with another order stores two tables: the vertex of every
//! rank and the rank of every vertex. Ids are stored by rank, so look-ups map id -> rank -> vertex.
//!
//! - [`Order`]: the orders
//! - `stored`: reads the tables
//! - `write`: writes the tables

mod stored;
mod write;

use std::fmt;

use crate::VertexId;

pub(crate) use stored::{Ranks, entries};
pub(crate) use write::write_table;

/// The order in which the vertices of a graph lie in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By the user's ids.
    #[default]
    Natural,
    /// By descending length of their lists of targets, then by id.
    Degree,
    /// The order in which a breadth-first search along the lists of targets finds them. It starts
    /// at the vertex of largest degree, visits the entries of a list by their ids, and restarts at
    /// the unvisited vertex of largest degree and smallest id.
    Bfs,
    /// By clusters: parts of the graph as large as a page, grown breadth first, then parts of
    /// these parts' graph, and so on, so that neighbours lie near one another.
    Cluster,
    /// Shuffled.
    Random {
        /// Seed of the shuffle.
        seed: u64,
    },
}

impl Order {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Order::Natural => "natural",
            Order::Degree => "degree",
            Order::Bfs => "bfs",
            Order::Cluster => "cluster",
            Order::Random { .. } => "random",
        }
    }

    /// The seed of a shuffled order.
    pub fn seed(self) -> Option<u64> {
        match self {
            Order::Random { seed } => Some(seed),
            _ => None,
        }
    }

    /// Code and seed in the superblock.
    pub(crate) fn code(self) -> (u64, u64) {
        match self {
            Order::Natural => (0, 0),
            Order::Degree => (1, 0),
            Order::Bfs => (2, 0),
            Order::Cluster => (4, 0),
            Order::Random { seed } => (3, seed),
        }
    }

    pub(crate) fn of_code(code: (u64, u64)) -> Option<Self> {
        Some(match code {
            (0, 0) => Order::Natural,
            (1, 0) => Order::Degree,
            (2, 0) => Order::Bfs,
            (4, 0) => Order::Cluster,
            (3, seed) => Order::Random { seed },
            _ => return None,
        })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.seed().map_or(Ok(()), |seed| write!(f, ", seed {seed}"))
    }
}

/// The two tables of an order, each the inverse of the other.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// The order; not the natural one.
    pub order: Order,
    /// The vertex of every rank.
    pub vertex_of: &'a [VertexId],
    /// The rank of every vertex.
    pub rank_of: &'a [VertexId],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_back_from_its_code() {
        let orders = [Order::Natural, Order::Degree, Order::Bfs, Order::Cluster];
        for order in orders.into_iter().chain([0, 7, u64::MAX].map(|seed| Order::Random { seed })) {
            assert_eq!(Order::of_code(order.code()), Some(order));
        }
        for code in [(0, 1), (1, 1), (2, 9), (4, 1), (5, 0)] {
            assert_eq!(Order::of_code(code), None);
        }
    }
}

//! Degree assortativity: an algorithm of two passes, with a sum that does not depend on threads.
//!
//! `cargo run -p cenote --example mixing -- GRAPH`

use std::sync::atomic::{AtomicU32, Ordering};

use cenote::engine::{ActiveSet, EngineConfig, HugeVec, Kernel, List, Needs};
use cenote::{Direction, Graph, Result};

/// Sums over all edges: of the degrees at their ends, of the products and of the squares. Integers,
/// because floating-point sums would depend on the order of the lists.
#[derive(Clone, Copy, Default)]
struct Sums {
    edges: u64,
    degrees: u128,
    products: u128,
    squares: u128,
}

struct Mix<'a> {
    degrees: &'a [AtomicU32],
}

impl Kernel for Mix<'_> {
    type Local = Sums;

    fn local(&self) -> Sums {
        Sums::default()
    }

    /// A long list may come in pieces; each adds its own entries.
    fn list(&self, sums: &mut Sums, list: &List<'_>) {
        let own = u128::from(list.degree);
        let neighbours: u128 = list
            .targets
            .iter()
            .map(|&target| u128::from(self.degrees[target as usize].load(Ordering::Relaxed)))
            .sum();
        sums.edges += list.targets.len() as u64;
        sums.degrees += own * list.targets.len() as u128;
        sums.products += own * neighbours;
        sums.squares += own * own * list.targets.len() as u128;
    }
}

/// The correlation of the degrees at the ends of an edge, over all edges.
fn assortativity(graph: &Graph) -> Result<f64> {
    let n = graph.stored().vertices();
    let needs = Needs { what: "mixing", state_bytes: 4 * n as u64, scratch_bytes: 0 };
    let engine = graph.engine(EngineConfig::with_memory(256 << 20), &needs)?;

    // On huge pages, which random access to a large array repays.
    let degrees: HugeVec<AtomicU32> = HugeVec::zeroed(n)?;
    graph.stored().degrees(Direction::Out, &mut |first, some| {
        for (cell, &degree) in degrees[first as usize..].iter().zip(some) {
            cell.store(u32::try_from(degree).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    })?;
    let parts =
        engine.visit("edges", Direction::Out, ActiveSet::All, &Mix { degrees: &degrees })?;
    let mut sums = Sums::default();
    for part in parts {
        sums.edges += part.edges;
        sums.degrees += part.degrees;
        sums.products += part.products;
        sums.squares += part.squares;
    }
    let count = sums.edges as f64;
    let mean = sums.degrees as f64 / count;
    let covariance = sums.products as f64 / count - mean * mean;
    let variance = sums.squares as f64 / count - mean * mean;
    Ok(covariance / variance)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("one argument is needed: GRAPH")?;
    println!("assortativity by degree: {:.6}", assortativity(&Graph::open(&path)?)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_star_high_degrees_meet_low_ones_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("star.cenote");
        cenote::Import::new().edges((1..6000u64).map(|leaf| (0, leaf))).run(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        assert!((assortativity(&graph).unwrap() + 1.0).abs() < 1e-9);
    }
}

//! The Graph500 Kronecker generator (R-MAT).
//!
//! Each edge descends `scale` levels of a 2 x 2 matrix of probabilities A = .57, B = .19, C = .19,
//! D = .05; the path gives the bits of source and target (Graph500 specification, section 3.2).
//! Labels are then permuted, as the specification requires, so that hubs lie anywhere. Duplicates
//! and self-loops are part of the model.
//!
//! The trick: four levels at once. Their 256 outcomes are drawn from an alias table with 32 random
//! bits, so an edge of scale 24 takes three random numbers and six look-ups in 1 KiB.

use std::ops::Range;

use crate::error::{Result, require};
use crate::permutation::Permutation;
use crate::random::Counter;
use crate::{Edge, EdgeSource, prepare, setters};

/// Probabilities of the quadrants, in the order (0,0), (0,1), (1,0), (1,1) of (source, target).
const QUADRANTS: [f64; 4] = [0.57, 0.19, 0.19, 0.05];

/// Levels drawn at once: their 4^4 outcomes fit into 8 bits, the index of a slot.
const LEVELS_AT_ONCE: u32 = 4;

/// Bits of a draw that are compared with the threshold of a slot.
const THRESHOLD_BITS: u32 = 24;

/// Parameters of a Kronecker graph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KronConfig {
    /// Binary logarithm of the number of vertices, 1 to 32.
    pub scale: u32,
    /// Edges per vertex.
    pub edge_factor: u64,
    /// Whether to permute the labels, as Graph500 requires. Otherwise vertex 0 is the largest hub.
    pub permute: bool,
    /// The same seed gives the same graph.
    pub seed: u64,
}

impl Default for KronConfig {
    fn default() -> Self {
        Self { scale: 20, edge_factor: 16, permute: true, seed: 1 }
    }
}

impl KronConfig {
    setters! { scale: u32, edge_factor: u64, permute: bool, seed: u64 }
}

/// A Kronecker graph.
#[derive(Debug)]
pub struct Kron {
    vertices: u64,
    edges: u64,
    groups: u32,
    group: AliasTable,
    rest: AliasTable,
    random: Counter,
    labels: Option<Permutation>,
}

impl Kron {
    /// Builds the alias tables. Fails if a parameter is out of range.
    pub fn new(config: KronConfig) -> Result<Self> {
        let KronConfig { scale, edge_factor, permute, seed } = config;
        require((1..=32).contains(&scale), "scale", scale, "1 to 32 (2^scale vertices)")?;
        let most = u64::MAX >> 16 >> scale;
        require(
            (1..=most).contains(&edge_factor),
            "edge-factor",
            edge_factor,
            format!("1 to {most} at scale {scale}"),
        )?;
        let vertices = 1u64 << scale;
        Ok(Self {
            vertices,
            edges: vertices * edge_factor,
            groups: scale / LEVELS_AT_ONCE,
            group: AliasTable::new(LEVELS_AT_ONCE),
            rest: AliasTable::new(scale % LEVELS_AT_ONCE),
            random: Counter::new(seed, 0),
            labels: permute.then(|| Permutation::new(vertices, Counter::new(seed, 1))),
        })
    }

    /// The endpoints of edge `index`, with labels not permuted yet.
    #[inline(always)]
    fn descend(&self, index: u64) -> [u64; 2] {
        // A word has two draws: one for each group of levels and one for the remaining levels.
        let words = u64::from(self.groups / 2 + 1);
        let (mut source, mut target) = (0u64, 0u64);
        let mut step = |table: &AliasTable, bits: u32| {
            let [row, column] = table.draw(bits);
            source = source << table.levels | u64::from(row);
            target = target << table.levels | u64::from(column);
        };
        for pair in 0..self.groups / 2 {
            let word = self.random.at(index * words + u64::from(pair));
            step(&self.group, word as u32);
            step(&self.group, (word >> 32) as u32);
        }
        if self.groups % 2 == 1 || self.rest.levels > 0 {
            let word = self.random.at(index * words + words - 1);
            if self.groups % 2 == 1 {
                step(&self.group, word as u32);
            }
            step(&self.rest, (word >> 32) as u32);
        }
        [source, target]
    }
}

impl EdgeSource for Kron {
    fn vertices(&self) -> u64 {
        self.vertices
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn fill(&self, range: Range<u64>, out: &mut Vec<Edge>) {
        prepare(&range, self.edges, out);
        match &self.labels {
            Some(labels) => out.extend(
                range.map(|index| self.descend(index).map(|vertex| labels.apply(vertex) as u32)),
            ),
            None => out.extend(range.map(|index| self.descend(index).map(|vertex| vertex as u32))),
        }
    }
}

/// Walker's alias method over the 4^levels outcomes of some levels: draws in constant time.
#[derive(Debug)]
struct AliasTable {
    levels: u32,
    /// For each outcome a threshold in the upper 24 bits and an alias in the lower 8. The bits of
    /// an outcome are those of the source followed by those of the target.
    slots: Box<[u32; 256]>,
}

impl AliasTable {
    fn new(levels: u32) -> Self {
        let outcomes = 1usize << (2 * levels);
        let mut weights: Vec<f64> =
            (0..outcomes).map(|outcome| probability(outcome, levels) * outcomes as f64).collect();
        let mut slots = Box::new([0u32; 256]);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..outcomes).partition(|&outcome| weights[outcome] < 1.0);
        while let (Some(&light), Some(&heavy)) = (small.last(), large.last()) {
            small.pop();
            let threshold = (weights[light] * f64::from(1u32 << THRESHOLD_BITS)).round() as u32;
            slots[light] = threshold.min((1 << THRESHOLD_BITS) - 1) << 8 | heavy as u32;
            weights[heavy] -= 1.0 - weights[light];
            if weights[heavy] < 1.0 {
                large.pop();
                small.push(heavy);
            }
        }
        for full in small.into_iter().chain(large) {
            slots[full] = full as u32;
        }
        Self { levels, slots }
    }

    /// The bits of source and target for 32 random bits: the top ones select a slot, the low ones
    /// choose between its outcome and its alias.
    #[inline(always)]
    fn draw(&self, bits: u32) -> [u32; 2] {
        let chosen = (u64::from(bits) >> (32 - 2 * self.levels)) as u32;
        let slot = self.slots[(chosen & 0xFF) as usize];
        let fraction = bits & ((1 << THRESHOLD_BITS) - 1);
        let outcome = if fraction < slot >> 8 { chosen } else { slot & 0xFF };
        [outcome >> self.levels, outcome & ((1 << self.levels) - 1)]
    }
}

/// The probability of an outcome: the product of its quadrants over the levels.
fn probability(outcome: usize, levels: u32) -> f64 {
    (0..levels)
        .map(|level| {
            let row = outcome >> (levels + level) & 1;
            let column = outcome >> level & 1;
            QUADRANTS[2 * row + column]
        })
        .product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_table_holds_the_exact_probabilities() {
        for levels in 0..=LEVELS_AT_ONCE {
            let table = AliasTable::new(levels);
            let outcomes = 1usize << (2 * levels);
            let mut mass = vec![0.0; outcomes];
            for slot in 0..outcomes {
                let kept = f64::from(table.slots[slot] >> 8) / f64::from(1u32 << THRESHOLD_BITS);
                mass[slot] += kept / outcomes as f64;
                mass[(table.slots[slot] & 0xFF) as usize] += (1.0 - kept) / outcomes as f64;
            }
            for (outcome, found) in mass.iter().enumerate() {
                let expected = probability(outcome, levels);
                // Rounding 24 bits: each slot that points here is off by at most 2^-25 / outcomes.
                assert!((found - expected).abs() < 1e-7, "{levels} levels, outcome {outcome}");
            }
        }
    }

    #[test]
    fn quadrants_have_their_probabilities_at_every_level() {
        for scale in [1, 3, 4, 7, 8, 13] {
            let seed = 5;
            let config = KronConfig { scale, edge_factor: 1, permute: false, seed };
            let graph = Kron { edges: 200_000, ..Kron::new(config).unwrap() };
            let mut edges = Vec::new();
            graph.fill(0..200_000, &mut edges);
            for level in 0..scale {
                let mut counts = [0u64; 4];
                for [source, target] in &edges {
                    counts[(source >> level & 1) as usize * 2 + (target >> level & 1) as usize] +=
                        1;
                }
                let chi: f64 = (0..4)
                    .map(|q| (counts[q] as f64 - QUADRANTS[q] * 2e5).powi(2) / (QUADRANTS[q] * 2e5))
                    .sum();
                // 99.99% of 3 degrees of freedom.
                assert!(chi < 21.1, "scale {scale}, level {level}: chi squared {chi}, {counts:?}");
            }
        }
    }
}

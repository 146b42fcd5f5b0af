//! The plain serial verifier.

use cenote_engine::{Direction, Graph, VertexId};

use super::{Ppr, PprConfig, wrong};
use crate::plain::Lists;
use crate::ranks::Ranks;
use crate::report::Result;

/// Seeds whose ranks are verified, at most.
const SEEDS_MAX: usize = 10;

/// The change of all ranks in an iteration below which power iteration has converged.
const CONVERGED: f64 = 1e-13;

/// Rounding of sums.
const ROUNDING: f64 = 1e-9;

/// Computes the exact ranks of up to ten of the seeds again, by power iteration in memory, and
/// asserts for each of them that no rank is above the exact one, or below it by more than its
/// bound; that rows are sorted; and that no vertex that was left out has a rank above the last
/// row, but for the bound. Takes 4 bytes an entry of the stored lists and 32 bytes a vertex.
///
/// # Errors
/// [`AlgoError::Wrong`](crate::AlgoError::Wrong) if something does not hold; a graph that cannot be
/// read.
pub fn verify(graph: &Graph, config: &PprConfig, ppr: &Ppr) -> Result<()> {
    let (lists, ranks) = (Lists::outward(graph)?, Ranks::load(graph)?);
    let step = ppr.seeds.len().div_ceil(SEEDS_MAX).max(1);
    let mut first = 0;
    for (number, &seed) in ppr.seeds.iter().enumerate() {
        let rows = ppr.rows[first..].iter().take_while(|row| row.seed == seed).count();
        if number.is_multiple_of(step) {
            let exact = exact(graph, &lists, config.damping, seed);
            let rows = &ppr.rows[first..first + rows];
            verify_rows(graph, (config, ppr.unsettled[number]), &ranks, &exact, rows)?;
        }
        first += rows;
    }
    match first == ppr.rows.len() {
        true => Ok(()),
        false => Err(wrong("the rows are not in the order of the seeds".to_owned())),
    }
}

fn verify_rows(
    graph: &Graph,
    (config, unsettled): (&PprConfig, f64),
    ranks: &Ranks,
    exact: &[f64],
    rows: &[super::SeedRank],
) -> Result<()> {
    let mut degrees = vec![0; graph.vertices()];
    graph.degrees(Direction::Out, &mut |first, some| {
        degrees[first as usize..][..some.len()].copy_from_slice(some);
    })?;
    let bound = |v: usize| match graph.is_directed() {
        true => unsettled,
        false => unsettled.min(config.tolerance * degrees[v].max(1) as f64),
    };
    let mut left_out: Vec<bool> = vec![true; exact.len()];
    for row in rows {
        let at = row.vertex as usize;
        let (rank, expected) = (row.rank, exact[at]);
        left_out[at] = false;
        if rank > expected + ROUNDING || rank < expected - bound(at) - ROUNDING {
            return Err(wrong(format!(
                "the rank of vertex {at} for seed {} is {rank}, not {expected} less {} at most",
                row.seed,
                bound(at)
            )));
        }
    }
    let in_order = |pair: &[super::SeedRank]| {
        let [a, b] = pair else { return true };
        a.rank > b.rank || a.rank == b.rank && ranks.of(a.vertex) < ranks.of(b.vertex)
    };
    let is_sorted = rows.windows(2).all(in_order);
    let least = rows.last().map_or(0.0, |row| row.rank);
    let is_cut = rows.len() == config.top_k as usize;
    let missed = (0..exact.len()).find(|&v| {
        let most = if is_cut { least } else { 0.0 };
        left_out[v] && exact[v] > most + bound(v) + ROUNDING
    });
    match (is_sorted, missed) {
        (true, None) => Ok(()),
        (false, _) => Err(wrong("the rows of a seed are not in the order of ranks".to_owned())),
        (true, Some(v)) => Err(wrong(format!("vertex {v} has rank {}, and no row", exact[v]))),
    }
}

/// Ranks by power iteration.
fn exact(graph: &Graph, lists: &Lists, damping: f64, seed: VertexId) -> Vec<f64> {
    let n = graph.vertices();
    let mut ranks = vec![0.0; n];
    ranks[seed as usize] = 1.0;
    loop {
        let mut next = vec![0.0; n];
        let mut back = 1.0 - damping;
        for (v, rank) in (0..).zip(&ranks) {
            let targets = lists.of_vertex(v);
            if targets.is_empty() {
                back += damping * rank;
            }
            let share = damping * rank / targets.len().max(1) as f64;
            targets.iter().for_each(|&target| next[target as usize] += share);
        }
        next[seed as usize] += back;
        let change: f64 = ranks.iter().zip(&next).map(|(a, b): (&f64, &f64)| (a - b).abs()).sum();
        ranks = next;
        if change < CONVERGED {
            return ranks;
        }
    }
}

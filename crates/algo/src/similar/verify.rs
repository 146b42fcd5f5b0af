//! The plain serial verifier.

use std::collections::BTreeSet;

use cenote_engine::{Graph, VertexId};

use super::{Measure, Similar, SimilarConfig, Similarity, wrong};
use crate::plain::Lists;
use crate::ranks::Ranks;
use crate::report::Result;

/// Pairs whose similarity is computed again, at most.
const PAIRS_MAX: usize = 10_000;

/// Sources whose rows are computed again, at most.
const SOURCES_MAX: usize = 10;

/// Logarithms are rounded.
const ROUNDING: f64 = 1e-7;

/// Computes up to 10,000 of the pairs again from sets of neighbours, and asserts that the scores
/// are those; for up to 10 sources the similarity of every vertex, and asserts that the rows are
/// the first ones. Takes 8 bytes an entry of the stored lists and 16 a vertex.
///
/// # Errors
/// [`AlgoError::Wrong`](crate::AlgoError::Wrong) if something does not hold; a graph that cannot be
/// read.
pub fn verify(graph: &Graph, config: &SimilarConfig, found: &Similar) -> Result<()> {
    let plain = Plain {
        measure: config.measure,
        out: Lists::outward(graph)?,
        inward: Lists::inward(graph)?,
        ranks: Ranks::load(graph)?,
    };
    if !config.pairs.is_empty() {
        let given =
            config.pairs.iter().copied().eq(found.rows.iter().map(|row| (row.source, row.target)));
        if !given {
            return Err(wrong("the rows are not the given pairs".to_owned()));
        }
        let step = found.rows.len().div_ceil(PAIRS_MAX).max(1);
        return found.rows.iter().step_by(step).try_for_each(|row| plain.verify_score(row));
    }
    let by_source: Vec<_> = found.rows.chunk_by(|a, b| a.source == b.source).collect();
    let is_sorted = by_source.is_sorted_by_key(|rows| plain.ranks.of(rows[0].source));
    if !is_sorted {
        return Err(wrong("the rows are not in the order of the sources".to_owned()));
    }
    let step = by_source.len().div_ceil(SOURCES_MAX).max(1);
    let mut some = by_source.into_iter().step_by(step);
    some.try_for_each(|rows| plain.verify_top(config.top as usize, rows))
}

struct Plain {
    measure: Measure,
    out: Lists,
    inward: Lists,
    ranks: Ranks,
}

impl Plain {
    fn set(&self, v: VertexId) -> BTreeSet<VertexId> {
        self.out.of_vertex(v).iter().copied().collect()
    }

    /// The similarity, and whether there is a common neighbour.
    fn score(&self, of_u: &BTreeSet<VertexId>, v: VertexId) -> (f64, bool) {
        let of_v = self.set(v);
        let common: Vec<VertexId> = of_u.intersection(&of_v).copied().collect();
        let share = |all: usize| if all == 0 { 0.0 } else { common.len() as f64 / all as f64 };
        let logarithm = |w: &VertexId| match self.inward.of_vertex(*w).len() {
            0 | 1 => 0.0,
            degree => 1.0 / (degree as f64).ln(),
        };
        let score = match self.measure {
            Measure::Jaccard => share(of_u.union(&of_v).count()),
            Measure::Overlap => share(of_u.len().min(of_v.len())),
            Measure::AdamicAdar => common.iter().map(logarithm).sum(),
            Measure::Common => common.len() as f64,
        };
        (score, !common.is_empty())
    }

    fn verify_score(&self, row: &Similarity) -> Result<()> {
        let (score, _) = self.score(&self.set(row.source), row.target);
        if (score - row.score).abs() <= ROUNDING * score.max(1.0) {
            return Ok(());
        }
        let Similarity { source, target, score: found } = row;
        Err(wrong(format!("the similarity of {source} and {target} is {found}, not {score}")))
    }

    fn verify_top(&self, top: usize, rows: &[Similarity]) -> Result<()> {
        let source = rows[0].source;
        let of_source = self.set(source);
        let in_order = |pair: &[Similarity]| {
            let [a, b] = pair else { return true };
            let by_rank = self.ranks.of(a.target) < self.ranks.of(b.target);
            a.score > b.score || a.score == b.score && by_rank
        };
        if !rows.windows(2).all(in_order) || rows.len() > top {
            return Err(wrong(format!("the rows of vertex {source} are not in order")));
        }
        rows.iter().try_for_each(|row| self.verify_score(row))?;
        let named: BTreeSet<VertexId> = rows.iter().map(|row| row.target).collect();
        let least = if rows.len() < top { 0.0 } else { rows[rows.len() - 1].score };
        let others = (0..self.out.vertices()).filter(|v| *v != source && !named.contains(v));
        for v in others {
            let (score, is_candidate) = self.score(&of_source, v);
            let is_missed = score > least * (1.0 + ROUNDING) + ROUNDING;
            if is_candidate && (is_missed || rows.len() < top && score > 0.0) {
                let fault = format!("vertex {v} has similarity {score} to {source}, and no row");
                return Err(wrong(fault));
            }
        }
        Ok(())
    }
}

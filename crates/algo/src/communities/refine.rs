//! Refinement on the stored lists: connected subsets of communities, as the vertices of the next
//! level.
//!
//! Every vertex is a subset of its own at first. In a round half of the vertices that are still
//! alone may join the subset, within their community, of the largest gain: one of a vertex that is
//! not in that half, or one that has more vertices already. So no subset that is joined leaves, and
//! every subset stays connected.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Frontier, VertexId};

use super::lists::{TakeList, Weigh, visit};
use super::partition::{Partition, get, weight};
use super::tally::Tally;
use crate::report::Result;

/// The most rounds; a vertex that is alone then is one of the next level.
const ROUNDS_MAX: u64 = 8;

/// Rounds end when fewer than one vertex in so many has joined.
const SETTLED_SHARE: u64 = 256;

impl Partition<'_> {
    /// Divides communities into subsets, whose labels are in `other` then. `totals` are the weights
    /// of communities, `subsets` the degrees of ranks, and then the weights of subsets.
    pub fn refine(&mut self, totals: &[AtomicU64], subsets: &[AtomicU64]) -> Result<()> {
        let n = self.labels.len();
        let (pending, grown) = (Bitmap::new(n)?, Bitmap::new(n)?);
        let mut frontier = Frontier::new(n)?;
        self.for_each_connected(|v, label| {
            let rank = self.ranks.of(v);
            self.other[v as usize].store(rank, Ordering::Relaxed);
            // The others are a community by themselves.
            if weight(totals, label) > weight(subsets, rank) {
                pending.insert(v);
            }
        });
        for round in 0..ROUNDS_MAX {
            let is_alone = |v| !grown.contains(self.ranks.of(v));
            frontier.set(pending.iter().filter(|&v| self.is_mover(v, round) && is_alone(v)));
            let label = format!("iteration {}: refinement {}", self.iteration, round + 1);
            let step =
                Join { partition: self, totals, subsets, frontier: &frontier, pending: &pending };
            visit(self.engine, &label, ActiveSet::In(&frontier), self.scale, &step)?;
            let mut joined = 0;
            for v in frontier.bits().iter() {
                let (rank, subset) = (self.ranks.of(v), get(&self.other, v));
                if subset != rank {
                    let degree = subsets[rank as usize].swap(0, Ordering::Relaxed);
                    subsets[subset as usize].fetch_add(degree, Ordering::Relaxed);
                    grown.insert(subset);
                    joined += 1;
                }
            }
            if joined * SETTLED_SHARE < self.connected && round > 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Lets vertices join subsets.
struct Join<'a, 'e> {
    partition: &'a Partition<'e>,
    totals: &'a [AtomicU64],
    subsets: &'a [AtomicU64],
    /// The vertices that may join: they are alone, and nothing joins them.
    frontier: &'a Frontier,
    pending: &'a Bitmap,
}

impl TakeList for Join<'_, '_> {
    type Local = Tally;

    fn local(&self) -> Tally {
        Tally::default()
    }

    fn take(&self, tally: &mut Tally, v: VertexId, targets: &[VertexId], weights: impl Weigh) {
        let Partition { labels, other, ranks, density, .. } = self.partition;
        let own = get(labels, v);
        let (mut within, mut waits) = (0, false);
        tally.start(targets.len());
        for (at, &target) in targets.iter().enumerate() {
            if target == v || get(labels, target) != own {
                continue;
            }
            let weight = weights.of(at);
            within += weight;
            if self.frontier.contains(target) {
                waits = true;
            } else {
                tally.add(get(other, target), weight);
            }
        }
        let degree = weight(self.subsets, ranks.of(v));
        let share = density * degree as f64;
        let community = weight(self.totals, own).saturating_sub(degree);
        let mut best = None;
        // Only a vertex that is well connected to its community joins a part of it.
        if within as f64 >= share * community as f64 {
            let mut best_score = 0.0;
            for (subset, to) in tally.iter() {
                let score = to as f64 - share * weight(self.subsets, subset) as f64;
                let is_first = best.is_none_or(|best| subset < best);
                if score > best_score || score == best_score && score > 0.0 && is_first {
                    (best, best_score) = (Some(subset), score);
                }
            }
        } else {
            waits = false;
        }
        if let Some(best) = best {
            other[v as usize].store(best, Ordering::Relaxed);
        }
        if best.is_some() || !waits {
            self.pending.remove(v);
        }
    }
}

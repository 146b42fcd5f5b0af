//! Local moving on the stored lists: rounds in which vertices move at once.
//!
//! In a round half of the vertices, by a hash of rank and round, may move: each to the community of
//! the largest gain as of the end of the round before. So the order in which lists arrive does not
//! matter, and two neighbours rarely change places for ever.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Frontier, VertexId};

use super::lists::{TakeList, Weigh, visit};
use super::partition::{ISOLATED, Partition, get, weight};
use super::tally::Tally;
use crate::mix::{GOLDEN, mix};
use crate::parallel;
use crate::report::Result;

/// A move must gain more than this share of the weight of what moves: less may be rounding.
pub(super) const GAIN_MIN: f64 = 1e-12;

/// The most rounds.
const ROUNDS_MAX: u64 = 32;

/// Rounds end when twice in a row fewer than one vertex in so many has moved.
const SETTLED_SHARE: u64 = 256;

/// Vertices of which a thread carries out the moves at a time.
const BLOCK: usize = 1 << 14;

impl Partition<'_> {
    /// Whether a vertex is in the half of the vertices that may move in a round.
    #[inline(always)]
    pub fn is_mover(&self, v: VertexId, round: u64) -> bool {
        let round = u64::from(self.iteration) << 32 | round;
        mix(u64::from(self.ranks.of(v)) ^ round.wrapping_mul(GOLDEN)) & 1 == 0
    }

    /// Moves vertices until few move; `degrees` are those of ranks, `totals` the weights of
    /// communities.
    pub fn move_vertices(&mut self, degrees: &[AtomicU64], totals: &[AtomicU64]) -> Result<()> {
        let n = self.labels.len();
        let (pending, moved) = (Bitmap::new(n)?, Bitmap::new(n)?);
        self.for_each_connected(|v, _| {
            pending.insert(v);
        });
        let mut frontier = Frontier::new(n)?;
        let mut settled = 0;
        for round in 0..ROUNDS_MAX {
            frontier.set(pending.iter().filter(|&v| self.is_mover(v, round)));
            frontier.bits().iter().for_each(|v| pending.remove(v));
            let label = format!("iteration {}: round {}", self.iteration, round + 1);
            let step = Move { partition: self, totals, pending: &pending, moved: &moved };
            visit(self.engine, &label, ActiveSet::In(&frontier), self.scale, &step)?;
            let count = self.carry_out(&moved, degrees, totals);
            settled = if count * SETTLED_SHARE <= self.connected { settled + 1 } else { 0 };
            if settled == 2 {
                break;
            }
        }
        Ok(())
    }

    /// Gives the vertices that moved their labels, and empties `moved`; returns how many there
    /// were.
    fn carry_out(&self, moved: &Bitmap, degrees: &[AtomicU64], totals: &[AtomicU64]) -> u64 {
        parallel::sum_of_blocks(BLOCK, self.labels.len(), |range| {
            let mut count = 0;
            moved.take_in(range.start as VertexId..range.end as VertexId, |v| {
                let to = get(&self.other, v);
                let from = self.labels[v as usize].swap(to, Ordering::Relaxed);
                let degree = weight(degrees, self.ranks.of(v));
                totals[from as usize].fetch_sub(degree, Ordering::Relaxed);
                totals[to as usize].fetch_add(degree, Ordering::Relaxed);
                count += 1;
            });
            count
        })
    }
}

/// Finds the best community of each vertex.
struct Move<'a, 'e> {
    partition: &'a Partition<'e>,
    totals: &'a [AtomicU64],
    /// Vertices whose best community may be another one now.
    pending: &'a Bitmap,
    moved: &'a Bitmap,
}

impl TakeList for Move<'_, '_> {
    type Local = Tally;

    fn local(&self) -> Tally {
        Tally::default()
    }

    fn take(&self, tally: &mut Tally, v: VertexId, targets: &[VertexId], weights: impl Weigh) {
        let labels = &self.partition.labels;
        let mut degree = 0;
        tally.start(targets.len());
        for (at, &target) in targets.iter().enumerate() {
            let weight = weights.of(at);
            if target == v {
                degree += 2 * weight;
                continue;
            }
            degree += weight;
            let label = get(labels, target);
            if label != ISOLATED {
                tally.add(label, weight);
            }
        }
        let own = get(labels, v);
        if own == ISOLATED {
            return;
        }
        let share = self.partition.density * degree as f64;
        let own_total = weight(self.totals, own).saturating_sub(degree);
        let stays = tally.of(own) as f64 - share * own_total as f64;
        let (mut best, mut best_score) = (own, stays + GAIN_MIN * degree as f64);
        for (label, to) in tally.iter() {
            if label == own {
                continue;
            }
            let score = to as f64 - share * weight(self.totals, label) as f64;
            if score > best_score || score == best_score && label < best && best != own {
                (best, best_score) = (label, score);
            }
        }
        // A community of its own, if no other one is worth as much.
        let alone = self.partition.ranks.of(v);
        if 0.0 > best_score && weight(self.totals, alone) == 0 {
            best = alone;
        }
        if best == own {
            return;
        }
        self.partition.other[v as usize].store(best, Ordering::Relaxed);
        self.moved.insert(v);
        for &target in targets {
            if target != v && get(labels, target) != best && !self.pending.contains(target) {
                self.pending.insert(target);
            }
        }
    }
}

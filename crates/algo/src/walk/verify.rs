//! The serial verifier: takes walks again, each step from the complete list and by the definition.

use cenote_engine::{Direction, Graph, VertexId, Weight};

use super::NAME;
use super::draw::{below, draw, unit};
use super::fixed::{Scale, below_total};
use super::rule::{DeadEnds, NONE, Starts, WalkConfig};
use crate::ranks::{Ranks, Vertices};
use crate::report::{AlgoError, Result};

/// About how many steps are verified; each reads a whole list.
const STEPS: u64 = 20_000;

/// Whether walk number `walk` is verified: all of few walks, an even sample of many.
pub fn is_sampled(config: &WalkConfig, walk: u64) -> bool {
    let steps = config.walkers.saturating_mul(u64::from(config.steps) + 1);
    walk.is_multiple_of(steps.div_ceil(STEPS).max(1))
}

/// Takes each walk of `rows`, a walk's number and its vertices, again, and asserts that the
/// vertices are the same.
pub fn verify<'a>(
    graph: &Graph,
    config: &WalkConfig,
    rows: impl IntoIterator<Item = (u64, &'a [VertexId])>,
) -> Result<()> {
    let mut lists = Lists {
        graph,
        scale: Scale::new(graph),
        ranks: Ranks::load(graph)?,
        by_rank: Vertices::load(graph)?,
        list: Vec::new(),
        shares: Vec::new(),
        before: Vec::new(),
    };
    for (walk, found) in rows {
        let expected = lists.walk(config, walk)?;
        if found != expected {
            let step = found.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            return Err(AlgoError::Wrong {
                what: NAME,
                fault: format!(
                    "walk {walk} goes to {:?} at step {step}, not to {:?}",
                    found.get(step),
                    expected.get(step)
                ),
            });
        }
    }
    Ok(())
}

/// Reads the lists of the current vertex, in the order of the ids, and of the one before.
struct Lists<'a> {
    graph: &'a Graph,
    scale: Scale,
    ranks: Ranks,
    by_rank: Vertices,
    list: Vec<VertexId>,
    /// Shares of the current vertex's neighbours in the proposals; 1 without weights.
    shares: Vec<u128>,
    before: Vec<VertexId>,
}

impl Lists<'_> {
    fn walk(&mut self, config: &WalkConfig, walk: u64) -> Result<Vec<VertexId>> {
        let vertices = self.graph.live_vertices() as u64;
        let by_rank = |rank: u64| self.by_rank.of(rank as VertexId);
        let start = match &config.starts {
            Starts::All => by_rank(walk % vertices),
            Starts::Random => by_rank(below(draw(config.seed, walk, 0, 0).position, vertices)),
            Starts::Listed(list) => list[(walk % list.len() as u64) as usize],
        };
        let (mut row, mut before) = (vec![start], NONE);
        for step in 1..=config.steps {
            let at = row[row.len() - 1];
            let coin = unit(draw(config.seed, walk, step, 0).restart);
            let next = if config.restart > coin {
                None
            } else {
                self.read(config, at)?;
                let ends = config.dead_ends == DeadEnds::End || at == start;
                match self.shares.iter().all(|share| *share == 0) {
                    true if ends => break,
                    true => None,
                    false => Some(self.choose(config, walk, step, before)?),
                }
            };
            before = if next.is_some() { at } else { NONE };
            row.push(next.unwrap_or(start));
        }
        Ok(row)
    }

    fn read(&mut self, config: &WalkConfig, at: VertexId) -> Result<()> {
        self.list.clear();
        self.graph.read_list(Direction::Out, at, &mut self.list)?;
        self.shares.clear();
        if config.weighted {
            let mut weights: Vec<Weight> = Vec::new();
            self.graph.read_weights(Direction::Out, at, &mut weights)?;
            self.shares.extend(weights.into_iter().map(|weight| self.scale.of(weight)));
        }
        self.shares.resize(self.list.len(), 1);
        if !self.ranks.is_natural() {
            let shares = self.shares.iter().copied();
            let mut entries: Vec<_> = self.list.iter().copied().zip(shares).collect();
            entries.sort_unstable_by_key(|&(v, _)| self.ranks.of(v));
            (self.list, self.shares) = entries.into_iter().unzip();
        }
        Ok(())
    }

    /// The entry that a random word selects, by shares.
    fn proposal(&self, word: u64) -> VertexId {
        let mut drawn = below_total(word, self.shares.iter().sum());
        for (target, share) in self.list.iter().zip(&self.shares) {
            match drawn.checked_sub(*share) {
                Some(rest) => drawn = rest,
                None => return *target,
            }
        }
        unreachable!("it is below the sum")
    }

    /// An entry of the current list, by rejection.
    fn choose(
        &mut self,
        config: &WalkConfig,
        walk: u64,
        step: u32,
        before: VertexId,
    ) -> Result<VertexId> {
        self.before.clear();
        let free = before == NONE || self.list.len() == 1 || (config.p == 1.0 && config.q == 1.0);
        if !free {
            self.graph.read_list(Direction::Out, before, &mut self.before)?;
        }
        let (back, away) = (1.0 / config.p, 1.0 / config.q);
        let largest = f64::max(back, away).max(1.0);
        for trial in 0.. {
            let draw = draw(config.seed, walk, step, trial);
            let x = self.proposal(draw.position);
            let weight = if x == before {
                back
            } else if self.before.binary_search(&x).is_ok() {
                1.0
            } else {
                away
            };
            if free || unit(draw.accept) < weight / largest {
                return Ok(x);
            }
        }
        unreachable!("trials end when one is taken")
    }
}

//! Degrees on a shard. Where shards have no in-lists, edges are counted at their targets, and the
//! counts of boundary vertices are added up at the owners.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Direction, Engine, HugeVec, Kernel, List};

use super::Part;
use super::exchange::{from_mirrors, quiet, to_owners};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::parallel;
use crate::report::{AlgoError, Result};

/// Memory: 4 bytes an own vertex, 4 a vertex of the file, 12 for each exchanged count.
pub(super) fn bytes_for(part: &Part) -> u64 {
    4 * (part.own_count() + part.places()) as u64 + 12 * part.exchanged()
}

/// The out-degrees of own vertices.
pub(super) fn out_degrees(part: &Part) -> Result<HugeVec<AtomicU32>> {
    degrees(part, Direction::Out)
}

fn degrees(part: &Part, direction: Direction) -> Result<HugeVec<AtomicU32>> {
    let own = part.own();
    let degrees = HugeVec::<AtomicU32>::zeroed(own.len())?;
    let mut most = 0;
    part.graph.degrees(direction, &mut |first, some| {
        for (v, &degree) in (first..).zip(some).filter(|(v, _)| own.contains(v)) {
            most = most.max(degree);
            degrees[(v - own.start) as usize].store(degree as u32, Ordering::Relaxed);
        }
    })?;
    if most > u64::from(u32::MAX) { Err(too_many()) } else { Ok(degrees) }
}

/// The error of a vertex with more edges than are counted.
fn too_many() -> AlgoError {
    AlgoError::Unsupported {
        what: "an algorithm over shards",
        needs: "at most 2^32 - 1 edges at each vertex",
        remedy: "run it on the graph that was cut, or import that without repeated edges",
    }
}

/// The sum of degrees.
pub(super) fn total(degrees: &[AtomicU32]) -> u64 {
    parallel::sum(degrees.len(), |at| u64::from(degrees[at].load(Ordering::Relaxed)))
}

pub(super) struct Degrees {
    outward: HugeVec<AtomicU32>,
    /// By vertex of the file where they are counted, else of own vertices.
    inward: HugeVec<AtomicU32>,
}

impl Degrees {
    pub fn new(part: &Part) -> Result<Self> {
        let inward = match (part.is_directed, part.graph.has_in_edges()) {
            (true, true) => degrees(part, Direction::In)?,
            (true, false) => HugeVec::zeroed(part.places())?,
            (false, _) => HugeVec::zeroed(0)?,
        };
        Ok(Self { outward: out_degrees(part)?, inward })
    }
}

impl Program for Degrees {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let mut messages = quiet(part);
        if part.inward().is_none() {
            let count = |v| self.inward[v as usize].load(Ordering::Relaxed);
            if input.superstep == 0 {
                engine.visit("pass", Direction::Out, part.own_set(), &Count(&self.inward))?;
                // A count that wraps loses 2^32 of them.
                if total(&self.inward) != total(&self.outward) {
                    return Err(too_many());
                }
                messages = to_owners(part, |v| count(v) > 0, count);
            } else {
                let mut wraps = false;
                from_mirrors(part, input.inbox, |v, more: u32| {
                    let before = self.inward[v as usize].fetch_add(more, Ordering::Relaxed);
                    wraps |= before.checked_add(more).is_none();
                });
                if wraps {
                    return Err(too_many());
                }
            }
        }
        Ok(Step { messages, report: Vec::new() })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("inward", Cells::U32(&self.inward))]
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        let wide = |cells: &[AtomicU32]| {
            Values::U64(cells.iter().map(|cell| cell.load(Ordering::Relaxed).into()).collect())
        };
        if !part.is_directed {
            return vec![("degree", wide(&self.outward))];
        }
        let own = part.own();
        let first = if part.inward().is_none() { own.start as usize } else { 0 };
        let inward = &self.inward[first..first + own.len()];
        vec![("out_degree", wide(&self.outward)), ("in_degree", wide(inward))]
    }
}

/// Counts each entry at its target.
struct Count<'a>(&'a [AtomicU32]);

impl Kernel for Count<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        for &target in list.targets {
            self.0[target as usize].fetch_add(1, Ordering::Relaxed);
        }
    }
}

//! Push: each vertex adds to its out-neighbours; for directed graphs without in-edges.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Direction, Engine, EntryOrder, HugeVec, Kernel, List, VertexId};

use super::fixed::{from_fixed, to_fixed};
use super::restart::Restart;
use super::{Step, load, store};
use crate::parallel;
use crate::report::Result;

/// The state between iterations.
pub(super) struct Push<'e> {
    engine: &'e Engine,
    damping: f64,
    restart: Restart,
    ranks: HugeVec<AtomicU64>,
    /// The mass that each vertex has received, in fixed point.
    received: HugeVec<AtomicU64>,
}

impl<'e> Push<'e> {
    pub fn new(engine: &'e Engine, damping: f64, restart: Restart) -> Result<Self> {
        let n = engine.graph().vertices();
        let ranks = HugeVec::<AtomicU64>::zeroed(n)?;
        let start = restart.start();
        parallel::for_each_of(&ranks, |v, rank| store(rank, start.of(v as VertexId)));
        Ok(Self { engine, damping, restart, ranks, received: HugeVec::zeroed(n)? })
    }

    pub fn step(&mut self, iteration: u32) -> Result<Step> {
        let kernel = Scatter { ranks: &self.ranks, received: &self.received };
        let label = format!("iteration {iteration}");
        let locals = self.engine.visit(label, Direction::Out, ActiveSet::All, &kernel)?;
        let dangling = from_fixed(locals.into_iter().sum());
        let base = self.restart.base(dangling);
        let change = parallel::sum(self.ranks.len(), |v| {
            let (rank, received) = (&self.ranks[v], &self.received[v]);
            let mass = from_fixed(received.swap(0, Ordering::Relaxed));
            let after = base.of(v as VertexId) + self.damping * mass;
            let change = to_fixed((after - load(rank)).abs());
            store(rank, after);
            change
        });
        Ok(Step { change: from_fixed(change) })
    }

    pub fn ranks(self) -> HugeVec<AtomicU64> {
        self.ranks
    }
}

struct Scatter<'a> {
    ranks: &'a [AtomicU64],
    received: &'a [AtomicU64],
}

impl Kernel for Scatter<'_> {
    /// Mass of vertices without out-edges, in fixed point.
    type Local = u64;

    const ORDER: EntryOrder = EntryOrder::Any;

    fn local(&self) -> u64 {
        0
    }

    fn list(&self, dangling: &mut u64, list: &List<'_>) {
        let rank = load(&self.ranks[list.vertex as usize]);
        if list.degree == 0 {
            *dangling += to_fixed(rank);
            return;
        }
        let share = to_fixed(rank / list.degree as f64);
        for &target in list.targets {
            self.received[target as usize].fetch_add(share, Ordering::Relaxed);
        }
    }
}

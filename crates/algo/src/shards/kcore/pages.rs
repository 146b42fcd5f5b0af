//! Rounds of bounds over lists in pages.

use std::ops::Range;
use std::sync::atomic::Ordering;

use cenote_engine::{ActiveSet, Engine, Kernel, List, VertexId};

use super::Kcore;
use crate::neighbourhood::{self, Neighbourhood, directions};
use crate::parallel;
use crate::report::Result;
use crate::shards::Part;

/// Passes the neighbourhoods of active vertices, in the required memory: the optional memory is for
/// pruned lists.
pub(super) fn visit<V: Neighbourhood>(
    engine: &Engine,
    part: &Part,
    active: ActiveSet<'_>,
    kernel: &V,
) -> Result<()> {
    match part.is_directed {
        true => neighbourhood::visit_within(engine, "neighbourhoods", active, kernel, 0)?,
        false => neighbourhood::visit_out(engine, "neighbourhoods", active, kernel)?,
    };
    Ok(())
}

/// The first phase of a round, of active vertices: new bounds, and the support of these.
pub(super) fn lower(
    kcore: &Kcore,
    engine: &Engine,
    part: &Part,
    active: ActiveSet<'_>,
) -> Result<()> {
    visit(engine, part, active, &Lower { kcore })
}

/// The second phase, of the vertices in the frontier.
pub(super) fn withdraw(kcore: &Kcore, engine: &Engine, part: &Part) -> Result<()> {
    let kernel = Withdraw { kcore, own: part.own() };
    for &direction in directions(part.is_directed) {
        engine.visit("withdraw", direction, ActiveSet::In(&kcore.frontier), &kernel)?;
    }
    Ok(())
}

/// The second phase of boundary vertices whose bound fell, all of them within a range.
pub(super) fn lose(
    kcore: &mut Kcore,
    engine: &Engine,
    part: &Part,
    (least, most): (u32, u32),
) -> Result<()> {
    // Boundary vertices have no lists that lead to their neighbours here.
    let lost = |v: &VertexId| least < kcore.bound(*v) && kcore.bound(*v) <= most;
    let first = part.own().start;
    let affected = parallel::collect_of_blocks(parallel::BLOCK, part.own_count(), |range| {
        let own = first + range.start as VertexId..first + range.end as VertexId;
        own.filter(lost).collect::<Vec<_>>()
    });
    kcore.frontier.set(affected.iter().flatten());
    let kernel = Lost { kcore };
    for &direction in directions(part.is_directed) {
        engine.visit("boundary", direction, ActiveSet::In(&kcore.frontier), &kernel)?;
    }
    Ok(())
}

/// The bound of each vertex falls to what its neighbours allow, and its support is counted.
struct Lower<'a> {
    kcore: &'a Kcore,
}

impl Neighbourhood for Lower<'_> {
    /// For each bound how many neighbours have it.
    type Local = Vec<u32>;

    fn local(&self) -> Vec<u32> {
        Vec::new()
    }

    fn prefetch(&self, neighbours: &[VertexId]) {
        self.kcore.prefetch(neighbours);
    }

    fn take(&self, counts: &mut Vec<u32>, v: VertexId, neighbours: &[&[VertexId]]) {
        let before = self.kcore.bound(v);
        let length: usize = neighbours.iter().map(|some| some.len()).sum();
        let most = before.min(length as u32);
        counts.clear();
        counts.resize(most as usize + 1, 0);
        self.kcore.for_each_bound(neighbours, |u, bound| {
            counts[bound.min(most) as usize] += u32::from(u != v);
        });
        let (mut after, mut support) = (most, counts[most as usize]);
        while support < after {
            after -= 1;
            support += counts[after as usize];
        }
        let slot = self.kcore.slot(v);
        self.kcore.support(slot).store(support, Ordering::Relaxed);
        if after < before {
            self.kcore.fall(slot, after);
        }
    }
}

/// Each vertex whose bound fell no longer supports the neighbours that are between.
struct Withdraw<'a> {
    kcore: &'a Kcore,
    own: Range<VertexId>,
}

impl Kernel for Withdraw<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let (before, after) = (self.kcore.bound(list.vertex), self.kcore.next(list.vertex));
        for &u in list.targets.iter().filter(|u| self.own.contains(u) && **u != list.vertex) {
            let bound = self.kcore.next(u);
            if after < bound && bound <= before {
                self.kcore.lose(u, bound);
            }
        }
    }
}

/// The same for boundary vertices, from the lists of own ones.
struct Lost<'a> {
    kcore: &'a Kcore,
}

impl Kernel for Lost<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let bound = self.kcore.bound(list.vertex);
        for &u in list.targets.iter().filter(|u| self.kcore.fallen.contains(**u)) {
            if self.kcore.next(u) < bound && bound <= self.kcore.bound(u) {
                self.kcore.lose(list.vertex, bound);
            }
        }
    }
}

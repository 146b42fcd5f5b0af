//! Label propagation on a shard: [`crate::cdlp`], where owners send labels that have changed to
//! the shards that have the vertex in their boundary. Labels are numbers of vertices.
//!
//! **Trick.** The label of a vertex can change only if that of a neighbour did. A pass over the
//! list finds that out in a set of changed vertices, which is much smaller than the labels.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Assembled, Bitmap, Engine, EngineConfig, Frontier, HugeVec, VertexId,
    prefetch_of_many,
};

use super::Part;
use super::exchange::{from_owners, quiet, to_mirrors};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::cdlp::Frequent;
use crate::neighbourhood::{self, Neighbourhood};
use crate::parallel;
use crate::report::Result;

/// A label that is none: of a vertex that did not change, in a message of all.
const NONE: u32 = u32::MAX;

/// Memory: 8 bytes a vertex of the file, two sets, a frontier; 12 for each exchanged label; per
/// thread the labels of the longest neighbourhood; pieces of lists.
pub(super) fn bytes_for(part: &Part, config: &EngineConfig) -> u64 {
    let places = part.places();
    let longest = neighbourhood::entries_bound(&part.graph);
    let tables = config.threads as u64 * Frequent::bytes_for(longest);
    let sets = 2 * Bitmap::bytes_for(places) + Frontier::bytes_for(places, 1);
    8 * places as u64 + sets + 12 * part.exchanged() + tables + lists_bytes(part, config)
}

/// Bytes of visits of neighbourhoods.
pub(super) fn lists_bytes(part: &Part, config: &EngineConfig) -> u64 {
    match part.is_directed {
        true => neighbourhood::bytes_for(&part.graph, config).0,
        false => Assembled::bytes_for(&part.graph, config),
    }
}

/// Passes the neighbourhoods of active vertices.
pub(super) fn visit<V: Neighbourhood>(
    engine: &Engine,
    part: &Part,
    active: ActiveSet<'_>,
    kernel: &V,
) -> Result<Vec<V::Local>> {
    match part.is_directed {
        true => neighbourhood::visit(engine, "neighbourhoods", active, kernel),
        false => neighbourhood::visit_out(engine, "neighbourhoods", active, kernel),
    }
}

pub(super) struct Cdlp {
    labels: HugeVec<AtomicU32>,
    /// Labels after the iteration, of own vertices.
    next: HugeVec<AtomicU32>,
    /// Vertices whose label changed in the iteration before.
    changed: Bitmap,
    /// Own vertices whose label changes.
    changes: Bitmap,
    /// Whether any vertex may have changed.
    is_stale: bool,
}

impl Cdlp {
    pub fn new(part: &Part) -> Result<Self> {
        let labels = HugeVec::<AtomicU32>::zeroed(part.places())?;
        // Without a message a boundary vertex has its own number as label, as at its owner.
        parallel::for_each_of(&part.numbers, |v, &number| {
            labels[v].store(number as u32, Ordering::Relaxed);
        });
        Ok(Self {
            labels,
            next: HugeVec::zeroed(part.places())?,
            changed: Bitmap::new(part.places())?,
            changes: Bitmap::new(part.places())?,
            is_stale: true,
        })
    }

    fn label(&self, v: VertexId) -> u32 {
        self.labels[v as usize].load(Ordering::Relaxed)
    }

    fn propagate(&mut self, engine: &Engine, part: &Part) -> Result<u64> {
        let changed = if std::mem::take(&mut self.is_stale) { None } else { Some(&self.changed) };
        let kernel =
            Propagate { labels: &self.labels, next: &self.next, changed, changes: &self.changes };
        visit(engine, part, part.own_set(), &kernel)?;
        let mut count = 0;
        for v in self.changes.iter() {
            let label = self.next[v as usize].load(Ordering::Relaxed);
            self.labels[v as usize].store(label, Ordering::Relaxed);
            count += 1;
        }
        self.changed.clear();
        std::mem::swap(&mut self.changed, &mut self.changes);
        Ok(count)
    }
}

impl Program for Cdlp {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        if input.superstep == 0 {
            let report = vec![("changed", part.own_count() as u64)];
            return Ok(Step { messages: quiet(part), report });
        }
        from_owners(part, input.inbox, |v, label: u32| {
            if label != NONE {
                self.labels[v as usize].store(label, Ordering::Relaxed);
                self.changed.insert(v);
            }
        });
        let count = self.propagate(engine, part)?;
        let has_changed = |v| self.changed.contains(v);
        let label = |v| if has_changed(v) { self.label(v) } else { NONE };
        let messages = match input.is_set(0) {
            true => quiet(part),
            false => to_mirrors(part, has_changed, label),
        };
        Ok(Step { messages, report: vec![("changed", count)] })
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![("labels", Cells::U32(&self.labels))]
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        vec![("label", Values::U32(part.of_own(|v| self.label(v))))]
    }
}

/// Each vertex takes the most frequent label of its neighbours.
struct Propagate<'a> {
    labels: &'a [AtomicU32],
    next: &'a [AtomicU32],
    /// `None` if all may have changed.
    changed: Option<&'a Bitmap>,
    changes: &'a Bitmap,
}

impl Neighbourhood for Propagate<'_> {
    type Local = Frequent;

    fn local(&self) -> Frequent {
        Frequent::default()
    }

    fn prefetch(&self, neighbours: &[VertexId]) {
        prefetch_of_many(self.labels, neighbours);
    }

    fn take(&self, frequent: &mut Frequent, v: VertexId, neighbours: &[&[VertexId]]) {
        if let Some(changed) = self.changed
            && !neighbours.iter().copied().flatten().any(|&u| changed.contains(u))
        {
            return;
        }
        let Some(most) = frequent.of_neighbours(self.labels, neighbours) else { return };
        if most != self.labels[v as usize].load(Ordering::Relaxed) {
            self.next[v as usize].store(most, Ordering::Relaxed);
            self.changes.insert(v);
        }
    }
}

//! One step of delta-stepping: relaxes light and heavy edges of a frontier.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Bitmap, Direction, Engine, Frontier, FrontierPart, Kernel, List, Page, VertexId,
    Weights, prefetch,
};

use super::length::{Lengths, add_float, add_integer, for_each_sum};
use crate::report::Result;

/// Visits the frontier and calls [`Sums::path`] for every entry. Edges of a graph without weights
/// have length 1.
pub fn visit<S: Sums>(
    engine: &Engine,
    label: String,
    frontier: &Frontier,
    sums: &S,
) -> Result<Vec<S::Local>> {
    let (kernel, active) = (Each(sums), ActiveSet::In(frontier));
    Ok(if engine.graph().is_weighted() {
        engine.visit_weighted(label, Direction::Out, active, &kernel)?
    } else {
        engine.visit(label, Direction::Out, active, &kernel)?
    })
}

/// Processes the entries of lists with the lengths of the paths over them.
pub trait Sums: Sync {
    type Local: Send;

    fn local(&self) -> Self::Local;

    /// The distance of an active vertex.
    fn distance(&self, v: VertexId) -> u64;

    /// Called with targets of paths that follow soon.
    fn prefetch(&self, _targets: &[VertexId]) {}

    /// How lengths are added, for edges without weight.
    fn lengths(&self) -> Lengths;

    /// Called by each worker, on its thread, when its part is over.
    fn end(&self, _: &mut Self::Local) {}

    /// Processes a path of length `sum` to `target` over `source`, which is at `before`.
    fn path(
        &self,
        local: &mut Self::Local,
        source: VertexId,
        before: u64,
        target: VertexId,
        sum: u64,
    );
}

/// Calls `each` with the target and the length of every path over an entry of the list of `v`,
/// which is at `before`, in a page. `weights` are those of a range of the page's entries.
///
/// # Panics
/// If the page has no piece of the list.
#[inline(always)]
pub fn for_each_path(
    (page, v): (&Page<'_>, VertexId),
    (lengths, before): (Lengths, u64),
    weights: Option<&(Range<usize>, Weights<'_>)>,
    mut each: impl FnMut(VertexId, u64),
) {
    let targets = page.list_of(v).expect("the list is on the page").targets;
    if let Some((of, weights)) = weights {
        let start = page.start((v - page.first_vertex()) as usize) - of.start;
        let weights = weights.slice(start..start + targets.len());
        return for_each_sum(before, weights, |i, sum| each(targets[i], sum));
    }
    let sum = match lengths {
        Lengths::Floats => add_float(before, 1.0),
        Lengths::Integers => add_integer(before, 1),
    };
    targets.iter().for_each(|&target| each(target, sum));
}

/// Computes sums for lists with or without weights.
struct Each<'a, S>(&'a S);

impl<S: Sums> Kernel for Each<'_, S> {
    type Local = S::Local;

    fn local(&self) -> S::Local {
        self.0.local()
    }

    fn list(&self, local: &mut S::Local, list: &List<'_>) {
        let before = self.0.distance(list.vertex);
        let sum = match self.0.lengths() {
            Lengths::Floats => add_float(before, 1.0),
            Lengths::Integers => add_integer(before, 1),
        };
        for &target in list.targets {
            self.0.path(local, list.vertex, before, target, sum);
        }
    }

    fn prefetch(&self, targets: &[VertexId]) {
        self.0.prefetch(targets);
    }

    fn end(&self, local: &mut S::Local) {
        self.0.end(local);
    }

    fn weighted_list(&self, local: &mut S::Local, list: &List<'_>, weights: Weights<'_>) {
        let before = self.0.distance(list.vertex);
        for_each_sum(before, weights, |i, sum| {
            self.0.path(local, list.vertex, before, list.targets[i], sum);
        });
    }
}

/// Shortens distances.
pub struct Relax<'a> {
    pub distances: &'a [AtomicU64],
    pub lengths: Lengths,
    /// Vertices shortened to below `end`, to be visited next in this bucket.
    pub next: &'a Frontier,
    /// Vertices shortened to `end` or more, of a later bucket.
    pub far: &'a Bitmap,
    pub end: u64,
    /// Longer paths are ignored.
    pub bound: u64,
}

impl Sums for Relax<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn prefetch(&self, targets: &[VertexId]) {
        targets.iter().for_each(|&target| prefetch(self.distances, target as usize));
    }

    fn lengths(&self) -> Lengths {
        self.lengths
    }

    #[inline(always)]
    fn path(&self, part: &mut FrontierPart, _: VertexId, _: u64, target: VertexId, sum: u64) {
        let distance = &self.distances[target as usize];
        if sum >= distance.load(Ordering::Relaxed) || sum > self.bound {
            return;
        }
        if sum >= distance.fetch_min(sum, Ordering::Relaxed) {
            return;
        }
        keep_active(target, sum < self.end, (self.next, part), self.far);
    }
}

/// Notes that a distance fell: within the bucket in its next frontier, else in `far`.
#[inline(always)]
pub fn keep_active(
    v: VertexId,
    is_in_bucket: bool,
    (next, part): (&Frontier, &mut FrontierPart),
    far: &Bitmap,
) {
    if is_in_bucket {
        next.add(v, part);
        if far.contains(v) {
            far.remove(v);
        }
    } else if !far.contains(v) {
        far.insert(v);
    }
}

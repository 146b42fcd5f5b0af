//! Trimming without a pass for each step: a vertex without in-edges is on no cycle, and neither are
//! those that lose their last in-edge with it.
//!
//! **Source.** Trimming as in Multistep (see [`super`]), by counts of in-edges (Kahn, 1962).
//!
//! **Trick.** One pass counts the in-edges of each vertex, and keeps the target of a vertex that
//! has only one: such chains are followed in memory, so a long path takes that pass alone, in
//! whichever order it lies in the file. A vertex with more targets waits for a visit of its page.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Direction, Engine, HugeVec, Kernel, List, VertexId};

use super::known::Known;
use crate::report::Result;
use crate::worklist::{Follow, Worklist, follow};

/// Settles vertices that are on no cycle, and cycles that lead nowhere else. Returns how many.
/// `known.reached` is empty before and after; `active` is an empty set over the vertices.
pub(super) fn trim(engine: &Engine, known: &mut Known, active: &Bitmap) -> Result<u64> {
    assert_eq!(known.reached.count(), 0, "the search for the giant component has ended");
    let before = known.settled.count();
    let in_edges = HugeVec::zeroed(known.labels.len())?;
    let trim = Trim { known, in_edges };
    let unsettled = ActiveSet::NotIn(&known.settled);
    engine.visit_whole("count", Direction::Out, unsettled, &Count(&trim))?;
    let adjacency = engine.graph().adjacency(Direction::Out).expect("every graph has out-lists");
    let worklist = Worklist::new(adjacency, active)?;
    for v in 0..known.labels.len() as VertexId {
        let is_source = trim.in_edges[v as usize].load(Ordering::Relaxed) == 0;
        if is_source
            && !known.settled.contains(v)
            && let Some(last) = trim.remove(v)
        {
            worklist.activate(last, 0);
        }
    }
    follow(engine, "trim", Direction::Out, &worklist, &trim)?;
    trim.end_chains();
    drop(trim);
    known.reached.clear();
    Ok(known.settled.count() - before)
}

struct Trim<'a> {
    /// Here the label of an unsettled vertex is its only target that matters, or the vertex itself
    /// if there are more.
    known: &'a Known,
    /// For each unsettled vertex the edges from unsettled ones.
    in_edges: HugeVec<AtomicU32>,
}

impl Trim<'_> {
    /// The only target of an unsettled vertex.
    #[inline]
    fn only_target(&self, v: VertexId) -> Option<VertexId> {
        let target = self.known.labels[v as usize].load(Ordering::Relaxed);
        (target != v).then_some(target)
    }

    /// Settles `v`, which has no in-edges left, and those behind it that lose their last one.
    /// Returns the vertex whose list is still to be followed.
    fn remove(&self, mut v: VertexId) -> Option<VertexId> {
        loop {
            let only = self.only_target(v);
            self.known.settle(v, v);
            let Some(target) = only else { return Some(v) };
            if !self.takes_last_edge(target) {
                return None;
            }
            v = target;
        }
    }

    /// Takes an in-edge from a vertex; whether that was the last one.
    #[inline]
    fn takes_last_edge(&self, target: VertexId) -> bool {
        !self.known.settled.contains(target)
            && self.in_edges[target as usize].fetch_sub(1, Ordering::Relaxed) == 1
    }

    /// Follows each chain of vertices with one target to its end. Where that is a settled vertex,
    /// all of them are on no cycle; where it is a vertex of the chain, that is a cycle, and leads
    /// nowhere else; where it is a vertex with several targets, nothing follows.
    fn end_chains(&self) {
        let (known, seen) = (self.known, &self.known.reached);
        for first in 0..known.labels.len() as VertexId {
            let (mut v, mut length) = (first, 0u64);
            let end = loop {
                if known.settled.contains(v) {
                    break Some(v);
                }
                match self.only_target(v) {
                    None => break None,
                    Some(_) if seen.contains(v) => break Some(v),
                    Some(target) => {
                        seen.insert(v);
                        (v, length) = (target, length + 1);
                    }
                }
            };
            if let Some(end) = end.filter(|_| length > 0) {
                self.end_chain(first, length, end);
            }
        }
    }

    /// Settles a chain of so many vertices that leads to a settled vertex or to one of its own;
    /// does nothing if it leads to a vertex of an earlier chain.
    fn end_chain(&self, first: VertexId, length: u64, end: VertexId) {
        let known = self.known;
        let next = |v: VertexId| known.labels[v as usize].load(Ordering::Relaxed);
        if !known.settled.contains(end) {
            let (mut v, mut before) = (first, 0);
            while before < length && v != end {
                (v, before) = (next(v), before + 1);
            }
            if before == length {
                return;
            }
            let (mut smallest, mut v) = (end, next(end));
            while v != end {
                (smallest, v) = (smallest.min(v), next(v));
            }
            for _ in before..length {
                let target = next(v);
                known.settle(v, smallest);
                v = target;
            }
        }
        let mut v = first;
        while !known.settled.contains(v) {
            let target = next(v);
            known.settle(v, v);
            v = target;
        }
    }
}

impl Follow for Trim<'_> {
    fn edge(&self, source: VertexId, target: VertexId) -> Option<VertexId> {
        if source == target || !self.takes_last_edge(target) { None } else { self.remove(target) }
    }
}

/// Counts in-edges, and settles vertices without targets that matter.
struct Count<'a>(&'a Trim<'a>);

impl Kernel for Count<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let (Trim { known, in_edges }, v) = (self.0, list.vertex);
        let (mut targets, mut last) = (0u64, v);
        let matters = known.process(v, list.targets, |target| {
            in_edges[target as usize].fetch_add(1, Ordering::Relaxed);
            (targets, last) = (targets + 1, target);
        });
        if matters {
            let only = if targets == 1 { last } else { v };
            known.labels[v as usize].store(only, Ordering::Relaxed);
        }
    }
}

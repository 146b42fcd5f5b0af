//! Loads the lists of all vertices that remain, where they fit in memory: one pass, whatever the
//! depth of the graph.

use std::sync::atomic::Ordering;

use cenote_engine::{ActiveSet, Engine, Graph, Kernel, List};

use super::bounds::Bounds;
use super::peel::{WORDS_BESIDE, peel};
use crate::neighbourhood::directions;
use crate::report::{AlgoError, Result, pages};
use crate::residual::{Kept, Parts, ResidualPart};

/// Words of a list in memory beside its targets.
pub(super) const LIST_WORDS: u64 = WORDS_BESIDE as u64 + 2;

/// Bytes of so many lists in memory, each piece of a list for itself.
pub(super) fn bytes_for(graph: &Graph, lists: u64, entries: u64) -> u64 {
    let pages: u64 =
        directions(graph.is_directed()).iter().map(|&direction| pages(graph, direction)).sum();
    let pieces = lists * directions(graph.is_directed()).len() as u64 + pages;
    4 * (entries + pieces * LIST_WORDS)
}

/// Finds the remaining core numbers in memory, in at most `bytes`.
pub(super) fn finish(engine: &Engine, bounds: &mut Bounds, bytes: u64) -> Result<()> {
    let graph = engine.graph();
    let workers = engine.config().threads;
    bounds.count.iter_mut().for_each(|count| *count.get_mut() = 0);
    let is_first = bounds.done.iter().next().is_none();
    // All together fit, whatever the share of each worker: only what is written takes memory.
    let mut parts = Parts::new(bytes * workers as u64, workers, WORDS_BESIDE)?;
    for direction in directions(graph.is_directed()) {
        let load = Load { bounds, parts, is_first };
        let active = ActiveSet::NotIn(&bounds.done);
        let filled = engine.visit("remaining lists", *direction, active, &load)?;
        if filled.iter().any(ResidualPart::is_full) {
            let fault = "the remaining lists are longer than their degrees say".to_owned();
            return Err(AlgoError::Contradiction { file: graph.device().name(), fault });
        }
        parts = Parts::of(filled);
    }
    engine.check_cancel()?;
    peel(&parts.into_parts(), bounds, bounds.lowest, || Ok(engine.check_cancel()?))?;
    bounds.finish();
    Ok(())
}

/// Keeps the entries between vertices that remain, and counts all to them or to inner cores.
struct Load<'a> {
    bounds: &'a Bounds,
    parts: Parts,
    /// Whether no vertex is done, so that all entries are kept but loops.
    is_first: bool,
}

impl Kernel for Load<'_> {
    type Local = ResidualPart;

    fn local(&self) -> ResidualPart {
        self.parts.take()
    }

    fn list(&self, part: &mut ResidualPart, list: &List<'_>) {
        let v = list.vertex;
        if part.is_full() || self.bounds.done.contains(v) {
            return;
        }
        let kept = Kept { vertex: v, whole: list.is_whole() };
        let mut counted = 0;
        if self.is_first && !list.targets.contains(&v) {
            part.keep(kept, list.targets);
            counted = list.targets.len() as u32;
        } else {
            part.begin();
            for &target in list.targets.iter().filter(|&&target| target != v) {
                let bound = self.bounds.get(target);
                counted += u32::from(bound >= self.bounds.lowest);
                if self.bounds.is_open(bound) {
                    part.push(target);
                }
            }
            part.end(kept);
        }
        self.bounds.count[v as usize].fetch_add(counted, Ordering::Relaxed);
    }
}

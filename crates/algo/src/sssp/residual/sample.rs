//! How many edges the residual graph would have, from some pages.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Direction, Engine, Kernel, NamedPages, Page, PageTask, Purpose, VertexId};

use crate::csr::entries;
use crate::report::{Result, pages};
use crate::sssp::length::Lengths;
use crate::sssp::relax::for_each_path;

/// Bytes of pages that are looked at, but two pages at least.
const PAGES_BYTES: u64 = 96 << 10;

/// Looks at edges that would be kept.
pub(super) struct Sample<'a> {
    pub engine: &'a Engine,
    pub distances: &'a [AtomicU64],
    pub lengths: Lengths,
    /// Distances that are not final are at least this.
    pub from: u64,
    /// Longer paths are ignored.
    pub bound: u64,
}

/// What it has found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// About how many edges would be kept.
    pub edges: f64,
    /// Of a list that has any.
    pub of_list: f64,
}

impl Sample<'_> {
    pub fn take(&self) -> Result<Found> {
        let graph = self.engine.graph();
        let all = pages(graph, Direction::Out);
        let count = (PAGES_BYTES / u64::from(graph.superblock().page_bytes)).max(2).min(all);
        let page = |i: u64| PageTask { page: (2 * i + 1) * all / (2 * count), from: 0, to: 0 };
        let tasks: Vec<_> = (0..count).map(page).collect();
        let pages = NamedPages::of_pass(&tasks);
        let found = self.engine.visit_weighted_pages("sample", Direction::Out, pages, self)?;
        let of_all = |count: fn(&Part) -> u64| found.iter().map(count).sum::<u64>() as f64;
        let (kept, seen) = (of_all(|part| part.kept), of_all(|part| part.seen));
        let edges = kept * entries(graph) as f64 / seen.max(1.0);
        Ok(Found { edges, of_list: kept / of_all(|part| part.lists).max(1.0) })
    }

    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Part {
    kept: u64,
    seen: u64,
    lists: u64,
}

impl Kernel for Sample<'_> {
    type Local = Part;

    fn local(&self) -> Part {
        Part::default()
    }

    fn page(&self, part: &mut Part, page: &Page<'_>, purpose: &Purpose<'_>) {
        part.seen += page.entries().len() as u64;
        for list in page.lists().filter(|list| self.distance(list.vertex) > self.from) {
            let before = part.kept;
            let (start, weights) = ((self.lengths, self.from), purpose.weights.as_ref());
            for_each_path((page, list.vertex), start, weights, |target, low| {
                part.kept += u64::from(low <= self.bound && low < self.distance(target));
            });
            part.lists += u64::from(part.kept > before);
        }
    }
}

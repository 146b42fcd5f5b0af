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
pub(super) struct Found {
    /// The least lengths of paths over edges that would be kept, ascending.
    lows: Vec<u64>,
    /// How many edges of the graph one of these stands for.
    times: f64,
    /// Edges that would be kept of a list that has any.
    pub of_list: f64,
}

impl Found {
    /// About how many edges would be kept.
    pub fn edges(&self) -> f64 {
        self.lows.len() as f64 * self.times
    }

    /// About where to limit lengths so that so many are kept; `None` if they are not more.
    pub fn limit(&self, edges: f64) -> Option<u64> {
        self.lows.get((edges / self.times) as usize).copied()
    }
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
        let (mut lows, mut seen, mut lists) = (Vec::new(), 0, 0);
        for part in found {
            lows.extend(part.lows);
            (seen, lists) = (seen + part.seen, lists + part.lists);
        }
        lows.sort_unstable();
        let of_list = lows.len() as f64 / f64::max(lists as f64, 1.0);
        Ok(Found { lows, times: entries(graph) as f64 / f64::max(seen as f64, 1.0), of_list })
    }

    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Part {
    lows: Vec<u64>,
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
            let before = part.lows.len();
            let (start, weights) = ((self.lengths, self.from), purpose.weights.as_ref());
            for_each_path((page, list.vertex), start, weights, |target, low| {
                if low <= self.bound && low < self.distance(target) {
                    part.lows.push(low);
                }
            });
            part.lists += u64::from(part.lows.len() > before);
        }
    }
}

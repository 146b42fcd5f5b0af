//! Whether edges lead nearby in the file, by a look at some pages.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    Direction, Engine, Kernel, List, NamedPages, Page, PageTask, Purpose, VertexId,
};

use crate::csr::entries;
use crate::report::{Result, pages};

/// Pages whose edges are looked at.
const SAMPLE_PAGES: u64 = 32;

/// Edges lead nearby if this share of them stays within blocks of vertices with so many entries (16
/// raw pages), of which there are at least this many. Measured: 0.51 to 0.61 on web graphs and a
/// map, whose shortest paths take a fifth to two thirds of the time page by page; at most 0.27 on
/// other networks, whose take up to four times as long.
const NEAR: f64 = 0.4;
const NEAR_ENTRIES: u64 = 16 << 10;
const NEAR_BLOCKS: u64 = 64;

/// Whether many edges lead nearby in the file, as links of web pages do in the order of their
/// addresses. Visits of single pages then follow most paths within a page.
pub(crate) fn leads_nearby(engine: &Engine) -> Result<bool> {
    let graph = engine.graph();
    let vertices = graph.vertices() as u64;
    let block = (NEAR_ENTRIES * vertices / entries(graph).max(1)).max(1);
    Ok(block <= vertices / NEAR_BLOCKS && share_near(engine, block)? >= NEAR)
}

/// The share of edges that stay within the same block of so many vertices.
pub(crate) fn share_near(engine: &Engine, vertices: u64) -> Result<f64> {
    let all = pages(engine.graph(), Direction::Out);
    let sample = SAMPLE_PAGES.min(all);
    let page = |i: u64| PageTask { page: (2 * i + 1) * all / (2 * sample), from: 0, to: 0 };
    let tasks: Vec<_> = (0..sample).map(page).collect();
    let near = Near { vertices, near: AtomicU64::new(0), all: AtomicU64::new(0) };
    engine.visit_pages("sample", Direction::Out, NamedPages::of_pass(&tasks), &near)?;
    Ok(near.near.into_inner() as f64 / near.all.into_inner().max(1) as f64)
}

/// Counts edges by whether they stay in the same block of vertices.
struct Near {
    /// Vertices of a block.
    vertices: u64,
    near: AtomicU64,
    all: AtomicU64,
}

impl Kernel for Near {
    type Local = ();

    fn local(&self) {}

    fn page(&self, (): &mut (), page: &Page<'_>, _: &Purpose<'_>) {
        let block = |v: VertexId| u64::from(v) / self.vertices;
        let near = |list: List<'_>| {
            let of_list = block(list.vertex);
            list.targets.iter().filter(|&&target| block(target) == of_list).count() as u64
        };
        self.near.fetch_add(page.lists().map(near).sum(), Ordering::Relaxed);
        self.all.fetch_add(page.entries().len() as u64, Ordering::Relaxed);
    }
}

//! Whether edges lead nearby in the file, by a look at some pages.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    Direction, Engine, Kernel, List, NamedPages, Page, PageTask, Purpose, VertexId,
};

use crate::report::{Result, pages};

/// Pages whose edges are looked at.
const SAMPLE_PAGES: u64 = 32;

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

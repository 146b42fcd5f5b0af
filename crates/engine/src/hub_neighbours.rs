//! Visits of the hub neighbours: for every vertex, the three neighbours with the longest lists.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_pool::scan::Extent;
use cenote_store::HubNeighboursSection;

use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Work};
use crate::kernel::Kernel;

impl Engine {
    /// Passes the hub neighbours of all vertices to the kernel, and returns the workers' locals.
    /// The section is streamed in file order and not cached.
    ///
    /// # Errors
    /// As [`Engine::visit`]; [`EngineError::Missing`] if the graph has no hub neighbours.
    pub fn visit_hub_neighbours<K: Kernel>(
        &self,
        label: impl Into<String>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let section = self.graph.hub_neighbours();
        let section = section.ok_or(EngineError::Missing { what: "hub neighbours" })?;
        let next = AtomicU64::new(0);
        self.on_workers(label.into(), None, Some(section.pages()), |reads| {
            reads.extents();
            let (local, rest) = (kernel.local(), 0..0);
            let mut sweep =
                Sweep { engine: self, section: &section, next: &next, rest, kernel, local };
            reads.run(&mut sweep)?;
            Ok(sweep.local)
        })
    }
}

/// One worker's part.
struct Sweep<'a, K: Kernel> {
    engine: &'a Engine,
    section: &'a HubNeighboursSection,
    /// First page that no worker has taken.
    next: &'a AtomicU64,
    /// Pages that this worker has taken and not submitted.
    rest: Range<u64>,
    kernel: &'a K,
    local: K::Local,
}

impl<K: Kernel> Work for Sweep<'_, K> {
    /// Its pages in the section.
    type Load = Range<u64>;

    fn next(&mut self, _: bool, _: &mut Counts) -> Result<Next<Range<u64>>> {
        let graph = &self.engine.graph;
        if self.rest.is_empty() {
            let most = (self.engine.schedule.request_bytes / graph.page_bytes()) as u64;
            let first = self.next.fetch_add(most, Ordering::Relaxed);
            self.rest = first..(first + most).min(self.section.pages());
        }
        let (section, first) = (self.section.first_page(), self.rest.start);
        let Some(run) = graph.extents(section + first..section + self.rest.end).next() else {
            return Ok(Next::Nothing);
        };
        self.rest.start += run.pages;
        let extent =
            Extent { first_page: run.physical, pages: run.pages, load: first..self.rest.start };
        Ok(Next::Read(extent, run.pages))
    }

    fn arrived(&mut self, load: Range<u64>, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        for page in load {
            let bytes = pages.page(self.engine.graph.physical(self.section.first_page() + page));
            let (vertex, hubs) = self.section.parse(page, bytes)?;
            self.kernel.hub_neighbours(&mut self.local, vertex, hubs);
        }
        Ok(())
    }
}

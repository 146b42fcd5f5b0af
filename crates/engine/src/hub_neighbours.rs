//! Visits of the hub neighbours: for every vertex, the three neighbours with the longest lists.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::Slab;
use cenote_pool::scan::Extent;
use cenote_store::{HubNeighbours, HubNeighboursSection, VertexId};

use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Work};
use crate::kernel::Kernel;
use crate::workers::Step;

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
        self.sweep(label.into(), &section, 0..section.pages(), kernel)
    }

    /// The same with the hub neighbours of a part of a graph, as a shard: those of some vertices,
    /// and of others on the same pages.
    ///
    /// # Errors
    /// As [`Engine::visit_hub_neighbours`].
    pub fn visit_hub_neighbours_of_part<K: Kernel>(
        &self,
        label: impl Into<String>,
        vertices: Range<VertexId>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let section = self.graph.hub_neighbours_of_part();
        let section = section.ok_or(EngineError::Missing { what: "hub neighbours of a part" })?;
        let pages = section.pages_of(vertices);
        self.sweep(label.into(), &section, pages, kernel)
    }

    fn sweep<K: Kernel>(
        &self,
        label: String,
        section: &HubNeighboursSection,
        pages: Range<u64>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let next = AtomicU64::new(pages.start);
        let count = Some(pages.end - pages.start);
        let step = Step { label, frontier: None, pages: count, raw_pages: count };
        self.on_workers(step, |reads| {
            reads.extents();
            let mut local = kernel.local();
            let mut take = |first: VertexId, hubs: &[HubNeighbours]| {
                kernel.hub_neighbours(&mut local, first, hubs);
            };
            reads.run(&mut Sweep {
                engine: self,
                section,
                end: pages.end,
                next: &next,
                rest: 0..0,
                loads: Slab::with_capacity(0),
                take: &mut take,
            })?;
            Ok(local)
        })
    }
}

/// One worker's part.
struct Sweep<'a> {
    engine: &'a Engine,
    section: &'a HubNeighboursSection,
    /// The end of the pages that are read.
    end: u64,
    /// First page that no worker has taken.
    next: &'a AtomicU64,
    /// Pages that this worker has taken and not submitted.
    rest: Range<u64>,
    /// The pages of each request, in the section.
    loads: Slab<Range<u64>>,
    take: &'a mut dyn FnMut(VertexId, &[HubNeighbours]),
}

impl Work for Sweep<'_> {
    fn next(&mut self, _: bool, _: &mut Counts) -> Result<Next> {
        let graph = &self.engine.graph;
        if self.rest.is_empty() {
            let most = self.engine.schedule.request_pages();
            let first = self.next.fetch_add(most, Ordering::Relaxed);
            self.rest = first.min(self.end)..(first + most).min(self.end);
        }
        let (section, first) = (self.section.first_page(), self.rest.start);
        let Some(run) = graph.extents(section + first..section + self.rest.end).next() else {
            return Ok(Next::Nothing);
        };
        self.rest.start += run.pages;
        let load = self.loads.insert(first..self.rest.start);
        Ok(Next::Read(Extent { first_page: run.physical, pages: run.pages, load }, run.pages))
    }

    fn arrived(&mut self, load: u64, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        for page in self.loads.remove(load) {
            let bytes = pages.page(self.engine.graph.physical(self.section.first_page() + page));
            let (vertex, hubs) = self.section.parse(page, bytes)?;
            (self.take)(vertex, hubs);
        }
        Ok(())
    }
}

//! A visit of the hub neighbours: of every vertex the three neighbours with the longest lists.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_pool::scan::{Arrived, Extent};
use cenote_store::{HubNeighbours, HubNeighboursSection, VertexId};

use crate::engine::Engine;
use crate::error::Result;
use crate::tasks::PageTask;
use crate::worker::{Counts, with_scan};

/// A step over hub neighbours. Shared by the workers; each has a [`HubNeighboursKernel::Local`] of its own.
pub trait HubNeighboursKernel: Sync {
    /// What a worker gathers by itself during a visit, given back at its end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// Takes the hub neighbours of consecutive vertices, from `first` on. They come in no fixed order, from
    /// many threads, each once.
    fn hub_neighbours(
        &self,
        local: &mut Self::Local,
        first: VertexId,
        hub_neighbours: &[HubNeighbours],
    );
}

impl Engine {
    /// Brings the hub neighbours of all vertices to the kernel, and gives back what each worker gathered.
    /// They are read in whole, in the order of the file, and none stays in memory.
    ///
    /// # Panics
    /// If the graph has none.
    pub fn visit_hub_neighbours<K: HubNeighboursKernel>(
        &self,
        label: impl Into<String>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let hub_neighbours = self
            .graph
            .hub_neighbours()
            .expect("the algorithm asked whether there are hub neighbours");
        let sweep = Sweep { engine: self, hub_neighbours, next: AtomicU64::new(0), kernel };
        let pages = Some(sweep.hub_neighbours.pages());
        self.on_workers(label.into(), None, pages, || sweep.work())
    }
}

struct Sweep<'a, K> {
    engine: &'a Engine,
    hub_neighbours: HubNeighboursSection,
    /// First page that nobody has taken.
    next: AtomicU64,
    kernel: &'a K,
}

impl<K: HubNeighboursKernel> Sweep<'_, K> {
    /// One worker's part.
    fn work(&self) -> Result<(K::Local, Counts)> {
        let mut local = self.kernel.local();
        let mut counts = Counts::default();
        with_scan(self.engine, |scan, depth| {
            loop {
                while scan.has_room() && scan.in_flight() < depth.depth() && !self.is_stopped() {
                    let Some(extent) = self.next_extent(&mut counts) else { break };
                    scan.start(extent);
                }
                if scan.in_flight() == 0 {
                    return Ok(());
                }
                let before_ns = self.engine.clock.now_ns();
                scan.collect(true)?;
                depth.waited(self.engine.clock.now_ns() - before_ns);
                while let Some(arrived) = scan.next_arrived() {
                    let worth = self.engine.schedule.extent_seconds(arrived.extent.pages);
                    depth.arrived(self.engine.clock.now_ns(), worth);
                    self.process(&arrived, &mut local)?;
                    scan.recycle(arrived);
                }
            }
        })?;
        Ok((local, counts))
    }

    fn is_stopped(&self) -> bool {
        self.engine.config.cancel.is_raised()
    }

    fn next_extent(&self, counts: &mut Counts) -> Option<Extent<Vec<PageTask>>> {
        let page_bytes = self.engine.graph.page_bytes();
        let most = (self.engine.schedule.request_bytes() / page_bytes) as u64;
        let first = self.next.fetch_add(most, Ordering::Relaxed);
        let pages =
            self.hub_neighbours.pages().checked_sub(first).filter(|&left| left > 0)?.min(most);
        counts.requests += 1;
        counts.bytes += pages * page_bytes as u64;
        counts.pages_read += pages;
        counts.pages_fetched += pages;
        Some(Extent {
            first_page: self.hub_neighbours.first_page() + first,
            pages,
            load: Vec::new(),
        })
    }

    fn process(&self, arrived: &Arrived<Vec<PageTask>>, local: &mut K::Local) -> Result<()> {
        let Extent { first_page, pages, .. } = arrived.extent;
        for number in first_page..first_page + pages {
            let bytes = arrived.page(number, self.engine.graph.page_bytes());
            let (first, hub_neighbours) =
                self.hub_neighbours.parse(number - self.hub_neighbours.first_page(), bytes)?;
            self.kernel.hub_neighbours(local, first, hub_neighbours);
        }
        Ok(())
    }
}

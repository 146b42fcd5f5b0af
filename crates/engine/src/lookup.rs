//! Look-ups of single lists, for serial work.

use std::sync::atomic::AtomicBool;

use cenote_pool::scan::Extent;
use cenote_store::{Adjacency, Decoded, Direction, EntryOrder, List, VertexId};

use crate::engine::{BusyGuard, Engine};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Fetcher, Next, Pages, Work};

/// Fetches single lists; reads the pages of a long list in parallel.
pub struct Lookup<'e> {
    engine: &'e Engine,
    adjacency: &'e Adjacency,
    /// None while a list is fetched, and after an error.
    fetcher: Option<Fetcher>,
    counts: Counts,
    decoded: Decoded,
    /// Page buffers for reuse.
    spare: Vec<Box<[u64]>>,
    started_ns: u64,
    _busy: BusyGuard<'e>,
}

impl Engine {
    /// Begins a series of look-ups on the calling thread.
    ///
    /// # Errors
    /// [`EngineError::Missing`](crate::EngineError::Missing) if the graph has no lists of the
    /// direction; [`EngineError::Busy`](crate::EngineError::Busy) during a visit or another
    /// look-up.
    pub fn lookup(&self, direction: Direction) -> Result<Lookup<'_>> {
        let busy = self.begin()?;
        Ok(Lookup {
            engine: self,
            adjacency: self.adjacency(direction)?,
            fetcher: None,
            counts: Counts::default(),
            decoded: Decoded::new(),
            spare: Vec::new(),
            started_ns: self.clock.now_ns(),
            _busy: busy,
        })
    }
}

impl Lookup<'_> {
    /// Calls `show` with the pieces of a list, from its end to its beginning.
    ///
    /// # Errors
    /// A page that cannot be read or is damaged;
    /// [`EngineError::Vertex`](crate::EngineError::Vertex) if there is no such vertex.
    pub fn list_backwards(&mut self, v: VertexId, mut show: impl FnMut(&List<'_>)) -> Result<()> {
        self.engine.check_vertex(v)?;
        let pages = self.adjacency.pages_of(v);
        let mut fetcher = self.fetcher.take().unwrap_or_else(|| Fetcher::take(self.engine));
        let failed = AtomicBool::new(false);
        let mut reads = fetcher.reads(self.engine, &failed);
        let mut backwards = Backwards {
            engine: self.engine,
            adjacency: self.adjacency,
            vertex: v,
            first: *pages.start(),
            submitted: pages.end() + 1,
            due: pages.end() + 1,
            early: Vec::new(),
            spare: &mut self.spare,
            decoded: &mut self.decoded,
            show: &mut show,
        };
        reads.run(&mut backwards)?;
        self.engine.check_cancel()?;
        self.counts += reads.counts;
        self.fetcher = Some(fetcher);
        Ok(())
    }

    /// Records all reads as one step.
    pub fn finish(mut self, label: &str) {
        if let Some(fetcher) = self.fetcher.take() {
            fetcher.put_back(self.engine);
        }
        self.engine.record(label.to_owned(), None, self.counts, self.started_ns);
    }
}

/// The read of one list, from its last page to its first.
struct Backwards<'a> {
    engine: &'a Engine,
    adjacency: &'a Adjacency,
    vertex: VertexId,
    first: u64,
    /// Pages from `submitted` on were submitted, pages from `due` on were shown.
    submitted: u64,
    due: u64,
    /// Pages that arrived out of order.
    early: Vec<(u64, Box<[u64]>)>,
    spare: &'a mut Vec<Box<[u64]>>,
    decoded: &'a mut Decoded,
    show: &'a mut dyn FnMut(&List<'_>),
}

impl Backwards<'_> {
    fn physical(&self, page: u64) -> u64 {
        self.engine.graph.physical(self.adjacency.first_page() + page)
    }

    fn show(&mut self, page: u64, bytes: &[u8]) -> Result<()> {
        let Self { engine, adjacency, vertex, decoded, show, .. } = self;
        let wanted = (&[*vertex][..], EntryOrder::Ascending);
        engine.unpacked.lists(adjacency, (page, bytes), wanted, decoded, show)?;
        self.due = page;
        Ok(())
    }
}

impl Work for Backwards<'_> {
    fn next(&mut self, _: bool, _: &mut Counts) -> Result<Next> {
        let ahead = self.engine.schedule.worker_depth() as u64;
        if self.submitted == self.first || self.due - self.submitted >= ahead {
            return Ok(Next::Nothing);
        }
        self.submitted -= 1;
        let (page, first_page) = (self.submitted, self.physical(self.submitted));
        Ok(Next::Read(Extent { first_page, pages: 1, load: page }, 1))
    }

    fn arrived(&mut self, page: u64, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        let bytes = pages.page(self.physical(page));
        if !pages.is_verified() {
            self.adjacency.verify(page, bytes)?;
        }
        if page + 1 != self.due {
            let spare = self.spare.pop().unwrap_or_else(|| vec![0; bytes.len() / 8].into());
            self.early.push((page, spare));
            let copy = self.early.last_mut().map(|(_, words)| bytemuck::cast_slice_mut(words));
            copy.into_iter().for_each(|copy: &mut [u8]| copy.copy_from_slice(bytes));
            return Ok(());
        }
        self.show(page, bytes)?;
        while let Some(at) = self.early.iter().position(|(page, _)| page + 1 == self.due) {
            let (page, words) = self.early.swap_remove(at);
            self.show(page, bytemuck::cast_slice(&words))?;
            self.spare.push(words);
        }
        Ok(())
    }
}

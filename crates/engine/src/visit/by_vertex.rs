//! The strategy `vertex` (CAVE's `ProcessQueue`): each vertex submits its pages to the pool; a page
//! for which several vertices of a worker wait is submitted once.

use cenote_pool::scan::Extent;
use cenote_store::{Decoded, VertexId};
use rustc_hash::FxHashMap;

use super::Visit;
use super::dispatch::{Dispatch, Fetched, Plain};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Reads, Work};
use crate::kernel::Kernel;
use crate::tasks::PageTask;

pub(super) struct ByVertex<'v, K: Kernel> {
    visit: &'v Visit<'v, Plain<'v, K>>,
    local: K::Local,
    decoded: Decoded,
    tasks: std::vec::IntoIter<PageTask>,
    /// The current page, and its active vertices that do not wait for it yet, in reverse order.
    page: u64,
    vertices: Vec<VertexId>,
    waiting: FxHashMap<u64, Vec<VertexId>>,
}

impl<'v, K: Kernel> ByVertex<'v, K> {
    pub fn new(visit: &'v Visit<'v, Plain<'v, K>>, reads: &mut Reads<'_>) -> Self {
        Self {
            visit,
            local: visit.dispatch.local(),
            decoded: std::mem::take(reads.decoded),
            tasks: Vec::new().into_iter(),
            page: 0,
            vertices: Vec::new(),
            waiting: FxHashMap::default(),
        }
    }

    /// Returns the decode buffer to `reads`, and the local.
    pub fn finish(self, reads: &mut Reads<'_>) -> K::Local {
        *reads.decoded = self.decoded;
        self.local
    }

    /// The next vertex that needs [`ByVertex::page`].
    fn next_vertex(&mut self) -> Option<VertexId> {
        let Visit { adjacency, source, dispatch, .. } = self.visit;
        loop {
            if let Some(v) = self.vertices.pop() {
                return Some(v);
            }
            let Some(task) = self.tasks.next() else {
                let mut tasks = Vec::new();
                if !source.next_chunk(&mut tasks) {
                    return None;
                }
                self.tasks = tasks.into_iter();
                continue;
            };
            self.page = task.page;
            match dispatch.active.list() {
                Some(list) => {
                    let listed = &list[task.from as usize..task.to as usize];
                    self.vertices.extend(listed.iter().rev());
                }
                None => {
                    let there = adjacency.vertices_in(task.page).rev();
                    self.vertices.extend(there.filter(|&v| dispatch.active.contains(v)));
                }
            }
        }
    }
}

impl<K: Kernel> Work for ByVertex<'_, K> {
    /// The page.
    type Load = u64;

    const ARRIVED_FIRST: bool = true;
    const SUBMITTED_MAX: usize = 1;

    fn next(&mut self, _: bool, _: &mut Counts) -> Result<Next<u64>> {
        while let Some(v) = self.next_vertex() {
            if let Some(vertices) = self.waiting.get_mut(&self.page) {
                vertices.push(v);
                continue;
            }
            self.waiting.insert(self.page, vec![v]);
            let first_page = self.visit.physical(self.page);
            return Ok(Next::Read(Extent { first_page, pages: 1, load: self.page }, 1));
        }
        Ok(Next::Nothing)
    }

    fn arrived(&mut self, page: u64, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        let Visit { adjacency, dispatch, .. } = self.visit;
        let vertices = self.waiting.remove(&page).expect("a vertex waits for the page");
        let bytes = pages.page(self.visit.physical(page));
        let task = PageTask { page, from: 0, to: 0 };
        let fetched = Fetched { adjacency, bytes, task };
        dispatch.lists(&mut self.local, fetched, &vertices, &mut self.decoded)
    }
}

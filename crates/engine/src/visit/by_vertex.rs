//! The strategy `vertex` (CAVE's `ProcessQueue`): each vertex submits its pages to the pool; a page
//! for which several vertices of a worker wait is submitted once.

use cenote_pool::scan::Extent;
use cenote_store::{Decoded, List, VertexId};
use rustc_hash::FxHashMap;

use super::{Section, Visit};
use crate::error::Result;
use crate::explain::Counts;
use crate::fetch::{Next, Pages, Reads, Work};
use crate::frontier::ActiveSet;
use crate::tasks::PageTask;

struct ByVertex<'v> {
    visit: &'v Visit<'v>,
    active: ActiveSet<'v>,
    /// Takes the lists.
    take: &'v mut dyn FnMut(&List<'_>),
    decoded: Decoded,
    tasks: std::vec::IntoIter<PageTask>,
    /// The current page, and its active vertices that do not wait for it yet, in reverse order.
    page: u64,
    vertices: Vec<VertexId>,
    waiting: FxHashMap<u64, Vec<VertexId>>,
}

/// Passes the active lists to `take`, those of one worker.
pub(super) fn run(
    visit: &Visit<'_>,
    active: ActiveSet<'_>,
    take: &mut dyn FnMut(&List<'_>),
    reads: &mut Reads<'_>,
) -> Result<()> {
    let mut work = ByVertex {
        visit,
        active,
        take,
        decoded: std::mem::take(reads.decoded),
        tasks: Vec::new().into_iter(),
        page: 0,
        vertices: Vec::new(),
        waiting: FxHashMap::default(),
    };
    reads.run(&mut work)?;
    *reads.decoded = work.decoded;
    Ok(())
}

impl ByVertex<'_> {
    /// The next vertex that needs [`ByVertex::page`].
    fn next_vertex(&mut self) -> Option<VertexId> {
        let Visit { adjacency, source, .. } = self.visit;
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
            match self.active.list() {
                Some(list) => {
                    let listed = &list[task.from as usize..task.to as usize];
                    self.vertices.extend(listed.iter().rev());
                }
                None => {
                    let there = adjacency.vertices_in(task.page).rev();
                    self.vertices.extend(there.filter(|&v| self.active.contains(v)));
                }
            }
        }
    }
}

impl Work for ByVertex<'_> {
    fn processes_arrived_first(&self) -> bool {
        true
    }

    fn submitted_max(&self) -> usize {
        1
    }

    fn next(&mut self, _: bool, _: &mut Counts) -> Result<Next> {
        while let Some(v) = self.next_vertex() {
            if let Some(vertices) = self.waiting.get_mut(&self.page) {
                vertices.push(v);
                continue;
            }
            self.waiting.insert(self.page, vec![v]);
            let first_page = self.visit.physical(Section::Lists, self.page);
            return Ok(Next::Read(Extent { first_page, pages: 1, load: self.page }, 1));
        }
        Ok(Next::Nothing)
    }

    fn arrived(&mut self, page: u64, pages: &Pages<'_>, _: &mut Counts) -> Result<()> {
        let vertices = self.waiting.remove(&page).expect("a vertex waits for the page");
        let bytes = pages.page(self.visit.physical(Section::Lists, page));
        let adjacency = self.visit.adjacency;
        Ok(adjacency.reparse_lists(page, bytes, &vertices, &mut self.decoded, self.take)?)
    }
}

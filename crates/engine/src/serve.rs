//! What a visit does with the pages that it is brought: lists to a [`Kernel`], or whole pages to a
//! [`PageKernel`].

use cenote_store::{Adjacency, List, Page, VertexId};

use crate::frontier::Wanted;
use crate::kernel::{Kernel, PageKernel};
use crate::tasks::PageTask;

/// One visit's way with pages.
pub(crate) trait Serve: Sync {
    type Local: Send;

    /// Whether a task is for vertices that each could fetch the page by themselves, as the CAVE
    /// paper's `ProcessQueue` does.
    const BY_VERTEX: bool;

    fn local(&self) -> Self::Local;

    /// The vertices of which a task wants the lists, ascending; `None` where it is for a page as a
    /// whole.
    fn listed(&self, task: PageTask) -> Option<&[VertexId]>;

    /// Takes a page that has arrived, of a task without listed vertices.
    fn page(&self, local: &mut Self::Local, page: &Page<'_>, task: PageTask);

    /// The vertices that a task is for.
    fn vertices(&self, task: PageTask) -> Vec<VertexId>;

    /// Takes the list of one of them, or of a listed one.
    fn list(&self, local: &mut Self::Local, list: &List<'_>);
}

/// Wanted lists go to a kernel.
pub(crate) struct Lists<'a, K> {
    pub adjacency: &'a Adjacency,
    pub wanted: Wanted<'a>,
    pub kernel: &'a K,
}

impl<K: Kernel> Serve for Lists<'_, K> {
    type Local = K::Local;
    const BY_VERTEX: bool = true;

    fn local(&self) -> K::Local {
        self.kernel.local()
    }

    fn listed(&self, task: PageTask) -> Option<&[VertexId]> {
        self.wanted.list().map(|list| &list[task.from as usize..task.to as usize])
    }

    fn page(&self, local: &mut K::Local, page: &Page<'_>, _: PageTask) {
        self.kernel.page(local, page, &self.wanted);
    }

    fn vertices(&self, task: PageTask) -> Vec<VertexId> {
        match self.listed(task) {
            Some(list) => list.to_vec(),
            None => {
                self.adjacency.vertices_in(task.page).filter(|&v| self.wanted.contains(v)).collect()
            }
        }
    }

    fn list(&self, local: &mut K::Local, list: &List<'_>) {
        self.kernel.list(local, list);
    }
}

/// Whole pages go to a page kernel, each for its task.
pub(crate) struct Pages<'a, K>(pub &'a K);

impl<K: PageKernel> Serve for Pages<'_, K> {
    type Local = K::Local;
    const BY_VERTEX: bool = false;

    fn local(&self) -> K::Local {
        self.0.local()
    }

    fn listed(&self, _: PageTask) -> Option<&[VertexId]> {
        None
    }

    fn page(&self, local: &mut K::Local, page: &Page<'_>, task: PageTask) {
        self.0.page(local, page, task);
    }

    fn vertices(&self, _: PageTask) -> Vec<VertexId> {
        Vec::new()
    }

    fn list(&self, _: &mut K::Local, _: &List<'_>) {}
}

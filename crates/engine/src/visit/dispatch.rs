//! Dispatch of pages: to a kernel at once ([`Plain`]), or to copies that wait for their weights.

use cenote_store::{Adjacency, Decoded, List, VertexId, Weights};

use super::copies::Copies;
use crate::error::Result;
use crate::frontier::ActiveSet;
use crate::kernel::{Kernel, Purpose};
use crate::tasks::PageTask;

/// A page of lists that is in memory and verified.
#[derive(Clone, Copy)]
pub(crate) struct Fetched<'a> {
    pub adjacency: &'a Adjacency,
    pub bytes: &'a [u8],
    pub task: PageTask,
}

/// Dispatches the pages of one visit.
pub(crate) trait Dispatch: Sync {
    type Local: Send;
    type Copies: Copies;

    fn local(&self) -> Self::Local;

    /// Dispatches a page of lists. With weights, it copies lists or pages that need weights, unless
    /// `now`, called with a list and the address of its first entry, has dispatched the list.
    fn page(
        &self,
        local: &mut Self::Local,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        copies: &mut Self::Copies,
        now: impl FnMut(&mut Self::Local, &List<'_>, u64) -> bool,
    ) -> Result<()>;

    /// Dispatches the part of a list at `address` that has weights among those from `first` on.
    fn list(&self, _: &mut Self::Local, _: &List<'_>, _address: u64, _first: u64, _: Weights<'_>) {}

    /// Gives weights, from address `first` on, to the copies that wait for them.
    fn weights(&self, _: &mut Self::Local, _: &mut Self::Copies, _first: u64, _: Weights<'_>) {}
}

/// A visit without weights.
pub(crate) struct Plain<'a, K> {
    pub active: ActiveSet<'a>,
    pub kernel: &'a K,
}

impl<K: Kernel> Plain<'_, K> {
    /// Passes the lists of some vertices on a page to the kernel.
    pub fn lists(
        &self,
        local: &mut K::Local,
        page: Fetched<'_>,
        vertices: &[VertexId],
        decoded: &mut Decoded,
    ) -> Result<()> {
        let take = |list: &List<'_>| self.kernel.list(local, list);
        let Fetched { adjacency, bytes, task } = page;
        Ok(adjacency.reparse_lists(task.page, bytes, vertices, decoded, take)?)
    }
}

impl<K: Kernel> Dispatch for Plain<'_, K> {
    type Local = K::Local;
    type Copies = ();

    fn local(&self) -> K::Local {
        self.kernel.local()
    }

    fn page(
        &self,
        local: &mut K::Local,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        (): &mut (),
        _: impl FnMut(&mut K::Local, &List<'_>, u64) -> bool,
    ) -> Result<()> {
        let Fetched { adjacency, bytes, task } = page;
        if let Some(list) = self.active.list() {
            let vertices = &list[task.from as usize..task.to as usize];
            return self.lists(local, page, vertices, decoded);
        }
        let page = adjacency.reparse(task.page, bytes, decoded)?;
        let purpose = Purpose { active: self.active, task, weights: None };
        self.kernel.page(local, &page, &purpose);
        Ok(())
    }
}

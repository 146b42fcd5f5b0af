//! Dispatch of pages: to a kernel at once ([`Plain`]), or to copies that wait for their weights.

use cenote_store::{Adjacency, Decoded, EntryOrder, List, Page, UnpackedPages, Weights};

use super::copies::Copies;
use crate::error::Result;
use crate::frontier::ActiveSet;
use crate::kernel::{Kernel, Purpose};
use crate::tasks::PageTask;

/// A page of lists that is in memory and verified.
#[derive(Clone, Copy)]
pub(crate) struct Fetched<'a> {
    pub adjacency: &'a Adjacency,
    /// Those that stay unpacked, in visits that use them.
    pub unpacked: Option<&'a UnpackedPages>,
    pub bytes: &'a [u8],
    pub task: PageTask,
}

impl<'a> Fetched<'a> {
    /// Its view.
    #[inline]
    pub fn view(self, order: EntryOrder, decoded: &'a mut Decoded) -> Result<Page<'a>> {
        let Self { adjacency, unpacked, bytes, task } = self;
        Ok(match unpacked {
            Some(unpacked) => unpacked.page(adjacency, (task.page, bytes), order, decoded)?,
            None => adjacency.reparse_in(task.page, bytes, order, decoded)?,
        })
    }
}

/// Gives weights of a list, from address `first` on, to its kernel.
pub(crate) type Give<'a> = dyn FnMut(u64, Weights<'_>) + 'a;

/// Called with a list, the address of its first entry, and what takes its weights: whether all of
/// them are in memory and have been given.
pub(crate) type Now<'a> = dyn FnMut(&List<'_>, u64, &mut Give<'_>) -> bool + 'a;

/// Passes the pages of a visit to the kernel, for one worker. Visits see it behind a pointer, so
/// that they are compiled once, not for each kernel.
pub(crate) trait Dispatch<C: Copies> {
    /// Dispatches a page of lists. With weights, it copies lists or pages that need weights, unless
    /// `now` has given a list its weights.
    fn page(
        &mut self,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        copies: &mut C,
        now: &mut Now<'_>,
    ) -> Result<()>;

    /// Gives weights, from address `first` on, to the copies that wait for them.
    fn weights(&mut self, _: &mut C, _first: u64, _: Weights<'_>) {}
}

/// A visit without weights.
pub(crate) struct Plain<'a, K: Kernel> {
    active: ActiveSet<'a>,
    kernel: &'a K,
    pub local: K::Local,
}

impl<'a, K: Kernel> Plain<'a, K> {
    pub fn new(active: ActiveSet<'a>, kernel: &'a K) -> Self {
        Self { active, kernel, local: kernel.local() }
    }

    /// Passes a list to the kernel.
    pub fn list(&mut self, list: &List<'_>) {
        self.kernel.list(&mut self.local, list);
    }
}

impl<K: Kernel> Dispatch<()> for Plain<'_, K> {
    fn page(
        &mut self,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        (): &mut (),
        _: &mut Now<'_>,
    ) -> Result<()> {
        let Fetched { adjacency, unpacked, bytes, task } = page;
        let active = self.active;
        if let Some(list) = active.list() {
            let vertices = &list[task.from as usize..task.to as usize];
            let mut take = |list: &List<'_>| self.list(list);
            let wanted = (vertices, K::ORDER);
            let read = (task.page, bytes);
            match unpacked {
                Some(unpacked) => unpacked.lists(adjacency, read, wanted, decoded, &mut take)?,
                None => adjacency.reparse_lists_in(task.page, bytes, wanted, decoded, &mut take)?,
            }
            return Ok(());
        }
        let page = page.view(K::ORDER, decoded)?;
        let purpose = Purpose { active, task, weights: None };
        self.kernel.page(&mut self.local, &page, &purpose);
        Ok(())
    }
}

//! One change of a graph, from its first page to its commit.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::MutexGuard;

use cenote_device::{Buffer, Completion, Op, Queue, QueueConfig, Request};
use cenote_pool::PageId;

use super::Store;
use super::allocator::Allocator;
use crate::commit::{self, Commit};
use crate::error::{Result, StoreError};
use crate::format::PageKind;
use crate::header::PageHeader;
use crate::readers::lock;
use crate::sink::PageTarget;
use crate::superblock::Superblock;
use crate::table::{self, Extent, Extents};

/// Writes that are in flight at most.
const DEPTH: usize = 32;

/// A change of a graph. Pages are written copy-on-write: until [`Transaction::commit`] nobody can
/// see it, and if it is dropped before, nothing has changed.
pub struct Transaction<'s> {
    store: &'s Store,
    _writer: MutexGuard<'s, ()>,
    queue: Box<dyn Queue>,
    completions: Vec<Completion>,
    /// What the commit will say.
    superblock: Superblock,
    before: Extents,
    allocator: Allocator,
    /// Where logical pages lie now; `None` where they were freed.
    changed: BTreeMap<PageId, Option<PageId>>,
}

impl<'s> Transaction<'s> {
    pub(super) fn new(
        store: &'s Store,
        writer: MutexGuard<'s, ()>,
        Commit { mut superblock, extents, .. }: Commit,
        oldest_reader: Option<u64>,
    ) -> Result<Self> {
        // The other slot has the epoch before the present one.
        let reusable = (superblock.epoch - 1).min(oldest_reader.unwrap_or(u64::MAX));
        let allocator = Allocator::new(&extents.free, superblock.pages_total, reusable);
        superblock.epoch += 1;
        Ok(Self {
            store,
            _writer: writer,
            queue: store.device.queue(&QueueConfig::with_depth(DEPTH))?,
            completions: Vec::with_capacity(DEPTH),
            superblock,
            before: extents,
            allocator,
            changed: BTreeMap::new(),
        })
    }

    /// The epoch that the commit makes.
    pub fn epoch(&self) -> u64 {
        self.superblock.epoch
    }

    /// What the commit will say of the graph; the caller keeps it in step with the pages.
    pub fn superblock(&mut self) -> &mut Superblock {
        &mut self.superblock
    }

    /// Logical page numbers that were never used, consecutive.
    pub fn allocate(&mut self, pages: u64) -> Range<PageId> {
        let first = self.superblock.logical_pages;
        self.superblock.logical_pages += pages;
        first..first + pages
    }

    /// Writes a logical page to a new place: `fill` gets a zeroed page and fills what is behind the
    /// header. `header` needs neither epoch nor checksum.
    ///
    /// # Errors
    /// A write that failed, be it of an earlier page. The store then takes no change any more.
    ///
    /// # Panics
    /// If the page number was never allocated.
    pub fn write(
        &mut self,
        page: PageId,
        header: PageHeader,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        assert!(page < self.superblock.logical_pages, "page {page} was never allocated");
        let page_bytes = self.superblock.page_bytes as usize;
        let mut buffer = Buffer::new(page_bytes)?;
        fill(&mut buffer);
        PageHeader { epoch: self.superblock.epoch, ..header }.seal(
            &mut buffer,
            self.superblock.salt,
            page,
        );
        let physical = match self.changed.get(&page) {
            Some(&Some(physical)) => {
                // The write before may still be on its way.
                self.settle()?;
                physical
            }
            _ => self.allocator.take(),
        };
        self.changed.insert(page, Some(physical));
        if self.queue.in_flight() == self.queue.depth() {
            self.reap(1)?;
        }
        let offset = physical * page_bytes as u64;
        self.queue.push(Request { tag: page, op: Op::Write, offset, len: page_bytes, buffer });
        let submitted = self.queue.submit();
        self.note(submitted)
    }

    /// Logical pages that the graph has no more. Their numbers are not used again.
    pub fn free(&mut self, pages: Range<PageId>) {
        for page in pages {
            // What this change wrote itself is in use by no epoch, and is free after the next two.
            if let Some(Some(physical)) = self.changed.insert(page, None) {
                self.allocator.give(physical, 1, self.superblock.epoch);
            }
        }
    }

    fn reap(&mut self, wait_for: usize) -> Result<()> {
        let mut reaped = self.queue.reap(wait_for, &mut self.completions);
        for done in self.completions.drain(..) {
            reaped = reaped.and(done.whole(|| self.store.device.name()));
        }
        self.note(reaped)
    }

    /// Waits for all writes.
    fn settle(&mut self) -> Result<()> {
        while self.queue.in_flight() > 0 {
            self.reap(self.queue.in_flight())?;
        }
        Ok(())
    }

    /// Passes a result on and remembers a failure.
    fn note(&self, result: cenote_device::Result<()>) -> Result<()> {
        Ok(result.inspect_err(|_| lock(&self.store.state).poisoned = true)?)
    }

    /// Makes the change the graph, durably. The new epoch.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] where pages and superblock contradict each other: nothing has
    /// changed then. A write that failed: the store then takes no change any more, and the device
    /// holds the graph before the change or after it.
    pub fn commit(mut self) -> Result<u64> {
        self.settle()?;
        let table = self.merge();
        let (old_table, old_free) = (&self.before.table_pages, &self.before.free_pages);
        for pages in [old_table.clone(), old_free.clone()] {
            self.allocator.give(pages.start, pages.end - pages.start, self.superblock.epoch);
        }
        let free = self.allocator.extents();
        let page_bytes = self.superblock.page_bytes as usize;
        let spills = Superblock::extents_spill(page_bytes, table.len(), free.len());
        let per_page = table::per_page(page_bytes);
        let [table_pages, free_pages] = [(spills[0], table.len()), (spills[1], free.len())]
            .map(|(spills, count)| if spills { count.div_ceil(per_page) as u64 } else { 0 })
            .map(|pages| {
                let first = if pages > 0 { self.allocator.take_behind_end(pages) } else { 0 };
                first..first + pages
            });
        self.superblock.pages_total = self.allocator.end();
        let extents = Extents { table, free, table_pages, free_pages };
        let commit = Commit { superblock: self.superblock.clone(), extents, other_slot: None };
        commit.check().map_err(|fault| StoreError::Unwritable {
            file: self.store.file.to_string(),
            reason: fault.to_string(),
        })?;
        let published = self.write_extents(&commit).and_then(|()| self.store.publish(commit));
        published.inspect_err(|_| lock(&self.store.state).poisoned = true)?;
        Ok(self.superblock.epoch)
    }

    fn write_extents(&self, commit: &Commit) -> Result<()> {
        let Extents { table, free, table_pages, free_pages } = &commit.extents;
        for (kind, extents, pages) in
            [(PageKind::PageTable, table, table_pages), (PageKind::FreeList, free, free_pages)]
        {
            if !pages.is_empty() {
                let device = self.store.device.as_ref();
                commit::write_extents(device, &commit.superblock, kind, extents, pages.start)?;
            }
        }
        Ok(())
    }

    /// The page table with what has changed. Old places become free.
    fn merge(&mut self) -> Vec<Extent> {
        let epoch = self.superblock.epoch;
        let mut table = Vec::with_capacity(self.before.table.len());
        let mut changed = std::mem::take(&mut self.changed).into_iter().peekable();
        for extent in &self.before.table {
            let mut rest = *extent;
            while let Some(&(page, place)) =
                changed.peek().filter(|(page, _)| *page < rest.logical + rest.pages)
            {
                changed.next();
                if page < rest.logical {
                    push(&mut table, page, place, epoch);
                    continue;
                }
                let before = page - rest.logical;
                push_run(&mut table, Extent { pages: before, ..rest });
                self.allocator.give(rest.physical + before, 1, epoch);
                push(&mut table, page, place, epoch);
                rest = Extent {
                    logical: page + 1,
                    physical: rest.physical + before + 1,
                    pages: rest.pages - before - 1,
                    ..rest
                };
            }
            push_run(&mut table, rest);
        }
        changed.for_each(|(page, place)| push(&mut table, page, place, epoch));
        table
    }
}

fn push(table: &mut Vec<Extent>, logical: PageId, place: Option<PageId>, epoch: u64) {
    if let Some(physical) = place {
        push_run(table, Extent { logical, physical, pages: 1, epoch });
    }
}

/// Adds an extent, to the last one where it goes on with it.
fn push_run(table: &mut Vec<Extent>, extent: Extent) {
    match table.last_mut() {
        _ if extent.pages == 0 => {}
        Some(last)
            if last.epoch == extent.epoch
                && last.logical + last.pages == extent.logical
                && last.physical + last.pages == extent.physical =>
        {
            last.pages += extent.pages;
        }
        _ => table.push(extent),
    }
}

/// Fresh logical pages of a transaction, one after the other.
pub(super) struct NewPages<'t, 's> {
    transaction: &'t mut Transaction<'s>,
    page: Buffer,
}

impl<'t, 's> NewPages<'t, 's> {
    pub fn new(transaction: &'t mut Transaction<'s>) -> Result<Self> {
        let page = Buffer::new(transaction.superblock.page_bytes as usize)?;
        Ok(Self { transaction, page })
    }
}

impl PageTarget for NewPages<'_, '_> {
    fn page_bytes(&self) -> usize {
        self.page.len()
    }

    fn page(&mut self) -> &mut [u8] {
        &mut self.page
    }

    fn seal(&mut self, header: PageHeader) -> Result<()> {
        let number = self.transaction.allocate(1).start;
        self.transaction.write(number, header, |page| page.copy_from_slice(&self.page))?;
        self.page.fill(0);
        Ok(())
    }
}

//! A transaction: one change of a graph, from its first page to its commit.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use cenote_device::Buffer;
use cenote_pool::PageId;

use super::allocator::Allocator;
use super::draft::{Draft, Made, Part};
use super::live::Live;
use super::write_zeros;
use crate::commit::Commit;
use crate::error::{Result, StoreError};
use crate::format::{HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::log::Pending;
use crate::readers::lock;
use crate::snapshot::{SnapshotState, Snapshots};
use crate::superblock::{SectionKind, Superblock};
use crate::table::{self, Extents};
use crate::update::Batch;

/// A change of a graph. It writes pages copy-on-write, so nothing is visible before
/// [`Transaction::commit`], and dropping it changes nothing.
pub struct Transaction<'s> {
    live: MutexGuard<'s, Live>,
    pub(crate) draft: Draft<'s>,
    /// Those of the commit.
    snapshots: Arc<Snapshots>,
    /// Whether the pages of lists stay, of which a merge beside commits has begun.
    keeps_lists: bool,
}

impl<'s> Transaction<'s> {
    pub(super) fn new(
        live: MutexGuard<'s, Live>,
        draft: Draft<'s>,
        snapshots: Arc<Snapshots>,
    ) -> Self {
        Self { live, draft, snapshots, keeps_lists: false }
    }

    /// The epoch of the commit.
    pub fn epoch(&self) -> u64 {
        self.draft.superblock.epoch
    }

    /// The superblock that the commit writes; the caller keeps it consistent with the pages.
    pub fn superblock(&mut self) -> &mut Superblock {
        self.draft.superblock()
    }

    /// Says that the commit leaves lists and runs as they are, and adds runs at most.
    pub(crate) fn keep_lists(&mut self) {
        self.keeps_lists = true;
    }

    /// How many runs a merge beside commits merges: they stay as they are.
    pub(crate) fn runs_merging(&self) -> usize {
        let state = lock(&self.draft.store.state);
        state.merging.as_ref().map_or(0, |merging| merging.runs())
    }

    /// Takes over the sections of a draft of an earlier epoch.
    pub(super) fn adopt(&mut self, made: Made, written: u64) {
        for (parts, section) in made.sections {
            for part in &parts {
                if let Part::New(pages) = part {
                    self.draft.allocator.claim(pages.clone());
                }
            }
            self.draft.replace_by(&parts, section, written);
        }
        made.removed.into_iter().for_each(|kind| self.draft.remove(kind));
        self.draft.allocator.end_reservation();
    }

    /// Allocates new consecutive logical page numbers.
    pub fn allocate(&mut self, pages: u64) -> Range<PageId> {
        let first = self.draft.superblock.logical_pages;
        self.draft.superblock.logical_pages += pages;
        first..first + pages
    }

    /// Writes a logical page to a new place. `fill` gets a zeroed page and fills its payload;
    /// `header` needs neither epoch nor checksum.
    ///
    /// # Errors
    /// Errors of this write or an earlier one. The store then refuses further transactions.
    ///
    /// # Panics
    /// If the page number was never allocated.
    pub fn write(
        &mut self,
        page: PageId,
        header: PageHeader,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        assert!(page < self.draft.superblock.logical_pages, "page {page} was never allocated");
        let mut buffer = Buffer::new(self.draft.superblock.page_bytes as usize)?;
        fill(&mut buffer);
        let physical = match self.draft.changed.get(&page) {
            Some(&Some(physical)) => {
                // The previous write of the page may be in flight.
                self.draft.settle()?;
                physical
            }
            _ => self.draft.allocator.allocate(),
        };
        self.draft.changed.insert(page, Some(physical));
        self.draft.submit(physical, header, &mut buffer)
    }

    /// The graph of the commit before.
    pub(crate) fn base(&mut self) -> Result<Arc<Graph>> {
        self.draft.store.base_graph(&mut self.live)
    }

    /// The changes of the log.
    pub(crate) fn pending(&self) -> &Pending {
        self.live.pending()
    }

    /// A batch behind the changes of the log, and how many those are.
    pub(crate) fn with_logged<'b>(&self, batch: &'b Batch) -> (usize, Cow<'b, Batch>) {
        let pending = self.live.pending();
        if pending.is_empty() {
            return (0, Cow::Borrowed(batch));
        }
        let deleted_edges_max = batch.deleted_edges_max;
        let new_ids = pending.new_ids.clone();
        let values = batch.values.clone();
        let mut all = Batch { new_ids, values, deleted_edges_max, ..Batch::default() };
        all.new_ids.extend_from_slice(&batch.new_ids);
        all.weights.extend(pending.change_weights());
        if !batch.weights.is_empty() || !all.weights.is_empty() {
            all.weights.resize(pending.edges.len(), None);
            all.weights.extend_from_slice(&batch.weights);
            all.weights.resize(pending.edges.len() + batch.changes.len(), None);
        }
        all.changes.reserve_exact(pending.edges.len() + batch.changes.len());
        all.changes.extend(pending.changes());
        all.changes.extend_from_slice(&batch.changes);
        (pending.edges.len(), Cow::Owned(all))
    }

    /// Makes a log of so many bytes, in place of the one before.
    pub(super) fn make_log(&mut self, bytes: u64) -> Result<()> {
        let Superblock { ref log, page_bytes, epoch, .. } = self.draft.superblock;
        self.draft.allocator.release(log.start, log.end - log.start, epoch);
        let pages = bytes.div_ceil(page_bytes.into());
        let first = self.draft.allocator.allocate_run(pages);
        self.draft.superblock.log = first..first + pages;
        let page_bytes = u64::from(page_bytes);
        let written =
            write_zeros(self.draft.store.device.as_ref(), first * page_bytes, pages * page_bytes);
        written.inspect_err(|_| lock(&self.draft.store.state).poisoned = true)
    }

    /// Sets the snapshots of the graph, the oldest first: those of the commit before without some,
    /// or with one more, of that commit.
    pub(super) fn set_snapshots(&mut self, all: Vec<SnapshotState>) -> Result<()> {
        let Superblock { ref snapshots, epoch, .. } = self.draft.superblock;
        let is_kept = |before: &&SnapshotState| {
            !all.iter().any(|snapshot| snapshot.superblock.epoch == before.superblock.epoch)
        };
        for snapshot in self.snapshots.all.iter().filter(is_kept) {
            // The other slot still has the snapshot.
            for pages in snapshot.pages() {
                self.draft.allocator.release_again(pages, epoch);
            }
        }
        let pages = snapshots.end - snapshots.start;
        self.draft.allocator.release(snapshots.start, pages, epoch);
        (self.draft.superblock.snapshots, self.draft.superblock.snapshots_epoch) = (0..0, 0);
        if !all.is_empty() {
            let pages = all.len() as u64;
            let first = self.draft.allocator.allocate_run(pages);
            self.draft.superblock.snapshots = first..first + pages;
            self.draft.superblock.snapshots_epoch = epoch;
        }
        let mut buffer = Buffer::new(self.draft.superblock.page_bytes as usize)?;
        for (page, snapshot) in self.draft.superblock.snapshots.clone().zip(&all) {
            buffer.fill(0);
            let header = snapshot.encode(&mut buffer);
            self.draft.submit(page, header, &mut buffer)?;
        }
        self.snapshots = Arc::new(Snapshots::new(all));
        Ok(())
    }

    /// Frees logical pages. Their numbers are not reused.
    pub fn free(&mut self, pages: Range<PageId>) {
        for page in pages {
            // No epoch uses what this transaction wrote itself; it is free after the next two.
            if let Some(Some(physical)) = self.draft.changed.insert(page, None) {
                self.draft.allocator.release(physical, 1, self.draft.superblock.epoch);
            }
        }
    }

    /// Commits the change durably. Returns the new epoch.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if pages and superblock contradict each other: then nothing has
    /// changed. Errors of writes: then the store refuses further transactions, and the device holds
    /// the graph before or after the change.
    pub fn commit(mut self) -> Result<u64> {
        self.draft.settle()?;
        let keeps_pages = self.keeps_pages();
        let table = self.draft.table();
        let (old_table, old_free) = (&self.draft.before.table_pages, &self.draft.before.free_pages);
        for pages in [old_table.clone(), old_free.clone()] {
            self.draft.allocator.release(
                pages.start,
                pages.end - pages.start,
                self.draft.superblock.epoch,
            );
        }
        let [table_pages, free_pages] = self.allocate_extents(table.len());
        let free = self.draft.allocator.extents();
        self.draft.superblock.pages_total = self.draft.allocator.end();
        let extents = Extents { table, free, table_pages, free_pages };
        let commit =
            Commit { superblock: self.draft.superblock.clone(), extents, other_slot: None };
        commit.check().map_err(|fault| StoreError::Unwritable {
            file: self.draft.store.file.to_string(),
            reason: fault.to_string(),
        })?;
        let published = self.write_extents(&commit).and_then(|()| {
            let snapshots = Arc::clone(&self.snapshots);
            self.draft.store.publish(commit, snapshots)
        });
        published.inspect_err(|_| lock(&self.draft.store.state).poisoned = true)?;
        if !self.keeps_lists {
            self.draft.store.supersede_merge();
        }
        self.live.reset(&self.draft.superblock, keeps_pages);
        Ok(self.draft.superblock.epoch)
    }

    /// Whether all pages that look-ups read stay where they are: new are delta runs alone.
    fn keeps_pages(&self) -> bool {
        let is_run = |kind| matches!(kind, SectionKind::DeltaRuns | SectionKind::DeltaIndex);
        let mut sections = self.draft.superblock.sections.iter();
        self.draft.changed.is_empty()
            && sections
                .all(|section| section.epoch < self.draft.superblock.epoch || is_run(section.kind))
    }

    /// Allocates the pages of the page table and of the free list, where the slot has no room for
    /// them.
    fn allocate_extents(&mut self, table: usize) -> [Range<PageId>; 2] {
        let page_bytes = self.draft.superblock.page_bytes as usize;
        let pages_for = |free: usize| {
            let spills = Superblock::extents_spill(page_bytes, table, free);
            let pages = |count: usize| count.div_ceil(table::per_page(page_bytes)) as u64;
            [(spills[0], table), (spills[1], free)]
                .map(|(spills, n)| if spills { pages(n) } else { 0 })
        };
        let at_end = self.draft.allocator.clone();
        let pages = pages_for(at_end.extents().len());
        type Allocate = fn(&mut Allocator, u64) -> PageId;
        let place = |allocator: &mut Allocator, pages: [u64; 2], allocate: Allocate| {
            pages.map(|pages| {
                let first = if pages > 0 { allocate(allocator, pages) } else { 0 };
                first..first + pages
            })
        };
        let reused = place(&mut self.draft.allocator, pages, Allocator::allocate_run);
        if pages_for(self.draft.allocator.extents().len()) == pages {
            return reused;
        }
        // The free list needs another number of pages without those: they must not be free ones.
        self.draft.allocator = at_end;
        self.draft.allocator.pass_reservation();
        let pages = pages_for(self.draft.allocator.extents().len());
        place(&mut self.draft.allocator, pages, Allocator::allocate_at_end)
    }

    fn write_extents(&mut self, commit: &Commit) -> Result<()> {
        let Extents { table, free, table_pages, free_pages } = &commit.extents;
        let mut buffer = Buffer::new(self.draft.superblock.page_bytes as usize)?;
        for (kind, extents, pages) in
            [(PageKind::PageTable, table, table_pages), (PageKind::FreeList, free, free_pages)]
        {
            let per_page = table::per_page(buffer.len());
            for (page, extents) in pages.clone().zip(extents.chunks(per_page)) {
                buffer.fill(0);
                let bytes: &[u8] = bytemuck::cast_slice(extents);
                buffer[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
                let entries = extents.len() as u32;
                self.draft.submit(
                    page,
                    PageHeader { entries, ..PageHeader::new(kind) },
                    &mut buffer,
                )?;
            }
        }
        self.draft.settle()
    }
}

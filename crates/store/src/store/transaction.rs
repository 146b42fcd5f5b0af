//! A transaction: one change of a graph, from its first page to its commit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use cenote_device::Buffer;
use cenote_pool::PageId;

use super::allocator::Allocator;
use super::live::Live;
use super::page_writer::PageWriter;
use super::{Store, WriteLimits, write_zeros};
use crate::commit::Commit;
use crate::error::{Result, StoreError};
use crate::format::{Codec, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::log::Pending;
use crate::readers::lock;
use crate::sink::PageTarget;
use crate::snapshot::{SnapshotState, Snapshots};
use crate::superblock::{Section, SectionKind, Superblock};
use crate::table::{self, Extent, Extents};
use crate::update::Batch;

/// A change of a graph. It writes pages copy-on-write, so nothing is visible before
/// [`Transaction::commit`], and dropping it changes nothing.
pub struct Transaction<'s> {
    store: &'s Store,
    live: MutexGuard<'s, Live>,
    pages: PageWriter,
    /// The superblock that the commit writes.
    superblock: Superblock,
    before: Extents,
    allocator: Allocator,
    /// New places of logical pages; `None` where they were freed.
    changed: BTreeMap<PageId, Option<PageId>>,
    /// Logical pages of sections that were replaced or removed.
    replaced: Vec<Range<PageId>>,
    /// Where the pages of the new sections lie.
    moved: Vec<Extent>,
    /// Those of the commit.
    snapshots: Arc<Snapshots>,
}

/// Pages of a section that is put together anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Pages of the section before, by their numbers within it.
    Kept(Range<u64>),
    /// Physical pages that this transaction has written.
    New(Range<PageId>),
}

impl<'s> Transaction<'s> {
    pub(super) fn new(
        store: &'s Store,
        live: MutexGuard<'s, Live>,
        Commit { mut superblock, extents, .. }: Commit,
        snapshots: Arc<Snapshots>,
        oldest_reader: Option<u64>,
    ) -> Result<Self> {
        // The other slot holds the previous epoch.
        let reusable = (superblock.epoch - 1).min(oldest_reader.unwrap_or(u64::MAX));
        let allocator =
            Allocator::new(&extents.free, superblock.pages_total, reusable, &snapshots.pages);
        superblock.epoch += 1;
        let WriteLimits { write_depth, write_bytes, .. } = store.limits;
        let page_bytes = superblock.page_bytes as usize;
        let pages = PageWriter::new(store.device.as_ref(), page_bytes, write_depth, write_bytes)?;
        Ok(Self {
            store,
            live,
            pages,
            superblock,
            before: extents,
            allocator,
            changed: BTreeMap::new(),
            replaced: Vec::new(),
            moved: Vec::new(),
            snapshots,
        })
    }

    /// The epoch of the commit.
    pub fn epoch(&self) -> u64 {
        self.superblock.epoch
    }

    /// The superblock that the commit writes; the caller keeps it consistent with the pages.
    pub fn superblock(&mut self) -> &mut Superblock {
        &mut self.superblock
    }

    /// Allocates new consecutive logical page numbers.
    pub fn allocate(&mut self, pages: u64) -> Range<PageId> {
        let first = self.superblock.logical_pages;
        self.superblock.logical_pages += pages;
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
        assert!(page < self.superblock.logical_pages, "page {page} was never allocated");
        let mut buffer = Buffer::new(self.superblock.page_bytes as usize)?;
        fill(&mut buffer);
        let physical = match self.changed.get(&page) {
            Some(&Some(physical)) => {
                // The previous write of the page may be in flight.
                self.settle()?;
                physical
            }
            _ => self.allocator.allocate(),
        };
        self.changed.insert(page, Some(physical));
        self.submit(physical, header, &mut buffer)
    }

    /// Writes a page of a section that [`Transaction::replace`] will put together. Returns
    /// its place.
    pub(crate) fn append(&mut self, header: PageHeader, page: &mut [u8]) -> Result<PageId> {
        let physical = self.allocator.allocate();
        self.submit(physical, header, page)?;
        Ok(physical)
    }

    /// The graph of the commit before.
    pub(crate) fn base(&mut self) -> Result<Arc<Graph>> {
        self.store.base_graph(&mut self.live)
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
        if !batch.weights.is_empty() {
            all.weights.resize(pending.edges.len(), None);
            all.weights.extend_from_slice(&batch.weights);
        }
        all.changes.reserve_exact(pending.edges.len() + batch.changes.len());
        all.changes.extend(pending.changes());
        all.changes.extend_from_slice(&batch.changes);
        (pending.edges.len(), Cow::Owned(all))
    }

    /// Makes a log of so many bytes, in place of the one before.
    pub(super) fn make_log(&mut self, bytes: u64) -> Result<()> {
        let Superblock { ref log, page_bytes, epoch, .. } = self.superblock;
        self.allocator.release(log.start, log.end - log.start, epoch);
        let pages = bytes.div_ceil(page_bytes.into());
        let first = self.allocator.allocate_run(pages);
        self.superblock.log = first..first + pages;
        let page_bytes = u64::from(page_bytes);
        let written =
            write_zeros(self.store.device.as_ref(), first * page_bytes, pages * page_bytes);
        written.inspect_err(|_| lock(&self.store.state).poisoned = true)
    }

    /// Sets the snapshots of the graph, the oldest first: those of the commit before without some,
    /// or with one more, of that commit.
    pub(super) fn set_snapshots(&mut self, all: Vec<SnapshotState>) -> Result<()> {
        let Superblock { ref snapshots, epoch, .. } = self.superblock;
        let is_kept = |before: &&SnapshotState| {
            !all.iter().any(|snapshot| snapshot.superblock.epoch == before.superblock.epoch)
        };
        for snapshot in self.snapshots.all.iter().filter(is_kept) {
            // The other slot still has the snapshot.
            for pages in snapshot.pages() {
                self.allocator.release_again(pages, epoch);
            }
        }
        let pages = snapshots.end - snapshots.start;
        self.allocator.release(snapshots.start, pages, epoch);
        (self.superblock.snapshots, self.superblock.snapshots_epoch) = (0..0, 0);
        if !all.is_empty() {
            let pages = all.len() as u64;
            let first = self.allocator.allocate_run(pages);
            self.superblock.snapshots = first..first + pages;
            self.superblock.snapshots_epoch = epoch;
        }
        let mut buffer = Buffer::new(self.superblock.page_bytes as usize)?;
        for (page, snapshot) in self.superblock.snapshots.clone().zip(&all) {
            buffer.fill(0);
            let header = snapshot.encode(&mut buffer);
            self.submit(page, header, &mut buffer)?;
        }
        self.snapshots = Arc::new(Snapshots::new(all));
        Ok(())
    }

    /// Pages that were written so far.
    pub(crate) fn pages_written(&self) -> u64 {
        self.pages.pages()
    }

    fn submit(&mut self, physical: PageId, header: PageHeader, page: &mut [u8]) -> Result<()> {
        let Superblock { salt, epoch, .. } = self.superblock;
        PageHeader { epoch, ..header }.seal(page, salt, physical);
        let written = self.pages.write(physical, page);
        self.note(written)
    }

    /// Puts a section together anew from pages of the section of that kind before, and from new
    /// ones. All get new logical numbers, which costs no writing: a page proves its physical one.
    /// What the section held before and does not hold now is freed.
    ///
    /// # Panics
    /// If kept pages do not ascend.
    pub(crate) fn replace(&mut self, parts: &[Part], section: Section) {
        let old = self.superblock.section(section.kind).map_or(0..0, Section::range);
        let (mut next, mut kept_to) = (self.superblock.logical_pages, old.start);
        let epoch = self.superblock.epoch;
        for part in parts {
            match part {
                Part::New(pages) => {
                    let (logical, physical) = (next, pages.start);
                    let pages = pages.end - pages.start;
                    self.moved.push(Extent { logical, physical, pages, epoch });
                    next += pages;
                }
                Part::Kept(pages) => {
                    let (from, to) = (old.start + pages.start, old.start + pages.end);
                    assert!(kept_to <= from && to <= old.end, "kept pages ascend");
                    self.release(kept_to..from);
                    for run in runs(&self.before.table, from..to) {
                        self.moved.push(Extent { logical: next, ..run });
                        next += run.pages;
                    }
                    kept_to = to;
                }
            }
        }
        self.release(kept_to..old.end);
        self.replaced.push(old);
        let first_page = self.superblock.logical_pages;
        let pages = next - first_page;
        self.superblock.logical_pages = next;
        self.superblock.sections.retain(|other| other.kind != section.kind);
        self.superblock.sections.push(Section { first_page, pages, epoch, ..section });
    }

    /// Removes a section with its pages, if there is one.
    pub(crate) fn remove(&mut self, kind: SectionKind) {
        let Some(old) = self.superblock.section(kind).map(Section::range) else { return };
        self.release(old.clone());
        self.replaced.push(old);
        self.superblock.sections.retain(|section| section.kind != kind);
    }

    /// Frees pages that the commit before has, by logical numbers.
    fn release(&mut self, pages: Range<PageId>) {
        let epoch = self.superblock.epoch;
        for run in runs(&self.before.table, pages) {
            self.allocator.release(run.physical, run.pages, epoch);
        }
    }

    /// Frees logical pages. Their numbers are not reused.
    pub fn free(&mut self, pages: Range<PageId>) {
        for page in pages {
            // No epoch uses what this transaction wrote itself; it is free after the next two.
            if let Some(Some(physical)) = self.changed.insert(page, None) {
                self.allocator.release(physical, 1, self.superblock.epoch);
            }
        }
    }

    fn settle(&mut self) -> Result<()> {
        let settled = self.pages.settle();
        self.note(settled)
    }

    fn note(&self, result: cenote_device::Result<()>) -> Result<()> {
        Ok(result.inspect_err(|_| lock(&self.store.state).poisoned = true)?)
    }

    /// Commits the change durably. Returns the new epoch.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if pages and superblock contradict each other: then nothing has
    /// changed. Errors of writes: then the store refuses further transactions, and the device holds
    /// the graph before or after the change.
    pub fn commit(mut self) -> Result<u64> {
        self.settle()?;
        let keeps_pages = self.keeps_pages();
        let table = self.merge();
        let (old_table, old_free) = (&self.before.table_pages, &self.before.free_pages);
        for pages in [old_table.clone(), old_free.clone()] {
            self.allocator.release(pages.start, pages.end - pages.start, self.superblock.epoch);
        }
        let [table_pages, free_pages] = self.allocate_extents(table.len());
        let free = self.allocator.extents();
        self.superblock.pages_total = self.allocator.end();
        let extents = Extents { table, free, table_pages, free_pages };
        let commit = Commit { superblock: self.superblock.clone(), extents, other_slot: None };
        commit.check().map_err(|fault| StoreError::Unwritable {
            file: self.store.file.to_string(),
            reason: fault.to_string(),
        })?;
        let published = self.write_extents(&commit).and_then(|()| {
            let snapshots = Arc::clone(&self.snapshots);
            self.store.publish(commit, snapshots)
        });
        published.inspect_err(|_| lock(&self.store.state).poisoned = true)?;
        self.live.reset(&self.superblock, keeps_pages);
        Ok(self.superblock.epoch)
    }

    /// Whether all pages that look-ups read stay where they are: new are delta runs alone.
    fn keeps_pages(&self) -> bool {
        let is_run = |kind| matches!(kind, SectionKind::DeltaRuns | SectionKind::DeltaIndex);
        let mut sections = self.superblock.sections.iter();
        self.changed.is_empty()
            && sections.all(|section| section.epoch < self.superblock.epoch || is_run(section.kind))
    }

    /// Allocates the pages of the page table and of the free list, where the slot has no room for
    /// them.
    fn allocate_extents(&mut self, table: usize) -> [Range<PageId>; 2] {
        let page_bytes = self.superblock.page_bytes as usize;
        let pages_for = |free: usize| {
            let spills = Superblock::extents_spill(page_bytes, table, free);
            let pages = |count: usize| count.div_ceil(table::per_page(page_bytes)) as u64;
            [(spills[0], table), (spills[1], free)]
                .map(|(spills, n)| if spills { pages(n) } else { 0 })
        };
        let at_end = self.allocator.clone();
        let pages = pages_for(at_end.extents().len());
        let place = |allocator: &mut Allocator, allocate: fn(&mut Allocator, u64) -> PageId| {
            pages.map(|pages| {
                let first = if pages > 0 { allocate(allocator, pages) } else { 0 };
                first..first + pages
            })
        };
        let reused = place(&mut self.allocator, Allocator::allocate_run);
        if pages_for(self.allocator.extents().len()) == pages {
            return reused;
        }
        // The free list has become so short that it needs fewer pages: they must not be free ones.
        self.allocator = at_end;
        place(&mut self.allocator, Allocator::allocate_at_end)
    }

    fn write_extents(&mut self, commit: &Commit) -> Result<()> {
        let Extents { table, free, table_pages, free_pages } = &commit.extents;
        let mut buffer = Buffer::new(self.superblock.page_bytes as usize)?;
        for (kind, extents, pages) in
            [(PageKind::PageTable, table, table_pages), (PageKind::FreeList, free, free_pages)]
        {
            let per_page = table::per_page(buffer.len());
            for (page, extents) in pages.clone().zip(extents.chunks(per_page)) {
                buffer.fill(0);
                let bytes: &[u8] = bytemuck::cast_slice(extents);
                buffer[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
                let entries = extents.len() as u32;
                self.submit(page, PageHeader { entries, ..PageHeader::new(kind) }, &mut buffer)?;
            }
        }
        self.settle()
    }

    /// Merges the changes into the page table and frees the old places.
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
                self.allocator.release(rest.physical + before, 1, epoch);
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
        if self.replaced.is_empty() {
            return table;
        }
        self.replaced.sort_unstable_by_key(|pages| pages.start);
        let mut kept = Vec::new();
        let mut next = 0;
        for pages in self.replaced.drain(..) {
            kept.extend(runs(&table, next..pages.start));
            next = pages.end;
        }
        kept.extend(runs(&table, next..PageId::MAX));
        kept.append(&mut self.moved);
        kept.sort_unstable_by_key(|extent| extent.logical);
        table.clear();
        kept.into_iter().for_each(|extent| push_run(&mut table, extent));
        table
    }
}

fn push(table: &mut Vec<Extent>, logical: PageId, place: Option<PageId>, epoch: u64) {
    if let Some(physical) = place {
        push_run(table, Extent { logical, physical, pages: 1, epoch });
    }
}

/// The extents of some logical pages, as far as the table has them.
fn runs(table: &[Extent], pages: Range<PageId>) -> impl Iterator<Item = Extent> {
    let from = table.partition_point(|extent| extent.logical + extent.pages <= pages.start);
    let overlapping = table[from..].iter().take_while(move |extent| extent.logical < pages.end);
    overlapping.map(move |extent| {
        let start = extent.logical.max(pages.start);
        let end = (extent.logical + extent.pages).min(pages.end);
        let physical = extent.physical + (start - extent.logical);
        Extent { logical: start, physical, pages: end - start, ..*extent }
    })
}

/// Appends an extent, or extends the last one if they are adjacent.
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

/// A section that is put together anew, page by page.
pub(crate) struct SectionEdit<'t, 's> {
    transaction: &'t mut Transaction<'s>,
    page: Buffer,
    parts: Vec<Part>,
}

impl<'t, 's> SectionEdit<'t, 's> {
    pub fn new(transaction: &'t mut Transaction<'s>) -> Result<Self> {
        let page = Buffer::new(transaction.superblock.page_bytes as usize)?;
        Ok(Self { transaction, page, parts: Vec::new() })
    }

    /// Goes on with pages of the section before, by their numbers within it.
    pub fn keep(&mut self, pages: Range<u64>) {
        match self.parts.last_mut() {
            _ if pages.is_empty() => {}
            Some(Part::Kept(last)) if last.end == pages.start => last.end = pages.end,
            _ => self.parts.push(Part::Kept(pages)),
        }
    }

    /// Goes on with a page that the transaction has written.
    pub fn add(&mut self, physical: PageId) {
        match self.parts.last_mut() {
            Some(Part::New(last)) if last.end == physical => last.end += 1,
            _ => self.parts.push(Part::New(physical..physical + 1)),
        }
    }

    /// The transaction, to write pages of another section.
    pub fn transaction(&mut self) -> &mut Transaction<'s> {
        self.transaction
    }

    /// Replaces the section of that kind. Pages and epoch are filled in.
    pub fn finish(self, kind: SectionKind, codec: Codec, items: u64) {
        let section = Section { kind, codec, first_page: 0, pages: 0, items, epoch: 0 };
        self.transaction.replace(&self.parts, section);
    }
}

impl PageTarget for SectionEdit<'_, '_> {
    fn page_bytes(&self) -> usize {
        self.page.len()
    }

    fn page(&mut self) -> &mut [u8] {
        &mut self.page
    }

    fn seal(&mut self, header: PageHeader) -> Result<()> {
        let physical = self.transaction.append(header, &mut self.page)?;
        self.page.fill(0);
        self.add(physical);
        Ok(())
    }
}

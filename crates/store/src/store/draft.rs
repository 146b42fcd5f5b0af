//! Pages that are written copy-on-write, before it is decided which commit has them.
//!
//! A transaction has a draft of its own. A merge beside commits makes one without holding up the
//! writer; the transaction that ends it takes the draft's sections over.

use std::collections::BTreeMap;
use std::ops::Range;

use cenote_device::Buffer;
use cenote_pool::PageId;

use super::allocator::Allocator;
use super::page_writer::PageWriter;
use super::{Store, WriteLimits};
use crate::Direction;
use crate::commit::Commit;
use crate::error::{Result, StoreError};
use crate::format::Codec;
use crate::header::PageHeader;
use crate::readers::lock;
use crate::sink::PageTarget;
use crate::superblock::{Section, SectionKind, Superblock};
use crate::table::{Extent, Extents};
use crate::update::moved::NewPages;
use crate::update::watch::{UpdateProgress, Watch};

/// Pages that a draft beside commits reserves at a time.
const RESERVED_PAGES: u64 = 1 << 10;

/// Sections and pages that a commit will have.
pub(crate) struct Draft<'s> {
    pub(super) store: &'s Store,
    pages: PageWriter,
    /// The superblock that the commit writes.
    pub(super) superblock: Superblock,
    pub(super) before: Extents,
    pub(super) allocator: Allocator,
    /// Whether commits go on meanwhile, so that pages have to be reserved.
    is_beside: bool,
    /// New places of logical pages; `None` where they were freed.
    pub(super) changed: BTreeMap<PageId, Option<PageId>>,
    /// Logical pages of sections that were replaced or removed.
    replaced: Vec<Range<PageId>>,
    /// Where the pages of the new sections lie.
    moved: Vec<Extent>,
    /// What another transaction takes over, of a draft beside commits.
    pub(crate) made: Made,
    watch: Watch<'s>,
    progress: UpdateProgress,
}

/// What a draft beside commits has made.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Sections that take the place of those of their kinds, and the pages of which they consist.
    pub sections: Vec<(Vec<Part>, Section)>,
    pub removed: Vec<SectionKind>,
    /// Where lists lie in the new sections that lay in those before.
    pub lists: Vec<(Direction, NewPages)>,
}

/// Pages of a section that is put together anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Pages of the section before, by their numbers within it.
    Kept(Range<u64>),
    /// Physical pages that the draft has written.
    New(Range<PageId>),
}

impl<'s> Draft<'s> {
    /// Begins after a commit; pages are those of `allocator`.
    pub(super) fn new(
        store: &'s Store,
        Commit { mut superblock, extents, .. }: Commit,
        allocator: Allocator,
        watch: Watch<'s>,
    ) -> Result<Self> {
        superblock.epoch += 1;
        let WriteLimits { write_depth, write_bytes, .. } = store.limits;
        let page_bytes = superblock.page_bytes as usize;
        let pages = PageWriter::new(store.device.as_ref(), page_bytes, write_depth, write_bytes)?;
        Ok(Self {
            store,
            pages,
            superblock,
            before: extents,
            allocator,
            is_beside: false,
            changed: BTreeMap::new(),
            replaced: Vec::new(),
            moved: Vec::new(),
            made: Made::default(),
            watch,
            progress: UpdateProgress::default(),
        })
    }

    /// A draft whose commit is not the next one, so that all its pages have to be reserved.
    pub fn beside(self) -> Self {
        Self { is_beside: true, allocator: Allocator::empty(), ..self }
    }

    pub fn is_beside(&self) -> bool {
        self.is_beside
    }

    /// The superblock that the commit writes; the caller keeps it consistent with the pages.
    pub fn superblock(&mut self) -> &mut Superblock {
        &mut self.superblock
    }

    /// Threads that rewrite so many pages of lists.
    pub fn threads_for(&self, pages: u64) -> usize {
        let is_worth = pages >= self.store.limits.thread_pages;
        if is_worth { self.store.limits.threads.max(1) } else { 1 }
    }

    /// Says how many pages of lists there are to rewrite now.
    pub fn expect_pages(&mut self, pages: u64) {
        self.progress.pages_total = self.progress.pages_done + pages;
    }

    /// Reports that more pages of lists were rewritten.
    ///
    /// # Errors
    /// [`StoreError::Cancelled`] if the caller wants no more of it.
    pub fn advance(&mut self, pages: u64) -> Result<()> {
        self.progress.pages_done += pages;
        let is_superseded = self.is_beside && self.store.is_superseded();
        match is_superseded || (self.watch)(self.progress) {
            true => Err(StoreError::Cancelled { file: self.store.file.to_string() }),
            false => Ok(()),
        }
    }

    fn allocate_page(&mut self) -> Result<PageId> {
        if self.is_beside && self.allocator.is_empty() {
            self.allocator = self.store.reserve(RESERVED_PAGES)?;
        }
        Ok(self.allocator.allocate())
    }

    /// Writes a page of a section that [`Draft::replace`] will put together. Returns
    /// its place.
    pub(crate) fn append(&mut self, header: PageHeader, page: &mut [u8]) -> Result<PageId> {
        let physical = self.allocate_page()?;
        self.submit(physical, header, page)?;
        Ok(physical)
    }

    /// Pages that were written so far.
    pub(crate) fn pages_written(&self) -> u64 {
        self.pages.pages()
    }

    pub(super) fn submit(
        &mut self,
        physical: PageId,
        header: PageHeader,
        page: &mut [u8],
    ) -> Result<()> {
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
    pub(crate) fn replace(&mut self, parts: Vec<Part>, section: Section) {
        self.replace_by(&parts, section, self.superblock.epoch);
        if self.is_beside {
            self.made.sections.push((parts, section));
        }
    }

    /// As [`Draft::replace`], of pages that say that they were written in some epoch.
    pub(super) fn replace_by(&mut self, parts: &[Part], section: Section, written: u64) {
        let old = self.superblock.section(section.kind).map_or(0..0, Section::range);
        let (mut next, mut kept_to) = (self.superblock.logical_pages, old.start);
        let epoch = self.superblock.epoch;
        for part in parts {
            match part {
                Part::New(pages) => {
                    let (logical, physical) = (next, pages.start);
                    let pages = pages.end - pages.start;
                    self.moved.push(Extent { logical, physical, pages, epoch: written });
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
        if self.is_beside {
            self.made.removed.push(kind);
        }
    }

    /// Frees pages that the commit before has, by logical numbers.
    fn release(&mut self, pages: Range<PageId>) {
        let epoch = self.superblock.epoch;
        for run in runs(&self.before.table, pages) {
            self.allocator.release(run.physical, run.pages, epoch);
        }
    }

    pub(super) fn settle(&mut self) -> Result<()> {
        let settled = self.pages.settle();
        self.note(settled)
    }

    fn note(&self, result: cenote_device::Result<()>) -> Result<()> {
        Ok(result.inspect_err(|_| lock(&self.store.state).poisoned = true)?)
    }

    /// Merges the changes into the page table and frees the old places.
    pub(super) fn table(&mut self) -> Vec<Extent> {
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
    draft: &'t mut Draft<'s>,
    page: Buffer,
    parts: Vec<Part>,
}

impl<'t, 's> SectionEdit<'t, 's> {
    pub fn new(draft: &'t mut Draft<'s>) -> Result<Self> {
        Self::resume(draft, Vec::new())
    }

    /// Goes on with a section that was stopped.
    pub fn resume(draft: &'t mut Draft<'s>, parts: Vec<Part>) -> Result<Self> {
        let page = Buffer::new(draft.superblock.page_bytes as usize)?;
        Ok(Self { draft, page, parts })
    }

    /// Leaves the section for later: to be resumed, while other sections are written.
    pub fn stop(self) -> Vec<Part> {
        self.parts
    }

    /// Goes on with pages of the section before, by their numbers within it.
    pub fn keep(&mut self, pages: Range<u64>) {
        match self.parts.last_mut() {
            _ if pages.is_empty() => {}
            Some(Part::Kept(last)) if last.end == pages.start => last.end = pages.end,
            _ => self.parts.push(Part::Kept(pages)),
        }
    }

    /// Writes a page and goes on with it.
    pub fn write(&mut self, header: PageHeader, page: &mut [u8]) -> Result<()> {
        let physical = self.draft.append(header, page)?;
        self.add(physical);
        Ok(())
    }

    /// Goes on with a page that the transaction has written.
    pub fn add(&mut self, physical: PageId) {
        match self.parts.last_mut() {
            Some(Part::New(last)) if last.end == physical => last.end += 1,
            _ => self.parts.push(Part::New(physical..physical + 1)),
        }
    }

    /// The draft, to write pages of another section.
    pub fn draft(&mut self) -> &mut Draft<'s> {
        self.draft
    }

    /// Replaces the section of that kind. Pages and epoch are filled in.
    pub fn finish(self, kind: SectionKind, codec: Codec, items: u64) {
        let section = Section { kind, codec, first_page: 0, pages: 0, items, epoch: 0 };
        self.draft.replace(self.parts, section);
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
        let physical = self.draft.append(header, &mut self.page)?;
        self.page.fill(0);
        self.add(physical);
        Ok(())
    }
}

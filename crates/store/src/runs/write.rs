//! Writes a run behind those that stay, in a transaction.

use super::index::{RunIndex, words_of};
use super::page::{EDIT_BYTES, RawEdit, RawGroup, RawSpan, RunGroup};
use crate::Direction;
use crate::error::Result;
use crate::format::{self, Codec, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::sink::PageTarget;
use crate::store::draft::{Draft, SectionEdit};
use crate::superblock::SectionKind;
use crate::words::Words;

/// A run that is being written: first the changes of the lists of targets, then those of sources.
pub(crate) struct RunWriter<'t, 's> {
    section: SectionEdit<'t, 's>,
    run: usize,
    level: u8,
    /// The words of the pages before, behind those of whole pages of the index.
    words: Vec<u64>,
    /// Whole pages of the index that stay.
    kept_pages: u64,
    /// Changes of all runs.
    edits: u64,
    /// The pages of the direction that is being written: their first groups and changes.
    pages: Vec<(u64, u16)>,
    added_max: u64,
    page: PageFill,
}

/// The page that is being filled.
#[derive(Default)]
struct PageFill {
    used: usize,
    groups: u32,
    first: u64,
    edits: u16,
}

impl<'t, 's> RunWriter<'t, 's> {
    /// Begins a run of a graph with runs, of which the first ones stay: see
    /// [`RunIndex::next_run`].
    pub fn begin(
        draft: &'t mut Draft<'s>,
        graph: &Graph,
        runs: &RunIndex,
        (kept, level): (usize, u8),
    ) -> Result<Self> {
        let kept_pages = runs.pages_of_first(kept);
        let per_page = format::words_per_page(graph.page_bytes()) as u64;
        let kept_words = 2 * kept_pages;
        let whole = kept_words / per_page;
        let mut words = Vec::new();
        if kept_words > 0 {
            let mut before = Words::new(&graph.pages, SectionKind::DeltaIndex)?;
            for at in 0..kept_words {
                let (_, word) = before.next()?.expect("two words for each page");
                if at >= whole * per_page {
                    words.push(word);
                }
            }
        }
        let edits = runs.out.iter().take(kept).chain(runs.back.iter().take(kept));
        let edits = edits.map(|run| run.edits).sum();
        let mut section = SectionEdit::new(draft)?;
        section.keep(0..kept_pages);
        Ok(Self {
            section,
            run: kept,
            level,
            words,
            kept_pages: whole,
            edits,
            pages: Vec::new(),
            added_max: 0,
            page: PageFill::default(),
        })
    }

    /// The draft, for the progress of what is written.
    pub fn draft(&mut self) -> &mut Draft<'s> {
        self.section.draft()
    }

    /// Appends the changes of a page of lists. Pages ascend.
    pub fn group(&mut self, group: &RunGroup<'_>) -> Result<()> {
        let RunGroup { page, mut spans, mut edits } = *group;
        let added = edits.iter().filter(|edit| edit.is_added()).count() as u64;
        self.added_max = self.added_max.max(added);
        while !spans.is_empty() || !edits.is_empty() {
            let head = size_of::<RawGroup>() + size_of_val(spans);
            let least = head + if edits.is_empty() { 0 } else { EDIT_BYTES };
            let room = self.section.page_bytes() - HEADER_BYTES;
            if self.page.used + least > room {
                self.seal()?;
            }
            let fit = (room - self.page.used - head) / EDIT_BYTES;
            let (own, rest) = edits.split_at(fit.min(edits.len()));
            self.put(page, spans, own);
            (spans, edits) = (&[], rest);
        }
        Ok(())
    }

    fn put(&mut self, page: u64, spans: &[RawSpan], edits: &[RawEdit]) {
        if self.page.groups == 0 {
            self.page.first = page;
        }
        let group = RawGroup { page, spans: spans.len() as u32, edits: edits.len() as u32 };
        let parts: [&[u8]; 3] =
            [bytemuck::bytes_of(&group), bytemuck::cast_slice(spans), bytemuck::cast_slice(edits)];
        for part in parts {
            let at = HEADER_BYTES + self.page.used;
            self.section.page()[at..at + part.len()].copy_from_slice(part);
            self.page.used += part.len();
        }
        self.page.groups += 1;
        self.page.edits += edits.len() as u16;
    }

    fn seal(&mut self) -> Result<()> {
        let PageFill { groups, first, edits, .. } = std::mem::take(&mut self.page);
        self.pages.push((first, edits));
        self.edits += u64::from(edits);
        self.section.seal(PageHeader { entries: groups, ..PageHeader::new(PageKind::DeltaRun) })
    }

    /// Ends the lists of a direction.
    pub fn end(&mut self, direction: Direction) -> Result<()> {
        if self.page.groups > 0 {
            self.seal()?;
        }
        let added_max = u16::try_from(std::mem::take(&mut self.added_max));
        let added_max = added_max.expect("a page of lists has 65,535 entries at most");
        for (first, edits) in self.pages.drain(..) {
            let of_page = (added_max, edits);
            self.words.extend(words_of((self.run, self.level), direction, first, of_page));
        }
        Ok(())
    }

    /// Whether there would be no run at all.
    pub fn is_empty(&self) -> bool {
        self.kept_pages == 0 && self.words.is_empty()
    }

    /// Puts the sections together.
    pub fn finish(mut self) -> Result<()> {
        let per_page = format::words_per_page(self.section.page_bytes());
        let count = self.kept_pages * per_page as u64 + self.words.len() as u64;
        let mut index = SectionEdit::new(self.section.draft())?;
        index.keep(0..self.kept_pages);
        for words in self.words.chunks(per_page) {
            let bytes: &[u8] = bytemuck::cast_slice(words);
            index.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
            let entries = words.len() as u32;
            index.seal(PageHeader { entries, ..PageHeader::new(PageKind::Index) })?;
        }
        index.finish(SectionKind::DeltaIndex, Codec::Raw, count);
        self.section.finish(SectionKind::DeltaRuns, Codec::Raw, self.edits);
        Ok(())
    }
}

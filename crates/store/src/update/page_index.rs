//! The page index, as rewritten lists make it.

use std::ops::Range;

use crate::error::Result;
use crate::format::{self, Codec, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::sink::PageTarget;
use crate::store::draft::{Draft, SectionEdit};
use crate::superblock::SectionKind;
use crate::words::Words;

/// Writes the page index anew where it differs: from the first page on that a split has shifted,
/// and before that only the pages with words of groups.
pub(super) fn write_index(
    draft: &mut Draft<'_>,
    graph: &Graph,
    kind: SectionKind,
    groups: &[(Range<u64>, Vec<u64>)],
) -> Result<()> {
    let mut words = Words::new(&graph.pages, kind)?;
    let old = words.len() as u64;
    let mut index = IndexPages {
        section: SectionEdit::new(draft)?,
        per_page: format::words_per_page(graph.page_bytes()),
        words: Vec::new(),
        count: 0,
        is_same: true,
        old,
    };
    let mut next = 0;
    let mut pass = |to: u64, index: &mut IndexPages<'_, '_>, keep: bool| -> Result<()> {
        while next < to {
            let (_, word) = words.next()?.expect("a word for each page");
            if keep {
                index.push(word, next == index.count)?;
            }
            next += 1;
        }
        Ok(())
    };
    for (pages, new) in groups {
        pass(pages.start, &mut index, true)?;
        pass(pages.end, &mut index, false)?;
        new.iter().try_for_each(|word| index.push(*word, false))?;
    }
    pass(old, &mut index, true)?;
    index.finish(kind)
}

struct IndexPages<'t, 's> {
    section: SectionEdit<'t, 's>,
    per_page: usize,
    /// Of the page that is being filled.
    words: Vec<u64>,
    /// Words in all so far, and those of the index before.
    count: u64,
    old: u64,
    /// Whether the page is that of the index before so far.
    is_same: bool,
}

impl IndexPages<'_, '_> {
    fn push(&mut self, word: u64, is_same: bool) -> Result<()> {
        self.words.push(word);
        self.count += 1;
        self.is_same &= is_same;
        if self.words.len() == self.per_page { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let page = (self.count - 1) / self.per_page as u64;
        // The last page of the index before had fewer words than one of the same words and more.
        let is_whole = self.count.is_multiple_of(self.per_page as u64) || self.count == self.old;
        if self.is_same && is_whole {
            self.section.keep(page..page + 1);
        } else {
            let bytes: &[u8] = bytemuck::cast_slice(&self.words);
            self.section.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
            let entries = self.words.len() as u32;
            self.section.seal(PageHeader { entries, ..PageHeader::new(PageKind::Index) })?;
        }
        self.words.clear();
        self.is_same = true;
        Ok(())
    }

    fn finish(mut self, kind: SectionKind) -> Result<()> {
        if !self.words.is_empty() {
            self.close()?;
        }
        self.section.finish(kind, Codec::Raw, self.count);
        Ok(())
    }
}

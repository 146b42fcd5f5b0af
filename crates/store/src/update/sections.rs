//! What follows from the lists: their page index and their lengths.

use std::ops::Range;

use crate::degrees::{DegreePages, DegreeReader, longer};
use crate::error::Result;
use crate::format::{self, Codec, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::sink::PageTarget;
use crate::store::draft::{Draft, SectionEdit};
use crate::stream::Ahead;
use crate::superblock::SectionKind;
use crate::words::Words;
use crate::{Direction, VertexId};

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

/// Writes the pages of lengths that differ. Returns the longest list and its vertex.
pub(super) fn write_degrees(
    draft: &mut Draft<'_>,
    graph: &Graph,
    direction: Direction,
    kind: SectionKind,
    changed: &[(VertexId, u64)],
) -> Result<(u64, VertexId)> {
    let (base, page_bytes) = (graph.vertices() as u64, graph.page_bytes());
    let new = changed.partition_point(|(vertex, _)| u64::from(*vertex) < base);
    let (mut changed, new) = changed.split_at(new);
    let mut longest = (0, 0);
    let mut section = SectionEdit::new(draft)?;
    let mut last = DegreePages::starting_at(base as VertexId, page_bytes);
    if let Some(&old) = graph.superblock().fresh(kind) {
        let mut reader = DegreeReader::new(&graph.pages, old, Ahead::FAR)?;
        let mut page = 0;
        while let Some((first, degrees)) = reader.next()? {
            let end = first + degrees.len() as VertexId;
            let (own, rest) = changed.split_at(changed.partition_point(|(v, _)| *v < end));
            changed = rest;
            let is_last = u64::from(end) == base && !new.is_empty();
            let mut pages = DegreePages::starting_at(first, page_bytes);
            with_changes(first, degrees, own, &mut |vertex, degree| {
                longest = longer(longest, (degree, vertex));
                pages.push(vertex, degree);
            });
            if is_last {
                last = pages;
            } else if own.is_empty() {
                section.keep(page..page + 1);
            } else {
                pages.write(&mut section)?;
            }
            page += 1;
        }
    } else {
        last = DegreePages::starting_at(0, page_bytes);
        let mut written = Ok(());
        graph.degrees(direction, &mut |first, degrees| {
            let end = first + degrees.len() as VertexId;
            let (own, rest) = changed.split_at(changed.partition_point(|(v, _)| *v < end));
            changed = rest;
            with_changes(first, degrees, own, &mut |vertex, degree| {
                longest = longer(longest, (degree, vertex));
                last.push(vertex, degree);
            });
            if written.is_ok() {
                written = last.write_full(&mut section);
            }
        })?;
        written?;
    }
    for &(vertex, degree) in new {
        longest = longer(longest, (degree, vertex));
        last.push(vertex, degree);
    }
    last.write(&mut section)?;
    section.finish(kind, Codec::Raw, base + new.len() as u64);
    Ok(longest)
}

/// Passes on the lengths of lists from `first` on, as `changed` has them.
fn with_changes(
    first: VertexId,
    degrees: &[u64],
    changed: &[(VertexId, u64)],
    visit: &mut dyn FnMut(VertexId, u64),
) {
    let mut changed = changed.iter().peekable();
    for (vertex, &degree) in (first..).zip(degrees) {
        let new = changed.next_if(|(of, _)| *of == vertex);
        visit(vertex, new.map_or(degree, |(_, degree)| *degree));
    }
}

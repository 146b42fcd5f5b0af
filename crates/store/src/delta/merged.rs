//! The lists of a page with their changes.

use std::ops::Range;

use super::PAGE_ENTRIES_MAX;
use super::gather::PageEdit;
use crate::VertexId;
use crate::error::{PageFault, other};

/// Lists that are put together one after the other; it may be used for any page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    /// The first `len` are those of the lists.
    entries: Vec<VertexId>,
    len: usize,
    /// In ascending order until all lists are there, then in that of a raw page's table, where the
    /// start of list 0 is the last.
    starts: Vec<u16>,
}

impl Merged {
    pub const fn bytes_for(entries: usize, lists: usize) -> usize {
        entries * size_of::<VertexId>() + lists * size_of::<u16>()
    }

    /// Begins with no list, and room for so many entries.
    pub fn clear(&mut self, entries: usize) {
        if self.entries.len() < entries {
            self.entries = Vec::new();
            self.entries.resize(entries, 0);
        }
        self.len = 0;
        self.starts.clear();
    }

    /// Appends the entries of lists, which start at `starts` within them.
    pub fn copy(&mut self, entries: &[VertexId], starts: impl Iterator<Item = usize>) {
        let at = self.len;
        self.starts.extend(starts.map(|from| start(at + from)));
        self.entries[at..at + entries.len()].copy_from_slice(entries);
        self.len += entries.len();
    }

    /// Fills an empty one with so many lists: those of a page, by its entries and its table of
    /// starts, each followed by what is added to it; lists behind those of the page have only that.
    /// `added` ascends by owner.
    pub fn fill(
        &mut self,
        (entries, starts): (&[VertexId], &[u16]),
        lists: usize,
        added: &[PageEdit],
    ) {
        let start_of = |list: usize| match starts.len().checked_sub(list + 1) {
            Some(at) => usize::from(starts[at]),
            None => entries.len(),
        };
        self.len = entries.len() + added.len();
        self.starts.resize(lists, 0);
        let (mut next, mut copied, mut rest) = (0, 0, added);
        while let Some(first) = rest.first() {
            let (owner, before) = (first.owner(), added.len() - rest.len());
            let behind = owner as usize + 1;
            for list in next..behind {
                self.starts[list] = start(start_of(list) + before);
            }
            let end = start_of(behind);
            copy_blocks(entries, copied..end, &mut self.entries, copied + before);
            let mut at = end + before;
            while let Some((edit, others)) = rest.split_first()
                && edit.owner() == owner
            {
                self.entries[at] = edit.other();
                (at, rest) = (at + 1, others);
            }
            (next, copied) = (behind, end);
        }
        for list in next..lists {
            self.starts[list] = start(start_of(list) + added.len());
        }
        self.entries[copied + added.len()..self.len].copy_from_slice(&entries[copied..]);
    }

    /// Appends a list that `write` puts at the start of a slice; it returns the length.
    pub fn push_list(
        &mut self,
        write: impl FnOnce(&mut [VertexId]) -> Result<usize, PageFault>,
    ) -> Result<(), PageFault> {
        self.starts.push(start(self.len));
        self.len += write(&mut self.entries[self.len..])?;
        Ok(())
    }

    /// Ends a page of at least one list, and returns the lengths of the first and the last one.
    pub fn finish(&mut self) -> Result<[u64; 2], PageFault> {
        if self.len > PAGE_ENTRIES_MAX {
            let what = format!("with its changes it has more than {PAGE_ENTRIES_MAX} entries");
            return Err(other(what));
        }
        let of_list = |at: usize| self.starts.get(at).map_or(self.len, |start| usize::from(*start));
        let lengths = [of_list(1), self.len - of_list(self.starts.len() - 1)];
        self.starts.reverse();
        Ok(lengths.map(|length| length as u64))
    }

    /// Entries and starts.
    pub fn parts(&self) -> (&[VertexId], &[u16]) {
        (&self.entries[..self.len], &self.starts)
    }
}

/// Copies a range, most often a short one, to a place; may write a few entries behind it.
#[inline(always)]
fn copy_blocks(from: &[VertexId], range: Range<usize>, to: &mut [VertexId], mut place: usize) {
    const BLOCK: usize = 16;
    let Range { mut start, end } = range;
    while start < end {
        let block = from[start..].first_chunk::<BLOCK>();
        let Some((block, out)) = block.zip(to[place..].first_chunk_mut::<BLOCK>()) else {
            to[place..place + end - start].copy_from_slice(&from[start..end]);
            return;
        };
        *out = *block;
        (start, place) = (start + BLOCK, place + BLOCK);
    }
}

/// Where a list starts; [`Merged::finish`] refuses a page in which this has more than 16 bits.
fn start(at: usize) -> u16 {
    at as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists of a page, and what is added to each; there may be more of the latter.
    fn assert_appended(lists: &[Vec<VertexId>], added: &[Vec<VertexId>]) {
        let entries = lists.concat();
        let starts = starts_of(lists);
        let edits: Vec<_> = (0..)
            .zip(added)
            .flat_map(|(owner, list)| {
                list.iter().map(move |other| PageEdit::new(owner, *other, true))
            })
            .collect();
        let mut merged = Merged::default();
        merged.clear(entries.len() + edits.len());
        merged.fill((&entries, &starts), added.len(), &edits);
        let [first, last] = merged.finish().unwrap();
        let both = |list: usize| [lists.get(list).map_or(&[][..], |l| l), &added[list]].concat();
        let expected: Vec<_> = (0..added.len()).map(both).collect();
        assert_eq!(merged.parts(), (&expected.concat()[..], &starts_of(&expected)[..]));
        assert_eq!([first, last], [0, added.len() - 1].map(|list| expected[list].len() as u64));
    }

    /// Where lists start, as the table of a raw page has it.
    fn starts_of(lists: &[Vec<VertexId>]) -> Vec<u16> {
        let starts = (0..lists.len()).rev();
        starts.map(|list| lists[..list].iter().map(Vec::len).sum::<usize>() as u16).collect()
    }

    #[test]
    fn what_is_added_follows_each_list() {
        let list = |len: usize| (0..len as VertexId).collect::<Vec<_>>();
        // Lengths around those of blocks, and lists that the page does not have.
        for lengths in [&[0, 3, 17, 0, 200, 16, 1][..], &[500], &[0], &[1, 1, 1, 1], &[32, 0]] {
            let lists: Vec<_> = lengths.iter().map(|len| list(*len)).collect();
            for step in 1..4 {
                for new in 0..3 {
                    let count = lengths.len() + new;
                    let of = |at: usize| {
                        if at.is_multiple_of(step) { list(at * 7 % 20) } else { vec![] }
                    };
                    assert_appended(&lists, &(0..count).map(of).collect::<Vec<_>>());
                }
            }
        }
    }
}

//! The lists of a page with their changes.

use super::PAGE_ENTRIES_MAX;
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

/// Where a list starts; [`Merged::finish`] refuses a page in which this has more than 16 bits.
fn start(at: usize) -> u16 {
    at as u16
}

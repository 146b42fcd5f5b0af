//! A list beside its changes: a look-up needs no copy of them put together.

use super::gather::{EntryOrder, PageEdit};
use super::list::{TWICE, put_together};
use super::merged::Merged;
use super::{PageDelta, add};
use crate::VertexId;
use crate::error::{PageFault, other};
use crate::gallop::gallop;
use crate::page::List;

/// A list, or its piece in a page, with its changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangedList<'a> {
    /// The entries are those on the device, `skip` and `degree` those with the changes.
    pub list: List<'a>,
    /// Of this list, ascending by entry.
    pub edits: &'a [PageEdit],
}

impl<'a> ChangedList<'a> {
    /// A list without changes.
    pub fn unchanged(list: List<'a>) -> Self {
        Self { list, edits: &[] }
    }

    /// The number of its entries in the page.
    pub fn len(&self) -> i64 {
        self.list.targets.len() as i64 + net(self.edits)
    }

    /// The first entry in the page.
    pub fn first(&self) -> Result<Option<VertexId>, PageFault> {
        let mut search = self.search();
        let stored = |search: &Search<'_>| search.targets.first().copied();
        while let Some(edit) = search.edits.first() {
            let entry = stored(&search).map_or(edit.other(), |entry| entry.min(edit.other()));
            if search.has(entry)? {
                return Ok(Some(entry));
            }
            search.pass(entry);
        }
        Ok(stored(&search))
    }

    /// Puts the list together with its changes, in this order of its entries.
    pub fn put_together<'m>(
        &'m self,
        order: EntryOrder,
        merged: &'m mut Merged,
    ) -> Result<List<'m>, PageFault> {
        let Self { list, edits } = self;
        if edits.is_empty() {
            return Ok(*list);
        }
        merged.clear(list.targets.len() + edits.len());
        merged.push_list(|out| put_together(list.targets, edits, order, out))?;
        Ok(List { targets: merged.parts().0, ..*list })
    }

    /// Searches for entries, from the first one on.
    pub fn search(&self) -> Search<'a> {
        Search { targets: self.list.targets, edits: self.edits }
    }
}

/// What follows the entries that were searched for.
#[derive(Clone, Debug)]
pub(crate) struct Search<'a> {
    targets: &'a [VertexId],
    edits: &'a [PageEdit],
}

impl Search<'_> {
    /// Whether the list has an entry, which is not below those that were searched for before.
    pub fn has(&mut self, entry: VertexId) -> Result<bool, PageFault> {
        self.targets = &self.targets[gallop(self.targets, |target| *target < entry)..];
        self.edits = &self.edits[gallop(self.edits, |edit| edit.other() < entry)..];
        let is_stored = self.targets.first() == Some(&entry);
        match self.edits.first().filter(|edit| edit.other() == entry) {
            None => Ok(is_stored),
            Some(edit) if edit.is_added() != is_stored => Ok(edit.is_added()),
            Some(_) => Err(other(TWICE)),
        }
    }

    /// Goes on behind an entry, which was searched for.
    fn pass(&mut self, entry: VertexId) {
        self.targets = &self.targets[usize::from(self.targets.first() == Some(&entry))..];
        let is_changed = self.edits.first().is_some_and(|edit| edit.other() == entry);
        self.edits = &self.edits[usize::from(is_changed)..];
    }
}

/// How many entries more there are.
fn net(edits: &[PageEdit]) -> i64 {
    let added = edits.iter().filter(|edit| edit.is_added()).count();
    2 * added as i64 - edits.len() as i64
}

impl PageDelta<'_> {
    /// One list of the page with its changes. `from` is where those of the list before it ended, at
    /// first 0; fastest if lists ascend.
    pub fn changed<'l>(
        &'l self,
        list: &List<'l>,
        from: &mut usize,
    ) -> Result<ChangedList<'l>, PageFault> {
        let owner = list.vertex - self.first;
        if self.edits[..*from].last().is_some_and(|edit| edit.owner() >= owner) {
            *from = 0;
        }
        let edits = &self.edits[*from..];
        let edits = &edits[gallop(edits, |edit| edit.owner() < owner)..];
        let (edits, behind) = edits.split_at(gallop(edits, |edit| edit.owner() == owner));
        *from = self.edits.len() - behind.len();
        let (skip, degree) = match self.spans.iter().find(|span| span.owner == list.vertex) {
            Some(span) => (add(list.skip, span.before)?, add(list.degree, span.whole)?),
            None if list.is_whole() => (list.skip, add(list.degree, net(edits))?),
            // It goes on in other pages, and its length has not changed.
            None => (list.skip, list.degree),
        };
        Ok(ChangedList { list: List { skip, degree, ..*list }, edits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All small lists and changes, against the list that is put together.
    #[test]
    fn a_list_beside_its_changes_is_searched_as_one_put_together() {
        const ENTRIES: VertexId = 5;
        for stored in 0..1u32 << ENTRIES {
            let has = |set: u32, entry: VertexId| set >> entry & 1 != 0;
            let targets: Vec<_> = (0..ENTRIES).filter(|entry| has(stored, *entry)).collect();
            for changed in 0..1u32 << ENTRIES {
                let edits: Vec<_> = (0..ENTRIES)
                    .filter(|entry| has(changed, *entry))
                    .map(|entry| PageEdit::new(0, entry, !has(stored, entry)))
                    .collect();
                let list = List { targets: &targets, ..List::empty(0, 0) };
                let list = ChangedList { list, edits: &edits };
                let mut expected = vec![0; 2 * ENTRIES as usize];
                let len =
                    put_together(&targets, &edits, EntryOrder::Ascending, &mut expected).unwrap();
                expected.truncate(len);
                assert_eq!(list.len(), len as i64);
                assert_eq!(list.first().unwrap(), expected.first().copied());
                let mut search = list.search();
                let found = (0..=ENTRIES).filter(|entry| search.has(*entry).unwrap());
                assert_eq!(found.collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn an_entry_that_is_added_twice_or_deleted_without_being_there_is_a_fault() {
        for (targets, is_added) in [(&[7][..], true), (&[], false)] {
            let edits = [PageEdit::new(0, 7, is_added)];
            let list = List { targets, ..List::empty(0, 0) };
            assert!(ChangedList { list, edits: &edits }.search().has(7).is_err());
            assert!(!ChangedList { list, edits: &edits }.search().has(6).unwrap());
        }
    }
}

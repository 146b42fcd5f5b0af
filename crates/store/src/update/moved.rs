//! Where lists lie that a merge beside commits has packed anew, for changes of the lists before it.

use std::ops::Range;

use crate::VertexId;
use crate::index::{CONTINUES, word_entries};

/// What an index word does not say of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PagePart {
    /// Its first entry.
    first: VertexId,
    /// Entries of the first and of the last list that has any.
    head: u16,
    tail: u16,
}

impl PagePart {
    /// Those of pages with so many entries of some lists, one after the other.
    pub fn of_pages<'e>(words: &[u64], lists: impl Iterator<Item = &'e [VertexId]>) -> Vec<Self> {
        let mut lists = lists.filter(|list| !list.is_empty());
        let mut list: &[VertexId] = &[];
        let of_page = |word: &u64| {
            let (mut rest, mut part) = (word_entries(*word) as usize, None);
            while rest > 0 {
                if list.is_empty() {
                    list = lists.next().expect("the pages have the entries of the lists");
                }
                let own = rest.min(list.len());
                let part = part.get_or_insert(Self { first: list[0], head: own as u16, tail: 0 });
                part.tail = own as u16;
                (list, rest) = (&list[own..], rest - own);
            }
            part.unwrap_or(Self { first: VertexId::MAX, head: 0, tail: 0 })
        };
        words.iter().map(of_page).collect()
    }
}

/// Pages that take the place of others.
#[derive(Debug)]
pub(crate) struct MovedPages {
    /// The pages before, by their numbers within the section.
    pub before: Range<u64>,
    /// The number of the first of the pages.
    pub first: u64,
    words: Vec<u64>,
    parts: Vec<PagePart>,
}

/// Where the pages of a section lie after a merge.
#[derive(Debug, Default)]
pub(crate) struct NewPages(Vec<MovedPages>);

impl NewPages {
    /// Adds pages that take the place of others, behind those so far.
    pub fn push(&mut self, before: Range<u64>, words: Vec<u64>, parts: Vec<PagePart>) {
        let first = self.kept(before.start);
        self.0.push(MovedPages { before, first, words, parts });
    }

    /// The number of a page that stays, behind those that were added.
    pub fn kept(&self, page: u64) -> u64 {
        let behind = self.0.partition_point(|moved| moved.before.start <= page);
        let last = behind.checked_sub(1).map(|at| &self.0[at]);
        last.map_or(page, |last| last.first + last.words.len() as u64 + page - last.before.end)
    }

    /// The pages that take the place of a page and others; `None` if it stays.
    pub fn moved(&self, page: u64) -> Option<(usize, &MovedPages)> {
        let at = self.0.partition_point(|moved| moved.before.start <= page).checked_sub(1)?;
        Some((at, &self.0[at])).filter(|(_, moved)| page < moved.before.end)
    }
}

impl MovedPages {
    /// The number of the page in which an entry has its place: of those with a part of the list the
    /// last that begins with an entry that is not greater, else the first.
    pub fn page_of(&self, owner: VertexId, entry: VertexId) -> u64 {
        let behind = self.words.partition_point(|word| *word as VertexId <= owner);
        let start = behind.saturating_sub(1);
        let parts = self.words[start + 1..].iter().zip(&self.parts[start + 1..]);
        let own = parts.take_while(|(word, part)| {
            let goes_on = **word & CONTINUES != 0 && **word as VertexId == owner + 1;
            goes_on && part.first <= entry
        });
        self.first + (start + own.count()) as u64
    }

    /// Entries of one of the pages, by its number.
    pub fn entries(&self, page: u64) -> u64 {
        word_entries(self.words[(page - self.first) as usize])
    }

    /// Entries of a list of several pages in one of them.
    pub fn entries_of(&self, page: u64, owner: VertexId) -> u64 {
        let at = (page - self.first) as usize;
        let (word, part) = (self.words[at], self.parts[at]);
        let goes_on = word & CONTINUES != 0 && word as VertexId == owner + 1;
        u64::from(if goes_on { part.head } else { part.tail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::word;

    /// Lists 4 to 8 in four pages: 4 begins before them and ends in the first, 5 is empty, 6 is in
    /// three pages, 7 and 8 in the last.
    fn moved() -> NewPages {
        let words = vec![word(5, true, 3), word(7, true, 2), word(7, true, 4), word(9, false, 0)];
        let lists: [&[VertexId]; 4] = [&[3, 5], &[1, 4, 6, 9], &[7], &[2, 8]];
        let parts = PagePart::of_pages(&words, lists.into_iter());
        let part = |first, head, tail| PagePart { first, head, tail };
        assert_eq!(parts, [part(3, 2, 1), part(4, 2, 2), part(9, 1, 2), part(u32::MAX, 0, 0)]);
        let mut pages = NewPages::default();
        pages.push(10..12, words, parts);
        pages
    }

    #[test]
    fn entries_have_their_places_in_the_pages_of_their_list() {
        let pages = moved();
        let (_, moved) = pages.moved(11).unwrap();
        let page_of = |owner, entry| moved.page_of(owner, entry) - 10;
        assert_eq!([0, 4, 99].map(|entry| page_of(4, entry)), [0, 0, 0]);
        assert_eq!([0, 99].map(|entry| page_of(5, entry)), [0, 0]);
        assert_eq!([0, 1, 3, 4, 8, 9, 99].map(|entry| page_of(6, entry)), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!([page_of(7, 0), page_of(8, 9), page_of(9, 1), page_of(77, 1)], [2, 2, 3, 3]);
        assert_eq!([10, 11, 12].map(|page| moved.entries_of(page, 6)), [1, 2, 1]);
        assert_eq!((moved.entries_of(10, 4), moved.entries(12)), (2, 4));
    }

    #[test]
    fn pages_that_stay_get_the_numbers_behind() {
        let mut pages = moved();
        pages.push(20..23, vec![word(99, false, 0)], vec![PagePart { first: 0, head: 0, tail: 0 }]);
        assert_eq!([0, 9, 12, 19, 23, 30].map(|page| pages.kept(page)), [0, 9, 14, 21, 23, 30]);
        let moved = [9, 10, 12, 22, 23].map(|page| pages.moved(page).map(|(at, _)| at));
        assert_eq!(moved, [None, Some(0), None, Some(1), None]);
        assert_eq!(pages.moved(20).unwrap().1.first, 22);
    }
}

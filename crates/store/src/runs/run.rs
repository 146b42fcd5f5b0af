//! A run as its index has it.

use std::ops::Range;

use crate::gallop::gallop;

/// The pages of a run that are of one direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunPages {
    pub level: u8,
    /// By their numbers within the section.
    pub pages: Range<u64>,
    /// For each of them the page of lists of its first group.
    pub firsts: Vec<u64>,
    /// Most entries that the run adds to a page of lists.
    pub added_max: u16,
    /// Changes of all pages.
    pub edits: u64,
}

impl RunPages {
    /// How many pages.
    pub fn len(&self) -> u64 {
        self.pages.end - self.pages.start
    }

    /// An upper bound of the entries that the run adds to any so many pages of lists together;
    /// `page_edits` are the most changes that a page of the run has. A page of lists may have
    /// far more changes than all others, that of new vertices for one: not each is taken for such.
    pub fn added_max_of(&self, pages: u64, page_edits: u64) -> u64 {
        // A group that begins one page or none has changes in two pages at most.
        let few = pages * u64::from(self.added_max).min(2 * page_edits);
        let groups = self.firsts.chunk_by(|a, b| a == b).filter(|begun| begun.len() > 1);
        let many: u64 = groups.map(|begun| (begun.len() as u64 + 1) * page_edits).sum();
        (few + many).min(pages * u64::from(self.added_max)).min(self.edits)
    }

    /// The pages, by their numbers within the section, that may have changes of a page of lists;
    /// found at once if they are at `last`, one of them, or a little behind it.
    #[inline]
    pub fn holding(&self, page: u64, last: Option<u64>) -> Range<u64> {
        let last = last.map_or(0, |last| (last - self.pages.start) as usize);
        let known = if self.firsts.get(last).is_some_and(|first| *first < page) { last } else { 0 };
        let rest = &self.firsts[known..];
        let behind = gallop(rest, |first| *first <= page);
        let from = known + gallop(&rest[..behind], |first| *first < page);
        // A group may begin at the end of the page before.
        let first = from.saturating_sub(1) as u64;
        self.pages.start + first..self.pages.start + (known + behind) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_lists_with_many_changes_are_counted_apart() {
        let firsts = vec![2, 5, 5, 5, 9];
        let pages = RunPages { level: 0, pages: 10..15, firsts, added_max: 350, edits: 480 };
        let of = |pages_of: u64| pages.added_max_of(pages_of, 100);
        // Page 5 of the lists has up to 400 changes, any other 200.
        assert_eq!([0, 1, 2].map(of), [0, 350, 480]);
        let of = |pages_of: u64| pages.added_max_of(pages_of, 10);
        assert_eq!([1, 2, 3].map(of), [60, 80, 100]);
        assert_eq!(pages.added_max_of(1, 1000), 350);
    }

    #[test]
    fn pages_that_may_hold_a_change_are_few() {
        let firsts = vec![2, 5, 5, 5, 9];
        let pages = RunPages { level: 0, pages: 10..15, firsts, added_max: 0, edits: 5 };
        let asked = [0, 2, 3, 5, 6, 9, 50];
        let holding = asked.map(|page| pages.holding(page, None));
        assert_eq!(holding, [10..10, 10..11, 10..11, 10..14, 13..14, 13..15, 14..15]);
        for last in 10..15 {
            assert_eq!(asked.map(|page| pages.holding(page, Some(last))), holding, "from {last}");
        }
    }
}

//! How many entries pages have: bounds of memory that do not take every page for the fullest.

/// Pages by their number of entries; numbers that share a bucket count as its largest.
const BUCKETS: usize = 256;
const BUCKET_ENTRIES: u64 = (1 << 16) / BUCKETS as u64;

/// The entries of the pages of one direction.
#[derive(Debug)]
pub(super) struct EntryCounts {
    /// How many pages have a number of entries in each bucket.
    pages: Box<[u32; BUCKETS]>,
    /// The most entries of a page.
    pub most: u64,
    /// Of the pages that a list lies on, with what else is on them, the most entries.
    pub of_list: u64,
    /// The most pages that a list lies on.
    pub list_pages: u64,
    /// Pages that the last list lies on, and their entries.
    run: [u64; 2],
    last: u64,
}

impl EntryCounts {
    /// Without a page.
    pub fn new() -> Self {
        let pages = Box::new([0; BUCKETS]);
        Self { pages, most: 0, of_list: 0, list_pages: 0, run: [0; 2], last: 0 }
    }

    /// Adds the next page. Whether it begins within a list, and whether that list has begun before
    /// the page before.
    pub fn push(&mut self, entries: u64, continues: bool, runs_through: bool) {
        self.pages[((entries / BUCKET_ENTRIES) as usize).min(BUCKETS - 1)] += 1;
        self.run = match (continues, runs_through) {
            (true, true) => [self.run[0] + 1, self.run[1] + entries],
            (true, false) => [2, self.last + entries],
            (false, _) => [1, entries],
        };
        self.last = entries;
        self.most = self.most.max(entries);
        self.list_pages = self.list_pages.max(self.run[0]);
        self.of_list = self.of_list.max(self.run[1]);
    }

    /// Entries of so many of the fullest pages, or some more.
    pub fn of_fullest(&self, pages: u64) -> u64 {
        let (mut left, mut entries) = (pages, 0);
        for (bucket, &of_bucket) in self.pages.iter().enumerate().rev() {
            let taken = left.min(of_bucket.into());
            entries += taken * ((bucket as u64 + 1) * BUCKET_ENTRIES).min(self.most);
            left -= taken;
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_pages_are_counted_first() {
        let mut counts = EntryCounts::new();
        for entries in [5, 1_000, 65_535, 300, 255] {
            counts.push(entries, false, false);
        }
        assert_eq!([0, 1, 2].map(|pages| counts.of_fullest(pages)), [0, 65_535, 65_535 + 1_024]);
        assert_eq!(counts.of_fullest(9), 65_535 + 1_024 + 512 + 256 + 256);
        assert_eq!((counts.most, counts.of_list, counts.list_pages), (65_535, 65_535, 1));
    }

    #[test]
    fn a_list_has_at_most_the_entries_of_its_pages() {
        let mut counts = EntryCounts::new();
        counts.push(10, false, false);
        counts.push(20, true, false);
        counts.push(30, true, true);
        // Another list begins in the page before.
        counts.push(40, true, false);
        counts.push(69, false, false);
        assert_eq!((counts.of_list, counts.list_pages), (70, 3));
    }
}

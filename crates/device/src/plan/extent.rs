//! Extents: runs of pages from a stream of wanted pages.

/// Consecutive pages that are read by one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first page.
    pub first_page: u64,
    /// Pages, at least one.
    pub pages: u64,
}

impl Extent {
    /// The page after the last.
    pub fn end_page(&self) -> u64 {
        self.first_page + self.pages
    }
}

/// Streams extents; see [`Planner::extents`](super::Planner::extents). Allocates nothing.
#[derive(Clone, Debug)]
pub struct Extents<'a, I> {
    reach: &'a [u64],
    wanted: I,
    /// The wanted page that begins the next extent.
    next_page: Option<u64>,
}

impl<'a, I: Iterator<Item = u64>> Extents<'a, I> {
    pub(super) fn new(reach: &'a [u64], mut wanted: I) -> Self {
        let next_page = wanted.next();
        Self { reach, wanted, next_page }
    }
}

impl<I: Iterator<Item = u64>> Iterator for Extents<'_, I> {
    type Item = Extent;

    #[inline]
    fn next(&mut self) -> Option<Extent> {
        let first_page = self.next_page.take()?;
        let mut pages = 1;
        for page in self.wanted.by_ref() {
            debug_assert!(page >= first_page + pages - 1, "wanted pages ascend");
            // A page before the first wraps to a huge length, so it begins a new extent.
            let length = page.wrapping_sub(first_page).wrapping_add(1);
            if length > self.reach[pages as usize] {
                self.next_page = Some(page);
                break;
            }
            pages = pages.max(length);
        }
        Some(Extent { first_page, pages })
    }
}

//! Prefetchers, one file each.
//!
//! - `tap`: sequential streams, found in a table of expected next pages
//! - `history`: a table of each page's likely successors
//!
//! A prefetcher proposes pages at a miss. The pool reads them with the missed page, into frames
//! that it has just freed, and counts which of them were used before their eviction.

mod history;
mod tap;

use std::fmt::{self, Debug};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::PageId;

/// The outcome of a request for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The page was in memory and had been used there before.
    Hit,
    /// The page was in memory because it was prefetched; this is its first use.
    PrefetchedHit,
    /// The page had to be read.
    Miss,
}

/// A prefetcher. The pool calls it under one lock, with the requests of each handle in order.
pub trait Prefetcher: Send + Debug {
    /// Whether it needs every hit; otherwise only misses and first uses are passed.
    fn wants_hits(&self) -> bool;

    /// A page was requested. `stream` distinguishes handles.
    fn requested(&mut self, stream: u64, page: PageId, lookup: Lookup);

    /// Appends up to `n` pages to read with `page`, the likeliest first. `page` has just missed and
    /// was passed to [`Prefetcher::requested`].
    fn propose(&mut self, stream: u64, page: PageId, n: usize, out: &mut Vec<PageId>);

    /// Bytes of its tables.
    fn memory_bytes(&self) -> usize;
}

/// The prefetchers that come with the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrefetchKind {
    /// No prefetching.
    #[default]
    None,
    /// TaP: sequential streams.
    Tap,
    /// The history table: each page's likely successors.
    History,
    /// TaP for pages of a stream, else the history table (dissertation 4.3.4).
    Both,
}

impl PrefetchKind {
    /// All prefetchers.
    pub const ALL: [Self; 4] = [Self::None, Self::Tap, Self::History, Self::Both];

    /// The name in tables and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tap => "tap",
            Self::History => "history",
            Self::Both => "both",
        }
    }

    /// A prefetcher for a device of `pages`; `None` for [`PrefetchKind::None`].
    pub fn build(self, pages: u64) -> Option<Box<dyn Prefetcher>> {
        match self {
            Self::None => None,
            Self::Tap => Some(Box::new(tap::Tap::default())),
            Self::History => Some(Box::new(history::History::for_pages(pages))),
            Self::Both => Some(Box::new(Both {
                tap: tap::Tap::default(),
                history: history::History::for_pages(pages),
            })),
        }
    }
}

impl fmt::Display for PrefetchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PrefetchKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("no prefetcher is called '{name}'; there are {}", names.join(", "))
        })
    }
}

/// TaP for pages of a stream, else the history table.
#[derive(Debug)]
struct Both {
    tap: tap::Tap,
    history: history::History,
}

impl Prefetcher for Both {
    fn wants_hits(&self) -> bool {
        self.history.wants_hits()
    }

    fn requested(&mut self, stream: u64, page: PageId, lookup: Lookup) {
        self.tap.requested(stream, page, lookup);
        self.history.requested(stream, page, lookup);
    }

    fn propose(&mut self, stream: u64, page: PageId, n: usize, out: &mut Vec<PageId>) {
        let before = out.len();
        self.tap.propose(stream, page, n, out);
        if out.len() == before {
            self.history.propose(stream, page, n, out);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.tap.memory_bytes() + self.history.memory_bytes()
    }
}

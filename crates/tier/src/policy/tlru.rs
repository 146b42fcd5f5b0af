//! `tlru`: least recently used, between tiers (dissertation 6.5).
//!
//! "If recency of page K is higher than the least recency in upper tier, then upgrade page K." An
//! accessed page is always the most recent one, so taken literally every access promotes
//! (`tlru:always`). The authors' program compares the page's previous access instead, with a margin
//! that the text does not have: it must be more recent than the least recent page of the faster
//! tier by more accesses than that tier has pages. That is the default, because without the margin
//! (`tlru:no-margin`) every page that is used twice demotes another.

use serde::{Deserialize, Serialize};

use super::lowest::Rank;
use super::ranked::{Ranked, Ranking};
use super::saved::{Load as _, take_accesses, take_all};
use super::{Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::Page;

/// When a page is promoted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TlruConfig {
    /// At every access.
    pub always: bool,
    /// Without the margin.
    pub no_margin: bool,
}

impl TlruConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self { always: options.word("always"), no_margin: options.word("no-margin") })
    }
}

pub(super) fn make(
    config: TlruConfig,
    context: &Context<'_>,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Policy>> {
    let pages = context.placement.pages() as usize;
    let recency = Recency { config, last: vec![0; pages], accesses: 0 };
    Ranked::new(recency, PolicyKind::Tlru(config), context).boxed(context, saved)
}

/// The number of each page's last access; 0 is never.
#[derive(Debug, Serialize, Deserialize)]
struct Recency {
    #[serde(skip)]
    config: TlruConfig,
    last: Vec<u64>,
    accesses: u64,
}

impl Ranking for Recency {
    fn touch(&mut self, page: Page) -> Rank {
        self.accesses += 1;
        let before = std::mem::replace(&mut self.last[page as usize], self.accesses);
        if self.config.always { self.accesses } else { before }
    }

    fn rank(&self, page: Page) -> Rank {
        self.last[page as usize]
    }

    fn margin(&self, held: u64) -> Rank {
        if self.config.always || self.config.no_margin { 0 } else { held }
    }

    fn memory_bytes(&self) -> usize {
        self.last.capacity() * size_of::<u64>()
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.last.get(page as usize).map(|&last| last as f64)
    }

    fn load(&mut self, saved: Self, pages: u32) -> Result<()> {
        take_accesses(&mut self.accesses, saved.accesses)?;
        let (count, accesses) = (pages as usize, saved.accesses);
        take_all(&mut self.last, saved.last, count, "last accesses", |&last| last <= accesses)
    }
}

//! `tlru`: least recently used, between tiers (dissertation 6.5).
//!
//! "If recency of page K is higher than the least recency in upper tier, then upgrade page K." At
//! the moment of its access every page is the most recent one, so taken to the letter all pages
//! always go up (`tlru:always`). The sensible reading asks for the access before this one, as the
//! authors' program does. That adds a margin which the text does not have: the earlier access must
//! be more recent than the least recent page above by more accesses than the tier has pages. Their
//! margin is the default, because without it (`tlru:no-margin`) every page that is used twice
//! throws another one out.

use serde::{Deserialize, Serialize};

use super::lowest::Rank;
use super::ranked::{Ranked, Ranking};
use super::saved::{Load as _, take_accesses, take_all};
use super::{Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::Page;

/// When a page goes up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlruConfig {
    /// Always.
    pub always: bool,
    /// As soon as its last access but one is more recent than the least recent page above.
    pub no_margin: bool,
}

impl TlruConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self { always: options.word("always"), no_margin: options.word("no-margin") })
    }
}

/// The policy with its options.
pub(super) fn make(
    config: TlruConfig,
    context: &Context<'_>,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Policy>> {
    let pages = context.placement.pages() as usize;
    let recency = Recency { config, last: vec![0; pages], accesses: 0 };
    Ranked::new(recency, PolicyKind::Tlru(config), context).boxed(context, saved)
}

/// When each page was last used, as the number of the access; 0 is never.
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

//! `tlfu`: least frequently used, between tiers (dissertation 6.5): promotes a page that was used
//! more often than the least frequently used page of the next faster tier. Counts never decay, so
//! formerly hot pages stay until others exceed their counts.

use serde::{Deserialize, Serialize};

use super::lowest::Rank;
use super::ranked::{Ranked, Ranking};
use super::saved::{Load as _, take_all};
use super::{Context, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::Page;

pub(super) fn make(context: &Context<'_>, saved: Option<&[u8]>) -> Result<Box<dyn Policy>> {
    let counts = vec![0; context.placement.pages() as usize];
    Ranked::new(Frequency { counts }, PolicyKind::Tlfu, context).boxed(context, saved)
}

/// The number of accesses of each page.
#[derive(Debug, Serialize, Deserialize)]
struct Frequency {
    counts: Vec<u32>,
}

impl Ranking for Frequency {
    fn touch(&mut self, page: Page) -> Rank {
        let count = &mut self.counts[page as usize];
        *count = count.saturating_add(1);
        Rank::from(*count)
    }

    fn rank(&self, page: Page) -> Rank {
        self.counts[page as usize].into()
    }

    fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.counts.get(page as usize).map(|&count| f64::from(count))
    }

    fn load(&mut self, saved: Self, pages: u32) -> Result<()> {
        take_all(&mut self.counts, saved.counts, pages as usize, "counts of pages", |_| true)
    }
}

//! `tlfu`: least frequently used, between tiers (dissertation 6.5): a page goes up as soon as it
//! was used more often than the least often used page above. Counts never age, so what was hot
//! once stays up until others have caught up with all of its past.

use super::lowest::Rank;
use super::ranked::{Ranked, Ranking};
use super::{Context, Policy};
use crate::placement::Page;

/// The policy.
pub(super) fn build(context: &Context<'_>) -> Box<dyn Policy> {
    let counts = vec![0; context.placement.pages() as usize];
    Box::new(Ranked::new(Frequency { counts }, context.placement))
}

/// How often each page was used.
#[derive(Debug)]
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
}

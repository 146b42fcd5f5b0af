//! What tLRU, tLFU, LRFU and EXD have in common (dissertation 6.5): a page that is asked for goes
//! up one tier if it ranks above the lowest page there; if that tier is full, the lowest page comes
//! down for it.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::lowest::{Lowest, Rank};
use super::saved::{Load, Owner};
use super::{Access, Context, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};

/// How pages are ranked. A page's rank does not change while it is not asked for.
pub(super) trait Ranking: Send + Debug + Serialize + DeserializeOwned + 'static {
    /// Takes note of an access; returns with which rank the page claims a place above.
    fn touch(&mut self, page: Page) -> Rank;

    /// The rank with which it defends its own place.
    fn rank(&self, page: Page) -> Rank;

    /// By how much a claim must exceed the lowest rank of a tier that holds so many pages.
    fn margin(&self, _held: u64) -> Rank {
        0
    }

    /// Bytes that it holds.
    fn memory_bytes(&self) -> usize;

    /// What a page ranks by, as of now; nothing where there is no such page.
    fn heat(&self, page: Page) -> Option<f64>;

    /// Takes on what was saved of the first `pages`.
    fn load(&mut self, saved: Self, pages: u32) -> Result<()>;
}

/// The policy that a ranking makes.
#[derive(Debug)]
pub(super) struct Ranked<R> {
    owner: Owner,
    ranking: R,
    lowest: Lowest,
}

impl<R: Ranking> Ranked<R> {
    pub(super) fn new(ranking: R, kind: PolicyKind, context: &Context<'_>) -> Self {
        let lowest = Lowest::new(context.placement, |page| ranking.rank(page));
        Self { owner: Owner::new(kind, context), ranking, lowest }
    }
}

impl<R: Ranking> Policy for Ranked<R> {
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        let page = access.page;
        let before = self.ranking.rank(page);
        let claim = self.ranking.touch(page);
        let here = placement.tier_of(page);
        let rank = self.ranking.rank(page);
        if rank < before {
            self.lowest.push(here, page, rank);
        }
        let Some(above) = here.checked_sub(1) else { return };
        if placement.has_room(above) {
            moves.push(Move { page, to: above });
            return;
        }
        let ranking = &self.ranking;
        let lowest = self.lowest.get(above, placement, |page| ranking.rank(page));
        let Some((rank, victim)) = lowest else { return };
        if claim > rank.saturating_add(ranking.margin(placement.count(above))) {
            moves.extend([Move { page: victim, to: here }, Move { page, to: above }]);
        }
    }

    fn moved(&mut self, page: Page, _from: Tier, to: Tier) {
        self.lowest.push(to, page, self.ranking.rank(page));
    }

    fn memory_bytes(&self) -> usize {
        self.ranking.memory_bytes() + self.lowest.memory_bytes()
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.owner.pack(&self.ranking)
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.ranking.heat(page)
    }
}

impl<R: Ranking> Load for Ranked<R> {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let (saved, pages) = self.owner.unpack(bytes)?;
        self.ranking.load(saved, pages)?;
        self.lowest = Lowest::new(placement, |page| self.ranking.rank(page));
        Ok(())
    }
}

//! The common part of tLRU, tLFU, LRFU and EXD (dissertation 6.5): an accessed page is promoted by
//! one tier if that has room, or if it outranks the lowest page there, which is then demoted.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::lowest::{Lowest, Rank};
use super::saved::{Load, StateHeader};
use super::{Access, Context, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};

/// A ranking of pages. A page's rank changes only when it is accessed.
pub(super) trait Ranking: Send + Debug + Serialize + DeserializeOwned + 'static {
    /// Records an access; returns the rank by which the page may be promoted.
    fn touch(&mut self, page: Page) -> Rank;

    /// The rank that another page must exceed to replace this one.
    fn rank(&self, page: Page) -> Rank;

    /// By how much a page must outrank the lowest page of a tier with `held` pages.
    fn margin(&self, _held: u64) -> Rank {
        0
    }

    fn memory_bytes(&self) -> usize;

    /// See [`Policy::heat`].
    fn heat(&self, page: Page) -> Option<f64>;

    /// Restores the saved state of the first `pages`.
    fn load(&mut self, saved: Self, pages: u32) -> Result<()>;
}

#[derive(Debug)]
pub(super) struct Ranked<R> {
    header: StateHeader,
    ranking: R,
    lowest: Lowest,
}

impl<R: Ranking> Ranked<R> {
    pub(super) fn new(ranking: R, kind: PolicyKind, context: &Context<'_>) -> Self {
        let lowest = Lowest::new(context.placement, |page| ranking.rank(page));
        Self { header: StateHeader::new(kind, context), ranking, lowest }
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
        self.header.pack(&self.ranking)
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.ranking.heat(page)
    }
}

impl<R: Ranking> Load for Ranked<R> {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let (saved, pages) = self.header.unpack(bytes)?;
        self.ranking.load(saved, pages)?;
        self.lowest = Lowest::new(placement, |page| self.ranking.rank(page));
        Ok(())
    }
}

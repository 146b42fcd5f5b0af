//! `cost-benefit`: a page goes up when its heat, if it lasts, will pay for the move. Ours.
//!
//! Two moving averages of each page's accesses, over a quarter of an access per page and over four.
//! A page is expected to be asked for as often as the *lower* of the two says, the one that would
//! come down for it (the coldest above) as often as the *higher* says; over `horizon` accesses per
//! page (1) the difference must exceed the accesses that pay back the exchange
//! (the tiers' latencies, alpha, k_r and k_w). Two averages distinguish a burst from a habit; the
//! price is that a new hot page must be seen several times before it goes up.

use super::heat::{Cell, Heats};
use super::ledger::Ledger;
use super::lowest::Lowest;
use super::saved::{Load, Owner};
use super::{Access, Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};

/// Windows and horizon, in accesses per page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostBenefitConfig {
    /// Of the average that forgets fast.
    pub short: f64,
    /// Of the average that forgets slowly.
    pub long: f64,
    /// Time in which a move must pay.
    pub horizon: f64,
}

impl CostBenefitConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self {
            short: options.number("short", 0.25, 1e-6..=1e6)?,
            long: options.number("long", 4.0, 1e-6..=1e6)?,
            horizon: options.number("horizon", 1.0, 1e-6..=1e6)?,
        })
    }
}

/// The policy.
#[derive(Debug)]
pub struct CostBenefit {
    owner: Owner,
    heats: Heats,
    coldest: Lowest,
    ledger: Ledger,
    /// In accesses.
    horizon: f64,
}

impl CostBenefit {
    pub(super) fn new(config: CostBenefitConfig, context: &Context<'_>) -> Self {
        let pages = context.placement.pages();
        let heats = Heats::new(pages, config.short, config.long);
        let coldest = Lowest::new(context.placement, |page| heats.rank(page));
        let horizon = config.horizon * f64::from(pages);
        let owner = Owner::new(PolicyKind::CostBenefit(config), context);
        Self { owner, heats, coldest, ledger: Ledger::new(context), horizon }
    }

    /// Accesses that a page is expected to get within the horizon, at least and at most.
    fn expected(&self, page: Page) -> [f64; 2] {
        let heat = self.heats.now(page);
        let short = f64::from(heat.short / self.heats.short) * self.horizon;
        let long = f64::from(heat.long / self.heats.long) * self.horizon;
        [short.min(long), short.max(long)]
    }
}

impl Policy for CostBenefit {
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        let page = access.page;
        self.heats.touch(page);
        self.ledger.saw(access.write);
        let here = placement.tier_of(page);
        let Some(above) = here.checked_sub(1) else { return };
        let [expected, _] = self.expected(page);
        if placement.has_room(above) {
            if expected > self.ledger.payback(here, above, false) {
                moves.push(Move { page, to: above });
            }
            return;
        }
        let payback = self.ledger.payback(here, above, true);
        if expected <= payback {
            return;
        }
        let heats = &self.heats;
        let Some((_, victim)) = self.coldest.get(above, placement, |p| heats.rank(p)) else {
            return;
        };
        if expected - self.expected(victim)[1] > payback {
            moves.extend([Move { page: victim, to: here }, Move { page, to: above }]);
        }
    }

    fn moved(&mut self, page: Page, _from: Tier, to: Tier) {
        self.coldest.push(to, page, self.heats.rank(page));
    }

    fn memory_bytes(&self) -> usize {
        self.heats.memory_bytes() + self.coldest.memory_bytes()
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.owner.pack((self.heats.state(), self.ledger.state()))
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.heats.rates(page).map(|[short, long]| short.min(long))
    }
}

impl Load for CostBenefit {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let ((heats, ledger), pages): (((Vec<Cell>, u64), f64), _) = self.owner.unpack(bytes)?;
        self.heats.load(heats, pages)?;
        self.ledger.load(ledger)?;
        self.coldest = Lowest::new(placement, |page| self.heats.rank(page));
        Ok(())
    }
}

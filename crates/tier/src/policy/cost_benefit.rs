//! `cost-benefit`: promotes a page if its present access rate will pay for the move.
//!
//! Cenote's own. Each page has two moving averages of its accesses, over 1/4 and over 4 accesses
//! per page. The expected rate is the *lower* of the two for the page to promote and the *higher*
//! for the page to demote, the coldest of the faster tier; over `horizon` accesses per page (1) the
//! difference must exceed the accesses that pay back the exchange (by the tiers' latencies, alpha,
//! k_r and k_w). Two averages distinguish bursts from lasting heat; the cost is that a new hot page
//! is promoted only after several accesses.

use super::cost_model::CostModel;
use super::heat::{Cell, Heats};
use super::lowest::Lowest;
use super::saved::{Load, StateHeader};
use super::{Access, Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};
use crate::spec::TierSpec;

/// Windows and horizon, in accesses per page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CostBenefitConfig {
    /// Window of the short average.
    pub short: f64,
    /// Window of the long average.
    pub long: f64,
    /// Time in which a move must pay off.
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
    header: StateHeader,
    heats: Heats,
    coldest: Lowest,
    costs: CostModel,
    /// In accesses.
    horizon: f64,
}

impl CostBenefit {
    pub(super) fn new(config: CostBenefitConfig, context: &Context<'_>) -> Self {
        let pages = context.placement.pages();
        let heats = Heats::new(pages, config.short, config.long);
        let coldest = Lowest::new(context.placement, |page| heats.rank(page));
        let horizon = config.horizon * f64::from(pages);
        let header = StateHeader::new(PolicyKind::CostBenefit(config), context);
        Self { header, heats, coldest, costs: CostModel::new(context), horizon }
    }

    /// Lower and upper estimate of a page's accesses within the horizon.
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
        self.costs.record(access.write);
        let here = placement.tier_of(page);
        let Some(above) = here.checked_sub(1) else { return };
        let [expected, _] = self.expected(page);
        if placement.has_room(above) {
            if expected > self.costs.payback(here, above, false) {
                moves.push(Move { page, to: above });
            }
            return;
        }
        let payback = self.costs.payback(here, above, true);
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

    fn set_speeds(&mut self, tiers: &[TierSpec]) {
        self.costs.set_speeds(tiers);
    }

    fn memory_bytes(&self) -> usize {
        self.heats.memory_bytes() + self.coldest.memory_bytes()
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.header.pack((self.heats.state(), self.costs.state()))
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.heats.rates(page).map(|[short, long]| short.min(long))
    }
}

impl Load for CostBenefit {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let ((heats, costs), pages): (((Vec<Cell>, u64), f64), _) = self.header.unpack(bytes)?;
        self.heats.load(heats, pages)?;
        self.costs.load(costs)?;
        self.coldest = Lowest::new(placement, |page| self.heats.rank(page));
        Ok(())
    }
}

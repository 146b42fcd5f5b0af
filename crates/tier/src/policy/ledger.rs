//! What a move costs and what it saves, in time of the devices: the Parametric I/O Model's
//! latencies, alpha, k_r and k_w. Ours.
//!
//! An access takes (1 - w) l_r / k_r + w alpha l_r / k_w of a tier's device, w being the share of
//! writes. A page that goes up saves the difference with each access that follows; an exchange
//! takes a read and a write of both tiers. So there is a number of accesses that pays it back.

use super::Context;
use super::saved::{check, is_share};
use crate::error::Result;
use crate::placement::Tier;
use crate::spec::TierSpec;

/// Accesses after which the share of writes has forgotten half.
const WRITES_WINDOW: f64 = 4096.0;

/// The tiers' costs.
#[derive(Debug)]
pub(super) struct Ledger {
    tiers: Vec<TierSpec>,
    write_share: f64,
}

impl Ledger {
    pub(super) fn new(context: &Context<'_>) -> Self {
        Self { tiers: context.tiers.to_vec(), write_share: 0.5 }
    }

    /// An access was seen.
    pub(super) fn saw(&mut self, write: bool) {
        let seen = f64::from(u8::from(write));
        self.write_share += (seen - self.write_share) / WRITES_WINDOW;
    }

    /// What is to be saved.
    pub(super) fn state(&self) -> f64 {
        self.write_share
    }

    /// Takes on what was saved.
    pub(super) fn load(&mut self, write_share: f64) -> Result<()> {
        check(is_share(write_share), || format!("share of writes: found {write_share}"))?;
        self.write_share = write_share;
        Ok(())
    }

    /// Accesses after which a move from `here` up to `above` has paid for itself; infinite where
    /// it never does. `exchange`: another page comes down for it.
    pub(super) fn payback(&self, here: Tier, above: Tier, exchange: bool) -> f64 {
        let [low, high] = [here, above].map(|tier| self.tiers[usize::from(tier)]);
        let access = |tier: &TierSpec| tier.access_share_ns(self.write_share);
        let saving = access(&low) - access(&high);
        let mut cost = low.read_share_ns() + high.write_share_ns();
        if exchange {
            cost += low.write_share_ns() + high.read_share_ns();
        }
        if saving > 0.0 { cost / saving } else { f64::INFINITY }
    }
}

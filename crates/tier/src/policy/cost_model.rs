//! Cost and benefit of a move in device time, by the Parametric I/O Model's latencies, alpha, k_r
//! and k_w. Cenote's own.
//!
//! An access takes (1 - w) l_r / k_r + w alpha l_r / k_w of a tier's device; w is the share of
//! writes. A promoted page saves the difference between the tiers at each later access; an exchange
//! takes a read and a write on both tiers. So a number of accesses pays back a move.

use super::Context;
use super::saved::{check, is_share};
use crate::error::Result;
use crate::placement::Tier;
use crate::spec::TierSpec;

/// Window, in accesses, of the share of writes.
const WRITES_WINDOW: f64 = 4096.0;

#[derive(Debug)]
pub(super) struct CostModel {
    tiers: Vec<TierSpec>,
    write_share: f64,
}

impl CostModel {
    pub(super) fn new(context: &Context<'_>) -> Self {
        Self { tiers: context.tiers.to_vec(), write_share: 0.5 }
    }

    pub(super) fn set_speeds(&mut self, tiers: &[TierSpec]) {
        self.tiers = tiers.to_vec();
    }

    pub(super) fn record(&mut self, write: bool) {
        let seen = f64::from(u8::from(write));
        self.write_share += (seen - self.write_share) / WRITES_WINDOW;
    }

    pub(super) fn state(&self) -> f64 {
        self.write_share
    }

    pub(super) fn load(&mut self, write_share: f64) -> Result<()> {
        check(is_share(write_share), || format!("share of writes: found {write_share}"))?;
        self.write_share = write_share;
        Ok(())
    }

    /// Accesses that pay back a promotion from `here` to `above`, or infinity. `exchange`: another
    /// page is demoted for it.
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

//! `exd`: exponential decay, between tiers (dissertation 6.5; A. Floratou et al., "Adaptive caching
//! in Big SQL using the HDFS cache", SoCC 2016).
//!
//! On each access S = 1 + S exp(-alpha dt), time in accesses. That is LRFU's sum in other words;
//! the two differ by how fast they forget. Alpha is not in the text; the authors' program takes
//! 2x10^-8 per access, which forgets nothing in a million accesses and makes EXD a tLFU. Here it is
//! given as LRFU's `half-life`, in accesses per page, 10 by default: EXD is the one that remembers
//! longer.

use super::lrfu::Faded;
use super::ranked::Ranked;
use super::{Context, Options, Policy};
use crate::error::Result;

/// How fast it forgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExdConfig {
    /// Accesses per page after which an access counts half.
    pub half_life: f64,
}

impl ExdConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self { half_life: options.number("half-life", 10.0, 1e-6..=1e6)? })
    }
}

/// The policy with its options.
pub(super) fn build(config: &ExdConfig, context: &Context<'_>) -> Box<dyn Policy> {
    Box::new(Ranked::new(Faded::new(config.half_life, context), context.placement))
}

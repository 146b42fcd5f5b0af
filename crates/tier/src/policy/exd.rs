//! `exd`: exponential decay, between tiers (dissertation 6.5; A. Floratou et al., "Adaptive caching
//! in Big SQL using the HDFS cache", SoCC 2016).
//!
//! On each access S = 1 + S exp(-alpha dt), time in accesses. That is LRFU's sum with another rate
//! of decay. The text does not give alpha; the authors' program uses 2x10^-8 per access, which
//! decays hardly at all in a million accesses and makes EXD a tLFU (`exd:code`). Here it is given
//! as LRFU's `half-life`, in accesses per page, and decays more slowly: 10 by default.

use super::lrfu::{Faded, Stored};
use super::ranked::Ranked;
use super::saved::Load as _;
use super::{Context, Options, Policy, PolicyKind};
use crate::error::Result;

/// Alpha of the authors' program.
const CODE_ALPHA: f64 = 2e-8;

/// The rate of decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExdConfig {
    /// Accesses per page after which an access counts half.
    pub half_life: f64,
    /// Use the authors' alpha and scores.
    pub code: bool,
}

impl ExdConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        let half_life = options.number("half-life", 10.0, 1e-6..=1e6)?;
        Ok(Self { half_life, code: options.word("code") })
    }
}

pub(super) fn make(
    config: ExdConfig,
    context: &Context<'_>,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Policy>> {
    let kind = PolicyKind::Exd(config);
    if config.code {
        let decay = (-CODE_ALPHA).exp();
        return Ranked::new(Stored::new(decay, context), kind, context).boxed(context, saved);
    }
    Ranked::new(Faded::new(config.half_life, context), kind, context).boxed(context, saved)
}

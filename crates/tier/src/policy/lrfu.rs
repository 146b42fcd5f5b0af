//! `lrfu`: combined recency and frequency, between tiers (dissertation 6.5; D. Lee et al., "LRFU: a
//! spectrum of policies", IEEE ToC 50(12), 2001).
//!
//! CRF(t) = sum over a page's accesses of 2^(-lambda (t - t_i)), time in accesses. A page goes up
//! if its CRF exceeds the lowest one above, both as of now. (The authors' program compares with the
//! value stored at the last access, which had time to fade.) Lambda is not in the text; their
//! program's 0.8 per access forgets within a handful of accesses, whatever the number of pages, and
//! makes every CRF 1. Here lambda is given as the accesses per page after which an access counts
//! half: `half-life`, 1 by default, so it means the same for any number of pages.
//!
//! Since all values fade alike, log2 CRF(t) + lambda t does not change between accesses: that is
//! what is stored, and compared.

use super::lowest::{Rank, rank_of};
use super::ranked::{Ranked, Ranking};
use super::{Context, Options, Policy};
use crate::error::Result;
use crate::placement::Page;

/// How fast it forgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrfuConfig {
    /// Accesses per page after which an access counts half.
    pub half_life: f64,
}

impl LrfuConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self { half_life: options.number("half-life", 1.0, 1e-6..=1e6)? })
    }
}

/// The policy with its options.
pub(super) fn build(config: &LrfuConfig, context: &Context<'_>) -> Box<dyn Policy> {
    Box::new(Ranked::new(Faded::new(config.half_life, context), context.placement))
}

/// The sum of a page's accesses, each worth less the older it is.
#[derive(Debug)]
pub(super) struct Faded {
    /// Halvings per access.
    lambda: f64,
    /// log2 of the sum + lambda x its time; minus infinity for a page that was never used.
    keys: Vec<f64>,
    accesses: u64,
}

impl Faded {
    /// Accesses count half after `half_life` accesses per page.
    pub(super) fn new(half_life: f64, context: &Context<'_>) -> Self {
        let pages = context.placement.pages();
        let keys = vec![f64::NEG_INFINITY; pages as usize];
        Self { lambda: 1.0 / (half_life * f64::from(pages)), keys, accesses: 0 }
    }
}

impl Ranking for Faded {
    fn touch(&mut self, page: Page) -> Rank {
        self.accesses += 1;
        let now = self.accesses as f64 * self.lambda;
        let key = &mut self.keys[page as usize];
        *key = now + (1.0 + (*key - now).exp2()).log2();
        rank_of(*key)
    }

    fn rank(&self, page: Page) -> Rank {
        rank_of(self.keys[page as usize])
    }

    fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<f64>()
    }
}

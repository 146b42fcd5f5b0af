//! `lrfu`: combined recency and frequency, between tiers (dissertation 6.5; D. Lee et al., "LRFU: a
//! spectrum of policies", IEEE ToC 50(12), 2001).
//!
//! CRF(t) = sum over a page's accesses of 2^(-lambda (t - t_i)), time in accesses. A page is
//! promoted if its CRF exceeds the lowest one of the faster tier, both as of now. Lambda is not in
//! the text; here it is given as `half-life`, the accesses per page after which an access counts
//! half, 1 by default.
//!
//! The authors' program (`lrfu:code`) compares CRFs as of each page's last access. Its decay of 0.8
//! per access leaves nothing after a few accesses and makes every CRF about 1.
//!
//! Since all CRFs decay alike, log2 CRF(t) + lambda t does not change between accesses: this is
//! stored and compared.

use serde::{Deserialize, Serialize};

use super::lowest::{Rank, rank_of};
use super::ranked::{Ranked, Ranking};
use super::saved::{Load as _, take_accesses, take_all};
use super::{Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::Page;

/// Factor by which scores decay per access in the authors' program.
const CODE_DECAY: f64 = 0.8;

/// The rate of decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LrfuConfig {
    /// Accesses per page after which an access counts half.
    pub half_life: f64,
    /// Use the authors' decay and scores.
    pub code: bool,
}

impl LrfuConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        let half_life = options.number("half-life", 1.0, 1e-6..=1e6)?;
        Ok(Self { half_life, code: options.word("code") })
    }
}

pub(super) fn make(
    config: LrfuConfig,
    context: &Context<'_>,
    saved: Option<&[u8]>,
) -> Result<Box<dyn Policy>> {
    let kind = PolicyKind::Lrfu(config);
    if config.code {
        return Ranked::new(Stored::new(CODE_DECAY, context), kind, context).boxed(context, saved);
    }
    Ranked::new(Faded::new(config.half_life, context), kind, context).boxed(context, saved)
}

/// Decaying sums of accesses, compared as of now.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Faded {
    /// Halvings per access.
    #[serde(skip)]
    lambda: f64,
    /// log2(sum) + lambda x time; minus infinity for a page that was never used.
    keys: Vec<f64>,
    accesses: u64,
    #[serde(skip)]
    half_life: f64,
}

impl Faded {
    /// Accesses count half after `half_life` accesses per page.
    pub(super) fn new(half_life: f64, context: &Context<'_>) -> Self {
        let pages = context.placement.pages();
        let keys = vec![f64::NEG_INFINITY; pages as usize];
        let lambda = 1.0 / (half_life * f64::from(pages));
        Self { lambda, keys, accesses: 0, half_life }
    }
}

impl Ranking for Faded {
    fn touch(&mut self, page: Page) -> Rank {
        self.accesses += 1;
        let now = self.accesses as f64 * self.lambda;
        let key = &mut self.keys[page as usize];
        // Rounding must not lower a rank.
        *key = key.max(now + (1.0 + (*key - now).exp2()).log2());
        rank_of(*key)
    }

    fn rank(&self, page: Page) -> Rank {
        rank_of(self.keys[page as usize])
    }

    fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<f64>()
    }

    fn heat(&self, page: Page) -> Option<f64> {
        let now = self.accesses as f64 * self.lambda;
        self.keys.get(page as usize).map(|key| (key - now).exp2())
    }

    fn load(&mut self, saved: Self, pages: u32) -> Result<()> {
        take_accesses(&mut self.accesses, saved.accesses)?;
        let accesses = saved.accesses as f64;
        // The greatest key: all accesses went to one page just now.
        let now = accesses / (self.half_life * f64::from(pages));
        let most = now + (accesses + 1.0).log2();
        take_all(&mut self.keys, saved.keys, pages as usize, "faded sums", |&key| key <= most)?;
        if (pages as usize) < self.keys.len() {
            // Sums keep their present values and decay more slowly from now on.
            let shift = accesses * self.lambda - now;
            self.keys.iter_mut().for_each(|key| *key += shift);
        }
        Ok(())
    }
}

/// Decaying sums compared as of each page's last access, as in the authors' program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    #[serde(skip)]
    decay: f64,
    /// The sum at the last access, and that access's number.
    scores: Vec<(f64, u64)>,
    accesses: u64,
}

impl Stored {
    /// Scores decay by the factor `decay` per access.
    pub(super) fn new(decay: f64, context: &Context<'_>) -> Self {
        let scores = vec![(0.0, 0); context.placement.pages() as usize];
        Self { decay, scores, accesses: 0 }
    }
}

impl Ranking for Stored {
    fn touch(&mut self, page: Page) -> Rank {
        self.accesses += 1;
        let (score, last) = &mut self.scores[page as usize];
        *score = 1.0 + *score * self.decay.powf((self.accesses - *last) as f64);
        *last = self.accesses;
        rank_of(*score)
    }

    fn rank(&self, page: Page) -> Rank {
        rank_of(self.scores[page as usize].0)
    }

    fn memory_bytes(&self) -> usize {
        self.scores.capacity() * size_of::<(f64, u64)>()
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.scores.get(page as usize).map(|(score, _)| *score)
    }

    fn load(&mut self, saved: Self, pages: u32) -> Result<()> {
        take_accesses(&mut self.accesses, saved.accesses)?;
        let most = saved.accesses as f64 + 1.0;
        take_all(&mut self.scores, saved.scores, pages as usize, "stored sums", |(score, last)| {
            (0.0..=most).contains(score) && *last <= saved.accesses
        })
    }
}

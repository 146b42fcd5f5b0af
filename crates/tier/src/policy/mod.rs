//! Which pages move between tiers: policies, one file each. A page goes up a tier
//!
//! - never (`fixed`)
//! - `ideal`: if it is one of the workload's hot pages, known beforehand
//! - `tlru`: if it was used more recently than the least recent page above
//! - `tlfu`: if it was used more often than the least often used page above
//! - `lrfu`, `exd`: the same with counts that fade
//! - `temp`: if it is warmer than the tier above on average
//! - `restore`: if that makes the tiers' learned values greater
//! - `cost_benefit`: if it will pay for the move, if its heat lasts
//! - `payback`: if it will pay for the move, by what its kind proved to do
//!
//! A policy sees every access, after its I/O was sent to where the page lies, and returns moves. It
//! is notified of each move that was carried out; one that was not changes nothing. So the
//! same policy serves the replay in virtual time and tiers whose migrations take time or fail.

mod cost_benefit;
mod exd;
mod fixed;
mod heat;
mod ideal;
mod ledger;
mod lowest;
mod lrfu;
mod payback;
mod ranked;
mod restore;
mod saved;
mod temp;
mod temperature;
mod tlfu;
mod tlru;

use std::fmt::{self, Debug};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Result, TierError};
use crate::placement::{Move, Page, Placement, Tier};
use crate::spec::TierSpec;
use saved::Load as _;

/// One access to a page.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Which page.
    pub page: Page,
    /// Whether it changes the page.
    pub write: bool,
    /// When, on the caller's clock; never before an earlier access.
    pub now_ns: u64,
    /// Requests that wait at each tier, or nothing where they are not counted.
    pub queued: &'a [u32],
}

/// Decides which pages move.
pub trait Policy: Send + Debug {
    /// Sees an access and appends the moves that it wants. All of them are carried out
    /// together, or none.
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>);

    /// A page was moved.
    fn moved(&mut self, _page: Page, _from: Tier, _to: Tier) {}

    /// A request that arrived at `arrival_ns` on this tier was answered; only where
    /// [`Policy::wants_responses`].
    fn responded(&mut self, _tier: Tier, _arrival_ns: u64, _response_ns: u64) {}

    /// Whether it learns from response times and queues, which cost something to collect.
    fn wants_responses(&self) -> bool {
        false
    }

    /// Bytes that it holds now, all of what grows with the pages included.
    fn memory_bytes(&self) -> usize;

    /// Its state, for [`PolicySpec::restore`]. Changed bits are not noticed: keep a checksum.
    fn save(&self) -> Result<Vec<u8>>;

    /// How much a page should be up, as of now; greater is hotter, and the scale is the policy's
    /// own. Nothing where it does not rank pages, or there is no such page.
    fn heat(&self, page: Page) -> Option<f64>;
}

/// What a policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The tiers, from the fastest.
    pub tiers: &'a [TierSpec],
    /// Where pages lie at the start.
    pub placement: &'a Placement,
    /// For policies that choose at random.
    pub seed: u64,
    /// What is known of the workload, for `ideal`.
    pub oracle: Option<&'a Oracle>,
}

/// A workload's hot pages, known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracle {
    /// In the order of time, the first from access 0 on.
    pub phases: Vec<OraclePhase>,
}

/// The hot pages of a part of the workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OraclePhase {
    /// The number of the first access.
    pub start: u64,
    /// The hottest first; pages that are left out are colder than these.
    pub hottest: Vec<Page>,
}

/// A policy with its options, by name: `tlru`, `exd:half-life=0.5`.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    name: String,
    kind: PolicyKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum PolicyKind {
    Static,
    Ideal(ideal::IdealConfig),
    Tlru(tlru::TlruConfig),
    Tlfu,
    Lrfu(lrfu::LrfuConfig),
    Exd(exd::ExdConfig),
    Temp(temp::TempConfig),
    ReStore(restore::ReStoreConfig),
    CostBenefit(cost_benefit::CostBenefitConfig),
    Payback(payback::PaybackConfig),
}

impl PolicySpec {
    /// The names of all policies, without options.
    pub const NAMES: [&'static str; 10] = [
        "static",
        "ideal",
        "tlru",
        "tlfu",
        "lrfu",
        "exd",
        "temp",
        "restore",
        "cost-benefit",
        "payback",
    ];

    /// All policies, each with its defaults.
    pub fn all() -> Vec<Self> {
        Self::NAMES.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// As it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it cannot be built without an [`Oracle`].
    pub fn wants_oracle(&self) -> bool {
        matches!(self.kind, PolicyKind::Ideal(_))
    }

    /// Whether it moves nothing to a tier that is no faster than the one below.
    pub fn weighs_costs(&self) -> bool {
        matches!(self.kind, PolicyKind::CostBenefit(_) | PolicyKind::Payback(_))
    }

    /// Where pages lie at the start: where they lay, unless the policy knows better.
    pub fn initial(&self, context: &Context<'_>) -> Result<Placement> {
        let (PolicyKind::Ideal(_), Some(oracle)) = (&self.kind, context.oracle) else {
            return Ok(context.placement.clone());
        };
        ideal::initial(context.placement, oracle, context.seed)
    }

    /// The policy, for pages that lie as [`PolicySpec::initial`] says.
    pub fn build(&self, context: &Context<'_>) -> Result<Box<dyn Policy>> {
        self.make(context, None)
    }

    /// The policy as it was when it was saved, for pages that lie as they lay then: it will decide
    /// as if nothing had happened in between. `context` may name other devices, but not another
    /// number of tiers or fewer pages. Where it has more, the first ones are as hot as they were,
    /// and the others as new. Refuses what is damaged, or of another policy or other options.
    pub fn restore(&self, context: &Context<'_>, bytes: &[u8]) -> Result<Box<dyn Policy>> {
        self.make(context, Some(bytes))
    }

    fn make(&self, context: &Context<'_>, saved: Option<&[u8]>) -> Result<Box<dyn Policy>> {
        match self.kind {
            PolicyKind::Static => fixed::Fixed::new(context).boxed(context, saved),
            PolicyKind::Ideal(config) => ideal::Ideal::new(config, context).boxed(context, saved),
            PolicyKind::Tlru(config) => tlru::make(config, context, saved),
            PolicyKind::Tlfu => tlfu::make(context, saved),
            PolicyKind::Lrfu(config) => lrfu::make(config, context, saved),
            PolicyKind::Exd(config) => exd::make(config, context, saved),
            PolicyKind::Temp(config) => temp::Temp::new(config, context).boxed(context, saved),
            PolicyKind::ReStore(config) => {
                restore::ReStore::new(config, context).boxed(context, saved)
            }
            PolicyKind::CostBenefit(config) => {
                cost_benefit::CostBenefit::new(config, context).boxed(context, saved)
            }
            PolicyKind::Payback(config) => {
                payback::Payback::new(config, context).boxed(context, saved)
            }
        }
    }
}

impl FromStr for PolicySpec {
    type Err = TierError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut options = Options::new(name, rest);
        let kind = match name {
            "static" => PolicyKind::Static,
            "ideal" => PolicyKind::Ideal(ideal::IdealConfig::parse(&mut options)?),
            "tlru" => PolicyKind::Tlru(tlru::TlruConfig::parse(&mut options)?),
            "tlfu" => PolicyKind::Tlfu,
            "lrfu" => PolicyKind::Lrfu(lrfu::LrfuConfig::parse(&mut options)?),
            "exd" => PolicyKind::Exd(exd::ExdConfig::parse(&mut options)?),
            "cost-benefit" => {
                PolicyKind::CostBenefit(cost_benefit::CostBenefitConfig::parse(&mut options)?)
            }
            "payback" => PolicyKind::Payback(payback::PaybackConfig::parse(&mut options)?),
            "restore" => PolicyKind::ReStore(restore::ReStoreConfig::parse(&mut options)?),
            "temp" => PolicyKind::Temp(temp::TempConfig::parse(&mut options)?),
            _ => {
                let expected = format!("one of {}", Self::NAMES.join(", "));
                return Err(TierError::spec("policy", format!("'{name}'"), expected));
            }
        };
        options.end()?;
        Ok(Self { name: text.to_owned(), kind })
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// The options behind a policy's name: words, and numbers with a name, between colons.
#[derive(Debug)]
struct Options<'a> {
    policy: &'a str,
    left: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn new(policy: &'a str, text: &'a str) -> Self {
        Self { policy, left: text.split(':').filter(|option| !option.is_empty()).collect() }
    }

    /// Whether the word is among them.
    fn word(&mut self, word: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|option| *option != word);
        self.left.len() < before
    }

    /// The number called `name`, within its limits, or `default`.
    fn number(
        &mut self,
        name: &str,
        default: f64,
        limits: std::ops::RangeInclusive<f64>,
    ) -> Result<f64> {
        let Some(at) = self
            .left
            .iter()
            .position(|option| option.split_once('=').is_some_and(|(key, _)| key == name))
        else {
            return Ok(default);
        };
        let option = self.left.remove(at);
        let value = option.split_once('=').and_then(|(_, value)| value.parse::<f64>().ok());
        value.filter(|value| limits.contains(value)).ok_or_else(|| {
            let expected = format!("a number from {} to {}", limits.start(), limits.end());
            let what = format!("option {name} of {}", self.policy);
            TierError::spec(&what, format!("'{option}'"), expected)
        })
    }

    /// Whether all were understood.
    fn end(self) -> Result<()> {
        let Some(option) = self.left.first() else { return Ok(()) };
        let expected = "an option that the policy has: see docs/tiers.md";
        Err(TierError::spec(&format!("option of {}", self.policy), format!("'{option}'"), expected))
    }
}

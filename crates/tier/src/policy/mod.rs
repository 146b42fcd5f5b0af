//! Policies, which decide the moves of pages between tiers, one file each. A page is promoted to
//! the next faster tier
//!
//! - `fixed`: never
//! - `ideal`: if it is one of the workload's hot pages, known beforehand
//! - `tlru`: if it was used more recently than the least recently used page of that tier
//! - `tlfu`: if it was used more often than the least frequently used page of that tier
//! - `lrfu`, `exd`: the same with decaying counts
//! - `temp`: if its temperature is above that tier's average
//! - `restore`: if that raises the tiers' learned values
//! - `cost_benefit`: if the move pays off at its present access rate
//! - `payback`: if the move pays off at the access rate measured for similar pages
//!
//! A policy sees every access, after its I/O was sent to the page's tier, and returns moves. It is
//! notified of each move that was carried out. So the same policy serves the replay in virtual time
//! and tiers whose migrations take time or fail.

mod cost_benefit;
mod cost_model;
mod exd;
mod fixed;
mod heat;
mod ideal;
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
    /// The page.
    pub page: Page,
    /// Whether it is a write.
    pub write: bool,
    /// Time on the caller's clock; never decreases.
    pub now_ns: u64,
    /// Requests that wait at each tier; empty if they are not counted.
    pub queued: &'a [u32],
}

/// Decides which pages move.
pub trait Policy: Send + Debug {
    /// Handles an access and appends moves. All of them are carried out
    /// together, or none.
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>);

    /// Called when a page was moved.
    fn moved(&mut self, _page: Page, _from: Tier, _to: Tier) {}

    /// Called when a request that arrived at `arrival_ns` on this tier was answered, only if
    /// [`Policy::wants_responses`].
    fn responded(&mut self, _tier: Tier, _arrival_ns: u64, _response_ns: u64) {}

    /// Whether it learns from response times and queue lengths.
    fn wants_responses(&self) -> bool {
        false
    }

    /// Called when the tiers are found to be faster or slower than the policy knew.
    fn set_speeds(&mut self, _tiers: &[TierSpec]) {}

    /// Bytes of everything that grows with the pages.
    fn memory_bytes(&self) -> usize;

    /// Its state, for [`PolicySpec::restore`], without a checksum.
    fn save(&self) -> Result<Vec<u8>>;

    /// The present heat of a page, on the policy's own scale; `None` if the policy does not rank
    /// pages or there is no such page.
    fn heat(&self, page: Page) -> Option<f64>;
}

/// The tiers, pages and knowledge that a policy is built for.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The tiers, from the fastest.
    pub tiers: &'a [TierSpec],
    /// The initial tier of each page.
    pub placement: &'a Placement,
    /// Seed of random choices.
    pub seed: u64,
    /// The workload's hot pages, for `ideal`.
    pub oracle: Option<&'a Oracle>,
}

/// A workload's hot pages, known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oracle {
    /// In order of time, the first from access 0 on.
    pub phases: Vec<OraclePhase>,
}

/// The hot pages of a part of the workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OraclePhase {
    /// The number of the first access.
    pub start: u64,
    /// The hottest first; all other pages are colder.
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

    /// The name and options as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it cannot be built without an [`Oracle`].
    pub fn wants_oracle(&self) -> bool {
        matches!(self.kind, PolicyKind::Ideal(_))
    }

    /// Whether it moves nothing to a tier that is no faster than the next one.
    pub fn weighs_costs(&self) -> bool {
        matches!(self.kind, PolicyKind::CostBenefit(_) | PolicyKind::Payback(_))
    }

    /// The initial placement: that of `context`, unless the policy is `ideal`.
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

    /// The policy in a saved state, for the placement of that time: it decides as if it had never
    /// stopped. `context` may have other devices and more pages, which are new to the policy, but
    /// not another number of tiers or fewer pages.
    ///
    /// # Errors
    /// [`TierError::State`] if the state is damaged or of another policy or other options.
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

/// The options after a policy's name, separated by colons: words, and `name=number`.
#[derive(Debug)]
struct Options<'a> {
    policy: &'a str,
    left: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn new(policy: &'a str, text: &'a str) -> Self {
        Self { policy, left: text.split(':').filter(|option| !option.is_empty()).collect() }
    }

    /// Removes a word; whether it was there.
    fn word(&mut self, word: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|option| *option != word);
        self.left.len() < before
    }

    /// Removes the number `name` and checks its limits, or returns `default`.
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

    /// Refuses options that are left.
    fn end(self) -> Result<()> {
        let Some(option) = self.left.first() else { return Ok(()) };
        let expected = "an option that the policy has: see docs/tiers.md";
        Err(TierError::spec(&format!("option of {}", self.policy), format!("'{option}'"), expected))
    }
}

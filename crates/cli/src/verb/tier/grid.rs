//! The lists that options name: policies, tiers, capacities.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, ensure};
use cenote_tier::policy::PolicySpec;
use cenote_tier::spec::TierSpec;

/// Policies, separated by commas; `all` is all of them with their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies(pub Vec<PolicySpec>);

impl FromStr for Policies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut chosen: Vec<PolicySpec> = Vec::new();
        for name in text.split(',') {
            let found = if name.trim() == "all" {
                PolicySpec::all()
            } else {
                vec![name.parse().map_err(|e| format!("{e}, or all"))?]
            };
            for policy in found {
                if !chosen.contains(&policy) {
                    chosen.push(policy);
                }
            }
        }
        Ok(Self(chosen))
    }
}

/// Tiers from the fastest to the slowest, separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiers(pub Vec<TierSpec>);

impl FromStr for Tiers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tiers: Result<Vec<TierSpec>, _> = text.split(',').map(str::parse).collect();
        let tiers = tiers.map_err(|e| e.to_string())?;
        if (2..=cenote_tier::spec::TIERS_MAX).contains(&tiers.len()) {
            return Ok(Self(tiers));
        }
        Err(format!("expected 2 to {} tiers", cenote_tier::spec::TIERS_MAX))
    }
}

impl fmt::Display for Tiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tiers: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&tiers.join(","))
    }
}

/// What a tier holds: pages, or a part of all pages in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Capacity {
    Pages(u64),
    Percent(f64),
}

/// What the tiers above the slowest hold, separated by commas; the slowest has room for all pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacities {
    text: String,
    each: Vec<Capacity>,
}

impl FromStr for Capacities {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || "expected pages or percent for each tier but the slowest: 3%,8%".to_owned();
        let each = text.split(',').map(|part| {
            let part = part.trim();
            let Some(percent) = part.strip_suffix('%') else {
                return part.parse().map(Capacity::Pages).map_err(|_| fault());
            };
            let percent: f64 = percent.parse().map_err(|_| fault())?;
            if (0.0..=100.0).contains(&percent) {
                Ok(Capacity::Percent(percent))
            } else {
                Err(fault())
            }
        });
        Ok(Self { text: text.replace(' ', ""), each: each.collect::<Result<_, _>>()? })
    }
}

impl fmt::Display for Capacities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Capacities {
    /// Pages by tier, for so many tiers and pages.
    pub fn pages(&self, tiers: usize, pages: u64) -> Result<Vec<u64>> {
        ensure!(
            self.each.len() + 1 == tiers,
            "--capacity {self}: {tiers} tiers need {} capacities, the slowest holds all pages",
            tiers - 1
        );
        let each = self.each.iter().map(|capacity| match *capacity {
            Capacity::Pages(count) => count,
            Capacity::Percent(percent) => (pages as f64 * percent / 100.0).round() as u64,
        });
        Ok(each.chain([pages]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let policies: Policies = "tlru,temp:text,tlru".parse().unwrap();
        let names: Vec<&str> = policies.0.iter().map(PolicySpec::name).collect();
        assert_eq!(names, ["tlru", "temp:text"]);
        assert!("all".parse::<Policies>().unwrap().0.len() > 6);
        for wrong in ["", "tlru:", "mru", "temp:txt", "lrfu:half-life=x", "lrfu:half-life=nan"] {
            let taken = wrong.parse::<Policies>();
            assert!(taken.is_err() || wrong == "tlru:", "{wrong} was taken");
        }
        let tiers: Tiers = "30us:1.5:8,200us:2:4".parse().unwrap();
        assert_eq!(tiers.to_string(), "30us:1.5:8,200us:2:4");
        assert!("30us:1.5:8".parse::<Tiers>().is_err(), "one tier");
    }

    #[test]
    fn capacities_are_pages_or_percent() {
        let capacities: Capacities = "3%,77".parse().unwrap();
        assert_eq!(capacities.pages(3, 1_000).unwrap(), [30, 77, 1_000]);
        assert!(capacities.pages(2, 1_000).is_err());
        for wrong in ["", "3%,", "x", "-1", "101%", "nan%"] {
            assert!(wrong.parse::<Capacities>().is_err(), "{wrong} was taken");
        }
    }
}

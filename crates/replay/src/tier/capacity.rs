//! Capacities of tiers, in pages or percent of all pages.

use std::fmt;
use std::str::FromStr;

use crate::error::{Result, require};

/// The capacity of a tier: pages, or percent of all pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Capacity {
    Pages(u64),
    Percent(f64),
}

/// Capacities of the tiers but the slowest, which has room for all pages; separated by commas.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacities {
    text: String,
    each: Vec<Capacity>,
}

impl FromStr for Capacities {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
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
        Ok(Self { text: text.replace(' ', ""), each: each.collect::<std::result::Result<_, _>>()? })
    }
}

impl fmt::Display for Capacities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Capacities {
    /// Capacities in pages, for this number of tiers and pages.
    pub(crate) fn pages(&self, tiers: usize, pages: u64) -> Result<Vec<u64>> {
        require(self.each.len() + 1 == tiers, || {
            format!(
                "`capacity` {self}: {tiers} tiers need {} capacities, the slowest holds all pages",
                tiers - 1
            )
        })?;
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
    fn capacities_are_pages_or_percent() {
        let capacities: Capacities = "3%,77".parse().unwrap();
        assert_eq!(capacities.pages(3, 1_000).unwrap(), [30, 77, 1_000]);
        assert!(capacities.pages(2, 1_000).is_err());
        for wrong in ["", "3%,", "x", "-1", "101%", "nan%"] {
            assert!(wrong.parse::<Capacities>().is_err(), "{wrong} was taken");
        }
    }
}

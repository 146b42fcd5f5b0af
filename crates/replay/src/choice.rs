//! Choices by their names: lists such as `lru,sieve`, or `all`.

use std::fmt::Display;
use std::str::FromStr;

use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;
use cenote_tier::policy::PolicySpec;

use crate::pool::WriterKind;

/// A value of a [`List`].
pub trait Choice: Clone + PartialEq + FromStr<Err: Display> {
    /// All values.
    fn all() -> Vec<Self>;
}

impl Choice for PolicyKind {
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
}

impl Choice for PrefetchKind {
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
}

impl Choice for WriterKind {
    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }
}

impl Choice for PolicySpec {
    fn all() -> Vec<Self> {
        Self::all()
    }
}

/// Values separated by commas, or `all`; each once.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Vec<T>);

impl<T: Choice> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut chosen: Vec<T> = Vec::new();
        for name in text.split(',').map(str::trim) {
            let found = match name {
                "all" => T::all(),
                name => vec![name.parse().map_err(|e| format!("{e}, or all"))?],
            };
            for choice in found {
                if !chosen.contains(&choice) {
                    chosen.push(choice);
                }
            }
        }
        Ok(Self(chosen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_some_or_all_each_once() {
        let list: List<WriterKind> = "ace,classical,ace".parse().unwrap();
        assert_eq!(list.0, [WriterKind::Ace, WriterKind::Classical]);
        assert_eq!("all,lru".parse::<List<PolicyKind>>().unwrap().0.len(), 6);
        let fault = "lru,mru".parse::<List<PolicyKind>>().unwrap_err();
        assert!(fault.contains("mru") && fault.contains("sieve"), "{fault}");
        assert!("".parse::<List<PrefetchKind>>().is_err());
    }

    #[test]
    fn lists_of_policies_of_tiers_may_have_options() {
        let policies: List<PolicySpec> = "tlru,temp:text,tlru".parse().unwrap();
        let names: Vec<&str> = policies.0.iter().map(PolicySpec::name).collect();
        assert_eq!(names, ["tlru", "temp:text"]);
        assert!("all".parse::<List<PolicySpec>>().unwrap().0.len() > 6);
        for wrong in ["", "mru", "temp:txt", "lrfu:half-life=x", "lrfu:half-life=nan"] {
            assert!(wrong.parse::<List<PolicySpec>>().is_err(), "{wrong} was taken");
        }
    }
}

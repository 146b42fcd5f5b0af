//! The lists and the values that options name.

use std::str::FromStr;

use cenote_pool::policy::PolicyKind;
use cenote_pool::prefetch::PrefetchKind;

use crate::replay::WriterKind;
use cenote::memory::MemorySize;

/// A choice that has a last word: all there is.
pub trait Choice: Copy + PartialEq + FromStr<Err = String> + 'static {
    /// All that can be chosen.
    const ALL: &'static [Self];
}

impl Choice for PolicyKind {
    const ALL: &'static [Self] = &Self::ALL;
}

impl Choice for PrefetchKind {
    const ALL: &'static [Self] = &Self::ALL;
}

impl Choice for WriterKind {
    const ALL: &'static [Self] = &Self::ALL;
}

/// Some of them, separated by commas, or `all`; each once.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Vec<T>);

impl<T: Choice> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self(T::ALL.to_vec()));
        }
        let mut chosen = Vec::new();
        for name in text.split(',') {
            let choice = name.trim().parse().map_err(|e| format!("{e}, or all"))?;
            if !chosen.contains(&choice) {
                chosen.push(choice);
            }
        }
        Ok(Self(chosen))
    }
}

/// A parameter that is varied, and its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Sweep {
    /// Pages that ACE writes at once.
    BatchOfWrites(Vec<usize>),
    /// Cost of a write in reads, on an ideal device.
    Alpha(Vec<f64>),
    /// Share of reads, in percent.
    ReadShare(Vec<f64>),
    /// Size of the pool.
    Pool(Vec<MemorySize>),
}

/// One value of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// See [`Sweep::BatchOfWrites`].
    BatchOfWrites(usize),
    /// See [`Sweep::Alpha`].
    Alpha(f64),
    /// See [`Sweep::ReadShare`].
    ReadShare(f64),
    /// See [`Sweep::Pool`].
    Pool(MemorySize),
}

impl Sweep {
    /// The values in the order in which they were given.
    pub fn values(&self) -> Vec<Value> {
        match self {
            Self::BatchOfWrites(all) => all.iter().map(|&v| Value::BatchOfWrites(v)).collect(),
            Self::Alpha(all) => all.iter().map(|&v| Value::Alpha(v)).collect(),
            Self::ReadShare(all) => all.iter().map(|&v| Value::ReadShare(v)).collect(),
            Self::Pool(all) => all.iter().map(|&v| Value::Pool(v)).collect(),
        }
    }
}

impl Value {
    /// The name of the option that is varied, and the value as a number for rows and plots: a
    /// share in percent, a size in percent or bytes.
    pub fn told(self) -> (&'static str, f64) {
        match self {
            Self::BatchOfWrites(n) => ("n-w", n as f64),
            Self::Alpha(alpha) => ("alpha", alpha),
            Self::ReadShare(percent) => ("read-share", percent),
            Self::Pool(MemorySize::Percent(percent)) => ("pool", percent),
            Self::Pool(MemorySize::Bytes(bytes)) => ("pool", bytes as f64),
        }
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected n-w=1,2,4, alpha=1,2,4, read-share=0,50,100 or pool=2%,4%";
        let (name, values) = text.split_once('=').ok_or(expected)?;
        match name {
            "n-w" => Ok(Self::BatchOfWrites(parsed(values, |n| (1..=1024).contains(n))?)),
            "alpha" => Ok(Self::Alpha(parsed(values, |a: &f64| *a > 0.0)?)),
            "read-share" => {
                Ok(Self::ReadShare(parsed(values, |s: &f64| (0.0..=100.0).contains(s))?))
            }
            "pool" => Ok(Self::Pool(parsed(values, |_| true)?)),
            other => Err(format!("nothing called `{other}` can be varied: {expected}")),
        }
    }
}

fn parsed<T: FromStr + PartialEq>(
    values: &str,
    holds: impl Fn(&T) -> bool,
) -> Result<Vec<T>, String> {
    let mut all = Vec::new();
    for value in values.split(',') {
        let fault = || format!("`{value}` is no value of it");
        let parsed = value.trim().parse().map_err(|_| fault())?;
        if !holds(&parsed) {
            return Err(fault());
        }
        if !all.contains(&parsed) {
            all.push(parsed);
        }
    }
    Ok(all)
}

/// A share from 0 to 1, or in percent with its sign: `0.9`, `90%`.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map(|n| n / scale).unwrap_or(f64::NAN);
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err("expected a share such as 0.9 or 90%".to_owned())
}

/// A number of threads that a system gives without a question.
pub fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().unwrap_or(0);
    if (1..=1024).contains(&count) { Ok(count) } else { Err("expected 1 to 1024".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_some_or_all_each_once() {
        let list: List<WriterKind> = "ace,classical,ace".parse().unwrap();
        assert_eq!(list.0, [WriterKind::Ace, WriterKind::Classical]);
        assert_eq!("all".parse::<List<PolicyKind>>().unwrap().0.len(), 6);
        let fault = "lru,mru".parse::<List<PolicyKind>>().unwrap_err();
        assert!(fault.contains("mru") && fault.contains("sieve"), "{fault}");
        assert!("".parse::<List<PrefetchKind>>().is_err());
    }

    #[test]
    fn sweeps_say_what_is_varied() {
        assert_eq!("n-w=1,2,2,8".parse(), Ok(Sweep::BatchOfWrites(vec![1, 2, 8])));
        assert_eq!("read-share=0,100".parse(), Ok(Sweep::ReadShare(vec![0.0, 100.0])));
        let pool: Sweep = "pool=2%,64MiB".parse().unwrap();
        assert_eq!(pool.values()[0].told(), ("pool", 2.0));
        for wrong in ["n-w", "n-w=", "n-w=0", "alpha=-1", "alpha=x", "read-share=101", "k=1"] {
            assert!(wrong.parse::<Sweep>().is_err(), "{wrong} was taken");
        }
    }

    #[test]
    fn shares_are_taken_with_and_without_percent() {
        assert_eq!((share("0.9"), share("90%"), share("1")), (Ok(0.9), Ok(0.9), Ok(1.0)));
        for wrong in ["", "-1", "1.1", "101%", "nan", "x%"] {
            assert!(share(wrong).is_err(), "{wrong} was taken");
        }
    }
}

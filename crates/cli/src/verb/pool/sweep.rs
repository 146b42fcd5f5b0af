//! The option `--sweep`, which varies a parameter.

use std::str::FromStr;

use cenote::memory::MemorySize;
use cenote_replay::pool::{PoolSize, Sweep};

/// Most pages that are written, or evicted, at once.
pub const TOGETHER_MAX: usize = 1024;

/// The size of the pool from a flag.
pub fn pool_size(size: MemorySize) -> PoolSize {
    match size {
        MemorySize::Bytes(bytes) => PoolSize::Bytes(bytes),
        MemorySize::Percent(percent) => PoolSize::Percent(percent),
    }
}

/// Parses a parameter and its values: `n-w=1,2,4`.
pub fn sweep(text: &str) -> Result<Sweep, String> {
    let expected = "expected n-w=1,2,4, alpha=1,2,4, read-share=0,50,100 or pool=2%,4%";
    let (name, values) = text.split_once('=').ok_or(expected)?;
    Ok(match name {
        "n-w" => Sweep::BatchOfWrites(parsed(values, |n| (1..=TOGETHER_MAX).contains(n))?),
        "alpha" => Sweep::Alpha(parsed(values, |a: &f64| *a > 0.0)?),
        "read-share" => Sweep::ReadShare(parsed(values, |s: &f64| (0.0..=100.0).contains(s))?),
        "pool" => Sweep::Pool(parsed(values, |_| true)?.into_iter().map(pool_size).collect()),
        other => return Err(format!("'{other}' cannot be varied: {expected}")),
    })
}

fn parsed<T: FromStr + PartialEq>(
    values: &str,
    holds: impl Fn(&T) -> bool,
) -> Result<Vec<T>, String> {
    let mut all = Vec::new();
    for value in values.split(',') {
        let fault = || format!("'{value}' is no value of it");
        let parsed = value.trim().parse().ok().filter(&holds).ok_or_else(fault)?;
        if !all.contains(&parsed) {
            all.push(parsed);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_name_the_parameter_and_its_values() {
        assert_eq!(sweep("n-w=1,2,2,8"), Ok(Sweep::BatchOfWrites(vec![1, 2, 8])));
        assert_eq!(sweep("read-share=0,100"), Ok(Sweep::ReadShare(vec![0.0, 100.0])));
        let sizes = vec![PoolSize::Percent(2.0), PoolSize::Bytes(64 << 20)];
        assert_eq!(sweep("pool=2%,64MiB"), Ok(Sweep::Pool(sizes)));
        for wrong in ["n-w", "n-w=", "n-w=0", "alpha=-1", "alpha=x", "read-share=101", "k=1"] {
            assert!(sweep(wrong).is_err(), "{wrong} was taken");
        }
    }
}

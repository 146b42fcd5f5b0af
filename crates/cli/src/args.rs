//! Groups of flags that several verbs share.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use anyhow::{Result, bail};
use cenote::memory::MemorySize;
use clap::Args;

/// The most threads that are started: each takes memory and a queue to the drive, and more than
/// cores only wait for one another.
pub const THREADS_MAX: usize = 512;

/// Whole numbers of a range, for an option's `value_parser`.
pub fn whole(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| {
        let expected = || format!("expected {} to {}", range.start(), range.end());
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(expected)
    }
}

/// A size that is not a percentage.
pub fn bytes(flag: &str, size: MemorySize) -> Result<u64> {
    match size {
        MemorySize::Bytes(bytes) => Ok(bytes),
        MemorySize::Percent(_) => bail!("{flag} {size}: expected a size such as 4096 or 4GiB"),
    }
}

/// How many threads work.
#[derive(Args, Clone, Copy, Debug)]
pub struct Threads {
    /// Threads that work, at most 512 [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=THREADS_MAX))]
    threads: Option<usize>,
}

impl Threads {
    /// The number given, 0 if none was.
    pub fn given(self) -> usize {
        self.threads.unwrap_or(0)
    }

    /// The number given, or the cores that this process may use.
    pub fn count(self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.unwrap_or_else(|| cores().min(THREADS_MAX))
    }
}

/// How a result is written.
#[derive(Args, Clone, Copy, Debug)]
pub struct Report {
    /// Write the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_no_number_of_bytes() {
        assert!(bytes("--scratch", MemorySize::Percent(10.0)).is_err());
        assert_eq!(bytes("--scratch", MemorySize::Bytes(9)).unwrap(), 9);
    }
}

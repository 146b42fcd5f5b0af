//! Flags that several verbs share.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use anyhow::{Result, bail};
use cenote::memory::MemorySize;
use clap::Args;

/// The most threads.
pub const THREADS_MAX: usize = 512;

/// A `value_parser` for whole numbers in a range.
pub fn whole(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| {
        let expected = || format!("expected {} to {}", range.start(), range.end());
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(expected)
    }
}

/// The bytes of a size that must not be a percentage.
pub fn bytes(flag: &str, size: MemorySize) -> Result<u64> {
    match size {
        MemorySize::Bytes(bytes) => Ok(bytes),
        MemorySize::Percent(_) => bail!("{flag} {size}: expected a size such as 4096 or 4GiB"),
    }
}

/// The flag for the number of threads.
#[derive(Args, Clone, Copy, Debug)]
pub struct Threads {
    /// Worker threads, at most 512 [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=THREADS_MAX))]
    threads: Option<usize>,
}

impl Threads {
    /// The given number, 0 if none was.
    pub fn given(self) -> usize {
        self.threads.unwrap_or(0)
    }

    /// The given number, or the cores that this process may use.
    pub fn count(self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.unwrap_or_else(|| cores().min(THREADS_MAX))
    }
}

/// The flag for the output format.
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

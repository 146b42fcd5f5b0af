//! Flags that several verbs share.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cenote::memory::MemorySize;
use cenote_device::threads::{THREADS_MAX, cores};
use clap::Args;

use crate::cancel::Guard;

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
        self.threads.unwrap_or_else(cores)
    }
}

/// The flag for the output format.
#[derive(Args, Clone, Copy, Debug)]
pub struct Report {
    /// Write the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// The flag for a report to look at.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// Write a report to look at to FILE.html: one page, for any browser, without a network
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

impl ReportArgs {
    /// Checks the path before anything runs; an interruption removes the unfinished file while the
    /// returned guard lives.
    pub fn checked(&self, inputs: &[impl AsRef<Path>]) -> Result<Option<Guard>> {
        let Some(path) = &self.report else { return Ok(None) };
        cenote::report::check(path, inputs)?;
        Ok(Some(Guard::new(path)))
    }
}

/// The command line as it was given, quoted for a shell where that is needed.
pub fn command_line() -> String {
    let words = std::env::args_os().enumerate().map(|(place, word)| match place {
        0 => "cenote".to_owned(),
        _ => quoted(&word.to_string_lossy()),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,%@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        let words = [("a.html", "a.html"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'")];
        for (word, text) in words {
            assert_eq!(quoted(word), text);
        }
    }

    #[test]
    fn a_percentage_is_no_number_of_bytes() {
        assert!(bytes("--scratch", MemorySize::Percent(10.0)).is_err());
        assert_eq!(bytes("--scratch", MemorySize::Bytes(9)).unwrap(), 9);
    }
}

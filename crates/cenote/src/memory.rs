//! Memory sizes as text: `64MiB`, `1GB`, `1.5g`, `10%`, `4096`.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use cenote_engine::Graph;
use cenote_store::Direction;

use crate::error::{Error, Result};

/// An amount of memory: absolute, or relative to something that depends on the call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemorySize {
    /// Bytes.
    Bytes(u64),
    /// Percent, above 0 and at most 100.
    Percent(f64),
}

impl MemorySize {
    /// The size in bytes, if 100% is `whole`.
    pub fn bytes_of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (whole as f64 * percent / 100.0).round() as u64,
        }
    }

    /// The size in bytes, if 100% is [`machine_bytes`]. `None` for a percentage if the system does
    /// not report that.
    pub fn bytes_of_machine(self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Percent(_) => machine_bytes().map(|machine| self.bytes_of(machine)),
        }
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl From<u64> for MemorySize {
    fn from(bytes: u64) -> Self {
        Self::Bytes(bytes)
    }
}

impl TryFrom<&str> for MemorySize {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self, Error> {
        text.parse().map_err(|reason| Error::InvalidInput(format!("the size `{text}`: {reason}")))
    }
}

/// The accepted forms, for messages.
const EXPECTED: &str = "expected a size such as 64MiB, 1GB, 4096 or 10%";

impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..digits], text[digits..].trim());
        let number: f64 = number.parse().map_err(|_| EXPECTED.to_owned())?;
        if unit == "%" {
            let holds = number > 0.0 && number <= 100.0;
            return if holds {
                Ok(Self::Percent(number))
            } else {
                Err("expected more than 0% and at most 100%".to_owned())
            };
        }
        let bytes = number
            * unit_bytes(unit).ok_or_else(|| format!("unknown unit `{unit}`: {EXPECTED}"))?;
        if bytes >= 2f64.powi(63) {
            return Err("the size does not fit 63 bits".to_owned());
        }
        if bytes < 1.0 {
            return Err("expected at least one byte".to_owned());
        }
        Ok(Self::Bytes(bytes.round() as u64))
    }
}

/// Bytes of a unit, as in GNU tools: `K` and `KiB` are 1,024, `KB` is 1,000.
fn unit_bytes(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let (prefix, base) = match unit.as_str() {
        "" | "b" => return Some(1.0),
        other => match (other.strip_suffix("ib"), other.strip_suffix('b')) {
            (Some(prefix), _) => (prefix, 1024f64),
            (None, Some(prefix)) => (prefix, 1000.0),
            (None, None) => (other, 1024.0),
        },
    };
    let power = ["k", "m", "g", "t", "p"].iter().position(|&letter| letter == prefix)?;
    Some(base.powi(power as i32 + 1))
}

/// The parameter `memory` in bytes, of which 100% is [`machine_bytes`].
pub(crate) fn budget_of_machine(size: MemorySize) -> Result<u64> {
    let unknown =
        || Error::parameter("memory", "is in percent, but the machine's memory is unknown");
    size.bytes_of_machine().ok_or_else(unknown)
}

/// Half of [`machine_bytes`], the default of the parameter `memory` of runs.
pub(crate) fn half_of_machine() -> Result<u64> {
    let unknown = || Error::parameter("memory", "is needed: the machine's memory is unknown");
    Ok(machine_bytes().ok_or_else(unknown)? / 2)
}

/// A budget in bytes: as given, or half of the machine's memory.
pub(crate) fn budget_bytes(memory: Option<MemorySize>, graph: &Graph) -> Result<u64> {
    match memory {
        Some(size) => Ok(size.bytes_of(page_bytes(graph))),
        None => half_of_machine(),
    }
}

/// Bytes of the pages that hold lists, in either direction.
pub(crate) fn page_bytes(graph: &Graph) -> u64 {
    let pages = |direction| graph.adjacency(direction).map_or(0, |lists| lists.pages());
    let inward = if graph.is_directed() { pages(Direction::In) } else { 0 };
    (pages(Direction::Out) + inward) * graph.page_bytes() as u64
}

/// The memory that this process may use: the machine's, or the limit of its control group. `None`
/// if the system does not report it.
pub fn machine_bytes() -> Option<u64> {
    let machine = kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")?;
    Some(control_group_bytes().map_or(machine, |limit| limit.min(machine)))
}

/// The peak resident memory of this process; 0 if the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM:").unwrap_or(0)
}

/// The resident memory of this process; 0 if the system does not report it.
pub(crate) fn rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmRSS:").unwrap_or(0)
}

/// Processor time of this process, all threads, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The value of a line such as `MemTotal:   16 kB` of the kernel's status files, in bytes.
fn kibibytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The smallest limit from the process's control group (version 2) up to the root.
fn control_group_bytes() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    root.join(group)
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(|folder| std::fs::read_to_string(folder.join("memory.max")).ok())
        .filter_map(|limit| limit.trim().parse().ok())
        .min()
}

/// A size in binary units, such as `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would print as 1024.0.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_mean_what_they_mean_elsewhere() {
        for (text, bytes) in [
            ("4096", 4096),
            ("1b", 1),
            ("64MiB", 64 << 20),
            ("64mib", 64 << 20),
            ("64 MiB", 64 << 20),
            ("1GB", 1_000_000_000),
            ("1g", 1 << 30),
            ("1.5KiB", 1536),
            ("2TiB", 2 << 40),
            ("3kb", 3000),
        ] {
            assert_eq!(text.parse(), Ok(MemorySize::Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn percents_are_parts_of_a_whole() {
        let tenth: MemorySize = "10%".parse().unwrap();
        assert_eq!(tenth.bytes_of(2000), 200);
        assert_eq!("0.5 %".parse::<MemorySize>().unwrap().bytes_of(2000), 10);
        assert_eq!(MemorySize::Bytes(7).bytes_of(2000), 7);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "MiB",
            "-1",
            "-5MiB",
            "1XB",
            "NaN",
            "inf",
            "1e3",
            "0",
            "0%",
            "101%",
            "1..5",
            "1%%",
            "99999999999999999999",
            "9999PiB",
            "0.1b",
            "1 2",
            "１",
        ] {
            assert!(text.parse::<MemorySize>().is_err(), "{text:?} was taken");
        }
    }

    #[test]
    fn the_machine_has_some_memory() {
        let status = "MemTotal:       16 kB\nMemFree: 1 kB\n";
        assert_eq!(kibibytes(status, "MemTotal:"), Some(16_384));
        assert_eq!(kibibytes(status, "MemUsed:"), None);
        assert!(peak_rss_bytes() > 1 << 20);
        assert!(machine_bytes().is_none_or(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn sizes_choose_their_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}

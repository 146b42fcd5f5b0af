//! How calm drive and machine were while a profile was measured.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// The spread of repetitions above which a profile counts as busy.
const SPREAD_MAX: f64 = 0.25;

/// The share of the drive's bytes moved by others above which a profile counts as busy.
const OTHER_IO_MAX: f64 = 0.10;

/// The share of the processors used by others above which a profile counts as busy: below it, one
/// of two cores was free for the thread that measures.
const OTHER_CPU_MAX: f64 = 0.50;

/// How calm drive and machine were during a measurement. `None` is unknown, and counts as calm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calm {
    /// Median over all measured points of [`ProfilePoint::spread`](super::ProfilePoint::spread):
    /// half of the range of repetitions, relative to their median.
    pub spread: f64,
    /// Bytes that others moved on the drive, over all bytes that it moved, 0 to 1.
    pub other_io_share: Option<f64>,
    /// Processor time of other processes, and of other guests of the host, over the time of all
    /// processors, 0 to 1.
    pub other_cpu_share: Option<f64>,
    /// Whether one of these is above its limit.
    pub busy: bool,
}

impl Calm {
    /// From the spread and the shares of others.
    pub fn new(spread: f64, other_io_share: Option<f64>, other_cpu_share: Option<f64>) -> Self {
        let calm = Self { spread, other_io_share, other_cpu_share, busy: false };
        Self { busy: calm.disturbance() > 1.0, ..calm }
    }

    /// The greatest of spread and shares, each over its limit: above 1 the profile counts as busy.
    pub fn disturbance(&self) -> f64 {
        self.parts().map(|(value, limit, _)| value / limit).fold(0.0, f64::max)
    }

    /// Values, limits and what they say.
    fn parts(&self) -> impl Iterator<Item = (f64, f64, &'static str)> {
        let values = [
            (Some(self.spread), SPREAD_MAX, "repetitions differ by"),
            (self.other_io_share, OTHER_IO_MAX, "bytes that others moved on the drive:"),
            (self.other_cpu_share, OTHER_CPU_MAX, "processor time of others:"),
        ];
        values.into_iter().filter_map(|(value, limit, text)| Some((value?, limit, text)))
    }
}

/// Prints the spread and the known shares.
impl fmt::Display for Calm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (value, limit, text)) in self.parts().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{text} {:.0}%", value * 100.0)?;
            if value > limit {
                write!(f, " (calm: at most {:.0}%)", limit * 100.0)?;
            }
        }
        Ok(())
    }
}

/// Counts what others do while a profile is measured.
pub(super) struct Watch {
    /// The drive's name in sysfs.
    drive: Option<String>,
    drive_bytes: Option<u64>,
    ticks: Option<Ticks>,
}

impl Watch {
    /// Starts to count, on the drive of this name if it is known.
    pub(super) fn start(drive: Option<&str>) -> Self {
        let drive_bytes = drive.and_then(drive_bytes);
        Self { drive: drive.map(str::to_owned), drive_bytes, ticks: Ticks::now() }
    }

    /// How calm it was since the start, for a profile whose requests moved `own_bytes` and have
    /// this spread.
    pub(super) fn finish(self, own_bytes: u64, spread: f64) -> Calm {
        let now_bytes = self.drive.as_deref().and_then(drive_bytes);
        let moved = self.drive_bytes.zip(now_bytes).map(|(then, now)| now.saturating_sub(then));
        let io = moved.filter(|moved| *moved > 0);
        let io = io.map(|moved| moved.saturating_sub(own_bytes) as f64 / moved as f64);
        let cpu = self.ticks.zip(Ticks::now()).and_then(|(then, now)| now.others_since(&then));
        Calm::new(spread, io, cpu)
    }
}

/// Bytes that a drive has read and written since it was attached.
fn drive_bytes(name: &str) -> Option<u64> {
    sector_bytes(&fs::read_to_string(format!("/sys/block/{name}/stat")).ok()?)
}

/// The sectors read and written in the kernel's `stat` of a block device, in bytes.
fn sector_bytes(stat: &str) -> Option<u64> {
    let field = |at: usize| stat.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    Some((field(2)? + field(6)?) * 512)
}

/// Processor time since the start of the machine, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    /// Of all processors, idle or not.
    all: u64,
    /// Spent on programs of all processes, and on other guests of the host.
    used: u64,
    /// Spent on programs of this process.
    own: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        let read = |path| fs::read_to_string(path).ok();
        Self::parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    fn parse(machine: &str, process: &str) -> Option<Self> {
        let line = machine.lines().find(|line| line.starts_with("cpu "))?;
        let fields = line.split_ascii_whitespace().skip(1).map_while(|field| field.parse().ok());
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
        let fields: Vec<u64> = fields.take(8).collect();
        let used = fields.get(..3)?.iter().sum::<u64>() + fields.get(7).copied().unwrap_or(0);
        // The name of the program is in parentheses and may hold spaces.
        let process = process.rsplit_once(')')?.1;
        let field = |at: usize| process.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
        Some(Self { all: fields.iter().sum(), used, own: field(11)? + field(12)? })
    }

    /// The share of all processors' time that others used since `then`.
    fn others_since(&self, then: &Self) -> Option<f64> {
        let all = self.all.checked_sub(then.all).filter(|all| *all > 0)?;
        let own = self.own.saturating_sub(then.own);
        let others = self.used.saturating_sub(then.used).saturating_sub(own);
        Some((others as f64 / all as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_above_its_limit_makes_a_profile_busy() {
        assert!(!Calm::new(0.2, Some(0.05), Some(0.4)).busy);
        assert!(Calm::new(0.3, Some(0.05), Some(0.4)).busy);
        assert!(Calm::new(0.2, Some(0.15), Some(0.4)).busy);
        let loaded = Calm::new(0.2, None, Some(0.75));
        assert!(loaded.busy && (loaded.disturbance() - 1.5).abs() < 1e-9);
        let text = loaded.to_string();
        assert!(text.contains("differ by 20%, processor time of others: 75% (calm"), "{text}");
    }

    #[test]
    fn the_kernels_counters_are_read_as_it_documents_them() {
        let stat = " 100 1 2048 9 50 2 1024 8 0 7 17\n";
        assert_eq!(sector_bytes(stat), Some((2048 + 1024) * 512));
        assert_eq!(sector_bytes("100 1"), None);
        let machine = "cpu  10 2 30 400 50 6 7 8 1 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        let process = "7 (a ) name) S 1 7 7 0 -1 0 0 0 0 0 11 5 0 0 20 0 1 0 9 0 0";
        let then = Ticks { all: 513, used: 50, own: 16 };
        assert_eq!(Ticks::parse(machine, process), Some(then));
        let now = Ticks { all: 713, used: 170, own: 36 };
        assert_eq!(now.others_since(&then), Some(0.5));
        assert_eq!(then.others_since(&then), None);
        assert!(Ticks::now().is_some(), "the tests run on Linux");
    }
}

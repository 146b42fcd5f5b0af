//! What a report was measured on.

use serde::Serialize;

use super::page::fact;
use crate::memory::{machine_bytes, size, threads_default};

/// The machine, as the system describes it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// Name of the processor, if the system knows it.
    pub processor: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory that this process may use, in bytes.
    pub memory_bytes: Option<u64>,
    /// Name and release of the system.
    pub system: String,
    /// Version of Cenote.
    pub cenote: &'static str,
    /// Seconds since 1970.
    pub unix_seconds: u64,
}

impl Machine {
    /// This machine, now.
    pub fn here() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = cpus.lines().find_map(|line| line.strip_prefix("model name"));
        let processor = processor.and_then(|line| line.split_once(':'));
        let kernel = ["ostype", "osrelease"].map(|name| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.unwrap_or_default().trim().to_owned()
        });
        Self {
            processor: processor.map(|(_, name)| name.trim().to_owned()),
            cores: threads_default(),
            memory_bytes: machine_bytes(),
            system: format!("{} {}", kernel.join(" "), std::env::consts::ARCH),
            cenote: env!("CARGO_PKG_VERSION"),
            unix_seconds: now.map_or(0, |since| since.as_secs()),
        }
    }

    /// Names and values for a page.
    pub fn facts(&self) -> Vec<(String, String)> {
        let cores = match self.cores {
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        };
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        let mut facts = vec![fact("processor", format!("{processor}, {cores}"))];
        facts.extend(self.memory_bytes.map(|bytes| fact("memory", size(bytes))));
        facts.push(fact("system", self.system.clone()));
        facts.push(fact("cenote", self.cenote));
        facts.push(fact("time", utc(self.unix_seconds)));
        facts
    }
}

/// A time as `2026-01-31 23:59:59 UTC`.
pub fn utc(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years: Hinnant, "chrono-compatible low-level date
    // algorithms", civil_from_days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // By `date -u -d @SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_200, "2024-03-01 00:00:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), text);
        }
        assert!(Machine::here().unix_seconds > 1_700_000_000);
    }
}

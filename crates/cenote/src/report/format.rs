//! Numbers as text, for people.

use serde::Serialize;

use crate::memory::size;

/// The unit of an axis or of bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Things that are counted.
    #[default]
    Count,
    /// Things that are counted, where doubling matters: an axis has powers of two.
    PowersOfTwo,
    /// A number without a unit.
    Number,
    /// Bytes, in binary units.
    Bytes,
    /// Bytes per second, in decimal units as drives have them.
    BytesPerSecond,
    /// Things per second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// A share, 0 to 1, as percent.
    Share,
}

impl Unit {
    /// A value as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Count if value.fract() == 0.0 && value.abs() < 1e5 => count(value as u64),
            Self::PowersOfTwo => number(value),
            Self::Count => scaled(value, ""),
            Self::Number => number(value),
            Self::Bytes => whole_size(value),
            Self::BytesPerSecond => scaled(value, "B/s"),
            Self::PerSecond => scaled(value, "/s"),
            Self::Seconds => seconds(value),
            Self::Share => format!("{}%", trimmed(value * 100.0, 1)),
        }
    }
}

/// A number with thousands separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Seconds in the unit that fits: `1.2 s`, `350 ms`, `80 us`, `2 min 5 s`.
pub fn seconds(value: f64) -> String {
    let size = value.abs();
    match () {
        () if size == 0.0 => "0 s".to_owned(),
        () if size < 0.9995e-3 => format!("{} µs", significant(value * 1e6)),
        () if size < 0.9995 => format!("{} ms", significant(value * 1e3)),
        () if size < 120.0 => format!("{} s", significant(value)),
        () => {
            let whole = value.round() as u64;
            match (whole / 3600, whole / 60 % 60, whole % 60) {
                (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
                (hours, minutes, _) => format!("{} h {minutes} min", count(hours)),
            }
        }
    }
}

/// Bytes per second: `1.25 GB/s`.
pub fn rate(bytes_per_second: f64) -> String {
    Unit::BytesPerSecond.text(bytes_per_second)
}

/// A number of any size with three digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        return match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", trim(digits)),
            None => text,
        };
    }
    significant(value)
}

/// A share as percent: `42%`, `0.3%`, `under 0.1%`.
pub fn percent(share: f64) -> String {
    match share {
        share if share > 0.0 && share < 0.0005 => "under 0.1%".to_owned(),
        share if share.abs() < 0.0995 => format!("{}%", trimmed(share * 100.0, 1)),
        share => format!("{:.0}%", share * 100.0),
    }
}

/// A time in seconds since 1970, as date and time of UTC.
pub fn utc(seconds: u64) -> String {
    const DAY: u64 = 24 * 60 * 60;
    // Days of 400 years, of a century and of four years, with years that begin in March, so that a
    // leap day is the last of its year (Hinnant, chrono-compatible low-level date algorithms).
    let days = seconds / DAY + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A decimal prefix and a unit: `1.25 GB/s`, `350 k`.
fn scaled(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let (mut value, mut prefix) = (value, 0);
    while value.abs() >= 999.5 && prefix + 1 < PREFIXES.len() {
        value /= 1e3;
        prefix += 1;
    }
    let space = if prefix == 0 && unit.is_empty() { "" } else { " " };
    format!("{}{space}{}{unit}", significant(value), PREFIXES[prefix])
}

/// Bytes of an axis: `512 MiB` where [`size`] says `512.0 MiB`.
fn whole_size(value: f64) -> String {
    let text = size(value.max(0.0).round() as u64);
    text.replace(".0 ", " ")
}

/// Three significant digits, without zeros at the end.
fn significant(value: f64) -> String {
    let size = value.abs();
    let digits = match () {
        () if size >= 99.95 => 0,
        () if size >= 9.995 => 1,
        () if size >= 0.9995 => 2,
        () if size >= 0.1 => 3,
        () if size >= 0.01 => 4,
        () => 5,
    };
    trimmed(value, digits)
}

fn trimmed(value: f64, digits: usize) -> String {
    trim(&format!("{value:.digits$}")).to_owned()
}

fn trim(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        for (unit, value, text) in [
            (Unit::Count, 0.0, "0"),
            (Unit::Count, 999.0, "999"),
            (Unit::Count, 12_345.0, "12,345"),
            (Unit::Count, 1e6, "1 M"),
            (Unit::Count, 2.5e9, "2.5 G"),
            (Unit::Number, 0.000_012_3, "1.23e-5"),
            (Unit::Number, 0.25, "0.25"),
            (Unit::Number, 0.0, "0"),
            (Unit::Bytes, 512.0 * 1024.0 * 1024.0, "512 MiB"),
            (Unit::BytesPerSecond, 1.25e9, "1.25 GB/s"),
            (Unit::BytesPerSecond, 999.9e6, "1 GB/s"),
            (Unit::BytesPerSecond, 0.0, "0 B/s"),
            (Unit::PerSecond, 123_456.0, "123 k/s"),
            (Unit::Seconds, 0.000_08, "80 µs"),
            (Unit::Seconds, 0.999_9, "1 s"),
            (Unit::Seconds, 125.0, "2 min 5 s"),
            (Unit::Seconds, 7_500.0, "2 h 5 min"),
            (Unit::Share, 0.425, "42.5%"),
        ] {
            assert_eq!(unit.text(value), text);
        }
        let shares = [(0.0, "0%"), (1e-5, "under 0.1%"), (0.012_3, "1.2%"), (0.996, "100%")];
        for (share, text) in shares {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn times_are_dates_of_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}

//! The state of some work, as a line of text or of JSON.

use std::time::Instant;

use cenote::memory::size;
use serde_json::json;

use crate::output::count;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Anything else: edges, pages, iterations.
    Items,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Items => "items",
        }
    }

    fn show(self, amount: u64) -> String {
        match self {
            Self::Bytes => size(amount),
            Self::Items => count(amount),
        }
    }

    /// The template of a bar, or of a spinner where no total is known.
    pub fn template(self, has_total: bool) -> &'static str {
        match (has_total, self) {
            (true, Self::Bytes) => "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
            (true, Self::Items) => "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}",
            (false, Self::Bytes) => "{msg} {spinner} {bytes} {bytes_per_sec}",
            (false, Self::Items) => "{msg} {spinner} {human_pos} {per_sec}",
        }
    }
}

/// The stage that the work is in.
#[derive(Debug)]
pub struct State {
    label: String,
    total: Option<u64>,
    unit: Unit,
    work_began: Instant,
    stage_began: Instant,
    is_ended: bool,
}

impl State {
    pub fn new(label: &str, total: Option<u64>, unit: Unit) -> Self {
        let now = Instant::now();
        let (work_began, stage_began) = (now, now);
        Self { label: label.to_owned(), total, unit, work_began, stage_began, is_ended: false }
    }

    /// Begins a stage.
    pub fn begin(&mut self, label: &str, total: Option<u64>, unit: Unit) {
        label.clone_into(&mut self.label);
        (self.total, self.unit, self.stage_began) = (total, unit, Instant::now());
    }

    pub fn stage(&self) -> (String, Option<u64>, Unit) {
        (self.label.clone(), self.total, self.unit)
    }

    pub fn end(&mut self) {
        self.is_ended = true;
    }

    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn per_second(&self, done: u64, now: Instant) -> f64 {
        done as f64 / (now - self.stage_began).as_secs_f64().max(1e-3)
    }

    fn seconds_left(&self, done: u64, now: Instant) -> Option<f64> {
        let left = self.total?.saturating_sub(done);
        (done > 0).then(|| left as f64 / self.per_second(done, now))
    }

    /// `reading: 1.2 GiB of 3.0 GiB (40%), 512.0 MiB/s, 4 s left`.
    pub fn plain(&self, done: u64, now: Instant) -> String {
        let elapsed = (now - self.work_began).as_secs();
        let mut facts = Vec::new();
        match self.total {
            Some(total) => {
                let percent = 100.0 * done as f64 / total.max(1) as f64;
                let (done, total) = (self.unit.show(done.min(total)), self.unit.show(total));
                facts.push(format!("{done} of {total} ({:.0}%)", percent.min(100.0)));
            }
            None if done > 0 => facts.push(self.unit.show(done)),
            None => {}
        }
        if done > 0 {
            facts.push(format!("{}/s", self.unit.show(self.per_second(done, now) as u64)));
        }
        match self.seconds_left(done, now) {
            Some(left) => facts.push(format!("{left:.0} s left")),
            None => facts.push(format!("{elapsed} s so far")),
        }
        format!("{}: {}", self.label, facts.join(", "))
    }

    /// The same as a JSON object.
    pub fn json(&self, done: u64, now: Instant) -> String {
        let rounded = |number: f64| (number * 10.0).round() / 10.0;
        let per_second = rounded(self.per_second(done, now));
        json!({
            "stage": self.label,
            "done": done,
            "total": self.total,
            "unit": self.unit.name(),
            "per_second": per_second,
            "bytes_per_second": (self.unit == Unit::Bytes).then_some(per_second),
            "eta_seconds": self.seconds_left(done, now).map(rounded),
            "elapsed_seconds": rounded((now - self.work_began).as_secs_f64()),
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_tells_amount_rate_and_time_left() {
        let state = State::new("reading", Some(4 << 20), Unit::Bytes);
        let now = state.work_began + Duration::from_secs(2);
        let plain = state.plain(1 << 20, now);
        assert_eq!(plain, "reading: 1.0 MiB of 4.0 MiB (25%), 512.0 KiB/s, 6 s left");
        let json: serde_json::Value = serde_json::from_str(&state.json(1 << 20, now)).unwrap();
        assert_eq!(json["bytes_per_second"], 524_288.0);
        assert_eq!((&json["eta_seconds"], &json["total"]), (&json!(6.0), &json!(4 << 20)));
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let mut state = State::new("merging", None, Unit::Items);
        let now = state.work_began + Duration::from_secs(12);
        assert_eq!(state.plain(0, now), "merging: 12 s so far");
        state.begin("moving", None, Unit::Items);
        state.stage_began = state.work_began + Duration::from_secs(2);
        assert_eq!(state.plain(50_000, now), "moving: 50,000, 5,000/s, 12 s so far");
        let json: serde_json::Value = serde_json::from_str(&state.json(7, now)).unwrap();
        assert!(json["total"].is_null() && json["bytes_per_second"].is_null(), "{json}");
    }
}

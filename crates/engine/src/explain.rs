//! Statistics of a run: totals, and a record of each step.

use std::ops::AddAssign;

use serde::Serialize;

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// Bytes read, those of state files included.
    pub bytes_read: u64,
    /// Read requests, those to state files included.
    pub read_requests: u64,
    /// Bytes read from state files.
    pub state_bytes_read: u64,
    /// Bytes written, all of them to state files.
    pub bytes_written: u64,
    /// Write requests.
    pub write_requests: u64,
    /// Visits.
    pub steps: u64,
    /// Active pages that were found in memory.
    pub pages_cached: u64,
    /// Seconds spent in visits, by the device's clock.
    pub visit_seconds: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One visit: its frontier, pages, requests and time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRecord {
    /// The algorithm's name for the step.
    pub label: String,
    /// The name of the last step, in a record of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_last: Option<String>,
    /// When it began, in nanoseconds of the device's clock.
    #[serde(skip)]
    pub started_ns: u64,
    /// Vertices in the frontier; `None` if the active set was not a frontier.
    pub frontier: Option<u64>,
    /// Active pages that were found in memory.
    pub pages_cached: u64,
    /// Active pages that were read.
    pub pages_read: u64,
    /// Pages read that are not active: between others, because that was cheaper than another
    /// request, or ahead of steps that follow the file.
    pub pages_gap: u64,
    /// Requests to the device.
    pub requests: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Bytes written to a state file.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes_written: u64,
    /// Seconds that the profile predicts for these reads, without computation.
    pub seconds_predicted: f64,
    /// Seconds measured.
    pub seconds: f64,
}

impl StepRecord {
    /// Adds the step that follows: one record for both.
    fn merge(&mut self, next: Self) {
        let Self { label, label_last, frontier, .. } = next;
        self.label_last = Some(label_last.unwrap_or(label));
        self.frontier = self.frontier.zip(frontier).map(|(own, next)| own + next);
        self.pages_cached += next.pages_cached;
        self.pages_read += next.pages_read;
        self.pages_gap += next.pages_gap;
        self.requests += next.requests;
        self.bytes += next.bytes;
        self.bytes_written += next.bytes_written;
        self.seconds_predicted += next.seconds_predicted;
        self.seconds += next.seconds;
    }

    /// Merges neighbours until there are at most `max` records, of about as many steps each.
    pub fn merge_to(steps: Vec<Self>, max: usize) -> Vec<Self> {
        let group = steps.len().div_ceil(max.max(1)).max(1);
        let mut merged: Vec<Self> = Vec::with_capacity(steps.len().div_ceil(group));
        for (place, step) in steps.into_iter().enumerate() {
            match merged.last_mut() {
                Some(last) if place % group > 0 => last.merge(step),
                _ => merged.push(step),
            }
        }
        merged
    }
}

/// The records of a run: at most a given number, in which neighbours are merged beyond it.
#[derive(Debug, Default)]
pub(crate) struct StepLog {
    records: Vec<StepRecord>,
    /// Steps in each record but the last.
    group: usize,
    /// Steps in the last record.
    in_last: usize,
}

impl StepLog {
    pub fn push(&mut self, step: StepRecord, max: usize) {
        self.group = self.group.max(1);
        if self.in_last < self.group && self.in_last > 0 {
            self.records.last_mut().expect("it has steps").merge(step);
            self.in_last += 1;
            return;
        }
        if self.records.len() == max.max(2) {
            let pairs = self.records.len().div_ceil(2);
            // The last record is full, and half of a pair where their number is odd.
            self.in_last = self.group * (2 - self.records.len() % 2);
            self.group *= 2;
            self.records = StepRecord::merge_to(std::mem::take(&mut self.records), pairs);
            return self.push(step, max);
        }
        self.records.push(step);
        self.in_last = 1;
    }

    pub fn records(&self) -> &[StepRecord] {
        &self.records
    }
}

/// What one thread read during a visit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub requests: u64,
    pub bytes: u64,
    /// Active pages that were found in memory.
    pub pages_cached: u64,
    /// Active pages that were read.
    pub pages_read: u64,
    /// Pages that were read, active or not.
    pub pages_fetched: u64,
    /// Bytes written to state files.
    pub bytes_written: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.pages_cached += other.pages_cached;
        self.pages_read += other.pages_read;
        self.pages_fetched += other.pages_fetched;
        self.bytes_written += other.bytes_written;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> StepRecord {
        StepRecord {
            label: number.to_string(),
            label_last: None,
            started_ns: number,
            frontier: Some(1),
            pages_cached: 0,
            pages_read: 0,
            pages_gap: 0,
            requests: 1,
            bytes: number,
            bytes_written: 0,
            seconds_predicted: 0.0,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_log_of_steps_is_bounded_and_loses_none() {
        for (steps, max) in [(0, 4), (4, 4), (5, 4), (9, 5), (1000, 7), (1000, 1), (17, 16)] {
            let mut log = StepLog::default();
            (0..steps).for_each(|number| log.push(step(number), max));
            let records = log.records();
            assert!(records.len() <= max.max(2), "{steps} in {max}");
            assert_eq!(records.iter().map(|step| step.requests).sum::<u64>(), steps);
            assert_eq!(records.iter().map(|step| step.bytes).sum::<u64>(), (0..steps).sum::<u64>());
            // Each record continues where the one before ends, and all but the last are alike.
            let mut next = 0;
            for record in records {
                assert_eq!((record.started_ns, record.label.clone()), (next, next.to_string()));
                next += record.requests;
                let last = (record.requests > 1).then(|| (next - 1).to_string());
                assert_eq!((&record.label_last, record.frontier), (&last, Some(record.requests)));
            }
            let sizes: Vec<u64> = records.iter().map(|step| step.requests).collect();
            assert!(sizes.iter().rev().skip(1).all(|&size| size == sizes[0]), "{sizes:?}");
        }
        let merged = StepRecord::merge_to((0..10).map(step).collect(), 4);
        let requests: Vec<u64> = merged.iter().map(|step| step.requests).collect();
        assert_eq!(requests, [3, 3, 3, 1]);
    }
}

//! Statistics of a run: totals, and a record of each step.

use std::ops::AddAssign;

use serde::Serialize;

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// Bytes read from the device.
    pub bytes_read: u64,
    /// Read requests to the device.
    pub read_requests: u64,
    /// Visits.
    pub steps: u64,
    /// Active pages that were found in memory.
    pub pages_cached: u64,
    /// Seconds spent in visits, by the device's clock.
    pub visit_seconds: f64,
}

/// One visit: its frontier, pages, requests and time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRecord {
    /// The algorithm's name for the step.
    pub label: String,
    /// Vertices in the frontier; `None` if the active set was not a frontier.
    pub frontier: Option<u64>,
    /// Active pages that were found in memory.
    pub pages_cached: u64,
    /// Active pages that were read.
    pub pages_read: u64,
    /// Pages read between active ones because that was cheaper than another request.
    pub pages_gap: u64,
    /// Requests to the device.
    pub requests: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Seconds that the profile predicts for these requests, without computation.
    pub seconds_predicted: f64,
    /// Seconds measured.
    pub seconds: f64,
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
    /// Pages that were read, including those between active ones.
    pub pages_fetched: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.pages_cached += other.pages_cached;
        self.pages_read += other.pages_read;
        self.pages_fetched += other.pages_fetched;
    }
}

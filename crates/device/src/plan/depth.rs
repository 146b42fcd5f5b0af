//! Hill climbing of a reader's depth while it runs.
//!
//! A profile is measured on a drive without other users. On a drive that is shared, throttled or
//! worn, latency is longer and the same throughput needs more requests in flight; on some drives
//! fewer do better. So the reader tries a depth for a while, and keeps it if throughput rises.

use super::cost::{Cost, Observed};

/// Factor by which a trial must raise throughput to be kept: less is noise.
const GAIN: f64 = 1.04;

/// Requests of a window, at least.
const WINDOW_REQUESTS: usize = 24;

/// Windows for which a depth is kept before the next trial, at first; doubled after each trial that
/// gained nothing.
const SETTLED_WINDOWS: u32 = 4;

/// Windows between trials, at most.
const SETTLED_WINDOWS_MAX: u32 = 16;

/// If a reader waits for the device for less than this share of its time, the device is not the
/// bottleneck and trials would show nothing.
const WAITING_SHARE: f64 = 0.1;

/// If a reader waits with all requests in flight for more than this share of its time, the time of
/// a window is what its requests cost.
const FULL_SHARE: f64 = 0.5;

/// The depth of one reader.
#[derive(Clone, Debug)]
pub struct DepthControl {
    depth: usize,
    min: usize,
    max: usize,
    phase: Phase,
    patience: u32,
    window: Option<Window>,
    /// Requests still to come that started at another depth and are not counted.
    unsettled: usize,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    started_ns: u64,
    waited_ns: u64,
    /// Of `waited_ns`, with all requests in flight.
    waited_full_ns: u64,
    requests: usize,
    planned: Cost,
    paused: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Keeps its depth for `windows`, then tries a greater or a smaller one.
    Settled { windows: u32, deeper_next: bool },
    /// Tries a depth in place of `before`, which reached `rate`.
    Trial { before: usize, rate: f64, deeper: bool },
}

impl DepthControl {
    /// Starts at `depth` and never goes above `max`.
    pub fn new(depth: usize, max: usize) -> Self {
        assert!(0 < depth && depth <= max, "a depth of 1 to {max}");
        let phase = Phase::Settled { windows: 1, deeper_next: true };
        let patience = SETTLED_WINDOWS;
        Self { depth, min: 1, max, phase, patience, window: None, unsettled: 0 }
    }

    /// Never goes below `min` either.
    #[must_use]
    pub fn at_least(self, min: usize) -> Self {
        assert!(min <= self.depth, "a depth of {min} or more");
        Self { min, ..self }
    }

    /// Requests to keep in flight.
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Records that the reader does something else before its next request, such as between two
    /// visits: the time of the present window is not that of its requests.
    pub fn paused(&mut self) {
        if let Some(window) = &mut self.window {
            window.paused = true;
        }
    }

    /// Records a wait for the device; `full`: whether as many requests were in flight as may be.
    pub fn waited(&mut self, ns: u64, full: bool) {
        if let Some(window) = &mut self.window {
            window.waited_ns += ns;
            window.waited_full_ns += if full { ns } else { 0 };
        }
    }

    /// Records a request that has completed, with its planned cost. Returns each window in which
    /// the device was the bottleneck and the depth was not on trial.
    pub fn arrived(&mut self, now_ns: u64, planned: Cost) -> Option<Observed> {
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return None;
        }
        let fresh = Window {
            started_ns: now_ns,
            waited_ns: 0,
            waited_full_ns: 0,
            requests: 0,
            planned: Cost::default(),
            paused: false,
        };
        let Some(window) = &mut self.window else {
            self.window = Some(fresh);
            return None;
        };
        window.requests += 1;
        window.planned += planned;
        if window.requests < WINDOW_REQUESTS.max(4 * self.depth) {
            return None;
        }
        let Window { started_ns, waited_ns, waited_full_ns, planned, paused, .. } = *window;
        let elapsed_ns = (now_ns - started_ns) as f64;
        self.window = Some(fresh);
        let is_settled = matches!(self.phase, Phase::Settled { .. });
        let share = |ns: u64| ns as f64 / elapsed_ns;
        if elapsed_ns > 0.0 && share(waited_ns) >= WAITING_SHARE && self.max > 1 {
            self.decide(planned.seconds() / elapsed_ns);
        }
        let counts =
            is_settled && !paused && elapsed_ns > 0.0 && share(waited_full_ns) >= FULL_SHARE;
        counts.then_some(Observed { seconds: elapsed_ns / 1e9, planned })
    }

    fn decide(&mut self, rate: f64) {
        match self.phase {
            Phase::Settled { windows, deeper_next } if windows > 1 => {
                self.phase = Phase::Settled { windows: windows - 1, deeper_next };
            }
            Phase::Settled { deeper_next, .. } => self.attempt(rate, deeper_next),
            Phase::Trial { rate: before, deeper, .. } if rate > before * GAIN => {
                self.patience = SETTLED_WINDOWS;
                self.attempt(rate, deeper);
            }
            Phase::Trial { before, deeper, .. } => {
                self.change(before);
                self.settle(!deeper);
            }
        }
    }

    /// Tries the next greater or smaller depth, if there is one.
    fn attempt(&mut self, rate: f64, deeper: bool) {
        let before = self.depth;
        let next =
            if deeper { (2 * before).min(self.max) } else { before.div_ceil(2).max(self.min) };
        if next == before {
            return self.settle(!deeper);
        }
        self.change(next);
        self.phase = Phase::Trial { before, rate, deeper };
    }

    fn settle(&mut self, deeper_next: bool) {
        self.phase = Phase::Settled { windows: self.patience, deeper_next };
        self.patience = (2 * self.patience).min(SETTLED_WINDOWS_MAX);
    }

    fn change(&mut self, depth: usize) {
        self.unsettled = self.depth;
        self.depth = depth;
        self.window = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that does `rate(depth)` requests a microsecond, for a reader that is never late.
    /// The mean depth after a while.
    fn climb(control: &mut DepthControl, rate: impl Fn(usize) -> f64) -> f64 {
        climb_from(0.0, control, rate)
    }

    fn climb_from(start_ns: f64, control: &mut DepthControl, rate: impl Fn(usize) -> f64) -> f64 {
        let mut now_ns = start_ns;
        let mut depths = 0;
        for request in 0..40_000 {
            let ns = 1000.0 / rate(control.depth());
            now_ns += ns;
            control.waited(ns as u64, true);
            control.arrived(now_ns as u64, Cost { request: 1.0, pages: 0.0 });
            depths += if request >= 20_000 { control.depth() } else { 0 };
        }
        f64::from(u32::try_from(depths).unwrap()) / 20_000.0
    }

    /// Rises to `k`, then stays.
    fn saturating(k: usize) -> impl Fn(usize) -> f64 {
        move |depth| depth.min(k) as f64
    }

    #[test]
    fn slower_drive_gets_more_requests() {
        let mean = climb(&mut DepthControl::new(4, 64), saturating(32));
        assert!((27.0..=44.0).contains(&mean), "{mean}");
    }

    #[test]
    fn depth_stays_where_more_and_less_gain_nothing() {
        let mean = climb(&mut DepthControl::new(8, 64), saturating(8));
        assert!((7.5..=9.0).contains(&mean), "{mean}");
    }

    #[test]
    fn drive_that_chokes_on_depth_gets_fewer() {
        let choking = |depth: usize| if depth <= 4 { depth as f64 } else { 16.0 / depth as f64 };
        let mean = climb(&mut DepthControl::new(32, 64), choking);
        assert!((3.0..=6.0).contains(&mean), "{mean}");
    }

    #[test]
    fn depth_stays_where_fewer_are_not_allowed() {
        let choking = |depth: usize| 16.0 / depth as f64;
        let mut control = DepthControl::new(8, 8).at_least(8);
        let mean = climb(&mut control, choking);
        assert!((7.999..8.001).contains(&mean), "{mean}");
    }

    #[test]
    fn reader_that_is_the_slower_one_changes_nothing() {
        let mut control = DepthControl::new(4, 64);
        for request in 0..10_000 {
            let window = control.arrived(request * 1000, Cost { request: 1.0, pages: 0.0 });
            assert_eq!(window, None, "its time is not the device's");
        }
        assert_eq!(control.depth(), 4);
    }

    #[test]
    fn windows_in_which_the_device_is_the_bottleneck_have_its_time() {
        let mut control = DepthControl::new(4, 4);
        let planned = Cost { request: 2.0, pages: 3.0 };
        let mut windows = Vec::new();
        for request in 0..1000 {
            control.waited(900, true);
            windows.extend(control.arrived(request * 1000, planned));
        }
        // Without those in which a smaller depth is on trial.
        assert!((30..999 / WINDOW_REQUESTS).contains(&windows.len()), "{}", windows.len());
        let requests = WINDOW_REQUESTS as f64;
        for Observed { seconds, planned } in windows {
            assert!((seconds - requests * 1e-6).abs() < 1e-12);
            assert!((planned.request - 2.0 * requests).abs() < 1e-9);
            assert!((planned.pages - 3.0 * requests).abs() < 1e-9);
        }
    }

    #[test]
    fn depth_follows_a_drive_that_changes() {
        let mut control = DepthControl::new(4, 64);
        climb(&mut control, saturating(4));
        let slow = climb_from(1e12, &mut control, saturating(32));
        assert!(slow > 24.0, "{slow}");
    }
}

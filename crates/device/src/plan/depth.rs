//! Hill climbing of a reader's depth while it runs.
//!
//! A profile is measured on a drive without other users. On a drive that is shared, throttled or
//! worn, latency is longer and the same throughput needs more requests in flight; on some drives
//! fewer do better. So the reader tries a depth for a while, and keeps it if throughput rises.

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

/// The depth of one reader.
#[derive(Clone, Debug)]
pub struct DepthControl {
    depth: usize,
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
    requests: usize,
    work: f64,
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
        Self { depth, max, phase, patience: SETTLED_WINDOWS, window: None, unsettled: 0 }
    }

    /// Requests to keep in flight.
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Records a wait for the device.
    pub fn waited(&mut self, ns: u64) {
        if let Some(window) = &mut self.window {
            window.waited_ns += ns;
        }
    }

    /// Records a request that has completed; `work` is its size, such as its predicted seconds.
    pub fn arrived(&mut self, now_ns: u64, work: f64) {
        if self.max == 1 {
            return;
        }
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return;
        }
        let fresh = Window { started_ns: now_ns, waited_ns: 0, requests: 0, work: 0.0 };
        let Some(window) = &mut self.window else {
            self.window = Some(fresh);
            return;
        };
        window.requests += 1;
        window.work += work;
        if window.requests < WINDOW_REQUESTS.max(4 * self.depth) {
            return;
        }
        let elapsed_ns = (now_ns - window.started_ns) as f64;
        let (rate, waited) = (window.work / elapsed_ns, window.waited_ns as f64 / elapsed_ns);
        self.window = Some(fresh);
        if elapsed_ns > 0.0 && waited >= WAITING_SHARE {
            self.decide(rate);
        }
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
        let next = if deeper { (2 * before).min(self.max) } else { before.div_ceil(2) };
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
            control.waited(ns as u64);
            control.arrived(now_ns as u64, 1.0);
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
    fn reader_that_is_the_slower_one_changes_nothing() {
        let mut control = DepthControl::new(4, 64);
        for request in 0..10_000 {
            control.arrived(request * 1000, 1.0);
        }
        assert_eq!(control.depth(), 4);
    }

    #[test]
    fn depth_follows_a_drive_that_changes() {
        let mut control = DepthControl::new(4, 64);
        climb(&mut control, saturating(4));
        let slow = climb_from(1e12, &mut control, saturating(32));
        assert!(slow > 24.0, "{slow}");
    }
}

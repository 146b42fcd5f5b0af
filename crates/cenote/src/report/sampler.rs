//! Samples what a process reads, computes and holds, over time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::memory::{cpu_seconds, rss_bytes};

/// The time between samples at first.
const PERIOD: Duration = Duration::from_millis(10);

/// The most samples: beyond them every second one is dropped, and the period doubles.
const SAMPLES_MAX: usize = 1024;

/// The share of its capacity from which the drive or the processor counts as busy.
pub(crate) const BUSY: f64 = 0.8;

/// The share of the time for which what bounds the work is busy.
pub(crate) const MOST: f64 = 0.5;

/// Counters of reads and writes so far, and requests in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Requests that completed.
    pub requests: u64,
    /// Requests in flight.
    pub in_flight: usize,
}

/// The state of the process at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Seconds since the start.
    pub seconds: f64,
    /// Bytes read since the start.
    pub bytes_read: u64,
    /// Bytes written since the start.
    pub bytes_written: u64,
    /// Requests that completed since the start.
    pub requests: u64,
    /// Requests in flight: of several samples that became one, the mean.
    pub in_flight: f64,
    /// Processor time of all threads since the start, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory in bytes: of several samples that became one, the most.
    pub rss_bytes: u64,
}

/// A thread that takes samples until it is stopped: 100 a second in the first 10 seconds, at most
/// 1,024 in all. Reading the state takes tens of microseconds.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<Vec<Sample>>>,
}

impl Sampler {
    /// Begins to sample `counters`.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn start(counters: impl Fn() -> Counters + Send + 'static) -> Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = Arc::clone(&stop);
        let (started, first) = (Instant::now(), State::now(&counters));
        let thread = std::thread::Builder::new().name("cenote-sampler".to_owned());
        let thread = thread.spawn(move || {
            let mut samples = Samples::default();
            samples.push(first.since(&first, 0.0));
            loop {
                let stopped = wait(&shared, samples.period);
                let now = State::now(&counters);
                let sample = now.since(&first, started.elapsed().as_secs_f64());
                if stopped {
                    return samples.end(sample);
                }
                samples.push(sample);
            }
        });
        let thread = thread.map_err(Error::io("cannot start the thread that samples a run"))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Takes the last sample; returns all, the first at second 0.
    pub fn stop(mut self) -> Vec<Sample> {
        self.join()
    }

    fn join(&mut self) -> Vec<Sample> {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        let joined = self.thread.take().map(JoinHandle::join);
        joined.and_then(std::result::Result::ok).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
    }
}

/// Waits for `period`, or until the sampler is stopped: then true.
fn wait(stop: &(Mutex<bool>, Condvar), period: Duration) -> bool {
    let stopped = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = stop.1.wait_timeout_while(stopped, period, |stopped| !*stopped);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// The state of the process.
#[derive(Clone, Copy)]
struct State {
    counters: Counters,
    cpu_seconds: f64,
    rss_bytes: u64,
}

impl State {
    fn now(counters: &impl Fn() -> Counters) -> Self {
        Self { counters: counters(), cpu_seconds: cpu_seconds(), rss_bytes: rss_bytes() }
    }

    fn since(&self, first: &Self, seconds: f64) -> Sample {
        let (now, before) = (&self.counters, &first.counters);
        Sample {
            seconds,
            bytes_read: now.bytes_read.saturating_sub(before.bytes_read),
            bytes_written: now.bytes_written.saturating_sub(before.bytes_written),
            requests: now.requests.saturating_sub(before.requests),
            in_flight: now.in_flight as f64,
            cpu_seconds: self.cpu_seconds - first.cpu_seconds,
            rss_bytes: self.rss_bytes,
        }
    }
}

/// At most [`SAMPLES_MAX`] samples.
struct Samples {
    kept: Vec<Sample>,
    period: Duration,
}

impl Default for Samples {
    fn default() -> Self {
        Self { kept: Vec::with_capacity(SAMPLES_MAX), period: PERIOD }
    }
}

impl Samples {
    fn push(&mut self, sample: Sample) {
        if self.kept.len() == SAMPLES_MAX {
            // The first one stays: it is the start.
            let start = self.kept[0];
            let pairs = self.kept[1..].chunks(2).map(merged);
            self.kept = std::iter::once(start).chain(pairs).collect();
            self.kept.reserve_exact(SAMPLES_MAX - self.kept.len());
            self.period *= 2;
        }
        self.kept.push(sample);
    }

    /// All samples with the last one. It becomes one with the one before if little time is between
    /// them, in which rates mean nothing.
    fn end(mut self, last: Sample) -> Vec<Sample> {
        let short = self.period.as_secs_f64() / 2.0;
        match self.kept.pop() {
            Some(before) if self.kept.is_empty() || last.seconds - before.seconds >= short => {
                self.push(before);
                self.push(last);
            }
            Some(before) => self.push(merged(&[before, last])),
            None => self.push(last),
        }
        self.kept
    }
}

/// One sample for one or two: the later one, with the mean depth and the most memory of both.
fn merged(pair: &[Sample]) -> Sample {
    let (first, last) = (pair[0], pair[pair.len() - 1]);
    let in_flight = f64::midpoint(first.in_flight, last.in_flight);
    Sample { in_flight, rss_bytes: first.rss_bytes.max(last.rss_bytes), ..last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_bounded_and_end_with_the_last() {
        let at = |seconds| Sample { seconds, ..Sample::default() };
        for (times, ends) in [(&[0.0][..], 2), (&[0.0, 1.0], 3), (&[0.0, 1.0, 1.999], 3)] {
            let mut samples = Samples::default();
            times.iter().for_each(|&seconds| samples.push(at(seconds)));
            let kept = samples.end(at(2.0));
            assert_eq!((kept.len(), kept[0].seconds, kept[ends - 1].seconds), (ends, 0.0, 2.0));
        }
        let mut samples = Samples::default();
        let (mut now, mut pushed) = (Duration::ZERO, 0);
        // A day.
        while now.as_secs() < 86_400 {
            let (seconds, rss_bytes) = (now.as_secs_f64(), pushed % 7);
            samples.push(Sample { seconds, bytes_read: pushed, rss_bytes, ..Sample::default() });
            (now, pushed) = (now + samples.period, pushed + 1);
        }
        assert!(samples.kept.len() <= SAMPLES_MAX && samples.kept.len() > SAMPLES_MAX / 2);
        assert_eq!((samples.kept[0].bytes_read, samples.period), (0, PERIOD * (1 << 14)));
        assert_eq!(samples.kept.last().map(|sample| sample.bytes_read), Some(pushed - 1));
        assert!(samples.kept.is_sorted_by(|a, b| a.seconds < b.seconds));
        assert!(samples.kept[1..50].iter().all(|sample| sample.rss_bytes == 6), "the most of many");
    }

    #[test]
    fn a_sampler_that_is_stopped_at_once_has_start_and_end() {
        let counters = || Counters { bytes_read: 17, in_flight: 3, ..Counters::default() };
        let samples = Sampler::start(counters).unwrap().stop();
        assert!(samples.len() >= 2 && samples[0].seconds == 0.0, "{samples:?}");
        let last = samples[samples.len() - 1];
        assert_eq!((last.bytes_read, last.in_flight), (0, 3.0));
        assert!(last.rss_bytes > 1 << 20 && last.cpu_seconds >= 0.0);
        drop(Sampler::start(counters).unwrap());
    }
}

//! What bounded a run: the drive, the processor, memory, or none of them; and what would help.
//!
//! The rule: an interval between two samples is one of the drive if its reads moved at least 80%
//! of the bytes per second that the profile has for reads of their mean size, or if as many were
//! in flight as the drive does at once (k_r): then it is as busy as it can be. An interval is one
//! of the processor if the threads computed for at least 80% of it. What has half of the run's time
//! bounded it, the larger of both. If that is the drive, and pages were read more than 1.2 times
//! because the cache held a part of them, memory bounded the run.

use cenote_device::model::DeviceModel;
use serde::Serialize;

use super::recording::Recording;
use super::stats::Stats;
use crate::memory::size;
use crate::report::format::{count, number, percent};
use crate::report::page::Finding;
use crate::report::{BUSY, MOST, Sample};

/// Passes over the graph beyond which memory would have saved reads.
const PASSES: f64 = 1.2;

/// Fewer samples do not show what a run waits for.
const SAMPLES_MIN: usize = 4;

/// What bounded a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The drive.
    Drive,
    /// The processor.
    Processor,
    /// Memory: the drive read pages again.
    Memory,
    /// None: neither drive nor processor was busy for half of the time.
    Neither,
}

/// The measured shares that decide what bounded a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// What bounded it.
    pub by: Bound,
    /// Share of the time with the drive at 80% of its profile or more, or with k_r reads in flight.
    pub drive_share: f64,
    /// Share of the time with the threads computing for 80% of it or more.
    pub processor_share: f64,
    /// Mean cores in use.
    pub cores_used: f64,
    /// Mean reads in flight.
    pub in_flight: f64,
}

impl Bounds {
    /// What bounded the run that was recorded.
    pub fn of(stats: &Stats, recording: &Recording, model: &DeviceModel) -> Self {
        let threads = stats.threads.min(recording.machine.cores).max(1);
        let is_reread = stats.passes > PASSES && stats.cached_fraction < 0.999;
        Self::of_samples(&recording.samples, threads, model, is_reread)
    }

    fn of_samples(
        samples: &[Sample],
        threads: usize,
        model: &DeviceModel,
        is_reread: bool,
    ) -> Self {
        let (mut drive, mut processor, mut in_flight) = (0.0, 0.0, 0.0);
        for pair in samples.windows(2) {
            let seconds = pair[1].seconds - pair[0].seconds;
            let bytes = (pair[1].bytes_read - pair[0].bytes_read) as f64;
            let requests = pair[1].requests - pair[0].requests;
            let mean = (bytes / requests.max(1) as f64).max(1.0);
            let size = model.at(mean as u64);
            let possible = size.read_iops_max * mean;
            let is_busy = |share: f64| if share >= BUSY { seconds } else { 0.0 };
            let is_full = requests > 0 && pair[1].in_flight >= f64::from(size.k_r);
            let rate = bytes / (possible * seconds).max(f64::MIN_POSITIVE);
            drive += is_busy(if is_full { 1.0 } else { rate });
            let computed = pair[1].cpu_seconds - pair[0].cpu_seconds;
            processor += is_busy(computed / (threads as f64 * seconds).max(f64::MIN_POSITIVE));
            in_flight += pair[1].in_flight * seconds;
        }
        let last = samples.last().copied().unwrap_or_default();
        let elapsed = last.seconds.max(1e-9);
        let shares = (drive / elapsed, processor / elapsed);
        let by = match shares {
            (drive, processor) if drive >= MOST && drive >= processor && is_reread => Bound::Memory,
            (drive, processor) if drive >= MOST && drive >= processor => Bound::Drive,
            (_, processor) if processor >= MOST => Bound::Processor,
            _ => Bound::Neither,
        };
        Self {
            by,
            drive_share: shares.0,
            processor_share: shares.1,
            cores_used: last.cpu_seconds / elapsed,
            in_flight: in_flight / elapsed,
        }
    }

    /// The finding, and what would help.
    pub fn findings(&self, stats: &Stats, recording: &Recording, packed: bool) -> [Finding; 2] {
        let drive = percent(self.drive_share);
        let processor = percent(self.processor_share);
        let guess = if recording.drive.assumed {
            " The drive has no profile: its ceiling and its k_r are assumed."
        } else {
            ""
        };
        let busy = format!(
            "For {drive} of the time the drive had as many reads as it does at once, or moved at \
             least 80% of its ceiling; for {processor} the threads computed at 80% or more.{guess}"
        );
        let (by, why) = match self.by {
            Bound::Drive => ("The drive", busy),
            Bound::Processor => ("The processor", busy),
            Bound::Memory => {
                let (passes, kept) = (number(stats.passes), percent(stats.cached_fraction));
                let again = format!(
                    " It read {passes} times the pages of the graph, of which memory holds {kept}."
                );
                ("Memory", busy + &again)
            }
            Bound::Neither if recording.samples.len() < SAMPLES_MIN => (
                "Too short to tell",
                format!("{busy} There are only {} samples.", recording.samples.len()),
            ),
            Bound::Neither => {
                let (flight, k_r) = (number(self.in_flight), recording.drive.k_r);
                let mixed = format!(
                    " On average {flight} reads were in flight, of {k_r} that it does at once, \
                     and {:.1} of {} threads computed.",
                    self.cores_used,
                    count(stats.threads as u64)
                );
                ("Neither alone", busy + &mixed)
            }
        };
        let (help, how) = self.help(stats, recording, packed);
        [Finding::new("Bounded by", by, why), Finding::new("What would help", help, how)]
    }

    fn help(&self, stats: &Stats, recording: &Recording, packed: bool) -> (String, String) {
        let memory = more_memory(stats, recording);
        let cores = recording.machine.cores;
        match self.by {
            Bound::Memory | Bound::Drive if memory.is_some() => memory.unwrap_or_default(),
            Bound::Memory | Bound::Drive if !packed => {
                let how = "Packed lists are fewer bytes to read, and a faster drive reads them in \
                           less time; by the estimate more memory reads as much.";
                ("Packed lists".to_owned(), how.to_owned())
            }
            Bound::Memory | Bound::Drive => {
                let how = "By the estimate more memory reads as much, and the lists are packed.";
                ("A faster drive".to_owned(), how.to_owned())
            }
            Bound::Processor if stats.threads < cores => {
                let how = format!("The run used {} of {cores} cores.", stats.threads);
                ("More threads".to_owned(), how)
            }
            Bound::Processor => {
                let how = format!("All {cores} cores computed; the drive could read more.");
                ("A faster processor".to_owned(), how)
            }
            Bound::Neither => memory.unwrap_or_else(|| {
                let how = "Reads, computation and waits for the slowest thread share the time; the \
                           timeline shows where.";
                ("Nothing alone".to_owned(), how.to_owned())
            }),
        }
    }
}

/// The smallest larger budget with which the estimate saves about as much as any does, if that is
/// worth it.
fn more_memory(stats: &Stats, recording: &Recording) -> Option<(String, String)> {
    let expected = recording.estimate.plan.bytes_read;
    let least = recording.larger_budgets.iter().map(|larger| larger.bytes_read).min()?;
    let enough = least.saturating_add(expected.saturating_sub(least) / 10);
    let larger = recording.larger_budgets.iter().find(|larger| larger.bytes_read <= enough)?;
    if larger.bytes_read as f64 > 0.9 * expected as f64 {
        return None;
    }
    let passes = |bytes: u64| number(bytes as f64 / (stats.page_bytes as f64).max(1.0));
    let how = format!(
        "By the estimate it reads {} instead of {}: {} times the graph instead of {} times.",
        size(larger.bytes_read),
        size(expected),
        passes(larger.bytes_read),
        passes(expected)
    );
    let budget = size(larger.memory_bytes).replace(".0 ", " ");
    Some((format!("A budget of {budget}"), how))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_device::model::Pio;

    const PAGE: u64 = 4096;

    /// Runs of one second, in ten samples: bytes, requests, in flight, CPU seconds.
    fn by(bytes_read: u64, in_flight: f64, cpu_seconds: f64, is_reread: bool) -> Bound {
        // 4 reads at once of 100 us each: 40,000 a second.
        let model = DeviceModel::pio("drive", PAGE, 100.0, &Pio::new(0, 4, 4, 1.0));
        let samples: Vec<Sample> = (0..=10)
            .map(|tenth| {
                let share = f64::from(tenth) / 10.0;
                let bytes_read = (bytes_read as f64 * share) as u64;
                Sample {
                    seconds: share,
                    bytes_read,
                    requests: bytes_read / PAGE,
                    in_flight,
                    cpu_seconds: cpu_seconds * share,
                    ..Sample::default()
                }
            })
            .collect();
        Bounds::of_samples(&samples, 2, &model, is_reread).by
    }

    #[test]
    fn a_run_is_bounded_by_what_is_busy() {
        let all = 40_000 * PAGE;
        assert_eq!(by(all * 85 / 100, 1.0, 0.1, false), Bound::Drive);
        assert_eq!(by(all * 75 / 100, 1.0, 0.1, false), Bound::Neither);
        assert_eq!(by(all * 75 / 100, 4.0, 0.1, false), Bound::Drive, "as many as it does at once");
        assert_eq!(by(all * 85 / 100, 1.0, 0.1, true), Bound::Memory);
        assert_eq!(by(all / 10, 1.0, 1.7, true), Bound::Processor);
        assert_eq!(by(all / 10, 1.0, 1.5, false), Bound::Neither);
        assert_eq!(by(0, 4.0, 0.0, false), Bound::Neither, "without reads");
        assert_eq!(by(all, 4.0, 2.0, false), Bound::Drive, "both: the drive");
    }
}

//! Reports of work that reads and writes files: imports, merges.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cenote_device::profile::Profile;
use serde::Serialize;
use serde_json::{Value, json};

use super::format::{Unit, count, percent, seconds};
use super::machine::Machine;
use super::page::{
    Axis, Band, Block, Chart, Figure, Finding, Mark, Page, Section, Series, Shape, Table, fact,
};
use super::sampler::{BUSY, Counters, MOST, Sample, Sampler};
use crate::drive::Drive;
use crate::error::Result;
use crate::memory::size;

/// The most phases that are recorded. The time of those after them counts for the last one.
const PHASES_MAX: usize = 64;

/// Records the process while it works, phase by phase.
#[derive(Debug)]
pub struct WorkRecorder {
    sampler: Sampler,
    started: Instant,
    phases: Arc<Mutex<Vec<Phase>>>,
}

/// A phase of the work.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// Seconds from the start of the work to its start.
    pub start_seconds: f64,
}

/// What was recorded.
#[derive(Clone, Debug, Serialize)]
pub struct Work {
    /// The machine.
    pub machine: Machine,
    /// At most 1,024 samples of the process: the bytes that it read from and wrote to drives.
    pub samples: Vec<Sample>,
    /// The phases, in their order.
    pub phases: Vec<Phase>,
    /// The drive.
    pub drive: WorkDrive,
}

/// The drive that the work wrote to.
#[derive(Clone, Debug, Serialize)]
pub struct WorkDrive {
    /// Its short name.
    pub name: String,
    /// Whether it was never profiled, so that the rates are a guess.
    pub assumed: bool,
    /// Bytes per second that it reads at most.
    pub read_bytes_per_second: f64,
    /// Bytes per second that it writes at most, if that was measured or assumed.
    pub write_bytes_per_second: Option<f64>,
}

/// Names of the phases of a [`WorkRecorder`], from any thread.
#[derive(Clone, Debug)]
pub struct PhaseNames {
    started: Instant,
    phases: Arc<Mutex<Vec<Phase>>>,
}

impl PhaseNames {
    /// A phase begins, unless it is the last one that began.
    pub fn begin(&self, name: &str) {
        let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = phases.last().is_some_and(|last| last.name == name);
        if !is_known && phases.len() < PHASES_MAX {
            let start_seconds = self.started.elapsed().as_secs_f64();
            phases.push(Phase { name: name.to_owned(), start_seconds });
        }
    }
}

impl WorkRecorder {
    /// Begins to record.
    ///
    /// # Errors
    /// The system refuses the thread that takes samples.
    pub fn start() -> Result<Self> {
        let sampler = Sampler::start(process_io)?;
        Ok(Self { sampler, started: Instant::now(), phases: Arc::default() })
    }

    /// For the names of phases.
    pub fn phases(&self) -> PhaseNames {
        PhaseNames { started: self.started, phases: Arc::clone(&self.phases) }
    }

    /// Ends the record of work that wrote to the drive of `path`.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn stop(self, path: &Path) -> Result<Work> {
        let samples = self.sampler.stop();
        let phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let drive = WorkDrive::of(&Drive::find(path, None)?.profile);
        Ok(Work { machine: Machine::here(), samples, phases, drive })
    }
}

impl WorkDrive {
    fn of(profile: &Profile) -> Self {
        let rate = |iops: f64, bytes: u64| iops * bytes as f64;
        let reads = profile.sizes.iter().map(|at| {
            rate(at.read_iops_max.max(at.read_sequential_iops_max.unwrap_or(0.0)), at.bytes)
        });
        let writes = profile.sizes.iter().filter_map(|at| {
            let iops = at.write_iops_max?.max(at.write_sequential_iops_max.unwrap_or(0.0));
            Some(rate(iops, at.bytes))
        });
        Self {
            name: profile.device.clone(),
            assumed: profile.assumed,
            read_bytes_per_second: reads.fold(0.0, f64::max),
            write_bytes_per_second: writes.reduce(f64::max),
        }
    }
}

/// Bytes that this process had drives read and write, as Linux counts them; 0 where it does not.
fn process_io() -> Counters {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Counters {
        bytes_read: value("read_bytes:"),
        bytes_written: value("write_bytes:"),
        ..Counters::default()
    }
}

impl Work {
    /// Seconds of the work.
    pub fn seconds(&self) -> f64 {
        self.samples.last().map_or(0.0, |last| last.seconds)
    }

    fn last(&self) -> Sample {
        self.samples.last().copied().unwrap_or_default()
    }

    /// Shares of the time with the drive and with the processor busy.
    fn shares(&self, threads: usize) -> (f64, f64) {
        let threads = threads.min(self.machine.cores).max(1) as f64;
        let (mut drive, mut processor) = (0.0, 0.0);
        for pair in self.samples.windows(2) {
            let elapsed = (pair[1].seconds - pair[0].seconds).max(1e-9);
            let read = (pair[1].bytes_read - pair[0].bytes_read) as f64 / elapsed;
            let written = (pair[1].bytes_written - pair[0].bytes_written) as f64 / elapsed;
            let possible = |rate: f64, most: f64| if most > 0.0 { rate / most } else { 0.0 };
            let busy = possible(read, self.drive.read_bytes_per_second)
                + possible(written, self.drive.write_bytes_per_second.unwrap_or(0.0));
            let computed = (pair[1].cpu_seconds - pair[0].cpu_seconds) / (elapsed * threads);
            drive += if busy >= BUSY { elapsed } else { 0.0 };
            processor += if computed >= BUSY { elapsed } else { 0.0 };
        }
        let whole = self.seconds().max(1e-9);
        (drive / whole, processor / whole)
    }

    fn finding(&self, threads: usize) -> Finding {
        let (drive, processor) = self.shares(threads);
        let by = match () {
            () if drive >= MOST && drive >= processor => "The drive",
            () if processor >= MOST => "The processor",
            () => "Neither alone",
        };
        let guess = if self.drive.assumed { ", which is assumed: it has no profile" } else { "" };
        let text = format!(
            "For {} of the time the drive moved at least 80% of its ceiling{guess}; for {} of it \
             the threads computed at 80% or more. Bytes that the system keeps in memory and writes \
             later count when they reach the drive.",
            percent(drive),
            percent(processor)
        );
        Finding::new("Bounded by", by, text)
    }

    fn figures(&self, threads: usize, memory_bytes: u64, peak_bytes: u64) -> Vec<Figure> {
        let last = self.last();
        let cores = last.cpu_seconds / (self.seconds() * threads.max(1) as f64).max(1e-9);
        let memory = peak_bytes as f64 / memory_bytes.max(1) as f64;
        vec![
            Figure::new("Peak memory", size(peak_bytes), format!("budget {}", size(memory_bytes)))
                .of(memory),
            Figure::new(
                "Processor",
                seconds(last.cpu_seconds),
                format!("{} of {threads} threads", percent(cores)),
            )
            .of(cores),
        ]
    }

    fn bands(&self) -> Vec<Band> {
        let end = self.seconds();
        let next = self.phases.iter().skip(1).map(|phase| phase.start_seconds).chain([end]);
        let bands = self.phases.iter().zip(next).map(|(phase, end)| Band {
            name: phase.name.clone(),
            start: phase.start_seconds,
            end,
        });
        bands.collect()
    }

    fn rates(&self, amount: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
        let pairs = self.samples.windows(2).map(|pair| {
            let elapsed = (pair[1].seconds - pair[0].seconds).max(1e-9);
            (pair[1].seconds, (amount(&pair[1]) - amount(&pair[0])) / elapsed)
        });
        let mut points: Vec<(f64, f64)> = pairs.collect();
        if let Some(&(_, first)) = points.first() {
            points.insert(0, (0.0, first));
        }
        points
    }

    fn timeline(&self, threads: usize, memory_bytes: u64) -> Section {
        let bands = self.bands();
        let blank: Vec<Band> =
            bands.iter().map(|band| Band { name: String::new(), ..band.clone() }).collect();
        let panel = |title: &str, y: Axis, series: Vec<Series>, levels: Vec<Mark>, is_first| {
            Block::Chart(Chart {
                title: title.to_owned(),
                x: Axis::linear("time since the start", Unit::Seconds).with(self.seconds()),
                y,
                series,
                levels,
                bands: if is_first { bands.clone() } else { blank.clone() },
                low: true,
                ..Chart::default()
            })
        };
        let reads = self.rates(|sample| sample.bytes_read as f64);
        let writes = self.rates(|sample| sample.bytes_written as f64);
        let kind = if self.drive.assumed { "assumed" } else { "profiled" };
        let written = self.drive.write_bytes_per_second;
        let memory = self.samples.iter().map(|s| (s.seconds, s.rss_bytes as f64)).collect();
        let blocks = vec![
            panel(
                "Reads",
                Axis::linear("bytes per second", Unit::BytesPerSecond),
                vec![Series::new("read", Shape::Area, reads)],
                vec![Mark::new(format!("{kind} ceiling"), self.drive.read_bytes_per_second)],
                true,
            ),
            panel(
                "Writes",
                Axis::linear("bytes per second", Unit::BytesPerSecond),
                vec![Series::new("written", Shape::Area, writes)],
                written
                    .map(|rate| Mark::new(format!("{kind} ceiling"), rate))
                    .into_iter()
                    .collect(),
                false,
            ),
            panel(
                "Processor",
                Axis::linear("cores in use", Unit::Number),
                vec![Series::new("cores", Shape::Area, self.rates(|sample| sample.cpu_seconds))],
                vec![Mark::new("threads", threads as f64)],
                false,
            ),
            panel(
                "Memory",
                Axis::linear("resident", Unit::Bytes),
                vec![Series::new("resident", Shape::Area, memory)],
                vec![Mark::new("budget", memory_bytes as f64)],
                false,
            ),
        ];
        let intro = format!(
            "{} samples of the process. Bands are phases.",
            count(self.samples.len() as u64)
        );
        Section { title: "Timeline".to_owned(), intro, blocks }
    }

    fn phase_table(&self) -> Option<Block> {
        let rows = self.bands().into_iter().map(|band| {
            let share = (band.end - band.start) / self.seconds().max(1e-9);
            vec![band.name, seconds((band.end - band.start).max(0.0)), percent(share.max(0.0))]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let header = ["phase", "time", "share"].map(str::to_owned).into();
        (!rows.is_empty())
            .then(|| Block::Table(Table { title: "Phases".to_owned(), header, words: 1, rows }))
    }
}

/// What the page of some work shows beside its record.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// What was done: `Import`.
    pub title: String,
    /// The file.
    pub subject: String,
    /// The command.
    pub command: Option<String>,
    /// The figures to read first.
    pub figures: Vec<Figure>,
    /// Threads that worked.
    pub threads: usize,
    /// The memory budget.
    pub memory_bytes: u64,
    /// The peak of the memory.
    pub peak_bytes: u64,
    /// Pictures of the result.
    pub pictures: Vec<Block>,
    /// Everything that the command reports, as its JSON has it.
    pub report: Value,
}

/// The page of some work.
pub fn page(work: &Work, content: Content) -> Page {
    let mut figures =
        vec![Figure::new("Time", seconds(work.seconds()), format!("{} threads", content.threads))];
    figures.extend(content.figures);
    figures.extend(work.figures(content.threads, content.memory_bytes, content.peak_bytes));
    let mut blocks = vec![Block::Facts(facts(&content.report))];
    blocks.extend(content.pictures);
    blocks.extend(work.phase_table());
    let mut conditions: Vec<(String, String)> = Vec::new();
    conditions.extend(content.command.as_ref().map(|command| fact("command", command.clone())));
    let kind = if work.drive.assumed { "no profile: assumed" } else { "profiled" };
    conditions.push(fact("drive", format!("{}, {kind}", work.drive.name)));
    conditions.extend(work.machine.facts());
    let section =
        |title: &str, blocks| Section { title: title.to_owned(), blocks, ..Section::default() };
    Page {
        subtitle: super::format::utc(work.machine.unix_seconds),
        figures,
        findings: vec![work.finding(content.threads)],
        sections: vec![
            work.timeline(content.threads, content.memory_bytes),
            section("Result", blocks),
            section("Command and machine", vec![Block::Facts(conditions)]),
        ],
        data: json!({
            "report": content.title.to_lowercase(),
            "result": content.report,
            "recording": work,
            "command": content.command,
        }),
        title: content.title,
        subject: content.subject,
    }
}

/// The fields of a report as names and values, in the units that their names end with.
fn facts(report: &Value) -> Vec<(String, String)> {
    let fields = report.as_object().into_iter().flatten();
    // What the figures and the conditions have.
    const ELSEWHERE: [&str; 6] =
        ["seconds", "memory_budget_bytes", "peak_rss_bytes", "out", "graph", "threads"];
    let fields = fields.filter(|(name, value)| {
        !value.is_null() && !value.is_object() && !ELSEWHERE.contains(&name.as_str())
    });
    let words = |name: &str| match name.strip_prefix("seconds_") {
        Some(phase) => format!("time of {phase}"),
        None => name.strip_suffix("_bytes").unwrap_or(name).replace('_', " "),
    };
    let text = |name: &str, value: &Value| match (value.as_u64(), value.as_f64()) {
        (Some(bytes), _) if name.ends_with("bytes") => size(bytes),
        (Some(whole), _) => count(whole),
        (None, Some(time)) if name.contains("seconds") => seconds(time),
        (None, Some(real)) => super::format::number(real),
        (None, None) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    };
    fields.map(|(name, value)| fact(words(name), text(name, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(samples: Vec<Sample>) -> Work {
        let drive = WorkDrive {
            name: "drive".to_owned(),
            assumed: false,
            read_bytes_per_second: 100.0,
            write_bytes_per_second: Some(50.0),
        };
        let machine = Machine { cores: 2, ..Machine::default() };
        let phases = vec![Phase { name: "read".to_owned(), start_seconds: 0.5 }];
        Work { machine, samples, phases, drive }
    }

    #[test]
    fn work_is_bounded_by_what_is_busy_for_half_of_it() {
        let sample = |seconds, bytes_written, cpu_seconds| Sample {
            seconds,
            bytes_written,
            cpu_seconds,
            ..Sample::default()
        };
        let by = |samples| work(samples).finding(2).value;
        assert_eq!(by(vec![sample(0.0, 0, 0.0), sample(4.0, 160, 1.0)]), "The drive");
        assert_eq!(by(vec![sample(0.0, 0, 0.0), sample(4.0, 150, 6.4)]), "The processor");
        assert_eq!(by(vec![sample(0.0, 0, 0.0), sample(4.0, 150, 6.3)]), "Neither alone");
        assert_eq!(by(vec![]), "Neither alone");
        let halves = vec![sample(0.0, 0, 0.0), sample(2.0, 100, 0.0), sample(4.0, 100, 4.0)];
        assert_eq!(by(halves), "The drive");
    }

    #[test]
    fn phases_follow_each_other_to_the_end() {
        let recorder = WorkRecorder::start().unwrap();
        let names = recorder.phases();
        ["a", "a", "b", "a"].iter().for_each(|name| names.begin(name));
        (0..1000).for_each(|number| names.begin(&number.to_string()));
        let work = recorder.stop(&std::env::temp_dir()).unwrap();
        let first: Vec<&str> = work.phases.iter().take(3).map(|phase| &*phase.name).collect();
        assert_eq!((first, work.phases.len()), (vec!["a", "b", "a"], PHASES_MAX));
        let bands = work.bands();
        assert!(bands.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(bands.last().map(|band| band.end), Some(work.seconds()));
        let html =
            page(&work, Content { title: "Import".to_owned(), ..Content::default() }).to_html();
        assert!(html.contains("Timeline") && !html.contains("NaN"));
    }
}

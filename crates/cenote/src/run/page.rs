//! The report of a run as a page.

use cenote_engine::StepRecord;
use serde_json::{Map, Value, json};

use super::bound::Bounds;
use super::recording::{Recording, TimedStep};
use super::stats::Stats;
use crate::memory::size;
use crate::report::format::{Unit, count, number, percent, rate, seconds};
use crate::report::page::{
    Axis, Band, Bars, Block, Chart, Figure, Finding, Mark, Page, Section, Series, Shape, Table,
    fact,
};

/// The most bands of a timeline, and rows of a table: beyond them neighbours are one.
const BANDS_MAX: usize = 32;
const ROWS_MAX: usize = 200;

/// The most rows of a list of the summary.
const LIST_MAX: usize = 20;

/// What a report of a run shows.
pub(super) struct Content<'a> {
    pub stats: &'a Stats,
    /// The summary of the result.
    pub summary: Value,
    pub recording: Option<&'a Recording>,
    pub bounds: Option<Bounds>,
    pub pictures: Vec<Block>,
    /// Names and values of the graph, of the answer and of the command.
    pub facts: Vec<(String, String)>,
    /// Name of the graph.
    pub graph: String,
    pub packed: bool,
}

impl Content<'_> {
    /// The page.
    pub fn page(self) -> Page {
        let stats = self.stats;
        let [vertices, edges] = [stats.vertices, stats.edges].map(count);
        let mut page = Page {
            title: title(stats.algorithm),
            subject: self.graph.clone(),
            subtitle: format!("{vertices} vertices, {edges} edges"),
            figures: headline(&self.summary)
                .into_iter()
                .chain(figures(stats, self.recording))
                .collect(),
            ..Page::default()
        };
        match self.recording.zip(self.bounds) {
            Some((recording, bounds)) => {
                page.findings = bounds.findings(stats, recording, self.packed).into();
                page.sections.push(timeline(stats, recording));
            }
            None => page.findings.push(Finding::new(
                "Not recorded",
                "No timeline",
                "This run was not recorded: what bounded it, its timeline, its steps and the time \
                 of its reads are only known of a run that is asked to record, in Python with \
                 `record=True`.",
            )),
        }
        page.sections.push(answer(&self.summary, self.pictures));
        if let Some(recording) = self.recording {
            page.sections.push(estimated(stats, recording));
            page.sections.extend(steps(stats, recording));
            page.sections.extend(latencies(recording));
        }
        page.sections.push(conditions(stats, self.recording, &self.facts));
        let facts: Map<String, Value> =
            self.facts.into_iter().map(|(name, value)| (name, value.into())).collect();
        page.data = json!({
            "report": "run",
            "stats": stats,
            "result": self.summary,
            "bounds": self.bounds,
            "recording": self.recording,
            "run": facts,
        });
        page
    }
}

/// The name of an algorithm in a heading.
fn title(algorithm: &str) -> String {
    match algorithm {
        "pagerank" => "PageRank".to_owned(),
        "kcore" => "k-core".to_owned(),
        name if name.len() <= 4 && name != "walk" => name.to_uppercase(),
        name => {
            let (first, rest) = name.split_at(1);
            format!("{}{rest}", first.to_uppercase())
        }
    }
}

/// The figure of an answer to read first.
fn headline(summary: &Value) -> Option<Figure> {
    const NAMES: [&str; 9] = [
        "components",
        "reached",
        "triangles",
        "communities",
        "degeneracy",
        "members",
        "size",
        "mean",
        "walkers",
    ];
    let (name, value) =
        NAMES.iter().find_map(|name| Some((name, summary.get(name).filter(|v| v.is_number())?)))?;
    let (first, rest) = name.split_at(1);
    Some(Figure::new(format!("{}{rest}", first.to_uppercase()), text(value), "the answer"))
}

fn figures(stats: &Stats, recording: Option<&Recording>) -> Vec<Figure> {
    let possible = stats.bytes_per_second_possible;
    // The budget is beside the program itself.
    let program_bytes = recording.map_or(0, |recording| recording.estimate.program_bytes);
    let memory =
        stats.peak_rss_bytes as f64 / (stats.memory_budget_bytes + program_bytes).max(1) as f64;
    let beside = match program_bytes {
        0 => String::new(),
        bytes => format!(" beside {} of program", size(bytes)),
    };
    let cores = stats.cpu_seconds / (stats.seconds * stats.threads as f64).max(1e-9);
    let steps = match stats.iterations {
        1 => "1 step".to_owned(),
        steps => format!("{} steps", count(steps)),
    };
    vec![
        Figure::new("Time", seconds(stats.seconds), steps),
        Figure::new(
            "Read",
            size(stats.bytes_read),
            format!(
                "{} times the graph, {} requests",
                number(stats.passes),
                count(stats.read_requests)
            ),
        ),
        Figure::new(
            "Read rate",
            rate(stats.bytes_per_second),
            format!("mean, of {} possible", rate(possible)),
        )
        .of(stats.bytes_per_second / possible.max(1.0)),
        Figure::new(
            "Peak memory",
            size(stats.peak_rss_bytes),
            format!(
                "budget {}{beside}, graph {}",
                size(stats.memory_budget_bytes),
                size(stats.page_bytes)
            ),
        )
        .of(memory),
        Figure::new(
            "Processor",
            seconds(stats.cpu_seconds),
            format!("{} of {} threads", percent(cores), stats.threads),
        )
        .of(cores),
    ]
}

/// Values between two samples, as steps of a line.
fn between(
    recording: &Recording,
    value: impl Fn(&[crate::report::Sample]) -> f64,
) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(recording.samples.len());
    for pair in recording.samples.windows(2) {
        let value = value(pair);
        if points.is_empty() {
            points.push((pair[0].seconds, value));
        }
        points.push((pair[1].seconds, value));
    }
    points
}

fn timeline(stats: &Stats, recording: &Recording) -> Section {
    let end = recording.samples.last().map_or(stats.seconds, |last| last.seconds);
    let per_second = |pair: &[crate::report::Sample], amount: f64| {
        amount / (pair[1].seconds - pair[0].seconds).max(1e-9)
    };
    let rates = between(recording, |pair| {
        per_second(pair, (pair[1].bytes_read - pair[0].bytes_read) as f64)
    });
    let cores =
        between(recording, |pair| per_second(pair, pair[1].cpu_seconds - pair[0].cpu_seconds));
    let state = |value: fn(&crate::report::Sample) -> f64| {
        recording.samples.iter().map(|sample| (sample.seconds, value(sample))).collect()
    };
    let drive = &recording.drive;
    let ceiling = if drive.assumed { "assumed ceiling" } else { "profiled ceiling" };
    let names = bands(&recording.steps, end);
    let blank: Vec<Band> =
        names.iter().map(|band| Band { name: String::new(), ..band.clone() }).collect();
    let blocks = vec![
        panel(
            "Reads",
            Axis::linear("bytes per second", Unit::BytesPerSecond),
            rates,
            Mark::new(ceiling, drive.bytes_per_second),
            (&names, end),
        ),
        panel(
            "Depth",
            Axis::linear("reads in flight", Unit::Count),
            state(|sample| sample.in_flight),
            Mark::new("k_r", drive.k_r.into()),
            (&blank, end),
        ),
        panel(
            "Processor",
            Axis::linear("cores in use", Unit::Number),
            cores,
            Mark::new("threads", stats.threads as f64),
            (&blank, end),
        ),
        panel(
            "Memory",
            Axis::linear("resident", Unit::Bytes),
            state(|sample| sample.rss_bytes as f64),
            Mark::new(
                "budget and program",
                (stats.memory_budget_bytes + recording.estimate.program_bytes) as f64,
            ),
            (&blank, end),
        ),
    ];
    let intro = format!(
        "{} samples of the process. Bands are steps of the algorithm. k_r is how many reads of {} \
         the drive does at once: more are not faster.",
        count(recording.samples.len() as u64),
        size(drive.request_bytes)
    );
    Section { title: "Timeline".to_owned(), intro, blocks }
}

/// A chart of the timeline.
fn panel(
    title: &str,
    y: Axis,
    points: Vec<(f64, f64)>,
    level: Mark,
    (bands, end): (&[Band], f64),
) -> Block {
    Block::Chart(Chart {
        title: title.to_owned(),
        x: Axis::linear("time since the start", Unit::Seconds).with(end),
        y,
        series: vec![Series::new(title, Shape::Area, points)],
        levels: vec![level],
        bands: bands.to_vec(),
        low: true,
        ..Chart::default()
    })
}

/// The steps as bands that touch each other.
fn bands(steps: &[TimedStep], end: f64) -> Vec<Band> {
    let group = steps.len().div_ceil(BANDS_MAX).max(1);
    let groups: Vec<&[TimedStep]> = steps.chunks(group).collect();
    let start = |group: &[TimedStep]| group[0].start_seconds.min(end);
    let next = groups.iter().skip(1).map(|group| start(group)).chain([end]);
    let bands = groups.iter().zip(next).map(|(group, end)| Band {
        name: span(&group[0].step, &group[group.len() - 1].step),
        start: start(group),
        end,
    });
    bands.collect()
}

/// The name of steps from one to another.
fn span(first: &StepRecord, last: &StepRecord) -> String {
    let end = last.label_last.as_ref().unwrap_or(&last.label);
    if *end == first.label { end.clone() } else { format!("{} to {end}", first.label) }
}

fn answer(summary: &Value, pictures: Vec<Block>) -> Section {
    let mut blocks = Vec::new();
    let mut facts = Vec::new();
    let mut tables = Vec::new();
    for (name, value) in summary.as_object().into_iter().flatten() {
        match value {
            Value::Array(rows) => tables.extend(list(&words(name), rows)),
            Value::Object(fields) => facts.extend(
                fields
                    .iter()
                    .map(|(field, value)| fact(words(&format!("{name} {field}")), text(value))),
            ),
            Value::Null => {}
            value => facts.push(fact(words(name), text(value))),
        }
    }
    if !facts.is_empty() {
        blocks.push(Block::Facts(facts));
    }
    blocks.extend(walked(summary));
    blocks.extend(pictures);
    blocks.extend(tables.into_iter().map(Block::Table));
    let intro = String::new();
    Section { title: "Answer".to_owned(), intro, blocks }
}

/// How random walks went on, step by step.
fn walked(summary: &Value) -> Option<Block> {
    let [steps, restarts, ends] =
        ["steps", "restarts", "dead_ends"].map(|name| summary[name].as_f64());
    let rows = [("along edges", steps?), ("back to the start", restarts?), ("dead ends", ends?)];
    Some(Block::Bars(Bars {
        title: "Steps of the walks".to_owned(),
        unit: Unit::Count,
        rows: rows.map(|(name, value)| (name.to_owned(), vec![Some(value)])).into(),
        ..Bars::default()
    }))
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "none".to_owned(),
        Value::Array(items) => format!("{} items", count(items.len() as u64)),
        Value::Object(_) => value.to_string(),
        Value::Number(value) => match (value.as_u64(), value.as_f64()) {
            (Some(whole), _) => count(whole),
            (None, Some(real)) => number(real),
            (None, None) => value.to_string(),
        },
    }
}

/// A list of the summary as a table, if its items have names; ids stay as they are.
fn list(name: &str, rows: &[Value]) -> Option<Table> {
    let mut header: Vec<String> = rows.first()?.as_object()?.keys().cloned().collect();
    // Vertices before their values.
    header.sort_by_key(|name| !matches!(name.as_str(), "vertex" | "id" | "target"));
    let cell = |row: &Value, key: &String| match (&row[key], key.as_str()) {
        (id, "vertex" | "id" | "target") => id.as_str().map_or(id.to_string(), str::to_owned),
        (value, _) => text(value),
    };
    let shown = rows.iter().take(LIST_MAX);
    let (first, rest) = name.split_at(name.len().min(1));
    let first = first.to_uppercase();
    let title = match rows.len() {
        all if all > LIST_MAX => {
            format!("{first}{rest}: the first {LIST_MAX} of {}", count(all as u64))
        }
        _ => format!("{first}{rest}"),
    };
    Some(Table {
        title,
        words: 1,
        rows: shown.map(|row| header.iter().map(|key| cell(row, key)).collect()).collect(),
        header: header.iter().map(|key| words(key)).collect(),
    })
}

fn estimated(stats: &Stats, recording: &Recording) -> Section {
    let estimate = &recording.estimate;
    let plan = &estimate.plan;
    let row = |name: &str, estimated: String, range: String, actual: String, ratio: f64| {
        let ratio = if ratio.is_finite() { number(ratio) } else { "-".to_owned() };
        vec![name.to_owned(), estimated, range, actual, ratio]
    };
    let ratio = |actual: u64, estimated: u64| actual as f64 / estimated as f64;
    let range = |low: u64, high: u64| format!("{} to {}", size(low), size(high));
    let rows = vec![
        row(
            "bytes read",
            size(plan.bytes_read),
            range(plan.bytes_read_at_least, plan.bytes_read_at_most),
            size(stats.bytes_read),
            ratio(stats.bytes_read, plan.bytes_read),
        ),
        row(
            "requests",
            count(plan.read_requests),
            String::new(),
            count(stats.read_requests),
            ratio(stats.read_requests, plan.read_requests),
        ),
        row(
            "peak memory",
            size(estimate.memory_bytes),
            range(estimate.memory_bytes_at_least, estimate.memory_bytes_at_most),
            size(stats.peak_rss_bytes),
            ratio(stats.peak_rss_bytes, estimate.memory_bytes),
        ),
        row(
            "time of the drive, time of the run",
            seconds(plan.device_seconds),
            String::new(),
            seconds(stats.seconds),
            stats.seconds / plan.device_seconds,
        ),
    ];
    let header = ["", "estimated", "range", "actual", "actual / estimated"].map(str::to_owned);
    let table = Table { title: String::new(), header: header.into(), words: 1, rows };
    let mut intro = format!("Estimated reads: {}.", plan.because);
    if recording.larger_budgets.is_empty() {
        intro.push_str(" A larger budget would not read less.");
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(budgets(recording));
    Section { title: "Estimate against actual".to_owned(), intro, blocks }
}

/// The estimated reads by budget.
fn budgets(recording: &Recording) -> Option<Block> {
    if recording.larger_budgets.is_empty() {
        return None;
    }
    let estimate = &recording.estimate;
    let larger = recording.larger_budgets.iter();
    let own = (estimate.memory_budget_bytes as f64, estimate.plan.bytes_read as f64);
    let points = larger.map(|larger| (larger.memory_bytes as f64, larger.bytes_read as f64));
    Some(Block::Chart(Chart {
        title: "Estimated reads by budget".to_owned(),
        x: Axis::log("memory budget", Unit::Bytes),
        y: Axis::linear("bytes read", Unit::Bytes),
        series: vec![Series::new(
            "bytes read",
            Shape::DottedLine,
            std::iter::once(own).chain(points).collect(),
        )],
        marks: vec![Mark::new("this run", own.0)],
        ..Chart::default()
    }))
}

fn steps(stats: &Stats, recording: &Recording) -> Option<Section> {
    let records = recording.steps.iter().map(|step| step.step.clone()).collect();
    let records = StepRecord::merge_to(records, ROWS_MAX);
    let shown = records.len() as u64;
    if shown == 0 {
        return None;
    }
    let rows = records.iter().map(|step| {
        vec![
            span(step, step),
            step.frontier.map_or("-".to_owned(), count),
            count(step.pages_cached),
            count(step.pages_read),
            count(step.pages_gap),
            count(step.requests),
            size(step.bytes),
            rate(step.bytes as f64 / step.seconds.max(1e-9)),
            seconds(step.seconds_predicted),
            seconds(step.seconds),
        ]
    });
    let header = [
        "step",
        "frontier",
        "pages cached",
        "read",
        "gap",
        "requests",
        "bytes",
        "rate",
        "predicted",
        "time",
    ];
    let table = Table {
        title: String::new(),
        header: header.map(str::to_owned).into(),
        words: 1,
        rows: rows.collect(),
    };
    let mut intro =
        "A step visits a set of active lists. Gap pages lie between active ones, where \
                     reading them costs less than another request, or are read ahead of steps \
                     that follow the file; predicted is the time of the requests by the profile, \
                     without computation."
            .to_owned();
    if shown < stats.engine_steps {
        intro.push_str(&format!(
            " {} steps are merged into {} rows.",
            count(stats.engine_steps),
            count(shown)
        ));
    }
    Some(Section { title: "Steps".to_owned(), intro, blocks: vec![Block::Table(table)] })
}

fn latencies(recording: &Recording) -> Option<Section> {
    let all: u64 = recording.latencies.iter().map(|count| count.reads).sum();
    let first = recording.latencies.first()?.seconds;
    let mut seen = 0;
    let points = recording.latencies.iter().map(|count| {
        seen += count.reads;
        (count.seconds, seen as f64 / all as f64)
    });
    let points = std::iter::once((first * 0.875, 0.0)).chain(points).collect();
    let drive = &recording.drive;
    let source = if drive.assumed { "assumed" } else { "profile's" };
    let marks = [(drive.seconds_p50, "median"), (drive.seconds_p99, "99th percentile")];
    let marks = marks.into_iter().filter_map(|(seconds, name)| {
        seconds.filter(|s| *s > 0.0).map(|at| Mark::new(format!("{source} {name}"), at))
    });
    let chart = Chart {
        title: "Reads by time".to_owned(),
        x: Axis::log("time of a read", Unit::Seconds),
        y: Axis::linear("share of the reads, at most", Unit::Share).with(1.0),
        series: vec![Series::new("reads", Shape::Area, points)],
        marks: marks.collect(),
        ..Chart::default()
    };
    let profiled = |value: Option<f64>| value.map_or("-".to_owned(), seconds);
    let rows = [
        ("median", 0.5, profiled(drive.seconds_p50)),
        ("90%", 0.9, "-".to_owned()),
        ("99%", 0.99, profiled(drive.seconds_p99)),
        ("99.9%", 0.999, "-".to_owned()),
        ("all", 1.0, "-".to_owned()),
    ];
    let rows = rows.into_iter().map(|(name, share, profiled)| {
        let own = recording.latency(share).map_or("-".to_owned(), seconds);
        vec![name.to_owned(), own, profiled]
    });
    let header = ["share of the reads", "this run, at most", "profile"].map(str::to_owned);
    let table =
        Table { title: String::new(), header: header.into(), words: 1, rows: rows.collect() };
    let intro = format!(
        "{} reads of {} on average, from submission to completion by the drive.",
        count(all),
        size(drive.request_bytes)
    );
    let blocks = vec![Block::Chart(chart), Block::Table(table)];
    Some(Section { title: "Time of reads".to_owned(), intro, blocks })
}

/// How it was run, and on what.
fn conditions(stats: &Stats, recording: Option<&Recording>, facts: &[(String, String)]) -> Section {
    let plan = &stats.memory_plan;
    let mut run = facts.to_vec();
    run.extend([
        fact("strategy", stats.strategy.clone()),
        fact("threads", count(stats.threads as u64)),
        fact(
            "requests",
            format!(
                "of {} at most, {} in flight, {}",
                size(stats.request_bytes as u64),
                stats.depth,
                stats.backend
            ),
        ),
        fact(
            "memory plan",
            format!(
                "vertex state {}, index {}, buffers {}, optional {}, delta runs {}, cached pages \
                 {} ({} of all), unpacked {}",
                size(plan.state_bytes),
                size(plan.index_bytes),
                size(plan.buffer_bytes),
                size(plan.scratch_bytes),
                size(plan.run_bytes),
                size(plan.cache_bytes),
                percent(stats.cached_fraction),
                size(plan.unpacked_bytes)
            ),
        ),
    ]);
    run.extend(stats.bands.as_ref().map(|bands| {
        let (count, bytes) = (bands.count, size(bands.band_bytes));
        fact("bands", format!("{count} of {bytes}: {}", bands.because))
    }));
    run.extend(stats.drive_correction.map(|drive| fact("drive", drive.to_string())));
    if stats.verified {
        run.push(fact("verified", "by the serial verifier"));
    }
    if let Some(recording) = recording {
        let drive = &recording.drive;
        let model = drive.model.as_ref().map_or(String::new(), |model| format!(", {model}"));
        let source = if drive.assumed { "no profile: assumed" } else { "profiled" };
        run.push(fact("drive", format!("{}{model}, {source}", drive.name)));
        run.extend(recording.machine.facts().into_iter().map(|(name, value)| {
            (if name == "memory" { "machine memory".to_owned() } else { name }, value)
        }));
    }
    let title = "Command, graph and machine".to_owned();
    Section { title, intro: String::new(), blocks: vec![Block::Facts(run)] }
}

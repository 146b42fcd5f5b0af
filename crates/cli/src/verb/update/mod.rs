//! `cenote update`: adds and deletes edges and vertices of a stored graph and sets weights.
//!
//! - `lines`: the lines of standard input

mod lines;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use cenote::import::{ImportError, Input, Phase};
use cenote::memory::{self, MemorySize};
use cenote::update::UpdateReport;
use cenote::{Error, IdRef, Op, Update, ValueType, Weight};
use cenote_import::{Progress as ImportProgress, for_each_edge};
use cenote_store::superblock::IdKind;
use serde::Serialize;

use self::lines::Lines;
use super::import::{FileArgs, named, with_flags};
use crate::args::Report;
use crate::cancel::{Cancelled, cancelled};
use crate::graph_file::GraphArg;
use crate::output::{self, count, size};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;

/// Of the memory, reading takes at most `1 / READ_SHARE`, and no more than `READ_BYTES_MAX`.
const READ_SHARE: u64 = 4;
const READ_BYTES_MAX: u64 = 256 << 20;

/// A commit of more changes shows its progress.
const LARGE_COMMIT: usize = 1 << 14;

/// Add and delete edges and vertices of a graph
///
/// First the edges of --add files are added, then those of --delete files deleted, then the lines
/// of --stdin followed: `+ u v` adds an edge, `- u v` deletes one, `+ u` adds a vertex, `- u`
/// deletes one with all its edges, `= u 7` sets the value of a vertex and `= u` removes it, `#`
/// begins a comment. In a graph with weights `+ u v w` adds an edge, `= u v w` sets the weight of
/// one and `- u v w` deletes one if it has this weight. A graph that keeps repeated edges gets one
/// more with each `+ u v`; `- u v` deletes one of them, with the smallest weight, and `= u v w`
/// sets the weight of all. Ids are those of your edges; new ones become vertices. Files have the
/// formats of `cenote import`.
///
/// Lines are committed as they come: what came within 100 ms, or during the commit before. The
/// changes of files, and with --durability sync those of all lines, are one commit if they fit the
/// memory, else as few as possible. Each commit is made as a whole or not at all, and is durable
/// when the next one begins; after an error or a power cut the graph has the commits before it.
/// Readers of the graph keep the state that they opened.
///
/// A small commit goes to the log of the graph. A log that is full, or a large commit, becomes a
/// sorted run of changes in the file; lists are read with the runs and the log. When the runs are
/// 4% of the lists, a thread merges them into the lists while small commits go on. In a series of
/// large commits they may be 50%; the commit that would make them larger merges them. At the end
/// of the command what is more than 4% is merged, as by `cenote merge`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote update kron.cenote --add new.txt
  cenote update kron.cenote --add new.csv.gz --delete old.parquet --memory 4GiB
  cenote update kron.cenote --delete - --format u32 --json
  printf '+ 17 4\\n- 3 9\\n' | cenote update kron.cenote --stdin")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// File of edges to add; - is standard input
    #[arg(long, value_name = "FILE")]
    add: Vec<PathBuf>,
    /// File of edges to delete; - is standard input
    #[arg(long, value_name = "FILE")]
    delete: Vec<PathBuf>,
    /// Read changes from standard input, one a line: `+ u v [w]`, `- u v [w]`, `= u v w`, `+ u`,
    /// `- u` or `= u [value]`
    #[arg(long)]
    stdin: bool,
    #[command(flatten)]
    files: FileArgs,
    /// Column of the weights of files with edges to add: its number from 1, or its name in CSV, TSV
    /// and Parquet
    #[arg(long, value_name = "COLUMN")]
    weight_column: Option<String>,
    /// When lines of --stdin are on stable storage: `group` as they come, those of 100 ms in one
    /// commit; `sync` at the end, all in one commit if they fit the memory; `none` as group, but
    /// the system may write the last commits of lines or files later
    #[arg(long, value_enum, default_value = "group")]
    durability: Durability,
    /// Type of the values of vertices, if none has one yet [default: of these the first that holds
    /// the first value]
    #[arg(long, value_name = "u64|i64|f64", value_parser = named(&ValueType::NAMES))]
    values: Option<ValueType>,
    /// Memory budget; a percentage is of the machine's memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: MemorySize,
    #[command(flatten)]
    report: Report,
}

/// When changes are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Durability {
    Group,
    Sync,
    None,
}

/// The report.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    graph: &'a Path,
    /// Commits made.
    commits: u64,
    #[serde(flatten)]
    report: &'a UpdateReport,
    seconds: f64,
    peak_rss_bytes: u64,
    memory_budget_bytes: u64,
}

/// Changes the graph and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    args.check()?;
    let start = Instant::now();
    let memory_bytes = memory_bytes(args.memory)?;
    let read_bytes = (memory_bytes / READ_SHARE).min(READ_BYTES_MAX);
    let path = &args.graph.graph;
    let is_synced = args.durability != Durability::None;
    let options = Update::options().memory(memory_bytes - read_bytes).synced(is_synced);
    let options = match args.values {
        Some(kind) => options.values(kind),
        None => options,
    };
    let update = options.open(path).map_err(|error| of_whole(error, memory_bytes))?;
    update.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    let mut commits = Commits::new(update);
    let made =
        args.make(&mut commits, read_bytes).map_err(|error| match error.downcast_ref::<Error>() {
            Some(Error::MemoryBudget { .. }) => error
                .downcast()
                .map_or_else(|other| other, |error| of_whole(error, memory_bytes).into()),
            _ => error,
        });
    made.map_err(|error| commits.before(error))?;
    let seconds = start.elapsed().as_secs_f64();
    let (total, count) = (&commits.total, commits.count);
    if args.report.json {
        output::json(&Summary {
            graph: path,
            commits: count,
            report: total,
            seconds,
            peak_rss_bytes: memory::peak_rss_bytes(),
            memory_budget_bytes: memory_bytes,
        })?;
    } else {
        print(path, total, count, seconds)?;
    }
    Ok(Outcome::Done)
}

/// The bytes of `--memory`.
pub(super) fn memory_bytes(size: MemorySize) -> Result<u64> {
    size.bytes_of_machine().context("--memory: the machine's memory is unknown: give bytes")
}

/// An error of a budget, of which a part is for reading.
fn of_whole(error: Error, memory_bytes: u64) -> Error {
    match error {
        Error::MemoryBudget { what, needed, breakdown, .. } => {
            let needed = needed.saturating_add(needed.div_ceil(READ_SHARE - 1));
            let suggested = needed.div_ceil(1 << 20);
            let breakdown = format!("{breakdown}, a quarter for reading");
            Error::MemoryBudget { what, given: memory_bytes, needed, suggested, breakdown }
        }
        other => other,
    }
}

/// An error of reading names the whole memory, of which reading has a part.
fn of_reading(error: ImportError) -> ImportError {
    let share = READ_SHARE as usize;
    match error {
        ImportError::Memory { input, given, needed, what } => {
            // Blocks of text grow with the memory, too.
            let needed = needed.saturating_add(needed / 16).saturating_mul(share);
            ImportError::Memory { input, given: given.saturating_mul(share), needed, what }
        }
        other => other,
    }
}

impl Args {
    fn check(&self) -> Result<()> {
        if self.add.is_empty() && self.delete.is_empty() && !self.stdin {
            bail!("nothing to change: give --add FILE, --delete FILE or --stdin");
        }
        let files = self.add.iter().chain(&self.delete);
        let dashes = files.filter(|path| path.as_os_str() == "-").count();
        if dashes + usize::from(self.stdin) > 1 {
            bail!("standard input can be read only once");
        }
        Ok(())
    }

    /// Makes all changes.
    fn make(&self, commits: &mut Commits, read_bytes: u64) -> Result<()> {
        for (op, files) in [(Op::Add, &self.add), (Op::Delete, &self.delete)] {
            let weight_column = self.weight_column.clone().filter(|_| op == Op::Add);
            let spec = |path: &PathBuf| self.files.input(path, weight_column.clone());
            let files: Vec<Input<'_>> = files.iter().map(spec).map(Input::File).collect();
            if !files.is_empty() {
                commits.follow_files(op, &files, read_bytes)?;
            }
        }
        if self.stdin {
            match self.durability {
                Durability::Sync => commits.follow_lines(io::stdin().lock())?,
                Durability::Group | Durability::None => {
                    commits.follow_groups(io::stdin(), read_bytes)?;
                }
            }
        }
        while !commits.update.is_empty() || commits.count == 0 {
            commits.commit()?;
        }
        let settled = watched(&mut commits.update, "merging", Update::settle)?;
        commits.total.merge(&settled);
        Ok(())
    }
}

/// The commits of a run.
struct Commits {
    update: Update,
    total: UpdateReport,
    count: u64,
    changes: u64,
    /// Most changes of a commit, from what fitted in the one before.
    changes_max: usize,
    lines: Lines,
}

impl Commits {
    fn new(mut update: Update) -> Self {
        update.cancel(cancelled);
        let total = UpdateReport::default();
        let (changes_max, lines) = (usize::MAX, Lines::default());
        Self { update, total, count: 0, changes: 0, changes_max, lines }
    }

    /// Adds the edges of files, or deletes them.
    fn follow_files(&mut self, op: Op, files: &[Input<'_>], read_bytes: u64) -> Result<()> {
        let directed = self.update.is_directed();
        let weights = self.update.weights().filter(|_| op != Op::Delete);
        let bar = Bar(Progress::new("read", None, Unit::Bytes));
        let has_names = self.update.id_kind() == IdKind::Strings;
        let (mut failure, mut left) = (None, 0);
        // The edges to come are counted for an error after commits, where their end is near.
        let may_count = !files.iter().any(Input::is_read_once);
        let mut visit = |pair: [IdRef<'_>; 2], weight: Option<Weight>| {
            if failure.is_some() {
                left += 1;
                return true;
            }
            failure = self.push(op, pair, weight).err();
            let counts = may_count && self.count > 0;
            failure.as_ref().is_none_or(|error| counts && is_of_memory(error))
        };
        let read_bytes = usize::try_from(read_bytes).unwrap_or(usize::MAX);
        let done = for_each_edge(files, has_names, directed, weights, read_bytes, &bar, &mut visit);
        match failure {
            Some(_) if cancelled() => Err(Cancelled.into()),
            Some(error) if is_of_memory(&error) && self.count > 0 => {
                // With the one that was refused.
                let changes = self.update.len() as u64 + left + 1;
                Err(self.update.with_growth(error.downcast::<Error>()?, changes).into())
            }
            Some(error) => Err(error),
            None => done.map_err(|error| with_flags(of_reading(error))),
        }
    }

    /// Adds a change, after a commit if the memory is full.
    fn push(&mut self, op: Op, pair: [IdRef<'_>; 2], weight: Option<Weight>) -> Result<()> {
        self.make_room(pair)?;
        Ok(self.update.push(op, pair, weight)?)
    }

    /// Commits as long as there is no room for a further change: with the indexes of new vertices
    /// there may be less than before.
    fn make_room(&mut self, pair: [IdRef<'_>; 2]) -> Result<()> {
        while !self.update.is_empty()
            && (!self.update.has_room(pair) || self.update.len() >= self.changes_max)
        {
            self.commit()?;
        }
        Ok(())
    }

    /// Commits the changes, or as many of the first ones as the memory holds.
    fn commit(&mut self) -> Result<()> {
        let changes = self.update.len();
        // A small commit goes to the log, too fast to be shown.
        let is_large = changes > LARGE_COMMIT;
        let report = match is_large {
            true => watched(&mut self.update, "committing", Update::commit_what_fits)?,
            false => self.update.commit_what_fits()?,
        };
        self.total.merge(&report);
        let (committed, left) = (changes - self.update.len(), self.update.len());
        self.changes += committed as u64;
        // The next ones have about as many new vertices: changes that do not fit with these would
        // be looked up for nothing.
        self.changes_max = if left > 0 { committed } else { self.changes_max.saturating_mul(2) };
        self.lines.commit(self.changes);
        self.count += 1;
        Ok(())
    }

    /// An error after the commits that were made.
    fn before(&self, error: anyhow::Error) -> anyhow::Error {
        if self.count == 0 {
            return if self.lines.read == 0 { error } else { error.context("after no commit") };
        }
        let (commits, changes) = (commits_of(self.count), count(self.changes));
        let lines = match self.lines.committed {
            0 => String::new(),
            lines => format!(", up to line {} of standard input", count(lines)),
        };
        error.context(format!("after {commits} with the first {changes} changes{lines}"))
    }
}

fn is_of_memory(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::MemoryBudget { .. }))
}

fn commits_of(number: u64) -> String {
    format!("{} commit{}", count(number), if number == 1 { "" } else { "s" })
}

/// The progress of reading.
struct Bar(Progress);

impl ImportProgress for Bar {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        self.0.stage(phase.name(), total, Unit::Bytes);
    }

    fn advance(&self, bytes: u64) {
        self.0.advance(bytes);
    }

    fn cancelled(&self) -> bool {
        cancelled()
    }
}

/// Does what may rewrite lists, with progress; Ctrl-C ends it and leaves the graph as before.
pub(super) fn watched<T>(
    update: &mut Update,
    label: &str,
    work: impl FnOnce(&mut Update) -> Result<T, Error>,
) -> Result<T> {
    let bar = Arc::new(Progress::new(label, None, Unit::Items));
    let shown = Arc::clone(&bar);
    update.progress(move |now| shown.set(now.pages_done, now.pages_total));
    update.cancel(cancelled);
    let done = work(update);
    update.progress(|_| {});
    bar.end();
    done.map_err(|error| match error {
        Error::Cancelled => Cancelled.into(),
        error => error.into(),
    })
}

/// What was written to the log and to the lists.
pub(super) fn written(report: &UpdateReport) -> String {
    let pages = count(report.pages_written);
    let lists = format!("{}, {pages} pages", size(report.bytes_written));
    match (report.log_bytes_written, report.pages_written) {
        (0, _) => lists,
        (log, 0) => format!("{} to the log", size(log)),
        (log, _) => format!("{lists}; {} to the log", size(log)),
    }
}

fn print(path: &Path, report: &UpdateReport, commits: u64, seconds: f64) -> Result<()> {
    let UpdateReport { added, present, deleted, absent, .. } = *report;
    let deletions = match report.unknown_vertices {
        0 => format!("{}, {} not there", count(deleted), count(absent)),
        unknown => format!(
            "{}, {} not there, {} of unknown vertices",
            count(deleted),
            count(absent),
            count(unknown)
        ),
    };
    let vertices = match (report.deleted_vertices, report.deleted_with_vertices) {
        (0, _) => count(0),
        (deleted, edges) => format!("{}, with {} edges", count(deleted), count(edges)),
    };
    let values =
        format!("{} set, {} removed", count(report.values_set), count(report.values_removed));
    output::facts(&[
        ("graph", path.display().to_string()),
        ("added", format!("{}, {} already there", count(added), count(present))),
        ("deleted", deletions),
        ("weights", format!("{} set", count(report.reweighted))),
        ("self-loops", format!("{} left out", count(report.self_loops))),
        ("new vertices", count(report.new_vertices)),
        ("deleted vertices", vertices),
        ("values", values),
        ("epoch", format!("{}, after {}", count(report.epoch), commits_of(commits))),
        ("written", written(report)),
        ("seconds", format!("{seconds:.2}")),
        ("peak memory", size(memory::peak_rss_bytes())),
    ])
}

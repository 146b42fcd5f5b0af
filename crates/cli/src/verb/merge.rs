//! `cenote merge`: merges the changes of delta runs and log into the lists.

use std::time::Instant;

use anyhow::Result;
use cenote::Update;
use cenote::memory::{self, MemorySize};
use cenote::report::merge::{Summary, page};
use cenote::report::{self, WorkRecorder};

use super::update::{memory_bytes, watched, written};
use crate::args::{Report, ReportArgs, command_line};
use crate::graph_file::GraphArg;
use crate::output::{self, count, size};
use crate::verb::Outcome;

/// Merge the changes of a graph's delta runs and log into its lists
///
/// Updates go to the log and to delta runs, and lists are read with both. Merging rewrites the
/// pages of the lists that changed, so that lists are read alone. It is one commit: after an error,
/// Ctrl-C or a power cut runs and log are as they were. Updates merge by themselves when the runs
/// are more than 4% of the lists.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote merge kron.cenote
  cenote merge kron.cenote --memory 256MiB --json
  cenote merge kron.cenote --report merge.html")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    /// Memory budget; a percentage is of the machine's memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: MemorySize,
    #[command(flatten)]
    page: ReportArgs,
    #[command(flatten)]
    report: Report,
}

/// Merges and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    let start = Instant::now();
    let memory_bytes = memory_bytes(args.memory)?;
    let path = &args.graph.graph;
    let _guard = args.page.checked(&[path])?;
    let recorder = args.page.report.as_ref().map(|_| WorkRecorder::start()).transpose()?;
    let mut update = Update::options().memory(memory_bytes).open(path)?;
    update.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    let report = watched(&mut update, "merging", Update::merge)?;
    let seconds = start.elapsed().as_secs_f64();
    let summary = Summary::new(path, &report, seconds, memory_bytes);
    if let Some((recorder, out)) = recorder.zip(args.page.report.as_ref()) {
        report::write(out, &[path], &page(recorder, &summary, Some(command_line()))?)?;
    }
    if args.report.json {
        output::json(&summary)?;
    } else {
        let of_runs = match report.merged_entries {
            0 => String::new(),
            entries => format!(", and {} entries of delta runs", count(entries)),
        };
        output::facts(&[
            ("graph", path.display().to_string()),
            ("merged", format!("{} changes{of_runs}", count(report.merged))),
            ("epoch", count(report.epoch)),
            ("written", written(&report)),
            ("seconds", format!("{seconds:.2}")),
            ("peak memory", size(memory::peak_rss_bytes())),
        ])?;
    }
    Ok(Outcome::Done)
}

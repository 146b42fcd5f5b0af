//! Prints the statistics of a run.

use anyhow::Result;
use cenote::engine::StepRecord;
use cenote::run::{Bands, Stats};
use cenote::tiers::kept::Done;

use super::Line;
use crate::output::{self, count, size};

/// Prints the result, then the statistics.
pub fn print(stats: &Stats, answer: Vec<Line>) -> Result<()> {
    let mut lines = answer;
    lines.extend(facts(stats));
    output::facts(&lines)?;
    if !stats.steps.is_empty() {
        output::line(format!("\n{}", steps_table(&stats.steps)))?;
    }
    Ok(())
}

fn facts(stats: &Stats) -> Vec<Line> {
    let rate = |bytes_per_second: f64| format!("{:.2} GB/s", bytes_per_second / 1e9);
    let mut facts = vec![
        (
            "time",
            format!(
                "{:.3} s, {:.0}% of {} cores busy",
                stats.seconds,
                100.0 * stats.cpu_seconds / (stats.seconds * stats.threads as f64).max(1e-9),
                stats.threads
            ),
        ),
        (
            "read",
            format!(
                "{} in {} requests: {:.2} x the graph's pages",
                size(stats.bytes_read),
                count(stats.read_requests),
                stats.passes
            ),
        ),
        (
            "rate",
            format!(
                "{} of {} possible ({} {})",
                rate(stats.bytes_per_second),
                rate(stats.bytes_per_second_possible),
                stats.backend,
                if stats.profile_assumed { "assumed" } else { "measured" }
            ),
        ),
        (
            "memory",
            format!(
                "{} at the peak, budget {} (graph {})",
                size(stats.peak_rss_bytes),
                size(stats.memory_budget_bytes),
                size(stats.page_bytes)
            ),
        ),
        (
            "plan",
            format!(
                "{}, requests of {} at depth {}, {:.1}% of pages cached",
                stats.strategy,
                size(stats.request_bytes as u64),
                stats.depth,
                100.0 * stats.cached_fraction
            ),
        ),
    ];
    facts.extend(of_bands(stats));
    if let Some(drive) = stats.drive_correction {
        facts.push(("drive", drive.to_string()));
    }
    if let Some(Done { accesses, moved, dropped, failed }) = stats.migration {
        let lost = match dropped + failed {
            0 => String::new(),
            lost => format!(", {} could not", count(lost)),
        };
        let moves = format!("{} blocks moved{lost}, of {} accesses", count(moved), count(accesses));
        facts.push(("tiers", moves));
    }
    if stats.verified {
        facts.push(("verified", "yes, by the serial verifier".to_owned()));
    }
    facts
}

/// What a run says of vertex state in a file.
fn of_bands(stats: &Stats) -> Vec<Line> {
    let Some(bands) = &stats.bands else { return Vec::new() };
    let (read, written) = (size(stats.state_bytes_read), size(stats.bytes_written));
    vec![("bands", bands_line(bands)), ("state file", format!("{read} read, {written} written"))]
}

/// How vertex state in a file is divided, and why.
pub fn bands_line(bands: &Bands) -> String {
    let blocks = match bands.from_blocks {
        0 => String::new(),
        _ if bands.block_bytes == 0 => String::new(),
        some => format!(", {} from {} of blocks", count(some.into()), size(bands.block_bytes)),
    };
    let (number, bytes) = (count(bands.count.into()), size(bands.band_bytes));
    format!("{number} of {bytes}{blocks}: {}", bands.because)
}

/// The steps as a table.
fn steps_table(steps: &[StepRecord]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "step",
        "frontier",
        "cached",
        "read",
        "gap",
        "requests",
        "bytes",
        "written",
        "predicted s",
        "s",
    ]);
    for step in steps {
        table.add_row([
            step.label.clone(),
            step.frontier.map_or("-".to_owned(), count),
            count(step.pages_cached),
            count(step.pages_read),
            count(step.pages_gap),
            count(step.requests),
            size(step.bytes),
            size(step.bytes_written),
            format!("{:.4}", step.seconds_predicted),
            format!("{:.4}", step.seconds),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    table.to_string()
}

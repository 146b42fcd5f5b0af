//! The report of an import.

use std::path::Path;

use cenote_import::ImportReport;
use serde::Serialize;

use super::format::{Unit, count};
use super::page::{Figure, Page};
use super::work::{self, Content, WorkRecorder};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::memory::size;
use crate::run::degrees_picture;

/// What an import did, and within which memory.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    /// The graph file.
    pub out: &'a Path,
    /// Counts and times.
    #[serde(flatten)]
    pub report: &'a ImportReport,
    /// The peak of the process's memory.
    pub peak_rss_bytes: u64,
    /// The memory budget.
    pub memory_budget_bytes: usize,
}

/// The page of an import that `recorder` recorded, with a picture of the degrees of the graph.
///
/// # Errors
/// The graph cannot be opened.
pub fn page(
    recorder: WorkRecorder,
    summary: &Summary<'_>,
    command: Option<String>,
) -> Result<Page> {
    let work = recorder.stop(summary.out)?;
    let graph = Graph::options().migration(false).open(summary.out)?;
    let json = serde_json::to_value(summary);
    let content = Content {
        title: "Import".to_owned(),
        subject: summary.out.display().to_string(),
        command,
        figures: figures(summary.report),
        threads: summary.report.threads,
        memory_bytes: summary.memory_budget_bytes as u64,
        peak_bytes: summary.peak_rss_bytes,
        pictures: degrees_picture(graph.stored())?.into_iter().collect(),
        report: json.map_err(|_| Error::input(summary.out, "its path is not UTF-8"))?,
    };
    Ok(work::page(&work, content))
}

fn figures(imported: &ImportReport) -> Vec<Figure> {
    let per_second = imported.input_edges as f64 / imported.seconds.max(1e-9);
    let vertices = format!("{} vertices", count(imported.vertices));
    let input = format!("from {} of input", size(imported.input_bytes));
    vec![
        Figure::new("Edges", count(imported.edges), vertices),
        Figure::new("Edges per second", Unit::PerSecond.text(per_second), "of the input"),
        Figure::new("Written", size(imported.output_bytes), input),
    ]
}

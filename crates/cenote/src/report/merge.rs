//! The report of a merge.

use std::path::Path;

use serde::Serialize;

use super::format::count;
use super::page::{Figure, Page};
use super::work::{self, Content, WorkRecorder};
use crate::error::{Error, Result};
use crate::memory::size;
use crate::update::UpdateReport;

/// What a merge did, and within which memory.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Summary<'a> {
    /// The graph.
    pub graph: &'a Path,
    /// The commit that made the merge.
    pub epoch: u64,
    /// Changes of the log that are in the lists now.
    pub merged: u64,
    /// Entries of delta runs that are.
    pub merged_entries: u64,
    /// Pages that were read.
    pub pages_read: u64,
    /// Pages that were written.
    pub pages_written: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// The peak of the process's memory.
    pub peak_rss_bytes: u64,
    /// The memory budget.
    pub memory_budget_bytes: u64,
}

impl<'a> Summary<'a> {
    /// The summary of a merge that took so long; the peak of memory is that up to now.
    pub fn new(
        graph: &'a Path,
        report: &UpdateReport,
        seconds: f64,
        memory_budget_bytes: u64,
    ) -> Self {
        Self {
            graph,
            epoch: report.epoch,
            merged: report.merged,
            merged_entries: report.merged_entries,
            pages_read: report.pages_read,
            pages_written: report.pages_written,
            bytes_written: report.bytes_written,
            seconds,
            peak_rss_bytes: crate::memory::peak_rss_bytes(),
            memory_budget_bytes,
        }
    }
}

/// The page of a merge that `recorder` recorded.
///
/// # Errors
/// The graph is no longer there.
pub fn page(
    recorder: WorkRecorder,
    summary: &Summary<'_>,
    command: Option<String>,
) -> Result<Page> {
    let work = recorder.stop(summary.graph)?;
    let pages = format!("{} pages read", count(summary.pages_read));
    let json = serde_json::to_value(summary);
    let content = Content {
        title: "Merge".to_owned(),
        subject: summary.graph.display().to_string(),
        command,
        figures: vec![
            Figure::new("Merged", count(summary.merged), "changes"),
            Figure::new("Written", size(summary.bytes_written), pages),
        ],
        threads: 1,
        memory_bytes: summary.memory_budget_bytes,
        peak_bytes: summary.peak_rss_bytes,
        pictures: Vec::new(),
        report: json.map_err(|_| Error::input(summary.graph, "its path is not UTF-8"))?,
    };
    Ok(work::page(&work, content))
}

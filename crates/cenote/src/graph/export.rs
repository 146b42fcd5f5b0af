//! Export of a graph's edges.

use std::io::{self, Write};
use std::path::Path;

use super::Graph;
use cenote_store::diff::{DiffReport, for_each_change};
use cenote_store::for_each_changed_value;

use crate::error::{Error, Result};
use crate::export::{
    ExportReport, export_changes, export_parquet, export_text, export_vertices,
    export_vertices_parquet,
};
use crate::output::OutputFile;
use crate::watch::Watch;

/// An export of a graph's edges: each is written once, with the user's ids, and with its weight if
/// it has one.
#[derive(Debug)]
pub struct Export<'g> {
    graph: &'g Graph,
    watch: Watch,
}

/// The result of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Edges.
    pub edges: u64,
    /// Vertices without an edge, which an edge list cannot represent.
    pub isolated: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

impl<'g> Export<'g> {
    pub(super) fn new(graph: &'g Graph) -> Self {
        Self { graph, watch: Watch::default() }
    }

    /// Ends the export with [`Error::Cancelled`] when `cancel` returns true.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// Writes a file, `.txt`, `.el` or `.tsv` text or `.parquet`; it appears under its name when it
    /// is complete. `progress` is called with the pages done and the total pages.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for another ending, or a path that must not be replaced.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Exported> {
        let path = path.as_ref();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_parquet = match ending.to_ascii_lowercase().as_str() {
            "parquet" => true,
            "txt" | "el" | "tsv" => false,
            _ => {
                return Err(Error::input(
                    path,
                    "cannot export to this ending: use .txt, .el, .tsv or .parquet",
                ));
            }
        };
        let mut sink = self.cancellable(OutputFile::create(path, &[&self.graph.path])?);
        let report = match is_parquet {
            true => export_parquet(self.graph.stored(), &mut sink, progress),
            false => export_text(self.graph.stored(), &mut sink, progress),
        };
        let ExportReport { edges, isolated } = report?;
        Ok(Exported { edges, isolated, file_bytes: sink.to.finish()? })
    }

    /// Writes text: an edge a line, source, target and weight separated by tabs.
    ///
    /// # Errors
    /// `out` or the graph's file fails.
    pub fn write_text(
        &self,
        out: impl Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ExportReport> {
        Ok(export_text(self.graph.stored(), &mut self.cancellable(out), progress)?)
    }

    /// Writes the vertices by ascending id to a file, which appears under its name when it is
    /// complete: `.txt` or `.tsv` text with one a line, the id and, if it has one, its value behind
    /// a tab, or `.parquet` with columns `vertex` and `value`. Returns how many there are, and how
    /// many have a value, which are in memory.
    ///
    /// # Errors
    /// As [`Export::write`].
    pub fn write_vertices(&self, path: impl AsRef<Path>) -> Result<(u64, u64)> {
        let path = path.as_ref();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_parquet = match ending.to_ascii_lowercase().as_str() {
            "parquet" => true,
            "txt" | "tsv" => false,
            _ => {
                let reason = "cannot export vertices to this ending: use .txt, .tsv or .parquet";
                return Err(Error::input(path, reason));
            }
        };
        let mut sink = self.cancellable(OutputFile::create(path, &[&self.graph.path])?);
        let counts = match is_parquet {
            true => export_vertices_parquet(self.graph.stored(), &mut sink)?,
            false => export_vertices(self.graph.stored(), &mut sink)?,
        };
        sink.to.finish()?;
        Ok(counts)
    }

    fn cancellable<W>(&self, to: W) -> Cancellable<'_, W> {
        Cancellable { to, watch: &self.watch }
    }
}

/// What changed between two states of a graph.
#[derive(Debug)]
pub struct Diff<'g> {
    before: &'g Graph,
    after: &'g Graph,
    watch: Watch,
}

impl<'g> Diff<'g> {
    pub(super) fn new(before: &'g Graph, after: &'g Graph) -> Self {
        Self { before, after, watch: Watch::default() }
    }

    /// Ends the comparison with [`Error::Cancelled`] when `cancel` returns true.
    pub fn cancel(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.watch.set_cancel(cancel);
        self
    }

    /// Writes the changes that make the earlier state the later one, a line each as `cenote update
    /// --stdin` reads them: `+ u v` for an added edge, `- u v` for a deleted one; in a graph with
    /// weights `+ u v w`, and `= u v w` where the weight changed; then `+ u` for a new vertex
    /// without an edge, and `- u` for a deleted one; then `= u` for a vertex that has no value any
    /// more, and `= u value` for one that has another. `progress` is called with the pages that
    /// were compared, and all of them. The ids of all vertices are in memory.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the two are not states of one graph; an id that cannot be read
    /// again from a line; `out` or the graph's file fails.
    pub fn write_text(
        &self,
        out: impl Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<DiffReport> {
        let mut out = Cancellable { to: out, watch: &self.watch };
        let (before, after) = (self.before.stored(), self.after.stored());
        Ok(export_changes(before, after, &mut out, progress)?)
    }

    /// [`Diff::write_text`] to a file, which appears under its name when it is complete.
    ///
    /// # Errors
    /// As [`Diff::write_text`], and [`Error::InvalidInput`] for a path that must not be replaced.
    pub fn write(
        &self,
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<DiffReport> {
        let mut file = OutputFile::create(path.as_ref(), &[&self.after.path])?;
        let report = self.write_text(&mut file, progress)?;
        file.finish()?;
        Ok(report)
    }

    /// Counts the changes.
    ///
    /// # Errors
    /// As [`Diff::write_text`].
    pub fn count(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<DiffReport> {
        let (before, after) = (self.before.stored(), self.after.stored());
        let mut report = for_each_change(before, after, progress, &mut |_, _| self.watch.check())?;
        let counts = for_each_changed_value(before, after, &mut |_, _| self.watch.check())?;
        (report.values_set, report.values_removed) = counts;
        Ok(report)
    }
}

/// A writer that fails once the export was cancelled.
struct Cancellable<'w, W> {
    to: W,
    watch: &'w Watch,
}

impl<W: Write> Write for Cancellable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.watch.check()?;
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

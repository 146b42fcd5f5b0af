//! Export of a graph's edges.

use std::io::{self, Write};
use std::path::Path;

use super::Graph;
use crate::error::{Error, Result};
use crate::export::{ExportReport, export_parquet, export_text};
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
                    "cannot export to this ending: use .txt, .tsv or .parquet",
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

    fn cancellable<W>(&self, to: W) -> Cancellable<'_, W> {
        Cancellable { to, watch: &self.watch }
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

//! The answer of a run.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_device::model::DeviceModel;
use cenote_store::{Id, Ids, VertexId};

use super::bound::Bounds;
use super::page::Content;
use super::recording::Recording;
use super::{Algorithm, Report, Stats, no_values, picture};
use crate::error::Result;
use crate::graph::StoredGraph;
use crate::output::table;
use crate::watch::Watch;

/// The answer of a run. Dereferences to the algorithm's result, whose slices have one item per
/// vertex, and one without meaning for each deleted vertex, until the graph is compacted;
/// [`ids`](Self::ids) maps vertices to the user's ids.
#[derive(Debug)]
pub struct Answer<A: Algorithm> {
    pub(super) graph: Arc<StoredGraph>,
    pub(super) config: A::Config,
    pub(super) output: A::Output,
    pub(super) stats: Stats,
    pub(super) watch: Watch,
    pub(super) inputs: Vec<PathBuf>,
    /// Distinguishes the file of the graph from all others, where that is possible.
    pub(super) file: Option<String>,
    /// The path of the graph.
    pub(super) path: PathBuf,
    /// The command or call of the run.
    pub(super) command: Option<String>,
    pub(super) recording: Option<Recording>,
    /// The model of the drive, of a run that was recorded.
    pub(super) model: Option<DeviceModel>,
}

impl<A: Algorithm> Deref for Answer<A> {
    type Target = A::Output;

    fn deref(&self) -> &A::Output {
        &self.output
    }
}

impl<A: Algorithm> Answer<A> {
    /// The state of the graph that it is the answer for.
    pub fn graph(&self) -> &Arc<StoredGraph> {
        &self.graph
    }

    /// Statistics of the run.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// A summary of the answer.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn summary(&self) -> Result<A::Summary> {
        A::summary(&self.config, &self.ids()?, &self.output)
    }

    /// Statistics and summary, as `cenote run --json` prints them.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn report(&self) -> Result<Report<'_, A::Summary>> {
        Ok(Report { stats: &self.stats, result: self.summary()? })
    }

    /// What the run recorded, if it was asked to.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// What bounded the run, if it was recorded.
    pub fn bounds(&self) -> Option<Bounds> {
        let (recording, model) = self.recording.as_ref().zip(self.model.as_ref())?;
        Some(Bounds::of(&self.stats, recording, model))
    }

    /// Writes a report to look at: one HTML file, without references to anything outside of it,
    /// with a picture of the answer and all figures of the run. The timeline, steps, estimates and
    /// times of reads are those that the run [recorded](super::Run::record); without them the
    /// report says so. Its pictures take one pass over the values of all vertices, or several where
    /// the sizes of groups are counted, and 1/8 of the budget at most. The file appears under its
    /// name when it is complete. Returns the bytes written.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) if the path does not end in `.html` or
    /// must not be replaced; the graph's degrees or ids cannot be read; the caller cancels.
    pub fn write_report(&self, path: impl AsRef<Path>) -> Result<u64> {
        let path = path.as_ref();
        crate::report::check(path, &self.inputs)?;
        crate::report::write(path, &self.inputs, &self.page()?)
    }

    /// The report of [`write_report`](Self::write_report) as data.
    ///
    /// # Errors
    /// As there, apart from those of the path.
    pub fn page(&self) -> Result<crate::report::Page> {
        let columns = A::columns(&self.output);
        let graph = &*self.graph;
        let check = || self.between_batches();
        let rows = A::rows(&self.output).map(|rows| rows.count);
        let values = picture::Values { graph, rows, check: &check };
        let pictures = picture::pictures(&columns, &values, self.stats.memory_budget_bytes)?;
        let fingerprint = picture::fingerprint(&columns, &values)?;
        let superblock = graph.superblock();
        let mut facts: Vec<(String, String)> = Vec::new();
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        if let Some(command) = &self.command {
            fact("command", command.clone());
        }
        fact("graph", self.path.display().to_string());
        fact("graph's hash", format!("{:016x}, epoch {}", superblock.salt, superblock.epoch));
        if let Some(fingerprint) = fingerprint {
            fact("answer's hash", fingerprint);
        }
        let summary = serde_json::to_value(self.summary()?);
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        let content = Content {
            stats: &self.stats,
            summary: summary.expect("counts, numbers and ids are JSON"),
            recording: self.recording.as_ref(),
            bounds: self.bounds(),
            pictures,
            facts,
            graph: name.to_string_lossy().into_owned(),
            packed: superblock.codec() == cenote_store::Codec::Packed,
        };
        Ok(content.page())
    }

    /// The user's ids.
    ///
    /// # Errors
    /// Their pages cannot be read.
    pub fn ids(&self) -> Result<Ids> {
        Ok(self.graph.ids()?)
    }

    /// The user's id of a vertex.
    ///
    /// # Errors
    /// There is no such vertex, or its id cannot be read.
    pub fn id_of(&self, vertex: VertexId) -> Result<Id> {
        Ok(self.ids()?.id_of(vertex)?)
    }

    /// The vertex that the user calls `id`.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`](crate::Error::UnknownVertex) if there is none.
    pub fn vertex_of(&self, id: impl ToString) -> Result<VertexId> {
        crate::keys::vertex_of(&self.graph, &self.ids()?, &id.to_string(), "")
    }

    /// Writes the values of all vertices, keyed by the user's ids, as `.parquet`, `.csv` or `.npy`.
    /// The file appears under its name when it is complete. Returns the bytes written.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) if the extension is not a format, the
    /// path must not be replaced, or the algorithm has no values per vertex.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<u64> {
        let path = path.as_ref();
        table::check(path, &self.graph)?;
        let columns = A::columns(&self.output);
        if columns.is_empty() {
            return Err(crate::Error::input(path, no_values::<A>()));
        }
        let metadata = A::metadata(&self.output, &self.graph, self.file.as_deref());
        table::write(
            path,
            &self.inputs,
            &self.graph,
            (A::rows(&self.output), &columns, metadata),
            &|| self.between_batches(),
        )
    }

    /// Called between batches of values: an answer in a file keeps little of it in memory.
    fn between_batches(&self) -> Result<()> {
        A::release(&self.output);
        self.watch.check()
    }

    /// As [`write`](Self::write), unless the algorithm itself has written its output.
    pub(super) fn write_prepared(&self, path: &Path) -> Result<()> {
        if !A::columns(&self.output).is_empty() {
            self.write(path)?;
        }
        Ok(())
    }
}

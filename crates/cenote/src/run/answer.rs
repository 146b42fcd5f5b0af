//! The answer of a run.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_store::{Id, Ids, VertexId};

use super::{Algorithm, Report, Stats};
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
            let reason = format!("{} has no answer of every vertex to write", A::NAME);
            return Err(crate::Error::input(path, reason));
        }
        let metadata = A::metadata(&self.output, &self.graph, self.file.as_deref());
        table::write(path, &self.inputs, &self.graph, (&columns, metadata), &self.watch)
    }

    /// As [`write`](Self::write), unless the algorithm itself has written its output.
    pub(super) fn write_prepared(&self, path: &Path) -> Result<()> {
        if !A::columns(&self.output).is_empty() {
            self.write(path)?;
        }
        Ok(())
    }
}

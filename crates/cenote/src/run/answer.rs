//! What a run found.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_store::{Id, Ids, VertexId};

use super::{Algorithm, Report, Stats};
use crate::error::Result;
use crate::graph::StoredGraph;
use crate::output::table;
use crate::watch::Watch;

/// The answer of a run. Dereferences to the algorithm's own result, whose slices have one item per
/// vertex; [`ids`](Self::ids) maps vertices to the user's ids.
#[derive(Debug)]
pub struct Answer<A: Algorithm> {
    pub(super) graph: Arc<StoredGraph>,
    pub(super) config: A::Config,
    pub(super) output: A::Output,
    pub(super) stats: Stats,
    pub(super) watch: Watch,
    pub(super) inputs: Vec<PathBuf>,
}

impl<A: Algorithm> Deref for Answer<A> {
    type Target = A::Output;

    fn deref(&self) -> &A::Output {
        &self.output
    }
}

impl<A: Algorithm> Answer<A> {
    /// What the run did.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The answer in a few numbers and ids.
    ///
    /// # Errors
    /// Ids cannot be read.
    pub fn summary(&self) -> Result<A::Summary> {
        A::summary(&self.config, &self.ids()?, &self.output)
    }

    /// What the run did and found, as `cenote run --json` prints it.
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

    /// What the user calls a vertex.
    ///
    /// # Errors
    /// There is no such vertex, or its id cannot be read.
    pub fn id_of(&self, vertex: VertexId) -> Result<Id> {
        Ok(self.ids()?.id_of(vertex)?)
    }

    /// The vertex that the user calls `id`.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`](crate::Error::UnknownVertex) where there is none.
    pub fn vertex_of(&self, id: impl ToString) -> Result<VertexId> {
        crate::keys::vertex_of(&self.graph, &self.ids()?, &id.to_string(), "")
    }

    /// Writes the answer of every vertex, keyed by the user's ids, as `.parquet`, `.csv` or `.npy`.
    /// The file appears under its name when it is whole. Returns the bytes written.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) where the ending names no format, the
    /// path may not be replaced, or the answer has nothing for every vertex.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<u64> {
        let path = path.as_ref();
        table::check(path, &self.graph)?;
        let columns = A::columns(&self.output);
        if columns.is_empty() {
            let reason = format!("{} has no answer of every vertex to write", A::NAME);
            return Err(crate::Error::input(path, reason));
        }
        table::write(path, &self.inputs, &self.graph, &columns, &self.watch)
    }

    /// As [`write`](Self::write), where the algorithm did not write the answer itself.
    pub(super) fn write_prepared(&self, path: &Path) -> Result<()> {
        if !A::columns(&self.output).is_empty() {
            self.write(path)?;
        }
        Ok(())
    }
}

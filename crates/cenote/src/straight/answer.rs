//! The answer of a run over edges.

use std::fmt;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use cenote_import::VertexIds;
use cenote_store::superblock::IdKind as StoredKind;
use cenote_store::{Id, IdRef, VertexId};
use serde::Serialize;

use super::Finding;
use crate::error::{Error, Result};
use crate::memory::peak_rss_bytes;
use crate::output::arrow::{IdBuilder, array_of, fields_of};
use crate::output::table::{self, BATCH, Rows, Table, Written};

/// Statistics of a run over edges.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EdgeStats {
    /// The algorithm.
    pub algorithm: &'static str,
    /// Vertices met.
    pub vertices: u64,
    /// Edges of the inputs, with repeated ones and self-loops.
    pub input_edges: u64,
    /// Seconds of the run.
    pub seconds: f64,
    /// Bytes read, before decompression.
    pub bytes_read: u64,
    /// Bytes read per second.
    pub bytes_per_second: f64,
    /// Peak resident memory of the process.
    pub peak_rss_bytes: u64,
    /// Memory budget of the run.
    pub memory_budget_bytes: usize,
    /// The most of it that was held.
    pub memory_used_bytes: u64,
    /// Processor time of the whole process while it ran, all threads.
    pub cpu_seconds: f64,
    /// Seconds until all edges were read and passed on.
    pub seconds_read: f64,
    /// Worker threads.
    pub threads: usize,
}

/// Statistics and summary.
#[derive(Debug, Serialize)]
pub struct EdgeReport<'a, S> {
    /// The statistics.
    #[serde(flatten)]
    pub stats: &'a EdgeStats,
    /// The summary of the answer.
    pub result: S,
}

/// The answer of a run over edges. Dereferences to ids in ascending order and their values.
pub struct EdgeAnswer<F: Finding> {
    output: F::Output,
    stats: EdgeStats,
    inputs: Vec<PathBuf>,
}

impl<F: Finding> fmt::Debug for EdgeAnswer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeAnswer").field("stats", &self.stats).finish_non_exhaustive()
    }
}

impl<F: Finding> Deref for EdgeAnswer<F> {
    type Target = F::Output;

    fn deref(&self) -> &F::Output {
        &self.output
    }
}

impl<F: Finding> EdgeAnswer<F> {
    pub(super) fn new(
        output: F::Output,
        (memory_budget_bytes, cpu_seconds): (usize, f64),
        inputs: Vec<PathBuf>,
    ) -> Self {
        let pass = F::stats(&output);
        let stats = EdgeStats {
            algorithm: F::NAME,
            vertices: F::ids(&output).len() as u64,
            input_edges: pass.input_edges,
            seconds: pass.seconds,
            bytes_read: pass.input_bytes,
            bytes_per_second: pass.input_bytes as f64 / pass.seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            memory_budget_bytes,
            memory_used_bytes: pass.peak_memory_bytes,
            cpu_seconds,
            seconds_read: pass.seconds_read,
            threads: pass.threads,
        };
        Self { output, stats, inputs }
    }

    /// Statistics of the run.
    pub fn stats(&self) -> &EdgeStats {
        &self.stats
    }

    /// The ids of the vertices, in ascending order.
    pub fn ids(&self) -> &VertexIds {
        F::ids(&self.output)
    }

    /// A summary, as that of the algorithm of graphs.
    pub fn summary(&self) -> F::Summary {
        F::summary(&self.output)
    }

    /// Statistics and summary, as `cenote run --json` prints them.
    pub fn report(&self) -> EdgeReport<'_, F::Summary> {
        EdgeReport { stats: &self.stats, result: self.summary() }
    }

    /// Writes the values of each vertex, by ascending id, as `.parquet`, `.csv` or `.npy`. The file
    /// appears under its name when it is complete. Returns the bytes written.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the extension is not a format or the path must not be replaced.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<u64> {
        self.write_unless(path.as_ref(), &|| false)
    }

    pub(super) fn write_unless(&self, path: &Path, is_cancelled: &dyn Fn() -> bool) -> Result<u64> {
        table::check_kind(path, self.ids().kind())?;
        let check = || if is_cancelled() { Err(Error::Cancelled) } else { Ok(()) };
        let (rows, columns) = (self.ids(), F::columns(&self.output));
        let table = Table { rows, columns: &columns, metadata: Vec::new(), check: &check };
        table::write_rows(path, &self.inputs, &table)
    }
}

impl Rows for VertexIds {
    fn kind(&self) -> StoredKind {
        match self.integers() {
            Some(_) => StoredKind::Integers,
            None => StoredKind::Strings,
        }
    }

    fn end(&self) -> VertexId {
        self.len() as VertexId
    }

    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn for_each(
        &self,
        ranks: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Written,
    ) -> Written {
        ranks.into_iter().try_for_each(|rank| visit(rank, self.get(rank)))
    }

    fn name_of(&self, v: VertexId) -> IdRef<'_> {
        self.get(v)
    }
}

/// The id at a place in ascending order.
pub(crate) fn id_at(ids: &VertexIds, rank: VertexId) -> Id {
    ids.get(rank).to_id()
}

/// The values of each vertex in batches of 65,536 rows, by ascending id, of the same columns as
/// those of [`Batches`](crate::output::Batches).
pub struct EdgeBatches<F: Finding> {
    answer: Arc<EdgeAnswer<F>>,
    schema: SchemaRef,
    next: VertexId,
}

impl<F: Finding> fmt::Debug for EdgeBatches<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeBatches").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl<F: Finding> EdgeBatches<F> {
    /// The batches of an answer.
    pub fn new(answer: Arc<EdgeAnswer<F>>) -> Self {
        let fields = fields_of(answer.ids().key(), answer.ids().kind(), &F::columns(&answer));
        Self { answer, schema: Arc::new(Schema::new(fields)), next: 0 }
    }
}

impl<F: Finding> Iterator for EdgeBatches<F> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let ids = self.answer.ids();
        let ranks: Range<VertexId> = self.next..self.next.saturating_add(BATCH).min(ids.end());
        if ranks.is_empty() {
            return None;
        }
        self.next = ranks.end;
        let mut names = IdBuilder::new(ids.kind());
        ranks.clone().for_each(|rank| names.push(Some(ids.get(rank))));
        let vertices: Vec<VertexId> = ranks.collect();
        let mut arrays = vec![names.finish()];
        for column in F::columns(&self.answer) {
            arrays.push(array_of(column, &vertices, ids.kind(), |v| ids.get(v)));
        }
        Some(RecordBatch::try_new(Arc::clone(&self.schema), arrays))
    }
}

impl<F: Finding> RecordBatchReader for EdgeBatches<F> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

//! Edges as Arrow batches: columns `source` and `target`, `UInt64` or `LargeUtf8`, and `weight`
//! where the graph has weights.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, RecordBatchReader, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cenote_store::edges::for_each_edge;
use cenote_store::{IdTable, StoreError, VertexId, Weight, WeightType};

use super::write_error;
use crate::error::{Error, Result};
use crate::graph::StoredGraph;
use crate::output::arrow::IdBuilder;

/// Edges of a batch.
const BATCH_EDGES: usize = 1 << 16;

/// Batches that are read ahead.
const BATCHES_AHEAD: usize = 2;

type Read = Result<RecordBatch, StoreError>;

/// The edges of a graph in batches of 65,536, in the order of the lists, each edge once: on an
/// undirected graph from its smaller end. A thread reads ahead. The ids of all vertices are in
/// memory.
pub struct EdgeBatches {
    schema: SchemaRef,
    batches: Option<Receiver<Read>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for EdgeBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeBatches").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl EdgeBatches {
    /// Begins to read the edges.
    ///
    /// # Errors
    /// Ids cannot be read, or the thread cannot be started. Errors of lists are those of a batch.
    pub fn new(graph: Arc<StoredGraph>) -> Result<Self> {
        let ids = graph.ids()?;
        let id = IdBuilder::data_type(ids.kind());
        let mut fields =
            vec![Field::new("source", id.clone(), false), Field::new("target", id, false)];
        let weights = graph.superblock().weights.map(|weights| weights.kind());
        fields.extend(weights.map(|kind| Field::new("weight", weight_type(kind), false)));
        let schema = Arc::new(Schema::new(fields));
        let ids = ids.load()?;
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let part = Part { graph, ids, schema: Arc::clone(&schema), edges: vec![], weights: vec![] };
        let thread = Builder::new().name("edges".to_owned()).spawn(move || part.send_all(&sender));
        let thread = thread.map_err(Error::io("cannot start the thread that reads edges"))?;
        Ok(Self { schema, batches: Some(batches), thread: Some(thread) })
    }
}

impl Drop for EdgeBatches {
    fn drop(&mut self) {
        // The thread ends when nothing receives its batches any more.
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Iterator for EdgeBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let external = |error: Error| ArrowError::ExternalError(error.into());
        match self.batches.as_ref()?.recv() {
            Ok(batch) => Some(batch.map_err(|error| external(error.into()))),
            Err(_) => {
                self.batches = None;
                let panicked = self.thread.take().is_some_and(|thread| thread.join().is_err());
                let ended = "the thread that reads edges ended early";
                panicked.then(|| Err(external(Error::Device(ended.into()))))
            }
        }
    }
}

impl RecordBatchReader for EdgeBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn weight_type(kind: WeightType) -> DataType {
    match kind {
        WeightType::F32 => DataType::Float32,
        WeightType::F64 => DataType::Float64,
        WeightType::U32 => DataType::UInt32,
        WeightType::I64 => DataType::Int64,
    }
}

/// The edges of the next batch.
struct Part {
    graph: Arc<StoredGraph>,
    ids: IdTable,
    schema: SchemaRef,
    edges: Vec<[VertexId; 2]>,
    weights: Vec<Weight>,
}

impl Part {
    fn send_all(mut self, sender: &SyncSender<Read>) {
        let graph = Arc::clone(&self.graph);
        let is_directed = graph.is_directed();
        // An error with which the reading ends when the receiver is gone.
        let unheard = || write_error(io::ErrorKind::BrokenPipe.into());
        let read = for_each_edge(&graph, &mut |_, _| {}, &mut |source, target, weight| {
            let ends = [source, target];
            self.edges.push(if is_directed { ends } else { self.ids.in_order(ends) });
            self.weights.extend(weight);
            match self.edges.len() {
                BATCH_EDGES => sender.send(Ok(self.take())).map_err(|_| unheard()),
                _ => Ok(()),
            }
        });
        let last = match read {
            Err(error) => Err(error),
            Ok(_) if self.edges.is_empty() => return,
            Ok(_) => Ok(self.take()),
        };
        let _ = sender.send(last);
    }

    fn take(&mut self) -> RecordBatch {
        let kind = self.graph.superblock().ids;
        let ids = |end: usize| {
            let mut ids = IdBuilder::new(kind);
            self.edges.iter().for_each(|edge| ids.push(Some(self.ids.get(edge[end]))));
            ids.finish()
        };
        let mut columns = vec![ids(0), ids(1)];
        if self.schema.fields().len() > columns.len() {
            columns.push(weights(self.schema.field(2).data_type(), &self.weights));
        }
        self.edges.clear();
        self.weights.clear();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        batch.expect("the columns are those of the schema")
    }
}

/// A column of weights, which are all of one type.
fn weights(kind: &DataType, weights: &[Weight]) -> ArrayRef {
    macro_rules! column {
        ($variant:path, $array:ty) => {{
            let value = |weight: &Weight| match weight {
                $variant(value) => *value,
                _ => unreachable!("the weights of a graph are of one type"),
            };
            Arc::new(<$array>::from_iter_values(weights.iter().map(value)))
        }};
    }
    match kind {
        DataType::Float32 => column!(Weight::F32, Float32Array),
        DataType::Float64 => column!(Weight::F64, Float64Array),
        DataType::UInt32 => column!(Weight::U32, UInt32Array),
        _ => column!(Weight::I64, Int64Array),
    }
}

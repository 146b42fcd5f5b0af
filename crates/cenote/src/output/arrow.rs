//! The values of all vertices as Arrow batches, keyed by the user's ids.
//!
//! Columns: `vertex`, then the algorithm's. Ids are `UInt64` or `LargeUtf8`, counts `UInt64`, other
//! numbers `Float64`. A missing value (the level of an unreached vertex) is null.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchReader, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cenote_engine::VertexId;
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, IdTable, Ids, StoreError};

use super::table::{BATCH, Column};
use crate::error::{Error, Result};
use crate::run::{Algorithm, Answer};

/// A column of ids that is being built.
pub(crate) enum IdBuilder {
    Integers(UInt64Builder),
    Strings(LargeStringBuilder),
}

impl IdBuilder {
    pub fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::Dense | IdKind::Integers => Self::Integers(UInt64Builder::new()),
            IdKind::Strings => Self::Strings(LargeStringBuilder::new()),
        }
    }

    pub fn data_type(kind: IdKind) -> DataType {
        match kind {
            IdKind::Dense | IdKind::Integers => DataType::UInt64,
            IdKind::Strings => DataType::LargeUtf8,
        }
    }

    pub fn push(&mut self, id: Option<IdRef<'_>>) {
        match (self, id) {
            (Self::Integers(ids), Some(IdRef::Integer(id))) => ids.append_value(id),
            (Self::Integers(ids), None) => ids.append_null(),
            (Self::Strings(ids), Some(IdRef::String(id))) => ids.append_value(id),
            (Self::Strings(ids), None) => ids.append_null(),
            _ => unreachable!("the ids of a graph are of one kind"),
        }
    }

    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Integers(ids) => Arc::new(ids.finish()),
            Self::Strings(ids) => Arc::new(ids.finish()),
        }
    }
}

/// The values of all vertices in batches of 65,536 rows, by ascending id. If a column holds
/// vertices, the ids of all vertices are in memory.
pub struct Batches<A: Algorithm> {
    answer: Arc<Answer<A>>,
    schema: SchemaRef,
    ids: Ids,
    /// Of columns of vertices, which are looked up in random order.
    names: Option<IdTable>,
    next: VertexId,
    end: VertexId,
}

impl<A: Algorithm> fmt::Debug for Batches<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl<A: Algorithm> Batches<A> {
    /// The batches of an answer.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if the algorithm has no values per vertex; ids cannot be read.
    pub fn new(answer: Arc<Answer<A>>) -> Result<Self> {
        let (ids, columns) = (answer.ids()?, A::columns(&answer));
        if columns.is_empty() {
            return Err(Error::InvalidInput(format!("{} has no value per vertex", A::NAME)));
        }
        let field = |column: &Column<'_>| {
            let (kind, nullable) = match column {
                Column::Count(..) => (DataType::UInt64, true),
                Column::Vertex(..) => (IdBuilder::data_type(ids.kind()), true),
                Column::Real(..) => (DataType::Float64, false),
                Column::Measure(..) => (DataType::Float64, true),
            };
            Field::new(column.name(), kind, nullable)
        };
        let vertex = Field::new("vertex", IdBuilder::data_type(ids.kind()), false);
        let fields: Vec<Field> = std::iter::once(vertex).chain(columns.iter().map(field)).collect();
        let has_vertices = columns.iter().any(|column| matches!(column, Column::Vertex(..)));
        let names = if has_vertices { Some(ids.load()?) } else { None };
        drop(columns);
        let end = ids.vertices() as VertexId;
        Ok(Self { answer, schema: Arc::new(Schema::new(fields)), ids, names, next: 0, end })
    }

    fn batch(&self, ranks: std::ops::Range<VertexId>) -> Result<RecordBatch> {
        let mut ids = IdBuilder::new(self.ids.kind());
        let mut vertices = Vec::with_capacity(ranks.len());
        self.ids.for_each(ranks, |vertex, id| {
            ids.push(Some(id));
            vertices.push(vertex);
            Ok::<_, StoreError>(())
        })?;
        let vertices = || vertices.iter().copied();
        let mut arrays = vec![ids.finish()];
        for column in A::columns(&self.answer) {
            arrays.push(match column {
                Column::Count(_, get) => Arc::new(vertices().map(get).collect::<UInt64Array>()),
                Column::Vertex(_, get) => {
                    let names = self.names.as_ref().expect("loaded for columns of vertices");
                    let mut ids = IdBuilder::new(self.ids.kind());
                    vertices().for_each(|v| ids.push(get(v).map(|v| names.get(v))));
                    ids.finish()
                }
                Column::Real(_, get) => {
                    Arc::new(Float64Array::from_iter_values(vertices().map(get))) as ArrayRef
                }
                Column::Measure(_, get) => Arc::new(vertices().map(get).collect::<Float64Array>()),
            });
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        Ok(batch.expect("the columns are those of the schema"))
    }
}

impl<A: Algorithm> Iterator for Batches<A> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let ranks = self.next..self.next.saturating_add(BATCH).min(self.end);
        self.next = ranks.end;
        Some(self.batch(ranks).map_err(|error| ArrowError::ExternalError(error.into())))
    }
}

impl<A: Algorithm> RecordBatchReader for Batches<A> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

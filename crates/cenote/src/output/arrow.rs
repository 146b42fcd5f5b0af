//! The values of all vertices as Arrow batches, keyed by the user's ids.
//!
//! Columns: `vertex`, then the algorithm's. Ids are `UInt64` or `LargeUtf8`, counts `UInt64`, other
//! numbers `Float64`. A missing value (the level of an unreached vertex) is null.

use std::fmt;
use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, UInt64Builder};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchReader, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use cenote_engine::VertexId;
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, IdTable, Ids, StoreError};

use super::table::{self, BATCH, Column};
use crate::error::{Error, Result};
use crate::run::{Algorithm, Answer, no_values};

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

/// The fields of a table: the ids, then the columns.
pub(crate) fn fields_of(key: &str, ids: IdKind, columns: &[Column<'_>]) -> Vec<Field> {
    let field = |column: &Column<'_>| {
        let (kind, nullable) = match column {
            Column::Count(..) => (DataType::UInt64, true),
            Column::Signed(..) => (DataType::Int64, false),
            Column::Vertex(..) => (IdBuilder::data_type(ids), true),
            Column::Real(..) => (DataType::Float64, false),
            Column::Measure(..) => (DataType::Float64, true),
        };
        Field::new(column.name(), kind, nullable)
    };
    let key = Field::new(key, IdBuilder::data_type(ids), false);
    std::iter::once(key).chain(columns.iter().map(field)).collect()
}

/// The values of a column for some vertices, or rows.
pub(crate) fn array_of<'n>(
    column: Column<'_>,
    vertices: &[VertexId],
    ids: IdKind,
    name_of: impl Fn(VertexId) -> IdRef<'n>,
) -> ArrayRef {
    let vertices = vertices.iter().copied();
    match column {
        Column::Count(_, get) => Arc::new(vertices.map(get).collect::<UInt64Array>()),
        Column::Signed(_, get) => Arc::new(Int64Array::from_iter_values(vertices.map(get))),
        Column::Vertex(_, get) => {
            let mut names = IdBuilder::new(ids);
            vertices.for_each(|v| names.push(get(v).map(&name_of)));
            names.finish()
        }
        Column::Real(_, get) => Arc::new(Float64Array::from_iter_values(vertices.map(get))),
        Column::Measure(_, get) => Arc::new(vertices.map(get).collect::<Float64Array>()),
    }
}

/// The values of all vertices in batches of 65,536 rows, by ascending id, or the rows of an answer
/// that has others. If a column holds
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
            return Err(Error::InvalidInput(no_values::<A>()));
        }
        let rows = A::rows(&answer);
        let key = rows.as_ref().map_or(table::VERTEX, |rows| rows.key);
        let fields = fields_of(key, ids.kind(), &columns);
        let has_vertices = columns.iter().any(|column| matches!(column, Column::Vertex(..)));
        let names = if has_vertices || rows.is_some() { Some(ids.load()?) } else { None };
        let end = rows.map_or(ids.vertices() as VertexId, |rows| rows.count);
        drop(columns);
        Ok(Self { answer, schema: Arc::new(Schema::new(fields)), ids, names, next: 0, end })
    }

    fn batch(&self, ranks: std::ops::Range<VertexId>) -> Result<RecordBatch> {
        let mut ids = IdBuilder::new(self.ids.kind());
        let name_of = |v| self.names.as_ref().expect("loaded for columns of vertices").get(v);
        let mut rows = Vec::with_capacity(ranks.len());
        if let Some(listed) = A::rows(&self.answer) {
            ranks.clone().for_each(|row| ids.push(Some(name_of((listed.vertex)(row)))));
            rows.extend(ranks);
        } else {
            self.ids.for_each(ranks, |vertex, id| {
                ids.push(Some(id));
                rows.push(vertex);
                Ok::<_, StoreError>(())
            })?;
        }
        let mut arrays = vec![ids.finish()];
        for column in A::columns(&self.answer) {
            arrays.push(array_of(column, &rows, self.ids.kind(), name_of));
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

//! Tables of a Python iterator, which are parts of one, as Arrow batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arrow::{Reader, reader_of};
use crate::batches::{Raised, kept, shown};
use crate::errors::invalid;

/// The batches of one table after the other.
pub struct PyTables {
    tables: Py<PyAny>,
    table: Option<Reader>,
    schema: SchemaRef,
    /// Tables so far.
    count: u64,
    raised: Raised,
}

impl PyTables {
    /// Begins with the first table, whose columns all have; `None` if there is none.
    pub fn new(tables: &Bound<'_, PyAny>, raised: Raised) -> PyResult<Option<Self>> {
        let tables = tables.try_iter()?;
        let first = tables.clone().next().transpose()?;
        let Some(first) = first else { return Ok(None) };
        let table = reader(&first, 1)?;
        let (schema, tables) = (table.schema(), tables.into_any().unbind());
        Ok(Some(Self { tables, table: Some(table), schema, count: 1, raised }))
    }

    /// The next table.
    fn next_table(&mut self) -> PyResult<Option<Reader>> {
        Python::attach(|py| {
            let next = self.tables.bind(py).try_iter()?.next().transpose()?;
            let Some(next) = next else { return Ok(None) };
            self.count += 1;
            let table = reader(&next, self.count)?;
            let (found, expected) = (names(&table.schema()), names(&self.schema));
            match found == expected {
                true => Ok(Some(table)),
                false => Err(invalid(format!(
                    "edges: table {} has the columns {found}, those before have {expected}",
                    self.count
                ))),
            }
        })
    }
}

fn reader(table: &Bound<'_, PyAny>, count: u64) -> PyResult<Reader> {
    reader_of("edges", table)?.ok_or_else(|| {
        PyTypeError::new_err(format!("edges: item {count} is {}: expected a table", shown(table)))
    })
}

fn names(schema: &Schema) -> String {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names.join(", ")
}

impl Iterator for PyTables {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.table.as_mut()?.next() {
                return Some(batch);
            }
            // What the table holds of Python is released with it.
            self.table = None;
            match self.next_table() {
                Ok(table) => self.table = table,
                Err(error) => return Some(Err(kept(error, &self.raised))),
            }
        }
    }
}

impl RecordBatchReader for PyTables {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

//! Rows of a Python iterator as Arrow batches, for an import.
//!
//! The iterator yields chunks: a list of rows `(source, target)` or `(source, target, weight)`, or
//! a tuple of columns, each the code of a NumPy type (`u8`, `i8`, `f8`) and its bytes, or a list
//! of strings.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Float64Builder, Int64Builder, LargeStringBuilder, UInt64Builder};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchReader, UInt64Array,
};
use arrow_schema::{ArrowError, SchemaRef};
use cenote::import::WeightType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyList, PyString, PyTuple};

use crate::errors::invalid;

const NAMES: [&str; 3] = ["source", "target", "weight"];

/// The exception that ended an import, since the library's error has only its text.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Chunks of a Python iterator.
pub struct PyBatches {
    chunks: Py<PyAny>,
    shape: Shape,
    schema: SchemaRef,
    first: Option<RecordBatch>,
    raised: Raised,
}

/// What rows are like.
struct Shape {
    weights: Option<WeightType>,
    /// Items of each row, once there was one.
    items: Option<usize>,
    /// Rows of the chunks before.
    rows: u64,
}

impl PyBatches {
    /// Reads the first chunk, whose types all have; `None` if there is none.
    pub fn new(
        chunks: &Bound<'_, PyAny>,
        weights: Option<WeightType>,
        raised: Raised,
    ) -> PyResult<Option<Self>> {
        let chunks = chunks.try_iter()?;
        let mut shape = Shape { weights, items: None, rows: 0 };
        let Some(first) = read(chunks.as_any(), &mut shape)? else { return Ok(None) };
        let (chunks, schema) = (chunks.into_any().unbind(), first.schema());
        Ok(Some(Self { chunks, shape, schema, first: Some(first), raised }))
    }

    fn read(&mut self) -> PyResult<Option<RecordBatch>> {
        Python::attach(|py| {
            let batch = read(self.chunks.bind(py), &mut self.shape)?;
            match batch {
                Some(batch) if batch.schema() != self.schema => {
                    Err(invalid("edges: some ids are integers and others strings: use one kind"))
                }
                batch => Ok(batch),
            }
        })
    }
}

impl Iterator for PyBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let batch = self.read().transpose();
        batch.map(|batch| batch.map_err(|error| kept(error, &self.raised)))
    }
}

/// Keeps an exception for the end of the call, and makes the error of a reader of it.
pub fn kept(error: PyErr, raised: &Raised) -> ArrowError {
    let message = error.to_string();
    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    ArrowError::ExternalError(message.into())
}

impl RecordBatchReader for PyBatches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The next chunk that has rows; none at the end.
fn read(chunks: &Bound<'_, PyAny>, shape: &mut Shape) -> PyResult<Option<RecordBatch>> {
    loop {
        let next = chunks.try_iter()?.next().transpose()?;
        let Some(chunk) = next else { return Ok(None) };
        let columns = if let Ok(chunk) = chunk.cast::<PyTuple>() {
            chunk.iter().map(|column| column_of(&column)).collect::<PyResult<Vec<_>>>()?
        } else {
            of_rows(chunk.cast::<PyList>()?, shape)?
        };
        let named = NAMES.into_iter().zip(columns);
        let batch = RecordBatch::try_from_iter(named);
        let batch = batch.map_err(|error| invalid(error.to_string()))?;
        shape.rows += batch.num_rows() as u64;
        if batch.num_rows() > 0 {
            return Ok(Some(batch));
        }
    }
}

/// A column: a list of strings, or of NumPy the code of the type and the bytes.
fn column_of(column: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(strings) = column.cast::<PyList>() {
        let mut names = LargeStringBuilder::new();
        for name in strings {
            names.append_value(name.cast::<PyString>()?.to_cow()?);
        }
        return Ok(Arc::new(names.finish()));
    }
    let (code, bytes): (String, Bound<'_, PyBytes>) = column.extract()?;
    let words = bytes.as_bytes().chunks_exact(8);
    let words = words.map(|word| <[u8; 8]>::try_from(word).expect("chunks of 8 bytes"));
    Ok(match code.as_str() {
        "u8" => Arc::new(UInt64Array::from_iter_values(words.map(u64::from_le_bytes))),
        "i8" => Arc::new(Int64Array::from_iter_values(words.map(i64::from_le_bytes))),
        "f8" => Arc::new(Float64Array::from_iter_values(words.map(f64::from_le_bytes))),
        other => return Err(invalid(format!("edges: no numbers of type `{other}`"))),
    })
}

enum Ids {
    Integers(UInt64Builder),
    Strings(LargeStringBuilder),
}

impl Ids {
    fn like(id: &Bound<'_, PyAny>) -> Self {
        match id.is_instance_of::<PyString>() {
            true => Self::Strings(LargeStringBuilder::new()),
            false => Self::Integers(UInt64Builder::new()),
        }
    }

    fn push(&mut self, id: &Bound<'_, PyAny>) -> Result<(), &'static str> {
        match self {
            Self::Integers(ids) => {
                let integer = "expected an integer from 0 to 2^64 - 1";
                if id.is_instance_of::<PyBool>() {
                    return Err(integer);
                }
                if id.is_instance_of::<PyBytes>() {
                    return Err("expected an integer or a string: decode() bytes");
                }
                ids.append_value(id.extract().map_err(|_| integer)?);
            }
            Self::Strings(ids) => {
                let string = "expected a string, as the ids before";
                let id = id.cast::<PyString>().map_err(|_| string)?;
                ids.append_value(id.to_cow().map_err(|_| "it is not UTF-8")?);
            }
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Integers(mut ids) => Arc::new(ids.finish()),
            Self::Strings(mut ids) => Arc::new(ids.finish()),
        }
    }
}

enum Weights {
    Integers(Int64Builder),
    Floats(Float64Builder),
}

impl Weights {
    fn push(&mut self, weight: &Bound<'_, PyAny>) -> Result<(), &'static str> {
        match self {
            Self::Integers(weights) => {
                weights.append_value(weight.extract().map_err(|_| "expected a 64-bit integer")?);
            }
            Self::Floats(weights) => {
                weights.append_value(weight.extract().map_err(|_| "expected a number")?);
            }
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Integers(mut weights) => Arc::new(weights.finish()),
            Self::Floats(mut weights) => Arc::new(weights.finish()),
        }
    }
}

impl Shape {
    /// The error of a row of a chunk.
    fn wrong(&self, at: usize, reason: &str) -> PyErr {
        invalid(format!("edges: row {}: {reason}", self.rows + at as u64 + 1))
    }

    /// Refuses a row that is no edge, or that has more or fewer items than those before.
    fn check(&mut self, at: usize, row: &Bound<'_, PyAny>) -> PyResult<()> {
        // A string is a sequence of strings, bytes are one of integers, and both no edge.
        let is_text = row.is_instance_of::<PyString>() || row.is_instance_of::<PyBytes>();
        let items = if is_text { None } else { row.len().ok() };
        let least = if self.weights.is_some() { 3 } else { 2 };
        let reason = match (items, self.items) {
            (Some(items), Some(first)) if items == first => return Ok(()),
            (Some(items), None) if (least..=3).contains(&items) => {
                self.items = Some(items);
                return Ok(());
            }
            (Some(items @ 2..=3), Some(first)) => format!("{items} items, not {first} as before"),
            (Some(4..), _) => {
                format!("expected {}; columns are a tuple of arrays", self.expected())
            }
            _ => format!("expected {}", self.expected()),
        };
        Err(self.wrong(at, &format!("{}: {reason}", shown(row))))
    }

    fn expected(&self) -> &'static str {
        match self.weights {
            None => "(source, target)",
            Some(_) => "(source, target, weight)",
        }
    }
}

/// The columns of a list of rows.
fn of_rows(rows: &Bound<'_, PyList>, shape: &mut Shape) -> PyResult<Vec<ArrayRef>> {
    let Some(first) = rows.iter().next() else { return Ok(Vec::new()) };
    shape.check(0, &first)?;
    let mut ids = [Ids::like(&first.get_item(0)?), Ids::like(&first.get_item(1)?)];
    let mut values = shape.weights.map(|kind| match kind {
        WeightType::F32 | WeightType::F64 => Weights::Floats(Float64Builder::new()),
        _ => Weights::Integers(Int64Builder::new()),
    });
    for (at, edge) in rows.iter().enumerate() {
        shape.check(at, &edge)?;
        for (end, ids) in ids.iter_mut().enumerate() {
            let id = edge.get_item(end)?;
            let wrong = |reason| shape.wrong(at, &format!("the id {}: {reason}", shown(&id)));
            ids.push(&id).map_err(wrong)?;
        }
        if shape.items == Some(3) {
            let weight = edge.get_item(2)?;
            let pushed = match &mut values {
                Some(values) => values.push(&weight),
                // It is left out, and a name there means that these are no edges.
                None => weight.extract::<f64>().map(drop).map_err(|_| "expected a number"),
            };
            let wrong =
                |reason| shape.wrong(at, &format!("the weight {}: {reason}", shown(&weight)));
            pushed.map_err(wrong)?;
        }
    }
    let columns = ids.into_iter().map(Ids::finish);
    Ok(columns.chain(values.map(Weights::finish)).collect())
}

/// A value in a message, shortened.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

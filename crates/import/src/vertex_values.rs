//! Values of vertices that are in no file: Arrow batches with a column of ids and one of values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatchReader};
use arrow_schema::{DataType, Schema};
use cenote_store::superblock::IdKind;
use cenote_store::{Id, IdRef, Store, Value, ValueType};

use crate::arrow;
use crate::config::ImportConfig;
use crate::error::{ImportError, Result};
use crate::report::Progress;
use crate::rows::{IdColumn, WrongRow};
use crate::values::{TEXT_TOGETHER, VALUES_TOGETHER, batch_of};

/// Rows that are converted at a time.
const CHUNK_ROWS: usize = 1 << 14;

type Reader<'a> = Box<dyn RecordBatchReader + Send + 'a>;

/// The values of vertices in batches of a [`RecordBatchReader`]: the first column has ids, as those
/// of [`ArrowBatches`](crate::ArrowBatches), the second one numbers. Values of unsigned integers
/// are stored as `u64`, of others as `i64`, of floats as `f64`. A null is no value; of a vertex
/// with several values the last one counts.
///
/// The batches are read once, when the lists of the graph are written; another import of the same
/// values is an error. Beside the budget of the import, one batch at a time is in memory.
pub struct VertexValues<'a> {
    /// The type of the values, or the reason why there are none.
    kind: std::result::Result<ValueType, String>,
    reader: Mutex<Option<Reader<'a>>>,
    name: String,
}

impl fmt::Debug for VertexValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VertexValues").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'a> VertexValues<'a> {
    /// The values of a reader.
    pub fn new(reader: impl RecordBatchReader + Send + 'a) -> Self {
        let kind = kind_of(&reader.schema());
        let reader: Reader<'a> = Box::new(reader);
        Self { kind, reader: Mutex::new(Some(reader)), name: "values".to_owned() }
    }

    /// The type of the values, which the others of the import must have.
    pub(crate) fn kind(&self, config: &ImportConfig) -> Result<ValueType> {
        let kind = self.kind.as_ref().map_err(|reason| self.refused(reason.clone()))?;
        match config.values.filter(|wanted| wanted != kind) {
            None => Ok(*kind),
            Some(wanted) => {
                let (found, wanted) = (kind.name(), wanted.name());
                Err(self.refused(format!("they are of type {found}, not {wanted}")))
            }
        }
    }

    /// Fails if the values were imported before.
    pub(crate) fn check_unused(&self) -> Result<()> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.as_ref().map(drop).ok_or_else(|| self.used())
    }

    fn used(&self) -> ImportError {
        ImportError::Options(format!("{}: can be imported only once", self.name))
    }

    fn refused(&self, reason: String) -> ImportError {
        ImportError::Format { input: self.name.clone(), reason }
    }

    /// Sets the values of a graph that is written but not published.
    pub(crate) fn set(&self, store: &Store, progress: &dyn Progress) -> Result<()> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Another import may have begun at the same time.
        let reader = reader.ok_or_else(|| self.used())?;
        let mut waiting = Waiting { store, values: BTreeMap::new(), text_bytes: 0 };
        let mut row = 1;
        for batch in reader {
            let batch = batch.map_err(|error| self.refused(error.to_string()))?;
            for start in (0..batch.num_rows()).step_by(CHUNK_ROWS) {
                if progress.cancelled() {
                    return Err(ImportError::Cancelled);
                }
                let chunk = batch.slice(start, CHUNK_ROWS.min(batch.num_rows() - start));
                let wrong = |(at, reason): WrongRow| {
                    let row = row + (start + at) as u64;
                    ImportError::Row { input: self.name.clone(), row, reason }
                };
                let ids = arrow::ids_of(chunk.column(0)).map_err(wrong)?;
                let values = values_of(chunk.column(1)).map_err(wrong)?;
                self.push(&mut waiting, &ids, values)?;
            }
            row += batch.num_rows() as u64;
        }
        self.flush(&mut waiting)
    }

    fn push(
        &self,
        waiting: &mut Waiting<'_>,
        ids: &IdColumn<&[u8]>,
        values: Vec<Option<Value>>,
    ) -> Result<()> {
        let has_names = waiting.store.superblock().ids == IdKind::Strings;
        for (at, value) in values.into_iter().enumerate() {
            let Some(value) = value else { continue };
            let id = match ids {
                IdColumn::Integers(ids) if has_names => Some(Id::String(ids[at].to_string())),
                IdColumn::Integers(ids) => Some(Id::Integer(ids[at])),
                IdColumn::Names(names) => of_name(names[at], has_names),
            };
            let Some(id) = id else {
                let IdColumn::Names(names) = ids else { unreachable!("integers are ids") };
                return Err(self.no_vertex(String::from_utf8_lossy(names[at]).into_owned()));
            };
            if let IdRef::String(name) = id.as_ref() {
                waiting.text_bytes += name.len();
            }
            waiting.values.insert(id, value);
            if waiting.values.len() == VALUES_TOGETHER || waiting.text_bytes >= TEXT_TOGETHER {
                self.flush(waiting)?;
            }
        }
        Ok(())
    }

    fn flush(&self, waiting: &mut Waiting<'_>) -> Result<()> {
        let values = std::mem::take(&mut waiting.values);
        waiting.text_bytes = 0;
        match batch_of(waiting.store, &values)? {
            Some(batch) if batch.changes.is_empty() => Ok(()),
            Some(batch) => Ok(waiting.store.update(&batch).map(drop)?),
            None => {
                let ids: Vec<IdRef<'_>> = values.keys().map(Id::as_ref).collect();
                let vertices = waiting.store.vertices_of(&ids)?;
                let unknown = vertices.iter().position(Option::is_none).expect("one is unknown");
                Err(self.no_vertex(ids[unknown].to_string()))
            }
        }
    }

    fn no_vertex(&self, mut id: String) -> ImportError {
        id.truncate(id.floor_char_boundary(80));
        ImportError::NoVertex { input: self.name.clone(), id }
    }
}

/// Values that the next commit sets.
struct Waiting<'s> {
    store: &'s Store,
    values: BTreeMap<Id, Value>,
    text_bytes: usize,
}

/// The id of a name; `None` where the ids are integers and it is none.
fn of_name(name: &[u8], has_names: bool) -> Option<Id> {
    let name = std::str::from_utf8(name).ok()?;
    if has_names {
        return Some(Id::String(name.into()));
    }
    let is_integer = name.bytes().all(|byte| byte.is_ascii_digit());
    is_integer.then(|| name.parse().ok()).flatten().map(Id::Integer)
}

fn kind_of(schema: &Schema) -> std::result::Result<ValueType, String> {
    let fields = schema.fields();
    if fields.len() != 2 {
        let found = fields.len();
        return Err(format!("they have {found} columns: expected two, of ids and of values"));
    }
    arrow::check_ids(&fields[0])?;
    let data = fields[1].data_type();
    match data {
        data if data.is_unsigned_integer() => Ok(ValueType::U64),
        data if data.is_signed_integer() => Ok(ValueType::I64),
        DataType::Float32 | DataType::Float64 => Ok(ValueType::F64),
        other => Err(format!("the column `{}` has no numbers, but {other}", fields[1].name())),
    }
}

fn values_of(column: &ArrayRef) -> std::result::Result<Vec<Option<Value>>, WrongRow> {
    let values: Vec<Option<Value>> = match column.data_type() {
        DataType::UInt8 => numbers::<UInt8Type>(column, |n| Value::U64(n.into())),
        DataType::UInt16 => numbers::<UInt16Type>(column, |n| Value::U64(n.into())),
        DataType::UInt32 => numbers::<UInt32Type>(column, |n| Value::U64(n.into())),
        DataType::UInt64 => numbers::<UInt64Type>(column, Value::U64),
        DataType::Int8 => numbers::<Int8Type>(column, |n| Value::I64(n.into())),
        DataType::Int16 => numbers::<Int16Type>(column, |n| Value::I64(n.into())),
        DataType::Int32 => numbers::<Int32Type>(column, |n| Value::I64(n.into())),
        DataType::Int64 => numbers::<Int64Type>(column, Value::I64),
        DataType::Float32 => numbers::<Float32Type>(column, |n| Value::F64(n.into())),
        DataType::Float64 => numbers::<Float64Type>(column, Value::F64),
        other => return Err((0, format!("expected numbers, found {other}"))),
    };
    let is_wrong = |value: &Option<Value>| matches!(value, Some(Value::F64(x)) if !x.is_finite());
    match values.iter().position(is_wrong) {
        Some(at) => Err((at, format!("expected {}", ValueType::F64.expected()))),
        None => Ok(values),
    }
}

fn numbers<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    value: impl Fn(T::Native) -> Value,
) -> Vec<Option<Value>> {
    column.as_primitive::<T>().iter().map(|number| number.map(&value)).collect()
}

//! Imports batches in the Arrow C data interface: two columns of ids, and optionally weights.
//!
//! Ids are integers of any width, or strings (`Utf8`, `LargeUtf8`, `Utf8View`); weights are
//! integers or floating point. Any of these columns may be dictionary-encoded. A null is an error
//! that names its row.

use std::fmt::Display;
use std::io;
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayAccessor, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema};
use cenote_store::WeightType;

use crate::config::Input;
use crate::edges::{Edges, OpenRows, integer_ids, ordered_weights};
use crate::parse::choice::{ColumnChoice, Known, NULL, no_ids, no_weights, two_kinds};
use crate::rows::{self, EdgeColumns, IdColumn, RowReader, STREAM_BYTES, WrongRow, row_error};

const CHUNK_ROWS: usize = 1024;

type Reader<'a> = Box<dyn RecordBatchReader + Send + 'a>;

/// Edges in batches of a [`RecordBatchReader`], such as a
/// [`RecordBatchStreamReader`](arrow_array::ffi_stream::RecordBatchStreamReader) over the Arrow C
/// data interface of another language.
///
/// The batches are read once, in order, and spilled. Beside the budget of the import, one batch at
/// a time is in memory, of the size that its producer chose.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int32Array, RecordBatch, RecordBatchIterator};
/// use cenote_import::{ArrowBatches, FileWorkspace, ImportConfig, NoProgress, import_edges};
///
/// let column = |ids: &[i32]| Arc::new(Int32Array::from(ids.to_vec())) as ArrayRef;
/// let batch = RecordBatch::try_from_iter([("a", column(&[1, 2])), ("b", column(&[2, 3]))])?;
/// let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
/// let edges = ArrowBatches::new(reader).source_column("b").target_column("a");
/// # let folder = tempfile::tempdir()?;
/// let workspace = FileWorkspace::new(&folder.path().join("g.cenote"), &[], None, false)?;
/// let config = ImportConfig::default();
/// let report = import_edges(&[edges.into()], &workspace, &config, &NoProgress)?;
/// assert_eq!((report.vertices, report.edges), (3, 2));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is imported before it is an input of an import"]
pub struct ArrowBatches<'a> {
    reader: Reader<'a>,
    source_column: Option<String>,
    target_column: Option<String>,
    weight_column: Option<String>,
}

impl<'a> ArrowBatches<'a> {
    /// Reads the batches of `reader`. Columns are found by their names as in a Parquet file; see
    /// [`InputSpec`](crate::InputSpec).
    pub fn new(reader: impl RecordBatchReader + Send + 'a) -> Self {
        let (source_column, target_column, weight_column) = (None, None, None);
        Self { reader: Box::new(reader), source_column, target_column, weight_column }
    }

    /// Sets the column of the source, by name or by number from 1.
    pub fn source_column(self, column: impl Into<String>) -> Self {
        Self { source_column: Some(column.into()), ..self }
    }

    /// Sets the column of the target.
    pub fn target_column(self, column: impl Into<String>) -> Self {
        Self { target_column: Some(column.into()), ..self }
    }

    /// Sets the column of the weights.
    pub fn weight_column(self, column: impl Into<String>) -> Self {
        Self { weight_column: Some(column.into()), ..self }
    }
}

impl<'a> From<ArrowBatches<'a>> for Edges<'a> {
    fn from(batches: ArrowBatches<'a>) -> Self {
        let schema = batches.reader.schema();
        let asked = ColumnChoice {
            source: batches.source_column.as_deref(),
            target: batches.target_column.as_deref(),
            weight: batches.weight_column.as_deref(),
        };
        let columns = Columns::choose(&schema, asked);
        Edges::of("Arrow batches", Once { columns, reader: Mutex::new(Some(batches.reader)) })
    }
}

impl<'a> From<ArrowBatches<'a>> for Input<'a> {
    fn from(batches: ArrowBatches<'a>) -> Self {
        Input::Edges(batches.into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integers,
    Names,
    Floats,
}

fn kind_of(data: &DataType) -> Option<Kind> {
    let data = if let DataType::Dictionary(_, values) = data { values } else { data };
    match data {
        data if data.is_integer() => Some(Kind::Integers),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Kind::Names),
        DataType::Float32 | DataType::Float64 => Some(Kind::Floats),
        _ => None,
    }
}

#[derive(Clone, Debug)]
struct Columns {
    ids: [usize; 2],
    has_names: bool,
    /// The column of the weights, or the reason why there is none.
    weight: Result<usize, String>,
}

impl Columns {
    fn choose(schema: &Schema, asked: ColumnChoice<'_>) -> Result<Self, String> {
        let fields = schema.fields();
        let nested: Vec<usize> =
            (0..fields.len()).filter(|&at| fields[at].data_type().is_nested()).collect();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let known = Known { names: &names, count: names.len(), nested: &nested };
        let ids = asked.ids(known).map_err(|problem| problem.reason())?;
        let kind = |id: usize| match (fields[id].data_type(), kind_of(fields[id].data_type())) {
            (_, Some(kind @ (Kind::Integers | Kind::Names))) => Ok(Some(kind)),
            // A column without rows, or of nulls, which are refused by row.
            (DataType::Null, _) => Ok(None),
            (other, _) => Err(no_ids(fields[id].name(), other)),
        };
        let kinds = [kind(ids[0])?, kind(ids[1])?];
        if let [Some(source), Some(target)] = kinds
            && source != target
        {
            return Err(two_kinds(fields[ids[0]].name(), fields[ids[1]].name()));
        }
        let has_names = kinds.contains(&Some(Kind::Names));
        let weight = asked.weight(known, ids).map_err(|problem| problem.reason());
        let weight = weight.and_then(|weight| {
            match (fields[weight].data_type(), kind_of(fields[weight].data_type())) {
                (_, Some(Kind::Integers | Kind::Floats)) | (DataType::Null, _) => Ok(weight),
                (other, _) => Err(no_weights(fields[weight].name(), other)),
            }
        });
        Ok(Self { ids, has_names, weight })
    }
}

struct Once<'a> {
    /// The columns, or the reason why there are none.
    columns: Result<Columns, String>,
    reader: Mutex<Option<Reader<'a>>>,
}

impl OpenRows for Once<'_> {
    fn has_names(&self) -> bool {
        self.columns.as_ref().is_ok_and(|columns| columns.has_names)
    }

    fn check(&self, weights: Option<WeightType>) -> Result<(), String> {
        let columns = self.columns.as_ref().map_err(String::clone)?;
        if weights.is_some() { columns.weight.clone().map(drop) } else { Ok(()) }
    }

    fn open(&self, weights: Option<WeightType>) -> Option<RowReader<'_>> {
        let columns = self.columns.clone().ok()?;
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut batches = Batches { reader, columns, weights, batch: None, at: 0, row: 1 };
        Some(rows::stream(move |rows| batches.put(rows)))
    }
}

struct Batches<'a> {
    reader: Reader<'a>,
    columns: Columns,
    weights: Option<WeightType>,
    batch: Option<RecordBatch>,
    at: usize,
    row: u64,
}

impl Batches<'_> {
    /// Appends the next rows; none at the end.
    fn put(&mut self, rows: &mut Vec<u8>) -> io::Result<()> {
        let batch = loop {
            match self.batch.take() {
                Some(batch) if self.at < batch.num_rows() => break batch,
                _ => self.at = 0,
            }
            match self.reader.next() {
                Some(batch) => self.batch = Some(batch.map_err(io::Error::other)?),
                None => return Ok(()),
            }
        };
        let put = self.put_chunk(&batch, rows);
        self.at += put.map_err(|(at, reason)| row_error(self.row + at as u64, reason))?;
        self.batch = Some(batch);
        Ok(())
    }

    /// Appends rows of a batch. Returns their number.
    fn put_chunk(&mut self, batch: &RecordBatch, rows: &mut Vec<u8>) -> Result<usize, WrongRow> {
        let count = CHUNK_ROWS.min(batch.num_rows() - self.at);
        let column = |place: usize| match batch.columns().get(place) {
            Some(column) => Ok(column.slice(self.at, count)),
            None => Err((0, format!("the batch has no column {}", place + 1))),
        };
        let [source, target] = [column(self.columns.ids[0])?, column(self.columns.ids[1])?];
        let weights = match (self.weights, &self.columns.weight) {
            (Some(kind), Ok(place)) => Some(Values::of(&column(*place)?)?.weights(kind)?),
            _ => None,
        };
        let (source, target) = (Values::of(&source)?, Values::of(&target)?);
        let edges = EdgeColumns { source: source.ids()?, target: target.ids()?, weights };
        for ids in [&edges.source, &edges.target] {
            if matches!(ids, IdColumn::Names(_)) != self.columns.has_names {
                let kind = if self.columns.has_names { "strings" } else { "integers" };
                return Err((0, other_type(format!("{kind}, as the schema says"))));
            }
        }
        let count = edges.put(rows, STREAM_BYTES)?;
        self.row += count as u64;
        Ok(count)
    }
}

fn other_type(expected: impl Display) -> String {
    format!("expected {expected}, found a column of another type")
}

/// Refuses a column that has no ids.
pub(crate) fn check_ids(field: &Field) -> Result<(), String> {
    match kind_of(field.data_type()) {
        Some(Kind::Integers | Kind::Names) => Ok(()),
        _ => Err(format!("the column `{}` has no ids, but {}", field.name(), field.data_type())),
    }
}

/// The ids of a column.
pub(crate) fn ids_of(column: &ArrayRef) -> Result<IdColumn<&[u8]>, WrongRow> {
    Values::of(column)?.ids()
}

struct Values<'c> {
    /// The column, or the values of its dictionary.
    values: &'c ArrayRef,
    /// Index into `values` for each row.
    places: Vec<usize>,
}

impl<'c> Values<'c> {
    fn of(column: &'c ArrayRef) -> Result<Self, WrongRow> {
        let null = || column.logical_nulls()?.iter().position(|is_valid| !is_valid);
        if let Some(at) = null() {
            return Err((at, NULL.to_owned()));
        }
        match column.as_any_dictionary_opt() {
            Some(dictionary) if dictionary.values().is_empty() => {
                Err((0, "its dictionary is empty".to_owned()))
            }
            Some(dictionary) => {
                Ok(Self { values: dictionary.values(), places: dictionary.normalized_keys() })
            }
            None => Ok(Self { values: column, places: (0..column.len()).collect() }),
        }
    }

    fn ids(&self) -> Result<IdColumn<&'c [u8]>, WrongRow> {
        let ids = match self.values.data_type() {
            DataType::Int8 => integer_ids(self.numbers::<Int8Type>()),
            DataType::Int16 => integer_ids(self.numbers::<Int16Type>()),
            DataType::Int32 => integer_ids(self.numbers::<Int32Type>()),
            DataType::Int64 => integer_ids(self.numbers::<Int64Type>()),
            DataType::UInt8 => integer_ids(self.numbers::<UInt8Type>()),
            DataType::UInt16 => integer_ids(self.numbers::<UInt16Type>()),
            DataType::UInt32 => integer_ids(self.numbers::<UInt32Type>()),
            DataType::UInt64 => integer_ids(self.numbers::<UInt64Type>()),
            DataType::Utf8 => return Ok(self.names(self.values.as_string::<i32>())),
            DataType::LargeUtf8 => return Ok(self.names(self.values.as_string::<i64>())),
            DataType::Utf8View => return Ok(self.names(self.values.as_string_view())),
            other => Err((0, other_type(format!("ids, not {other}")))),
        };
        ids.map(IdColumn::Integers)
    }

    fn weights(&self, kind: WeightType) -> Result<Vec<u64>, WrongRow> {
        match self.values.data_type() {
            DataType::Int8 => ordered_weights(self.numbers::<Int8Type>(), kind),
            DataType::Int16 => ordered_weights(self.numbers::<Int16Type>(), kind),
            DataType::Int32 => ordered_weights(self.numbers::<Int32Type>(), kind),
            DataType::Int64 => ordered_weights(self.numbers::<Int64Type>(), kind),
            DataType::UInt8 => ordered_weights(self.numbers::<UInt8Type>(), kind),
            DataType::UInt16 => ordered_weights(self.numbers::<UInt16Type>(), kind),
            DataType::UInt32 => ordered_weights(self.numbers::<UInt32Type>(), kind),
            DataType::UInt64 => ordered_weights(self.numbers::<UInt64Type>(), kind),
            DataType::Float32 => ordered_weights(self.numbers::<Float32Type>(), kind),
            DataType::Float64 => ordered_weights(self.numbers::<Float64Type>(), kind),
            other => Err((0, other_type(format!("weights, not {other}")))),
        }
    }

    fn numbers<T: ArrowPrimitiveType>(&self) -> impl Iterator<Item = T::Native> {
        let values = self.values.as_primitive::<T>().values();
        self.places.iter().map(|&place| values[place])
    }

    fn names(&self, values: impl ArrayAccessor<Item = &'c str>) -> IdColumn<&'c [u8]> {
        let name = |&place: &usize| values.value(place).as_bytes();
        IdColumn::Names(self.places.iter().map(name).collect())
    }
}

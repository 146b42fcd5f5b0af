//! Parquet: two columns of integers or strings, and maybe one of weights, one row group after the
//! other.

use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::delimited::{choose, choose_weight};
use crate::config::InputSpec;
use crate::error::{ImportError, Result};
use crate::head::Problem;
use crate::input::input_error;
use cenote_store::WeightType;

/// Rows fetched at a time: a share of a block.
const BATCH: usize = 4096;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    I32 { signed: bool },
    I64 { signed: bool },
    Text,
    F32,
    F64,
}

/// An open Parquet file and its columns.
pub struct Columns {
    reader: SerializedFileReader<File>,
    name: String,
    /// Source, target and, where weights are imported, weight.
    places: Vec<usize>,
    kinds: Vec<Kind>,
    weights: Option<WeightType>,
    bytes: u64,
}

/// Opens a Parquet file and finds its columns.
pub fn open(spec: &InputSpec, weights: Option<WeightType>) -> Result<Columns> {
    let name = spec.name();
    if spec.is_stdin() {
        let reason = "Parquet cannot be read from a pipe; give a file".to_owned();
        return Err(ImportError::Format { input: name, reason });
    }
    let file = File::open(&spec.path).map_err(input_error(&name, "open"))?;
    let meta = file.metadata().map_err(input_error(&name, "examine"))?;
    let bytes = meta.len();
    let reader = SerializedFileReader::new(file).map_err(|e| broken(&name, &e))?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let flat: Vec<usize> =
        (0..schema.num_columns()).filter(|&i| schema.column(i).max_rep_level() == 0).collect();
    let names: Vec<String> = flat.iter().map(|&i| schema.column(i).path().string()).collect();
    let refused = |problem| {
        let reason = match problem {
            Problem::Line(expected) => format!("expected {expected}"),
            Problem::Whole(reason) => reason,
        };
        ImportError::Format { input: name.clone(), reason }
    };
    let (source, target) = choose(spec, &names, flat.len()).map_err(refused)?;
    let mut places = vec![flat[source], flat[target]];
    let kind = |at: usize| kind_of(&schema.column(at), &name);
    let mut kinds = vec![kind(places[0])?, kind(places[1])?];
    if (kinds[0] == Kind::Text) != (kinds[1] == Kind::Text) {
        let reason = "one id column holds integers, the other strings".to_owned();
        return Err(ImportError::Format { input: name, reason });
    }
    if weights.is_some() {
        let place = choose_weight(spec, &names, flat.len(), source, target).map_err(refused)?;
        places.push(flat[place]);
        kinds.push(weight_kind_of(&schema.column(flat[place]), &name)?);
    }
    Ok(Columns { reader, name, places, kinds, weights, bytes })
}

fn broken(name: &str, error: &ParquetError) -> ImportError {
    let reason = format!("is no readable Parquet file (damaged or cut off?): {error}");
    ImportError::Format { input: name.to_owned(), reason }
}

fn kind_of(column: &ColumnDescriptor, name: &str) -> Result<Kind> {
    let unsigned = matches!(
        column.logical_type_ref(),
        Some(LogicalType::Integer(kind)) if !kind.is_signed
    ) || matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    match column.physical_type() {
        parquet::basic::Type::INT32 => Ok(Kind::I32 { signed: !unsigned }),
        parquet::basic::Type::INT64 => Ok(Kind::I64 { signed: !unsigned }),
        parquet::basic::Type::BYTE_ARRAY => Ok(Kind::Text),
        other => Err(ImportError::Format {
            input: name.to_owned(),
            reason: format!(
                "column {} holds {other}; ids are integers or strings (choose others with \
                 `source_column` and `target_column`)",
                column.path().string()
            ),
        }),
    }
}

fn weight_kind_of(column: &ColumnDescriptor, name: &str) -> Result<Kind> {
    match column.physical_type() {
        parquet::basic::Type::FLOAT => Ok(Kind::F32),
        parquet::basic::Type::DOUBLE => Ok(Kind::F64),
        parquet::basic::Type::INT32 | parquet::basic::Type::INT64 => kind_of(column, name),
        other => Err(ImportError::Format {
            input: name.to_owned(),
            reason: format!(
                "column {} holds {other}; weights are numbers (choose another with \
                 `weight_column`)",
                column.path().string()
            ),
        }),
    }
}

impl Columns {
    /// Number of row groups.
    pub fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Whether ids are strings.
    pub fn names(&self) -> bool {
        self.kinds[0] == Kind::Text
    }

    /// Bytes of the file for each row group, for progress.
    pub fn group_bytes(&self) -> u64 {
        self.bytes / self.groups().max(1) as u64
    }

    /// Opens a row group.
    pub fn group(&self, index: usize) -> Result<Group<'_>> {
        let wrap = |e: ParquetError| broken(&self.name, &e);
        let group = self.reader.get_row_group(index).map_err(wrap)?;
        let open = |&place: &usize| group.get_column_reader(place).map_err(wrap);
        let readers = self.places.iter().map(open).collect::<Result<_>>()?;
        Ok(Group { columns: self, readers })
    }
}

/// A row group on its way through.
pub struct Group<'a> {
    columns: &'a Columns,
    readers: Vec<ColumnReader>,
}

/// A batch of one column.
enum Batch {
    Integers(Vec<u64>),
    Texts(Vec<ByteArray>),
}

impl Batch {
    fn len(&self) -> usize {
        match self {
            Batch::Integers(values) => values.len(),
            Batch::Texts(values) => values.len(),
        }
    }
}

impl Group<'_> {
    /// Puts rows into the buffer until it holds about `limit` bytes: integers as pairs of `u64`,
    /// strings as a length (`u32`) and their bytes; a weight follows as ordered bits. Returns the
    /// rows, 0 at the end.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, limit: usize, first_row: u64) -> Result<u64> {
        let mut rows = 0;
        let batch = BATCH.min(limit / 24).max(1);
        while buffer.len() + batch * 24 <= limit {
            let row = first_row + rows;
            let [source, target] = [self.batch(0, batch, row)?, self.batch(1, batch, row)?];
            let weights = match self.columns.weights {
                Some(kind) => Some(self.weights(kind, batch, row)?),
                None => None,
            };
            let weight = |at: usize| weights.as_ref().map(|weights| weights[at].to_le_bytes());
            if source.len() != target.len()
                || weights.as_ref().is_some_and(|weights| weights.len() != source.len())
            {
                let e = ParquetError::General("columns differ in length".to_owned());
                return Err(broken(&self.columns.name, &e));
            }
            if source.len() == 0 {
                break;
            }
            rows += source.len() as u64;
            match (source, target) {
                (Batch::Integers(sources), Batch::Integers(targets)) => {
                    for (at, (source, target)) in sources.iter().zip(&targets).enumerate() {
                        buffer.extend_from_slice(&source.to_le_bytes());
                        buffer.extend_from_slice(&target.to_le_bytes());
                        buffer.extend(weight(at).into_iter().flatten());
                    }
                }
                (Batch::Texts(sources), Batch::Texts(targets)) => {
                    for (at, (source, target)) in sources.iter().zip(&targets).enumerate() {
                        for text in [source, target] {
                            let len = u32::try_from(text.len()).unwrap_or(u32::MAX);
                            buffer.extend_from_slice(&len.to_le_bytes());
                            buffer.extend_from_slice(text.data());
                        }
                        buffer.extend(weight(at).into_iter().flatten());
                    }
                }
                _ => unreachable!("`open` demands two columns of a kind"),
            }
        }
        Ok(rows)
    }

    /// Weights of the next rows, as ordered bits.
    fn weights(&mut self, kind: WeightType, rows: usize, first_row: u64) -> Result<Vec<u64>> {
        let name = &self.columns.name;
        let ordered: Vec<Option<u64>> = match &mut self.readers[2] {
            ColumnReader::FloatColumnReader(reader) => {
                let values = read::<FloatType>(reader, rows, first_row, name)?;
                values.iter().map(|&value| kind.of_f64(value.into())).collect()
            }
            ColumnReader::DoubleColumnReader(reader) => {
                let values = read::<DoubleType>(reader, rows, first_row, name)?;
                values.iter().map(|&value| kind.of_f64(value)).collect()
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let signed = self.columns.kinds[2] == Kind::I32 { signed: true };
                let wide = |v: i32| if signed { v.into() } else { i128::from(v.cast_unsigned()) };
                let values = read::<Int32Type>(reader, rows, first_row, name)?;
                values.iter().map(|&value| kind.of_integer(wide(value))).collect()
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let signed = self.columns.kinds[2] == Kind::I64 { signed: true };
                let wide = |v: i64| if signed { v.into() } else { i128::from(v.cast_unsigned()) };
                let values = read::<Int64Type>(reader, rows, first_row, name)?;
                values.iter().map(|&value| kind.of_integer(wide(value))).collect()
            }
            _ => unreachable!("`open` demands numbers"),
        };
        let refused = |at| ImportError::Row {
            input: name.clone(),
            row: first_row + at as u64,
            reason: format!("expected a weight: {}", kind.expected()),
        };
        ordered.iter().enumerate().map(|(at, bits)| bits.ok_or_else(|| refused(at))).collect()
    }

    fn batch(&mut self, which: usize, rows: usize, first_row: u64) -> Result<Batch> {
        let name = &self.columns.name;
        let kind = self.columns.kinds[which];
        match &mut self.readers[which] {
            ColumnReader::Int32ColumnReader(reader) => {
                let values = read::<Int32Type>(reader, rows, first_row, name)?;
                integers(&values, kind, first_row, name, |v| u64::from(v as u32))
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let values = read::<Int64Type>(reader, rows, first_row, name)?;
                integers(&values, kind, first_row, name, |v| v as u64)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                read::<ByteArrayType>(reader, rows, first_row, name).map(Batch::Texts)
            }
            _ => unreachable!("`open` demands integers or strings"),
        }
    }
}

fn integers<T: Copy + Into<i64>>(
    values: &[T],
    kind: Kind,
    first_row: u64,
    name: &str,
    unsigned: impl Fn(T) -> u64,
) -> Result<Batch> {
    let signed = matches!(kind, Kind::I32 { signed: true } | Kind::I64 { signed: true });
    if signed && let Some(at) = values.iter().position(|&value| value.into() < 0) {
        let value: i64 = values[at].into();
        let reason = format!("expected an integer id from 0 to {}, found {value}", i64::MAX);
        return Err(ImportError::Row {
            input: name.to_owned(),
            row: first_row + at as u64,
            reason,
        });
    }
    Ok(Batch::Integers(values.iter().map(|&value| unsigned(value)).collect()))
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    first_row: u64,
    name: &str,
) -> Result<Vec<T::T>> {
    let mut values = Vec::with_capacity(rows);
    let mut levels = Vec::new();
    // A page may end within the batch; both columns must give the same rows.
    let mut got = 0;
    while got < rows {
        let (records, _, _) = reader
            .read_records(rows - got, Some(&mut levels), None, &mut values)
            .map_err(|e| broken(name, &e))?;
        if records == 0 {
            break;
        }
        got += records;
    }
    if values.len() != got {
        let at = levels.iter().position(|&level| level < levels.iter().copied().max().unwrap_or(1));
        let row = first_row + at.unwrap_or(0) as u64;
        let reason = "expected two ids (and a weight, where asked for), found null".to_owned();
        return Err(ImportError::Row { input: name.to_owned(), row, reason });
    }
    Ok(values)
}

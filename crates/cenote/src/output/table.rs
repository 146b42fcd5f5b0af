//! The values of all vertices in a file, keyed by the user's ids: Parquet, CSV or npy.
//!
//! Columns: `vertex`, then the algorithm's. An answer whose rows are not vertices, such as edges,
//! names the first column itself ([`Listed`]). A missing value (the level of an unreached vertex)
//! is null in Parquet, empty in CSV and -1 in npy (NaN in columns of floats).

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use cenote_engine::VertexId;
use cenote_import::output::Occupant;
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, IdTable, Ids};
use npyz::{DType, WriteOptions, WriterBuilder};
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::OutputFile;
use crate::error::{Error, Result};
use crate::graph::StoredGraph;

/// Rows formatted at a time.
pub(crate) const BATCH: u32 = 1 << 16;

type Get<'a, T> = Box<dyn Fn(VertexId) -> T + 'a>;

/// The first column of a table of all vertices.
pub(crate) const VERTEX: &str = "vertex";

/// The rows of an answer that has not one for each vertex, but a list of its own. Its columns are
/// those of the row with a number, not of a vertex.
pub struct Listed<'a> {
    /// The name of the first column, which holds a vertex.
    pub key: &'static str,
    /// How many rows there are.
    pub count: u32,
    /// The vertex of each row.
    pub vertex: Get<'a, VertexId>,
}

/// A column of values.
pub enum Column<'a> {
    /// Optional integers.
    Count(&'static str, Get<'a, Option<u64>>),
    /// Integers below zero, too.
    Signed(&'static str, Get<'a, i64>),
    /// Optional vertices, written as the user's ids.
    Vertex(&'static str, Get<'a, Option<VertexId>>),
    /// Floating-point numbers.
    Real(&'static str, Get<'a, f64>),
    /// Optional floating-point numbers.
    Measure(&'static str, Get<'a, Option<f64>>),
}

impl<'a> Column<'a> {
    /// Optional integers.
    pub fn count(name: &'static str, get: impl Fn(VertexId) -> Option<u64> + 'a) -> Self {
        Column::Count(name, Box::new(get))
    }

    /// Integers below zero, too.
    pub fn signed(name: &'static str, get: impl Fn(VertexId) -> i64 + 'a) -> Self {
        Column::Signed(name, Box::new(get))
    }

    /// Optional vertices, written as the user's ids.
    pub fn vertex(name: &'static str, get: impl Fn(VertexId) -> Option<VertexId> + 'a) -> Self {
        Column::Vertex(name, Box::new(get))
    }

    /// Floating-point numbers.
    pub fn real(name: &'static str, get: impl Fn(VertexId) -> f64 + 'a) -> Self {
        Column::Real(name, Box::new(get))
    }

    /// Optional floating-point numbers.
    pub fn measure(name: &'static str, get: impl Fn(VertexId) -> Option<f64> + 'a) -> Self {
        Column::Measure(name, Box::new(get))
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Column::Count(name, _)
            | Column::Signed(name, _)
            | Column::Vertex(name, _)
            | Column::Real(name, _)
            | Column::Measure(name, _) => name,
        }
    }
}

/// An error of a writer.
type Failure = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Written<T = ()> = std::result::Result<T, Failure>;
type Format = fn(OutputFile, &Table<'_>) -> Written<OutputFile>;

/// Checks, before a run, that values of this graph can be written to `path`.
pub fn check(path: &Path, graph: &StoredGraph) -> Result<()> {
    check_kind(path, graph.superblock().ids)
}

/// Checks that values can be written to `path` with ids of this kind.
pub fn check_kind(path: &Path, ids: IdKind) -> Result<()> {
    let is_npy = std::ptr::fn_addr_eq(writer_of(path)?, write_npy as Format);
    if is_npy && ids == IdKind::Strings {
        return Err(Error::input(path, "npy has no place for names: write .parquet or .csv"));
    }
    Ok(())
}

fn writer_of(path: &Path) -> Result<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    Ok(match ending.to_ascii_lowercase().as_str() {
        "csv" => write_csv,
        "parquet" => write_parquet,
        "npy" => write_npy,
        // A stream has no ending.
        "" if super::check(path, &[""; 0])? == Occupant::Stream => write_csv,
        _ => {
            let reason = "the ending names no result format: expected .parquet, .csv or .npy";
            return Err(Error::input(path, reason));
        }
    })
}

/// The vertices that a table has rows of, by the ascending order of their ids.
pub trait Rows {
    /// The name of the first column.
    fn key(&self) -> &'static str {
        VERTEX
    }

    /// The kind of the ids.
    fn kind(&self) -> IdKind;

    /// The end of the ranks: those of deleted vertices, which have no row, included.
    fn end(&self) -> VertexId;

    /// Number of rows.
    fn count(&self) -> u64;

    /// Calls `visit` with the vertices of a range of ranks and their ids.
    fn for_each(
        &self,
        ranks: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Written,
    ) -> Written;

    /// The id of a vertex that is the value in a column.
    fn name_of(&self, v: VertexId) -> IdRef<'_>;
}

/// The vertices of a graph.
struct OfGraph {
    ids: Ids,
    names: Option<IdTable>,
}

impl Rows for OfGraph {
    fn kind(&self) -> IdKind {
        self.ids.kind()
    }

    fn end(&self) -> VertexId {
        u32::try_from(self.ids.vertices()).expect("vertex ids are u32")
    }

    fn count(&self) -> u64 {
        self.ids.live_vertices()
    }

    fn for_each(
        &self,
        ranks: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Written,
    ) -> Written {
        self.ids.for_each(ranks, visit)
    }

    fn name_of(&self, v: VertexId) -> IdRef<'_> {
        self.names.as_ref().expect("loaded where a column holds vertices").get(v)
    }
}

/// The rows of a list of its own.
struct OfList<'a> {
    kind: IdKind,
    listed: Listed<'a>,
    names: IdTable,
}

impl Rows for OfList<'_> {
    fn key(&self) -> &'static str {
        self.listed.key
    }

    fn kind(&self) -> IdKind {
        self.kind
    }

    fn end(&self) -> VertexId {
        self.listed.count
    }

    fn count(&self) -> u64 {
        self.listed.count.into()
    }

    fn for_each(
        &self,
        rows: Range<VertexId>,
        visit: &mut dyn FnMut(VertexId, IdRef<'_>) -> Written,
    ) -> Written {
        rows.into_iter().try_for_each(|row| visit(row, self.names.get((self.listed.vertex)(row))))
    }

    fn name_of(&self, v: VertexId) -> IdRef<'_> {
        self.names.get(v)
    }
}

/// Writes the columns for every vertex, or those of a list of rows, in a Parquet file with the
/// metadata; the format is the extension of `path`, CSV for a stream without one. Calls `check`
/// between batches of rows; an error of it ends the writing. Returns the bytes written.
pub fn write(
    path: &Path,
    inputs: &[impl AsRef<Path>],
    graph: &StoredGraph,
    (listed, columns, metadata): (Option<Listed<'_>>, &[Column<'_>], Vec<(&'static str, String)>),
    check: &dyn Fn() -> Result<()>,
) -> Result<u64> {
    let ids = graph.ids()?;
    if let Some(listed) = listed {
        let rows = OfList { kind: ids.kind(), listed, names: ids.load()? };
        let table = Table { rows: &rows, columns, metadata, check };
        return write_rows(path, inputs, &table);
    }
    // In memory, because columns of vertices are looked up in random order.
    let names = match columns.iter().any(|column| matches!(column, Column::Vertex(..))) {
        true => Some(ids.load()?),
        false => None,
    };
    let rows = OfGraph { ids, names };
    write_rows(path, inputs, &Table { rows: &rows, columns, metadata, check })
}

/// Writes a table. Returns the bytes written.
pub fn write_rows(path: &Path, inputs: &[impl AsRef<Path>], table: &Table<'_>) -> Result<u64> {
    let format = writer_of(path)?;
    let written = format(OutputFile::create(path, inputs)?, table);
    written.map_err(|failure| failed(path, failure))?.finish()
}

/// Converts the error of a writer of `path`.
pub(super) fn failed(path: &Path, failure: Failure) -> Error {
    let context = format!("cannot write {}", path.display());
    let failure = match failure.downcast::<Error>() {
        Ok(own) => return *own,
        Err(other) => other,
    };
    let failure = match failure.downcast::<cenote_store::StoreError>() {
        Ok(error) => return (*error).into(),
        Err(other) => other,
    };
    let failure = match failure.downcast::<ParquetError>() {
        Ok(error) => match *error {
            ParquetError::External(cause) => cause,
            other => other.into(),
        },
        Err(other) => other,
    };
    match failure.downcast::<io::Error>() {
        Ok(source) => Error::from_io(context, *source),
        Err(other) => Error::Io { context, source: io::Error::other(other) },
    }
}

/// The values and the ids to write.
pub struct Table<'a> {
    /// The vertices.
    pub rows: &'a dyn Rows,
    /// The columns beside the ids.
    pub columns: &'a [Column<'a>],
    /// Of a Parquet file.
    pub metadata: Vec<(&'static str, String)>,
    /// Returns an error if the caller cancels.
    pub check: &'a dyn Fn() -> Result<()>,
}

impl Table<'_> {
    fn name_of(&self, v: VertexId) -> IdRef<'_> {
        self.rows.name_of(v)
    }

    /// Batches of ranks; an error if the caller cancels.
    fn batches(&self) -> impl Iterator<Item = Result<Range<VertexId>>> + '_ {
        let end = self.rows.end();
        (0..end).step_by(BATCH as usize).map(move |first| {
            (self.check)()?;
            Ok(first..first.saturating_add(BATCH).min(end))
        })
    }
}

fn write_csv(file: OutputFile, table: &Table<'_>) -> Written<OutputFile> {
    let mut csv = csv::Writer::from_writer(BufWriter::with_capacity(1 << 20, file));
    csv.write_field(table.rows.key())?;
    csv.write_record(table.columns.iter().map(Column::name))?;
    for batch in table.batches() {
        table.rows.for_each(batch?, &mut |v, id| -> Written {
            csv.write_field(id.to_string())?;
            csv.write_record(table.columns.iter().map(|column| match column {
                Column::Count(_, get) => get(v).map_or(String::new(), |n| n.to_string()),
                Column::Signed(_, get) => get(v).to_string(),
                Column::Vertex(_, get) => {
                    get(v).map_or(String::new(), |v| table.name_of(v).to_string())
                }
                Column::Real(_, get) => get(v).to_string(),
                Column::Measure(_, get) => get(v).map_or(String::new(), |n| n.to_string()),
            }))?;
            Ok(())
        })?;
    }
    let buffered = csv.into_inner().map_err(|error| error.into_error())?;
    Ok(buffered.into_inner().map_err(|error| error.into_error())?)
}

// ------------------------------------------------------------------------------------------------
// Parquet

fn write_parquet(file: OutputFile, table: &Table<'_>) -> Written<OutputFile> {
    let names = table.rows.kind() == IdKind::Strings;
    let schema = parquet_schema(table, names)?;
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(WriterProperties::default()))?;
    for (key, value) in &table.metadata {
        writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
    }
    for batch in table.batches() {
        let batch = batch?;
        let mut group = writer.next_row_group()?;
        let mut ids = IdValues::new(names);
        // In the order of their ids.
        let mut batch_vertices = Vec::with_capacity(batch.len());
        table.rows.for_each(batch, &mut |v, id| -> Written {
            ids.push(Some(id));
            batch_vertices.push(v);
            Ok(())
        })?;
        ids.write(&mut group, false)?;
        let vertices = || batch_vertices.iter().copied();
        for column in table.columns {
            match column {
                Column::Count(_, get) => {
                    let mut values = IdValues::new(false);
                    vertices().for_each(|v| values.push(get(v).map(IdRef::Integer)));
                    values.write(&mut group, true)?;
                }
                Column::Signed(_, get) => {
                    let mut values = IdValues::new(false);
                    // Parquet's integers are signed.
                    let bits = |v| Some(IdRef::Integer(get(v).cast_unsigned()));
                    vertices().for_each(|v| values.push(bits(v)));
                    values.write(&mut group, false)?;
                }
                Column::Vertex(_, get) => {
                    let mut values = IdValues::new(names);
                    vertices().for_each(|v| values.push(get(v).map(|v| table.name_of(v))));
                    values.write(&mut group, true)?;
                }
                Column::Real(_, get) => {
                    write_numbers(&mut group, vertices().map(|v| Some(get(v))), false)?;
                }
                Column::Measure(_, get) => write_numbers(&mut group, vertices().map(get), true)?,
            }
        }
        group.close()?;
    }
    Ok(writer.into_inner()?)
}

/// The schema of a table, whose ids are names or integers.
fn parquet_schema(table: &Table<'_>, names: bool) -> Written<Type> {
    let typed = |name, physical, repetition| {
        Type::primitive_type_builder(name, physical).with_repetition(repetition)
    };
    let id_column = |name, repetition| {
        let (physical, logical) = if names {
            (PhysicalType::BYTE_ARRAY, LogicalType::String)
        } else {
            (PhysicalType::INT64, LogicalType::integer(64, false))
        };
        typed(name, physical, repetition).with_logical_type(Some(logical))
    };
    let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
    let (whole, real) = (PhysicalType::INT64, PhysicalType::DOUBLE);
    let mut fields = vec![Arc::new(id_column(table.rows.key(), required).build()?)];
    for column in table.columns {
        let field = match column {
            Column::Count(name, _) => typed(name, whole, optional),
            Column::Signed(name, _) => typed(name, whole, required),
            Column::Vertex(name, _) => id_column(name, optional),
            Column::Real(name, _) => typed(name, real, required),
            Column::Measure(name, _) => typed(name, real, optional),
        };
        fields.push(Arc::new(field.build()?));
    }
    Ok(Type::group_type_builder("result").with_fields(fields).build()?)
}

/// Writes a column of numbers, with nulls if it is optional.
fn write_numbers<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    numbers: impl Iterator<Item = Option<f64>> + Clone,
    optional: bool,
) -> Written {
    let present: Vec<i16> = numbers.clone().map(|number| i16::from(number.is_some())).collect();
    let values: Vec<f64> = numbers.flatten().collect();
    let mut column = group.next_column()?.ok_or("the schema has the column")?;
    let present = optional.then_some(present.as_slice());
    column.typed::<DoubleType>().write_batch(&values, present, None)?;
    column.close()?;
    Ok(())
}

/// Values of an id column, with nulls.
struct IdValues {
    integers: Vec<i64>,
    strings: Vec<ByteArray>,
    /// 1 where there is a value, otherwise 0.
    present: Vec<i16>,
    names: bool,
}

impl IdValues {
    fn new(names: bool) -> Self {
        Self { integers: Vec::new(), strings: Vec::new(), present: Vec::new(), names }
    }

    fn push(&mut self, id: Option<IdRef<'_>>) {
        self.present.push(i16::from(id.is_some()));
        match id {
            // Parquet keeps unsigned integers as signed ones of the same bits.
            Some(IdRef::Integer(integer)) => self.integers.push(integer.cast_signed()),
            Some(IdRef::String(string)) => self.strings.push(string.as_bytes().to_vec().into()),
            None => {}
        }
    }

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        optional: bool,
    ) -> Written {
        let mut column = group.next_column()?.ok_or("the schema has the column")?;
        let present = optional.then_some(self.present.as_slice());
        if self.names {
            column.typed::<ByteArrayType>().write_batch(&self.strings, present, None)?;
        } else {
            column.typed::<Int64Type>().write_batch(&self.integers, present, None)?;
        }
        column.close()?;
        Ok(())
    }
}

// ------------------------------------------------------------------------------------------------
// npy

/// Writes a structured array: the first column as `u64`, other columns as `i64` or `f64`.
fn write_npy(file: OutputFile, table: &Table<'_>) -> Written<OutputFile> {
    let fields = table.columns.iter().map(|column| {
        let code =
            if matches!(column, Column::Real(..) | Column::Measure(..)) { "<f8" } else { "<i8" };
        format!(", ('{}', '{code}')", column.name())
    });
    let dtype =
        DType::parse(&format!("[('{}', '<u8'){}]", table.rows.key(), fields.collect::<String>()))?;
    let file = WriteOptions::new_header_only()
        .shape(&[table.rows.count()])
        .dtype(dtype)
        .writer(file)
        .write_header_only()?;
    let mut rows = BufWriter::with_capacity(1 << 20, file);
    for batch in table.batches() {
        table.rows.for_each(batch?, &mut |v, id| -> Written {
            rows.write_all(&integer(id).to_le_bytes())?;
            for column in table.columns {
                rows.write_all(&match column {
                    Column::Count(_, get) => get(v).map_or(-1, u64::cast_signed).to_le_bytes(),
                    Column::Signed(_, get) => get(v).to_le_bytes(),
                    Column::Vertex(_, get) => {
                        get(v).map_or(-1, |v| integer(table.name_of(v)).cast_signed()).to_le_bytes()
                    }
                    Column::Real(_, get) => get(v).to_le_bytes(),
                    Column::Measure(_, get) => get(v).unwrap_or(f64::NAN).to_le_bytes(),
                })?;
            }
            Ok(())
        })?;
    }
    Ok(rows.into_inner().map_err(|error| error.into_error())?)
}

fn integer(id: IdRef<'_>) -> u64 {
    match id {
        IdRef::Integer(integer) => integer,
        IdRef::String(_) => unreachable!("graphs whose ids are names were refused by `check`"),
    }
}

//! Writes the vertices of a graph, with their values, as text or Parquet.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use cenote_store::error::Result;
use cenote_store::graph::Graph;
use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, Value, ValueType, VertexId};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result as Written;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::parquet::parquet_error;
use super::{BUFFER_BYTES, check_text_id, put_id, write_error};

/// Vertices of a row group, which are collected in memory.
const GROUP_VERTICES: usize = 1 << 16;

/// The values of all vertices that have one.
fn values_of(graph: &Graph) -> Result<BTreeMap<VertexId, Value>> {
    let mut values = BTreeMap::new();
    graph.for_each_value(&mut |vertex, value| {
        values.insert(vertex, value);
        Ok(())
    })?;
    Ok(values)
}

/// Writes one vertex a line, by ascending id: the id and, if it has one, its value behind a tab.
/// Returns how many were written and how many have a value. The values are in memory, some 16 bytes
/// each.
pub fn export_vertices(graph: &Graph, out: &mut dyn Write) -> Result<(u64, u64)> {
    let values = values_of(graph)?;
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 256);
    let mut counts = (0, 0);
    graph.ids()?.for_each(0..graph.vertices() as VertexId, |vertex, id| -> Result<()> {
        check_text_id(id, "no format of vertices has a place for it")?;
        put_id(&mut buffer, id);
        if let Some(value) = values.get(&vertex) {
            write!(buffer, "\t{value}").map_err(write_error)?;
            counts.1 += 1;
        }
        buffer.push(b'\n');
        counts.0 += 1;
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer).map_err(write_error)?;
            buffer.clear();
        }
        Ok(())
    })?;
    out.write_all(&buffer).and_then(|()| out.flush()).map_err(write_error)?;
    Ok(counts)
}

/// Writes a Parquet file with one row per vertex, by ascending id: columns `vertex`, unsigned
/// 64-bit integers or strings, and `value`, of the type of the values, null where a vertex has
/// none. Returns how many vertices there are and how many have a value. Memory as
/// [`export_vertices`].
pub fn export_vertices_parquet(graph: &Graph, out: impl Write + Send) -> Result<(u64, u64)> {
    let values = values_of(graph)?;
    let ids = graph.ids()?;
    let id = match ids.kind() {
        IdKind::Strings => "binary vertex (STRING)",
        IdKind::Dense | IdKind::Integers => "int64 vertex (INTEGER(64,false))",
    };
    let value = match graph.superblock().value_type {
        Some(ValueType::F64) => "double value",
        Some(ValueType::I64) => "int64 value",
        Some(ValueType::U64) | None => "int64 value (INTEGER(64,false))",
    };
    let schema = format!("message vertices {{ required {id}; optional {value}; }}");
    let schema = Arc::new(parse_message_type(&schema).map_err(parquet_error)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let writer = SerializedFileWriter::new(out, schema, Arc::new(properties));
    let mut writer = writer.map_err(parquet_error)?;
    let has_numbers = graph.superblock().value_type == Some(ValueType::F64);
    let mut counts = (0, 0);
    let end = graph.vertices() as VertexId;
    for first in (0..end).step_by(GROUP_VERTICES) {
        let mut group = Group::default();
        let ranks = first..first.saturating_add(GROUP_VERTICES as VertexId).min(end);
        ids.for_each(ranks, |vertex, id| -> Result<()> {
            group.push(id, values.get(&vertex).copied());
            Ok(())
        })?;
        counts.0 += group.present.len() as u64;
        counts.1 += group.present.iter().filter(|present| **present > 0).count() as u64;
        let rows = writer.next_row_group().and_then(|mut rows| {
            group.write(&mut rows, has_numbers)?;
            rows.close()
        });
        rows.map_err(parquet_error)?;
    }
    writer.close().map_err(parquet_error)?;
    Ok(counts)
}

/// The vertices of a row group.
#[derive(Default)]
struct Group {
    integers: Vec<i64>,
    strings: Vec<ByteArray>,
    /// 1 where a vertex has a value, else 0.
    present: Vec<i16>,
    whole: Vec<i64>,
    numbers: Vec<f64>,
}

impl Group {
    fn push(&mut self, id: IdRef<'_>, value: Option<Value>) {
        match id {
            IdRef::Integer(integer) => self.integers.push(integer.cast_signed()),
            IdRef::String(string) => self.strings.push(string.as_bytes().to_vec().into()),
        }
        self.present.push(value.is_some().into());
        match value {
            None => {}
            Some(Value::U64(integer)) => self.whole.push(integer.cast_signed()),
            Some(Value::I64(integer)) => self.whole.push(integer),
            Some(Value::F64(number)) => self.numbers.push(number),
        }
    }

    fn write<W: Write + Send>(
        &self,
        rows: &mut SerializedRowGroupWriter<'_, W>,
        has_numbers: bool,
    ) -> Written<()> {
        match self.strings.is_empty() {
            true => write_column::<Int64Type, W>(rows, &self.integers, None)?,
            false => write_column::<ByteArrayType, W>(rows, &self.strings, None)?,
        }
        match has_numbers {
            false => write_column::<Int64Type, W>(rows, &self.whole, Some(&self.present)),
            true => write_column::<DoubleType, W>(rows, &self.numbers, Some(&self.present)),
        }
    }
}

fn write_column<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Written<()> {
    let mut column = rows.next_column()?.expect("the schema has another column");
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}

//! Edges as Parquet: columns `source` and `target`, unsigned 64-bit integers or strings.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{ExportReport, Progress, for_each_edge, write_error};
use crate::VertexId;
use crate::error::{Result, StoreError};
use crate::graph::Graph;
use crate::ids::{IdRef, IdTable};
use crate::superblock::IdKind;

/// Edges that wait in memory for a row group.
const GROUP_EDGES: usize = 1 << 20;
/// Values that are converted at a time.
const BATCH_VALUES: usize = 1 << 13;

const INTEGERS: &str = "message edges {
    required int64 source (INTEGER(64,false));
    required int64 target (INTEGER(64,false));
}";
const STRINGS: &str = "message edges {
    required binary source (STRING);
    required binary target (STRING);
}";

/// Writes a Parquet file with one row per edge, in the user's own ids.
pub fn export_parquet(
    graph: &Graph,
    out: impl Write + Send,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let ids = graph.ids()?;
    let is_strings = ids.kind() == IdKind::Strings;
    let ids = ids.load()?;
    let schema = parse_message_type(if is_strings { STRINGS } else { INTEGERS });
    let schema = Arc::new(schema.map_err(parquet_error)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let writer = SerializedFileWriter::new(out, schema, Arc::new(properties));
    let mut writer = writer.map_err(parquet_error)?;
    let mut group: Vec<[VertexId; 2]> = Vec::new();
    let directed = graph.is_directed();
    let report = for_each_edge(graph, progress, &mut |source, target| {
        let ends = [source, target];
        group.push(if directed { ends } else { ids.in_order(ends) });
        if group.len() == GROUP_EDGES {
            write_group(&mut writer, &group, &ids, is_strings)?;
            group.clear();
        }
        Ok(())
    })?;
    if !group.is_empty() {
        write_group(&mut writer, &group, &ids, is_strings)?;
    }
    writer.close().map_err(parquet_error)?;
    Ok(report)
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    group: &[[VertexId; 2]],
    ids: &IdTable,
    is_strings: bool,
) -> Result<()> {
    let mut rows = writer.next_row_group().map_err(parquet_error)?;
    for column in 0..2 {
        let vertices = group.iter().map(|edge| edge[column]);
        if is_strings {
            let string = |vertex| match ids.get(vertex) {
                IdRef::String(string) => ByteArray::from(string),
                IdRef::Integer(_) => unreachable!("the graph's ids are strings"),
            };
            write_column::<ByteArrayType, _>(&mut rows, vertices.map(string))?;
        } else {
            let integer = |vertex| match ids.get(vertex) {
                IdRef::Integer(integer) => integer.cast_signed(),
                IdRef::String(_) => unreachable!("the graph's ids are integers"),
            };
            write_column::<Int64Type, _>(&mut rows, vertices.map(integer))?;
        }
    }
    rows.close().map(drop).map_err(parquet_error)
}

fn write_column<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    mut values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let column = rows.next_column().map_err(parquet_error)?;
    let mut column = column.expect("the schema has two columns");
    let mut batch = Vec::with_capacity(BATCH_VALUES);
    loop {
        batch.clear();
        batch.extend(values.by_ref().take(BATCH_VALUES));
        if batch.is_empty() {
            return column.close().map_err(parquet_error);
        }
        column.typed::<T>().write_batch(&batch, None, None).map_err(parquet_error)?;
    }
}

/// A failed write keeps its reason: a full disk and a closed pipe are told apart by it.
fn parquet_error(error: ParquetError) -> StoreError {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => write_error(*source),
            Err(other) => write_error(io::Error::other(other)),
        },
        other => write_error(io::Error::other(other)),
    }
}

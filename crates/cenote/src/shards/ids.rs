//! The user's ids of the vertices of a shard, as Parquet: columns `number` and `id`.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use cenote_store::superblock::IdKind;
use cenote_store::{IdRef, StoreError, VertexId};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::numbers::Numbers;
use crate::error::{Error, Result};
use crate::graph::Graph;

/// Vertices of a row group, which are collected in memory.
const GROUP_VERTICES: u64 = 1 << 16;

/// Writes the ids of a range of numbers, ascending.
pub(super) fn write(
    graph: &Graph,
    numbers: &Numbers,
    range: Range<u64>,
    out: impl Write + Send,
) -> Result<()> {
    let ids = graph.kept_ids()?;
    let kind = match ids.kind() {
        IdKind::Strings => "binary id (STRING)",
        IdKind::Dense | IdKind::Integers => "int64 id (INTEGER(64,false))",
    };
    let schema = format!(
        "message vertices {{ required int64 number (INTEGER(64,false)); required {kind}; }}"
    );
    let schema = Arc::new(parse_message_type(&schema).map_err(io_error)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer =
        SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(io_error)?;
    for first in range.clone().step_by(GROUP_VERTICES as usize) {
        let group = first..(first + GROUP_VERTICES).min(range.end);
        // Numbers leave out deleted vertices, ranks do not.
        let rank = |number| match graph.stored().deleted().is_empty() {
            true => Ok(number as VertexId),
            false => ids.rank_of(numbers.vertex(number)),
        };
        let ranks = group.clone().map(rank).collect::<Result<Vec<_>, StoreError>>()?;
        let (mut integers, mut names) = (Vec::new(), Vec::new());
        ids.for_each_of(&ranks, |id| {
            match id {
                IdRef::Integer(integer) => integers.push(integer.cast_signed()),
                IdRef::String(name) => names.push(ByteArray::from(name)),
            }
            Ok::<(), StoreError>(())
        })?;
        let own: Vec<i64> = group.map(u64::cast_signed).collect();
        let rows = writer.next_row_group().and_then(|mut rows| {
            column::<Int64Type, _>(&mut rows, &own)?;
            match names.is_empty() {
                true => column::<Int64Type, _>(&mut rows, &integers)?,
                false => column::<ByteArrayType, _>(&mut rows, &names)?,
            }
            rows.close()
        });
        rows.map_err(io_error)?;
    }
    writer.close().map(drop).map_err(io_error)
}

fn column<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Written<()> {
    let mut column = rows.next_column()?.expect("the schema has another column");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn io_error(error: ParquetError) -> Error {
    let context = "cannot write the ids of a shard".to_owned();
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::from_io(context, *source),
            Err(other) => Error::from_io(context, std::io::Error::other(other)),
        },
        other => Error::from_io(context, std::io::Error::other(other)),
    }
}

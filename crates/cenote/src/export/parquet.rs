//! Edges as Parquet: columns `source` and `target`, unsigned 64-bit integers or strings, and
//! `weight` where the graph has weights.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use cenote_store::edges::{ExportReport, Progress, for_each_edge};

use super::write_error;
use cenote_store::error::{Result, StoreError};
use cenote_store::graph::Graph;
use cenote_store::ids::{IdRef, IdTable};
use cenote_store::superblock::IdKind;
use cenote_store::{VertexId, Weight, WeightType};

/// Edges of a row group, which are collected in memory.
const GROUP_EDGES: usize = 1 << 20;
/// Values converted at a time.
const BATCH_VALUES: usize = 1 << 13;

const INTEGERS: &str = "required int64 source (INTEGER(64,false));
    required int64 target (INTEGER(64,false));";
const STRINGS: &str = "required binary source (STRING);
    required binary target (STRING);";

fn schema_of(is_strings: bool, weights: Option<WeightType>) -> String {
    let ids = if is_strings { STRINGS } else { INTEGERS };
    let weight = match weights {
        None => "",
        Some(WeightType::F32) => "required float weight;",
        Some(WeightType::F64) => "required double weight;",
        Some(WeightType::U32) => "required int32 weight (INTEGER(32,false));",
        Some(WeightType::I64) => "required int64 weight;",
    };
    format!("message edges {{ {ids} {weight} }}")
}

/// Writes a Parquet file with one row per edge, in the user's ids.
pub fn export_parquet(
    graph: &Graph,
    out: impl Write + Send,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let ids = graph.ids()?;
    let is_strings = ids.kind() == IdKind::Strings;
    let ids = ids.load()?;
    let weights = graph.superblock().weights.map(|weights| weights.kind());
    let schema = parse_message_type(&schema_of(is_strings, weights));
    let schema = Arc::new(schema.map_err(parquet_error)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let writer = SerializedFileWriter::new(out, schema, Arc::new(properties));
    let mut writer = writer.map_err(parquet_error)?;
    let mut group = Group::default();
    let directed = graph.is_directed();
    let report = for_each_edge(graph, progress, &mut |source, target, weight| {
        let ends = [source, target];
        group.edges.push(if directed { ends } else { ids.in_order(ends) });
        group.weights.extend(weight);
        if group.edges.len() == GROUP_EDGES {
            write_group(&mut writer, &group, &ids, is_strings)?;
            group.edges.clear();
            group.weights.clear();
        }
        Ok(())
    })?;
    if !group.edges.is_empty() {
        write_group(&mut writer, &group, &ids, is_strings)?;
    }
    writer.close().map_err(parquet_error)?;
    Ok(report)
}

/// The edges of a row group, and their weights, if they have any.
#[derive(Default)]
struct Group {
    edges: Vec<[VertexId; 2]>,
    weights: Vec<Weight>,
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    group: &Group,
    ids: &IdTable,
    is_strings: bool,
) -> Result<()> {
    let mut rows = writer.next_row_group().map_err(parquet_error)?;
    for column in 0..2 {
        let vertices = group.edges.iter().map(|edge| edge[column]);
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
    write_weights(&mut rows, &group.weights)?;
    rows.close().map(drop).map_err(parquet_error)
}

/// Writes the column of weights, which are all of one type; nothing without weights.
fn write_weights<W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    weights: &[Weight],
) -> Result<()> {
    macro_rules! column {
        ($variant:path, $type:ty, $convert:expr) => {{
            let value = |weight: &Weight| match weight {
                $variant(value) => $convert(*value),
                _ => unreachable!("the weights of a graph are of one type"),
            };
            write_column::<$type, _>(rows, weights.iter().map(value))
        }};
    }
    match weights.first() {
        None => Ok(()),
        Some(Weight::F32(_)) => column!(Weight::F32, FloatType, f32::from),
        Some(Weight::F64(_)) => column!(Weight::F64, DoubleType, f64::from),
        Some(Weight::U32(_)) => column!(Weight::U32, Int32Type, u32::cast_signed),
        Some(Weight::I64(_)) => column!(Weight::I64, Int64Type, i64::from),
    }
}

fn write_column<T: DataType, W: Write + Send>(
    rows: &mut SerializedRowGroupWriter<'_, W>,
    mut values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let column = rows.next_column().map_err(parquet_error)?;
    let mut column = column.expect("the schema has another column");
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

/// Keeps the cause of a failed write, such as a full disk or a closed pipe.
pub(super) fn parquet_error(error: ParquetError) -> StoreError {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => write_error(*source),
            Err(other) => write_error(io::Error::other(other)),
        },
        other => write_error(io::Error::other(other)),
    }
}

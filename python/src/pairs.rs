//! Pairs of ids of a table with two columns.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use pyo3::prelude::*;

use crate::arrow::{Reader, reader_of};
use crate::errors::{Failure, invalid};

/// The ids of each pair of a table, as text; `None` of what is no table.
pub fn pairs_of_table(value: &Bound<'_, PyAny>) -> PyResult<Option<Vec<[String; 2]>>> {
    reader_of("pairs", value)?.map(of_table).transpose()
}

fn of_table(table: Reader) -> PyResult<Vec<[String; 2]>> {
    let mut pairs = Vec::new();
    for batch in table {
        let batch = batch.map_err(Failure::from)?;
        let [source, target] = batch.columns() else {
            let count = batch.num_columns();
            return Err(invalid(format!("pairs: a table of {count} columns: expected two of ids")));
        };
        let (sources, targets) = (texts_of(source)?, texts_of(target)?);
        pairs.extend(sources.into_iter().zip(targets).map(<[String; 2]>::from));
    }
    Ok(pairs)
}

/// The ids of a column.
fn texts_of(column: &ArrayRef) -> PyResult<Vec<String>> {
    let texts = match column.data_type() {
        DataType::Int8 => integers::<Int8Type>(column),
        DataType::Int16 => integers::<Int16Type>(column),
        DataType::Int32 => integers::<Int32Type>(column),
        DataType::Int64 => integers::<Int64Type>(column),
        DataType::UInt8 => integers::<UInt8Type>(column),
        DataType::UInt16 => integers::<UInt16Type>(column),
        DataType::UInt32 => integers::<UInt32Type>(column),
        DataType::UInt64 => integers::<UInt64Type>(column),
        DataType::Utf8 => column.as_string::<i32>().iter().map(|id| Some(id?.into())).collect(),
        DataType::LargeUtf8 => {
            column.as_string::<i64>().iter().map(|id| Some(id?.into())).collect()
        }
        DataType::Utf8View => column.as_string_view().iter().map(|id| Some(id?.into())).collect(),
        DataType::Null if column.is_empty() => Some(Vec::new()),
        other => return Err(invalid(format!("pairs: a column of {other}: expected ids"))),
    };
    texts.ok_or_else(|| invalid("pairs: an id is null: leave such pairs out"))
}

/// None if one is null.
fn integers<T: ArrowPrimitiveType<Native: ToString>>(column: &ArrayRef) -> Option<Vec<String>> {
    column.as_primitive::<T>().iter().map(|id| Some(id?.to_string())).collect()
}

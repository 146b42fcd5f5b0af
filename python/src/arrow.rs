//! The Arrow C data interface: capsules of other packages, and our own.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::DataType;
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{Failure, invalid};

pub type Reader = Box<dyn RecordBatchReader + Send>;

/// The batches of the parameter `name`, an object with `__arrow_c_stream__` or
/// `__arrow_c_array__`; `None` if it has neither.
pub fn reader_of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Reader>> {
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = exported(name, object, "__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let reader = taken_stream(&capsule).map_err(|error| {
            let reason = error.value(object.py());
            refused(name, &format!("{reason}; cast the column to Int64, or to strings"))
        })?;
        return Ok(Some(Box::new(reader)));
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = exported(name, object, "__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
        let batch = taken_batch(&schema, &array)?;
        let schema = batch.schema();
        return Ok(Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema))));
    }
    Ok(None)
}

/// Calls a method of the Arrow PyCapsule interface. What the other package refuses, such as a
/// column of several types, is an input that cannot be used.
fn exported<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    method: &str,
) -> PyResult<Bound<'py, PyAny>> {
    object.call_method0(method).map_err(|error| {
        let py = object.py();
        let is_refusal = error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyNotImplementedError>(py);
        if !is_refusal {
            return error;
        }
        let refusal = refused(name, error.value(py));
        refusal.set_cause(py, Some(error));
        refusal
    })
}

/// The error of what is no table in Arrow's format, in one line.
fn refused(name: &str, reason: &impl Display) -> PyErr {
    let reason = reason.to_string();
    let reason = reason.lines().next().unwrap_or_default();
    invalid(format!("{name}: it cannot be read as a table in Arrow's format: {reason}"))
}

fn taken_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<RecordBatchStreamReader> {
    let stream = capsule.pointer_checked(Some(c_str!("arrow_array_stream")))?;
    // SAFETY: a capsule of this name points to a valid `ArrowArrayStream`, by the Arrow PyCapsule
    // interface. It lives as long as the capsule, which outlives this call; `from_raw` moves the
    // stream out and marks the one of the capsule as released.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) };
    Ok(reader.map_err(Failure::from)?)
}

fn taken_batch(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<RecordBatch> {
    let schema = schema.pointer_checked(Some(c_str!("arrow_schema")))?;
    let array = array.pointer_checked(Some(c_str!("arrow_array")))?;
    // SAFETY: capsules of these names point to a valid `ArrowSchema` and `ArrowArray`, by the Arrow
    // PyCapsule interface, which live as long as the capsules. The array is moved out and the one
    // of the capsule marked as released; the schema is only read.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array.as_ptr().cast());
        from_ffi(array, &*schema.as_ptr().cast::<FFI_ArrowSchema>())
    };
    let data = data.map_err(Failure::from)?;
    if !matches!(data.data_type(), DataType::Struct(_)) {
        return Err(invalid("an Arrow array of edges has to be a struct of columns, or a table"));
    }
    if data.null_count() > 0 {
        return Err(invalid("an Arrow array of edges has no row that is null"));
    }
    Ok(RecordBatch::from(StructArray::from(data)))
}

/// The capsule of a stream of batches, for `__arrow_c_stream__`.
pub fn stream_capsule<'py>(py: Python<'py>, reader: Reader) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(reader);
    PyCapsule::new_with_value(py, stream, c_str!("arrow_array_stream"))
}

type Pair<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// The capsules of the type and the values of an array, for `__arrow_c_array__`.
pub fn array_capsules<'py>(py: Python<'py>, array: &Arc<dyn Array>) -> PyResult<Pair<'py>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(Failure::from)?;
    let schema = PyCapsule::new_with_value(py, schema, c_str!("arrow_schema"))?;
    Ok((schema, PyCapsule::new_with_value(py, array, c_str!("arrow_array"))?))
}

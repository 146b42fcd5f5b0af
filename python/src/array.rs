//! Arrays of the library as NumPy arrays, without copies, and strings as Arrow arrays.

use std::any::Any;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::{Array as _, ArrayRef, LargeStringArray};
use cenote::Id;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::array_capsules;

/// Values of all vertices.
#[derive(Clone, Copy)]
pub enum Slice<'a> {
    U8(&'a [u8]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
    F64(&'a [f64]),
}

/// An array that NumPy reads in place (`numpy.asarray`), as long as this object lives.
#[pyclass(frozen, module = "cenote._cenote")]
pub struct Array {
    address: usize,
    len: usize,
    kind: &'static str,
    /// Owns the values.
    _owner: Arc<dyn Any + Send + Sync>,
}

impl Array {
    /// An array of `owner`, which must not move or change it.
    pub fn of(slice: Slice<'_>, owner: Arc<dyn Any + Send + Sync>) -> Self {
        let (address, len, kind) = match slice {
            Slice::U8(values) => (values.as_ptr().addr(), values.len(), "|u1"),
            Slice::U32(values) => (values.as_ptr().addr(), values.len(), "<u4"),
            Slice::U64(values) => (values.as_ptr().addr(), values.len(), "<u8"),
            Slice::I64(values) => (values.as_ptr().addr(), values.len(), "<i8"),
            Slice::F64(values) => (values.as_ptr().addr(), values.len(), "<f8"),
        };
        Self { address, len, kind, _owner: owner }
    }

    pub fn of_bytes(values: Vec<u8>) -> Self {
        let values = Arc::new(values);
        Self::of(Slice::U8(&values), Arc::clone(&values) as _)
    }

    pub fn of_u32(values: Vec<u32>) -> Self {
        let values = Arc::new(values);
        Self::of(Slice::U32(&values), Arc::clone(&values) as _)
    }

    pub fn of_u64(values: Vec<u64>) -> Self {
        let values = Arc::new(values);
        Self::of(Slice::U64(&values), Arc::clone(&values) as _)
    }

    pub fn of_i64(values: Vec<i64>) -> Self {
        let values = Arc::new(values);
        Self::of(Slice::I64(&values), Arc::clone(&values) as _)
    }

    pub fn of_f64(values: Vec<f64>) -> Self {
        let values = Arc::new(values);
        Self::of(Slice::F64(&values), Arc::clone(&values) as _)
    }
}

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.len
    }

    /// NumPy's array interface, version 3: the values are read-only, and an array of them keeps
    /// this object alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.len,))?;
        interface.set_item("typestr", self.kind)?;
        interface.set_item("data", (self.address, true))?;
        Ok(interface)
    }
}

/// Strings in Arrow's format.
#[pyclass(frozen, module = "cenote._cenote")]
pub struct Strings(LargeStringArray);

impl Strings {
    pub fn new(strings: LargeStringArray) -> Self {
        Self(strings)
    }
}

#[pymethods]
impl Strings {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, at: isize) -> PyResult<&str> {
        let len = self.0.len();
        let place = if at < 0 { at + len as isize } else { at };
        match usize::try_from(place) {
            Ok(place) if place < len => Ok(self.0.value(place)),
            _ => Err(PyIndexError::new_err(format!("index {at} of {len} strings"))),
        }
    }

    /// The strings as a list.
    fn to_pylist(&self) -> Vec<Option<&str>> {
        self.0.iter().collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let array: ArrayRef = Arc::new(self.0.clone());
        array_capsules(py, &array)
    }
}

/// Ids of a graph that are being collected: integers or strings.
pub enum IdList {
    Integers(Vec<u64>),
    Strings(LargeStringBuilder),
}

impl IdList {
    pub fn new(has_names: bool) -> Self {
        if has_names {
            Self::Strings(LargeStringBuilder::new())
        } else {
            Self::Integers(Vec::new())
        }
    }

    pub fn push(&mut self, id: cenote::IdRef<'_>) {
        match (self, id) {
            (Self::Integers(ids), cenote::IdRef::Integer(id)) => ids.push(id),
            (Self::Strings(ids), cenote::IdRef::String(id)) => ids.append_value(id),
            _ => unreachable!("the ids of a graph are of one kind"),
        }
    }

    /// An [`Array`] of integers, or [`Strings`].
    pub fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Integers(ids) => Py::new(py, Array::of_u64(ids))?.into_any(),
            Self::Strings(mut ids) => Py::new(py, Strings(ids.finish()))?.into_any(),
        })
    }
}

/// An id as a Python integer or string.
pub fn id_object(py: Python<'_>, id: &Id) -> PyResult<Py<PyAny>> {
    Ok(match id {
        Id::Integer(id) => id.into_pyobject(py)?.into_any().unbind(),
        Id::String(id) => id.into_pyobject(py)?.into_any().unbind(),
    })
}

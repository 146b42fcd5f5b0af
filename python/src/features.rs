//! Features of vertices: files of rows of numbers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cenote::VertexId;
use cenote::features::{FeatureType, FeatureWriter, Features};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::Array;
use crate::call::Call;
use crate::errors::{Failure, invalid};
use crate::graph::PyGraph;

/// A file of features that is being written.
#[pyclass(frozen, module = "cenote._cenote", name = "FeatureWriter")]
pub struct PyFeatureWriter(Mutex<Option<FeatureWriter>>);

impl PyFeatureWriter {
    fn ended() -> Failure {
        Failure::Python(invalid("the file of features has ended"))
    }
}

#[pymethods]
impl PyFeatureWriter {
    /// Creates a file for a graph; `dtype` is the name of a type of NumPy.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        graph: &PyGraph,
        path: PathBuf,
        dtype: &str,
        columns: u32,
    ) -> PyResult<Self> {
        let graph = graph.open_graph()?;
        let kind = FeatureType::NAMES.into_iter().find(|(name, _)| *name == dtype);
        let (_, kind) = kind.ok_or_else(|| {
            let names = FeatureType::NAMES.map(|(name, _)| name).join(", ");
            invalid(format!("dtype is {dtype}: expected one of {names}"))
        })?;
        let writer =
            Call::default().wait(py, None, || Ok(graph.create_features(path, kind, columns)?))?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Adds rows as bytes.
    fn push(&self, py: Python<'_>, rows: &Bound<'_, PyBytes>) -> PyResult<()> {
        let rows = rows.as_bytes();
        Call::default().wait(py, None, || {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(held.as_mut().ok_or_else(Self::ended)?.push(rows)?)
        })
    }

    /// Completes the file. Returns its bytes.
    fn finish(&self, py: Python<'_>) -> PyResult<u64> {
        Call::default().wait(py, None, || {
            let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(writer.ok_or_else(Self::ended)?.finish()?)
        })
    }

    /// Removes a file that is not complete.
    fn close(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// An open file of features.
#[pyclass(frozen, module = "cenote._cenote", name = "Features")]
pub struct PyFeatures(Features);

#[pymethods]
impl PyFeatures {
    /// Opens a file of a graph.
    #[staticmethod]
    fn open(py: Python<'_>, graph: &PyGraph, path: PathBuf) -> PyResult<Self> {
        let graph = graph.open_graph()?;
        Ok(Self(Call::default().wait(py, None, || Ok(graph.features(path)?))?))
    }

    /// A warning from opening it.
    fn warnings(&self) -> Vec<String> {
        self.0.warning().iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.0.rows()
    }

    #[getter]
    fn columns(&self) -> u32 {
        self.0.columns()
    }

    /// The name of the type in NumPy.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.kind().name()
    }

    /// The bytes of the rows of vertices, each the four bytes of a number.
    fn fetch(&self, py: Python<'_>, vertices: &Bound<'_, PyBytes>) -> PyResult<Array> {
        let words = vertices.as_bytes().chunks_exact(4);
        let vertices: Vec<VertexId> =
            words.map(|w| VertexId::from_le_bytes(w.try_into().expect("chunks of 4"))).collect();
        let call = Arc::new(Call::default());
        let is_cancelled = call.canceller();
        let rows = call.wait(py, None, || Ok(self.0.fetch(&vertices, &is_cancelled)?))?;
        Ok(Array::of_bytes(rows))
    }
}

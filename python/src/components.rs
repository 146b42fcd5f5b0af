//! Components straight from edges.

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow_array::RecordBatchReader;
use cenote::components::{ComponentBatches, EdgeComponents};
use cenote::{Components, Error, VertexId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::{AnyAnswer, PyAnswer, json};
use crate::array::{Array, IdList, Slice};
use crate::batches::Raised;
use crate::call::Call;
use crate::errors::{Failure, invalid};
use crate::import::{columns, id_kind, input, size_text};

/// The column of the answer.
const COLUMN: &str = "component";

impl AnyAnswer for EdgeComponents {
    fn algorithm(&self) -> &'static str {
        self.stats().algorithm
    }

    fn vertices(&self) -> usize {
        self.labels.len()
    }

    fn ids(&self) -> Result<IdList, Failure> {
        let mut list = IdList::new(self.ids.integers().is_none());
        (0..self.labels.len() as VertexId).for_each(|vertex| list.push(self.ids.get(vertex)));
        Ok(list)
    }

    fn deleted(&self) -> Vec<VertexId> {
        Vec::new()
    }

    fn stats(&self) -> String {
        json(self.stats())
    }

    fn summary(&self) -> Result<String, Error> {
        Ok(json(&self.summary()))
    }

    fn columns(&self) -> Vec<&'static str> {
        vec![COLUMN]
    }

    fn write(&self, path: PathBuf) -> Result<u64, Error> {
        self.write(path)
    }

    fn values(self: Arc<Self>, column: &str) -> Option<Array> {
        let values = || Array::of(Slice::U32(&self.labels), Arc::clone(&self) as _);
        (column == COLUMN).then(values)
    }

    fn batches(self: Arc<Self>) -> Result<Box<dyn RecordBatchReader + Send>, Error> {
        Ok(Box::new(ComponentBatches::new(self)))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Sets the options, which are not those of columns.
fn with_options(
    mut components: Components<'static>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Components<'static>> {
    for (name, value) in options {
        components = match name.extract::<&str>()? {
            "ids" => components.ids(id_kind(&value)?),
            "memory" => components.memory(size_text(&value)?),
            "threads" => components.threads(value.extract()?),
            "temp_dir" => components.temp_dir(value.extract::<PathBuf>()?),
            "out" => components.out(value.extract::<PathBuf>()?),
            name => {
                return Err(PyTypeError::new_err(format!("components has no option `{name}`")));
            }
        };
    }
    Ok(components)
}

/// The components of edges.
#[pyfunction]
#[pyo3(signature = (inputs, options, progress=None))]
pub fn components(
    py: Python<'_>,
    inputs: Vec<(String, Bound<'_, PyAny>)>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyAnswer> {
    let columns = columns(options)?;
    let mut components = with_options(Components::new(), options)?;
    let raised: Raised = Arc::new(Mutex::new(None));
    let mut is_empty = true;
    for given in &inputs {
        if let Some(input) = input(given, &columns, None, &raised)? {
            (components, is_empty) = (components.input(input), false);
        }
    }
    if is_empty {
        return Err(invalid("edges: no edges and no vertices found"));
    }
    let call = Arc::new(Call::default());
    let (reports, started) = (Arc::clone(&call), Instant::now());
    let components = components.cancel(call.canceller()).progress(move |phase, done, total| {
        reports.report((phase.name(), done, total, started.elapsed().as_secs_f64()));
    });
    let done = call.wait(py, progress.as_ref(), || components.run().map_err(Failure::from));
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => Ok(PyAnswer::new(Arc::new(done?), call)),
    }
}

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

    fn report(&self, _: PathBuf) -> Result<u64, Error> {
        let reason = "components of edges without a graph have no report: import the edges, and \
                      run wcc on the graph";
        Err(Error::Unsupported(reason.into()))
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

/// A step of building, on the thread that runs it.
type Step = Box<dyn FnOnce(Components<'static>) -> Components<'static> + Send>;

fn step(step: impl FnOnce(Components<'static>) -> Components<'static> + Send + 'static) -> Step {
    Box::new(step)
}

/// The step of an option that is not one of columns.
fn option(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Step> {
    Ok(match name {
        "ids" => {
            let kind = id_kind(value)?;
            step(move |components| components.ids(kind))
        }
        "memory" => {
            let memory = size_text(value)?;
            step(move |components| components.memory(memory))
        }
        "threads" => {
            let threads = value.extract()?;
            step(move |components| components.threads(threads))
        }
        "temp_dir" => {
            let folder: PathBuf = value.extract()?;
            step(move |components| components.temp_dir(folder))
        }
        "out" => {
            let path: PathBuf = value.extract()?;
            step(move |components| components.out(path))
        }
        _ => return Err(PyTypeError::new_err(format!("components has no option `{name}`"))),
    })
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
    let mut steps = Vec::new();
    for (name, value) in options {
        steps.push(option(name.extract()?, &value)?);
    }
    let raised: Raised = Arc::new(Mutex::new(None));
    let without_inputs = steps.len();
    for given in &inputs {
        let input = input(given, &columns, None, &raised)?;
        steps.extend(input.map(|input| step(move |components| components.input(input))));
    }
    if steps.len() == without_inputs {
        return Err(invalid("edges: no edges and no vertices found"));
    }
    let call = Arc::new(Call::default());
    let (reports, started) = (Arc::clone(&call), Instant::now());
    let done = call.wait(py, progress.as_ref(), || {
        let components = steps.into_iter().fold(Components::new(), |all, step| step(all));
        let components = components.cancel(call.canceller()).progress(move |phase, done, total| {
            reports.report((phase.name(), done, total, started.elapsed().as_secs_f64()));
        });
        components.run().map_err(Failure::from)
    });
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => Ok(PyAnswer::new(Arc::new(done?), call)),
    }
}

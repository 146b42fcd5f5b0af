//! Components and degrees straight from edges.

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use cenote::components::OfComponents;
use cenote::degrees::OfDegrees;
use cenote::run::Column;
use cenote::straight::{EdgeAnswer, EdgeBatches, Finding, Straight};
use cenote::{Degrees, Error, VertexId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::{AnyAnswer, PyAnswer, json};
use crate::array::{Array, IdList, Slice};
use crate::batches::Raised;
use crate::call::Call;
use crate::errors::Failure;
use crate::import::{columns, id_kind, input};
use crate::options::{at_least_one, path, size};

/// What Python can find straight from edges.
pub trait Found: Finding<Output: Send + Sync, Summary: Send> + Send + Sync + 'static {
    /// The step of an option of its own; `None` if there is none of this name.
    fn option(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Step<Self>>>;

    /// The values of a column, which are in memory.
    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>>;
}

impl Found for OfComponents {
    fn option(_: &str, _: &Bound<'_, PyAny>) -> PyResult<Option<Step<Self>>> {
        Ok(None)
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        (column == "component").then(|| Slice::U32(&output.labels))
    }
}

impl Found for OfDegrees {
    fn option(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Step<Self>>> {
        let set: fn(Degrees<'static>, bool) -> Degrees<'static> = match name {
            "directed" => Degrees::directed,
            "keep_duplicates" => Degrees::keep_duplicates,
            "keep_self_loops" => Degrees::keep_self_loops,
            _ => return Ok(None),
        };
        let value = value.extract()?;
        Ok(Some(step(move |degrees| set(degrees, value))))
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        match column {
            "degree" | "out_degree" => Some(Slice::U64(&output.out)),
            "in_degree" => output.inward.as_deref().map(Slice::U64),
            _ => None,
        }
    }
}

impl<F: Found> AnyAnswer for EdgeAnswer<F> {
    fn algorithm(&self) -> &'static str {
        self.stats().algorithm
    }

    fn vertices(&self) -> usize {
        self.ids().len()
    }

    fn ids(&self) -> Result<IdList, Failure> {
        let ids = EdgeAnswer::ids(self);
        let mut list = IdList::new(ids.integers().is_none());
        (0..ids.len() as VertexId).for_each(|vertex| list.push(ids.get(vertex)));
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
        F::columns(self).iter().map(Column::name).collect()
    }

    fn write(&self, path: PathBuf) -> Result<u64, Error> {
        self.write(path)
    }

    fn report(&self, _: PathBuf) -> Result<u64, Error> {
        Err(no_report(F::NAME))
    }

    fn report_html(&self) -> Result<String, Error> {
        Err(no_report(F::NAME))
    }

    fn values(self: Arc<Self>, column: &str) -> Option<Array> {
        if !AnyAnswer::columns(self.as_ref()).contains(&column) {
            return None;
        }
        let slice = F::slice(&self, column)?;
        Some(Array::of(slice, Arc::clone(&self) as _))
    }

    fn batches(self: Arc<Self>) -> Result<Box<dyn RecordBatchReader + Send>, Error> {
        Ok(Box::new(EdgeBatches::new(self)))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// A step of building, on the thread that runs it.
type Step<F> = Box<dyn FnOnce(Straight<'static, F>) -> Straight<'static, F> + Send>;

fn step<F: Found>(
    step: impl FnOnce(Straight<'static, F>) -> Straight<'static, F> + Send + 'static,
) -> Step<F> {
    Box::new(step)
}

/// The step of an option that is not one of columns.
fn option<F: Found>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Step<F>> {
    Ok(match name {
        "ids" => {
            let kind = id_kind(value)?;
            step(move |over| over.ids(kind))
        }
        "memory" => {
            let memory = size(name, value)?;
            step(move |over| over.memory(memory))
        }
        "threads" => {
            let threads = at_least_one(name, value)?;
            step(move |over| over.threads(threads))
        }
        "temp_dir" => {
            let folder = path(name, value)?;
            step(move |over| over.temp_dir(folder))
        }
        "out" => {
            let path = path(name, value)?;
            step(move |over| over.out(path))
        }
        _ => F::option(name, value)?
            .ok_or_else(|| PyTypeError::new_err(format!("{} has no option `{name}`", F::NAME)))?,
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
    find::<OfComponents>(py, &inputs, options, progress)
}

/// The degrees of edges.
#[pyfunction]
#[pyo3(signature = (inputs, options, progress=None))]
pub fn degrees(
    py: Python<'_>,
    inputs: Vec<(String, Bound<'_, PyAny>)>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyAnswer> {
    find::<OfDegrees>(py, &inputs, options, progress)
}

fn find<F: Found>(
    py: Python<'_>,
    inputs: &[(String, Bound<'_, PyAny>)],
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyAnswer> {
    let columns = columns(options)?;
    let mut steps: Vec<Step<F>> = Vec::new();
    for (name, value) in options {
        steps.push(option(name.extract()?, &value)?);
    }
    let raised: Raised = Arc::new(Mutex::new(None));
    let without_inputs = steps.len();
    for given in inputs {
        let input = input(given, &columns, None, &raised)?;
        steps.extend(input.map(|input| step(move |over: Straight<'static, F>| over.input(input))));
    }
    if steps.len() == without_inputs {
        // Rows without a first one have no type.
        steps.push(step(|over| over.vertices(Vec::<u64>::new())));
    }
    let call = Arc::new(Call::default());
    let reports = Arc::clone(&call);
    let done = call.wait(py, progress.as_ref(), || {
        let over = steps.into_iter().fold(Straight::<F>::new(), |all, step| step(all));
        let over = over.cancel(call.canceller()).progress(move |phase, done, total| {
            reports.report(phase.name(), done, total);
        });
        over.run().map_err(Failure::from)
    });
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => Ok(PyAnswer::new(Arc::new(done?), call)),
    }
}

fn no_report(name: &str) -> Error {
    let reason = format!(
        "an answer of {name} on edges without a graph has no report: import the edges, and run \
         {name} on the graph"
    );
    Error::Unsupported(reason.into())
}

//! Imports of files and of Python objects.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatchReader;
use cenote::import::{
    ArrowBatches, Codec, Edges, Format, Header, HubNeighboursChoice, IdKind, ImportReport, Input,
    InputSpec, Order, VertexValues, Vertices, WeightType,
};
use cenote::report::import::Summary;
use cenote::report::{self, WorkRecorder};
use cenote::{Import, ValueType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::answer::json;
use crate::arrow::reader_of;
use crate::batches::{PyBatches, Raised};
use crate::call::Call;
use crate::errors::{Failure, invalid};
use crate::options::{at_least_one, integer, path, size, word};
use crate::tables::PyTables;

/// A step of building an import, on the thread that runs it.
type Step = Box<dyn FnOnce(Import<'static>) -> Import<'static> + Send>;

/// The columns of the edges, and how files have them.
#[derive(Clone, Default)]
pub struct Columns {
    source: Option<String>,
    target: Option<String>,
    weight: Option<String>,
    format: Option<Format>,
    header: Header,
}

fn step(step: impl FnOnce(Import<'static>) -> Import<'static> + Send + 'static) -> Step {
    Box::new(step)
}

fn one_of<T: Copy>(name: &str, value: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    let text = word(name, value)?;
    known.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        invalid(format!("{name} is {text}: expected {}", words.join(", ")))
    })
}

/// The orders, with the seed of a shuffle.
pub fn order(name: &str, value: &Bound<'_, PyAny>, seed: u64) -> PyResult<Order> {
    let orders = [
        ("natural", Order::Natural),
        ("degree", Order::Degree),
        ("bfs", Order::Bfs),
        ("cluster", Order::Cluster),
        ("random", Order::Random { seed }),
    ];
    one_of(name, value, &orders)
}

/// Whether to store hub neighbours.
pub fn hub_neighbours(name: &str, value: &Bound<'_, PyAny>) -> PyResult<HubNeighboursChoice> {
    use HubNeighboursChoice::{Auto, No, Yes};
    match value.extract::<bool>() {
        Ok(true) => Ok(Yes),
        Ok(false) => Ok(No),
        Err(_) => one_of(name, value, &[("auto", Auto)]),
    }
}

/// The kind of ids.
pub fn id_kind(value: &Bound<'_, PyAny>) -> PyResult<IdKind> {
    use IdKind::{Auto, Integer, String};
    one_of("ids", value, &[("auto", Auto), ("integer", Integer), ("string", String)])
}

/// The steps of all options but those of columns and weights.
fn options(options: &Bound<'_, PyDict>, seed: u64) -> PyResult<Vec<Step>> {
    let mut steps = Vec::new();
    for (name, value) in options {
        let name: String = name.extract()?;
        if let Ok(is_set @ (true | false)) = value.extract::<bool>() {
            let flag: Option<fn(Import<'static>) -> Import<'static>> = match name.as_str() {
                "directed" => Some(Import::directed),
                "in_edges" => Some(Import::in_edges),
                "keep_duplicates" => Some(Import::keep_duplicates),
                "keep_self_loops" => Some(Import::keep_self_loops),
                "overwrite" => Some(Import::overwrite),
                _ => None,
            };
            if let Some(flag) = flag {
                steps.extend(is_set.then(|| step(flag)));
                continue;
            }
        }
        steps.push(option(&name, &value, seed)?);
    }
    Ok(steps)
}

fn option(name: &str, value: &Bound<'_, PyAny>, seed: u64) -> PyResult<Step> {
    Ok(match name {
        "ids" => {
            let kind = id_kind(value)?;
            step(move |import| import.ids(kind))
        }
        "values" => {
            let kind = one_of(name, value, &ValueType::NAMES)?;
            step(move |import| import.values(kind))
        }
        "order" => {
            if value.extract::<String>().is_ok_and(|name| name == "auto") {
                return Ok(step(Import::auto_order));
            }
            let order = order(name, value, seed)?;
            step(move |import| import.order(order))
        }
        "codec" => {
            let codec = one_of(name, value, &[("raw", Codec::Raw), ("packed", Codec::Packed)])?;
            step(move |import| import.codec(codec))
        }
        "hub_neighbours" => {
            let choice = hub_neighbours(name, value)?;
            step(move |import| import.hub_neighbours(choice))
        }
        "memory" => {
            let memory = size(name, value)?;
            step(move |import| import.memory(memory))
        }
        "page_bytes" => {
            let bytes = integer(name, value)?;
            step(move |import| import.page_bytes(bytes))
        }
        "free_space" => {
            let percent = integer(name, value)?;
            step(move |import| import.free_space(percent))
        }
        "threads" => {
            let threads = at_least_one(name, value)?;
            step(move |import| import.threads(threads))
        }
        "temp_dir" => {
            let folder = path(name, value)?;
            step(move |import| import.temp_dir(folder))
        }
        "tiers" => {
            let tiers: Vec<String> = value.extract()?;
            step(move |import| tiers.iter().fold(import, |import, tier| import.tier(tier)))
        }
        "tier_policy" => {
            let policy = word(name, value)?;
            step(move |import| import.tier_policy(policy))
        }
        "tier_block" => {
            let block = size(name, value)?;
            step(move |import| import.tier_block(block))
        }
        _ => return Err(PyTypeError::new_err(format!("import_graph has no option `{name}`"))),
    })
}

/// An input: its kind, and what it is.
pub fn input(
    (kind, value): &(String, Bound<'_, PyAny>),
    columns: &Columns,
    weights: Option<WeightType>,
    raised: &Raised,
) -> PyResult<Option<Input<'static>>> {
    let columns = columns.clone();
    Ok(Some(match kind.as_str() {
        "path" => {
            let spec = InputSpec {
                format: columns.format,
                source_column: columns.source,
                target_column: columns.target,
                weight_column: columns.weight,
                header: columns.header,
                ..InputSpec::new(value.extract::<PathBuf>()?)
            };
            spec.into()
        }
        "vertices_path" => {
            let path: PathBuf = value.extract()?;
            InputSpec::vertices(path).into()
        }
        "vertices" => match value.extract::<Vec<u64>>() {
            Ok(ids) => Vertices::iter(ids).named("vertices").into(),
            Err(_) => {
                let ids: Vec<String> = value.extract().map_err(|_| {
                    invalid("vertices: expected integers from 0 to 2^64 - 1, or strings")
                })?;
                Vertices::iter(ids).named("vertices").into()
            }
        },
        "range" => {
            let end: u64 = value.extract()?;
            Vertices::iter(0..end).into()
        }
        "rows" => {
            let batches = PyBatches::new(value, weights, Arc::clone(raised))?;
            return Ok(batches.map(|batches| of_batches(ArrowBatches::new(batches))));
        }
        "tables" => {
            let tables = PyTables::new(value, Arc::clone(raised))?;
            return Ok(tables.map(|tables| columns.of(tables)));
        }
        _ => {
            let Some(reader) = reader_of("edges", value)? else {
                let kind = value.get_type().name()?;
                return Err(PyTypeError::new_err(format!("a {kind} is no source of edges")));
            };
            columns.of(reader)
        }
    }))
}

impl Columns {
    /// The edges of a table.
    fn of(self, reader: impl RecordBatchReader + Send + 'static) -> Input<'static> {
        let mut batches = ArrowBatches::new(reader);
        batches = self.source.into_iter().fold(batches, ArrowBatches::source_column);
        batches = self.target.into_iter().fold(batches, ArrowBatches::target_column);
        of_batches(self.weight.into_iter().fold(batches, ArrowBatches::weight_column))
    }
}

/// Batches by the name of the parameter that they come from.
fn of_batches(batches: ArrowBatches<'static>) -> Input<'static> {
    Edges::from(batches).named("edges").into()
}

/// The values of vertices: chunks of columns, or an Arrow stream.
fn values_of(value: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Option<VertexValues<'static>>> {
    if let Some(reader) = reader_of("values", value)? {
        return Ok(Some(VertexValues::new(reader)));
    }
    let batches = PyBatches::new(value, None, Arc::clone(raised))?;
    Ok(batches.map(VertexValues::new))
}

/// Takes an option out of the options; `None` if it is not there or `None`.
fn taken<'py>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(value) = options.get_item(name)? else { return Ok(None) };
    options.del_item(name)?;
    Ok(Some(value).filter(|value| !value.is_none()))
}

pub fn columns(options: &Bound<'_, PyDict>) -> PyResult<Columns> {
    let column = |name: &str| -> PyResult<Option<String>> {
        taken(options, name)?.map(|value| Ok(value.str()?.to_cow()?.into_owned())).transpose()
    };
    let headers = [("auto", Header::Auto), ("yes", Header::Yes), ("no", Header::No)];
    let format = taken(options, "format")?;
    let format = format.map(|value| one_of("format", &value, &Format::NAMES)).transpose()?;
    let header = match taken(options, "header")? {
        None => Header::Auto,
        Some(value) if value.is_instance_of::<PyString>() => one_of("header", &value, &headers)?,
        Some(value) if value.extract()? => Header::Yes,
        Some(_) => Header::No,
    };
    let (source, target) = (column("source")?, column("target")?);
    Ok(Columns { source, target, weight: column("weight")?, format, header })
}

/// An import whose report is written.
struct Recorded {
    recorder: WorkRecorder,
    path: PathBuf,
    /// Files that the report must not replace.
    files: Vec<PathBuf>,
}

impl Recorded {
    fn start(path: PathBuf, inputs: &[(String, Bound<'_, PyAny>)], out: &Path) -> PyResult<Self> {
        let files = inputs.iter().filter(|(kind, _)| kind.ends_with("path"));
        let files = files.map(|(_, value)| value.extract::<PathBuf>());
        let files: Vec<PathBuf> = files.chain([Ok(out.to_owned())]).collect::<PyResult<_>>()?;
        report::check(&path, &files).map_err(Failure::from)?;
        let recorder = WorkRecorder::start().map_err(Failure::from)?;
        Ok(Self { recorder, path, files })
    }

    fn write(
        self,
        out: &Path,
        imported: &ImportReport,
        memory_budget_bytes: usize,
    ) -> cenote::Result<u64> {
        let peak_rss_bytes = cenote::memory::peak_rss_bytes();
        let summary = Summary { out, report: imported, peak_rss_bytes, memory_budget_bytes };
        let page = report::import::page(self.recorder, &summary, None)?;
        report::write(&self.path, &self.files, &page)
    }
}

/// Imports edges into the graph file `out`. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (inputs, out, options, progress=None))]
pub fn import_graph(
    py: Python<'_>,
    inputs: Vec<(String, Bound<'_, PyAny>)>,
    out: PathBuf,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let columns = columns(options)?;
    let weights = taken(options, "weights")?;
    let weights = weights.map(|kind| one_of("weights", &kind, &WeightType::NAMES)).transpose()?;
    let seed = taken(options, "seed")?.map_or(Ok(1), |seed| integer("seed", &seed))?;
    let given_values = taken(options, "vertex_values")?;
    let page = taken(options, "report")?.map(|path| path.extract::<PathBuf>()).transpose()?;
    let page = page.map(|path| Recorded::start(path, &inputs, &out)).transpose()?;
    let mut steps = self::options(options, seed)?;
    steps.extend(weights.map(|kind| step(move |import: Import<'static>| import.weights(kind))));
    let raised: Raised = Arc::new(Mutex::new(None));
    let without_inputs = steps.len();
    for given in &inputs {
        let input = input(given, &columns, weights, &raised)?;
        steps.extend(input.map(|input| step(move |import| import.input(input))));
    }
    if steps.len() == without_inputs {
        let reason = "no edges and no vertices found: a graph has one vertex at least";
        return Err(invalid(format!("edges: {reason}")));
    }
    if let Some(given) = given_values {
        let values = values_of(&given, &raised)?;
        steps.extend(values.map(|values| step(move |import| import.vertex_values(values))));
    }
    let call = Arc::new(Call::default());
    let reports = Arc::clone(&call);
    let done = call.wait(py, progress.as_ref(), || {
        let import = steps.into_iter().fold(Import::new(), |import, step| step(import));
        let phases = page.as_ref().map(|page| page.recorder.phases());
        let import = import.cancel(call.canceller()).progress(move |phase, done, total| {
            phases.iter().for_each(|phases| phases.begin(phase.name()));
            reports.report(phase.name(), done, total);
        });
        let memory_bytes = import.memory_bytes()?;
        let imported = import.run(&out)?;
        if let Some(page) = page {
            page.write(&out, &imported, memory_bytes)?;
        }
        Ok(imported)
    });
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => Ok(json(&done?)),
    }
}

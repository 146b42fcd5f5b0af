//! Graphs: opening, running, looking up, describing.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cenote::algorithm::Wcc;
use cenote::export::EdgeBatches;
use cenote::graph::{Neighbors, SampleOptions};
use cenote::run::{Answer, Run};
use cenote::{Direction, Error, Graph, Id, Value, ValueType, VertexId};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::answer::{PyAnswer, ids_of, json};
use crate::array::{Array, IdList};
use crate::arrow::stream_capsule;
use crate::call::Call;
use crate::errors::{Failure, exception, invalid};
use crate::options::{
    Options, apply, at_least_one, cores, given_ids, id_texts, integer, lookup_bytes, size,
};

/// An open graph.
#[pyclass(frozen, module = "cenote._cenote", name = "Graph")]
pub struct PyGraph {
    graph: Mutex<Option<Arc<Graph>>>,
    path: PathBuf,
}

/// Calls a macro with the run of an algorithm, by its name.
macro_rules! with_run {
    ($graph:expr, $algorithm:expr, $call:ident) => {
        match $algorithm {
            "betweenness" => $call!($graph.betweenness()),
            "bfs" => $call!($graph.bfs()),
            "cdlp" => $call!($graph.cdlp()),
            "degrees" => $call!($graph.count_degrees()),
            "dfs" => $call!($graph.dfs()),
            "lexicographic_dfs" => $call!($graph.lexicographic_dfs()),
            "hyperball" => $call!($graph.hyperball()),
            "kcore" => $call!($graph.kcore()),
            "lcc" => $call!($graph.lcc()),
            "leiden" => $call!($graph.leiden()),
            "louvain" => $call!($graph.louvain()),
            "mis" => $call!($graph.mis()),
            "msf" => $call!($graph.msf()),
            "pagerank" => $call!($graph.pagerank()),
            "ppr" => $call!($graph.ppr()),
            "reach" => $call!($graph.reach()),
            "scc" => $call!($graph.scc()),
            "similar" => $call!($graph.similar()),
            "sssp" => $call!($graph.sssp()),
            "triangles" => $call!($graph.triangles()),
            "walk" => $call!($graph.walk()),
            "wcc" => $call!($graph.wcc()),
            other => Err(invalid(format!("there is no algorithm `{other}`"))),
        }
    };
}

impl PyGraph {
    /// The graph, which stays open while a thread works on it.
    pub fn open_graph(&self) -> PyResult<Arc<Graph>> {
        let graph = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        graph.clone().ok_or_else(|| {
            let reason = format!("{}: the graph is closed: open it again", self.path.display());
            exception("InvalidInput", &reason, None)
        })
    }
}

fn run<A: Options>(
    py: Python<'_>,
    run: Run<'_, A>,
    options: &Bound<'_, PyDict>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<PyAnswer>
where
    Answer<A>: Send + Sync,
{
    let call = Arc::new(Call::default());
    let mut run = apply(run, options)?.cancel(call.canceller());
    if progress.is_some() {
        let call = Arc::clone(&call);
        run = run.progress(move |progress| {
            call.report("reading", progress.bytes_read, Some(progress.bytes_expected));
        });
    }
    let answer = call.wait(py, progress, || Ok(Arc::new(run.run()?)))?;
    Ok(PyAnswer::new(answer, call))
}

/// Ids, numbers of vertices, how many of them were given, and the sources, targets and positions of
/// each layer.
type Sampled = (Py<PyAny>, Array, usize, Vec<(Array, Array, Array)>);

/// A look-up of the lists of vertices.
fn lists<'g>(
    graph: &'g Graph,
    ids: &[String],
    inward: bool,
    call: &Arc<Call>,
    memory: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
) -> PyResult<Neighbors<'g>> {
    let direction = if inward { Direction::In } else { Direction::Out };
    let mut lists = graph.neighbors().direction(direction).cancel(call.canceller());
    if let Some(memory) = memory {
        lists = lists.memory(lookup_bytes(memory)?);
    }
    if let Some(threads) = threads {
        lists = lists.threads(at_least_one("threads", threads)?);
    }
    Ok(ids.iter().fold(lists, |lists, id| lists.of(id)))
}

/// The values of a graph, which are all of one type.
fn of_kind<T>(values: Vec<Value>, of: impl Fn(Value) -> Option<T>) -> Vec<T> {
    values.into_iter().map(|value| of(value).expect("values have the type of the graph")).collect()
}

#[pymethods]
impl PyGraph {
    /// Opens a graph.
    #[staticmethod]
    #[pyo3(signature = (path, at=None, migration=true, memory=None, threads=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        at: Option<String>,
        migration: bool,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut options = Graph::options().migration(migration);
        if let Some(name) = at {
            options = options.at(name);
        }
        let threads = threads.map(|threads| at_least_one("threads", threads)).transpose()?;
        if let Some(memory) = memory {
            let threads = threads.unwrap_or_else(cores);
            options = options.lookups(lookup_bytes(memory)?, threads);
        }
        let graph = Call::default().wait(py, None, || Ok(options.open(&path)?))?;
        Ok(Self { graph: Mutex::new(Some(Arc::new(graph))), path })
    }

    /// Releases the graph's files, locks and threads.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut held = self.graph.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(graph) = held.take() else { return Ok(()) };
        match Arc::try_unwrap(graph) {
            Ok(graph) => {
                drop(held);
                Call::default().wait(py, None, || Ok(graph.close()?))
            }
            Err(graph) => {
                *held = Some(graph);
                let path = self.path.display();
                let reason = format!("{path}: another thread works on the graph: wait for it");
                Err(exception("GraphLocked", &reason, None))
            }
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Warnings from opening it.
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.open_graph()?.warnings().iter().map(ToString::to_string).collect())
    }

    /// Its description, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let graph = self.open_graph()?;
        Call::default().wait(py, None, || Ok(json(&graph.info()?)))
    }

    #[getter]
    fn vertices(&self) -> PyResult<u64> {
        Ok(self.open_graph()?.vertices())
    }

    /// The length of arrays by vertex: how many numbers there are, deleted vertices included.
    #[getter]
    fn array_length(&self) -> PyResult<usize> {
        Ok(self.open_graph()?.stored().vertices())
    }

    /// The numbers of deleted vertices, ascending.
    fn deleted(&self) -> PyResult<Array> {
        Ok(Array::of_u32(self.open_graph()?.stored().deleted().to_vec()))
    }

    #[getter]
    fn edges(&self) -> PyResult<u64> {
        Ok(self.open_graph()?.edges())
    }

    /// Whether edges have a direction.
    #[getter]
    fn directed(&self) -> PyResult<bool> {
        Ok(self.open_graph()?.stored().is_directed())
    }

    /// Runs an algorithm.
    #[pyo3(signature = (algorithm, options, since=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        algorithm: &str,
        options: &Bound<'_, PyDict>,
        since: Option<&PyAnswer>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyAnswer> {
        let graph = self.open_graph()?;
        if let Some(since) = since {
            let answer = Arc::clone(&since.answer).into_any().downcast::<Answer<Wcc>>();
            let answer = answer.map_err(|_| {
                invalid(format!("since is an answer of {}, not of wcc", since.answer.algorithm()))
            })?;
            return run(py, graph.wcc().since(answer), options, progress.as_ref());
        }
        macro_rules! run_it {
            ($run:expr) => {
                run(py, $run, options, progress.as_ref())
            };
        }
        with_run!(graph, algorithm, run_it)
    }

    /// Estimates a run, as JSON.
    fn estimate(
        &self,
        py: Python<'_>,
        algorithm: &str,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<String> {
        let graph = self.open_graph()?;
        macro_rules! estimate {
            ($run:expr) => {{
                let run = apply($run, options)?;
                Call::default().wait(py, None, || Ok(json(&run.estimate()?)))
            }};
        }
        with_run!(graph, algorithm, estimate)
    }

    /// The neighbours of vertices: the lengths of their lists, the ids of all lists, and the
    /// weights if they are asked for.
    #[pyo3(signature = (ids, inward=false, weights=false, memory=None, threads=None))]
    fn neighbors(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        inward: bool,
        weights: bool,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Array, Py<PyAny>, Option<Array>)> {
        let (graph, ids) = (self.open_graph()?, id_texts(ids)?);
        if weights && !graph.stored().is_weighted() {
            let path = self.path.display();
            let reason = format!("{path}: the edges have no weights: import it with `weights`");
            return Err(exception("Unsupported", &reason, None));
        }
        let call = Arc::new(Call::default());
        let lists = lists(&graph, &ids, inward, &call, memory, threads)?.weights(weights);
        let (degrees, ids, found) = call.wait(py, None, || {
            let (mut degrees, mut found) = (Vec::new(), Vec::new());
            let mut ids = IdList::new(cenote::graph::has_names(graph.stored()));
            lists.for_each(|list| {
                degrees.push(list.degree() as u64);
                list.for_each(|id, weight| {
                    ids.push(id);
                    found.extend(weight.filter(|_| weights).map(|weight| weight.to_f64()));
                    Ok::<_, Error>(())
                })
            })?;
            Ok((degrees, ids, found))
        })?;
        let found = weights.then(|| Array::of_f64(found));
        Ok((Array::of_u64(degrees), ids.into_python(py)?, found))
    }

    /// Samples neighbours of vertices, layer by layer. Returns the ids of the sample, their numbers
    /// in the graph, how many of them were given, and the edges of each layer by the numbers of the
    /// sample, with their positions in the lists.
    #[pyo3(signature = (ids, fanouts, seed, inward=false, replace=false, weighted=false,
                        memory=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "the options of the method of Python")]
    fn sample_neighbors(
        &self,
        py: Python<'_>,
        ids: &Bound<'_, PyAny>,
        fanouts: Vec<Bound<'_, PyAny>>,
        seed: &Bound<'_, PyAny>,
        inward: bool,
        replace: bool,
        weighted: bool,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sampled> {
        let (graph, ids) = (self.open_graph()?, id_texts(ids)?);
        let fanouts = fanouts.iter().map(|fanout| integer("fanouts", fanout));
        let (fanouts, seed) = (fanouts.collect::<PyResult<Vec<_>>>()?, integer("seed", seed)?);
        let call = Arc::new(Call::default());
        let lists = lists(&graph, &ids, inward, &call, memory, threads)?;
        let (ids, vertices, seeds, layers) = call.wait(py, None, || {
            let options = SampleOptions::default().replace(replace).weighted(weighted);
            let sample = lists.sample_with(&fanouts, seed, options)?;
            let mut ids = IdList::new(cenote::graph::has_names(graph.stored()));
            sample.ids.iter().for_each(|id| ids.push(id.as_ref()));
            let wide = |numbers: Vec<u32>| numbers.into_iter().map(i64::from).collect();
            let layers = sample.layers.into_iter().map(|layer| {
                let positions = layer.positions.into_iter().map(|place| place as i64).collect();
                [wide(layer.sources), wide(layer.targets), positions]
            });
            Ok((ids, sample.vertices, sample.seeds, layers.collect::<Vec<[Vec<i64>; 3]>>()))
        })?;
        let layers = layers.into_iter().map(|layer| layer.map(Array::of_i64).into());
        Ok((ids.into_python(py)?, Array::of_u32(vertices), seeds, layers.collect()))
    }

    /// The lengths of the lists of vertices; of all of them, by vertex, if none is given.
    #[pyo3(signature = (ids=None, inward=false))]
    fn degree(
        &self,
        py: Python<'_>,
        ids: Option<&Bound<'_, PyAny>>,
        inward: bool,
    ) -> PyResult<Array> {
        let graph = self.open_graph()?;
        let ids = ids.map(id_texts).transpose()?;
        let direction = if inward { Direction::In } else { Direction::Out };
        let call = Arc::new(Call::default());
        let looked_up = ids.as_ref().map(|ids| lists(&graph, ids, inward, &call, None, None));
        let looked_up = looked_up.transpose()?;
        let degrees = call.wait(py, None, || {
            if let Some(lists) = looked_up {
                let lists = lists.weights(false);
                let mut degrees = Vec::new();
                lists.for_each(|list| {
                    degrees.push(list.degree() as u64);
                    Ok::<_, Error>(())
                })?;
                return Ok(degrees);
            }
            Ok(graph.degrees(direction)?)
        })?;
        Ok(Array::of_u64(degrees))
    }

    /// The ids of all vertices, deleted ones too, by vertex.
    fn ids(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let graph = self.open_graph()?;
        Call::default().wait(py, None, || ids_of(graph.stored()))?.into_python(py)
    }

    /// The number of the vertex with an id.
    fn vertex_of(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<VertexId> {
        let (graph, id) = (self.open_graph()?, crate::options::id_text(id)?);
        Ok(py.detach(|| graph.vertex_of(id)).map_err(Failure::from)?)
    }

    /// The id of a vertex, by its number.
    fn id_of(&self, py: Python<'_>, vertex: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (graph, vertex) = (self.open_graph()?, integer::<VertexId>("vertex", vertex)?);
        let id = py.detach(|| -> Result<Id, Error> { Ok(graph.ids()?.id_of(vertex)?) });
        crate::array::id_object(py, &id.map_err(Failure::from)?)
    }

    /// The value of a vertex; none if it has no value.
    fn value(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (graph, id) = (self.open_graph()?, crate::options::id_text(id)?);
        Ok(match py.detach(|| graph.value(id)).map_err(Failure::from)? {
            None => py.None(),
            Some(Value::U64(value)) => value.into_pyobject(py)?.into_any().unbind(),
            Some(Value::I64(value)) => value.into_pyobject(py)?.into_any().unbind(),
            Some(Value::F64(value)) => value.into_pyobject(py)?.into_any().unbind(),
        })
    }

    /// The vertices that have a value, ascending, and their values.
    fn values(&self, py: Python<'_>) -> PyResult<(Array, Array)> {
        let graph = self.open_graph()?;
        let call = Arc::new(Call::default());
        let (mut vertices, mut values) = (Vec::new(), Vec::new());
        call.wait(py, None, || {
            Ok(graph.for_each_value(&mut |vertex, value| {
                vertices.push(vertex);
                values.push(value);
                Ok(())
            })?)
        })?;
        let values = match graph.stored().superblock().value_type {
            None | Some(ValueType::U64) => Array::of_u64(of_kind(values, |value| match value {
                Value::U64(value) => Some(value),
                _ => None,
            })),
            Some(ValueType::I64) => Array::of_i64(of_kind(values, |value| match value {
                Value::I64(value) => Some(value),
                _ => None,
            })),
            Some(ValueType::F64) => Array::of_f64(of_kind(values, |value| match value {
                Value::F64(value) => Some(value),
                _ => None,
            })),
        };
        Ok((Array::of_u32(vertices), values))
    }

    /// The edges as a stream of batches.
    fn edge_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let graph = self.open_graph()?;
        let stored = Arc::clone(graph.stored());
        let batches = Call::default().wait(py, None, || Ok(EdgeBatches::new(stored)?))?;
        stream_capsule(py, Box::new(batches))
    }

    /// Writes the edges to a file. Returns edges, isolated vertices and bytes.
    #[pyo3(signature = (path, progress=None))]
    fn export(
        &self,
        py: Python<'_>,
        path: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        let graph = self.open_graph()?;
        let call = Arc::new(Call::default());
        let export = graph.export().cancel(call.canceller());
        call.wait(py, progress.as_ref(), || {
            let report = export.write(&path, &mut |done, total| {
                call.report("exporting pages", done, Some(total));
            })?;
            Ok((report.edges, report.isolated, report.file_bytes))
        })
    }

    /// Writes the edges between vertices, or between those near them. Returns vertices, edges,
    /// isolated vertices, bytes read and bytes written.
    #[pyo3(signature = (ids, out, hops=None, sources_file=None, memory=None, threads=None,
                        overwrite=false, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    fn subgraph(
        &self,
        py: Python<'_>,
        ids: Option<&Bound<'_, PyAny>>,
        out: PathBuf,
        hops: Option<&Bound<'_, PyAny>>,
        sources_file: Option<PathBuf>,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
        overwrite: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64, u64, u64)> {
        let graph = self.open_graph()?;
        let ids = ids.map(|ids| given_ids("vertices", ids)).transpose()?.unwrap_or_default();
        let call = Arc::new(Call::default());
        let reports = Arc::clone(&call);
        let hops = hops.map_or(Ok(0), |hops| integer("hops", hops))?;
        let subgraph = graph.subgraph().hops(hops).overwrite(overwrite).cancel(call.canceller());
        let subgraph = subgraph.progress(move |phase, done, total| {
            reports.report(phase, done, total);
        });
        let mut subgraph = ids.iter().fold(subgraph, |subgraph, id| subgraph.source(id));
        if let Some(path) = sources_file {
            subgraph = subgraph.sources_file(path);
        }
        if let Some(memory) = memory {
            subgraph = subgraph.memory(size("memory", memory)?);
        }
        if let Some(threads) = threads {
            subgraph = subgraph.threads(at_least_one("threads", threads)?);
        }
        call.wait(py, progress.as_ref(), || {
            let found = subgraph.write(&out)?;
            let (bytes_read, bytes) = (found.bytes_read, found.file_bytes);
            Ok((found.vertices, found.edges, found.isolated, bytes_read, bytes))
        })
    }

    /// Counts the changes since an earlier state, as JSON; writes them to `out` if it is given.
    #[pyo3(signature = (before, out=None, progress=None))]
    fn diff(
        &self,
        py: Python<'_>,
        before: &Self,
        out: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<[u64; 7]> {
        let (graph, before) = (self.open_graph()?, before.open_graph()?);
        let call = Arc::new(Call::default());
        let diff = graph.diff(&before).cancel(call.canceller());
        let report = call.wait(py, progress.as_ref(), || {
            let mut advance = |done, total| call.report("comparing pages", done, Some(total));
            Ok(match out {
                Some(path) => diff.write(&path, &mut advance)?,
                None => diff.count(&mut advance)?,
            })
        })?;
        let vertices = [report.new_vertices, report.deleted_vertices];
        let [new, gone] = vertices;
        let pages = [report.pages_read, report.pages];
        Ok([report.added, report.deleted, report.reweighed, new, gone, pages[0], pages[1]])
    }
}

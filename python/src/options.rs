//! Options of runs by their names, and the values of their answers that NumPy can read in place.

use std::path::PathBuf;

use cenote::algo::betweenness::Scale;
use cenote::algo::pagerank::Variant;
use cenote::algo::similar::Measure;
use cenote::algo::sssp::Distances;
use cenote::algo::walk::DeadEnds;
use cenote::algorithm::{
    Betweenness, Bfs, Cdlp, Degrees, Hyperball, Kcore, Lcc, Leiden, LexicographicDfs, Louvain, Mis,
    Msf, PageRank, Ppr, PseudoDfs, Reach, Scc, Similar, Sssp, StartsAt, Triangles, Walk, Wcc,
};
use cenote::run::{Algorithm, Run};
use cenote::{MemorySize, Strategy};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyString};

use crate::array::Slice;
use crate::batches::shown;
use crate::errors::{exception, invalid};
use crate::pairs::pairs_of_table;

/// An algorithm that Python can run.
pub trait Options: Algorithm + Send + Sync + 'static {
    /// Sets an option; `None` if there is none of this name.
    fn set<'g>(
        run: Run<'g, Self>,
        name: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Run<'g, Self>>>;

    /// The values of a column, if they are in memory as such.
    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        let _ = (output, column);
        None
    }
}

/// Sets all options.
pub fn apply<'g, A: Options>(
    mut run: Run<'g, A>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Run<'g, A>> {
    for (name, value) in options {
        let name: String = name.extract()?;
        run = match name.as_str() {
            "memory" => run.memory(size(&name, &value)?),
            "cache" => run.cache(size(&name, &value)?),
            "threads" => run.threads(at_least_one(&name, &value)?),
            "strategy" => {
                let text = word(&name, &value)?;
                run.strategy(
                    text.parse::<Strategy>()
                        .map_err(|reason| invalid(format!("strategy is {text}: {reason}")))?,
                )
            }
            "depth" => run.depth(at_least_one(&name, &value)?),
            "explain" => run.explain(flag(&name, &value)?),
            "record" => run.record(flag(&name, &value)?),
            "verify" => run.verify(flag(&name, &value)?),
            "command" => run.command(word(&name, &value)?),
            "state_dir" => run.state_dir(path(&name, &value)?),
            "out" => run.out(path(&name, &value)?),
            _ => A::set(run, &name, &value)?.ok_or_else(|| {
                PyTypeError::new_err(format!("{} has no option `{name}`", A::NAME))
            })?,
        };
    }
    Ok(run)
}

/// The error of an option of another type.
fn other_type(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let kind = value.get_type().name().map_or("?".to_owned(), |kind| kind.to_string());
    PyTypeError::new_err(format!("{name}: expected {expected}, not a {kind}"))
}

/// An option that is set or not.
pub fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| other_type(name, value, "True or False"))
}

/// An option that is a number.
pub fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract().map_err(|_| other_type(name, value, "a number"))
}

/// An option that is text.
pub fn word(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| other_type(name, value, "text"))
}

/// An option that is the path of a file or folder.
pub fn path(name: &str, value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    value.extract().map_err(|_| other_type(name, value, "a path"))
}

/// The weights of a mapping from ids.
fn weights_of(name: &str, weights: &Bound<'_, PyDict>) -> PyResult<Vec<f64>> {
    let weight = |(id, weight): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        number(&format!("{name}: the weight of {}", shown(&id)), &weight)
    };
    weights.iter().map(weight).collect()
}

/// An integer option that is not negative.
pub fn integer<T: TryFrom<u64>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let outside = || {
        let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
        invalid(format!("{name} is {}: expected an integer from 0 to {most}", shown(value)))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(other_type(name, value, "an integer"));
    }
    match value.extract::<u64>() {
        Ok(number) => T::try_from(number).map_err(|_| outside()),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Err(outside()),
        Err(_) => Err(other_type(name, value, "an integer")),
    }
}

/// An integer option from 1 on, such as a number of threads.
pub fn at_least_one(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    match integer(name, value)? {
        0 => Err(invalid(format!("{name} is 0: at least 1 is needed"))),
        number => Ok(number),
    }
}

/// Threads where an option says nothing.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An option of a size, in bytes or as text.
pub fn size(name: &str, value: &Bound<'_, PyAny>) -> PyResult<MemorySize> {
    let wrong = |reason: &str| invalid(format!("{name} is {}: {reason}", shown(value)));
    if let Ok(text) = value.cast::<PyString>() {
        return text.to_cow()?.parse().map_err(|reason: String| wrong(&reason));
    }
    let expected = "bytes, or text such as \"64MiB\"";
    if value.is_instance_of::<PyBool>() {
        return Err(other_type(name, value, expected));
    }
    match value.extract::<u64>() {
        Ok(bytes) => Ok(MemorySize::Bytes(bytes)),
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => {
            Err(other_type(name, value, expected))
        }
        Err(_) => Err(wrong(&format!("expected {expected}"))),
    }
}

/// The least memory of look-ups: pages for two threads that read.
const LOOKUP_BYTES_MIN: u64 = 1 << 20;

/// The memory of look-ups in bytes, of which 100% is the memory of the machine.
pub fn lookup_bytes(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let given = shown(value);
    let unknown = || invalid(format!("memory is {given}: the machine's is unknown: give bytes"));
    match size("memory", value)?.bytes_of_machine().ok_or_else(unknown)? {
        ..LOOKUP_BYTES_MIN => {
            let reason = format!("memory is {given}: look-ups need at least 1MiB");
            Err(exception("MemoryBudget", &reason, None))
        }
        bytes => Ok(bytes),
    }
}

/// An id of a vertex as text: a string, or an integer of Python or NumPy.
pub fn id_text(id: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = id.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned());
    }
    if is_bytes(id) {
        let reason = "expected an integer or a string, not bytes: decode() them";
        return Err(PyTypeError::new_err(format!("the id {}: {reason}", shown(id))));
    }
    if id.hasattr("as_py")? {
        // A scalar of pyarrow.
        return id_text(&id.call_method0("as_py")?);
    }
    match id.call_method0("__index__") {
        _ if id.is_instance_of::<PyBool>() => {
            Err(PyTypeError::new_err(format!("the id {id}: expected an integer or a string")))
        }
        Ok(number) if number.is_instance_of::<PyInt>() => Ok(number.str()?.to_cow()?.into_owned()),
        _ => Err(PyTypeError::new_err(format!(
            "the id {}: expected an integer or a string, not {}",
            id.repr()?,
            id.get_type().name()?
        ))),
    }
}

/// Bytes are sequences of integers, and no ids.
fn is_bytes(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>()
}

/// One id, or an iterable of ids.
pub fn id_texts(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let is_text = value.is_instance_of::<PyString>() || is_bytes(value);
    let is_scalar = value.hasattr("__index__")? && !is_array(value)? || value.hasattr("as_py")?;
    if is_text || is_scalar {
        return Ok(vec![id_text(value)?]);
    }
    if value.hasattr("to_pylist")? {
        // An array of pyarrow, or strings of a graph: at once, not a scalar for each.
        let listed = value.call_method0("to_pylist")?;
        return listed.try_iter()?.map(|id| id_text(&id?)).collect();
    }
    value.try_iter()?.map(|id| id_text(&id?)).collect()
}

/// The ids of each pair of an iterable, or of a table.
fn pairs_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<[String; 2]>> {
    if let Some(pairs) = pairs_of_table(value)? {
        return Ok(pairs);
    }
    let pair = |pair: PyResult<Bound<'_, PyAny>>| {
        let ids = id_texts(&pair?)?;
        <[String; 2]>::try_from(ids)
            .map_err(|ids| invalid(format!("a pair has {} ids: expected two", ids.len())))
    };
    value.try_iter()?.map(pair).collect()
}

/// The ids of an option. None of them would mean that the option is not given, and then the run has
/// other sources: an error.
pub fn given_ids(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let ids = id_texts(value)?;
    match ids.is_empty() {
        true => Err(invalid(format!("{name} has no id: give one at least, or leave it out"))),
        false => Ok(ids),
    }
}

/// NumPy's arrays have `__index__`, which works for those of one item.
fn is_array(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(value.hasattr("ndim")? && value.getattr("ndim")?.extract::<usize>()? > 0)
}

fn one_of<T: Copy>(name: &str, value: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    let text = word(name, value)?;
    known.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        invalid(format!("{name} is {text}: expected {}", words.join(", ")))
    })
}

/// The options of searches: from one source, and from several.
macro_rules! ends {
    ($run:ident, $name:ident, $value:ident) => {
        match $name {
            "source" => {
                let ids = given_ids($name, $value)?;
                if ids.len() != 1 {
                    return Err(invalid(format!("source has {} ids: expected one", ids.len())));
                }
                $run.source(&ids[0])
            }
            "target" => given_ids($name, $value)?.iter().fold($run, |run, id| run.target(id)),
            "targets_file" => $run.targets_file(path($name, $value)?),
            _ => return Ok(None),
        }
    };
    (several: $run:ident, $name:ident, $value:ident) => {
        match $name {
            "source" => given_ids($name, $value)?.iter().fold($run, |run, id| run.source(id)),
            "sources_file" => $run.sources_file(path($name, $value)?),
            _ => ends!($run, $name, $value),
        }
    };
}

type Set<'g, A> = PyResult<Option<Run<'g, A>>>;

impl Options for Bfs {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(match name {
            "parents" => run.parents(flag(name, value)?),
            _ => ends!(several: run, name, value),
        }))
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        match column {
            "level" => Some(Slice::U32(output.levels())),
            "parent" => output.parents().map(Slice::U32),
            _ => None,
        }
    }
}

impl Options for Sssp {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(match name {
            "delta" => run.delta(number(name, value)?),
            "parents" => run.parents(flag(name, value)?),
            _ => ends!(several: run, name, value),
        }))
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        match (column, output.distances()) {
            ("distance", Distances::Integers(distances)) => Some(Slice::U64(distances)),
            // Bits of unreached vertices are no infinity: these are computed.
            ("parent", _) => output.parents().map(Slice::U32),
            _ => None,
        }
    }
}

impl Options for PseudoDfs {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(match name {
            "threshold" => run.threshold(at_least_one(name, value)? as u64),
            "stacks" => run.stacks(at_least_one(name, value)?),
            _ => ends!(run, name, value),
        }))
    }
}

impl Options for LexicographicDfs {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(ends!(run, name, value)))
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        Some(Slice::U32(match column {
            "order" => output.orders(),
            "parent" => output.parents(),
            "finish" => output.finishes(),
            _ => return None,
        }))
    }
}

impl Options for Reach {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(ends!(run, name, value)))
    }
}

impl Options for Betweenness {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        let scales =
            [("sum", Scale::Sum), ("full", Scale::Full), ("normalized", Scale::Normalized)];
        Ok(Some(match name {
            "source" => given_ids(name, value)?.iter().fold(run, |run, id| run.source(id)),
            "sources_file" => run.sources_file(path(name, value)?),
            "samples" => {
                let (samples, seed): (Bound<'_, PyAny>, Bound<'_, PyAny>) = value.extract()?;
                run.samples(integer(name, &samples)?, integer("seed", &seed)?)
            }
            "scale" => run.scale(one_of(name, value, &scales)?),
            _ => return Ok(None),
        }))
    }
}

impl Options for Cdlp {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(match name {
            "iterations" => Some(run.iterations(integer(name, value)?)),
            _ => None,
        })
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        (column == "label").then(|| Slice::U32(output.labels()))
    }
}

impl Options for Degrees {
    fn set<'g>(_: Run<'g, Self>, _: &str, _: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(None)
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        match column {
            "degree" | "out_degree" => Some(Slice::U64(output.out_degrees())),
            "in_degree" => output.in_degrees().map(Slice::U64),
            _ => None,
        }
    }
}

impl Options for Kcore {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(if name == "k" { Some(run.k(integer(name, value)?)) } else { None })
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        (column == "core").then(|| Slice::U32(output.cores()))
    }
}

impl Options for Hyperball {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(match name {
            "registers" => run.registers(integer(name, value)?),
            "iterations" => run.iterations(integer(name, value)?),
            "seed" => run.seed(integer(name, value)?),
            "outgoing" => run.outgoing(flag(name, value)?),
            _ => return Ok(None),
        }))
    }
}

impl Options for Lcc {
    fn set<'g>(_: Run<'g, Self>, _: &str, _: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(None)
    }
}

macro_rules! communities {
    ($($method:ident)*) => {$(
        impl Options for $method {
            fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
                Ok(Some(match name {
                    "resolution" => run.resolution(number(name, value)?),
                    "iterations" => run.iterations(integer(name, value)?),
                    _ => return Ok(None),
                }))
            }

            fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
                (column == "label").then(|| Slice::U32(output.labels()))
            }
        }
    )*};
}

communities!(Leiden Louvain);

impl Options for Mis {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(if name == "seed" { Some(run.seed(integer(name, value)?)) } else { None })
    }
}

impl Options for Msf {
    fn set<'g>(_: Run<'g, Self>, _: &str, _: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(None)
    }
}

impl Options for PageRank {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        let variants = [("standard", Variant::Standard), ("cave", Variant::Cave)];
        Ok(Some(match name {
            "iterations" => run.iterations(integer(name, value)?),
            "tolerance" => run.tolerance(number(name, value)?),
            "damping" => run.damping(number(name, value)?),
            "personalize" => {
                let run = match value.cast::<PyDict>() {
                    Ok(weights) => run.personalize_weights(weights_of(name, weights)?),
                    Err(_) => run,
                };
                given_ids(name, value)?.iter().fold(run, |run, id| run.personalize(id))
            }
            "personalize_file" => run.personalize_file(path(name, value)?),
            "weighted" => run.weighted(flag(name, value)?),
            "variant" => run.variant(one_of(name, value, &variants)?),
            _ => return Ok(None),
        }))
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        (column == "rank").then(|| Slice::F64(output.ranks()))
    }
}

impl Options for Ppr {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(Some(match name {
            "seeds" => given_ids(name, value)?.iter().fold(run, |run, id| run.seed(id)),
            "seeds_file" => run.seeds_file(path(name, value)?),
            "top_k" => run.top_k(integer(name, value)?),
            "damping" => run.damping(number(name, value)?),
            "tolerance" => run.tolerance(number(name, value)?),
            _ => return Ok(None),
        }))
    }
}

impl Options for Similar {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        let measures = [
            ("jaccard", Measure::Jaccard),
            ("overlap", Measure::Overlap),
            ("adamic_adar", Measure::AdamicAdar),
            ("common", Measure::Common),
        ];
        Ok(Some(match name {
            "measure" => run.measure(one_of(name, value, &measures)?),
            "pairs" => {
                let pairs = pairs_of(value)?;
                if pairs.is_empty() {
                    return Err(invalid("pairs has no pair"));
                }
                pairs.iter().fold(run, |run, [source, target]| run.pair(source, target))
            }
            "pairs_file" => run.pairs_file(path(name, value)?),
            "sources" => given_ids(name, value)?.iter().fold(run, |run, id| run.source(id)),
            "sources_file" => run.sources_file(path(name, value)?),
            "top" => run.top(integer(name, value)?),
            _ => return Ok(None),
        }))
    }
}

impl Options for Scc {
    fn set<'g>(_: Run<'g, Self>, _: &str, _: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(None)
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        (column == "component").then(|| Slice::U32(output.labels()))
    }
}

impl Options for Wcc {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(match name {
            "since_file" => Some(run.since_file(path(name, value)?)),
            _ => None,
        })
    }

    fn slice<'a>(output: &'a Self::Output, column: &str) -> Option<Slice<'a>> {
        (column == "component").then(|| Slice::U32(output.labels()))
    }
}

impl Options for Triangles {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        Ok(if name == "per_vertex" { Some(run.per_vertex(flag(name, value)?)) } else { None })
    }
}

impl Options for Walk {
    fn set<'g>(run: Run<'g, Self>, name: &str, value: &Bound<'_, PyAny>) -> Set<'g, Self> {
        let dead_ends = [("end", DeadEnds::End), ("restart", DeadEnds::Restart)];
        Ok(Some(match name {
            "starts" => {
                let starts = [("all", false), ("random", true)];
                let is_random = one_of(name, value, &starts)?;
                run.starts(if is_random { StartsAt::Random } else { StartsAt::All })
            }
            "starts_file" => run.starts(StartsAt::File(path(name, value)?)),
            "source" => run.starts(StartsAt::Vertex(id_text(value)?)),
            "walkers" => run.walkers(integer(name, value)?),
            "per_vertex" => run.per_vertex(integer(name, value)?),
            "steps" => run.steps(integer(name, value)?),
            "restart" => run.restart(number(name, value)?),
            "p" => run.p(number(name, value)?),
            "q" => run.q(number(name, value)?),
            "dead_ends" => run.dead_ends(one_of(name, value, &dead_ends)?),
            "weighted" => run.weighted(flag(name, value)?),
            "seed" => run.seed(integer(name, value)?),
            _ => return Ok(None),
        }))
    }
}

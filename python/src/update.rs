//! Changes of stored graphs, snapshots, compaction and check; profiles of drives.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use cenote::drive::{MeasureOptions, measure};
use cenote::graph::SnapshotInfo;
use cenote::import::WeightType;
use cenote::report::merge::{Summary, page as merge_page};
use cenote::report::{self as page, WorkRecorder};
use cenote::update::UpdateReport;
use cenote::{Compact, Graph, IdRef, Update, ValueType};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::answer::json;
use crate::batches::Raised;
use crate::call::Call;
use crate::errors::{Failure, exception, invalid};
use crate::import::{columns, hub_neighbours, input, order};
use crate::options::{at_least_one, id_text, integer, size};
use crate::shards;

/// A graph that is open for changes.
#[pyclass(frozen, module = "cenote._cenote", name = "Update")]
pub struct PyUpdate {
    update: Mutex<Option<Update>>,
    path: PathBuf,
    has_names: bool,
    progress: Option<Py<PyAny>>,
}

impl PyUpdate {
    /// Changes the batch, which takes no time; an error while another thread commits.
    fn change<T>(&self, change: impl FnOnce(&mut Update) -> cenote::Result<T>) -> PyResult<T> {
        let mut held = match self.update.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let reason = "another thread works on this update: wait for it";
                let reason = format!("{}: {reason}", self.path.display());
                return Err(exception("GraphLocked", &reason, None));
            }
        };
        let update = self.opened(&mut held)?;
        Ok(change(update).map_err(Failure::from)?)
    }

    /// An id of a change as text. An integer is none of a graph of strings: it would become a new
    /// vertex, whose id is text. A string of digits is one of integers, as in a file.
    fn id(&self, id: &Bound<'_, PyAny>) -> PyResult<String> {
        let text = id_text(id)?;
        if self.has_names && !id.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(format!(
                "the id {text}: the ids of {} are strings: give \"{text}\"",
                self.path.display()
            )));
        }
        Ok(text)
    }

    fn opened<'a>(&self, held: &'a mut MutexGuard<'_, Option<Update>>) -> PyResult<&'a mut Update> {
        held.as_mut().ok_or_else(|| {
            invalid(format!("{}: the update has ended: begin another", self.path.display()))
        })
    }

    /// Does what takes time, on another thread, until it is cancelled.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        phase: &'static str,
        work: impl FnOnce(&mut Update) -> cenote::Result<T> + Send,
    ) -> PyResult<T> {
        let call = Arc::new(Call::default());
        let reports = Arc::clone(&call);
        // The first page comes late in a commit of many changes.
        call.report(phase, 0, None);
        call.wait(py, self.progress.as_ref(), || {
            let mut held = self.update.lock().unwrap_or_else(PoisonError::into_inner);
            let update = self.opened(&mut held)?;
            update.cancel(call.canceller());
            update.progress(move |now| {
                reports.report(phase, now.pages_done, Some(now.pages_total));
            });
            Ok(work(update)?)
        })
    }
}

fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(value.str()?.to_cow()?.into_owned())
}

fn report(report: &UpdateReport) -> String {
    json(report)
}

#[pymethods]
impl PyUpdate {
    /// Opens a graph for changes.
    #[staticmethod]
    #[pyo3(signature = (path, memory=None, synced=true, values=None, progress=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        memory: Option<&Bound<'_, PyAny>>,
        synced: bool,
        values: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let mut options = Update::options().synced(synced);
        if let Some(memory) = memory {
            options = options.memory(size("memory", memory)?);
        }
        if let Some(name) = values {
            let kinds = [ValueType::U64, ValueType::I64, ValueType::F64];
            let kind = kinds.into_iter().find(|kind| kind.name() == name);
            let wrong = || invalid(format!("values is {name}: expected u64, i64, f64"));
            options = options.values(kind.ok_or_else(wrong)?);
        }
        let update = Call::default().wait(py, None, || Ok(options.open(&path)?))?;
        let has_names = matches!(update.id("0"), Ok(IdRef::String(_)));
        Ok(Self { update: Mutex::new(Some(update)), path, has_names, progress })
    }

    /// Ends the update: other writers may begin. Changes that were not committed are dropped.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            drop(self.update.lock().unwrap_or_else(PoisonError::into_inner).take());
        });
    }

    /// Warnings from opening it.
    fn warnings(&self) -> PyResult<Vec<String>> {
        self.change(|update| Ok(update.warnings().iter().map(ToString::to_string).collect()))
    }

    /// Number of changes for the next commit.
    fn __len__(&self) -> PyResult<usize> {
        self.change(|update| Ok(update.len()))
    }

    #[pyo3(signature = (source, target, weight=None))]
    fn add(
        &self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (source, target) = (self.id(source)?, self.id(target)?);
        let weight = weight.map(text).transpose()?;
        self.change(|update| match weight {
            Some(weight) => update.add_weighted(source, target, weight),
            None => update.add(source, target),
        })
    }

    #[pyo3(signature = (source, target, weight=None))]
    fn delete(
        &self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        weight: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (source, target) = (self.id(source)?, self.id(target)?);
        let weight = weight.map(text).transpose()?;
        self.change(|update| match weight {
            Some(weight) => update.delete_weighted(source, target, weight),
            None => update.delete(source, target),
        })
    }

    fn set_weight(
        &self,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        weight: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (source, target, weight) = (self.id(source)?, self.id(target)?, text(weight)?);
        self.change(|update| update.set_weight(source, target, weight))
    }

    fn add_vertex(&self, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id(id)?;
        self.change(|update| update.add_vertex(id))
    }

    fn delete_vertex(&self, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id(id)?;
        self.change(|update| update.delete_vertex(id))
    }

    fn set_value(&self, id: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (id, value) = (self.id(id)?, text(value)?);
        self.change(|update| update.set_value(id, value))
    }

    fn remove_value(&self, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id(id)?;
        self.change(|update| update.remove_value(id))
    }

    /// Name of the type of the graph's weights.
    fn weights(&self) -> PyResult<Option<&'static str>> {
        self.change(|update| Ok(update.weights().map(WeightType::name)))
    }

    /// Adds or deletes the edges of inputs, and adds vertices. Returns the number of edges; after
    /// an error none of them is left.
    fn change_all(
        &self,
        py: Python<'_>,
        is_added: bool,
        inputs: Vec<(String, Bound<'_, PyAny>)>,
        vertices: Vec<Bound<'_, PyAny>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<u64> {
        let columns = columns(options)?;
        let weights = self.change(|update| Ok(update.weights()))?.filter(|_| is_added);
        let raised = Raised::default();
        let mut given = Vec::new();
        for one in &inputs {
            given.extend(input(one, &columns, weights, &raised)?);
        }
        let vertices = vertices.iter().map(|id| self.id(id)).collect::<PyResult<Vec<_>>>()?;
        let done = self.work(py, "reading edges", |update| {
            let before = update.len();
            let read = match is_added {
                true => update.add_all(given),
                false => update.delete_all(given),
            };
            let mut vertices = vertices.into_iter();
            let done = read.and_then(|count| {
                vertices.try_for_each(|id| update.add_vertex(id)).map(|()| count)
            });
            if done.is_err() {
                update.truncate(before);
            }
            done
        });
        match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => done,
        }
    }

    /// Makes the changes durable. Returns the report as JSON.
    fn commit(&self, py: Python<'_>) -> PyResult<String> {
        self.work(py, "committing pages", |update| Ok(report(&update.commit()?)))
    }

    /// Makes the first changes durable, as many as fit the memory. Returns the report as JSON.
    fn commit_what_fits(&self, py: Python<'_>) -> PyResult<String> {
        self.work(py, "committing pages", |update| Ok(report(&update.commit_what_fits()?)))
    }

    /// Merges log and delta runs into the lists. Returns the report as JSON, and writes one to look
    /// at.
    #[pyo3(signature = (page=None))]
    fn merge(&self, py: Python<'_>, page: Option<PathBuf>) -> PyResult<String> {
        self.work(py, "merging pages", |update| {
            let Some(page) = page else { return Ok(report(&update.merge()?)) };
            page::check(&page, &[&self.path])?;
            let (recorder, started) = (WorkRecorder::start()?, Instant::now());
            let merged = update.merge()?;
            let seconds = started.elapsed().as_secs_f64();
            let summary = Summary::new(&self.path, &merged, seconds, update.memory_bytes());
            page::write(&page, &[&self.path], &merge_page(recorder, &summary, None)?)?;
            Ok(report(&merged))
        })
    }

    /// Merges what large commits leave in delta runs, if it is much. Returns the report as JSON.
    fn settle(&self, py: Python<'_>) -> PyResult<String> {
        self.work(py, "merging pages", |update| Ok(report(&update.settle()?)))
    }

    /// Keeps the present state under a name. Returns the snapshot as JSON.
    #[pyo3(signature = (name=None))]
    fn snapshot(&self, py: Python<'_>, name: Option<String>) -> PyResult<String> {
        self.work(py, "merging pages", |update| {
            let made = match name {
                Some(name) => update.snapshot(&name),
                None => update.snapshot_of_epoch(),
            };
            Ok(json(&SnapshotInfo::from(made?)))
        })
    }

    /// Removes a snapshot. Returns it as it was, as JSON.
    fn remove_snapshot(&self, py: Python<'_>, name: String) -> PyResult<String> {
        self.work(py, "merging pages", |update| {
            Ok(json(&SnapshotInfo::from(update.remove_snapshot(&name)?)))
        })
    }
}

/// Verifies every byte of a graph, a snapshot or a sharded graph. Returns the pages, the first
/// faults and how many there are.
#[pyfunction]
#[pyo3(signature = (path, at=None, progress=None))]
pub fn check(
    py: Python<'_>,
    path: PathBuf,
    at: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, Vec<String>, u64)> {
    let call = Arc::new(Call::default());
    call.wait(py, progress.as_ref(), || {
        if path.is_dir() && at.is_none() {
            return shards::check(&path, &call);
        }
        let mut advance = |done, total| {
            call.report("checking pages", done, Some(total));
            !call.is_cancelled()
        };
        let report = match &at {
            Some(name) => Graph::check_at(&path, name, &mut advance)?,
            None => Graph::check(&path, &mut advance)?,
        };
        let faults = report.faults.iter().map(ToString::to_string).collect();
        Ok((report.pages, faults, report.faults_total))
    })
}

/// Writes a graph as an import of its edges would. Returns the report as JSON, and warnings.
#[pyfunction]
#[pyo3(signature = (path, options, progress=None))]
pub fn compact(
    py: Python<'_>,
    path: PathBuf,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let get = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(options.get_item(name)?.filter(|value| !value.is_none()))
    };
    let path_of = |name: &str| -> PyResult<Option<PathBuf>> {
        get(name)?.map(|path| path.extract()).transpose()
    };
    let (out, temp_dir) = (path_of("out")?, path_of("temp_dir")?);
    let at: Option<String> = get("at")?.map(|name| name.extract()).transpose()?;
    let memory = get("memory")?.map(|memory| size("memory", &memory)).transpose()?;
    let threads = get("threads")?.map(|threads| at_least_one("threads", &threads)).transpose()?;
    let overwrite: bool = get("overwrite")?.map_or(Ok(false), |value| value.extract())?;
    let seed: u64 = get("seed")?.map_or(Ok(1), |seed| integer("seed", &seed))?;
    let order = get("order")?.map(|value| order("order", &value, seed)).transpose()?;
    let free_space = get("free_space")?.map(|value| integer("free_space", &value)).transpose()?;
    let hubs = get("hub_neighbours")?;
    let hubs = hubs.map(|value| hub_neighbours("hub_neighbours", &value)).transpose()?;
    let call = Arc::new(Call::default());
    let reports = Arc::clone(&call);
    call.wait(py, progress.as_ref(), || {
        let mut compact = Compact::new(path).cancel(call.canceller());
        compact = compact.progress(move |phase, done, total| {
            reports.report(phase.name(), done, total);
        });
        compact = out.into_iter().fold(compact, Compact::out);
        compact = at.into_iter().fold(compact, Compact::at);
        compact = memory.into_iter().fold(compact, Compact::memory);
        compact = threads.into_iter().fold(compact, Compact::threads);
        compact = temp_dir.into_iter().fold(compact, Compact::temp_dir);
        compact = order.into_iter().fold(compact, Compact::order);
        compact = free_space.into_iter().fold(compact, Compact::free_space);
        compact = hubs.into_iter().fold(compact, Compact::hub_neighbours);
        compact = if overwrite { compact.overwrite() } else { compact };
        let report = compact.run()?;
        Ok((json(&report), report.warnings.iter().map(ToString::to_string).collect()))
    })
}

/// Measures a drive and saves its profile. Returns it as JSON, where it was saved, and why it was
/// not although it could be: the saved one is calmer.
#[pyfunction]
#[pyo3(signature = (path, quick=false, scratch=None, replace=false, report=None, progress=None))]
pub fn profile(
    py: Python<'_>,
    path: PathBuf,
    quick: bool,
    scratch: Option<u64>,
    replace: bool,
    report: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<PathBuf>, Option<String>)> {
    let call = Call::default();
    call.wait(py, progress.as_ref(), || {
        if let Some(page) = &report {
            page::check(page, &[&path])?;
        }
        let options =
            MeasureOptions::default().quick(quick).scratch_bytes(scratch).replace(replace);
        let (profile, saved) = measure(&path, &options, &mut |done, total| {
            call.report("measuring", done, Some(total));
            !call.is_cancelled()
        })?;
        if let Some(page) = &report {
            page::write(page, &[&path], &page::drive::page(&profile, None))?;
        }
        let kept = saved.as_ref().filter(|saved| saved.path().is_none()).map(ToString::to_string);
        let path = saved.as_ref().and_then(|saved| saved.path()).map(PathBuf::from);
        Ok((json(&profile), path, kept))
    })
}

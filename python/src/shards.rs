//! Sharded graphs: written, and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote::Graph;
use cenote::shards::{self, Sharding};
use pyo3::prelude::*;

use crate::answer::json;
use crate::call::Call;
use crate::errors::Failure;
use crate::options::{at_least_one, integer, size};

/// Cuts a graph into shards. Returns the report as JSON, and warnings.
#[pyfunction]
#[pyo3(signature = (path, out, shards, at=None, memory=None, threads=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "the parameters of a function of Python")]
pub fn shard(
    py: Python<'_>,
    path: PathBuf,
    out: PathBuf,
    shards: &Bound<'_, PyAny>,
    at: Option<String>,
    memory: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let shards = integer("shards", shards)?;
    let memory = memory.map(|memory| size("memory", memory)).transpose()?;
    let threads = threads.map(|threads| at_least_one("threads", threads)).transpose()?;
    let call = Arc::new(Call::default());
    let (written, warnings) = call.wait(py, progress.as_ref(), || {
        let options = Graph::options().migration(false);
        let options = at.iter().fold(options, |options, name| options.at(name));
        let graph = options.open(&path)?;
        let reports = Arc::clone(&call);
        let mut sharding = Sharding::new(&graph, shards)
            .cancel(call.canceller())
            .progress(move |done, total| reports.report("sharding", done, Some(total)));
        if let Some(memory) = memory {
            sharding = sharding.memory(memory);
        }
        if let Some(threads) = threads {
            sharding = sharding.threads(threads);
        }
        let warnings = graph.warnings().iter().map(ToString::to_string).collect();
        Ok((sharding.write(&out)?, warnings))
    })?;
    Ok((json(&written), warnings))
}

/// Verifies a sharded graph. Returns the pages, the first faults and how many there are.
pub fn check(path: &Path, call: &Call) -> Result<(u64, Vec<String>, u64), Failure> {
    let mut advance = |done, total| {
        call.report("checking files", done, Some(total));
        !call.is_cancelled()
    };
    let report = shards::check(path, &mut advance)?;
    let faults = report.faults.iter().map(ToString::to_string).collect();
    Ok((report.pages, faults, report.faults_total))
}

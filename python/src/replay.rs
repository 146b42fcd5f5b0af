//! Replays of page loads through the buffer pool and through tiers.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use cenote::MemorySize;
use cenote::report::{self, Page};
use cenote_replay::choice::{Choice, List};
use cenote_replay::load::{LoadConfig, LoadKind};
use cenote_replay::pool::{PoolSize, Sweep};
use cenote_replay::tier::load::TierLoadKind;
use cenote_replay::tier::simulation::Arrivals;
use cenote_replay::{
    Control, PoolReplay, PoolReplayConfig, ReplayError, TierReplay, TierReplayConfig,
    pool_replay as replay_pool, tier_replay as replay_tiers,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::answer::json;
use crate::call::Call;
use crate::errors::{Failure, invalid};
use crate::options::size;

/// Replays a text as a value; an error names the option.
fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|fault| invalid(format!("{name}: {fault}")))
}

/// The options of a call, each of which is read once.
struct Given<'a, 'py>(&'a Bound<'py, PyDict>);

/// A report to look at, and the files that it must not replace.
struct Written {
    path: PathBuf,
    inputs: Vec<PathBuf>,
}

impl<'py> Given<'_, 'py> {
    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(value) = self.0.get_item(name)? else { return Ok(None) };
        self.0.del_item(name)?;
        Ok(Some(value).filter(|value| !value.is_none()))
    }

    fn value<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        self.get(name)?.map(|value| value.extract().map_err(Into::into)).transpose()
    }

    /// A number of at least 1.
    fn count<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>> + Default + PartialEq,
    {
        match self.value(name)? {
            Some(count) if count == T::default() => {
                Err(invalid(format!("{name} is 0: at least 1 is needed")))
            }
            count => Ok(count),
        }
    }

    /// Sets a field whose default is not `None`.
    fn set<T>(&self, name: &str, field: &mut T) -> PyResult<()>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        if let Some(value) = self.value(name)? {
            *field = value;
        }
        Ok(())
    }

    fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> PyResult<Option<T>> {
        self.value::<String>(name)?.map(|text| parsed(name, &text)).transpose()
    }

    fn all<T: FromStr<Err: Display>>(&self, name: &str) -> PyResult<Vec<T>> {
        let texts: Vec<String> = self.value(name)?.unwrap_or_default();
        texts.iter().map(|text| parsed(name, text)).collect()
    }

    fn choices<T: Choice>(&self, name: &str, into: &mut Vec<T>) -> PyResult<()> {
        if let Some(texts) = self.value::<Vec<String>>(name)? {
            *into = parsed::<List<T>>(name, &texts.join(","))?.0;
        }
        Ok(())
    }

    fn traces(&self) -> PyResult<Vec<PathBuf>> {
        Ok(self.value("traces")?.unwrap_or_default())
    }

    /// The report to write, which must replace none of the inputs.
    fn page(&self, inputs: Vec<PathBuf>) -> PyResult<Option<Written>> {
        let Some(path) = self.value::<PathBuf>("report")? else { return Ok(None) };
        report::check(&path, &inputs).map_err(Failure::from)?;
        Ok(Some(Written { path, inputs }))
    }

    fn size(&self, name: &str) -> PyResult<Option<MemorySize>> {
        self.get(name)?.map(|value| size(name, &value)).transpose()
    }

    /// A size that is not relative to anything.
    fn bytes(&self, name: &str) -> PyResult<Option<u64>> {
        match self.size(name)? {
            None => Ok(None),
            Some(MemorySize::Bytes(bytes)) => Ok(Some(bytes)),
            Some(percent) => {
                Err(invalid(format!("{name} is {percent}: expected a size such as 4096 or 1GiB")))
            }
        }
    }

    fn load(&self, load: &mut LoadConfig) -> PyResult<()> {
        (load.pages, load.ops) = (self.value("pages")?, self.value("ops")?);
        self.set("seed", &mut load.seed)?;
        self.set("skew", &mut load.skew)?;
        self.set("drift", &mut load.drift)?;
        self.set("keep_numbers", &mut load.keep_numbers)?;
        if let Some(share) = self.value::<f64>("read_share")? {
            if !(0.0..=1.0).contains(&share) {
                return Err(invalid(format!("read_share is {share}: expected 0 to 1")));
            }
            load.read_share = Some(share);
        }
        load.warehouses = self.value("warehouses")?;
        load.page_bytes = self.bytes("page_bytes")?.unwrap_or(load.page_bytes);
        load.format = self.parsed("format")?;
        Ok(())
    }

    /// An error if an option is left that is none of the call's.
    fn end(&self, call: &str) -> PyResult<()> {
        match self.0.keys().iter().next() {
            None => Ok(()),
            Some(name) => Err(PyTypeError::new_err(format!("{call} has no option `{name}`"))),
        }
    }
}

/// Replays page loads through the pool. Returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (device, options, progress=None))]
pub fn pool_replay(
    py: Python<'_>,
    device: &str,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (given, mut config) = (Given(options), PoolReplayConfig::new(device));
    config.loads = given.all("workloads")?;
    let traces = given.traces()?;
    config.loads.extend(traces.iter().cloned().map(LoadKind::Trace));
    given.load(&mut config.load)?;
    config.ideal.alpha = given.value("alpha")?;
    (config.ideal.k_r, config.ideal.k_w) = (given.value("k_r")?, given.value("k_w")?);
    given.set("overwrite", &mut config.overwrite)?;
    config.create = given.bytes("create")?;
    given.set("warm_up", &mut config.warm_up)?;
    given.choices("policies", &mut config.policies)?;
    given.choices("writers", &mut config.writers)?;
    given.choices("prefetch", &mut config.prefetch)?;
    let frames: Option<usize> = given.count("frames")?;
    let pool = given.size("pool")?.map(pool_size);
    if frames.is_some() && pool.is_some() {
        return Err(invalid("frames and pool are both sizes of the pool: give one of them"));
    }
    config.pool = frames.map(PoolSize::Frames).or(pool);
    (config.n_w, config.n_e) = (given.count("n_w")?, given.count("n_e")?);
    config.cleaner_batch = given.count("cleaner_batch")?.unwrap_or(config.cleaner_batch);
    config.threads = given.count("threads")?.unwrap_or(config.threads);
    config.repeats = given.count("repeats")?.unwrap_or(config.repeats);
    config.sweep = given.get("sweep")?.map(|given| sweep(&given)).transpose()?;
    let page = given.page([traces, vec![device.into()]].concat())?;
    given.end("pool_replay")?;
    run(py, progress.as_ref(), page, |control| replay_pool(&config, control), PoolReplay::page)
}

fn pool_size(size: MemorySize) -> PoolSize {
    match size {
        MemorySize::Bytes(bytes) => PoolSize::Bytes(bytes),
        MemorySize::Percent(percent) => PoolSize::Percent(percent),
    }
}

/// A parameter to vary, and its values.
fn sweep(given: &Bound<'_, PyAny>) -> PyResult<Sweep> {
    let (name, values): (String, Vec<Bound<'_, PyAny>>) = given.extract()?;
    let floats = || values.iter().map(|value| value.extract::<f64>()).collect::<PyResult<_>>();
    let none = |name: &str, wrong: bool| match wrong || values.is_empty() {
        true => Err(invalid(format!("sweep of {name}: these values are impossible, or none"))),
        false => Ok(()),
    };
    match name.as_str() {
        "n_w" => {
            let counts: Vec<usize> = values.iter().map(|v| v.extract()).collect::<PyResult<_>>()?;
            none("n_w", !counts.iter().all(|n| (1..=1024).contains(n)))?;
            Ok(Sweep::BatchOfWrites(counts))
        }
        "alpha" => {
            let alphas: Vec<f64> = floats()?;
            none("alpha", !alphas.iter().all(|alpha| *alpha > 0.0))?;
            Ok(Sweep::Alpha(alphas))
        }
        "read_share" => {
            let shares: Vec<f64> = floats()?;
            none("read_share", !shares.iter().all(|share| (0.0..=1.0).contains(share)))?;
            Ok(Sweep::ReadShare(shares.into_iter().map(|share| share * 100.0).collect()))
        }
        "pool" => {
            let sizes = values.iter().map(|value| size(&name, value).map(pool_size));
            let sizes = sizes.collect::<PyResult<Vec<_>>>()?;
            none("pool", false)?;
            Ok(Sweep::Pool(sizes))
        }
        other => Err(invalid(format!("sweep of {other}: expected n_w, alpha, read_share or pool"))),
    }
}

/// Replays page loads through tiers. Returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (options, progress=None))]
pub fn tier_replay(
    py: Python<'_>,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (given, mut config) = (Given(options), TierReplayConfig::default());
    let read_share = config.load.read_share;
    config.loads = given.all("workloads")?;
    let traces = given.traces()?;
    config.loads.extend(traces.iter().cloned().map(TierLoadKind::Trace));
    given.load(&mut config.load)?;
    config.load.read_share = config.load.read_share.or(read_share);
    let tiers = given.all("tiers")?;
    if !tiers.is_empty() {
        config.tiers = tiers;
    }
    config.capacities = given.all("capacities")?;
    given.choices("policies", &mut config.policies)?;
    let interval_us: Option<f64> = given.value("interval_us")?;
    let clients: Option<u32> = given.count("clients")?;
    config.arrivals = match (interval_us, clients) {
        (Some(_), Some(_)) => {
            return Err(invalid("clients wait for answers, and interval_us does not: give one"));
        }
        (Some(us), None) if (0.0..=1e9).contains(&us) => {
            Arrivals::Open { interval_ns: (us * 1e3).round() as u64 }
        }
        (Some(us), None) => {
            return Err(invalid(format!("interval_us is {us}: expected 0 to 1000000000")));
        }
        (None, Some(clients)) => Arrivals::Closed { clients },
        (None, None) => config.arrivals,
    };
    given.set("cpu_ops", &mut config.cpu_ops)?;
    let page = given.page(traces)?;
    given.end("tier_replay")?;
    run(py, progress.as_ref(), page, |control| replay_tiers(&config, control), TierReplay::page)
}

fn run<R: Serialize>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    page: Option<Written>,
    replay: impl FnOnce(Control<'_>) -> Result<R, ReplayError> + Send,
    page_of: fn(&R, Option<&str>) -> Page,
) -> PyResult<String> {
    let call = Call::default();
    call.wait(py, progress, || {
        let progress = |now: cenote_replay::Progress| {
            call.report(now.stage, now.done, Some(now.total));
        };
        let cancelled = || call.is_cancelled();
        let control = Control { progress: &progress, cancelled: &cancelled };
        let replay = replay(control).map_err(Failure::Replay)?;
        if let Some(page) = page {
            report::write(&page.path, &page.inputs, &page_of(&replay, None))?;
        }
        Ok(json(&replay))
    })
}

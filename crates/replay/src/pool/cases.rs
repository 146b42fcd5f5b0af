//! The cases of a config: each load on a device with a setting. All parameters are checked here,
//! before anything is written.

use std::path::Path;

use cenote_device::Op;
use cenote_device::backend::file::{self, OpenOptions};
use cenote_device::threads::THREADS_MAX;

use super::row::Varied;
use super::run::Setting;
use super::target::{Ideal, Permission, Target};
use super::{PoolReplayConfig, PoolSize, ReplayedLoad, Sweep, fill};
use crate::control::Control;
use crate::error::{Result, require};
use crate::load::{Load, LoadConfig, LoadKind, PAPER_OPS, PAPER_PAGES, Sizes};

/// Frames of the ACE evaluation for [`PAPER_PAGES`].
const PAPER_POOL: PoolSize = PoolSize::Frames(20_000);

const POOL: PoolSize = PoolSize::Percent(6.0);

/// Default number of accesses on a real drive, for a run of minutes.
const FILE_OPS: u64 = 200_000;

/// A load on a device with a setting, to be run with all combinations.
pub(super) struct Case {
    pub target: Target,
    pub load: Load,
    pub setting: Setting,
    pub sweep: Option<Varied>,
}

impl Case {
    pub fn replayed(&self) -> ReplayedLoad {
        let Load { name, ops, pages, .. } = &self.load;
        ReplayedLoad {
            name: name.clone(),
            ops: *ops,
            pages: *pages,
            frames: self.setting.frames,
            renumbered: self.load.renumbered(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    BatchOfWrites(usize),
    Alpha(f64),
    ReadShare(f64),
    Pool(PoolSize),
}

impl Value {
    /// The values in the given order.
    fn all(sweep: &Sweep) -> Vec<Self> {
        match sweep {
            Sweep::BatchOfWrites(all) => all.iter().map(|&v| Self::BatchOfWrites(v)).collect(),
            Sweep::Alpha(all) => all.iter().map(|&v| Self::Alpha(v)).collect(),
            Sweep::ReadShare(all) => all.iter().map(|&v| Self::ReadShare(v)).collect(),
            Sweep::Pool(all) => all.iter().map(|&v| Self::Pool(v)).collect(),
        }
    }

    /// The parameter and the value for rows and plots: shares in percent, sizes in percent, bytes
    /// or pages.
    fn varied(self) -> Varied {
        let (name, value) = match self {
            Self::BatchOfWrites(n) => ("n-w", n as f64),
            Self::Alpha(alpha) => ("alpha", alpha),
            Self::ReadShare(percent) => ("read-share", percent),
            Self::Pool(PoolSize::Percent(percent)) => ("pool", percent),
            Self::Pool(PoolSize::Bytes(bytes)) => ("pool", bytes as f64),
            Self::Pool(PoolSize::Frames(frames)) => ("pool", frames as f64),
        };
        Varied { name, value }
    }
}

impl PoolReplayConfig {
    pub(super) fn cases(&self, control: Control<'_>) -> Result<Vec<Case>> {
        self.check()?;
        let simulated = Target::is_simulated_name(&self.device);
        let values: Vec<Option<Value>> = match &self.sweep {
            Some(sweep) => Value::all(sweep).into_iter().map(Some).collect(),
            None => vec![None],
        };
        let surveys = self.surveys(&values, simulated, &control)?;
        let target = if simulated {
            self.refuse_file_parameters()?;
            None
        } else {
            surveys.iter().flatten().try_for_each(|load| self.refuse_too_long(load))?;
            Some(self.file_target(surveys.iter().flatten().any(|load| load.writes), control)?)
        };
        let mut cases = Vec::new();
        for (value, loads) in values.iter().zip(surveys) {
            let target = match &target {
                Some(target) => target.clone(),
                None => self.simulated(*value)?,
            };
            for load in loads {
                let setting = self.setting(&target, &load, *value)?;
                let sweep = value.map(Value::varied);
                cases.push(Case { target: target.clone(), load, setting, sweep });
            }
        }
        Ok(cases)
    }

    fn check(&self) -> Result<()> {
        let page_bytes = self.load.page_bytes;
        require((512..=1 << 24).contains(&page_bytes), || {
            format!("`page_bytes` {page_bytes}: expected a size of 512 to 16MiB")
        })?;
        let threads = self.threads;
        require((1..=THREADS_MAX).contains(&threads), || {
            format!("`threads` {threads}: expected 1 to {THREADS_MAX}")
        })?;
        let lists = [self.loads.len(), self.policies.len(), self.writers.len()];
        let is_something = !lists.contains(&0) && !self.prefetch.is_empty() && self.repeats > 0;
        require(is_something, || {
            "nothing to replay: give at least one load, policy, writer and prefetcher, and \
             `repeats` of 1 or more"
                .to_owned()
        })
    }

    /// The loads for each value. A trace is read once.
    fn surveys(
        &self,
        values: &[Option<Value>],
        simulated: bool,
        control: &Control<'_>,
    ) -> Result<Vec<Vec<Load>>> {
        let sizes = self.sizes(simulated)?;
        let mut kinds: Vec<&LoadKind> = Vec::new();
        for kind in &self.loads {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let survey = |read_share: Option<f64>| -> Result<Vec<Load>> {
            let config = LoadConfig { read_share, ..self.load.clone() };
            let survey =
                |&kind: &&LoadKind| Load::survey(kind.clone(), config.clone(), sizes, control);
            let loads = kinds.iter().map(survey).collect::<Result<Vec<Load>>>()?;
            refuse_equal_names(&loads)?;
            Ok(loads)
        };
        if !matches!(self.sweep, Some(Sweep::ReadShare(_))) {
            return Ok(vec![survey(self.load.read_share)?; values.len()]);
        }
        let fixed = |kind: &&LoadKind| matches!(kind, LoadKind::Tpcc(_) | LoadKind::Trace(_));
        require(!kinds.iter().any(fixed), || {
            "`sweep` read-share varies ms, wis, ris, mu and zipf; traces and tpcc have their own"
                .to_owned()
        })?;
        let mut surveys = Vec::new();
        for value in values {
            let Some(Value::ReadShare(percent)) = value else { continue };
            let mut loads = survey(Some(percent / 100.0))?;
            // The share is a separate column here.
            loads.iter_mut().for_each(|load| load.name.clone_from(&load.name_plain));
            surveys.push(loads);
        }
        Ok(surveys)
    }

    fn sizes(&self, simulated: bool) -> Result<Sizes> {
        let LoadConfig { page_bytes, pages, ops, .. } = self.load;
        let pages = match pages {
            Some(pages) => pages,
            None if simulated => PAPER_PAGES,
            None => self.file_bytes()? / page_bytes,
        };
        let device = &self.device;
        require(pages > 0, || format!("{device}: not one page of {page_bytes} bytes fits"))?;
        let ops = ops.unwrap_or(if simulated { PAPER_OPS } else { FILE_OPS });
        Ok(Sizes { pages, ops })
    }

    /// Bytes of the file, which may be still to be created.
    fn file_bytes(&self) -> Result<u64> {
        match self.create {
            Some(bytes) => Ok(bytes),
            None => Ok(file::open(Path::new(&self.device), &OpenOptions::reading())?.len_bytes()?),
        }
    }

    fn refuse_file_parameters(&self) -> Result<()> {
        let device = &self.device;
        require(!self.overwrite && self.create.is_none(), || {
            format!("{device} has no file: leave out `overwrite` and `create`")
        })?;
        require(self.threads == 1, || {
            format!("{device}: virtual time is that of one thread: `threads` is for files")
        })
    }

    fn refuse_too_long(&self, load: &Load) -> Result<()> {
        let pages = self.file_bytes()? / self.load.page_bytes;
        require(load.pages <= pages, || {
            format!(
                "{}: {load} needs {} pages, and {pages} fit: give a file of {} bytes, or fewer \
                 `pages`",
                self.device,
                load.pages,
                load.pages.saturating_mul(self.load.page_bytes)
            )
        })
    }

    fn file_target(&self, writes: bool, control: Control<'_>) -> Result<Target> {
        let path = Path::new(&self.device);
        let is_ideal = self.ideal != Ideal::default();
        let device = &self.device;
        require(!is_ideal && !matches!(self.sweep, Some(Sweep::Alpha(_))), || {
            format!("{device}: `alpha` and `k` are for sim:ideal")
        })?;
        if self.create.is_some() {
            fill::create(
                path,
                self.file_bytes()? / self.load.page_bytes * self.load.page_bytes,
                control,
            )?;
        }
        require(!writes || self.overwrite || self.create.is_some(), || {
            format!(
                "{device}: the load writes, so the file's bytes would be replaced: allow it with \
                 `overwrite`, or make a new file with `create`"
            )
        })?;
        let permission = if writes { Permission::Overwrite } else { Permission::Read };
        Target::file(path, self.load.page_bytes, permission)
    }

    fn simulated(&self, value: Option<Value>) -> Result<Target> {
        let mut ideal = self.ideal;
        if let Some(Value::Alpha(alpha)) = value {
            ideal.alpha = Some(alpha);
        }
        Target::simulated(&self.device, self.load.page_bytes, ideal)
    }

    fn setting(&self, target: &Target, load: &Load, value: Option<Value>) -> Result<Setting> {
        let k_w = target.model.channels(Op::Write, self.load.page_bytes) as usize;
        let n_w = match value {
            Some(Value::BatchOfWrites(n_w)) => n_w,
            _ => self.n_w.unwrap_or(k_w),
        };
        let pool = match value {
            Some(Value::Pool(size)) => Some(size),
            _ => self.pool,
        };
        let frames_of = |bytes: u64| (bytes / self.load.page_bytes).max(1) as usize;
        let default = if load.pages == PAPER_PAGES { PAPER_POOL } else { POOL };
        let frames = match pool.unwrap_or(default) {
            PoolSize::Frames(frames) => frames,
            PoolSize::Bytes(bytes) => frames_of(bytes),
            PoolSize::Percent(percent) => {
                let bytes = (load.pages * self.load.page_bytes) as f64 * percent / 100.0;
                frames_of(bytes.round() as u64)
            }
        };
        require(frames > 1 || !self.writers.iter().any(|writer| writer.has_cleaner()), || {
            format!(
                "{load}: a pool of {frames} frames: a background writer needs 2, one to write and \
                 one to use; give more `frames` or a greater `pool`, or leave cleaner and ace-bg \
                 out of `writer`"
            )
        })?;
        Ok(Setting {
            page_bytes: self.load.page_bytes as usize,
            frames,
            n_w,
            n_e: self.n_e.unwrap_or(k_w),
            cleaner_batch: self.cleaner_batch.min(Setting::background_max(frames)),
            threads: self.threads,
            warm_up: self.warm_up,
        })
    }
}

/// Refuses loads of equal names, which identify and compare rows.
fn refuse_equal_names(loads: &[Load]) -> Result<()> {
    for (place, load) in loads.iter().enumerate() {
        let again = loads[..place].iter().any(|other| other.name == load.name);
        require(!again, || {
            format!("two loads are called {load}: replay them in two runs, or rename a file")
        })?;
    }
    Ok(())
}

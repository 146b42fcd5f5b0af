//! The device of a graph over tiers, which also runs the migration of its blocks.

use std::any::Any;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::Device;
use cenote_device::profile::Profile;
use cenote_device::wrapper::Layer;
use cenote_store::Graph;
use cenote_tier::device::{Refreshed, TieredError, Worker, WorkerConfig};

use super::kept::{Done, Kept};
use super::members::{Access, Members, is_same};
use super::spec::named_file;
use crate::drive::DriveOptions;
use crate::error::{Error, Result};
use crate::lock::LockedDevice;

/// The most blocks that are moved together.
pub const BATCH: usize = 64;

/// A graph's tiers, as one device.
#[derive(Debug)]
pub struct TieredGraph {
    members: Members,
    /// What this process has of the graph.
    hold: Mutex<Hold>,
    /// Memory of the policy and of migration, counted even if this run does not migrate, so that
    /// an estimate is that of the run.
    worker_bytes: usize,
}

/// What a process has of a graph.
#[derive(Debug)]
struct Hold {
    /// Migration, unless the policy never moves blocks.
    moving: Option<Moving>,
    /// Whether the graph is locked against all other processes since it was opened.
    is_alone: bool,
    /// Whether the lock was lost when it should have been shared.
    is_lost: bool,
}

#[derive(Debug)]
struct Moving {
    worker: Worker,
    kept: Kept,
    graph: PathBuf,
    /// The locked map.
    map: Arc<File>,
}

impl TieredGraph {
    /// Opens the graph `path`; with [`Access::Move`], starts migration.
    pub fn open(path: &Path, access: Access, drives: &DriveOptions) -> Result<Self> {
        let members = Members::open(path, access, drives)?;
        let kept = Kept::find(path, &members.device.header().id)?;
        let config = worker_config(&members, &kept)?;
        // A writer of its own moves nothing.
        let is_still = is_still(&config) || access == Access::Write;
        let worker_bytes = if is_still { 0 } else { Worker::needs(&members.device, &config)? };
        let moving = match members.access {
            Access::Read | Access::Write => None,
            Access::Move => Moving::start(path, &members, kept, config)?,
        };
        let is_alone = members.access == Access::Move;
        let hold = Mutex::new(Hold { moving, is_alone, is_lost: false });
        Ok(Self { members, hold, worker_bytes })
    }

    /// The tiers of a graph; none for a graph in one file.
    pub fn of(graph: &Graph) -> Option<&Self> {
        Self::of_device(graph.device().as_ref())
    }

    /// The tiers that a device is, maybe with the lock of a reader; none for another device.
    pub(crate) fn of_device(device: &dyn Device) -> Option<&Self> {
        let found: &dyn Any = device;
        match found.downcast_ref::<LockedDevice>() {
            Some(locked) => Self::of_device(locked.inner()),
            None => found.downcast_ref(),
        }
    }

    /// Takes over what another process has mapped to the tiers since the graph was opened.
    ///
    /// # Errors
    /// The map cannot be read.
    pub(crate) fn refresh(&self) -> Result<Refreshed> {
        match lock(&self.hold).is_alone {
            true => Ok(Refreshed::Newest),
            false => Ok(self.members.device.refresh()?),
        }
    }

    /// Whether a writer of this process may use this device: it knows all changes of the map, and
    /// the caller, which has the lock of the graph's writer, makes the next ones.
    pub(crate) fn is_for_writers(&self) -> bool {
        lock(&self.hold).is_alone
    }

    /// Whether another process may be moving blocks that this one knows elsewhere.
    pub(crate) fn is_lost(&self) -> bool {
        lock(&self.hold).is_lost
    }

    /// The files of the tiers.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// The profile for planning requests: that of the slowest tier, which holds most blocks.
    pub fn profile(&self) -> &Profile {
        self.members.profiles.last().expect("a graph has two tiers or more")
    }

    /// Stops migration and saves the state of the policy; the graph can still be read, also by
    /// others. Does nothing without migration.
    ///
    /// # Errors
    /// The state could not be saved, or migration had failed.
    pub fn stop_moving(&self) -> Result<()> {
        let mut hold = lock(&self.hold);
        let Some(moving) = hold.moving.take() else { return Ok(()) };
        let stopped = moving.stop();
        hold.is_alone = false;
        let shared = self.members.lock.try_lock_shared().map_err(std::io::Error::from);
        hold.is_lost = shared.is_err();
        stopped.and(shared.map_err(Error::io("cannot share the lock of the graph")))
    }

    /// Migration so far; none without migration.
    pub fn moved(&self) -> Option<Done> {
        lock(&self.hold).moving.as_ref().map(|moving| moving.worker.report().into())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the policy never moves blocks.
fn is_still(config: &WorkerConfig) -> bool {
    config.policy.name() == "static"
}

/// The configuration of migration, without the policy's state.
pub fn worker_config(members: &Members, kept: &Kept) -> Result<WorkerConfig> {
    let config = WorkerConfig::new(kept.policy(), members.speeds()?).models(members.models());
    let recorded_bytes = config.recorded_bytes_max.max(members.device.header().block_bytes.into());
    Ok(config.batch(BATCH).recorded_bytes_max(recorded_bytes))
}

impl Moving {
    /// Starts migration; none for a policy that never moves blocks.
    fn start(
        path: &Path,
        members: &Members,
        mut kept: Kept,
        config: WorkerConfig,
    ) -> Result<Option<Self>> {
        if is_still(&config) {
            return Ok(None);
        }
        warn_of_speeds(path, members, &config);
        let state = kept.state.take();
        let worker = match Worker::start(&members.device, config.clone().state(state)) {
            Err(error @ TieredError::State { .. }) => {
                tracing::warn!("{}: {error}: the policy begins anew", path.display());
                Worker::start(&members.device, config)
            }
            started => started,
        }?;
        let (graph, map) = (path.to_owned(), Arc::clone(&members.lock));
        Ok(Some(Self { worker, kept, graph, map }))
    }

    /// Stops the thread and saves the state of the policy.
    fn stop(mut self) -> Result<()> {
        if let Some(speeds) = self.worker.speeds() {
            let speeds: Vec<_> = speeds.iter().map(ToString::to_string).collect();
            tracing::debug!("{}: tiers as seen: {}", self.graph.display(), speeds.join(", "));
        }
        let (report, state) = self.worker.stop()?;
        self.kept.add(report.into());
        self.kept.state = Some(state);
        if !is_same(&self.map, &self.graph) {
            // An import has replaced the graph, for which this state is useless.
            return Ok(());
        }
        self.kept.save()
    }
}

/// Warns if a tier is no faster than the next: a policy that weighs costs then moves nothing.
fn warn_of_speeds(path: &Path, members: &Members, config: &WorkerConfig) {
    if !config.policy.weighs_costs() {
        return;
    }
    let header = members.device.header();
    for (at, pair) in config.tiers.windows(2).enumerate() {
        if pair[0].read_share_ns() >= pair[1].read_share_ns() {
            let name = |at: usize| named_file(&header.tiers[at]).0;
            tracing::warn!(
                "{}: by what is known of their drives tier {} is no faster than {}, so hardly any \
                 page moves: `cenote profile --quick DIR` measures a drive",
                path.display(),
                name(at),
                name(at + 1)
            );
        }
    }
}

impl Layer for TieredGraph {
    fn inner(&self) -> &dyn Device {
        &self.members.device
    }

    fn memory_bytes(&self) -> usize {
        // The policy grows with the graph.
        let hold = lock(&self.hold);
        let worker = hold.moving.as_ref().map_or(0, |moving| moving.worker.report().memory_bytes);
        self.members.device.memory_bytes() + self.worker_bytes.max(worker)
    }
}

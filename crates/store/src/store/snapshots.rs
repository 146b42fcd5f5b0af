//! Makes and removes snapshots, and opens graphs at them.

use std::sync::Arc;

use super::Store;
use crate::error::{Result, StoreError};
use crate::graph::Graph;
use crate::pages::LookupConfig;
use crate::readers::lock;
use crate::snapshot::{Snapshot, SnapshotState, Snapshots};
use crate::superblock::{SNAPSHOTS_MAX, SnapshotLabel, Superblock, name_fault};
use crate::update::watch::{UNWATCHED, Watch};

impl Store {
    /// Keeps the present state of the graph under a name, `epoch-` and its epoch if none is given:
    /// merges the changes of delta runs and log, if there are any, and records the state in one
    /// more commit. Writes a page for each snapshot and the page table, no lists. `created` is the
    /// time, in seconds since 1970.
    ///
    /// # Errors
    /// [`StoreError::Snapshot`] for a name that is taken or not possible, or if the graph has
    /// [`SNAPSHOTS_MAX`] snapshots: then nothing has changed. Those of
    /// [`Store::merge`] and of [`Transaction::commit`](crate::Transaction::commit).
    pub fn snapshot(&self, name: Option<&str>, created: u64) -> Result<Snapshot> {
        self.snapshot_watched(name, created, UNWATCHED)
    }

    /// [`Store::snapshot`], watched while it merges.
    ///
    /// # Errors
    /// As [`Store::snapshot`], and [`StoreError::Cancelled`].
    pub fn snapshot_watched(
        &self,
        name: Option<&str>,
        created: u64,
        watch: Watch<'_>,
    ) -> Result<Snapshot> {
        self.check_new(name)?;
        let mut transaction = self.begin_watched(watch)?;
        let (commit, snapshots) = {
            let state = lock(&self.state);
            (state.commit.clone(), Arc::clone(&state.snapshots))
        };
        let name = match name {
            Some(name) => name.to_owned(),
            None => format!("epoch-{}", commit.superblock.epoch),
        };
        // Another thread may have made one meanwhile.
        self.check_new(Some(&name))?;
        let snapshot = SnapshotState::of(&commit, SnapshotLabel { name, created });
        // Nothing is free yet that it needs.
        let made = snapshot.show(0);
        let mut all = snapshots.all.clone();
        all.push(snapshot);
        transaction.set_snapshots(all)?;
        transaction.commit()?;
        Ok(made)
    }

    /// Removes a snapshot: its pages are free when no reader has it open any more. Merges the
    /// changes of delta runs and log first. Returns the snapshot as it was.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshot`]; those of [`Store::merge`] and of
    /// [`Transaction::commit`](crate::Transaction::commit).
    pub fn remove_snapshot(&self, name: &str) -> Result<Snapshot> {
        self.remove_snapshot_watched(name, UNWATCHED)
    }

    /// [`Store::remove_snapshot`], watched while it merges.
    ///
    /// # Errors
    /// As [`Store::remove_snapshot`], and [`StoreError::Cancelled`].
    pub fn remove_snapshot_watched(&self, name: &str, watch: Watch<'_>) -> Result<Snapshot> {
        self.present()?.find(&self.file, name)?;
        let mut transaction = self.begin_watched(watch)?;
        let snapshots = self.present()?;
        snapshots.find(&self.file, name)?;
        let removed = self.snapshots().into_iter().find(|snapshot| snapshot.name == name);
        let is_kept = |snapshot: &&SnapshotState| snapshot.label.name != name;
        let all = snapshots.all.iter().filter(is_kept).cloned().collect();
        transaction.set_snapshots(all)?;
        transaction.commit()?;
        Ok(removed.expect("it was found"))
    }

    /// The snapshots of the graph, the oldest first.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let state = lock(&self.state);
        state.snapshots.list(&state.commit.extents.free)
    }

    /// Opens the graph as it was when a snapshot was made. Its pages are kept until it is dropped,
    /// even if the snapshot is removed.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshot`], and as [`Graph::open`].
    pub fn graph_at(
        &self,
        name: &str,
        plan: impl FnOnce(&Superblock) -> LookupConfig,
    ) -> Result<Graph> {
        let (latest, pin) = {
            // Pin before a commit can remove the snapshot.
            let state = lock(&self.state);
            let latest = state.snapshots.find(&self.file, name)?.latest();
            let pin = self.readers.pin(latest.commit.superblock.epoch);
            (latest, pin)
        };
        Graph::of(Arc::clone(&self.device), Arc::clone(&self.file), latest, plan, Some(pin))
    }

    fn present(&self) -> Result<Arc<Snapshots>> {
        self.check_health()?;
        Ok(Arc::clone(&lock(&self.state).snapshots))
    }

    /// Whether a snapshot can be made.
    fn check_new(&self, name: Option<&str>) -> Result<()> {
        let snapshots = self.present()?;
        let is_taken =
            |name: &str| snapshots.all.iter().any(|snapshot| snapshot.label.name == name);
        let reason = match name.map(|name| (name_fault(name), is_taken(name))) {
            Some((Some(fault), _)) => {
                format!(
                    "its name {fault}: choose 1 to 64 bytes without control characters, `/` and `@`"
                )
            }
            Some((None, true)) => {
                "the graph has one of that name: remove it or choose another name".to_owned()
            }
            _ if snapshots.all.len() >= SNAPSHOTS_MAX => {
                format!("the graph has {SNAPSHOTS_MAX}, the most that are possible: remove one")
            }
            _ => return Ok(()),
        };
        let (file, name) = (self.file.to_string(), name.unwrap_or_default().escape_debug());
        Err(StoreError::Snapshot { file, name: name.to_string(), reason })
    }
}

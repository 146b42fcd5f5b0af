//! Snapshots: states of a graph that are kept under a name while it changes.

use std::time::SystemTime;

use cenote_store::{Snapshot, Store};

use super::{Update, UpdateReport};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;

impl Update {
    /// Keeps the present state of the graph under a name, at the cost of a commit, not of a copy:
    /// [`OpenOptions::at`](crate::graph::OpenOptions::at) opens it, whatever changes later. Merges
    /// the changes of delta runs and log first. Changes that were not committed yet stay so, and
    /// are not part of it.
    ///
    /// A name has 1 to 64 bytes, without control characters, `/` and `@`. A graph has at most 64
    /// snapshots.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("friends.cenote");
    /// # let edges = [("ada", "bob"), ("bob", "cem")];
    /// # cenote::Import::new().slice(&edges).memory("64MiB").run(&path)?;
    /// let mut update = cenote::Update::open(&path)?;
    /// update.snapshot("two friends")?;
    /// update.add("cem", "dil")?;
    /// update.commit()?;
    /// assert_eq!(cenote::Graph::open(&path)?.edges(), 3);
    /// assert_eq!(cenote::Graph::open_at(&path, "two friends")?.edges(), 2);
    /// update.remove_snapshot("two friends")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a name that is taken or not possible, or if there are 64: then
    /// nothing has changed. As [`Update::commit`].
    pub fn snapshot(&mut self, name: &str) -> Result<Snapshot> {
        self.make_snapshot(Some(name))
    }

    /// [`Update::snapshot`] under the name `epoch-` with the number of the epoch.
    ///
    /// # Errors
    /// As [`Update::snapshot`].
    pub fn snapshot_of_epoch(&mut self) -> Result<Snapshot> {
        self.make_snapshot(None)
    }

    fn make_snapshot(&mut self, name: Option<&str>) -> Result<Snapshot> {
        self.begin()?;
        // A clock before 1970 is wrong in any case.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.end_beside(&mut UpdateReport::default())?;
        let made = |store: &Store, watch: cenote_store::Watch<'_>| {
            store.snapshot_watched(name, now.as_secs(), watch)
        };
        let snapshot = self.watched(made);
        let snapshot = snapshot.map_err(|error| self.failed(error))?;
        self.count_memory()?;
        Ok(snapshot)
    }

    /// Removes a snapshot. Updates use its pages again, once no reader has it open. Merges the
    /// changes of delta runs and log first. Returns the snapshot as it was.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if there is none of this name. As [`Update::commit`].
    pub fn remove_snapshot(&mut self, name: &str) -> Result<Snapshot> {
        self.begin()?;
        self.end_beside(&mut UpdateReport::default())?;
        let snapshot = self.watched(|store, watch| store.remove_snapshot_watched(name, watch));
        let snapshot = snapshot.map_err(|error| self.failed(error))?;
        self.count_memory()?;
        Ok(snapshot)
    }

    /// The snapshots of the graph, the oldest first.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.store.snapshots()
    }
}

//! Merges delta runs: at once, or on a thread while commits go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use cenote_store::{Batch, Store, Updated};

use super::{Update, UpdateReport};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;

/// Delta runs may be so many percent of the lists while older ones are merged: as many again as
/// begin a merge.
pub(super) const BESIDE_PERCENT: u64 = 8;

/// A merge takes at most `1 / BESIDE_SHARE` of the memory, or commits wait for it.
pub(super) const BESIDE_SHARE: u64 = 8;

/// Batches of at most so many changes begin a merge. A series of larger ones merges more at a time,
/// which writes less.
const SMALL_BATCH: usize = 1 << 14;

/// How often a commit that waits for a merge looks whether the caller cancels.
const WAIT: Duration = Duration::from_millis(5);

/// A thread that merges; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct MergeThread {
    thread: Option<JoinHandle<cenote_store::Result<Option<Updated>>>>,
    is_ended: Arc<AtomicBool>,
}

impl MergeThread {
    /// `None` where no thread can be had: the runs are merged by a commit then.
    fn begin(store: &Arc<Store>) -> Option<Self> {
        let (store, is_ended) = (Arc::clone(store), Arc::new(AtomicBool::new(false)));
        let cancel = Arc::clone(&is_ended);
        let merge = move || match store.prepare_merge(&|_| cancel.load(Ordering::Relaxed))? {
            Some(prepared) => prepared.finish(),
            None => Ok(None),
        };
        let thread = Builder::new().name("cenote-merge".to_owned()).spawn(merge).ok()?;
        Some(Self { thread: Some(thread), is_ended })
    }

    fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn join(mut self) -> cenote_store::Result<Option<Updated>> {
        let thread = self.thread.take().expect("it is joined once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for MergeThread {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Nothing depends on how it ends.
            let _ = thread.join();
        }
    }
}

impl Update {
    /// Merges the changes of delta runs and log into the lists, which are then read alone. Does
    /// nothing where there are none. Changes that were not committed yet stay so.
    ///
    /// # Errors
    /// As [`Update::commit`].
    pub fn merge(&mut self) -> Result<UpdateReport> {
        self.merge_by(Store::merge_watched)
    }

    /// Ends a series of large commits, which leave more changes in delta runs than small ones:
    /// merges the runs if they are more than 4% of the lists, since passes over the lists take
    /// longer for them. Else does nothing.
    ///
    /// # Errors
    /// As [`Update::commit`].
    pub fn settle(&mut self) -> Result<UpdateReport> {
        self.merge_by(Store::settle_watched)
    }

    fn merge_by(
        &mut self,
        merge: fn(&Store, cenote_store::Watch<'_>) -> cenote_store::Result<Updated>,
    ) -> Result<UpdateReport> {
        self.begin()?;
        let mut report = UpdateReport::default();
        self.end_beside(&mut report)?;
        let done = self.watched(merge).map_err(|error| self.failed(error))?;
        report.count(&done, self.page_bytes);
        self.count_memory()?;
        Ok(report)
    }

    /// Begins a merge on a thread if it is time to, after a batch of so many changes; gives up one
    /// whose memory the next changes need.
    pub(super) fn begin_or_end_beside(&mut self, changes: usize) -> Result<()> {
        if !self.is_beside {
            self.beside.take_if(|beside| !beside.is_finished());
        } else if self.beside.is_none() && (1..=SMALL_BATCH).contains(&changes) {
            let is_due = self.store.is_merge_due().map_err(|error| self.failed(error))?;
            if is_due {
                self.beside = MergeThread::begin(&self.store);
            }
        }
        Ok(())
    }

    /// Takes note of a merge that has ended; waits for it if there is no room for a batch before.
    pub(super) fn make_room(&mut self, batch: &Batch, report: &mut UpdateReport) -> Result<()> {
        let Some(beside) = &self.beside else { return Ok(()) };
        let is_needed = || self.store.has_no_room(batch).map_err(|error| self.failed(error));
        if beside.is_finished() || is_needed()? {
            self.end_beside(report)?;
        }
        Ok(())
    }

    /// Waits for the merge, if there is one, and counts what it did.
    pub(super) fn end_beside(&mut self, report: &mut UpdateReport) -> Result<()> {
        while self.beside.as_ref().is_some_and(|beside| !beside.is_finished()) {
            self.watch.check()?;
            std::thread::sleep(WAIT);
        }
        let Some(beside) = self.beside.take() else { return Ok(()) };
        if let Some(updated) = beside.join().map_err(|error| self.failed(error))? {
            report.count_beside(&updated, self.page_bytes);
        }
        Ok(())
    }
}

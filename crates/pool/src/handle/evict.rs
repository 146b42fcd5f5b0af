//! Provides empty frames: evicts a page, after writing it back if it is dirty.

use super::Handle;
use crate::PageId;
use crate::error::{PoolError, Result};
use crate::policy::FrameId;
use crate::pool::Choice;
use crate::sync::{self, PAUSE_US};
use crate::transfer::{Transfer, WriteFaults};

/// Other batches to write if the victim could not be written.
const OTHER_BATCHES_MAX: usize = 3;

/// A handle's wait for a frame.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    us: u64,
    /// There was no other handle at the last check.
    alone: bool,
}

/// The frames for prefetched pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefetchRoom {
    /// None: the victim was clean (dissertation 4.3.1).
    None,
    /// Free frames.
    Free,
    /// Frames of clean pages, which are evicted.
    Evict,
}

impl Handle {
    /// An empty frame for `page`, latched exclusively, and the frames for prefetched pages. Writes
    /// back the writer's batch if the victim is dirty.
    pub(super) fn make_room(&self, page: PageId) -> Result<(FrameId, PrefetchRoom)> {
        if let Some(frame) = self.pool.take_free() {
            return Ok((frame, PrefetchRoom::Free));
        }
        self.pass_records();
        let mut waited = Waited::default();
        loop {
            match self.pool.choose() {
                Choice::Emptied(frame) => return Ok((frame, PrefetchRoom::None)),
                Choice::Write(claimed) => {
                    if let Some(frame) = self.write_and_evict(&claimed)? {
                        return Ok((frame, PrefetchRoom::Evict));
                    }
                }
                Choice::Nothing => self.wait_for_frame(page, &mut waited)?,
            }
            if let Some(frame) = self.pool.take_free() {
                return Ok((frame, PrefetchRoom::None));
            }
        }
    }

    /// Writes the claimed pages at once and evicts the first; `None` if that was pinned or changed
    /// meanwhile.
    fn write_and_evict(&self, claimed: &[FrameId]) -> Result<Option<FrameId>> {
        let victim = claimed[0];
        let page = self.pool.frames.page(victim).expect("a claimed page stays");
        let faults = self.write_back(claimed)?;
        if let Some(frame) = self.pool.evict_written(victim, page) {
            return Ok(Some(frame));
        }
        let Some((page, source)) = faults.first else { return Ok(None) };
        if let Some(frame) = self.evict_another(victim)? {
            return Ok(Some(frame));
        }
        let (failed, tried) = (faults.failed, claimed.len());
        Err(PoolError::WriteBack { device: self.pool.name(), failed, tried, page, source })
    }

    /// Evicts another page, clean or written back, in place of a victim that could not be written.
    fn evict_another(&self, victim: FrameId) -> Result<Option<FrameId>> {
        let mut emptied = Vec::new();
        self.pool.evict_clean(1, &mut emptied);
        for _ in 0..OTHER_BATCHES_MAX {
            if !emptied.is_empty() {
                break;
            }
            let others = self.pool.claim_others(victim);
            self.write_back(&others)?;
            self.pool.evict_clean(1, &mut emptied);
        }
        Ok(emptied.pop())
    }

    /// Writes claimed pages at once, and waits for them.
    pub(crate) fn write_back(&self, claimed: &[FrameId]) -> Result<WriteFaults> {
        let started = self.pool.clock.now_ns();
        let mut transfer = self.transfer.borrow_mut();
        self.start_claimed(&mut transfer, claimed)?;
        let faults = transfer.finish_writes(&self.pool)?;
        self.pool.counters.write_wait_ns.add(self.pool.clock.now_ns() - started);
        tracing::trace!(pages = claimed.len(), failed = faults.failed, "write-back");
        Ok(faults)
    }

    /// Starts writing claimed pages without waiting; see [`Handle::writes_pending`].
    pub(crate) fn start_write_back(&self, claimed: &[FrameId]) -> Result<()> {
        self.start_claimed(&mut self.transfer.borrow_mut(), claimed)
    }

    /// Starts writing claimed pages; releases those that a broken queue refuses.
    fn start_claimed(&self, transfer: &mut Transfer, claimed: &[FrameId]) -> Result<()> {
        let mut rest = claimed.iter();
        let started = transfer
            .make_write_room(&self.pool, claimed.len())
            .and_then(|()| rest.try_for_each(|&frame| transfer.write(&self.pool, frame)));
        rest.for_each(|&frame| self.pool.unclaim(frame));
        self.pool.counters.count_batch(claimed.len());
        started
    }

    /// Collects completions; returns the number of writes in flight.
    pub(crate) fn writes_pending(&self) -> Result<usize> {
        let mut transfer = self.transfer.borrow_mut();
        if transfer.writes_in_flight > 0 {
            transfer.collect(&self.pool, false)?;
        }
        Ok(transfer.writes_in_flight)
    }

    /// Waits until a frame may be emptied.
    fn wait_for_frame(&self, page: PageId, waited: &mut Waited) -> Result<()> {
        let mut transfer = self.transfer.borrow_mut();
        if transfer.reads_in_flight > 0 {
            return transfer.collect(&self.pool, true);
        }
        drop(transfer);
        let alone = !self.pool.is_shared();
        let patience_us = self.pool.config.patience_ms.saturating_mul(1000);
        if waited.us >= patience_us || (alone && waited.alone) {
            let frames = self.pool.frames.len();
            return Err(PoolError::AllPinned { device: self.pool.name(), page, frames });
        }
        // The last of the other handles may have released a frame, so check once more.
        waited.alone = alone;
        if !alone {
            waited.us += PAUSE_US;
            sync::pause();
        }
        Ok(())
    }
}

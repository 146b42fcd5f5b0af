//! Writes every dirty page, and syncs.

use super::Handle;
use crate::PageId;
use crate::error::{PoolError, Result};
use crate::frame::{DIRTY, WRITING};
use crate::policy::FrameId;
use crate::sync::{self, PAUSE_US};

impl Handle {
    /// Writes every page that was dirty when it was called, in batches of the writer's size.
    ///
    /// # Errors
    /// [`PoolError::WriteBack`] reports pages that could not be written, once; they stay dirty.
    /// [`PoolError::Held`] where a dirty page is pinned for changing all the time.
    pub fn flush(&self) -> Result<()> {
        let mut transfer = self.transfer.borrow_mut();
        transfer.open(&self.pool)?;
        // The holder of a latch that is waited for below may wait for these.
        transfer.finish_reads(&self.pool)?;
        drop(transfer);
        let frames = &self.pool.frames;
        let mut dirty: Vec<(PageId, FrameId)> = frames
            .ids()
            .filter(|&frame| frames.state(frame) & (DIRTY | WRITING) != 0)
            .filter_map(|frame| Some((frames.page(frame)?, frame)))
            .collect();
        // The device likes neighbours together, whatever the order in which they became dirty.
        dirty.sort_unstable();
        let tried = dirty.len();
        let started = self.start_writing(&dirty);
        // What was started ends, whatever became of the others.
        let faults = self.transfer.borrow_mut().finish_writes(&self.pool)?;
        self.pool.counters.count_stream(started?, self.pool.config.writer.batch());
        let Some((page, source)) = faults.first else { return Ok(()) };
        let device = self.pool.name();
        Err(PoolError::WriteBack { device, failed: faults.failed, tried, page, source })
    }

    /// Writes pages, as many at once as the writer may; returns how many were still dirty.
    fn start_writing(&self, dirty: &[(PageId, FrameId)]) -> Result<usize> {
        let mut started = 0;
        for &(page, frame) in dirty {
            self.transfer.borrow_mut().make_write_room(&self.pool, 1)?;
            if self.claim_within_patience(page, frame)? {
                // Copied at once, so that no latch is held while the next page is waited for.
                self.transfer.borrow_mut().write(&self.pool, frame)?;
                started += 1;
            }
        }
        Ok(started)
    }

    /// Claims a dirty page for writing; false where another thread has written it, and it is.
    fn claim_within_patience(&self, page: PageId, frame: FrameId) -> Result<bool> {
        let frames = &self.pool.frames;
        let patience_ms = self.pool.config.patience_ms;
        for _ in 0..=patience_ms.saturating_mul(1000) / PAUSE_US {
            if !frames.holds(frame, page) || frames.state(frame) & (DIRTY | WRITING) == 0 {
                return Ok(false);
            }
            if self.pool.claim(frame) {
                if frames.holds(frame, page) {
                    return Ok(true);
                }
                self.pool.unclaim(frame);
                return Ok(false);
            }
            sync::pause();
        }
        let seconds = patience_ms as f64 / 1000.0;
        Err(PoolError::Held { device: self.pool.name(), page, seconds })
    }

    /// Writes every dirty page and returns when all that was changed before is on stable storage.
    ///
    /// # Errors
    /// As [`Handle::flush`], and a device that cannot sync. After that it is unknown what it
    /// lost: every later sync fails with [`PoolError::Poisoned`]; reading goes on.
    pub fn sync(&self) -> Result<()> {
        if self.pool.is_poisoned() {
            return Err(PoolError::Poisoned { device: self.pool.name() });
        }
        self.flush()?;
        self.pool.sync_device()
    }
}

//! Flush and sync.

use super::Handle;
use crate::PageId;
use crate::error::{PoolError, Result};
use crate::frame::{DIRTY, WRITING};
use crate::policy::FrameId;
use crate::sync::{self, PAUSE_US};

impl Handle {
    /// Writes all pages that are dirty at the call, in batches of the writer's size.
    ///
    /// # Errors
    /// [`PoolError::WriteBack`] reports once pages that could not be written, which stay dirty.
    /// [`PoolError::Held`] if a dirty page stays pinned for writing.
    pub fn flush(&self) -> Result<()> {
        let mut transfer = self.transfer.borrow_mut();
        transfer.open(&self.pool)?;
        // The holder of a latch that is needed below may wait for these reads.
        transfer.finish_reads(&self.pool)?;
        drop(transfer);
        let frames = &self.pool.frames;
        let mut dirty: Vec<(PageId, FrameId)> = frames
            .ids()
            .filter(|&frame| frames.state(frame) & (DIRTY | WRITING) != 0)
            .filter_map(|frame| Some((frames.page(frame)?, frame)))
            .collect();
        // Writes neighbours together.
        dirty.sort_unstable();
        let tried = dirty.len();
        let started = self.start_writing(&dirty);
        // Writes that were started are finished also after an error.
        let faults = self.transfer.borrow_mut().finish_writes(&self.pool)?;
        self.pool.counters.count_stream(started?, self.pool.config.writer.batch());
        let Some((page, source)) = faults.first else { return Ok(()) };
        let device = self.pool.name();
        Err(PoolError::WriteBack { device, failed: faults.failed, tried, page, source })
    }

    /// Writes pages, in batches of the writer's size; returns how many were still dirty.
    fn start_writing(&self, dirty: &[(PageId, FrameId)]) -> Result<usize> {
        let mut started = 0;
        for &(page, frame) in dirty {
            self.transfer.borrow_mut().make_write_room(&self.pool, 1)?;
            if self.claim_within_patience(page, frame)? {
                // Copies the page now, so that no latch is held in the wait for the next.
                self.transfer.borrow_mut().write(&self.pool, frame)?;
                started += 1;
            }
        }
        Ok(started)
    }

    /// Claims a dirty page for writing; false if another thread has written it.
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

    /// Writes all dirty pages and makes all earlier changes durable.
    ///
    /// # Errors
    /// As [`Handle::flush`], and a failed sync of the device. After that the device may have lost
    /// pages: every later sync fails with [`PoolError::Poisoned`]; reads still work.
    pub fn sync(&self) -> Result<()> {
        if self.pool.is_poisoned() {
            return Err(PoolError::Poisoned { device: self.pool.name() });
        }
        self.flush()?;
        self.pool.sync_device()
    }
}

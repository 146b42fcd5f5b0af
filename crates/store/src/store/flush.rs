//! Makes a log, and writes flushes to it.

use std::sync::MutexGuard;

use cenote_device::{Queue, QueueConfig};

use super::{Live, Store};
use crate::error::Result;
use crate::format::LOG_BLOCK_BYTES;
use crate::log::{FlushPlace, LogArea, LoggedBatch};
use crate::update::watch::UNWATCHED;

impl Store {
    /// Writes a flush and returns its bytes and the queue.
    pub(super) fn write_flush(
        &self,
        queue: Option<Box<dyn Queue>>,
        area: &LogArea,
        place: FlushPlace,
        durable: u64,
        batches: &[LoggedBatch],
    ) -> Result<(u64, Box<dyn Queue>)> {
        let device = self.device.as_ref();
        let mut queue = match queue {
            Some(queue) => queue,
            None => device.queue(&QueueConfig::one_by_one())?,
        };
        let mut bytes = Vec::new();
        batches.iter().for_each(|batch| batch.encode(area.weights, &mut bytes));
        let buffer = area.encode(place, durable, &bytes)?;
        let len = LogArea::blocks_for(bytes.len()) as usize * LOG_BLOCK_BYTES;
        let offset = area.offset(place.block);
        cenote_device::write_all_on(queue.as_mut(), device, offset, len, buffer)?;
        if self.limits.synced {
            device.sync()?;
        }
        Ok((len as u64, queue))
    }

    /// Makes a log, in a commit. Returns the bytes of the log and the pages that were written.
    pub(super) fn create_log(&self, live: MutexGuard<'_, Live>) -> Result<(u64, u64)> {
        let mut transaction = self.begin_with(live, UNWATCHED)?;
        transaction.keep_lists();
        let superblock = transaction.superblock();
        let bytes = self.limits.bytes_of(superblock.file_bytes());
        transaction.make_log(bytes)?;
        let pages = transaction.draft.pages_written();
        transaction.commit()?;
        Ok((bytes, pages))
    }
}

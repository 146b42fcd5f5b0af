//! Makes a log, and writes flushes to it.
//!
//! Threads that commit at the same time share a flush: each queues its batch, one of them writes
//! all that are queued and syncs, and the others wait for it. Batches that come meanwhile are the
//! next flush, which one of their threads begins as soon as this one is done.

use std::sync::{Condvar, MutexGuard, PoisonError};

use cenote_device::{Queue, QueueConfig};

use super::{Live, Store};
use crate::error::Result;
use crate::format::LOG_BLOCK_BYTES;
use crate::log::{FlushPlace, LogArea, LoggedBatch};
use crate::readers::lock;
use crate::update::watch::UNWATCHED;

/// Where threads wait for flushes: those of one flush apart from those of the next, so that the end
/// of a flush wakes its own threads and only one of the next flush, which begins it.
#[derive(Debug, Default)]
pub(super) struct FlushWaits {
    /// By the number of the flush, even or odd.
    by_parity: [Condvar; 2],
    /// For the log to be quiet.
    quiet: Condvar,
}

impl FlushWaits {
    fn of(&self, flush: u64) -> &Condvar {
        &self.by_parity[(flush % 2) as usize]
    }

    fn end(&self, flush: u64, is_next_queued: bool) {
        match is_next_queued {
            true => self.of(flush + 1).notify_one(),
            false => self.quiet.notify_all(),
        }
        self.of(flush).notify_all();
    }

    /// After a failed write: who waits for a batch to be written waits in vain.
    fn fail(&self) {
        self.by_parity.iter().chain([&self.quiet]).for_each(Condvar::notify_all);
    }
}

fn wait<'l>(waits: &Condvar, live: MutexGuard<'l, Live>) -> MutexGuard<'l, Live> {
    waits.wait(live).unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Waits until all batches that are queued now are in the log. Returns the bytes that this
    /// thread wrote.
    pub(super) fn flush<'s>(&'s self, mut live: MutexGuard<'s, Live>) -> Result<u64> {
        let wanted = live.batches;
        // Without a queued batch those that are wanted are being written, or were.
        let last = live.next.number - u64::from(live.queued.is_empty());
        while live.batches_logged < wanted {
            // Another thread's commit may have failed.
            self.check_health().inspect_err(|_| self.flush_waits.fail())?;
            if live.is_flushing {
                live = wait(self.flush_waits.of(last), live);
                continue;
            }
            return self.flush_queued(live);
        }
        Ok(0)
    }

    /// Writes all batches that are queued, as one flush. Returns its bytes.
    fn flush_queued<'s>(&'s self, mut live: MutexGuard<'s, Live>) -> Result<u64> {
        live.is_flushing = true;
        let (batches, durable) = (live.batches, live.durable);
        let queued = std::mem::take(&mut live.queued);
        let area = self.log_area().expect("batches are queued for it");
        let place = live.next;
        live.next.number += 1;
        live.next.block += LogArea::blocks_for(std::mem::take(&mut live.queued_bytes));
        let queue = live.log_queue.0.pop();
        drop(live);
        let flushed = self.write_flush(queue, &area, place, durable, &queued);
        let mut live = lock(&self.live);
        live.is_flushing = false;
        let (bytes, queue) = flushed.inspect_err(|_| {
            lock(&self.state).poisoned = true;
            self.flush_waits.fail();
        })?;
        live.log_queue.0.push(queue);
        live.batches_logged = batches;
        if self.limits.synced {
            live.durable = place.number;
        }
        let mut state = lock(&self.state);
        for batch in queued {
            let replayed = state.pending.replay(batch);
            assert!(replayed.is_ok(), "the batch fits the changes before: {replayed:?}");
        }
        drop(state);
        let is_next_queued = !live.queued.is_empty();
        // Threads that wake need the lock.
        drop(live);
        self.flush_waits.end(place.number, is_next_queued);
        Ok(bytes)
    }

    /// Waits until no batch is on its way to the log.
    pub(crate) fn quiet<'s>(&'s self, mut live: MutexGuard<'s, Live>) -> MutexGuard<'s, Live> {
        while live.is_flushing || !(live.queued.is_empty() || self.check_health().is_err()) {
            live = wait(&self.flush_waits.quiet, live);
        }
        live
    }

    /// Writes a flush and returns its bytes and the queue.
    fn write_flush(
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

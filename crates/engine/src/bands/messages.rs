//! Messages to vertices, in buffers by the band of their target.
//!
//! Where the state of a target is not in memory, its change is written instead: each worker appends
//! records to the block of the target's band, and a band takes all of its records at once when it
//! is in memory, as GridGraph's and Mosaic's destination chunks do. The place of blocks that were
//! taken is used again, so the file holds the messages that wait, not all that were sent.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::blocks::{BlockRef, BlockWriter, Blocks};
use super::state_file::StateFile;
use crate::engine::Engine;
use crate::error::Result;

/// Messages of `N` bytes that wait for their bands.
pub struct Messages<'e, const N: usize> {
    blocks: Blocks<'e>,
    /// By band.
    waiting: Mutex<Vec<Vec<BlockRef>>>,
}

impl<'e, const N: usize> Messages<'e, N> {
    /// No messages to so many bands, in blocks of `block_bytes`.
    pub fn new(engine: &'e Engine, file: &'e StateFile, bands: usize, block_bytes: usize) -> Self {
        let waiting = Mutex::new(vec![Vec::new(); bands]);
        Self { blocks: Blocks::new(engine, file, bands, block_bytes), waiting }
    }

    /// A sender for the calling worker thread.
    pub fn sender(&self) -> Sender<'_, N> {
        Sender { writer: self.blocks.writer(), result: Ok(Vec::new()) }
    }

    /// Makes what these have sent wait for its bands.
    ///
    /// # Errors
    /// [`EngineError::StateFull`](crate::EngineError::StateFull); the device failed.
    pub fn post<'s>(&self, senders: impl IntoIterator<Item = Sender<'s, N>>) -> Result<()> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in senders {
            sender.result?.into_iter().for_each(|(band, block)| waiting[band].push(block));
        }
        Ok(())
    }

    /// Passes every message that waits for a band to `each`, on all workers.
    ///
    /// # Errors
    /// The device fails, a block is damaged, the run is cancelled.
    pub fn take(&self, band: usize, each: impl Fn(&[u8; N]) + Sync) -> Result<()> {
        self.take_with(band, || (), |(), message| each(message), |()| ()).map(|_| ())
    }

    /// As [`Messages::take`]; each worker has what `begin` makes for it, which is returned, and
    /// calls `end` when it has done its part.
    ///
    /// # Errors
    /// As [`Messages::take`].
    pub fn take_with<L: Send>(
        &self,
        band: usize,
        begin: impl Fn() -> L + Sync,
        each: impl Fn(&mut L, &[u8; N]) + Sync,
        end: impl Fn(&mut L) + Sync,
    ) -> Result<Vec<L>> {
        let refs = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut waiting[band])
        };
        let of_block = |local: &mut L, block: &[u8]| {
            let (records, _) = block.as_chunks::<N>();
            records.iter().for_each(|record| each(local, record));
            Ok(())
        };
        let end = |local: &mut L| {
            end(local);
            Ok(())
        };
        let locals = self.blocks.for_each(&refs, begin, of_block, end)?;
        self.blocks.recycle(&refs);
        Ok(locals)
    }
}

impl<const N: usize> fmt::Debug for Messages<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Messages({N} bytes each, {:?})", self.blocks)
    }
}

/// What one worker thread sends. [`Sender::finish`] must be called on that thread.
#[derive(Debug)]
pub struct Sender<'b, const N: usize> {
    writer: BlockWriter<'b>,
    result: Result<Vec<(usize, BlockRef)>>,
}

impl<const N: usize> Sender<'_, N> {
    /// Sends a message to a band. After an error it does nothing: [`Messages::post`] returns it.
    #[inline(always)]
    pub fn send(&mut self, band: usize, message: &[u8; N]) {
        if self.result.is_ok()
            && let Err(error) = self.writer.push(band, message)
        {
            self.result = Err(error);
        }
    }

    /// Whether a message could not be written.
    pub fn has_failed(&self) -> bool {
        self.result.is_err()
    }

    /// Writes what is in memory.
    pub fn finish(&mut self) {
        if let Ok(sent) = &mut self.result {
            match self.writer.finish() {
                Ok(more) => sent.extend(more),
                Err(error) => self.result = Err(error),
            }
        }
    }
}

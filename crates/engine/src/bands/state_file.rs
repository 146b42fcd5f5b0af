//! The file of vertex state: arrays in it are read and written in large requests.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, cast_slice_mut};
use cenote_device::unnamed::{SealedFile, UNNAMED_ALIGN_BYTES, UnnamedFile};
use cenote_device::{
    Arena, Buffer, Completion, Device, DeviceError, Op, Queue, QueueConfig, Request,
};

use super::array::StateArray;
use super::counts::StateCounts;
use crate::error::{EngineError, Result};

/// Alignment of arrays in a state file, in bytes, sufficient for direct I/O.
pub const STATE_ALIGN_BYTES: u64 = UNNAMED_ALIGN_BYTES;

/// Requests of [`StateFile::read`] and [`StateFile::write`] in flight.
const DEPTH: usize = 4;

const ALIGN: usize = STATE_ALIGN_BYTES as usize;

/// A file without a name for vertex state.
pub struct StateFile {
    file: UnnamedFile,
    counts: Arc<StateCounts>,
    /// The end of the part that is in use.
    end: AtomicU64,
    bulk: Mutex<Bulk>,
}

/// The queue of large transfers, with its buffers.
struct Bulk {
    queue: Box<dyn Queue>,
    free: Vec<Buffer>,
    completions: Vec<Completion>,
}

impl StateFile {
    /// An empty state file in `folder`, with buffers of `buffer_bytes` in total.
    ///
    /// # Errors
    /// The folder cannot be written to; the system refuses a queue or memory.
    pub(crate) fn create(
        folder: &Path,
        buffer_bytes: u64,
        counts: Arc<StateCounts>,
    ) -> Result<Self> {
        let file = UnnamedFile::create(folder, "state file")?;
        let each = (buffer_bytes as usize / DEPTH / ALIGN).max(1) * ALIGN;
        let (arena, free) = Arena::carve(each, DEPTH)?;
        let config = QueueConfig::with_depth(DEPTH).arenas(vec![arena]).any_thread(true);
        let queue = file.device().queue(&config)?;
        let bulk = Mutex::new(Bulk { queue, free, completions: Vec::with_capacity(DEPTH) });
        Ok(Self { file, counts, end: AtomicU64::new(0), bulk })
    }

    /// Place for `bytes` at the end of the file; it takes no room on the disk before it is written.
    pub fn reserve(&self, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(STATE_ALIGN_BYTES);
        self.end.fetch_add(bytes, Ordering::Relaxed)
    }

    /// Writes items from byte `offset` on, a multiple of [`STATE_ALIGN_BYTES`]; the rest of the
    /// last 4 KiB becomes zero.
    ///
    /// # Errors
    /// [`EngineError::StateFull`] if the disk is full; the device fails.
    pub fn write<T: NoUninit>(&self, offset: u64, items: &[T]) -> Result<()> {
        let bytes: &[u8] = cast_slice(items);
        let mut bulk = self.bulk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        while done < bytes.len() {
            let mut buffer = self.free_buffer(&mut bulk, &mut |_, _| {})?;
            let now = buffer.len().min(bytes.len() - done);
            let len = now.next_multiple_of(ALIGN);
            buffer[..now].copy_from_slice(&bytes[done..done + now]);
            buffer[now..len].fill(0);
            let at = offset + done as u64;
            bulk.queue.push(Request { tag: 0, op: Op::Write, offset: at, len, buffer });
            bulk.queue.submit()?;
            done += now;
        }
        self.drain(&mut bulk, &mut |_, _| {})
    }

    /// Reads items from byte `offset` on, where they were written.
    ///
    /// # Errors
    /// The device fails.
    pub fn read<T: NoUninit + AnyBitPattern>(&self, offset: u64, items: &mut [T]) -> Result<()> {
        let bytes: &mut [u8] = cast_slice_mut(items);
        let total = bytes.len();
        let mut copy = |at: u64, read: &[u8]| {
            let from = (at - offset) as usize;
            let now = read.len().min(total - from);
            bytes[from..from + now].copy_from_slice(&read[..now]);
        };
        let mut bulk = self.bulk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut done = 0;
        while done < total {
            let buffer = self.free_buffer(&mut bulk, &mut copy)?;
            let now = buffer.len().min(total - done);
            let (at, len) = (offset + done as u64, now.next_multiple_of(ALIGN));
            bulk.queue.push(Request { tag: 0, op: Op::Read, offset: at, len, buffer });
            bulk.queue.submit()?;
            done += now;
        }
        self.drain(&mut bulk, &mut copy)
    }

    fn free_buffer(&self, bulk: &mut Bulk, arrived: &mut dyn FnMut(u64, &[u8])) -> Result<Buffer> {
        while bulk.free.is_empty() {
            self.reap(bulk, arrived)?;
        }
        Ok(bulk.free.pop().expect("a free buffer"))
    }

    fn drain(&self, bulk: &mut Bulk, arrived: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        while bulk.queue.in_flight() > 0 {
            self.reap(bulk, arrived)?;
        }
        Ok(())
    }

    fn reap(&self, bulk: &mut Bulk, arrived: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        bulk.queue.reap(1, &mut bulk.completions)?;
        for completion in bulk.completions.drain(..) {
            if let Some(done) = self.completed(bulk.queue.as_mut(), completion)? {
                if done.op == Op::Read {
                    arrived(done.offset, &done.buffer[..done.len]);
                }
                bulk.free.push(done.buffer);
            }
        }
        Ok(())
    }

    /// Counts a request that is complete; continues a write that was cut short and returns `None`.
    pub(super) fn completed(
        &self,
        queue: &mut dyn Queue,
        completion: Completion,
    ) -> Result<Option<Completion>> {
        let is_write = completion.op == Op::Write;
        match completion.result {
            Ok(moved) if is_write && moved > 0 && moved < completion.len && moved % ALIGN == 0 => {
                self.counts.add(Op::Write, moved);
                let Completion { tag, op, offset, len, mut buffer, .. } = completion;
                buffer.copy_within(moved..len, 0);
                let (offset, len) = (offset + moved as u64, len - moved);
                queue.push(Request { tag, op, offset, len, buffer });
                queue.submit()?;
                Ok(None)
            }
            _ => {
                let whole = completion.whole(|| self.device().name());
                whole.map_err(|error| self.explain(error))?;
                self.counts.add(completion.op, completion.len);
                Ok(Some(completion))
            }
        }
    }

    /// Says of a full disk what was to be written to it.
    pub(super) fn explain(&self, error: DeviceError) -> EngineError {
        const FULL: [std::io::ErrorKind; 3] = [
            std::io::ErrorKind::StorageFull,
            std::io::ErrorKind::QuotaExceeded,
            std::io::ErrorKind::FileTooLarge,
        ];
        match &error {
            DeviceError::Io { op: Op::Write, fault, .. }
                if FULL.contains(&std::io::Error::from_raw_os_error(fault.errno).kind()) =>
            {
                EngineError::StateFull {
                    file: self.device().name(),
                    written: self.counts.counts().bytes_written,
                    reason: fault.to_string(),
                }
            }
            _ => error.into(),
        }
    }

    /// Ends all writing.
    pub fn seal(self) -> SealedState {
        // Its queue first: nothing may write to what is mapped.
        drop(self.bulk);
        SealedState(self.file.seal())
    }

    /// The file as a device.
    pub(super) fn device(&self) -> &dyn Device {
        self.file.device()
    }
}

impl fmt::Debug for StateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateFile({}, {} bytes)", self.device().name(), self.end.load(Ordering::Relaxed))
    }
}

/// A state file that is not written any more.
#[derive(Debug)]
pub struct SealedState(SealedFile);

impl SealedState {
    /// The array of `len` items from byte `offset` on.
    ///
    /// # Errors
    /// The system refuses the mapping.
    pub fn array<T: AnyBitPattern>(&self, offset: u64, len: usize) -> Result<StateArray<T>> {
        Ok(StateArray::File(self.0.map(offset, len)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_device::IoFault;

    fn file(folder: &Path) -> StateFile {
        StateFile::create(folder, 64 << 10, Arc::default()).unwrap()
    }

    #[test]
    fn arrays_come_back_whatever_their_length() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        let lengths = [1usize, 511, 512, 513, 20_000, 100_003];
        let places: Vec<u64> = lengths.iter().map(|&len| file.reserve(8 * len as u64)).collect();
        let items = |len: usize| (0..len as u64).map(|i| i * 31 + len as u64).collect::<Vec<_>>();
        for (&len, &place) in lengths.iter().zip(&places) {
            file.write(place, &items(len)).unwrap();
        }
        for (&len, &place) in lengths.iter().zip(&places) {
            let mut found = vec![0u64; len];
            file.read(place, &mut found).unwrap();
            assert_eq!(found, items(len));
        }
        let written = file.counts.counts().bytes_written;
        assert!((8 * 121_540..8 * 121_540 + 6 * 4096).contains(&written), "{written}");
        assert_eq!(file.counts.counts().bytes_read, written);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let sealed = file.seal();
        for (&len, &place) in lengths.iter().zip(&places) {
            assert_eq!(*sealed.array::<u64>(place, len).unwrap(), items(len));
        }
    }

    #[test]
    fn a_full_disk_is_named_with_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path());
        file.write(0, &[1u64; 1000]).unwrap();
        // ENOSPC.
        let fault = IoFault { errno: 28 };
        let device = file.device().name();
        let error = DeviceError::Io { device, op: Op::Write, offset: 0, len: 4096, fault };
        let text = file.explain(error).to_string();
        assert!(text.contains("after 8192 bytes") && text.contains("No space left"), "{text}");
    }
}

//! Spill files: blocks that are written and read with several requests in flight.
//!
//! Workers append to one file in any order, which [`Append`](cenote_pool::append::Append) does not
//! support.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::{
    Arena, Buffer, Completion, Device, DeviceError, Op, Queue, QueueConfig, Request,
};
use cenote_pool::scan::{self, Scan};

use crate::error::{ImportError, Result};

const DEPTH: usize = 4;

/// Alignment of blocks, sufficient for direct I/O on every device.
const ALIGN_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct SpillFile {
    device: Arc<dyn Device>,
    next: AtomicU64,
    /// Expected size, for the error of a full disk.
    needed: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub offset: u64,
    /// Bytes written, a multiple of the alignment.
    pub bytes: u32,
    pub records: u32,
    /// CRC-32C of its bytes, which detects lost and torn writes.
    pub checksum: u32,
}

fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

impl SpillFile {
    pub fn new(device: Arc<dyn Device>, needed: u64) -> Self {
        Self { device, next: AtomicU64::new(0), needed }
    }

    pub fn bytes(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    pub fn backend(&self) -> &'static str {
        self.device.backend()
    }

    fn explain(&self, error: DeviceError) -> ImportError {
        full_disk(error, self.bytes(), self.needed, "a spill file", "temp_dir")
    }
}

/// Converts "no space" to an error that says how much is needed.
pub(super) fn full_disk(
    error: DeviceError,
    written: u64,
    needed: u64,
    role: &'static str,
    remedy: &'static str,
) -> ImportError {
    const NO_SPACE: [i32; 2] =
        [rustix::io::Errno::NOSPC.raw_os_error(), rustix::io::Errno::DQUOT.raw_os_error()];
    match error {
        DeviceError::Io { device, op: Op::Write, fault, .. } if NO_SPACE.contains(&fault.errno) => {
            ImportError::Full { device, role, written, needed: needed.max(written), remedy }
        }
        other => other.into(),
    }
}

/// Writes blocks for one worker. Belongs to the thread that created it.
pub(super) struct SpillWriter<'a> {
    file: &'a SpillFile,
    queue: Box<dyn Queue>,
    free: Vec<Buffer>,
    completions: Vec<Completion>,
}

impl<'a> SpillWriter<'a> {
    /// Bytes of memory of a writer with `open` blocks being filled.
    pub fn memory(open: usize, block_bytes: usize) -> usize {
        (open + DEPTH) * block_bytes
    }

    /// A writer with up to `open` blocks of `block_bytes` being filled.
    pub fn new(file: &'a SpillFile, open: usize, block_bytes: usize) -> Result<Self> {
        assert!(block_bytes.is_multiple_of(ALIGN_BYTES), "blocks are aligned");
        let (arena, free) = Arena::carve(block_bytes, open + DEPTH)?;
        let config = QueueConfig::with_depth(DEPTH).arenas(vec![arena]);
        let queue = file.device.queue(&config)?;
        Ok(Self { file, queue, free, completions: Vec::new() })
    }

    /// An empty block to fill; waits for a write if there is none.
    pub fn take(&mut self) -> Result<Buffer> {
        while self.free.is_empty() {
            self.reap(1)?;
        }
        Ok(self.free.pop().expect("a free block"))
    }

    /// Writes the first `bytes` of a block, rounded up, and returns its place.
    pub fn put(&mut self, mut block: Buffer, bytes: usize, records: usize) -> Result<Extent> {
        assert!(bytes > 0 && bytes <= block.len(), "a block holds something");
        let len = bytes.next_multiple_of(ALIGN_BYTES);
        block[bytes..len].fill(0);
        let checksum = checksum(&block[..len]);
        let offset = self.file.next.fetch_add(len as u64, Ordering::Relaxed);
        if self.queue.in_flight() == self.queue.depth() {
            self.reap(1)?;
        }
        self.queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer: block });
        self.queue.submit()?;
        let bytes = u32::try_from(len).expect("blocks are small");
        let records = u32::try_from(records).expect("blocks are small");
        Ok(Extent { offset, bytes, records, checksum })
    }

    pub fn finish(&mut self) -> Result<()> {
        while self.queue.in_flight() > 0 {
            self.reap(1)?;
        }
        Ok(())
    }

    fn reap(&mut self, wait_for: usize) -> Result<()> {
        self.queue.reap(wait_for, &mut self.completions)?;
        for completion in self.completions.drain(..) {
            let written = check(self.file, &completion).map_err(|e| self.file.explain(e))?;
            if written < completion.len {
                resume(self.queue.as_mut(), completion, written);
            } else {
                self.free.push(completion.buffer);
            }
        }
        Ok(())
    }
}

/// Continues a short write. The rest moves to the front of the buffer.
fn resume(queue: &mut dyn Queue, completion: Completion, written: usize) {
    let Completion { offset, len, mut buffer, .. } = completion;
    buffer.copy_within(written..len, 0);
    let offset = offset + written as u64;
    queue.push(Request { tag: 0, op: Op::Write, offset, len: len - written, buffer });
}

/// Bytes written, or the device's error. A short write can continue only if it is aligned.
fn check(file: &SpillFile, completion: &Completion) -> std::result::Result<usize, DeviceError> {
    match completion.result {
        Ok(moved) if moved > 0 && moved % file.device.block_bytes() == 0 => Ok(moved),
        _ => completion.whole(|| file.device.name()).map(|()| completion.len),
    }
}

/// Reads blocks for one worker. Belongs to the thread that created it.
pub(super) struct SpillReader<'a> {
    file: &'a SpillFile,
    scan: Scan<Extent>,
}

impl<'a> SpillReader<'a> {
    pub fn memory(block_bytes: usize) -> usize {
        DEPTH * block_bytes
    }

    pub fn new(file: &'a SpillFile, block_bytes: usize) -> Result<Self> {
        let device = file.device.as_ref();
        Ok(Self { file, scan: Scan::new(device, DEPTH, block_bytes, ALIGN_BYTES)? })
    }

    /// Reads the blocks that `next` names and calls `each` with them, in any order.
    pub fn for_each(
        &mut self,
        mut next: impl FnMut() -> Option<Extent>,
        mut each: impl FnMut(&[u8], u32) -> Result<()>,
    ) -> Result<()> {
        loop {
            while self.scan.has_room()
                && let Some(block) = next()
            {
                let first_page = block.offset / ALIGN_BYTES as u64;
                let pages = u64::from(block.bytes) / ALIGN_BYTES as u64;
                self.scan.start(scan::Extent { first_page, pages, load: block });
            }
            if self.scan.in_flight() == 0 {
                return Ok(());
            }
            self.scan.collect(true)?;
            while let Some(arrived) = self.scan.next_arrived() {
                let Extent { offset, bytes, records, checksum: expected } = arrived.extent.load;
                // Treat the block as one page of its own size.
                let block = arrived.page(arrived.extent.first_page, bytes as usize);
                if checksum(block) != expected {
                    let device = self.file.device.name();
                    return Err(ImportError::SpillDamaged { device, offset });
                }
                let result = each(block, records);
                self.scan.recycle(arrived);
                result?;
            }
        }
    }
}

//! Spill files: blocks that stay in memory as far as the budget has room, and are else written and
//! read with several requests in flight.
//!
//! Workers append to one file in any order, which [`Append`](cenote_pool::append::Append) does not
//! support.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::{
    Arena, Buffer, Completion, Device, DeviceError, Op, Queue, QueueConfig, Request,
};
use cenote_pool::scan::{self, Scan};

use crate::budget::{Budget, Cache};
use crate::error::{ImportError, Result};
use crate::kept::{ALIGN_BYTES, Kept, Place, Run, checksum};

const DEPTH: usize = 4;

#[derive(Debug)]
pub(super) struct SpillFile {
    kept: Arc<Kept>,
    /// Bytes of all blocks, in memory or on the device.
    bytes: AtomicU64,
}

/// A block of records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    place: ExtentPlace,
    pub records: u32,
}

#[derive(Clone, Copy, Debug)]
enum ExtentPlace {
    /// Its number among the blocks that were kept in memory at first.
    Kept(u32),
    Device(Run),
}

impl SpillFile {
    /// A file whose blocks stay in memory as long as `reserve` bytes of the budget and all that is
    /// held of it need no more. `needed` is the size that is expected, for the error of a full
    /// disk.
    pub fn new(device: Arc<dyn Device>, needed: u64, budget: &Budget, reserve: usize) -> Self {
        let kept = Arc::new(Kept::new(device, needed, budget.counts(), reserve));
        let cache: Arc<dyn Cache> = Arc::<Kept>::clone(&kept);
        budget.add_cache(Arc::downgrade(&cache));
        Self { kept, bytes: AtomicU64::new(0) }
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes that were written to the device.
    pub fn device_bytes(&self) -> u64 {
        self.kept.device_bytes()
    }

    pub fn backend(&self) -> &'static str {
        self.kept.device().backend()
    }

    /// Releases the memory of blocks that are not read again.
    pub fn release(&self, extents: &[Extent]) {
        for extent in extents {
            if let ExtentPlace::Kept(number) = extent.place {
                self.kept.release(number);
            }
        }
    }

    fn place(&self, extent: Extent) -> Place {
        match extent.place {
            ExtentPlace::Kept(number) => self.kept.place(number),
            ExtentPlace::Device(run) => Place::Device(run),
        }
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
        let queue = file.kept.device().queue(&config)?;
        Ok(Self { file, queue, free, completions: Vec::new() })
    }

    /// An empty block to fill; waits for a write if there is none.
    pub fn take(&mut self) -> Result<Buffer> {
        while self.free.is_empty() {
            self.reap(1)?;
        }
        Ok(self.free.pop().expect("a free block"))
    }

    /// Keeps the first `bytes` of a block, in memory or rounded up on the device.
    pub fn put(&mut self, mut block: Buffer, bytes: usize, records: usize) -> Result<Extent> {
        assert!(bytes > 0 && bytes <= block.len(), "a block holds something");
        let records = u32::try_from(records).expect("blocks are small");
        self.file.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(number) = self.file.kept.keep(&block[..bytes]) {
            self.free.push(block);
            return Ok(Extent { place: ExtentPlace::Kept(number), records });
        }
        let len = bytes.next_multiple_of(ALIGN_BYTES);
        block[bytes..len].fill(0);
        let checksum = checksum(&block[..len]);
        let offset = self.file.kept.append(len);
        if self.queue.in_flight() == self.queue.depth() {
            self.reap(1)?;
        }
        self.queue.push(Request { tag: 0, op: Op::Write, offset, len, buffer: block });
        self.queue.submit()?;
        let bytes = u32::try_from(len).expect("blocks are small");
        Ok(Extent { place: ExtentPlace::Device(Run { offset, bytes, checksum }), records })
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
            let written = check(self.file, &completion).map_err(|e| self.file.kept.explain(e))?;
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
        Ok(moved) if moved > 0 && moved % file.kept.device().block_bytes() == 0 => Ok(moved),
        _ => completion.whole(|| file.kept.device().name()).map(|()| completion.len),
    }
}

/// Reads blocks for one worker. Belongs to the thread that created it.
pub(super) struct SpillReader<'a> {
    file: &'a SpillFile,
    scan: Scan<(Run, u32)>,
    /// Whether blocks are released when they have been read.
    releases: bool,
}

impl<'a> SpillReader<'a> {
    pub fn memory(block_bytes: usize) -> usize {
        DEPTH * block_bytes
    }

    pub fn new(file: &'a SpillFile, block_bytes: usize) -> Result<Self> {
        let scan = Scan::new(file.kept.device(), DEPTH, block_bytes, ALIGN_BYTES)?;
        Ok(Self { file, scan, releases: false })
    }

    /// Sets whether blocks are released when they have been read; by default they are not.
    #[must_use]
    pub fn releasing(mut self, releases: bool) -> Self {
        self.releases = releases;
        self
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
                match self.file.place(block) {
                    Place::Memory(bytes) => {
                        each(&bytes, block.records)?;
                        if self.releases {
                            self.file.release(&[block]);
                        }
                    }
                    Place::Device(run) => self.start(run, block.records),
                }
            }
            if self.scan.in_flight() == 0 {
                return Ok(());
            }
            self.scan.collect(true)?;
            while let Some(arrived) = self.scan.next_arrived() {
                let (Run { offset, bytes, checksum: expected }, records) = arrived.extent.load;
                // Treat the block as one page of its own size.
                let block = arrived.page(arrived.extent.first_page, bytes as usize);
                if checksum(block) != expected {
                    let device = self.file.kept.device().name();
                    return Err(ImportError::SpillDamaged { device, offset });
                }
                let result = each(block, records);
                self.scan.recycle(arrived);
                result?;
            }
        }
    }

    fn start(&mut self, run: Run, records: u32) {
        let first_page = run.offset / ALIGN_BYTES as u64;
        let pages = u64::from(run.bytes) / ALIGN_BYTES as u64;
        self.scan.start(scan::Extent { first_page, pages, load: (run, records) });
    }
}

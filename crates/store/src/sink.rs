//! Writes pages one after the other: built in place in large aligned buffers, several of which are
//! on their way to the device at once. Nothing is read back.

use std::sync::Arc;

use cenote_device::{Arena, Buffer, Completion, Device, DeviceError, Op, Queue};
use cenote_device::{QueueConfig, Request};

use crate::error::{Result, StoreError};
use crate::format::PageHeader;

const BUFFER_BYTES: usize = 1 << 20;
const IN_FLIGHT_MAX: usize = 4;

/// The pages of a file behind page 0, in order.
pub(crate) struct PageSink {
    device: Arc<dyn Device>,
    queue: Box<dyn Queue>,
    completions: Vec<Completion>,
    free: Vec<Buffer>,
    current: Buffer,
    /// Page at the start of `current`.
    base: u64,
    /// Sealed pages in `current`.
    sealed: usize,
    page_bytes: usize,
    salt: u64,
    poisoned: bool,
}

impl PageSink {
    /// Memory of all buffers.
    pub const MEMORY_BYTES: usize = BUFFER_BYTES * (IN_FLIGHT_MAX + 1);

    pub fn new(device: Arc<dyn Device>, page_bytes: usize, salt: u64) -> Result<Self> {
        let (arena, mut free) = Arena::carve(BUFFER_BYTES, IN_FLIGHT_MAX + 1)?;
        let current = free.pop().expect("buffers were carved");
        let config = QueueConfig { depth: IN_FLIGHT_MAX, arenas: vec![arena] };
        let queue = device.queue(&config)?;
        let completions = Vec::with_capacity(IN_FLIGHT_MAX);
        let (base, sealed, poisoned) = (1, 0, false);
        Ok(Self {
            device,
            queue,
            completions,
            free,
            current,
            base,
            sealed,
            page_bytes,
            salt,
            poisoned,
        })
    }

    /// How errors name the file.
    pub fn file(&self) -> String {
        self.device.name()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Number of the page that is being built.
    pub fn page_number(&self) -> u64 {
        self.base + self.sealed as u64
    }

    /// The page that is being built; zeroed at first.
    #[inline]
    pub fn page(&mut self) -> &mut [u8] {
        let start = self.sealed * self.page_bytes;
        &mut self.current[start..start + self.page_bytes]
    }

    /// The page is complete but for its header and checksum.
    pub fn seal(&mut self, header: PageHeader) -> Result<()> {
        let (salt, number) = (self.salt, self.page_number());
        header.seal(self.page(), salt, number);
        self.sealed += 1;
        if self.sealed * self.page_bytes == BUFFER_BYTES { self.turn() } else { Ok(()) }
    }

    /// Sends the buffer off and takes a free one.
    fn turn(&mut self) -> Result<()> {
        self.check_poison()?;
        let mut next = loop {
            if let Some(next) = self.free.pop() {
                break next;
            }
            self.reap(1)?;
        };
        next.fill(0);
        let buffer = std::mem::replace(&mut self.current, next);
        let len = self.sealed * self.page_bytes;
        let offset = self.base * self.page_bytes as u64;
        self.queue.push(Request { tag: self.base, op: Op::Write, offset, len, buffer });
        self.base += self.sealed as u64;
        self.sealed = 0;
        self.queue.submit().inspect_err(|_| self.poisoned = true)?;
        Ok(())
    }

    fn reap(&mut self, wait_for: usize) -> Result<()> {
        let reaped = self.queue.reap(wait_for, &mut self.completions);
        let mut first_fault = reaped.err();
        for done in self.completions.drain(..) {
            let fault = write_fault(self.device.as_ref(), &done);
            first_fault = first_fault.or(fault);
            self.free.push(done.buffer);
        }
        match first_fault {
            None => Ok(()),
            Some(fault) => {
                self.poisoned = true;
                Err(fault.into())
            }
        }
    }

    fn check_poison(&self) -> Result<()> {
        if self.poisoned { Err(StoreError::Poisoned { file: self.file() }) } else { Ok(()) }
    }

    /// Writes what is left, cuts the file to its length and returns when all is on stable storage.
    /// The number of pages, page 0 included.
    pub fn finish(&mut self) -> Result<u64> {
        if self.sealed > 0 {
            self.turn()?;
        }
        while self.queue.in_flight() > 0 {
            self.reap(self.queue.in_flight())?;
        }
        self.check_poison()?;
        let pages = self.page_number();
        self.device.set_len(pages * self.page_bytes as u64)?;
        self.device.sync()?;
        Ok(pages)
    }

    /// Writes page 0, last of all, and syncs it.
    pub fn write_first(&mut self, fill: impl FnOnce(&mut [u8])) -> Result<()> {
        let mut buffer = Buffer::new(self.page_bytes)?;
        fill(&mut buffer);
        cenote_device::write_all(self.device.as_ref(), 0, self.page_bytes, buffer)?;
        self.device.sync()?;
        Ok(())
    }
}

fn write_fault(device: &dyn Device, done: &Completion) -> Option<DeviceError> {
    let (device, op, offset, len) = (device.name(), done.op, done.offset, done.len);
    match done.result {
        Ok(bytes) if bytes == len => None,
        Ok(found) => Some(DeviceError::Short { device, op, offset, expected: len, found }),
        Err(fault) => Some(DeviceError::Io { device, op, offset, len, fault }),
    }
}

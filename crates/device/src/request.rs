//! Requests and completions of a [`Queue`](crate::Queue).
//!
//! A request owns its buffer until the completion gives it back, so memory that the kernel may
//! still write to can never be read or freed.

use crate::error::{DeviceError, IoFault, Result};
use crate::memory::Buffer;
use crate::op::Op;

/// One transfer between `buffer[..len]` and the device at `offset`.
#[derive(Debug)]
pub struct Request {
    /// The caller's key for it, returned in the completion.
    pub tag: u64,
    /// Read or write.
    pub op: Op,
    /// First byte on the device; aligned.
    pub offset: u64,
    /// Bytes to move; aligned, at least 1, at most `buffer.len()`.
    pub len: usize,
    /// The memory, owned by the request until it completes.
    pub buffer: Buffer,
}

impl Request {
    /// The completion of this request.
    #[inline]
    pub fn complete(
        self,
        result: std::result::Result<usize, IoFault>,
        latency_ns: u64,
    ) -> Completion {
        let Self { tag, op, offset, len, buffer } = self;
        Completion { tag, op, offset, len, buffer, result, latency_ns }
    }
}

/// A finished request.
#[derive(Debug)]
pub struct Completion {
    /// The caller's key for it.
    pub tag: u64,
    /// Read or write.
    pub op: Op,
    /// First byte on the device.
    pub offset: u64,
    /// Bytes asked for.
    pub len: usize,
    /// The memory, given back.
    pub buffer: Buffer,
    /// Bytes moved, fewer than asked only at the end of the file or by an injected fault; or why
    /// not.
    pub result: std::result::Result<usize, IoFault>,
    /// Time from submission until it was reaped, by the device's clock.
    pub latency_ns: u64,
}

impl Completion {
    /// Checks that all bytes were moved. `device` names the device in the error.
    ///
    /// # Errors
    /// [`DeviceError::Short`] or [`DeviceError::Io`].
    #[inline]
    pub fn whole(&self, device: impl FnOnce() -> String) -> Result<()> {
        let Self { op, offset, len, .. } = *self;
        match self.result {
            Ok(bytes) if bytes == len => Ok(()),
            Ok(found) => {
                Err(DeviceError::Short { device: device(), op, offset, expected: len, found })
            }
            Err(fault) => Err(DeviceError::Io { device: device(), op, offset, len, fault }),
        }
    }
}

/// Checks a request as [`Queue::push`](crate::Queue::push) must.
///
/// # Panics
/// If the queue is full, or the request is not aligned or longer than its buffer.
#[inline]
pub fn assert_request(request: &Request, block_bytes: usize, in_flight: usize, depth: usize) {
    assert!(in_flight < depth, "push to a full queue: {in_flight} requests are in flight");
    let Request { offset, len, buffer, .. } = request;
    assert!(
        (1..=buffer.len()).contains(len) && u32::try_from(*len).is_ok(),
        "a request of {len} bytes does not fit its buffer of {} bytes",
        buffer.len()
    );
    let misaligned = *offset | *len as u64 | buffer.as_ptr().addr() as u64;
    assert!(
        misaligned.is_multiple_of(block_bytes as u64),
        "unaligned request: offset {offset}, length {len} and buffer address {:p} must be \
         multiples of the device's {block_bytes} bytes",
        buffer.as_ptr()
    );
}

/// Checks a wait as [`Queue::reap`](crate::Queue::reap) must.
///
/// # Panics
/// If `wait_for` exceeds `in_flight`: the wait would never end.
#[inline]
pub fn assert_wait(wait_for: usize, in_flight: usize) {
    assert!(wait_for <= in_flight, "reap waits for {wait_for} of {in_flight} requests in flight");
}

//! What goes into a [`Queue`](crate::Queue) and what comes out of it.
//!
//! A request owns its buffer until the completion gives it back, so memory that the kernel may
//! still write to can never be read or freed.

use std::fmt;

use crate::error::{DeviceError, Result};
use crate::memory::Buffer;

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// From device to buffer.
    Read,
    /// From buffer to device.
    Write,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Op::Read => "read",
            Op::Write => "write",
        })
    }
}

/// One transfer between `buffer[..len]` and the device at `offset`.
#[derive(Debug)]
pub struct Request {
    /// The caller's name for it, given back in the completion.
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
    pub(crate) fn complete(
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
    /// The caller's name for it.
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
    /// Whether all bytes were moved; if not, the error that says why, with the name that `device`
    /// gives.
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

/// Why a request failed: the errno of the kernel, or the simulator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoFault {
    /// The errno value, such as `libc::EIO`.
    pub errno: i32,
}

impl fmt::Display for IoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::io::Error::from_raw_os_error(self.errno).fmt(f)
    }
}

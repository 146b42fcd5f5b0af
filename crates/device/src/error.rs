//! Errors of devices, and faults of single requests.

use std::fmt;

use crate::DEPTH_MAX;
use crate::op::Op;

/// The result of a device call.
pub type Result<T> = std::result::Result<T, DeviceError>;

/// An error of a device, of memory for its buffers, or of a profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The file or device could not be opened, sized or synced.
    #[error("{device}: cannot {action}: {source}")]
    File {
        /// Path of the device.
        device: String,
        /// What was tried: `open`, `sync`, `resize`, `open an io_uring queue on`.
        action: &'static str,
        /// The system's own reason.
        source: std::io::Error,
    },
    /// A request failed.
    #[error("{device}: {op} of {len} bytes at offset {offset} failed: {fault}")]
    Io {
        /// Path of the device.
        device: String,
        /// Read or write.
        op: Op,
        /// First byte.
        offset: u64,
        /// Bytes asked for.
        len: usize,
        /// The reason.
        fault: IoFault,
    },
    /// A request moved fewer bytes than asked for, because the file ends early.
    #[error(
        "{device}: {op} at offset {offset} moved {found} of {expected} bytes: the file is truncated"
    )]
    Short {
        /// Path of the device.
        device: String,
        /// Read or write.
        op: Op,
        /// First byte.
        offset: u64,
        /// Bytes asked for.
        expected: usize,
        /// Bytes moved.
        found: usize,
    },
    /// A queue of this depth cannot be opened.
    #[error("{device}: queue depth {depth} is not within 1 to {DEPTH_MAX}")]
    Depth {
        /// Path of the device.
        device: String,
        /// Requests that were to be in flight at once.
        depth: usize,
    },
    /// The system refused memory for buffers.
    #[error("cannot map {bytes} bytes of memory: {source}")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// The system's own reason.
        source: std::io::Error,
    },
    /// A profile could not be read, written or understood.
    #[error("profile {path}: {reason}")]
    Profile {
        /// Path of the profile.
        path: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

impl DeviceError {
    /// Wraps the error of a system call on `device`.
    pub(crate) fn file<D: fmt::Display>(
        device: D,
        action: &'static str,
    ) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { device: device.to_string(), action, source }
    }

    pub(crate) fn profile(path: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self::Profile { path: path.to_string(), reason: reason.into() }
    }

    /// The fault of a request that failed with this error: `EIO` where there is no errno.
    pub fn fault(&self) -> IoFault {
        let errno = match self {
            Self::Io { fault, .. } => Some(fault.errno),
            Self::File { source, .. } => source.raw_os_error(),
            _ => None,
        };
        IoFault { errno: errno.unwrap_or(libc::EIO) }
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
        std::io::Error::from_raw_os_error(self.errno).fmt(f)?;
        match self.errno {
            // What io_uring says where the kernel may start no thread for a request.
            libc::ECANCELED => f.write_str(
                ": the system could start no thread for it; raise the limit of processes \
                 (`ulimit -u`)",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_thread_says_what_to_raise() {
        let text = IoFault { errno: libc::ECANCELED }.to_string();
        assert!(text.contains("(os error 125): ") && text.contains("ulimit -u"), "{text}");
        assert!(!IoFault { errno: libc::EIO }.to_string().contains("ulimit"));
    }
}

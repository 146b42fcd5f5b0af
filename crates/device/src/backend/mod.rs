//! The three devices behind one trait.
//!
//! - [`file`](mod@file): opens files and raw block devices, and picks one of the next two
//! - `uring`: io_uring, one ring per queue; the fast way
//! - `threads`: pread/pwrite workers, where io_uring is refused
//! - [`sim`]: a simulated device in virtual time, with seeded faults

pub mod file;
pub mod sim;
mod threads;
mod uring;

use crate::error::{DeviceError, Result};
use crate::request::Request;

/// The deepest queue that a device opens.
pub const DEPTH_MAX: usize = 4096;

/// Refuses a depth that no queue has.
fn check_depth(device: &str, depth: usize) -> Result<()> {
    if (1..=DEPTH_MAX).contains(&depth) {
        return Ok(());
    }
    Err(DeviceError::Depth { device: device.to_owned(), depth })
}

/// Demands what [`Queue::push`](crate::Queue::push) promises: room, and alignment to the device.
#[inline]
pub(crate) fn assert_request(
    request: &Request,
    block_bytes: usize,
    in_flight: usize,
    depth: usize,
) {
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

/// Demands what [`Queue::reap`](crate::Queue::reap) promises: waiting for more would never end.
#[inline]
pub(crate) fn assert_wait(wait_for: usize, in_flight: usize) {
    assert!(wait_for <= in_flight, "reap waits for {wait_for} of {in_flight} requests in flight");
}

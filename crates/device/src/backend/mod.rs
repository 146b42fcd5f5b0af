//! The backends of [`Device`](crate::Device).
//!
//! - [`file`](mod@file): opens files and raw block devices, and picks one of the next two
//! - `uring`: io_uring, one ring per queue
//! - `threads`: pread/pwrite, by workers where io_uring is refused, by the caller if it is blocking
//! - [`sim`]: a simulated device in virtual time, with seeded faults

pub mod file;
pub mod sim;
mod threads;
mod uring;

use std::fs::File;
use std::sync::Arc;

use crate::DEPTH_MAX;
use crate::clock::RealClock;
use crate::error::{DeviceError, Result};

/// An open file, as queues need it.
#[derive(Debug)]
struct Target {
    file: Arc<File>,
    name: String,
    block_bytes: usize,
    clock: Arc<RealClock>,
}

fn check_depth(device: &str, depth: usize) -> Result<()> {
    if (1..=DEPTH_MAX).contains(&depth) {
        return Ok(());
    }
    Err(DeviceError::Depth { device: device.to_owned(), depth })
}

//! Block I/O on files and drives, and models of their speed.
//!
//! - [`memory`]: aligned buffers for direct I/O, huge-page arrays, prefetch hints
//! - [`request`]: requests and completions of a queue
//! - [`LogHistogram`], [`mix`]: counts of latencies, and the hash behind seeded choices
//! - [`clock`]: real or virtual time
//! - [`backend`]: the three devices: io_uring, pread/pwrite threads, simulated
//! - [`wrapper`]: devices around devices: statistics, a shared I/O budget, throttling, faults
//! - [`model`]: PIO(M, k_r, k_w, alpha), the Parametric I/O Model
//! - [`profile`]: measures a device into a model
//! - [`plan`]: chooses extents and depth from a profile
//! - [`heap`]: how the allocator returns memory
//! - [`small_file`]: files that are read as a whole
//! - [`standard_output`]: whether it was open when the process started
//! - [`threads`]: how many threads work is divided among
//! - [`unnamed`]: files without a name, and read-only mappings of them
//!
//! I/O comes in batches: push requests into a [`Queue`], submit, reap completions. One I/O is
//! a batch of one. Everything is synchronous; each worker thread owns its queue.
//!
//! ```
//! use cenote_device::backend::file::{self, OpenOptions};
//! use cenote_device::{Arena, Op, QueueConfig, Request};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("file");
//! # std::fs::write(&path, [7; 16 << 12])?;
//! let device = file::open(&path, &OpenOptions::reading())?;
//! let (arena, buffers) = Arena::carve(4096, 8)?;
//! let mut queue = device.queue(&QueueConfig::with_depth(8).arenas(vec![arena]))?;
//! for (block, buffer) in (0..).zip(buffers) {
//!     queue.push(Request { tag: block, op: Op::Read, offset: block * 4096, len: 4096, buffer });
//! }
//! let mut completions = Vec::new();
//! queue.reap(8, &mut completions)?; // submits, and sleeps until all eight are there
//! assert!(completions.iter().all(|read| read.result == Ok(4096) && read.buffer[0] == 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod backend;
pub mod clock;
mod error;
pub mod heap;
mod histogram;
pub mod memory;
pub mod model;
mod op;
pub mod plan;
pub mod profile;
mod random;
pub mod request;
mod setters;
mod slab;
pub mod small_file;
pub mod standard_output;
pub mod threads;
pub mod unnamed;
pub mod wrapper;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

pub use clock::Clock;
pub use error::{DeviceError, IoFault, Result};
pub use histogram::LogHistogram;
pub use memory::{Arena, Buffer, HugeVec};
pub use op::Op;
pub use random::mix;
pub use request::{Completion, Request};
pub use slab::Slab;

/// Requests that a queue has in flight at most.
pub const DEPTH_MAX: usize = 4096;

/// How a queue is opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueueConfig {
    /// Requests that may be in flight at once, 1 to [`DEPTH_MAX`].
    pub depth: usize,
    /// Arenas whose buffers will be used with this queue; io_uring registers them so that the
    /// kernel does not pin pages anew for every request. Buffers of other arenas work too.
    pub arenas: Vec<Arc<Arena>>,
    /// Whether one thread after another may use the queue; otherwise only the one that opens it
    /// may, and requests cost less. Nothing may be in flight when the thread changes.
    pub any_thread: bool,
    /// Whether the thread that waits for a request also carries it out, with a plain system call: a
    /// ring costs more than a few requests one after the other. Any thread may use the queue.
    pub blocking: bool,
}

impl QueueConfig {
    /// A queue of the given depth for the calling thread, without registered arenas.
    pub fn with_depth(depth: usize) -> Self {
        Self { depth, arenas: Vec::new(), any_thread: false, blocking: false }
    }

    /// A queue for requests one after the other, such as headers and commits.
    pub fn one_by_one() -> Self {
        Self { blocking: true, any_thread: true, ..Self::with_depth(1) }
    }

    setters! { arenas: Vec<Arc<Arena>>, any_thread: bool }
}

/// A block device or a file on one. Shared by threads; each opens its own [`Queue`]. [`Any`] gives
/// code that knows its kind the concrete type.
pub trait Device: Any + Send + Sync + Debug {
    /// Its name in errors and reports: a path, or `sim:...`.
    fn name(&self) -> String;

    /// The backend that moves the bytes: `io_uring`, `threads` or `sim`.
    fn backend(&self) -> &'static str;

    /// File system and number of the file, which tell it from another that had or gets its name;
    /// `None` where there is no such thing.
    fn file_id(&self) -> Option<(u64, u64)> {
        None
    }

    /// Present size in bytes.
    fn len_bytes(&self) -> Result<u64>;

    /// Offsets, lengths and buffer addresses must be multiples of this (512 or 4,096; 1 where the
    /// device is accessed through the page cache because it refuses direct I/O).
    fn block_bytes(&self) -> usize;

    /// Opens a queue for the calling thread, or for [any](QueueConfig::any_thread).
    ///
    /// # Errors
    /// [`DeviceError::Depth`] beyond [`DEPTH_MAX`], [`DeviceError::File`] where the system
    /// refuses a queue.
    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>>;

    /// Returns when everything written before is on stable storage.
    fn sync(&self) -> Result<()>;

    /// Grows or shrinks the file. A raw block device accepts only its own size or less.
    fn set_len(&self, bytes: u64) -> Result<()>;

    /// The clock of this device: real time, or the simulator's virtual time.
    fn clock(&self) -> Arc<dyn Clock>;

    /// Bytes of memory that it keeps beside its queues, such as a map of its blocks.
    fn memory_bytes(&self) -> usize {
        0
    }

    /// Most bytes of memory, beside the caller's buffers, that queues of `depth` requests together
    /// take, each request of up to `request_bytes`.
    fn queue_bytes(&self, _depth: usize, _request_bytes: usize) -> usize {
        0
    }
}

/// One thread's I/O queue on a device: push, submit, reap.
pub trait Queue: Send {
    /// Requests that may be in flight at once.
    fn depth(&self) -> usize;

    /// Requests pushed and not yet reaped.
    fn in_flight(&self) -> usize;

    /// Takes a request. It may start at once or at the next [`Queue::submit`].
    ///
    /// # Panics
    /// If the queue is full (`in_flight() == depth()`), or offset, length or buffer break the
    /// device's alignment: both are faults of the caller.
    fn push(&mut self, request: Request);

    /// Starts everything that was pushed; in a blocking queue, [`Queue::reap`] does.
    fn submit(&mut self) -> Result<()>;

    /// Submits, waits until at least `wait_for` requests are complete (at most `in_flight()`;
    /// 0 only collects), and appends all that are complete. Sleeps while it waits, never spins.
    ///
    /// A request that failed is a [`Completion`] with its fault; `Err` means the queue is broken.
    fn reap(&mut self, wait_for: usize, completions: &mut Vec<Completion>) -> Result<()>;
}

/// Reads `buffer[..len]` from `offset` and returns the buffer; an error if the file ends early.
pub fn read_exact(device: &dyn Device, offset: u64, len: usize, buffer: Buffer) -> Result<Buffer> {
    transfer(device, Op::Read, offset, len, buffer)
}

/// Writes `buffer[..len]` at `offset` and returns the buffer.
pub fn write_all(device: &dyn Device, offset: u64, len: usize, buffer: Buffer) -> Result<Buffer> {
    transfer(device, Op::Write, offset, len, buffer)
}

fn transfer(
    device: &dyn Device,
    op: Op,
    offset: u64,
    len: usize,
    buffer: Buffer,
) -> Result<Buffer> {
    let mut queue = device.queue(&QueueConfig::one_by_one())?;
    transfer_on(queue.as_mut(), device, op, offset, len, buffer)
}

/// As [`read_exact`], on an idle queue of the device.
pub fn read_exact_on(
    queue: &mut dyn Queue,
    device: &dyn Device,
    offset: u64,
    len: usize,
    buffer: Buffer,
) -> Result<Buffer> {
    transfer_on(queue, device, Op::Read, offset, len, buffer)
}

/// As [`write_all`], on an idle queue of the device.
pub fn write_all_on(
    queue: &mut dyn Queue,
    device: &dyn Device,
    offset: u64,
    len: usize,
    buffer: Buffer,
) -> Result<Buffer> {
    transfer_on(queue, device, Op::Write, offset, len, buffer)
}

fn transfer_on(
    queue: &mut dyn Queue,
    device: &dyn Device,
    op: Op,
    offset: u64,
    len: usize,
    buffer: Buffer,
) -> Result<Buffer> {
    let mut completions = Vec::with_capacity(1);
    queue.push(Request { tag: 0, op, offset, len, buffer });
    queue.reap(1, &mut completions)?;
    let completion = completions.pop().expect("reap(1) returns a completion");
    completion.whole(|| device.name())?;
    Ok(completion.buffer)
}

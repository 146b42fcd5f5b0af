//! A device in memory, so that tests can look at and damage every byte.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cenote_device::clock::RealClock;
use cenote_device::{
    Clock, Completion, Device, IoFault, Op, Queue, QueueConfig, Request, Result as DeviceResult,
};

/// Bytes that look like a device with blocks of 4 KiB.
#[derive(Clone, Debug, Default)]
pub struct MemoryDevice {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// Offset and length of every write, and `None` for a sync.
    writes: Vec<Option<(u64, usize)>>,
    /// Writes that succeed before one fails.
    writes_left: Option<usize>,
    /// Bytes of which reads fail.
    unreadable: Range<usize>,
}

impl MemoryDevice {
    pub fn with_bytes(bytes: Vec<u8>) -> Self {
        let device = Self::default();
        device.change(|old| *old = bytes);
        device
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.change(|bytes| bytes.clone())
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        change(&mut self.state.lock().unwrap().bytes)
    }

    pub fn writes(&self) -> Vec<Option<(u64, usize)>> {
        self.state.lock().unwrap().writes.clone()
    }

    pub fn fail_after_writes(&self, count: usize) {
        self.state.lock().unwrap().writes_left = Some(count);
    }

    pub fn fail_reads_of(&self, bytes: Range<usize>) {
        self.state.lock().unwrap().unreadable = bytes;
    }

    pub fn shared(&self) -> Arc<dyn Device> {
        Arc::new(self.clone())
    }
}

impl Device for MemoryDevice {
    fn name(&self) -> String {
        "memory.cenote".into()
    }

    fn backend(&self) -> &'static str {
        "memory"
    }

    fn len_bytes(&self) -> DeviceResult<u64> {
        Ok(self.change(|bytes| bytes.len() as u64))
    }

    fn block_bytes(&self) -> usize {
        4096
    }

    fn queue(&self, config: &QueueConfig) -> DeviceResult<Box<dyn Queue>> {
        let state = Arc::clone(&self.state);
        Ok(Box::new(MemoryQueue { state, depth: config.depth, pending: Vec::new() }))
    }

    fn sync(&self) -> DeviceResult<()> {
        self.state.lock().unwrap().writes.push(None);
        Ok(())
    }

    fn set_len(&self, len: u64) -> DeviceResult<()> {
        self.change(|bytes| bytes.resize(len as usize, 0));
        Ok(())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(RealClock::default())
    }
}

struct MemoryQueue {
    state: Arc<Mutex<State>>,
    depth: usize,
    pending: Vec<Request>,
}

impl Queue for MemoryQueue {
    fn depth(&self) -> usize {
        self.depth
    }

    fn in_flight(&self) -> usize {
        self.pending.len()
    }

    fn push(&mut self, request: Request) {
        assert!(self.pending.len() < self.depth, "push to a full queue");
        assert!(
            request.len <= request.buffer.len() && request.len > 0,
            "a request fits its buffer"
        );
        let misaligned =
            request.offset | request.len as u64 | request.buffer.as_ptr().addr() as u64;
        assert!(misaligned.is_multiple_of(4096), "an unaligned request");
        self.pending.push(request);
    }

    fn submit(&mut self) -> DeviceResult<()> {
        Ok(())
    }

    /// The last request completes first: no caller may rely on the order.
    fn reap(&mut self, _: usize, completions: &mut Vec<Completion>) -> DeviceResult<()> {
        let mut state = self.state.lock().unwrap();
        for request in self.pending.drain(..).rev() {
            completions.push(state.complete(request));
        }
        Ok(())
    }
}

impl State {
    fn complete(&mut self, request: Request) -> Completion {
        let Request { tag, op, offset, len, mut buffer } = request;
        let start = offset as usize;
        let result = match op {
            Op::Read if start < self.unreadable.end && self.unreadable.start < start + len => {
                Err(IoFault { errno: 5 })
            }
            Op::Read => {
                let end = self.bytes.len().min(start + len);
                let found = end.saturating_sub(start);
                buffer[..found].copy_from_slice(&self.bytes[start.min(end)..end]);
                Ok(found)
            }
            Op::Write if self.writes_left == Some(0) => Err(IoFault { errno: 28 }),
            Op::Write => {
                self.writes_left = self.writes_left.map(|left| left - 1);
                self.writes.push(Some((offset, len)));
                if self.bytes.len() < start + len {
                    self.bytes.resize(start + len, 0);
                }
                self.bytes[start..start + len].copy_from_slice(&buffer[..len]);
                Ok(len)
            }
        };
        Completion { tag, op, offset, len, buffer, result, latency_ns: 0 }
    }
}

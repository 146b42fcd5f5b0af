//! A worker's own window onto the device: buffers, requests in flight, completions.

use std::collections::VecDeque;

use cenote_device::{
    Arena, Buffer, Completion, Device, DeviceError, Op, Queue, QueueConfig, Request,
};

use crate::error::Result;
use crate::tasks::PageTask;

/// A run of adjacent pages that is read by one request, and the tasks that it serves.
#[derive(Debug, Default)]
pub(crate) struct Fetch {
    /// First page, relative to the adjacency's first.
    pub first_page: u64,
    /// Pages read, wanted ones and gaps.
    pub pages: u64,
    /// The wanted pages among them, ascending.
    pub tasks: Vec<PageTask>,
}

/// A fetch that has arrived, with its bytes.
pub(crate) struct Arrived {
    pub fetch: Fetch,
    pub buffer: Buffer,
}

/// Requests in flight of one worker. Every buffer belongs either to `free`, to a request in
/// flight, or to an [`Arrived`] that comes back through [`Reader::recycle`].
pub(crate) struct Reader {
    queue: Box<dyn Queue>,
    name: String,
    page_bytes: u64,
    free: Vec<Buffer>,
    in_flight: Vec<Option<Fetch>>,
    free_slots: Vec<usize>,
    completions: Vec<Completion>,
    arrived: VecDeque<Arrived>,
    spare_tasks: Vec<Vec<PageTask>>,
    pub requests: u64,
    pub bytes: u64,
}

impl Reader {
    /// `depth` requests of at most `request_bytes` in flight.
    pub fn new(
        device: &dyn Device,
        depth: usize,
        request_bytes: usize,
        page_bytes: usize,
    ) -> Result<Self> {
        assert!(depth > 0 && request_bytes.is_multiple_of(page_bytes), "whole pages are read");
        let (arena, free) = Arena::carve(request_bytes, depth)?;
        let queue = device.queue(&QueueConfig { depth, arenas: vec![arena] })?;
        Ok(Self {
            queue,
            name: device.name(),
            page_bytes: page_bytes as u64,
            free,
            in_flight: (0..depth).map(|_| None).collect(),
            free_slots: (0..depth).rev().collect(),
            completions: Vec::with_capacity(depth),
            arrived: VecDeque::with_capacity(depth),
            spare_tasks: Vec::new(),
            requests: 0,
            bytes: 0,
        })
    }

    /// Whether another fetch can start now.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Requests on their way.
    pub fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// An empty task list, reused from an earlier fetch where there is one.
    pub fn task_list(&mut self) -> Vec<PageTask> {
        self.spare_tasks.pop().unwrap_or_default()
    }

    /// Starts a fetch; `section_page` is the page number in the file of relative page 0.
    ///
    /// # Panics
    /// Where [`Reader::has_room`] is false.
    pub fn start(&mut self, section_page: u64, fetch: Fetch) {
        let buffer = self.free.pop().expect("the caller asked for room");
        let slot = self.free_slots.pop().expect("a slot per buffer");
        let len = fetch.pages * self.page_bytes;
        let offset = (section_page + fetch.first_page) * self.page_bytes;
        self.requests += 1;
        self.bytes += len;
        self.in_flight[slot] = Some(fetch);
        let len = usize::try_from(len).expect("a request fits its buffer");
        self.queue.push(Request { tag: slot as u64, op: Op::Read, offset, len, buffer });
    }

    /// Submits what was started and collects what has arrived; waits for one where `wait`.
    pub fn collect(&mut self, wait: bool) -> Result<()> {
        let wait_for = usize::from(wait && self.arrived.is_empty() && self.in_flight() > 0);
        self.queue.reap(wait_for, &mut self.completions)?;
        for completion in self.completions.drain(..) {
            let slot = usize::try_from(completion.tag).expect("tags are slots");
            let fetch = self.in_flight[slot].take().expect("a completion has its fetch");
            self.free_slots.push(slot);
            match completion.result {
                Ok(bytes) if bytes == completion.len => {}
                Ok(found) => {
                    return Err(DeviceError::Short {
                        device: self.name.clone(),
                        op: Op::Read,
                        offset: completion.offset,
                        expected: completion.len,
                        found,
                    }
                    .into());
                }
                Err(fault) => {
                    return Err(DeviceError::Io {
                        device: self.name.clone(),
                        op: Op::Read,
                        offset: completion.offset,
                        len: completion.len,
                        fault,
                    }
                    .into());
                }
            }
            self.arrived.push_back(Arrived { fetch, buffer: completion.buffer });
        }
        Ok(())
    }

    /// The oldest fetch that has arrived.
    pub fn next_arrived(&mut self) -> Option<Arrived> {
        self.arrived.pop_front()
    }

    /// Gives a buffer and a task list back.
    pub fn recycle(&mut self, mut arrived: Arrived) {
        self.free.push(arrived.buffer);
        arrived.fetch.tasks.clear();
        self.spare_tasks.push(arrived.fetch.tasks);
    }
}

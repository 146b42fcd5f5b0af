//! Bulk writes: consecutive pages in large requests, past the frames.
//!
//! A client that writes a file sequentially does not read its pages again, so they take no frames:
//! pages are built in large buffers, several of which are in flight at once. No frame of a
//! [`Pool`](crate::Pool) may hold a page that is written in this way.

use std::fmt;
use std::sync::Arc;

use cenote_device::{Arena, Buffer, Completion, Device, Op, Queue, QueueConfig, Request};

use crate::PageId;
use crate::error::{PoolError, Result};

/// Sequential writes of one thread. After a write or the sync has failed, it is unknown which pages
/// have reached the device, so all later calls fail.
pub struct Append {
    device: Arc<dyn Device>,
    /// Opened when a second buffer is needed, which many a small file does not come to.
    queue: Option<Box<dyn Queue>>,
    depth: usize,
    completions: Vec<Completion>,
    free: Vec<Buffer>,
    /// The buffer in which pages are built.
    current: Buffer,
    /// First page of `current`.
    base: PageId,
    /// Complete pages of `current`; fewer than it holds.
    complete: usize,
    page_bytes: usize,
    request_bytes: usize,
    poisoned: bool,
}

impl Append {
    /// Writes pages from `first_page` on in requests of `request_bytes`, with up to `depth` in
    /// flight while the next one is being filled.
    ///
    /// # Errors
    /// The system refuses memory.
    ///
    /// # Panics
    /// If a request is not a number of whole pages.
    pub fn new(
        device: Arc<dyn Device>,
        depth: usize,
        request_bytes: usize,
        page_bytes: usize,
        first_page: PageId,
    ) -> Result<Self> {
        assert!(depth > 0 && request_bytes.is_multiple_of(page_bytes), "whole pages are written");
        let (_, mut free) = Arena::carve(request_bytes, depth + 1)?;
        let current = free.pop().expect("buffers were carved");
        Ok(Self {
            device,
            queue: None,
            depth,
            completions: Vec::with_capacity(depth),
            free,
            current,
            base: first_page,
            complete: 0,
            page_bytes,
            request_bytes,
            poisoned: false,
        })
    }

    /// Bytes of all buffers.
    pub const fn memory_bytes(depth: usize, request_bytes: usize) -> usize {
        (depth + 1) * request_bytes
    }

    /// The target device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Bytes of a page.
    #[inline]
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Number of the page that is being built.
    #[inline]
    pub fn page_id(&self) -> PageId {
        self.base + self.complete as u64
    }

    /// The page that is being built; zeroed at first.
    #[inline]
    pub fn page(&mut self) -> &mut [u8] {
        let start = self.complete * self.page_bytes;
        &mut self.current[start..start + self.page_bytes]
    }

    /// Completes the page and starts the next one. Waits for a write if all buffers are in flight.
    ///
    /// # Errors
    /// The system refuses a queue; a failed write, perhaps of a much earlier page;
    /// [`PoolError::Poisoned`] after either.
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        self.complete += 1;
        if self.complete * self.page_bytes < self.request_bytes {
            return Ok(());
        }
        // After an error nothing is written any more, and pages may be built all the same.
        self.write_current().inspect_err(|_| self.complete = 0)
    }

    /// Starts writing the buffer and takes a free one.
    fn write_current(&mut self) -> Result<()> {
        self.check_poison()?;
        let mut queue = match self.queue.take() {
            Some(queue) => queue,
            None => {
                let arenas = vec![Arc::clone(self.current.arena())];
                let opened = self.device.queue(&QueueConfig::with_depth(self.depth).arenas(arenas));
                self.check_result(opened)?
            }
        };
        let started = self.start(queue.as_mut());
        self.queue = Some(queue);
        started
    }

    fn start(&mut self, queue: &mut dyn Queue) -> Result<()> {
        while self.free.is_empty() {
            self.reap(queue, 1)?;
        }
        let (offset, len, buffer) = self.take_current();
        queue.push(Request { tag: offset, op: Op::Write, offset, len, buffer });
        self.check_result(queue.submit())
    }

    /// Writes the first buffer, which is the only one so far.
    fn write_alone(&mut self) -> Result<()> {
        let (offset, len, buffer) = self.take_current();
        let written = cenote_device::write_all(self.device.as_ref(), offset, len, buffer);
        let buffer = self.check_result(written)?;
        self.free.push(buffer);
        Ok(())
    }

    /// Takes the buffer with its offset and bytes, and continues in a free one.
    fn take_current(&mut self) -> (u64, usize, Buffer) {
        let mut next = self.free.pop().expect("a buffer is free");
        next.fill(0);
        let (first_page, pages) = (self.base, std::mem::take(&mut self.complete));
        self.base += pages as u64;
        let buffer = std::mem::replace(&mut self.current, next);
        (first_page * self.page_bytes as u64, pages * self.page_bytes, buffer)
    }

    fn reap(&mut self, queue: &mut dyn Queue, wait_for: usize) -> Result<()> {
        let mut reaped = queue.reap(wait_for, &mut self.completions);
        for done in self.completions.drain(..) {
            reaped = reaped.and(done.whole(|| self.device.name()));
            self.free.push(done.buffer);
        }
        self.check_result(reaped)
    }

    /// Poisons the writer if the result is an error.
    fn check_result<T>(&mut self, result: cenote_device::Result<T>) -> Result<T> {
        Ok(result.inspect_err(|_| self.poisoned = true)?)
    }

    fn check_poison(&self) -> Result<()> {
        if self.poisoned {
            return Err(PoolError::Poisoned { device: self.device.name() });
        }
        Ok(())
    }

    /// Writes all complete pages, without a sync: they can be read from the device, and may be lost
    /// at a power cut.
    ///
    /// # Errors
    /// As [`Append::advance`].
    pub fn settle(&mut self) -> Result<()> {
        self.check_poison()?;
        match self.complete {
            0 => {}
            _ if self.queue.is_none() => self.write_alone()?,
            _ => self.write_current()?,
        }
        let Some(mut queue) = self.queue.take() else { return Ok(()) };
        let mut settled = Ok(());
        while settled.is_ok() && queue.in_flight() > 0 {
            let wait_for = queue.in_flight();
            settled = self.reap(queue.as_mut(), wait_for);
        }
        self.queue = Some(queue);
        settled
    }

    /// Writes all complete pages, truncates the device after the last one and syncs it. Returns the
    /// number of the next page.
    ///
    /// # Errors
    /// As [`Append::advance`], and a device that cannot be truncated or synced.
    pub fn finish(&mut self) -> Result<PageId> {
        self.settle()?;
        let len = self.base * self.page_bytes as u64;
        let settled = self.device.set_len(len).and_then(|()| self.device.sync());
        self.check_result(settled)?;
        Ok(self.base)
    }
}

impl fmt::Debug for Append {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight = self.queue.as_ref().map_or(0, |queue| queue.in_flight());
        write!(f, "Append({}, page {}, {in_flight} in flight)", self.device.name(), self.page_id())
    }
}

#[cfg(test)]
mod tests {
    use cenote_device::DeviceError;
    use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, When};
    use cenote_device::model::preset::Preset;

    use super::*;

    const PAGE: usize = 512;
    const REQUEST: usize = 4 * PAGE;
    const EIO: i32 = 5;

    fn sim(faults: FaultPlan) -> Arc<SimDevice> {
        let model = Preset::all()[0].model();
        let config = SimConfig::new(model).faults(faults).jitter(0.5);
        Arc::new(SimDevice::new(config))
    }

    fn append(device: &Arc<SimDevice>, depth: usize) -> Append {
        Append::new(Arc::clone(device) as _, depth, REQUEST, PAGE, 1).unwrap()
    }

    /// Page `id` as the tests write it: not one byte of a page alike.
    fn content(id: PageId) -> Vec<u8> {
        (0..PAGE as u64).map(|at| (id * 31 + at) as u8 | 1).collect()
    }

    fn push(append: &mut Append, pages: u64) -> Result<()> {
        for _ in 0..pages {
            let bytes = content(append.page_id());
            assert!(append.page().iter().all(|&byte| byte == 0), "a new page is zeroed");
            append.page().copy_from_slice(&bytes);
            append.advance()?;
        }
        Ok(())
    }

    #[test]
    fn pages_lie_in_order_whatever_order_their_writes_end_in() {
        for (depth, pages) in [(1, 1), (1, 3), (1, 9), (3, 4), (3, 50), (8, 401)] {
            let device = sim(FaultPlan::seeded(pages));
            let mut append = append(&device, depth);
            push(&mut append, pages).unwrap();
            assert_eq!(append.finish().unwrap(), pages + 1);
            let found = device.contents();
            assert_eq!(found.len(), (pages as usize + 1) * PAGE);
            assert!(found[..PAGE].iter().all(|&byte| byte == 0), "page 0 is not ours");
            for (id, page) in (1..).zip(found[PAGE..].chunks(PAGE)) {
                assert!(page == content(id), "page {id} of {pages} at depth {depth}");
            }
        }
    }

    #[test]
    fn what_was_finished_outlives_a_power_cut() {
        let device = sim(FaultPlan::seeded(3));
        let mut append = append(&device, 2);
        push(&mut append, 21).unwrap();
        append.finish().unwrap();
        let written = device.contents();
        assert!(device.restart(FaultPlan::none()).contents() == written);
    }

    #[test]
    fn file_that_was_longer_is_cut_behind_the_last_page() {
        let device = sim(FaultPlan::none());
        device.set_len(1 << 20).unwrap();
        let mut append = append(&device, 2);
        push(&mut append, 5).unwrap();
        append.finish().unwrap();
        assert_eq!(device.len_bytes().unwrap(), 6 * PAGE as u64);
    }

    #[test]
    fn failed_write_is_reported_once_and_poisons() {
        for write in 0..5 {
            let faults = FaultPlan::none().with(When::Write(write), Effect::Errno(EIO));
            let device = sim(faults);
            let mut append = append(&device, 2);
            let failed = push(&mut append, 20).and_then(|()| append.finish().map(drop));
            let at = write * REQUEST as u64 + PAGE as u64;
            let is_named = matches!(
                &failed,
                Err(PoolError::Device(DeviceError::Io { op: Op::Write, offset, .. }))
                    if *offset == at
            );
            assert!(is_named, "write {write}: {failed:?}");
            let poisoned = |result| matches!(result, Err(PoolError::Poisoned { .. }));
            for _ in 0..8 {
                append.page().fill(1);
                let advanced = append.advance();
                assert!(advanced.is_ok() || poisoned(advanced), "write {write}");
            }
            assert!(poisoned(append.finish().map(drop)), "write {write}");
        }
    }

    #[test]
    fn failed_sync_poisons() {
        let calm = sim(FaultPlan::none());
        let mut appended = append(&calm, 2);
        push(&mut appended, 4).unwrap();
        appended.finish().unwrap();
        let sync = calm.operations() - 1;
        let device = sim(FaultPlan::none().with(When::Operation(sync), Effect::Errno(EIO)));
        let mut append = append(&device, 2);
        push(&mut append, 4).unwrap();
        let failed = append.finish();
        assert!(matches!(failed, Err(PoolError::Device(DeviceError::File { .. }))), "{failed:?}");
        assert!(matches!(append.finish(), Err(PoolError::Poisoned { .. })));
    }
}

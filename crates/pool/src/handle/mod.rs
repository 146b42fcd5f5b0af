//! A thread's access to a pool.

mod evict;
mod flush;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::PageId;
use crate::error::{PoolError, Result};
use crate::guard::{PageMut, PageRef};
use crate::policy::{Entrance, FrameId, HitRecording};
use crate::pool::Pool;
use crate::prefetch::Lookup;
use crate::stats::Counter;
use crate::transfer::{Purpose, Transfer};
use evict::PrefetchRoom;

/// Hits that a handle collects before it passes them to the policy and the prefetcher.
pub const RECORDS_MAX: usize = 64;

/// Between slices of this length, a wait for a latch checks that the frame still holds the page.
const LATCH_SLICE_MS: u64 = 5;

/// A request that is recorded for the policy or the prefetcher.
#[derive(Clone, Copy, Debug)]
struct Record {
    frame: FrameId,
    page: PageId,
    write: bool,
    lookup: Lookup,
}

/// The version of a page on the device: [`Handle::version`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageVersion(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// One thread's access to a [`Pool`], with its own queue on the device. Guards borrow it, so it
/// outlives them.
///
/// Pages are requested in two ways: [`Handle::pin`] and [`Handle::pin_mut`] return when the page is
/// in memory; [`Handle::submit`] starts many reads, and [`Handle::poll`] returns the pages in the
/// order in which they arrive.
pub struct Handle {
    pool: Arc<Pool>,
    hits: Arc<Counter>,
    uses_max: u8,
    records_hits: bool,
    records: RefCell<Vec<Record>>,
    transfer: RefCell<Transfer>,
    /// Submitted pages that another handle is reading.
    deferred: RefCell<VecDeque<(u64, PageId)>>,
    stream: u64,
}

impl Pool {
    /// A handle for the calling thread. At its first read or write it opens a queue and allocates
    /// buffers ([`Pool::handle_bytes`]).
    pub fn handle(self: &Arc<Self>) -> Handle {
        Handle::new(Arc::clone(self), false)
    }

    /// As [`Pool::handle`], for one thread after another.
    pub fn handle_of_any_thread(self: &Arc<Self>) -> Handle {
        Handle::new(Arc::clone(self), true)
    }

    /// As [`Handle::sync`].
    ///
    /// # Errors
    /// As [`Handle::sync`].
    pub fn sync(self: &Arc<Self>) -> Result<()> {
        self.handle().sync()
    }
}

impl Handle {
    fn new(pool: Arc<Pool>, any_thread: bool) -> Self {
        let (uses_max, ordered) = match pool.hit_recording() {
            HitRecording::Counted { max } => (max, false),
            HitRecording::Ordered => (0, true),
        };
        let wants_hits = pool.prefetcher.as_ref().is_some_and(|p| p.lock().wants_hits());
        let hits = pool.register();
        let stream = Arc::as_ptr(&hits) as u64;
        Self {
            pool,
            hits,
            uses_max,
            records_hits: ordered || wants_hits,
            records: RefCell::new(Vec::with_capacity(RECORDS_MAX)),
            transfer: RefCell::new(Transfer::new(any_thread)),
            deferred: RefCell::default(),
            stream,
        }
    }

    /// The pool.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Pins a page for reading; reads it from the device if it is not in memory.
    ///
    /// # Errors
    /// A page beyond the end, a failed read, a page that the check refuses; no frame that can be
    /// emptied; a page that others hold for too long.
    #[inline]
    pub fn pin(&self, page: PageId) -> Result<PageRef<'_>> {
        if let Some(guard) = self.resident_counted(page) {
            return Ok(guard);
        }
        let frame = self.pin_frame(page, Access::Read)?;
        Ok(PageRef::new(&self.pool, frame))
    }

    /// Pins a page for writing; reads it from the device if it is not in memory.
    ///
    /// # Errors
    /// As [`Handle::pin`].
    pub fn pin_mut(&self, page: PageId) -> Result<PageMut<'_>> {
        let frame = self.pin_frame(page, Access::Write)?;
        Ok(PageMut::new(&self.pool, frame))
    }

    /// Pins a page for writing without reading it: its bytes are zero. A page beyond the end grows
    /// the device.
    ///
    /// # Errors
    /// As [`Handle::pin`], and a device that cannot grow.
    pub fn pin_new(&self, page: PageId) -> Result<PageMut<'_>> {
        self.pool.grow_to(page)?;
        let frame = loop {
            if let Some(frame) = self.latch_resident(page, Access::Write)? {
                break frame;
            }
            let (frame, _) = self.make_room(page)?;
            if self.enter(page, frame) {
                self.pool.admit(frame, page, Entrance::Hot);
                break frame;
            }
        };
        let mut guard = PageMut::new(&self.pool, frame);
        guard.fill(0);
        Ok(guard)
    }

    /// Pins the page if it is in memory. The policy does not see the use: for planned passes, whose
    /// use of a page does not predict another.
    #[inline]
    pub fn resident(&self, page: PageId) -> Option<PageRef<'_>> {
        let frame = self.pool.table.find(&self.pool.frames, page)?;
        self.share_if_holds(frame, page).then(|| PageRef::new(&self.pool, frame))
    }

    /// The version of a page on the device, for [`Handle::is_current`] and
    /// [`Handle::insert_if_current`]; to be read before the page is read past the pool.
    pub fn version(&self, page: PageId) -> PageVersion {
        PageVersion(self.pool.table.version(page))
    }

    /// Whether a copy of the page that was read past the pool since `version` is whole and current.
    /// If not, the page is in memory or was written back meanwhile: pin it. (There are false
    /// negatives.)
    pub fn is_current(&self, page: PageId, version: PageVersion) -> bool {
        self.pool.table.is_current(&self.pool.frames, page, version.0)
    }

    /// Inserts a copy of a page that a planned pass has read, if there is an empty frame; returns
    /// whether it did. No page is evicted for it, so repeated passes find a fixed part of their
    /// pages in memory.
    ///
    /// Only for pages that do not change during the pass; see [`Handle::insert_if_current`].
    pub fn insert_if_free(&self, page: PageId, bytes: &[u8]) -> bool {
        self.insert_if_current(page, bytes, self.version(page))
    }

    /// As [`Handle::insert_if_free`], but in place of a clean page if no frame is empty and one can
    /// be emptied at once: where pages that were read last are the likeliest to be read again.
    pub fn insert_replacing(&self, page: PageId, bytes: &[u8]) -> bool {
        let version = self.version(page);
        if self.insert_if_current(page, bytes, version) {
            return true;
        }
        if page >= self.pool.pages() || self.pool.table.find(&self.pool.frames, page).is_some() {
            return false;
        }
        let emptied = self.pool.evict_next_clean();
        emptied.is_some_and(|frame| self.fill(frame, page, bytes, version, Entrance::Cold))
    }

    /// As [`Handle::insert_if_free`], but refuses a copy if the page was changed after `version`.
    pub fn insert_if_current(&self, page: PageId, bytes: &[u8], version: PageVersion) -> bool {
        assert_eq!(bytes.len(), self.pool.config.page_bytes, "whole pages are kept");
        if page >= self.pool.pages() {
            return false;
        }
        let Some(frame) = self.pool.take_free() else { return false };
        self.fill(frame, page, bytes, version, Entrance::Cold)
    }

    /// Inserts a copy of a page that was read past the pool since `version`, in place of another if
    /// no frame is empty. Reads the page again if it was changed meanwhile, or the check refuses
    /// the copy.
    pub(crate) fn insert(&self, page: PageId, bytes: &[u8], version: PageVersion) -> Result<()> {
        let check = self.pool.config.check.as_ref();
        if check.is_some_and(|check| check.check(page, bytes).is_err()) {
            return self.pin(page).map(drop);
        }
        let (frame, _) = self.make_room(page)?;
        self.pool.counters.misses.add(1);
        if !self.fill(frame, page, bytes, version, Entrance::Hot) {
            self.pin(page)?;
        }
        Ok(())
    }

    /// Enters a copy of a page into an empty frame, unless it is in memory already or was changed
    /// after `version`.
    fn fill(
        &self,
        frame: FrameId,
        page: PageId,
        bytes: &[u8],
        version: PageVersion,
        entrance: Entrance,
    ) -> bool {
        if !self.enter(page, frame) {
            return false;
        }
        // From here on the page cannot be changed.
        if self.version(page) != version {
            self.pool.table.remove(&self.pool.frames, frame);
            self.pool.give_free(frame);
            return false;
        }
        // SAFETY: an empty frame is latched exclusively, and `enter` leaves it so.
        unsafe { self.pool.frames.bytes_mut(frame) }.copy_from_slice(bytes);
        self.pool.admit(frame, page, entrance);
        if entrance == Entrance::Hot {
            // It is pinned soon. A policy that reaches unused new pages first, as Sieve does, would
            // evict it before that.
            self.pool.frames.count_use(frame, self.uses_max);
        }
        self.pool.frames.frame(frame).latch.unlock_exclusive();
        true
    }

    /// Whether another page can be submitted: fewer than the read depth are in flight, and fewer
    /// than that wait to be polled. So the device is busy while the caller processes pages; a
    /// handle pins up to twice the read depth.
    pub fn has_room(&self) -> bool {
        let transfer = self.transfer.borrow();
        let depth = self.pool.config.read_depth;
        transfer.submitted_in_flight + self.deferred.borrow().len() < depth
            && transfer.arrived.len() < depth
    }

    /// Pages that were submitted and not yet polled.
    pub fn pending(&self) -> usize {
        let transfer = self.transfer.borrow();
        transfer.submitted_in_flight + transfer.arrived.len() + self.deferred.borrow().len()
    }

    /// Requests a page, which [`Handle::poll`] will return with `tag`. A page in memory is ready at
    /// once; others are read asynchronously. Returns whether a read was started.
    ///
    /// # Errors
    /// As [`Handle::pin`], but [`Handle::poll`] reports failed reads.
    ///
    /// # Panics
    /// If [`Handle::has_room`] is false.
    pub fn submit(&self, page: PageId, tag: u64) -> Result<bool> {
        assert!(self.has_room(), "submit a page when there is room");
        self.pool.check_page(page)?;
        loop {
            if let Some(frame) = self.pool.table.find(&self.pool.frames, page) {
                if self.share_if_holds(frame, page) {
                    self.count_hit(frame, page, false);
                    self.transfer.borrow_mut().arrived.push_back((tag, Ok(frame)));
                    return Ok(false);
                }
                if self.pool.frames.holds(frame, page) {
                    self.deferred.borrow_mut().push_back((tag, page));
                    return Ok(false);
                }
            }
            if self.start_miss(page, Purpose::Submitted(tag))?.is_some() {
                return Ok(true);
            }
        }
    }

    /// The next submitted page that is in memory, with its tag. `None` if there is none; with
    /// `wait`, if no page is pending.
    ///
    /// # Errors
    /// A submitted page could not be read. Other submitted pages are not affected.
    pub fn poll(&self, wait: bool) -> Result<Option<(u64, PageRef<'_>)>> {
        loop {
            if self.transfer.borrow().arrived.is_empty() {
                self.transfer.borrow_mut().collect(&self.pool, false)?;
            }
            if let Some((tag, arrived)) = self.transfer.borrow_mut().arrived.pop_front() {
                return arrived.map(|frame| Some((tag, PageRef::new(&self.pool, frame))));
            }
            if let Some(arrived) = self.poll_deferred(false)? {
                return Ok(Some(arrived));
            }
            if !self.transfer.borrow().arrived.is_empty() {
                continue;
            }
            if self.transfer.borrow().reads_in_flight > 0 {
                if !wait {
                    return Ok(None);
                }
                self.transfer.borrow_mut().collect(&self.pool, true)?;
            } else {
                // No own reads are in flight, so waiting for another handle's cannot deadlock.
                if !wait || self.pending() == 0 {
                    return Ok(None);
                }
                if let Some(arrived) = self.poll_deferred(true)? {
                    return Ok(Some(arrived));
                }
            }
        }
    }

    /// The first deferred page, which another handle was reading.
    fn poll_deferred(&self, wait: bool) -> Result<Option<(u64, PageRef<'_>)>> {
        let next = self.deferred.borrow_mut().pop_front();
        let Some((tag, page)) = next else { return Ok(None) };
        if let Some(guard) = self.resident_counted(page) {
            return Ok(Some((tag, guard)));
        }
        if self.pool.table.find(&self.pool.frames, page).is_none() {
            // It was evicted or could not be read, so read it here.
            self.submit(page, tag)?;
            return Ok(None);
        }
        if wait {
            let frame = self.pin_frame(page, Access::Read)?;
            return Ok(Some((tag, PageRef::new(&self.pool, frame))));
        }
        self.deferred.borrow_mut().push_back((tag, page));
        Ok(None)
    }

    #[inline]
    fn resident_counted(&self, page: PageId) -> Option<PageRef<'_>> {
        let frame = self.pool.table.find(&self.pool.frames, page)?;
        if !self.share_if_holds(frame, page) {
            return None;
        }
        self.count_hit(frame, page, false);
        Some(PageRef::new(&self.pool, frame))
    }

    #[inline]
    fn share_if_holds(&self, frame: FrameId, page: PageId) -> bool {
        let latch = &self.pool.frames.frame(frame).latch;
        if !latch.try_lock_shared() {
            return false;
        }
        if self.pool.frames.holds(frame, page) {
            return true;
        }
        latch.unlock_shared();
        false
    }

    /// Counts a hit, and records it if policy or prefetcher need it.
    #[inline]
    fn count_hit(&self, frame: FrameId, page: PageId, write: bool) {
        self.hits.add_one_unshared();
        let first_use = self.pool.frames.count_use(frame, self.uses_max);
        if self.records_hits || first_use {
            self.record(Record {
                frame,
                page,
                write,
                lookup: if first_use { Lookup::PrefetchedHit } else { Lookup::Hit },
            });
        }
    }

    fn record(&self, record: Record) {
        if record.lookup == Lookup::PrefetchedHit {
            self.pool.counters.prefetched_useful.add(1);
        }
        let mut records = self.records.borrow_mut();
        records.push(record);
        if records.len() == RECORDS_MAX {
            drop(records);
            self.pass_records();
        }
    }

    /// Passes the records of this handle to the policy and the prefetcher.
    fn pass_records(&self) {
        let mut records = self.records.borrow_mut();
        if records.is_empty() {
            return;
        }
        if self.pool.hit_recording() == HitRecording::Ordered {
            self.pool.touch(records.iter().map(|hit| (hit.frame, hit.page, hit.write)));
        }
        if let Some(prefetcher) = &self.pool.prefetcher {
            let mut prefetcher = prefetcher.lock();
            for record in records.iter() {
                prefetcher.requested(self.stream, record.page, record.lookup);
            }
        }
        records.clear();
    }

    /// Pins a page: returns its frame, latched for `access`.
    fn pin_frame(&self, page: PageId, access: Access) -> Result<FrameId> {
        self.pool.check_page(page)?;
        loop {
            if let Some(frame) = self.latch_resident(page, access)? {
                return Ok(frame);
            }
            let Some(frame) = self.start_miss(page, Purpose::Pin)? else { continue };
            let mut transfer = self.transfer.borrow_mut();
            // Also waits for the prefetched pages of the same batch, which take no longer.
            transfer.finish_pin(&self.pool, frame)?;
            if access == Access::Read {
                self.pool.frames.frame(frame).latch.downgrade();
            }
            return Ok(frame);
        }
    }

    /// Latches a page that is in memory or being read, and counts the hit; `None` if it is not.
    fn latch_resident(&self, page: PageId, access: Access) -> Result<Option<FrameId>> {
        let Some(frame) = self.pool.table.find(&self.pool.frames, page) else { return Ok(None) };
        let latch = &self.pool.frames.frame(frame).latch;
        let at_once = match access {
            Access::Read => latch.try_lock_shared(),
            Access::Write => latch.try_lock_exclusive(),
        };
        if !at_once {
            self.transfer.borrow_mut().finish_reads(&self.pool)?;
            if !self.wait_for_latch(frame, page, access)? {
                return Ok(None);
            }
        }
        if self.pool.frames.holds(frame, page) {
            self.count_hit(frame, page, access == Access::Write);
            return Ok(Some(frame));
        }
        match access {
            Access::Read => latch.unlock_shared(),
            Access::Write => latch.unlock_exclusive(),
        }
        Ok(None)
    }

    /// Waits for the latch of a frame while the frame holds the page; false if it no longer does.
    fn wait_for_latch(&self, frame: FrameId, page: PageId, access: Access) -> Result<bool> {
        let latch = &self.pool.frames.frame(frame).latch;
        let patience_ms = self.pool.config.patience_ms;
        debug_assert_eq!(self.transfer.borrow().reads_in_flight, 0, "own reads come first");
        let mut waited_ms = 0;
        while self.pool.frames.holds(frame, page) {
            let slice_ms = LATCH_SLICE_MS.min(patience_ms - waited_ms);
            let slice = Duration::from_millis(slice_ms);
            let latched = match access {
                Access::Read => latch.try_lock_shared_for(slice),
                Access::Write => latch.try_lock_exclusive_for(slice),
            };
            if latched {
                return Ok(true);
            }
            waited_ms += slice_ms;
            if waited_ms == patience_ms {
                let seconds = patience_ms as f64 / 1000.0;
                return Err(PoolError::Held { device: self.pool.name(), page, seconds });
            }
        }
        Ok(false)
    }

    /// Starts reading a page that is not in memory, and the pages that the prefetcher proposes.
    /// Returns the page's frame; `None` if another thread was first.
    fn start_miss(&self, page: PageId, purpose: Purpose) -> Result<Option<FrameId>> {
        self.transfer.borrow_mut().make_read_room(&self.pool)?;
        let (frame, prefetch_room) = self.make_room(page)?;
        if !self.enter(page, frame) {
            return Ok(None);
        }
        self.pool.counters.misses.add(1);
        self.pool.counters.read_batches.add(1);
        self.transfer.borrow_mut().read(&self.pool, frame, page, purpose)?;
        let mut proposed = Vec::new();
        if let Some(prefetcher) = &self.pool.prefetcher {
            let in_flight = self.transfer.borrow().prefetches_in_flight;
            let n = self.pool.config.evict_batch - 1 - in_flight;
            let mut prefetcher = prefetcher.lock();
            prefetcher.requested(self.stream, page, Lookup::Miss);
            if prefetch_room != PrefetchRoom::None {
                prefetcher.propose(self.stream, page, n, &mut proposed);
            }
        }
        self.prefetch(&proposed, prefetch_room);
        Ok(Some(frame))
    }

    /// Starts prefetching pages, each into a free frame or, if the victim was dirty, into that of
    /// the next clean page.
    fn prefetch(&self, proposed: &[PageId], room: PrefetchRoom) {
        let wanted = |page: &PageId| {
            *page < self.pool.pages() && self.pool.table.find(&self.pool.frames, *page).is_none()
        };
        let pages: Vec<PageId> = proposed.iter().copied().filter(wanted).collect();
        let mut frames = Vec::with_capacity(pages.len());
        match room {
            PrefetchRoom::None => return,
            PrefetchRoom::Free => {
                frames.extend(std::iter::from_fn(|| self.pool.take_free()).take(pages.len()));
            }
            PrefetchRoom::Evict => self.pool.evict_clean(pages.len(), &mut frames),
        }
        for (page, frame) in pages.into_iter().zip(frames.drain(..)) {
            if self.enter(page, frame) {
                self.pool.counters.prefetched.add(1);
                let mut transfer = self.transfer.borrow_mut();
                if let Err(fault) = transfer.read(&self.pool, frame, page, Purpose::Prefetch) {
                    // A thread that waits for the page reads it itself.
                    tracing::debug!("not prefetched: {fault}");
                }
            }
        }
    }

    /// Enters a page into the page table with an empty frame; returns the frame to the free list,
    /// and false, if another thread entered the page first.
    fn enter(&self, page: PageId, frame: FrameId) -> bool {
        let lock = self.pool.table.lock(page);
        if self.pool.table.find_locked(&self.pool.frames, page, &lock).is_some() {
            drop(lock);
            self.pool.give_free(frame);
            return false;
        }
        self.pool.table.insert(&self.pool.frames, page, frame, &lock);
        true
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.pass_records();
        let transfer = self.transfer.get_mut();
        while transfer.reads_in_flight + transfer.writes_in_flight > 0 {
            if let Err(fault) = transfer.collect(&self.pool, true) {
                // The queue is broken. Its pages stay latched, since they may be partly read.
                tracing::warn!("a handle of {} ends with requests lost: {fault}", self.pool.name());
                break;
            }
        }
        for (_, arrived) in transfer.arrived.drain(..) {
            if let Ok(frame) = arrived {
                self.pool.frames.frame(frame).latch.unlock_shared();
            }
        }
        self.pool.retire(&self.hits);
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handle({:?})", self.pool)
    }
}

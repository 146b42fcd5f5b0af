//! The pool: frames over a device, the page table, and the replacement policy.
//!
//! # Order of latches and locks
//!
//! From the outermost to the innermost:
//!
//! 1. a frame's latch, waited for only by a thread that holds no frame exclusively for I/O;
//! 2. the policy;
//! 3. a bucket of the page table;
//! 4. the prefetcher, the list of free frames, the list of handles: taken alone, for a moment;
//!    the locks of `sync` and of growth: taken alone, for as long as the device takes.
//!
//! Under the policy's lock a frame's latch is only *tried*. A thread whose own reads are in flight
//! finishes them before it waits for a latch. So only a client's guards can deadlock: it should pin
//! pages in ascending order, or handle [`PoolError::Held`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cenote_device::wrapper::StatsDevice;
use cenote_device::{Clock, DEPTH_MAX, Device};

use crate::PageId;
use crate::config::PoolConfig;
use crate::error::{PoolError, Result};
use crate::frame::{DIRTY, FRAME_OVERHEAD_BYTES, FrameSet, WRITING};
use crate::policy::{Entrance, FrameId, Frames as _, HitRecording, Policy};
use crate::prefetch::Prefetcher;
use crate::stats::{Counter, Counters, PoolStats};
use crate::sync::Mutex;
use crate::table::PageTable;

/// Most choices of a victim under one hold of the policy's lock, if other threads pin the victims.
const CHOICES_MAX: usize = 64;

/// A buffer pool over a device. Shared by threads; each works through its own
/// [`Handle`](crate::Handle).
pub struct Pool {
    pub(crate) device: Arc<StatsDevice>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: PoolConfig,
    pub(crate) frames: FrameSet,
    pub(crate) table: PageTable,
    pub(crate) prefetcher: Option<Mutex<Box<dyn Prefetcher>>>,
    pub(crate) counters: Counters,
    order: Mutex<Order>,
    hits: HitRecording,
    /// Empty frames, each latched exclusively.
    free: Mutex<Vec<FrameId>>,
    handles: Mutex<Vec<Arc<Counter>>>,
    pages: AtomicU64,
    poisoned: AtomicBool,
    syncing: Mutex<()>,
    growing: Mutex<()>,
}

/// The policy, and whether it tracks each frame. A page that is being read again into the same
/// frame is in the table already, but earlier uses of it must not be passed to the policy.
struct Order {
    policy: Box<dyn Policy>,
    tracked: Box<[bool]>,
}

/// How to obtain an empty frame.
pub(crate) enum Choice {
    /// The frame is empty and latched exclusively for the caller.
    Emptied(FrameId),
    /// These dirty pages must be written, the first one to be evicted. Each is claimed for writing
    /// and its latch is shared.
    Write(Vec<FrameId>),
    /// No frame can be emptied now.
    Nothing,
}

impl Pool {
    /// A pool over `device` with the policy of `config`.
    ///
    /// # Errors
    /// [`PoolError::Config`] for an invalid configuration; lack of memory.
    pub fn new(device: Arc<dyn Device>, config: PoolConfig) -> Result<Arc<Self>> {
        check_config(&config, device.as_ref())?;
        let policy = config.policy.build(config.frames);
        Self::with_policy(device, config, policy)
    }

    /// A pool with the caller's policy instead of `config.policy`.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn with_policy(
        device: Arc<dyn Device>,
        config: PoolConfig,
        policy: Box<dyn Policy>,
    ) -> Result<Arc<Self>> {
        check_config(&config, device.as_ref())?;
        let pages = device.len_bytes()? / config.page_bytes as u64;
        let frames = FrameSet::new(config.frames, config.page_bytes)?;
        for frame in frames.ids() {
            assert!(frames.frame(frame).latch.try_lock_exclusive(), "a new frame is not latched");
        }
        let free = frames.ids().rev().collect();
        Ok(Arc::new(Self {
            clock: device.clock(),
            device: Arc::new(StatsDevice::new(device)),
            table: PageTable::new(config.frames),
            prefetcher: config.prefetch.build(pages).map(Mutex::new),
            counters: Counters::new(config.writer.batch()),
            hits: policy.hits(),
            order: Mutex::new(Order { policy, tracked: vec![false; config.frames].into() }),
            free: Mutex::new(free),
            handles: Mutex::new(Vec::new()),
            pages: AtomicU64::new(pages),
            poisoned: AtomicBool::new(false),
            syncing: Mutex::new(()),
            growing: Mutex::new(()),
            frames,
            config,
        }))
    }

    /// Bytes of a pool's frames.
    pub fn memory_bytes(config: &PoolConfig) -> u64 {
        (config.frames as u64).saturating_mul(Self::frame_bytes(config.page_bytes))
    }

    /// Bytes of one frame: a page and its metadata.
    pub const fn frame_bytes(page_bytes: usize) -> u64 {
        page_bytes.saturating_add(FRAME_OVERHEAD_BYTES) as u64
    }

    /// Bytes of one handle: copies of the pages that it writes.
    pub fn handle_bytes(config: &PoolConfig) -> u64 {
        (config.writer.batch() * config.page_bytes) as u64
    }

    /// The configuration.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// The name of its device in errors.
    pub fn name(&self) -> String {
        self.device.name()
    }

    /// Pages of the device.
    pub fn pages(&self) -> u64 {
        self.pages.load(Ordering::Acquire)
    }

    /// Dirty pages, including those being written.
    pub fn dirty_pages(&self) -> usize {
        self.frames.ids().filter(|&f| self.frames.state(f) & (DIRTY | WRITING) != 0).count()
    }

    /// Frames without a page.
    pub fn free_frames(&self) -> usize {
        self.free.lock().len()
    }

    /// The statistics so far.
    pub fn stats(&self) -> PoolStats {
        let mut stats = self.counters.snapshot();
        stats.hits += self.handles.lock().iter().map(|hits| hits.get()).sum::<u64>();
        let device = self.device.stats();
        stats.read_latency = device.read_latency;
        stats.write_latency = device.write_latency;
        stats
    }

    pub(crate) fn hit_recording(&self) -> HitRecording {
        self.hits
    }

    pub(crate) fn register(&self) -> Arc<Counter> {
        let hits = Arc::new(Counter::default());
        self.handles.lock().push(Arc::clone(&hits));
        hits
    }

    pub(crate) fn retire(&self, hits: &Arc<Counter>) {
        self.handles.lock().retain(|other| !Arc::ptr_eq(other, hits));
        self.counters.hits.add(hits.get());
    }

    /// Whether there are other handles, which may release a frame.
    pub(crate) fn is_shared(&self) -> bool {
        self.handles.lock().len() > 1
    }

    pub(crate) fn check_page(&self, page: PageId) -> Result<()> {
        let pages = self.pages();
        if page < pages {
            return Ok(());
        }
        Err(PoolError::NoSuchPage { device: self.name(), page, pages })
    }

    /// Makes the device long enough for `page`.
    pub(crate) fn grow_to(&self, page: PageId) -> Result<()> {
        // One at a time, so that a smaller length does not truncate a larger one.
        let _alone = self.growing.lock();
        if page >= self.pages() {
            let pages = page.checked_add(1);
            let bytes = pages.and_then(|pages| pages.checked_mul(self.config.page_bytes as u64));
            let bytes = bytes.ok_or_else(|| PoolError::Config {
                reason: format!("page {page} lies beyond any device"),
            })?;
            self.device.set_len(bytes)?;
            self.pages.store(page + 1, Ordering::Release);
        }
        Ok(())
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    /// Syncs the device. One at a time: a device reports a failure only once, and a concurrent sync
    /// would succeed although pages are lost.
    pub(crate) fn sync_device(&self) -> Result<()> {
        let _alone = self.syncing.lock();
        if self.is_poisoned() {
            return Err(PoolError::Poisoned { device: self.name() });
        }
        let synced = self.device.sync();
        Ok(synced.inspect_err(|_| self.poisoned.store(true, Ordering::Release))?)
    }

    /// An empty frame, latched exclusively.
    pub(crate) fn take_free(&self) -> Option<FrameId> {
        self.free.lock().pop()
    }

    /// Returns an empty frame, latched exclusively.
    pub(crate) fn give_free(&self, frame: FrameId) {
        debug_assert!(self.frames.page(frame).is_none(), "only empty frames are free");
        self.free.lock().push(frame);
    }

    /// Runs `notify` on the policy under its lock.
    pub(crate) fn with_policy_locked<R>(&self, notify: impl FnOnce(&mut dyn Policy) -> R) -> R {
        notify(self.order.lock().policy.as_mut())
    }

    /// Passes hits to the policy: frame, page, and whether it was a write.
    pub(crate) fn touch(&self, hits: impl Iterator<Item = (FrameId, PageId, bool)>) {
        let mut order = self.order.lock();
        for (frame, page, write) in hits {
            // The frame may hold another page since the hit.
            if order.tracked[frame as usize] && self.frames.holds(frame, page) {
                order.policy.touched(frame, write);
            }
        }
    }

    /// Notifies the policy of a page read into `frame`, which the caller latches exclusively.
    pub(crate) fn admit(&self, frame: FrameId, page: PageId, entrance: Entrance) {
        let mut order = self.order.lock();
        order.policy.admitted(frame, page, entrance, &self.frames);
        order.tracked[frame as usize] = true;
    }

    /// Chooses a victim by the policy: a clean one is evicted at once, a dirty one is claimed for
    /// writing together with the writer's batch.
    pub(crate) fn choose(&self) -> Choice {
        let mut order = self.order.lock();
        for _ in 0..CHOICES_MAX {
            let Some(victim) = order.policy.victim(&self.frames) else { return Choice::Nothing };
            if self.frames.state(victim) & DIRTY == 0 {
                if let Some(frame) = self.evict(&mut order, victim) {
                    self.counters.evicted_clean.add(1);
                    return Choice::Emptied(frame);
                }
            } else if self.claim(victim) {
                let mut claimed = vec![victim];
                if let Some(batch) = self.config.writer.n_w() {
                    self.claim_dirty(order.policy.as_mut(), batch - 1, &mut claimed);
                }
                return Choice::Write(claimed);
            }
        }
        Choice::Nothing
    }

    /// Most frames that a search for dirty pages visits: half of them. A page in the hot half is
    /// likely to be changed again before its eviction. (The text has no limit.)
    pub(crate) fn search_limit(&self) -> usize {
        (self.frames.len() / 2).max(1)
    }

    /// Claims up to `n` more dirty pages, the next of the order.
    fn claim_dirty(&self, policy: &mut dyn Policy, n: usize, claimed: &mut Vec<FrameId>) {
        // A search for more than there are would visit all frames up to the limit.
        let n = n.min(self.frames.dirty());
        let mut dirty = Vec::with_capacity(n);
        policy.next_dirty(n, self.search_limit(), &self.frames, &mut dirty);
        if dirty.len() < n {
            self.counters.searches_cut.add(1);
        }
        claimed.extend(dirty.into_iter().filter(|&frame| self.claim(frame)));
    }

    /// Claims a batch of dirty pages, the next of the order except `victim`.
    pub(crate) fn claim_others(&self, victim: FrameId) -> Vec<FrameId> {
        let batch = self.config.writer.batch();
        let mut dirty = Vec::with_capacity(batch + 1);
        let mut order = self.order.lock();
        order.policy.next_dirty(batch + 1, self.frames.len(), &self.frames, &mut dirty);
        dirty.retain(|&frame| frame != victim);
        dirty.truncate(batch);
        dirty.retain(|&frame| self.claim(frame));
        dirty
    }

    /// Up to `n` dirty pages without uses among the next `reach` of the order. Clock Sweep's order
    /// also has pages that the hand would pass a few times; written early, these would only be
    /// changed again.
    pub(crate) fn leaving_dirty(
        &self,
        policy: &mut dyn Policy,
        n: usize,
        reach: usize,
    ) -> Vec<FrameId> {
        let mut dirty = Vec::with_capacity(n);
        policy.next_dirty(n, reach, &self.frames, &mut dirty);
        dirty.retain(|&frame| self.frames.uses(frame) == 0);
        dirty
    }

    /// Claims a dirty page for writing and shares its latch, so that it can be copied.
    pub(crate) fn claim(&self, frame: FrameId) -> bool {
        if !self.frames.frame(frame).latch.try_lock_shared() {
            return false;
        }
        if self.frames.claim_write(frame) {
            return true;
        }
        self.frames.frame(frame).latch.unlock_shared();
        false
    }

    /// Releases a claimed page unwritten.
    pub(crate) fn unclaim(&self, frame: FrameId) {
        self.frames.end_write(frame, false);
        self.frames.frame(frame).latch.unlock_shared();
    }

    /// Empties a frame whose page is clean and unpinned, and latches it exclusively.
    fn evict(&self, order: &mut Order, frame: FrameId) -> Option<FrameId> {
        if !self.frames.frame(frame).latch.try_lock_exclusive() {
            return None;
        }
        if self.frames.state(frame) != 0 || self.frames.page(frame).is_none() {
            self.frames.frame(frame).latch.unlock_exclusive();
            return None;
        }
        let page = self.table.remove(&self.frames, frame);
        order.policy.removed(frame, page);
        order.tracked[frame as usize] = false;
        if self.frames.take_prefetched(frame) {
            self.counters.prefetched_wasted.add(1);
        }
        Some(frame)
    }

    /// Evicts a page that was just written, unless it was pinned or changed
    /// meanwhile.
    pub(crate) fn evict_written(&self, frame: FrameId, page: PageId) -> Option<FrameId> {
        let mut order = self.order.lock();
        if !self.frames.holds(frame, page) {
            return None;
        }
        let emptied = self.evict(&mut order, frame);
        self.counters.evicted_dirty.add(u64::from(emptied.is_some()));
        emptied
    }

    /// Evicts the policy's victim, or, where that is dirty, the next clean page. Clock Sweep's hand
    /// goes on behind it, also past pages that are held: else each insertion would evict the one
    /// before.
    pub(crate) fn evict_next_clean(&self) -> Option<FrameId> {
        let mut order = self.order.lock();
        let victim = order.policy.victim(&self.frames)?;
        let emptied = self.evict(&mut order, victim);
        self.counters.evicted_clean.add(u64::from(emptied.is_some()));
        drop(order);
        if emptied.is_some() {
            return emptied;
        }
        let mut next = Vec::with_capacity(1);
        self.evict_clean(1, &mut next);
        next.pop()
    }

    /// Evicts up to `n` clean pages, the next of the order.
    pub(crate) fn evict_clean(&self, n: usize, emptied: &mut Vec<FrameId>) {
        let mut order = self.order.lock();
        let mut clean = Vec::with_capacity(n);
        order.policy.next_clean(n, self.frames.len(), &self.frames, &mut clean);
        let before = emptied.len();
        emptied.extend(clean.into_iter().filter_map(|f| self.evict(&mut order, f)));
        self.counters.evicted_clean.add((emptied.len() - before) as u64);
    }
}

fn check_config(config: &PoolConfig, device: &dyn Device) -> Result<()> {
    let fault = |reason: String| Err(PoolError::Config { reason });
    let block = device.block_bytes().max(512);
    if config.page_bytes < block || !config.page_bytes.is_multiple_of(block) {
        let page = config.page_bytes;
        return fault(format!("pages of {page} bytes; the device needs multiples of {block}"));
    }
    if config.frames == 0 || config.frames >= FrameId::MAX as usize {
        return fault(format!("{} frames; give it 1 to {}", config.frames, FrameId::MAX - 1));
    }
    if config.page_bytes.checked_mul(config.frames).is_none_or(|bytes| bytes > isize::MAX as usize)
    {
        let (page, frames) = (config.page_bytes, config.frames);
        return fault(format!("{frames} frames of {page} bytes are more than memory can hold"));
    }
    let (n_w, n_e, k_r) = (config.writer.batch(), config.evict_batch, config.read_depth);
    let requests = n_w.saturating_add(n_e).saturating_add(k_r);
    if n_w.min(n_e).min(k_r) == 0 || requests > DEPTH_MAX {
        return fault(format!(
            "writes of {n_w} pages at once, evictions of {n_e} and {k_r} reads at once: expected \
             at least 1 of each and at most {DEPTH_MAX} together"
        ));
    }
    Ok(())
}

impl Drop for Pool {
    fn drop(&mut self) {
        let dirty = self.dirty_pages();
        if dirty > 0 {
            tracing::warn!("{}: dropped with {dirty} dirty pages: call sync first", self.name());
        }
        let stats = self.stats();
        tracing::debug!(
            device = self.name(),
            policy = %self.config.policy,
            writer = %self.config.writer,
            frames = self.config.frames,
            hits = stats.hits,
            misses = stats.misses,
            pages_written = stats.pages_written,
            write_batches = stats.write_batches,
            prefetched = stats.prefetched,
            prefetched_useful = stats.prefetched_useful,
            reads_failed = stats.reads_failed,
            writes_failed = stats.writes_failed,
            "buffer pool closed"
        );
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, .. } = self;
        write!(f, "Pool({}, {} frames, {})", self.name(), config.frames, config.policy)
    }
}

//! Frames: the memory of pages, with their latches and states.
//!
//! A page is pinned by holding its frame's latch: shared by readers, exclusively by a writer, a
//! load or an eviction. Everything else about a frame is read without the latch and checked again
//! under it.

use std::cell::UnsafeCell;
use std::sync::Arc;

use cenote_device::{Arena, Buffer};

use crate::PageId;
use crate::error::Result;
use crate::policy::{FrameId, Frames};
use crate::sync::Latch;
use crate::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// The page differs from the device's.
pub(crate) const DIRTY: u8 = 1;
/// A copy of the page is being written to the device.
pub(crate) const WRITING: u8 = 2;

/// Top bit of a use count: the page was prefetched and not used yet.
const PREFETCHED: u8 = 0x80;
/// Page number of an empty frame.
const NO_PAGE: PageId = PageId::MAX;

/// The fields that a hit accesses, in half a cache line.
#[repr(align(32))]
pub(crate) struct Frame {
    pub latch: Latch,
    /// Changes only under the exclusive latch and the page table's lock.
    page: AtomicU64,
    /// Next frame of the same bucket of the page table.
    pub next: AtomicU32,
}

/// The frames of a pool.
pub(crate) struct FrameSet {
    frames: Box<[Frame]>,
    /// Use counts, in an array so that policies scan them cheaply.
    uses: Box<[AtomicU8]>,
    /// `DIRTY` and `WRITING`, in an array for the same reason.
    states: Box<[AtomicU8]>,
    /// Number of frames with `DIRTY`, to limit searches.
    dirty: AtomicUsize,
    /// `None` while a read fills it.
    buffers: Box<[UnsafeCell<Option<Buffer>>]>,
    arena: Arc<Arena>,
}

// SAFETY: all but `buffers` is `Sync` by itself; a buffer is only reached through
// `bytes` (shared latch held), `bytes_mut`, `take_buffer` and `put_buffer` (exclusive latch held).
unsafe impl Sync for FrameSet {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for FrameSet {}

/// Bytes of a policy per frame: from 1 (Clock Sweep) to 30 (S3-FIFO).
const POLICY_BYTES: usize = 16;

/// Bytes per frame beside its page: header, states, policy, buffer, page table entry and version.
pub(crate) const FRAME_OVERHEAD_BYTES: usize = size_of::<Frame>()
    + 2 * size_of::<AtomicU8>()
    + size_of::<bool>()
    + POLICY_BYTES
    + size_of::<UnsafeCell<Option<Buffer>>>()
    + 3 * size_of::<AtomicU32>();

impl FrameSet {
    pub fn new(count: usize, page_bytes: usize) -> Result<Self> {
        let (arena, buffers) = Arena::carve(page_bytes, count)?;
        let frame = |_| Frame {
            latch: Latch::new(),
            page: AtomicU64::new(NO_PAGE),
            next: AtomicU32::new(FrameId::MAX),
        };
        Ok(Self {
            frames: (0..count).map(frame).collect(),
            uses: (0..count).map(|_| AtomicU8::new(0)).collect(),
            states: (0..count).map(|_| AtomicU8::new(0)).collect(),
            dirty: AtomicUsize::new(0),
            buffers: buffers.into_iter().map(|b| UnsafeCell::new(Some(b))).collect(),
            arena,
        })
    }

    pub fn len(&self) -> usize {
        self.frames.len()
    }

    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    #[inline]
    pub fn frame(&self, frame: FrameId) -> &Frame {
        &self.frames[frame as usize]
    }

    pub fn ids(&self) -> std::ops::Range<FrameId> {
        0..FrameId::try_from(self.len()).expect("frames are counted by u32")
    }

    #[inline]
    pub fn page(&self, frame: FrameId) -> Option<PageId> {
        let page = self.frame(frame).page.load(Ordering::Acquire);
        (page != NO_PAGE).then_some(page)
    }

    #[inline]
    pub fn holds(&self, frame: FrameId, page: PageId) -> bool {
        self.frame(frame).page.load(Ordering::Acquire) == page
    }

    /// Only the page table calls this, under its lock and the frame's exclusive latch.
    pub fn set_page(&self, frame: FrameId, page: Option<PageId>) {
        self.frame(frame).page.store(page.unwrap_or(NO_PAGE), Ordering::Release);
    }

    /// Counts a use up to `max`; returns whether it is the first of a prefetched page.
    #[inline]
    pub fn count_use(&self, frame: FrameId, max: u8) -> bool {
        let uses = &self.uses[frame as usize];
        let before = uses.load(Ordering::Relaxed);
        // Lost updates between threads are tolerated.
        if before & PREFETCHED != 0 {
            return uses.swap(max.min(1), Ordering::Relaxed) & PREFETCHED != 0;
        }
        if before < max {
            uses.store(before + 1, Ordering::Relaxed);
        }
        false
    }

    pub fn mark_prefetched(&self, frame: FrameId) {
        self.uses[frame as usize].fetch_or(PREFETCHED, Ordering::Relaxed);
    }

    /// Whether the page was prefetched and never used; resets the use count.
    pub fn take_prefetched(&self, frame: FrameId) -> bool {
        self.uses[frame as usize].swap(0, Ordering::Relaxed) & PREFETCHED != 0
    }

    #[inline]
    pub fn state(&self, frame: FrameId) -> u8 {
        self.states[frame as usize].load(Ordering::Acquire)
    }

    pub fn set_dirty(&self, frame: FrameId) {
        let before = self.states[frame as usize].fetch_or(DIRTY, Ordering::AcqRel);
        self.dirty.fetch_add(usize::from(before & DIRTY == 0), Ordering::Relaxed);
    }

    /// Dirty frames.
    pub fn dirty(&self) -> usize {
        self.dirty.load(Ordering::Relaxed)
    }

    /// Claims a dirty page for writing, unless another thread is writing it.
    pub fn claim_write(&self, frame: FrameId) -> bool {
        let state = &self.states[frame as usize];
        state.compare_exchange(DIRTY, DIRTY | WRITING, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Marks a page as clean before it is copied for a write; a later change makes it dirty again.
    /// The caller holds the latch, which prevents changes in between.
    pub fn begin_copy(&self, frame: FrameId) {
        let before = self.states[frame as usize].fetch_and(!DIRTY, Ordering::AcqRel);
        assert!(before & DIRTY != 0, "only dirty pages are written");
        self.dirty.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends a write. A page that could not be written is dirty again.
    pub fn end_write(&self, frame: FrameId, written: bool) {
        if !written {
            self.set_dirty(frame);
        }
        let before = self.states[frame as usize].fetch_and(!WRITING, Ordering::AcqRel);
        assert!(before & WRITING != 0, "a write ends once");
    }

    /// The page's bytes.
    ///
    /// # Safety
    /// The caller holds the frame's latch, shared or exclusive, for as long as the slice lives.
    #[inline]
    pub unsafe fn bytes(&self, frame: FrameId) -> &[u8] {
        // SAFETY: under the latch no other thread takes or changes the buffer.
        let buffer = unsafe { &*self.buffers[frame as usize].get() };
        buffer.as_ref().expect("a frame whose page is loaded has its buffer")
    }

    /// The page's bytes, mutable.
    ///
    /// # Safety
    /// The caller holds the frame's latch exclusively for as long as the slice lives, and lets
    /// no other thread make one.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the latch, not the borrow, makes it exclusive")]
    pub unsafe fn bytes_mut(&self, frame: FrameId) -> &mut [u8] {
        // SAFETY: under the exclusive latch no other thread reaches the buffer.
        let buffer = unsafe { &mut *self.buffers[frame as usize].get() };
        buffer.as_mut().expect("a frame whose page is loaded has its buffer")
    }

    /// Takes the buffer out for a read.
    ///
    /// # Safety
    /// The caller holds the frame's latch exclusively.
    pub unsafe fn take_buffer(&self, frame: FrameId) -> Buffer {
        // SAFETY: as the caller promises, no other thread reaches the buffer.
        let buffer = unsafe { &mut *self.buffers[frame as usize].get() };
        buffer.take().expect("only one read fills a frame")
    }

    /// Puts the buffer back after a read.
    ///
    /// # Safety
    /// The caller holds the frame's latch exclusively.
    pub unsafe fn put_buffer(&self, frame: FrameId, buffer: Buffer) {
        // SAFETY: as the caller promises, no other thread reaches the buffer.
        let place = unsafe { &mut *self.buffers[frame as usize].get() };
        assert!(place.replace(buffer).is_none(), "a buffer comes back once");
    }
}

impl Frames for FrameSet {
    #[inline]
    fn is_dirty(&self, frame: FrameId) -> bool {
        self.state(frame) == DIRTY
    }

    #[inline]
    fn is_evictable(&self, frame: FrameId) -> bool {
        self.state(frame) & WRITING == 0 && !self.frame(frame).latch.is_locked()
    }

    #[inline]
    fn uses(&self, frame: FrameId) -> u8 {
        self.uses[frame as usize].load(Ordering::Relaxed) & !PREFETCHED
    }

    #[inline]
    fn set_uses(&self, frame: FrameId, uses: u8) {
        let place = &self.uses[frame as usize];
        let prefetched = place.load(Ordering::Relaxed) & PREFETCHED;
        place.store(uses | prefetched, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for FrameSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FrameSet({} frames)", self.len())
    }
}

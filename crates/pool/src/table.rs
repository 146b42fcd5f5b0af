//! Where a page is: a hash table of chains that is read without a lock.
//!
//! A bucket is the number of its first frame; each frame knows the next of its bucket. Readers
//! follow the chain while others change it: at worst they miss a page that is there, or come upon
//! one that is leaving. Both are harmless: a hit is checked again under the frame's latch, and a
//! thread that finds nothing looks again under the bucket's lock before it reads the page.

use crate::PageId;
use crate::frame::FrameSet;
use crate::policy::FrameId;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Versions, each for many pages, at most.
const VERSIONS_MAX: usize = 4096;

const NONE: FrameId = FrameId::MAX;

/// Locks, each for every `LOCKS`-th bucket.
const LOCKS: usize = 64;

/// Steps of a chain that a reader follows without the lock. Chains are 0.5 frames long on average;
/// only a chain that changes under the reader can be longer than this.
const STEPS_MAX: usize = 32;

pub(crate) struct PageTable {
    buckets: Box<[AtomicU32]>,
    locks: Box<[Mutex<()>]>,
    /// Begins and ends of writes to the device, each for some of the pages.
    versions: Box<[AtomicU32]>,
    /// Bits of a hash that are not the bucket's number.
    shift: u32,
}

/// The lock of a page's bucket.
pub(crate) type BucketLock<'a> = MutexGuard<'a, ()>;

impl PageTable {
    /// Two buckets a frame, at least.
    pub fn new(frames: usize) -> Self {
        let buckets = (2 * frames).next_power_of_two().max(2);
        Self {
            buckets: (0..buckets).map(|_| AtomicU32::new(NONE)).collect(),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            versions: (0..(buckets / 2).min(VERSIONS_MAX)).map(|_| AtomicU32::new(0)).collect(),
            shift: 64 - buckets.trailing_zeros(),
        }
    }

    #[inline]
    fn bucket(&self, page: PageId) -> usize {
        // Fibonacci hashing: neighbouring pages spread evenly.
        (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The frame that seems to hold the page.
    #[inline]
    pub fn find(&self, frames: &FrameSet, page: PageId) -> Option<FrameId> {
        let mut frame = self.buckets[self.bucket(page)].load(Ordering::Acquire);
        for _ in 0..STEPS_MAX {
            if frame == NONE {
                return None;
            }
            if frames.holds(frame, page) {
                return Some(frame);
            }
            frame = frames.frame(frame).next.load(Ordering::Acquire);
        }
        None
    }

    fn version_of(&self, page: PageId) -> &AtomicU32 {
        &self.versions[self.bucket(page) % self.versions.len()]
    }

    /// A number that changes when a write of the page to the device begins and when it ends.
    pub fn version(&self, page: PageId) -> u32 {
        self.version_of(page).load(Ordering::Acquire)
    }

    /// A write of the page begins, or has ended and the page may leave.
    pub fn advance_version(&self, page: PageId) {
        self.version_of(page).fetch_add(1, Ordering::AcqRel);
    }

    /// Whether a copy of the page that was read from the device since `version` is whole and is the
    /// page as it is: it is not in memory, and was not written meanwhile. A write that began
    /// before `version` and still goes on would find the page in memory.
    pub fn is_current(&self, frames: &FrameSet, page: PageId, version: u32) -> bool {
        let lock = self.lock(page);
        self.find_locked(frames, page, &lock).is_none() && self.version(page) == version
    }

    /// Locks the page's bucket: what [`PageTable::find_locked`] finds is so until it is released.
    pub fn lock(&self, page: PageId) -> BucketLock<'_> {
        self.locks[self.bucket(page) % LOCKS].lock()
    }

    /// The frame that holds the page.
    pub fn find_locked(
        &self,
        frames: &FrameSet,
        page: PageId,
        _lock: &BucketLock<'_>,
    ) -> Option<FrameId> {
        let mut frame = self.buckets[self.bucket(page)].load(Ordering::Acquire);
        while frame != NONE && !frames.holds(frame, page) {
            frame = frames.frame(frame).next.load(Ordering::Acquire);
        }
        (frame != NONE).then_some(frame)
    }

    /// Inserts a page. The caller has found that it is not here, and latches `frame` exclusively.
    pub fn insert(&self, frames: &FrameSet, page: PageId, frame: FrameId, _lock: &BucketLock<'_>) {
        assert!(frames.page(frame).is_none(), "the frame is empty");
        let bucket = &self.buckets[self.bucket(page)];
        frames.frame(frame).next.store(bucket.load(Ordering::Relaxed), Ordering::Release);
        frames.set_page(frame, Some(page));
        bucket.store(frame, Ordering::Release);
    }

    /// Removes the page of `frame`, which the caller latches exclusively.
    pub fn remove(&self, frames: &FrameSet, frame: FrameId) -> PageId {
        let page = frames.page(frame).expect("the frame holds a page");
        let _lock = self.lock(page);
        let after = frames.frame(frame).next.load(Ordering::Relaxed);
        let mut link = &self.buckets[self.bucket(page)];
        loop {
            let at = link.load(Ordering::Relaxed);
            assert!(at != NONE, "a page that a frame holds is in its bucket");
            if at == frame {
                break;
            }
            link = &frames.frame(at).next;
        }
        link.store(after, Ordering::Release);
        frames.set_page(frame, None);
        page
    }
}

impl std::fmt::Debug for PageTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PageTable({} buckets)", self.buckets.len())
    }
}

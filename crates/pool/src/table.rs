//! The page table: a chained hash table from pages to frames that is read without a lock.
//!
//! A bucket is the number of its first frame; each frame links to the next. Readers follow the
//! chain while others change it: at worst they miss a page, or find one that is being removed. Both
//! are harmless: a hit is checked again under the frame's latch, and after a miss the bucket is
//! searched under its lock before the page is read.

use crate::PageId;
use crate::frame::FrameSet;
use crate::policy::FrameId;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Most versions; each is shared by several pages.
const VERSIONS_MAX: usize = 4096;

const NONE: FrameId = FrameId::MAX;

/// Number of locks; bucket i has lock i mod `LOCKS`.
const LOCKS: usize = 64;

/// Most steps of a reader along a chain without the lock. Chains are 0.5 frames long on average;
/// only a chain that changes meanwhile can be longer than this.
const STEPS_MAX: usize = 32;

pub(crate) struct PageTable {
    buckets: Box<[AtomicU32]>,
    locks: Box<[Mutex<()>]>,
    /// Counts of starts and ends of writes to the device, each for some of the pages.
    versions: Box<[AtomicU32]>,
    /// Bits of a hash beside the bucket's number.
    shift: u32,
}

/// The lock of a page's bucket.
pub(crate) type BucketLock<'a> = MutexGuard<'a, ()>;

impl PageTable {
    /// A table with at least two buckets per frame.
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

    /// The frame that holds the page, to be checked under its latch.
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

    /// A number that changes when a write of the page starts and when it ends.
    pub fn version(&self, page: PageId) -> u32 {
        self.version_of(page).load(Ordering::Acquire)
    }

    /// Changes the version: at the start of a write, and at its end before an eviction.
    pub fn advance_version(&self, page: PageId) {
        self.version_of(page).fetch_add(1, Ordering::AcqRel);
    }

    /// Whether a copy of the page that was read from the device since `version` is whole and
    /// current: the page is not in memory, and was not written meanwhile. (During a write that
    /// started before `version` the page is in memory.)
    pub fn is_current(&self, frames: &FrameSet, page: PageId, version: u32) -> bool {
        let lock = self.lock(page);
        self.find_locked(frames, page, &lock).is_none() && self.version(page) == version
    }

    /// Locks the page's bucket, which keeps results of [`PageTable::find_locked`] valid.
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

    /// Inserts a missing page into `frame`, which the caller latches exclusively.
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

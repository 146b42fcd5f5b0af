//! Guards, which keep a page in memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use crate::PageId;
use crate::policy::FrameId;
use crate::pool::Pool;

/// Makes a guard `!Send`, since its thread must release the latch; other threads may borrow it.
type StaysOnThread = PhantomData<MutexGuard<'static, ()>>;

/// A page, pinned for reading, which other threads may read too. It is not `Send`:
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<cenote_pool::PageRef<'static>>();
/// ```
pub struct PageRef<'a> {
    pool: &'a Pool,
    frame: FrameId,
    _thread: StaysOnThread,
}

impl<'a> PageRef<'a> {
    /// Takes over the caller's shared hold of the frame's latch.
    #[inline]
    pub(crate) fn new(pool: &'a Pool, frame: FrameId) -> Self {
        Self { pool, frame, _thread: PhantomData }
    }

    /// The page's number.
    pub fn page(&self) -> PageId {
        self.pool.frames.page(self.frame).expect("a pinned page stays")
    }
}

impl Deref for PageRef<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the guard shares the frame's latch until it is dropped.
        unsafe { self.pool.frames.bytes(self.frame) }
    }
}

impl Drop for PageRef<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.frames.frame(self.frame).latch.unlock_shared();
    }
}

impl fmt::Debug for PageRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageRef({})", self.page())
    }
}

/// A page, pinned for writing, which no other thread sees meanwhile. If its bytes were borrowed
/// mutably, dropping the guard makes it dirty. It is not `Send`:
///
/// ```compile_fail,E0277
/// fn send<T: Send>() {}
/// send::<cenote_pool::PageMut<'static>>();
/// ```
pub struct PageMut<'a> {
    pool: &'a Pool,
    frame: FrameId,
    changed: bool,
    _thread: StaysOnThread,
}

impl<'a> PageMut<'a> {
    /// Takes over the caller's exclusive hold of the frame's latch.
    pub(crate) fn new(pool: &'a Pool, frame: FrameId) -> Self {
        Self { pool, frame, changed: false, _thread: PhantomData }
    }

    /// The page's number.
    pub fn page(&self) -> PageId {
        self.pool.frames.page(self.frame).expect("a pinned page stays")
    }
}

impl Deref for PageMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the guard holds the frame's latch until it is dropped.
        unsafe { self.pool.frames.bytes(self.frame) }
    }
}

impl DerefMut for PageMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        // SAFETY: the guard holds the frame's latch exclusively until it is dropped, and
        // `&mut self` makes this the only borrow through it.
        unsafe { self.pool.frames.bytes_mut(self.frame) }
    }
}

impl Drop for PageMut<'_> {
    fn drop(&mut self) {
        if self.changed {
            self.pool.frames.set_dirty(self.frame);
        }
        self.pool.frames.frame(self.frame).latch.unlock_exclusive();
    }
}

impl fmt::Debug for PageMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageMut({})", self.page())
    }
}

//! Latches and locks. With the `model` feature they are those of the `shuttle` scheduler, whose
//! models then run the pool's own code.

/// Length of a [`pause`] in microseconds.
pub(crate) const PAUSE_US: u64 = 50;

#[cfg(not(feature = "model"))]
pub(crate) use real::{Latch, Mutex, MutexGuard, pause};

#[cfg(not(feature = "model"))]
pub(crate) use std::sync::atomic;

#[cfg(feature = "model")]
pub(crate) use model::{Latch, Mutex, MutexGuard, pause};

#[cfg(feature = "model")]
pub(crate) use shuttle::sync::atomic;

#[cfg(not(feature = "model"))]
mod real {
    use std::time::Duration;

    use parking_lot::RawRwLock;
    use parking_lot::lock_api::{RawRwLock as _, RawRwLockDowngrade as _, RawRwLockTimed as _};

    /// Counts the locks that this thread holds, in debug builds, to check the order of `pool.rs`:
    /// at most the policy's and a bucket's, and none while it waits for a latch.
    mod held {
        #[cfg(debug_assertions)]
        thread_local! {
            static COUNT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }

        #[inline]
        pub fn take() {
            #[cfg(debug_assertions)]
            COUNT.with(|count| {
                assert!(count.get() < 2, "locks nest no deeper than policy and bucket");
                count.set(count.get() + 1);
            });
        }

        #[inline]
        pub fn release() {
            #[cfg(debug_assertions)]
            COUNT.with(|count| count.set(count.get() - 1));
        }

        #[inline]
        pub fn expect_none() {
            #[cfg(debug_assertions)]
            COUNT.with(|count| assert_eq!(count.get(), 0, "no latch is waited for under a lock"));
        }
    }

    /// A lock that is held for a short time.
    pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

    pub(crate) struct MutexGuard<'a, T>(parking_lot::MutexGuard<'a, T>);

    impl<T> Mutex<T> {
        pub const fn new(value: T) -> Self {
            Self(parking_lot::Mutex::new(value))
        }

        #[inline]
        pub fn lock(&self) -> MutexGuard<'_, T> {
            held::take();
            MutexGuard(self.0.lock())
        }
    }

    impl<T> std::ops::Deref for MutexGuard<'_, T> {
        type Target = T;

        #[inline]
        fn deref(&self) -> &T {
            &self.0
        }
    }

    impl<T> std::ops::DerefMut for MutexGuard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            &mut self.0
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            held::release();
        }
    }

    /// A frame's latch, a reader-writer lock. Holding it pins the page.
    pub(crate) struct Latch(RawRwLock);

    impl Latch {
        pub const fn new() -> Self {
            Self(RawRwLock::INIT)
        }

        #[inline]
        pub fn try_lock_shared(&self) -> bool {
            self.0.try_lock_shared()
        }

        #[inline]
        pub fn try_lock_exclusive(&self) -> bool {
            self.0.try_lock_exclusive()
        }

        pub fn try_lock_shared_for(&self, timeout: Duration) -> bool {
            held::expect_none();
            self.0.try_lock_shared_for(timeout)
        }

        pub fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
            held::expect_none();
            self.0.try_lock_exclusive_for(timeout)
        }

        #[inline]
        pub fn is_locked(&self) -> bool {
            self.0.is_locked()
        }

        #[inline]
        pub fn is_locked_exclusive(&self) -> bool {
            self.0.is_locked_exclusive()
        }

        /// Ends what `try_lock_shared` or `try_lock_shared_for` began.
        #[inline]
        pub fn unlock_shared(&self) {
            debug_assert!(self.is_locked(), "a latch is unlocked once");
            // SAFETY: only shared holders of the latch call this, once each.
            unsafe { self.0.unlock_shared() }
        }

        /// Ends what `try_lock_exclusive` or `try_lock_exclusive_for` began.
        #[inline]
        pub fn unlock_exclusive(&self) {
            debug_assert!(self.is_locked_exclusive(), "a latch is unlocked once");
            // SAFETY: only the exclusive holder of the latch calls this, once.
            unsafe { self.0.unlock_exclusive() }
        }

        /// Turns an exclusive latch into a shared one, atomically.
        #[inline]
        pub fn downgrade(&self) {
            debug_assert!(self.is_locked_exclusive(), "only an exclusive latch is downgraded");
            // SAFETY: the caller holds the latch exclusively.
            unsafe { self.0.downgrade() }
        }
    }

    /// Sleeps for [`PAUSE_US`](super::PAUSE_US), to poll a condition that no latch signals.
    pub(crate) fn pause() {
        held::expect_none();
        std::thread::sleep(Duration::from_micros(super::PAUSE_US));
    }

    #[cfg(all(test, debug_assertions))]
    mod tests {
        use super::*;

        #[test]
        #[should_panic(expected = "no latch is waited for under a lock")]
        fn waiting_for_a_latch_under_a_lock_is_found_out() {
            let (lock, latch) = (Mutex::new(()), Latch::new());
            let _held = lock.lock();
            latch.try_lock_shared_for(Duration::ZERO);
        }

        #[test]
        #[should_panic(expected = "no deeper")]
        fn a_third_lock_is_found_out() {
            let locks = [(); 3].map(Mutex::new);
            let _held = locks.each_ref().map(Mutex::lock);
        }
    }
}

#[cfg(feature = "model")]
mod model {
    use std::time::Duration;

    use shuttle::sync::Mutex as ModelMutex;
    pub(crate) use shuttle::sync::MutexGuard;
    use shuttle::sync::atomic::{AtomicU32, Ordering};

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(ModelMutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(ModelMutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no thread of a model panics while it holds a lock")
        }
    }

    /// Set while a writer holds the latch or waits for its readers, as in `parking_lot`.
    const WRITER: u32 = 1 << 31;

    /// Yields to other threads in one wait for a latch.
    const YIELDS: usize = 20;

    /// The number of readers, and [`WRITER`].
    pub(crate) struct Latch(AtomicU32);

    impl Latch {
        pub fn new() -> Self {
            Self(AtomicU32::new(0))
        }

        fn update(&self, change: impl FnMut(u32) -> Option<u32>) -> bool {
            self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change).is_ok()
        }

        fn within(try_it: impl Fn() -> bool) -> bool {
            (0..YIELDS).any(|_| {
                let done = try_it();
                if !done {
                    shuttle::thread::yield_now();
                }
                done
            })
        }

        pub fn try_lock_shared(&self) -> bool {
            self.update(|state| (state & WRITER == 0).then_some(state + 1))
        }

        pub fn try_lock_exclusive(&self) -> bool {
            self.update(|state| (state == 0).then_some(WRITER))
        }

        pub fn try_lock_shared_for(&self, _timeout: Duration) -> bool {
            Self::within(|| self.try_lock_shared())
        }

        pub fn try_lock_exclusive_for(&self, _timeout: Duration) -> bool {
            let announce = |state| (state & WRITER == 0).then_some(state | WRITER);
            if !Self::within(|| self.update(announce)) {
                return false;
            }
            let readers_gone = Self::within(|| self.0.load(Ordering::SeqCst) == WRITER);
            if !readers_gone {
                self.0.fetch_and(!WRITER, Ordering::SeqCst);
            }
            readers_gone
        }

        pub fn is_locked(&self) -> bool {
            self.0.load(Ordering::SeqCst) != 0
        }

        pub fn unlock_shared(&self) {
            let before = self.0.fetch_sub(1, Ordering::SeqCst);
            assert!(before & !WRITER > 0, "a latch is unlocked once");
        }

        pub fn unlock_exclusive(&self) {
            let before = self.0.swap(0, Ordering::SeqCst);
            assert_eq!(before, WRITER, "a latch is unlocked once");
        }

        pub fn downgrade(&self) {
            let before = self.0.swap(1, Ordering::SeqCst);
            assert_eq!(before, WRITER, "only an exclusive latch is downgraded");
        }
    }

    pub(crate) fn pause() {
        shuttle::thread::yield_now();
    }
}

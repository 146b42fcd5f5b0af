//! Latches and locks. With the `model` feature they are those of the `shuttle` scheduler, so that
//! its models run the very code of the pool.

#[cfg(not(feature = "model"))]
pub(crate) use real::{Latch, Mutex, MutexGuard, pause};

#[cfg(feature = "model")]
pub(crate) use model::{Latch, Mutex, MutexGuard, pause};

#[cfg(not(feature = "model"))]
mod real {
    use std::time::Duration;

    use parking_lot::RawRwLock;
    use parking_lot::lock_api::{RawRwLock as _, RawRwLockDowngrade as _, RawRwLockTimed as _};
    pub(crate) use parking_lot::{Mutex, MutexGuard};

    /// A frame's latch: many readers or one writer. Holding it is what pins the page.
    pub(crate) struct Latch(RawRwLock);

    impl Latch {
        pub const fn new() -> Self {
            Self(RawRwLock::INIT)
        }

        #[inline]
        pub fn try_share(&self) -> bool {
            self.0.try_lock_shared()
        }

        #[inline]
        pub fn try_exclude(&self) -> bool {
            self.0.try_lock_exclusive()
        }

        pub fn share_within(&self, patience: Duration) -> bool {
            self.0.try_lock_shared_for(patience)
        }

        pub fn exclude_within(&self, patience: Duration) -> bool {
            self.0.try_lock_exclusive_for(patience)
        }

        #[inline]
        pub fn is_held(&self) -> bool {
            self.0.is_locked()
        }

        #[inline]
        pub fn is_excluded(&self) -> bool {
            self.0.is_locked_exclusive()
        }

        /// Gives back what `try_share` or `share_within` took.
        #[inline]
        pub fn release_shared(&self) {
            debug_assert!(self.is_held(), "a latch is released once");
            // SAFETY: only guards call this, once each, for the share that they took.
            unsafe { self.0.unlock_shared() }
        }

        /// Gives back what `try_exclude` or `exclude_within` took.
        #[inline]
        pub fn release_exclusive(&self) {
            debug_assert!(self.is_excluded(), "a latch is released once");
            // SAFETY: only who took the latch exclusively calls this, once.
            unsafe { self.0.unlock_exclusive() }
        }

        /// Makes an exclusive hold a shared one without a gap.
        #[inline]
        pub fn downgrade(&self) {
            debug_assert!(self.is_excluded(), "only an exclusive hold can be downgraded");
            // SAFETY: the caller holds the latch exclusively.
            unsafe { self.0.downgrade() }
        }
    }

    /// Lets others go on while this thread waits for something that no latch announces.
    pub(crate) fn pause() {
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[cfg(feature = "model")]
mod model {
    use std::time::Duration;

    pub(crate) use shuttle::sync::MutexGuard;
    use shuttle::sync::{Condvar, Mutex as ModelMutex};

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

    /// Readers, or -1 for a writer.
    pub(crate) struct Latch {
        holders: ModelMutex<i32>,
        changed: Condvar,
    }

    impl Latch {
        pub fn new() -> Self {
            Self { holders: ModelMutex::new(0), changed: Condvar::new() }
        }

        fn with<R>(&self, change: impl FnOnce(&mut i32) -> R) -> R {
            let mut holders = self.holders.lock().expect("a latch is whole");
            let result = change(&mut holders);
            self.changed.notify_all();
            result
        }

        pub fn try_share(&self) -> bool {
            self.with(|holders| {
                let free = *holders >= 0;
                *holders += i32::from(free);
                free
            })
        }

        pub fn try_exclude(&self) -> bool {
            self.with(|holders| {
                let free = *holders == 0;
                *holders -= i32::from(free);
                free
            })
        }

        pub fn share_within(&self, _patience: Duration) -> bool {
            let mut holders = self.holders.lock().expect("a latch is whole");
            while *holders < 0 {
                holders = self.changed.wait(holders).expect("a latch is whole");
            }
            *holders += 1;
            true
        }

        pub fn exclude_within(&self, _patience: Duration) -> bool {
            let mut holders = self.holders.lock().expect("a latch is whole");
            while *holders != 0 {
                holders = self.changed.wait(holders).expect("a latch is whole");
            }
            *holders = -1;
            true
        }

        pub fn is_held(&self) -> bool {
            self.with(|holders| *holders != 0)
        }

        pub fn is_excluded(&self) -> bool {
            self.with(|holders| *holders < 0)
        }

        pub fn release_shared(&self) {
            self.with(|holders| {
                assert!(*holders > 0, "a latch is released once");
                *holders -= 1;
            });
        }

        pub fn release_exclusive(&self) {
            self.with(|holders| {
                assert!(*holders == -1, "a latch is released once");
                *holders = 0;
            });
        }

        pub fn downgrade(&self) {
            self.with(|holders| {
                assert!(*holders == -1, "only an exclusive hold can be downgraded");
                *holders = 1;
            });
        }
    }

    pub(crate) fn pause() {
        shuttle::thread::yield_now();
    }
}

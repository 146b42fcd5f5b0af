//! Counts which epochs this process reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of open graphs of each epoch in this process.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<BTreeMap<u64, usize>>);

/// A reader of an epoch, whose pages are not reused until the pin is dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    readers: Arc<Readers>,
    epoch: u64,
}

impl Readers {
    pub fn pin(self: &Arc<Self>, epoch: u64) -> Pin {
        *lock(&self.0).entry(epoch).or_default() += 1;
        Pin { readers: Arc::clone(self), epoch }
    }

    pub fn oldest(&self) -> Option<u64> {
        lock(&self.0).keys().next().copied()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut readers = lock(&self.readers.0);
        let count = readers.get_mut(&self.epoch).expect("a pin is counted");
        *count -= 1;
        if *count == 0 {
            readers.remove(&self.epoch);
        }
    }
}

/// Ignores poisoning: no panic leaves the values of a store's mutexes inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Which epochs this process reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many graphs of each epoch are open in this process.
#[derive(Debug, Default)]
pub(crate) struct Readers(Mutex<BTreeMap<u64, usize>>);

/// Keeps the pages of an epoch from being written to.
#[derive(Debug)]
pub(crate) struct Pin {
    readers: Arc<Readers>,
    epoch: u64,
}

impl Readers {
    /// One reader of an epoch more, until the pin is dropped.
    pub fn pin(self: &Arc<Self>, epoch: u64) -> Pin {
        *lock(&self.0).entry(epoch).or_default() += 1;
        Pin { readers: Arc::clone(self), epoch }
    }

    /// The oldest epoch that is read.
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

/// A panic elsewhere leaves what the mutexes of a store hold whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Setting the values of many vertices on all threads.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::parallel;

/// Gives all of `values` the same value.
pub(crate) fn fill(values: &[AtomicU32], value: u32) {
    parallel::for_each_of(values, |_, of_one| of_one.store(value, Ordering::Relaxed));
}

/// Gives each of `to` the value of its place in `from`, of which there are as many.
pub(crate) fn copy(from: &[AtomicU32], to: &[AtomicU32]) {
    assert_eq!(from.len(), to.len(), "each value has a place");
    parallel::for_each_of(from, |at, from| {
        to[at].store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    });
}

//! Filling the values of many vertices on all threads.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

/// Gives all of `values` the same value.
pub(crate) fn fill(values: &[AtomicU32], value: u32) {
    values.par_iter().for_each(|of_one| of_one.store(value, Ordering::Relaxed));
}

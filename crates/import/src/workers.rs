//! Worker threads. Failure to start one is an error, not a panic.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::error::{ImportError, Result};

pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(ImportError::Threads)
}

pub(crate) fn join<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs `work` on `count` threads.
pub(crate) fn on_all<T: Send>(count: usize, work: impl Fn() -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| spawn(scope, &work)).collect::<Result<_>>()?;
        workers.into_iter().map(join).collect()
    })
}

#[derive(Debug)]
pub(crate) struct Shared<T>(Mutex<std::vec::IntoIter<T>>);

impl<T> Shared<T> {
    pub fn new(items: Vec<T>) -> Self {
        Self(Mutex::new(items.into_iter()))
    }

    pub fn next(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next()
    }
}

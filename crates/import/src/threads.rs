//! Worker threads that the system may refuse.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::error::{ImportError, Result};

/// Starts `count` workers, each with what `make` returns. After a refusal, those that run already
/// are returned with the error.
pub(crate) fn spawn<'scope, T: Send + 'scope, W: FnOnce() -> T + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    make: impl Fn() -> W,
) -> (Vec<ScopedJoinHandle<'scope, T>>, Result<()>) {
    let mut handles = Vec::with_capacity(count);
    for _ in 0..count {
        match Builder::new().spawn_scoped(scope, make()) {
            Ok(handle) => handles.push(handle),
            Err(source) => return (handles, Err(ImportError::Threads { source })),
        }
    }
    (handles, Ok(()))
}

/// Runs `work` on this thread and on up to `count - 1` others: fewer where the system refuses some.
pub(crate) fn share(count: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        // Fewer workers do the same work.
        let _ = spawn(scope, count.saturating_sub(1), || &work);
        work();
    });
}

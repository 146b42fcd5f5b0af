//! Work that threads divide among themselves.

use std::sync::{Mutex, PoisonError};

/// Calls `work` with each item, the last one first, on so many threads, each with what `begin`
/// makes for it. Where no thread can be had the others do its work.
pub(crate) fn on_threads<T: Send, W>(
    threads: usize,
    items: Vec<T>,
    begin: &(impl Fn() -> W + Sync),
    work: &(impl Fn(&mut W, T) + Sync),
) {
    let items = Mutex::new(items);
    let run = || {
        // The lock ends before the work begins.
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = begin();
        while let Some(item) = next() {
            work(&mut worker, item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
}

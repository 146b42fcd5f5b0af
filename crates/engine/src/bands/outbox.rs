//! Senders that stay open over many visits.
//!
//! A sender that ends writes blocks that are not full. A run of many small visits would write and
//! read one for each of them, and so keeps its senders until the last.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::messages::{Messages, Sender};
use crate::engine::Engine;
use crate::error::Result;

/// A sender of each worker thread. What they have sent waits for its bands from
/// [`Outbox::close`] on.
pub struct Outbox<'m, const N: usize> {
    engine: &'m Engine,
    messages: &'m Messages<'m, N>,
    /// By the number of the worker thread; `None` while a visit has it.
    senders: Vec<Mutex<Option<Sender<'m, N>>>>,
    has_failed: AtomicBool,
}

impl<'m, const N: usize> Outbox<'m, N> {
    /// Senders of these messages.
    pub fn new(engine: &'m Engine, messages: &'m Messages<'m, N>) -> Self {
        let senders = (0..engine.config().threads).map(|_| Mutex::default()).collect();
        Self { engine, messages, senders, has_failed: AtomicBool::new(false) }
    }

    /// The sender of the calling worker thread, for [`Outbox::put_back`].
    pub fn take(&self) -> Sender<'m, N> {
        let open = self.of_thread().lock().unwrap_or_else(PoisonError::into_inner).take();
        open.unwrap_or_else(|| self.messages.sender())
    }

    /// Gives a sender back, on the thread that took it.
    pub fn put_back(&self, sender: Sender<'m, N>) {
        if sender.has_failed() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        *self.of_thread().lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    }

    fn of_thread(&self) -> &Mutex<Option<Sender<'m, N>>> {
        &self.senders[rayon::current_thread_index().expect("senders belong to worker threads")]
    }

    /// Returns why a message could not be sent, if one could not.
    ///
    /// # Errors
    /// Of the sender that failed: [`EngineError::StateFull`](crate::EngineError::StateFull); the
    /// device failed.
    pub fn check(&self) -> Result<()> {
        if self.has_failed.load(Ordering::Relaxed) { self.close() } else { Ok(()) }
    }

    /// Writes what is in memory, and makes all messages wait for their bands.
    ///
    /// # Errors
    /// As [`Outbox::check`].
    pub fn close(&self) -> Result<()> {
        let finished = self.engine.workers.broadcast(|_| {
            let sender = self.of_thread().lock().unwrap_or_else(PoisonError::into_inner).take();
            sender.map(|mut sender| {
                sender.finish();
                sender
            })
        });
        self.messages.post(finished.into_iter().flatten())
    }
}

impl<const N: usize> fmt::Debug for Outbox<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outbox({:?})", self.messages)
    }
}

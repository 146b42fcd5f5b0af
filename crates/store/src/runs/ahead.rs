//! Reads chunks of runs before they are needed.

use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use super::chunks::Reading;

/// A thread that reads chunks; it ends, and is joined, when this is dropped.
pub(super) struct ReadAhead {
    /// Present until this is dropped.
    sender: Option<Sender<Reading>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// None, with a warning, where no thread can be started: then chunks are read when they are
    /// needed.
    pub fn start() -> Option<Self> {
        let (sender, readings) = channel::<Reading>();
        let read = move || {
            let mut queue = None;
            for reading in readings {
                // After an error the thread that needs the chunk reads it again, and reports it.
                let _ = reading.read(&mut queue);
            }
        };
        match Builder::new().name("cenote-runs".to_owned()).spawn(read) {
            Ok(thread) => Some(Self { sender: Some(sender), thread: Some(thread) }),
            Err(error) => {
                tracing::warn!(
                    "delta runs are not read ahead, which is slower: no thread: {error}"
                );
                None
            }
        }
    }

    /// Has the thread do these reads, one after the other.
    pub fn read(&self, readings: Vec<Reading>) {
        let sender = self.sender.as_ref().expect("it is there until the drop");
        // If the thread has ended, they are dropped. Threads that need the pages read them then.
        readings.into_iter().for_each(|reading| drop(sender.send(reading)));
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

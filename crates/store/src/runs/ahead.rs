//! Reads chunks of runs before they are needed.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use cenote_device::{Completion, Device, Queue, QueueConfig, Slab};

use super::chunks::Reading;

/// Most reads in flight. The runs of a graph are read at once, so each can have few of them.
const DEPTH: usize = 8;

/// A thread that reads chunks; it ends, and is joined, when this is dropped.
pub(super) struct ReadAhead {
    /// Present until this is dropped.
    sender: Option<Sender<Reading>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// None, with a warning, where no thread can be started: then chunks are read when they are
    /// needed.
    pub fn start(device: &Arc<dyn Device>) -> Option<Self> {
        let (sender, readings) = channel();
        let device = Arc::clone(device);
        let read = move || read_all(device.as_ref(), &readings);
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

    /// Has the thread do these reads.
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

/// Does the reads that come until there is no sender, several at once. One that fails is dropped:
/// the thread that needs the chunk reads it again, and reports the error.
fn read_all(device: &dyn Device, readings: &Receiver<Reading>) {
    let mut reads = InFlight { queue: None, readings: Slab::with_capacity(DEPTH) };
    let mut completions = Vec::with_capacity(DEPTH);
    loop {
        while reads.readings.len() < DEPTH {
            let next = match reads.readings.is_empty() {
                true => readings.recv().ok(),
                false => readings.try_recv().ok(),
            };
            match next {
                Some(reading) => reads.start(device, reading),
                None if reads.readings.is_empty() => return,
                None => break,
            }
        }
        reads.finish_some(device, &mut completions);
    }
}

struct InFlight {
    /// Dropped before what is read by it: requests in flight end then. None before the first
    /// request and after an error.
    queue: Option<Box<dyn Queue>>,
    /// By their tags.
    readings: Slab<Reading>,
}

impl InFlight {
    fn start(&mut self, device: &dyn Device, reading: Reading) {
        let queue = match self.queue.take() {
            Some(queue) => Ok(queue),
            None => device.queue(&QueueConfig::with_depth(DEPTH)),
        };
        if let Ok(mut queue) = queue {
            let tag = self.readings.insert(reading);
            match self.readings.get_mut(tag).request(tag) {
                Ok(request) => queue.push(request),
                Err(_) => drop(self.readings.remove(tag)),
            }
            self.queue = Some(queue);
        }
    }

    /// Waits until one is read at least.
    fn finish_some(&mut self, device: &dyn Device, completions: &mut Vec<Completion>) {
        let queue = self.queue.as_mut().expect("it has requests in flight");
        if queue.reap(1, completions).is_err() {
            (self.queue, self.readings) = (None, Slab::with_capacity(DEPTH));
            completions.clear();
        }
        for completion in completions.drain(..) {
            let reading = self.readings.remove(completion.tag);
            if completion.whole(|| device.name()).is_ok() {
                reading.arrived(completion.buffer);
            }
        }
    }
}

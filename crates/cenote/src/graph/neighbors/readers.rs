//! The threads that read lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, Scope};

use cenote_store::{Direction, ListsRead, VertexId};

use crate::error::{Error, Result};
use crate::graph::StoredGraph;

/// Room for the entries of lists that are read together.
#[derive(Debug, Default)]
pub(super) struct Room {
    entries: u64,
    free: AtomicU64,
}

impl Room {
    pub fn new(entries: u64) -> Self {
        Self { entries, free: AtomicU64::new(entries) }
    }

    /// Takes room for so many entries, if there is as much.
    fn take(&self, entries: u64) -> bool {
        let less = |free: u64| free.checked_sub(entries);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Entries that room was taken for.
    pub fn taken(&self) -> u64 {
        self.entries - self.free.load(Ordering::Relaxed)
    }
}

/// A thread that reads lists with its own queue to the device.
pub(super) struct Reader {
    requests: Sender<(Vec<VertexId>, Arc<Room>)>,
    results: Receiver<cenote_store::Result<ListsRead>>,
}

impl Reader {
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        graph: &'env StoredGraph,
        direction: Direction,
    ) -> Result<Self> {
        let ((requests, received), (sent, results)) =
            (mpsc::channel::<(Vec<VertexId>, Arc<Room>)>(), mpsc::channel());
        let read = move || {
            let mut lookup = None;
            for (vertices, room) in received {
                if lookup.is_none() {
                    match graph.lookup() {
                        Ok(made) => lookup = Some(made),
                        Err(error) => drop(sent.send(Err(error))),
                    }
                }
                let Some(lookup) = &mut lookup else { continue };
                let lists = lookup.read_within(direction, &vertices, &mut |len| room.take(len));
                if sent.send(lists).is_err() {
                    break;
                }
            }
        };
        let refused = "cannot start the threads that read lists: give fewer `threads`";
        Builder::new().spawn_scoped(scope, read).map_err(Error::io(refused))?;
        Ok(Self { requests, results })
    }

    /// Has it read the lists of some vertices, as far as there is room.
    pub fn submit(&self, vertices: Vec<VertexId>, room: &Arc<Room>) {
        // If the reader has panicked, `receive` reports it.
        let _ = self.requests.send((vertices, Arc::clone(room)));
    }

    /// Waits for the lists that it was given first.
    pub fn receive(&self) -> Result<ListsRead> {
        let lists = self.results.recv();
        Ok(lists.map_err(|_| Error::Device("a thread that reads lists ended early".into()))??)
    }
}

//! Generates edges on many threads and consumes them in order.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

use crate::{Edge, EdgeSource, WorkloadError};

/// Edges generated at a time: half a megabyte, small for a cache, large for a hand-over.
const CHUNK_EDGES: u64 = 1 << 16;

/// Generates all edges of `source` on `threads` threads, in chunks. Each chunk passes through
/// `encode` on its thread; `consume` receives the results on the calling thread, in the order of
/// the edges, with their number of edges. An error from `consume` ends everything.
///
/// The results do not depend on `threads`.
///
/// # Errors
/// The error of `consume`, or [`WorkloadError::Threads`] if a thread cannot be started.
///
/// # Panics
/// If `threads` is 0.
pub fn for_each_in_order<T: Send, E: From<WorkloadError>>(
    source: &dyn EdgeSource,
    threads: usize,
    encode: impl Fn(&[Edge]) -> T + Sync,
    mut consume: impl FnMut(u64, T) -> Result<(), E>,
) -> Result<(), E> {
    assert!(threads > 0, "no thread to generate on");
    let chunks = source.edges().div_ceil(CHUNK_EDGES);
    std::thread::scope(|scope| {
        let encode = &encode;
        let mut receivers = Vec::with_capacity(threads);
        for worker in 0..threads as u64 {
            // Two waiting chunks bridge a slow write.
            let (sender, receiver) = sync_channel(2);
            let own = (worker..chunks).step_by(threads);
            // After an error, running workers end when their receivers are dropped.
            Builder::new()
                .spawn_scoped(scope, move || make(source, own, encode, &sender))
                .map_err(|source| WorkloadError::Threads { threads, source })?;
            receivers.push(receiver);
        }
        for chunk in 0..chunks {
            // A worker that is gone has panicked; the scope reports it.
            let Ok((edges, made)) = receivers[chunk as usize % threads].recv() else { break };
            consume(edges, made)?;
        }
        Ok(())
    })
}

/// Generates the chunks of one worker in order, until the receiver is gone.
fn make<T>(
    source: &dyn EdgeSource,
    chunks: impl Iterator<Item = u64>,
    encode: &impl Fn(&[Edge]) -> T,
    sender: &SyncSender<(u64, T)>,
) {
    let mut edges = Vec::with_capacity(CHUNK_EDGES as usize);
    for chunk in chunks {
        let first = chunk * CHUNK_EDGES;
        edges.clear();
        source.fill(first..(first + CHUNK_EDGES).min(source.edges()), &mut edges);
        if sender.send((edges.len() as u64, encode(&edges))).is_err() {
            return;
        }
    }
}

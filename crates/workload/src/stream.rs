//! Many threads make the edges, one consumer receives them in order.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

use crate::{Edge, EdgeSource, WorkloadError};

/// Edges made at a time: half a megabyte, small beside any cache budget, long beside a hand-over.
const CHUNK_EDGES: u64 = 1 << 16;

/// Runs over all edges of `source` on `threads` threads. Each chunk passes through `encode` on the
/// thread that made it; `consume` receives the results on the calling thread, in the order of the
/// edges, with the number of edges that each stands for. An error from `consume` ends everything
/// and is returned.
///
/// What arrives does not depend on `threads`.
///
/// # Errors
/// What `consume` returns; [`WorkloadError::Threads`] where the system refuses a thread.
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
            // Two waiting chunks are enough to bridge a slow write.
            let (sender, receiver) = sync_channel(2);
            let own = (worker..chunks).step_by(threads);
            // Workers that run already end when their receivers are dropped.
            Builder::new()
                .spawn_scoped(scope, move || make(source, own, encode, &sender))
                .map_err(|source| WorkloadError::Threads { threads, source })?;
            receivers.push(receiver);
        }
        for chunk in 0..chunks {
            // A worker that is gone has panicked; leaving lets the scope report it.
            let Ok((edges, made)) = receivers[chunk as usize % threads].recv() else { break };
            consume(edges, made)?;
        }
        Ok(())
    })
}

/// One worker: its chunks in order, until they end or nobody listens any more.
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

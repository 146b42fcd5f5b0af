//! Hub neighbours of shards: those of the whole graph.
//!
//! The lists of a shard's boundary are in other shards, so their lengths are taken from the whole
//! graph.

use std::path::Path;

use cenote_device::backend::file::{self, OpenOptions};
use cenote_import::ImportConfig;
use cenote_store::{Direction, Id, LengthClass, LookupConfig, Store, VertexId};

use super::numbers::Numbers;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::watch::Watch;

/// The lengths of the lists of a graph whose shards get hub neighbours.
pub(super) struct Hubs {
    /// By vertex.
    lengths: Vec<LengthClass>,
}

impl Hubs {
    /// `None` where shards get no hub neighbours: the graph has none, or could not have any.
    pub fn of(graph: &Graph) -> Result<Option<Self>> {
        if !are_made(graph) {
            return Ok(None);
        }
        let stored = graph.stored();
        let direction = if stored.is_directed() { Direction::In } else { Direction::Out };
        let mut lengths = Vec::with_capacity(stored.vertices());
        stored.degrees(direction, &mut |_, degrees| {
            lengths.extend(degrees.iter().map(|&degree| LengthClass::of(degree)));
        })?;
        Ok(Some(Self { lengths }))
    }

    /// Bytes of the lengths.
    pub fn bytes_for(graph: &Graph) -> u64 {
        if are_made(graph) { graph.stored().vertices() as u64 } else { 0 }
    }

    /// Memory of [`Hubs::write`] beside that, for a shard of any size: with one thread.
    pub fn bytes_to_write(graph: &Graph) -> u64 {
        if are_made(graph) { write_bytes(graph, 1) } else { 0 }
    }

    /// Writes the hub neighbours of a shard into its file, within so much memory.
    pub fn write(
        &self,
        graph: &Graph,
        path: &Path,
        numbers: &Numbers,
        (memory_bytes, threads): (u64, usize),
        watch: &Watch,
    ) -> Result<()> {
        let store = Store::open(file::open(path, &OpenOptions::default())?)?;
        let mut lengths = Vec::with_capacity(store.vertices() as usize);
        let ids = store.graph(|_| LookupConfig::default())?.ids()?;
        ids.for_each(0..store.vertices() as VertexId, |_, id| {
            let Id::Integer(number) = id.to_id() else { unreachable!("ids are numbers") };
            lengths.push(self.lengths[numbers.vertex(number) as usize]);
            Ok::<(), Error>(())
        })?;
        let fits = |threads: &usize| write_bytes(graph, *threads) <= memory_bytes;
        let threads = (1..=threads).rev().find(fits).unwrap_or(1);
        let go_on = &mut || watch.check().is_ok();
        match store.write_hub_neighbours_of_part(lengths, threads, go_on)? {
            true => Ok(()),
            false => Err(Error::Cancelled),
        }
    }
}

/// Whether shards have hub neighbours: if the graph has them, or would have them if it were
/// imported anew.
fn are_made(graph: &Graph) -> bool {
    let stored = graph.stored();
    let entries = stored.superblock().stored_out;
    let looks_back = !stored.is_directed() || stored.has_in_edges();
    let choice = ImportConfig::of_stored(stored).hub_neighbours;
    looks_back && choice.is_made(stored.live_vertices() as u64, entries)
}

/// Memory to write them for as many vertices as the graph has, on some threads: with the lengths of
/// their lists, and twice the indexes, for those of the file and their copy.
fn write_bytes(graph: &Graph, threads: usize) -> u64 {
    let stored = graph.stored();
    let indexes = 2 * stored.memory_bytes() as u64;
    Store::hub_neighbours_bytes(stored.vertices() as u64, threads) + indexes
}

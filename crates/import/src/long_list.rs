//! A list that spans several sorted ranges. The writer needs its length first.

use std::sync::Arc;

use cenote_device::{Buffer, Device, read_exact, write_all};

use crate::error::{Result, full_disk};
use crate::workspace::Workspace;
use cenote_store::{GraphWriter, VertexId};

const BLOCK_ENTRIES: usize = 1 << 14;

/// A list of unknown length. Entries beyond its share of memory are spilled.
pub(super) struct LongList<'a> {
    workspace: &'a dyn Workspace,
    vertex: Option<VertexId>,
    /// The latest entries; exceed `entries_max` by less than a block.
    entries: Vec<u32>,
    entries_max: usize,
    /// A weight for each entry, as ordered bits, if the graph has weights.
    weights: Option<Vec<u64>>,
    overflow: Option<Arc<dyn Device>>,
    overflow_entries: u64,
}

impl<'a> LongList<'a> {
    /// Bytes of memory of a list that keeps `entries_max` entries.
    pub fn memory(entries_max: usize, weighted: bool) -> usize {
        (entries_max + 2 * BLOCK_ENTRIES) * if weighted { 12 } else { 4 }
    }

    pub fn new(workspace: &'a dyn Workspace, entries_max: usize, weighted: bool) -> Self {
        Self {
            workspace,
            vertex: None,
            entries: Vec::new(),
            entries_max,
            weights: weighted.then(Vec::new),
            overflow: None,
            overflow_entries: 0,
        }
    }

    pub fn vertex(&self) -> Option<VertexId> {
        self.vertex
    }

    pub fn begin(&mut self, vertex: VertexId, entries: &[u32], weights: &[u64]) -> Result<()> {
        assert!(self.vertex.is_none() && self.entries.is_empty(), "the list before was written");
        self.vertex = Some(vertex);
        self.extend(entries, weights)
    }

    /// Appends entries, with their weights if the graph has weights.
    pub fn extend(&mut self, entries: &[u32], weights: &[u64]) -> Result<()> {
        let mut rest = weights;
        for piece in entries.chunks(BLOCK_ENTRIES) {
            if self.entries.len() + piece.len() > self.entries_max {
                self.spill()?;
            }
            let most = self.entries_max + BLOCK_ENTRIES;
            append(&mut self.entries, piece, most);
            if let Some(weights) = &mut self.weights {
                let (now, later) = rest.split_at(piece.len());
                append(weights, now, most);
                rest = later;
            }
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let device = match &self.overflow {
            Some(device) => Arc::clone(device),
            None => Arc::clone(self.overflow.insert(self.workspace.spill()?)),
        };
        let whole = self.entries.len() / BLOCK_ENTRIES * BLOCK_ENTRIES;
        let block_bytes = self.block_bytes();
        let mut buffer = Buffer::new(block_bytes)?;
        for (place, block) in self.entries[..whole].chunks_exact(BLOCK_ENTRIES).enumerate() {
            let (entries, weights) = buffer.split_at_mut(BLOCK_ENTRIES * 4);
            entries.copy_from_slice(bytemuck::cast_slice(block));
            if let Some(all) = &self.weights {
                let block = &all[place * BLOCK_ENTRIES..(place + 1) * BLOCK_ENTRIES];
                weights.copy_from_slice(bytemuck::cast_slice(block));
            }
            let offset = self.overflow_entries / BLOCK_ENTRIES as u64 * block_bytes as u64;
            buffer = write_all(device.as_ref(), offset, block_bytes, buffer).map_err(|e| {
                full_disk(e, offset, offset * 2, "the spilled list of a hub", "temp_dir")
            })?;
            self.overflow_entries += BLOCK_ENTRIES as u64;
        }
        self.entries.drain(..whole);
        if let Some(weights) = &mut self.weights {
            weights.drain(..whole);
        }
        Ok(())
    }

    /// Bytes of a spilled block: entries, followed by their weights.
    fn block_bytes(&self) -> usize {
        BLOCK_ENTRIES * if self.weights.is_some() { 12 } else { 4 }
    }

    /// Writes the whole list and clears it.
    pub fn write(&mut self, writer: &mut GraphWriter) -> Result<()> {
        writer.begin_list(self.overflow_entries + self.entries.len() as u64)?;
        if let Some(device) = self.overflow.take() {
            let block_bytes = self.block_bytes();
            let mut buffer = Buffer::new(block_bytes)?;
            for block in 0..self.overflow_entries / BLOCK_ENTRIES as u64 {
                let offset = block * block_bytes as u64;
                buffer = read_exact(device.as_ref(), offset, block_bytes, buffer)?;
                let (entries, weights) = buffer.split_at(BLOCK_ENTRIES * 4);
                writer.extend(bytemuck::cast_slice(entries))?;
                if self.weights.is_some() {
                    writer.extend_ordered(bytemuck::cast_slice(weights))?;
                }
            }
            self.overflow_entries = 0;
        }
        writer.extend(&self.entries)?;
        if let Some(weights) = &mut self.weights {
            writer.extend_ordered(weights)?;
            weights.clear();
        }
        writer.end_list();
        self.entries.clear();
        self.vertex = None;
        Ok(())
    }
}

/// Appends without allocating more than `most` items require.
fn append<T: Copy>(items: &mut Vec<T>, piece: &[T], most: usize) {
    if items.capacity() - items.len() < piece.len() {
        let more = items.len().max(piece.len());
        items.reserve_exact(more.min(most));
    }
    items.extend_from_slice(piece);
}

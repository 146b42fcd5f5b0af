//! The list that goes on over several sorted ranges: a writer needs its length first.

use std::sync::Arc;

use cenote_device::{Buffer, Device, read_exact, write_all};

use super::error::Result;
use super::spill::full_disk;
use super::workspace::Workspace;
use crate::{GraphWriter, VertexId};

/// Entries moved at a time.
const BLOCK_ENTRIES: usize = 1 << 14;

/// A list whose end is not known yet. What exceeds its share of memory waits on a spill file.
pub(super) struct LongList<'a> {
    workspace: &'a dyn Workspace,
    vertex: Option<VertexId>,
    /// The latest entries; less than a block more than the share.
    entries: Vec<u32>,
    entries_max: usize,
    overflow: Option<Arc<dyn Device>>,
    overflow_entries: u64,
}

impl<'a> LongList<'a> {
    /// Memory of a long list that keeps so many entries.
    pub fn memory(entries_max: usize) -> usize {
        (entries_max + 2 * BLOCK_ENTRIES) * 4
    }

    pub fn new(workspace: &'a dyn Workspace, entries_max: usize) -> Self {
        Self {
            workspace,
            vertex: None,
            entries: Vec::new(),
            entries_max,
            overflow: None,
            overflow_entries: 0,
        }
    }

    /// Whose list it is.
    pub fn vertex(&self) -> Option<VertexId> {
        self.vertex
    }

    /// Starts the list of a vertex.
    pub fn begin(&mut self, vertex: VertexId, entries: &[u32]) -> Result<()> {
        assert!(self.vertex.is_none() && self.entries.is_empty(), "the list before was written");
        self.vertex = Some(vertex);
        self.extend(entries)
    }

    /// Adds entries.
    pub fn extend(&mut self, entries: &[u32]) -> Result<()> {
        for piece in entries.chunks(BLOCK_ENTRIES) {
            if self.entries.len() + piece.len() > self.entries_max {
                self.spill()?;
            }
            if self.entries.capacity() - self.entries.len() < piece.len() {
                let more = self.entries.len().max(piece.len());
                self.entries.reserve_exact(more.min(self.entries_max + BLOCK_ENTRIES));
            }
            self.entries.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Moves whole blocks to the spill file.
    fn spill(&mut self) -> Result<()> {
        let device = match &self.overflow {
            Some(device) => Arc::clone(device),
            None => Arc::clone(self.overflow.insert(self.workspace.spill()?)),
        };
        let whole = self.entries.len() / BLOCK_ENTRIES * BLOCK_ENTRIES;
        let mut buffer = Buffer::new(BLOCK_ENTRIES * 4)?;
        for block in self.entries[..whole].chunks_exact(BLOCK_ENTRIES) {
            buffer.copy_from_slice(bytemuck::cast_slice(block));
            let offset = self.overflow_entries * 4;
            buffer =
                write_all(device.as_ref(), offset, BLOCK_ENTRIES * 4, buffer).map_err(|e| {
                    full_disk(e, offset, offset * 2, "the spilled list of a hub", "--temp-dir")
                })?;
            self.overflow_entries += BLOCK_ENTRIES as u64;
        }
        self.entries.drain(..whole);
        Ok(())
    }

    /// Gives the whole list to the writer, and is empty again.
    pub fn write(&mut self, writer: &mut GraphWriter) -> Result<()> {
        writer.begin_list(self.overflow_entries + self.entries.len() as u64)?;
        if let Some(device) = self.overflow.take() {
            let mut buffer = Buffer::new(BLOCK_ENTRIES * 4)?;
            for offset in (0..self.overflow_entries * 4).step_by(BLOCK_ENTRIES * 4) {
                buffer = read_exact(device.as_ref(), offset, BLOCK_ENTRIES * 4, buffer)?;
                writer.extend(bytemuck::cast_slice(&buffer))?;
            }
            self.overflow_entries = 0;
        }
        writer.extend(&self.entries)?;
        writer.end_list();
        self.entries.clear();
        self.vertex = None;
        Ok(())
    }
}

//! Writes the map on stable storage: two copies with a journal each. [`super::recover`] reads it.

use std::sync::Arc;

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::header::SetHeader;
use super::io::{IoBuffer, PageIo};
use super::layout::{ENTRIES, ENTRY_BYTES, Layout, MIRRORS, RECORD_BYTES, RECORDS, Record};
use super::layout::{SEGMENT_PAGES, encode_place};
use super::map::BlockMap;
use super::page::{Generation, Kind, PAGE_BYTES, PageHead, SetId, items_mut, seal};

/// The writer of the map file.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) device: Arc<dyn Device>,
    pub(super) set: SetId,
    pub(super) layout: Layout,
    pub(super) epoch: u64,
    pub(super) generation: Generation,
    /// By how much the next copy raises the epoch: 2 if the copy of this epoch is damaged, so that
    /// the whole one is not overwritten.
    pub(super) step: u64,
    /// Pages of this epoch's journal, all synced.
    pub(super) next: u32,
    /// Checksum of the last of these pages.
    pub(super) previous: u32,
    /// No more commits: after a failure the state on stable storage is unknown.
    pub(super) frozen: bool,
    pub(super) cache: IoBuffer,
}

impl Journal {
    /// The map file of an empty device; the header is the caller's to write.
    pub(super) fn create(device: Arc<dyn Device>, header: &SetHeader) -> Result<Self> {
        let layout = Layout::of(header);
        device.set_len(layout.fixed_bytes())?;
        let (set, cache) = (header.id, IoBuffer::default());
        let (epoch, step, next, previous, frozen) = (1, 1, 0, 0, false);
        let generation = Generation::FIRST;
        let journal =
            Self { device, set, layout, epoch, generation, step, next, previous, frozen, cache };
        // Two empty copies, so that one header page may be damaged from the start.
        journal.write_head(0, 0, 0)?;
        journal.write_head(1, 0, 0)?;
        Ok(journal)
    }

    /// Bytes kept between commits, and those of the largest commit.
    pub(super) fn memory_bytes(&self) -> usize {
        self.cache.memory_bytes() + self.layout.journal_pages as usize * PAGE_BYTES
    }

    fn check(&self) -> Result<()> {
        if self.frozen {
            return Err(TieredError::Frozen { file: self.device.name() });
        }
        Ok(())
    }

    /// Makes records and length durable. Calls `committed` with each part that is durable. After an
    /// error the rest is not committed or, if the journal is frozen, in doubt.
    pub(super) fn commit(
        &mut self,
        len_bytes: u64,
        records: &[Record],
        map: &BlockMap,
        blocks: u32,
        mut committed: impl FnMut(&[Record]),
    ) -> Result<()> {
        let most = self.layout.journal_pages as usize * RECORDS;
        let mut rest = records;
        loop {
            self.check()?;
            let (part, after) = rest.split_at(rest.len().min(most));
            let pages = part.len().div_ceil(RECORDS).max(1) as u32;
            if self.next + pages > self.layout.journal_pages {
                self.checkpoint(len_bytes, map, blocks)?;
            }
            self.append(len_bytes, part)?;
            committed(part);
            rest = after;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn append(&mut self, len_bytes: u64, records: &[Record]) -> Result<()> {
        let count = records.len().div_ceil(RECORDS).max(1);
        let mut bytes = vec![0; count * PAGE_BYTES];
        let mut previous = self.previous;
        for (at, page) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
            let part = &records[records.len().min(at * RECORDS)..];
            let part = &part[..part.len().min(RECORDS)];
            for (record, item) in part.iter().zip(items_mut(page).chunks_mut(RECORD_BYTES)) {
                record.encode(item);
            }
            let head = PageHead {
                epoch: self.epoch,
                index: self.next + at as u32,
                stable: self.next,
                count: part.len() as u32,
                previous,
                len_bytes,
                generation: self.generation,
            };
            previous = seal(page, &self.set, Kind::Journal, head);
        }
        let written = self.write_pages(&bytes);
        self.or_freeze(written)?;
        self.next += count as u32;
        self.previous = previous;
        Ok(())
    }

    /// Writes pages to both mirrors of the journal, and syncs.
    fn write_pages(&self, bytes: &[u8]) -> Result<()> {
        let mut page_io = PageIo::open(self.device.as_ref(), &self.cache, bytes.len())?;
        for mirror in 0..MIRRORS {
            let start = self.layout.journal(self.epoch, mirror);
            page_io.write(start + u64::from(self.next) * PAGE_BYTES as u64, bytes)?;
        }
        Ok(self.device.sync()?)
    }

    fn or_freeze(&mut self, outcome: Result<()>) -> Result<()> {
        self.frozen |= outcome.is_err();
        outcome
    }

    /// Writes the next copy of the map, without fresh entries. An error before its header page is
    /// written changes nothing.
    fn checkpoint(&mut self, len_bytes: u64, map: &BlockMap, blocks: u32) -> Result<()> {
        let epoch = self.epoch + self.step;
        self.write_copy(epoch, map, blocks)?;
        self.device.sync()?;
        let written = self.write_head(epoch, blocks, len_bytes);
        self.or_freeze(written)?;
        (self.epoch, self.step, self.next, self.previous) = (epoch, 1, 0, 0);
        Ok(())
    }

    fn write_copy(&self, epoch: u64, map: &BlockMap, blocks: u32) -> Result<()> {
        let mut bytes = vec![0; SEGMENT_PAGES as usize * PAGE_BYTES];
        let mut page_io = PageIo::open(self.device.as_ref(), &self.cache, bytes.len())?;
        let segment_blocks = SEGMENT_PAGES as u32 * ENTRIES as u32;
        for segment in 0..blocks.div_ceil(segment_blocks) {
            let first = segment * segment_blocks;
            let pages = (blocks - first).div_ceil(ENTRIES as u32).min(SEGMENT_PAGES as u32);
            let bytes = &mut bytes[..pages as usize * PAGE_BYTES];
            for (at, page) in bytes.chunks_mut(PAGE_BYTES).enumerate() {
                let index = segment * SEGMENT_PAGES as u32 + at as u32;
                fill_map_page(page, index * ENTRIES as u32, blocks, map);
                let head = PageHead { epoch, index, ..PageHead::default() };
                seal(page, &self.set, Kind::Map, head);
            }
            page_io.write(self.layout.segment(epoch, u64::from(segment)), bytes)?;
        }
        Ok(())
    }

    fn write_head(&self, epoch: u64, blocks: u32, len_bytes: u64) -> Result<()> {
        let mut page = vec![0; PAGE_BYTES];
        let generation = self.generation;
        let head = PageHead { epoch, count: blocks, len_bytes, generation, ..PageHead::default() };
        seal(&mut page, &self.set, Kind::Head, head);
        let mut page_io = PageIo::open(self.device.as_ref(), &self.cache, page.len())?;
        page_io.write(self.layout.head(epoch), &page)?;
        Ok(self.device.sync()?)
    }
}

fn fill_map_page(page: &mut [u8], first: u32, blocks: u32, map: &BlockMap) {
    page.fill(0);
    let blocks = first..blocks.min(first.saturating_add(ENTRIES as u32));
    for (block, item) in blocks.zip(items_mut(page).chunks_mut(ENTRY_BYTES)) {
        let entry = map.get(block);
        if let (Some(place), false) = (entry.place(), entry.is_fresh()) {
            encode_place(place, item);
        }
    }
}

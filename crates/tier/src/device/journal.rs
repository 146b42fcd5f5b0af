//! The map on stable storage: two copies, a journal behind each.
//!
//! The map file, in pages of 4 KiB: two headers of 16 KiB; the heads of both copies; both journals;
//! then the map in segments of 64 pages, those of the copies in turn, so that it grows without
//! moving.

use std::sync::Arc;

use cenote_device::Device;

use super::entry::{Entry, Place};
use super::error::{Result, TieredError};
use super::header::{HEADER_BYTES, SetHeader};
use super::io;
use super::map::BlockMap;
use super::page::{ITEM_BYTES, Kind, PAGE_BYTES, PageHead, SetId, items, items_mut, seal, verify};

/// Bytes of a record of the journal: block, slot, tier.
const RECORD_BYTES: usize = 16;

/// Records in a page.
pub(super) const RECORDS: usize = ITEM_BYTES / RECORD_BYTES;

/// Bytes of an entry of the map: slot, and the tier plus 1, or 0.
const ENTRY_BYTES: usize = 8;
const ENTRIES: usize = ITEM_BYTES / ENTRY_BYTES;

const SEGMENT_PAGES: u64 = 64;
const PAGE: u64 = PAGE_BYTES as u64;

/// A block's new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) block: u32,
    pub(super) place: Place,
}

/// Where things are in the map file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) journal_pages: u32,
}

impl Layout {
    pub(super) fn of(header: &SetHeader) -> Self {
        Self { journal_pages: header.journal_pages }
    }

    fn head(self, epoch: u64) -> u64 {
        2 * HEADER_BYTES as u64 + epoch % 2 * PAGE
    }

    fn journal(self, epoch: u64) -> u64 {
        self.head(0) + 2 * PAGE + epoch % 2 * u64::from(self.journal_pages) * PAGE
    }

    fn segment(self, epoch: u64, segment: u64) -> u64 {
        let start = self.journal(0) + 2 * u64::from(self.journal_pages) * PAGE;
        start + (2 * segment + epoch % 2) * SEGMENT_PAGES * PAGE
    }

    /// Bytes that the file has from the beginning.
    pub(super) fn fixed_bytes(self) -> u64 {
        self.segment(0, 0)
    }
}

/// The writer of the map file.
#[derive(Debug)]
pub(super) struct Journal {
    device: Arc<dyn Device>,
    set: SetId,
    layout: Layout,
    epoch: u64,
    /// Pages that the journal of this epoch has, all synced.
    next: u32,
    /// Checksum of the last of them.
    previous: u32,
    /// Something failed after which the state on stable storage is not known.
    frozen: bool,
}

/// What the map file says.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) places: Vec<Option<Place>>,
    pub(super) len_bytes: u64,
    block_bytes: u64,
}

impl Recovered {
    /// Of a new set.
    pub(super) fn empty(block_bytes: u64) -> Self {
        Self { places: Vec::new(), len_bytes: 0, block_bytes }
    }

    fn blocks(&self, len_bytes: u64) -> usize {
        usize::try_from(len_bytes.div_ceil(self.block_bytes)).unwrap_or(usize::MAX)
    }

    fn set_len(&mut self, len_bytes: u64) {
        self.len_bytes = len_bytes;
        self.places.truncate(self.blocks(len_bytes));
    }

    fn put(&mut self, record: Record) {
        let at = record.block as usize;
        // What lies beyond the end is of no use: it grew and the new length was not synced.
        if at >= self.blocks(self.len_bytes) {
            return;
        }
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        self.places[at] = Some(record.place);
    }
}

impl Journal {
    /// The map file of an empty device; the header is the caller's to write.
    pub(super) fn create(device: Arc<dyn Device>, header: &SetHeader) -> Result<Self> {
        let layout = Layout::of(header);
        device.set_len(layout.fixed_bytes())?;
        let mut journal =
            Self { device, set: header.id, layout, epoch: 0, next: 0, previous: 0, frozen: false };
        journal.write_head(0, 0, 0)?;
        Ok(journal)
    }

    /// Whether nothing can be committed any more.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen
    }

    fn check(&self) -> Result<()> {
        if self.frozen {
            return Err(TieredError::Frozen { file: self.device.name() });
        }
        Ok(())
    }

    /// Makes records and length durable. `committed` hears of each part that is. After an
    /// error the rest is in doubt if [`Journal::is_frozen`] says so, and not committed else.
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
                item[..4].copy_from_slice(&record.block.to_le_bytes());
                item[4..8].copy_from_slice(&record.place.slot.to_le_bytes());
                item[8] = record.place.tier;
            }
            let head = PageHead {
                epoch: self.epoch,
                index: self.next + at as u32,
                stable: self.next,
                count: part.len() as u32,
                previous,
                len_bytes,
            };
            previous = seal(page, &self.set, Kind::Journal, head);
        }
        let offset = self.layout.journal(self.epoch) + u64::from(self.next) * PAGE;
        let device = Arc::clone(&self.device);
        self.or_freeze(io::write(device.as_ref(), offset, &bytes))?;
        self.or_freeze(device.sync().map_err(TieredError::from))?;
        self.next += count as u32;
        self.previous = previous;
        Ok(())
    }

    fn or_freeze(&mut self, outcome: Result<()>) -> Result<()> {
        self.frozen |= outcome.is_err();
        outcome
    }

    /// Writes the next copy of the map, without what is fresh. An error before its head is written
    /// changes nothing.
    fn checkpoint(&mut self, len_bytes: u64, map: &BlockMap, blocks: u32) -> Result<()> {
        let epoch = self.epoch + 1;
        let mut bytes = vec![0; SEGMENT_PAGES as usize * PAGE_BYTES];
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
            let offset = self.layout.segment(epoch, u64::from(segment));
            io::write(self.device.as_ref(), offset, bytes)?;
        }
        self.device.sync()?;
        let written = self.write_head(epoch, blocks, len_bytes);
        self.or_freeze(written)?;
        (self.epoch, self.next, self.previous) = (epoch, 0, 0);
        Ok(())
    }

    fn write_head(&mut self, epoch: u64, blocks: u32, len_bytes: u64) -> Result<()> {
        let mut page = vec![0; PAGE_BYTES];
        let head = PageHead { epoch, count: blocks, len_bytes, ..PageHead::default() };
        seal(&mut page, &self.set, Kind::Head, head);
        io::write(self.device.as_ref(), self.layout.head(epoch), &page)?;
        Ok(self.device.sync()?)
    }

    /// Reads what was committed.
    pub(super) fn recover(
        device: Arc<dyn Device>,
        header: &SetHeader,
    ) -> Result<(Self, Recovered)> {
        let layout = Layout::of(header);
        let reader = Reader { device: device.as_ref(), set: &header.id, layout };
        let block_bytes = u64::from(header.block_bytes);
        let (mut epoch, mut recovered) = reader.base(block_bytes)?;
        let (mut next, mut previous) = reader.replay(epoch, &mut recovered)?;
        // A copy that is damaged is the one before with its whole journal.
        while reader.has_journal(epoch + 1)? || reader.head(epoch + 1)?.is_some() {
            epoch += 1;
            (next, previous) = reader.replay(epoch, &mut recovered)?;
        }
        let set = header.id;
        let journal = Self { device, set, layout, epoch, next, previous, frozen: false };
        Ok((journal, recovered))
    }
}

fn fill_map_page(page: &mut [u8], first: u32, blocks: u32, map: &BlockMap) {
    page.fill(0);
    let blocks = first..blocks.min(first.saturating_add(ENTRIES as u32));
    for (block, item) in blocks.zip(items_mut(page).chunks_mut(ENTRY_BYTES)) {
        let entry = map.get(block);
        if let (Some(place), false) = (entry.place(), entry.is_fresh()) {
            item[..4].copy_from_slice(&place.slot.to_le_bytes());
            item[4] = place.tier + 1;
        }
    }
}

struct Reader<'a> {
    device: &'a dyn Device,
    set: &'a SetId,
    layout: Layout,
}

impl Reader<'_> {
    fn damaged(&self, reason: impl Into<String>) -> TieredError {
        TieredError::Damaged { file: self.device.name(), reason: reason.into() }
    }

    fn pages(&self, offset: u64, count: u32) -> Result<Vec<u8>> {
        io::read(self.device, offset, count as usize * PAGE_BYTES)
    }

    fn head(&self, epoch: u64) -> Result<Option<PageHead>> {
        let page = self.pages(self.layout.head(epoch), 1)?;
        let head = verify(&page, self.set, Kind::Head).map(|(head, _)| head);
        Ok(head.filter(|head| head.epoch == epoch))
    }

    /// The newest copy of the map that is whole.
    fn base(&self, block_bytes: u64) -> Result<(u64, Recovered)> {
        let mut heads = Vec::new();
        for copy in 0..2 {
            let page = self.pages(self.layout.head(copy), 1)?;
            heads.extend(verify(&page, self.set, Kind::Head).map(|(head, _)| head));
        }
        heads.sort_by_key(|head| std::cmp::Reverse(head.epoch));
        for head in heads {
            if let Some(places) = self.copy(&head)? {
                let recovered = Recovered { places, len_bytes: head.len_bytes, block_bytes };
                return Ok((head.epoch, recovered));
            }
        }
        Err(self.damaged("neither of its copies is whole"))
    }

    /// The map as a checkpoint wrote it; none if a page is not of it.
    fn copy(&self, head: &PageHead) -> Result<Option<Vec<Option<Place>>>> {
        let blocks = head.count as usize;
        let mut places = Vec::with_capacity(blocks);
        let (mut segment, mut index) = (0, 0);
        let len_bytes = self.device.len_bytes()?;
        while places.len() < blocks {
            let left = (blocks - places.len()).div_ceil(ENTRIES);
            let count = left.min(SEGMENT_PAGES as usize) as u32;
            let offset = self.layout.segment(head.epoch, segment);
            if offset + u64::from(count) * PAGE > len_bytes {
                return Ok(None);
            }
            for page in self.pages(offset, count)?.chunks(PAGE_BYTES) {
                let known = verify(page, self.set, Kind::Map).map(|(head, _)| head);
                if !known.is_some_and(|k| k.epoch == head.epoch && k.index == index) {
                    return Ok(None);
                }
                let left = blocks - places.len();
                places.extend(items(page).chunks_exact(ENTRY_BYTES).take(left).map(place_of));
                index += 1;
            }
            segment += 1;
        }
        Ok(Some(places))
    }

    fn has_journal(&self, epoch: u64) -> Result<bool> {
        let page = self.pages(self.layout.journal(epoch), 1)?;
        let head = verify(&page, self.set, Kind::Journal).map(|(head, _)| head);
        Ok(head.is_some_and(|head| head.epoch == epoch && head.index == 0))
    }

    /// Applies the journal of an epoch; its pages, and the checksum of the last.
    fn replay(&self, epoch: u64, recovered: &mut Recovered) -> Result<(u32, u32)> {
        let bytes = self.pages(self.layout.journal(epoch), self.layout.journal_pages)?;
        let (mut next, mut previous) = (0, 0);
        let mut is_over = false;
        for (at, page) in (0..).zip(bytes.chunks(PAGE_BYTES)) {
            let known = verify(page, self.set, Kind::Journal);
            let known = known.filter(|(head, _)| head.epoch == epoch && head.index == at);
            match known {
                Some((head, sum)) if !is_over && head.previous == previous => {
                    recovered.set_len(head.len_bytes);
                    let items = items(page).chunks_exact(RECORD_BYTES).take(head.count as usize);
                    items.for_each(|item| recovered.put(record_of(item)));
                    (next, previous) = (at + 1, sum);
                }
                Some((head, _)) if is_over && head.stable > next => {
                    let reason = format!("page {next} of journal {epoch} does not verify");
                    return Err(self.damaged(reason));
                }
                _ => is_over = true,
            }
        }
        Ok((next, previous))
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn place_of(item: &[u8]) -> Option<Place> {
    item[4].checked_sub(1).map(|tier| Place { tier, slot: word(item, 0) })
}

fn record_of(item: &[u8]) -> Record {
    Record { block: word(item, 0), place: Place { tier: item[8], slot: word(item, 4) } }
}

/// The map in memory from what was recovered; an error names what cannot be.
pub(super) fn fill(map: &BlockMap, recovered: &Recovered) {
    for (block, place) in (0..).zip(&recovered.places) {
        if let Some(place) = place {
            map.set(block, Entry::of(*place));
        }
    }
}

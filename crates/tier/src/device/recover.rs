//! The map on stable storage, read: the newest copy that is whole, and the journals behind it.

use std::sync::Arc;

use cenote_device::Device;

use super::entry::{Entry, Place};
use super::error::{Result, TieredError};
use super::header::SetHeader;
use super::io::{Line, Spare};
use super::journal::Journal;
use super::layout::{ENTRIES, ENTRY_BYTES, Layout, MIRRORS, RECORD_BYTES, Record};
use super::layout::{SEGMENT_PAGES, decode_place};
use super::map::BlockMap;
use super::page::{Generation, Kind, PAGE_BYTES, PageHead, items, verify};

/// Epochs are below this, so that adding to one never overflows.
const EPOCHS: u64 = 1 << 62;

/// What the map file says.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) map: BlockMap,
    pub(super) len_bytes: u64,
    generation: Generation,
}

impl Recovered {
    /// Of an empty set.
    pub(super) fn empty(header: &SetHeader) -> Self {
        let map = BlockMap::new(header.slots());
        Self { map, len_bytes: 0, generation: Generation::FIRST }
    }
}

/// Where a journal ends.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Pages that it has.
    next: u32,
    /// Checksum of the last.
    previous: u32,
    /// Whether all pages stand in all their places, and nothing that looks like one behind them.
    clean: bool,
}

/// Reads what was committed, and makes the journal ready for more.
pub(super) fn recover(device: Arc<dyn Device>, header: &SetHeader) -> Result<(Journal, Recovered)> {
    let (layout, spare) = (Layout::of(header), Spare::default());
    let (found, expected) = (device.len_bytes()?, layout.fixed_bytes());
    if found < expected {
        let reason = format!("it was cut: {found} bytes, {expected} at least");
        return Err(TieredError::Damaged { file: device.name(), reason });
    }
    let line = Line::open(device.as_ref(), &spare, SEGMENT_PAGES as usize * PAGE_BYTES)?;
    let mut reader = Reader { device: device.as_ref(), line, header, layout };
    let headers = reader.headers()?;
    let newest = headers.first().map(|head| head.epoch);
    let (base, mut recovered) = reader.base(&headers)?;
    let mut epoch = base;
    let mut end = reader.replay(epoch, &mut recovered)?;
    // A copy that is damaged is the one before with its whole journal.
    while reader.has_journal(epoch + 1)? || headers.iter().any(|head| head.epoch == epoch + 1) {
        epoch += 1;
        end = reader.replay(epoch, &mut recovered)?;
    }
    if newest.is_some_and(|newest| newest > epoch) {
        return Err(reader.damaged(format!("copy {epoch} is whole, what came after it is not")));
    }
    drop(reader);
    // Pages of a commit that never ended must not follow a later one, and pages that stand in one
    // place only must stand in two again: the next commit begins with a new copy.
    let is_whole = end.clean && epoch == base;
    let journal = Journal {
        device,
        set: header.id,
        layout,
        epoch,
        generation: recovered.generation,
        step: if epoch == base { 1 } else { 2 },
        next: if is_whole { end.next } else { layout.journal_pages },
        previous: end.previous,
        frozen: false,
        spare,
    };
    Ok((journal, recovered))
}

struct Reader<'a> {
    device: &'a dyn Device,
    line: Line<'a>,
    header: &'a SetHeader,
    layout: Layout,
}

impl Reader<'_> {
    fn damaged(&self, reason: impl Into<String>) -> TieredError {
        TieredError::Damaged { file: self.device.name(), reason: reason.into() }
    }

    fn pages(&mut self, offset: u64, count: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count as usize * PAGE_BYTES];
        self.line.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// The header pages of the copies that verify, the newest first.
    fn headers(&mut self) -> Result<Vec<PageHead>> {
        let pages = self.pages(self.layout.head(0), 2)?;
        let mut headers = Vec::new();
        for (copy, page) in (0..).zip(pages.chunks(PAGE_BYTES)) {
            let head = verify(page, &self.header.id, Kind::Head).map(|(head, _)| head);
            let possible = |head: &PageHead| head.epoch % 2 == copy && head.epoch < EPOCHS;
            headers.extend(head.filter(possible));
        }
        headers.sort_by_key(|head| std::cmp::Reverse(head.epoch));
        Ok(headers)
    }

    /// The newest copy of the map that is whole.
    fn base(&mut self, headers: &[PageHead]) -> Result<(u64, Recovered)> {
        for head in headers {
            let len_bytes = self.checked_len(head.len_bytes)?;
            let generation = head.generation;
            let recovered = Recovered { len_bytes, generation, ..Recovered::empty(self.header) };
            if self.copy(head, &recovered)? {
                return Ok((head.epoch, recovered));
            }
        }
        Err(self.damaged("neither of its copies is whole"))
    }

    /// The length, if the tiers hold so much.
    fn checked_len(&self, len_bytes: u64) -> Result<u64> {
        let room = self.header.slots();
        if len_bytes.div_ceil(u64::from(self.header.block_bytes)) <= u64::from(room) {
            return Ok(len_bytes);
        }
        Err(self.damaged(format!("{len_bytes} bytes on room for {room} blocks")))
    }

    /// Reads the map as a checkpoint wrote it; false if a page is not of it.
    fn copy(&mut self, head: &PageHead, recovered: &Recovered) -> Result<bool> {
        // So a number that cannot be asks for no memory.
        if u64::from(head.count) > head.len_bytes.div_ceil(u64::from(self.header.block_bytes))
            || self.copy_end(head) > self.device.len_bytes()?
        {
            return Ok(false);
        }
        let (mut segment, mut index, mut block) = (0, 0, 0);
        while block < head.count {
            let left = (head.count - block).div_ceil(ENTRIES as u32);
            let count = left.min(SEGMENT_PAGES as u32);
            let offset = self.layout.segment(head.epoch, segment);
            for page in self.pages(offset, count)?.chunks(PAGE_BYTES) {
                let known = verify(page, &self.header.id, Kind::Map).map(|(head, _)| head);
                if !known.is_some_and(|k| k.epoch == head.epoch && k.index == index) {
                    return Ok(false);
                }
                for (block, item) in (block..head.count).zip(items(page).chunks_exact(ENTRY_BYTES))
                {
                    if let Some(place) = decode_place(item) {
                        let place = self.checked(block, place)?;
                        recovered.map.set(block, Entry::of(place));
                    }
                }
                block = head.count.min(block.saturating_add(ENTRIES as u32));
                index += 1;
            }
            segment += 1;
        }
        Ok(true)
    }

    /// A place, if there is such a one.
    fn checked(&self, block: u32, place: Place) -> Result<Place> {
        let Place { tier, slot } = place;
        let slots = self.header.tiers.get(usize::from(tier)).map(|tier| tier.slots);
        if slots.is_some_and(|slots| slot < slots) {
            return Ok(place);
        }
        let reason = format!("block {block} lies in slot {slot} of tier {tier}: there is none");
        Err(self.damaged(reason))
    }

    /// The first byte behind the last page of a copy.
    fn copy_end(&self, head: &PageHead) -> u64 {
        let Some(last) = u64::from(head.count).div_ceil(ENTRIES as u64).checked_sub(1) else {
            return 0;
        };
        let within = (last % SEGMENT_PAGES + 1) * PAGE_BYTES as u64;
        self.layout.segment(head.epoch, last / SEGMENT_PAGES) + within
    }

    /// What a page says if it is this one of the journal, and its checksum.
    fn known(&self, page: &[u8], epoch: u64, index: u32) -> Option<(PageHead, u32)> {
        let known = verify(page, &self.header.id, Kind::Journal);
        known.filter(|(head, _)| head.epoch == epoch && head.index == index)
    }

    fn has_journal(&mut self, epoch: u64) -> Result<bool> {
        for mirror in 0..MIRRORS {
            let page = self.pages(self.layout.journal(epoch, mirror), 1)?;
            if self.known(&page, epoch, 0).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Applies the journal of an epoch. Its end is the first page that stands in neither place, or
    /// does not follow the one before.
    fn replay(&mut self, epoch: u64, recovered: &mut Recovered) -> Result<End> {
        let count = self.layout.journal_pages;
        let mirrors = [0, 1].map(|mirror| self.layout.journal(epoch, mirror));
        let mirrors = [self.pages(mirrors[0], count)?, self.pages(mirrors[1], count)?];
        let mut end = End { clean: true, ..End::default() };
        let mut is_over = false;
        for index in 0..count {
            let at = index as usize * PAGE_BYTES..(index as usize + 1) * PAGE_BYTES;
            let pages = [&mirrors[0][at.clone()], &mirrors[1][at]];
            let known = pages.map(|page| self.known(page, epoch, index));
            let next = known.iter().position(|known| {
                known.is_some_and(|(head, _)| !is_over && head.previous == end.previous)
            });
            let Some(next) = next else {
                is_over = true;
                let stable = known.iter().flatten().map(|(head, _)| head.stable).max();
                end.clean &= stable.is_none();
                if stable.is_some_and(|stable| stable > end.next) {
                    let reason = format!("page {} of journal {epoch} does not verify", end.next);
                    return Err(self.damaged(reason));
                }
                continue;
            };
            if let Some((head, sum)) = known[next] {
                self.apply(&head, pages[next], recovered)?;
                end.clean &= pages[0] == pages[1];
                (end.next, end.previous) = (index + 1, sum);
            }
        }
        Ok(end)
    }

    /// Applies a page of the journal.
    fn apply(&self, head: &PageHead, page: &[u8], recovered: &mut Recovered) -> Result<()> {
        let block_bytes = u64::from(self.header.block_bytes);
        let before = recovered.len_bytes.div_ceil(block_bytes) as u32;
        recovered.len_bytes = self.checked_len(head.len_bytes)?;
        recovered.generation = head.generation;
        let blocks = head.len_bytes.div_ceil(block_bytes) as u32;
        if blocks < before {
            recovered.map.truncate(blocks);
        }
        for item in items(page).chunks_exact(RECORD_BYTES).take(head.count as usize) {
            let Record { block, place } = Record::decode(item);
            if block >= blocks {
                return Err(self.damaged(format!("block {block} lies behind the end")));
            }
            recovered.map.set(block, Entry::of(self.checked(block, place)?));
        }
        Ok(())
    }
}

//! Reads the map from stable storage: the newest whole copy, and the journals after it.

use std::sync::Arc;

use cenote_device::Device;

use super::entry::{Entry, Place};
use super::error::{Result, TieredError};
use super::header::SetHeader;
use super::io::{IoBuffer, PageIo};
use super::journal::Journal;
use super::layout::{ENTRIES, ENTRY_BYTES, Layout, MIRRORS, RECORD_BYTES, Record};
use super::layout::{SEGMENT_PAGES, decode_place};
use super::map::BlockMap;
use super::page::{Generation, Kind, PAGE_BYTES, PageHead, items, verify};

/// Epochs are below this, so that adding to one never overflows.
const EPOCHS: u64 = 1 << 62;

#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) map: BlockMap,
    pub(super) len_bytes: u64,
    /// How far the map was read.
    pub(super) position: Position,
    generation: Generation,
}

/// A state of the map on stable storage: an epoch, and the pages of its journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    epoch: u64,
    pages: u32,
}

impl Recovered {
    pub(super) fn empty(header: &SetHeader) -> Self {
        let map = BlockMap::new(header.slots());
        let position = Position::default();
        Self { map, len_bytes: 0, position, generation: Generation::FIRST }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// Number of valid pages.
    next: u32,
    /// Checksum of the last valid page.
    previous: u32,
    /// Whether both mirrors hold all pages, and no page of the journal after them.
    clean: bool,
}

/// Reads the committed map, and prepares the journal for more commits.
pub(super) fn recover(device: Arc<dyn Device>, header: &SetHeader) -> Result<(Journal, Recovered)> {
    let (layout, cache) = (Layout::of(header), IoBuffer::default());
    let (found, expected) = (device.len_bytes()?, layout.fixed_bytes());
    if found < expected {
        let reason = format!("it was cut: {found} bytes, {expected} at least");
        return Err(TieredError::Damaged { file: device.name(), reason });
    }
    let page_io = PageIo::open(device.as_ref(), &cache, SEGMENT_PAGES as usize * PAGE_BYTES)?;
    let mut reader = Reader { device: device.as_ref(), page_io, header, layout };
    let headers = reader.headers()?;
    let newest = headers.first().map(|head| head.epoch);
    let (base, mut recovered) = reader.base(&headers)?;
    let mut epoch = base;
    let mut end = reader.replay(epoch, &mut recovered)?;
    // A damaged copy equals the one before with its whole journal.
    while reader.has_journal(epoch + 1)? || headers.iter().any(|head| head.epoch == epoch + 1) {
        epoch += 1;
        end = reader.replay(epoch, &mut recovered)?;
    }
    if newest.is_some_and(|newest| newest > epoch) {
        return Err(reader.damaged(format!("copy {epoch} is whole, what came after it is not")));
    }
    recovered.position = Position { epoch, pages: end.next };
    drop(reader);
    // If there are pages of an unfinished commit, or pages in one mirror only, the next commit
    // starts with a new copy.
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
        cache,
    };
    Ok((journal, recovered))
}

/// The commits after a position, which another process has made: a map of the blocks that the
/// journals since then name, and no others. `None` if the map was copied more than once meanwhile,
/// so that a journal may be gone.
///
/// # Errors
/// [`TieredError::Damaged`] also where a journal was being written while it was read.
pub(super) fn recover_since(
    device: &dyn Device,
    header: &SetHeader,
    since: Position,
    len_bytes: u64,
) -> Result<Option<Recovered>> {
    let (layout, cache) = (Layout::of(header), IoBuffer::default());
    let page_io = PageIo::open(device, &cache, SEGMENT_PAGES as usize * PAGE_BYTES)?;
    let mut reader = Reader { device, page_io, header, layout };
    let mut recovered = Recovered { len_bytes, position: since, ..Recovered::empty(header) };
    if !reader.has_more(since)? {
        return Ok(Some(recovered));
    }
    let end = reader.replay(since.epoch, &mut recovered)?;
    recovered.position.pages = end.next;
    let next = since.epoch + 1;
    if reader.has_journal(next)? {
        let end = reader.replay(next, &mut recovered)?;
        recovered.position = Position { epoch: next, pages: end.next };
    }
    // A later epoch overwrites these journals, after its head.
    let is_gone = reader.headers()?.iter().any(|head| head.epoch > next);
    Ok((!is_gone).then_some(recovered))
}

struct Reader<'a> {
    device: &'a dyn Device,
    page_io: PageIo<'a>,
    header: &'a SetHeader,
    layout: Layout,
}

impl Reader<'_> {
    fn damaged(&self, reason: impl Into<String>) -> TieredError {
        TieredError::Damaged { file: self.device.name(), reason: reason.into() }
    }

    fn pages(&mut self, offset: u64, count: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count as usize * PAGE_BYTES];
        self.page_io.read(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// The valid header pages of the copies, the newest first.
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

    /// The newest whole copy of the map.
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

    /// Checks that the tiers can hold the length.
    fn checked_len(&self, len_bytes: u64) -> Result<u64> {
        let room = self.header.slots();
        if len_bytes.div_ceil(u64::from(self.header.block_bytes)) <= u64::from(room) {
            return Ok(len_bytes);
        }
        Err(self.damaged(format!("{len_bytes} bytes on room for {room} blocks")))
    }

    /// Reads a copy of the map; false if a page is damaged or of another epoch.
    fn copy(&mut self, head: &PageHead, recovered: &Recovered) -> Result<bool> {
        // An impossible count must not allocate memory.
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

    fn checked(&self, block: u32, place: Place) -> Result<Place> {
        let Place { tier, slot } = place;
        let slots = self.header.tiers.get(usize::from(tier)).map(|tier| tier.slots);
        if slots.is_some_and(|slots| slot < slots) {
            return Ok(place);
        }
        let reason = format!("block {block} lies in slot {slot} of tier {tier}: there is none");
        Err(self.damaged(reason))
    }

    /// The first byte after the last page of a copy.
    fn copy_end(&self, head: &PageHead) -> u64 {
        let Some(last) = u64::from(head.count).div_ceil(ENTRIES as u64).checked_sub(1) else {
            return 0;
        };
        let within = (last % SEGMENT_PAGES + 1) * PAGE_BYTES as u64;
        self.layout.segment(head.epoch, last / SEGMENT_PAGES) + within
    }

    /// The header and checksum of page `index` of an epoch's journal, if valid.
    fn known(&self, page: &[u8], epoch: u64, index: u32) -> Option<(PageHead, u32)> {
        let known = verify(page, &self.header.id, Kind::Journal);
        known.filter(|(head, _)| head.epoch == epoch && head.index == index)
    }

    fn has_journal(&mut self, epoch: u64) -> Result<bool> {
        self.has_page(epoch, 0)
    }

    /// Whether there are commits after a position. One that is being written does not count.
    fn has_more(&mut self, since: Position) -> Result<bool> {
        Ok(self.headers()?.iter().any(|head| head.epoch > since.epoch)
            || self.has_journal(since.epoch + 1)?
            || since.pages < self.layout.journal_pages
                && self.has_page(since.epoch, since.pages)?)
    }

    /// Whether one of the mirrors has a page of an epoch's journal.
    fn has_page(&mut self, epoch: u64, index: u32) -> Result<bool> {
        for mirror in 0..MIRRORS {
            let offset = u64::from(index) * PAGE_BYTES as u64;
            let page = self.pages(self.layout.journal(epoch, mirror) + offset, 1)?;
            if self.known(&page, epoch, index).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Applies the journal of an epoch. It ends at the first page that is valid in neither mirror,
    /// or does not follow the one before.
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

//! Commits: the newest valid slot defines the graph, and one page write replaces it.
//!
//! A commit writes new pages to free places, syncs, writes the superblock of the next epoch into
//! the slot of the older of the two epochs, and syncs. So one slot is valid at every moment.

use cenote_device::{Buffer, Device, DeviceError, Op, QueueConfig, Request};
use cenote_pool::PageId;

use crate::error::{PageError, PageFault, Result, StoreError, equal, other, zero_behind};
use crate::format::{HEADER_BYTES, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PageKind, SLOTS};
use crate::header::{self, Identity};
use crate::log::{LogArea, LogEnd, Pending, read_log};
use crate::superblock::{Section, Slot, SnapshotLabel, Superblock, page_bytes_of, slot_fault};
use crate::table::{self, Extent, Extents};

/// Bytes of the page table that are read at once.
const EXTENTS_READ_BYTES: usize = 256 << 10;

/// A commit, and the changes of the log since.
#[derive(Clone, Debug)]
pub(crate) struct Latest {
    pub commit: Commit,
    pub pending: Pending,
    /// `None` for a graph without a log.
    pub log: Option<LogEnd>,
    /// The snapshot that the commit comes from.
    pub snapshot: Option<SnapshotLabel>,
}

impl Latest {
    /// Reads the newest commit and its log; also what lies behind the log's end if it is
    /// `for_writing`.
    pub fn read(device: &dyn Device, file: &str, for_writing: bool) -> Result<Self> {
        let mut failed: Option<String> = None;
        loop {
            let commit = Commit::read(device, file)?;
            if commit.superblock.log.is_empty() {
                return Ok(Self::without_log(commit));
            }
            let epoch = commit.superblock.epoch;
            let slots = u64::from(commit.superblock.page_bytes) * SLOTS;
            let latest = Self::with_log(device, file, commit, for_writing);
            // A writer elsewhere may have committed meanwhile and overwritten the log.
            if valid_slots(&read_start(device, slots)?).all(|slot| slot.0 <= epoch) {
                // It may have ended a flush that was not whole, beside one behind it. Damage is
                // found again.
                let fault = latest.as_ref().err().map(ToString::to_string);
                if fault.is_none() || fault == failed {
                    return latest;
                }
                failed = fault;
            }
        }
    }

    /// A commit without the changes of its log.
    pub fn without_log(commit: Commit) -> Self {
        let pending = Pending::new(&commit.superblock);
        Self { commit, pending, log: None, snapshot: None }
    }

    fn with_log(
        device: &dyn Device,
        file: &str,
        commit: Commit,
        for_writing: bool,
    ) -> Result<Self> {
        let superblock = &commit.superblock;
        let mut pending = Pending::new(superblock);
        let area = LogArea::of(superblock);
        let log = read_log(device, file, &area, superblock.ids, for_writing, |batch| {
            pending.replay(batch)
        })?;
        Ok(Self { commit, pending, log: Some(log), snapshot: None })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub superblock: Superblock,
    pub extents: Extents,
    /// The fault of the other slot, which should hold the commit before this one, or nothing.
    pub other_slot: Option<PageFault>,
}

impl Commit {
    /// Reads and verifies the slots and the page table.
    pub fn read(device: &dyn Device, file: &str) -> Result<Self> {
        let device_bytes = device.len_bytes()?;
        if device_bytes == 0 {
            return Err(StoreError::Empty { file: file.into() });
        }
        let start = read_start(device, device_bytes)?;
        let head = &start[..start.len().min(PAGE_BYTES_MIN)];
        let page_bytes = page_bytes_of(file, head, device_bytes);
        let newest = valid_slots(&start).max();
        let (slot, page) = match (newest, page_bytes) {
            (Some((_, slot, page_bytes)), _) => {
                (slot, &start[slot as usize * page_bytes..][..page_bytes])
            }
            (None, Ok(page_bytes)) => (0, &start[..page_bytes]),
            (None, Err(error)) => return Err(error),
        };
        let Slot { superblock, mut extents, counts } =
            Slot::decode(file, page, slot, device_bytes)?;
        let Extents { table, free, table_pages, free_pages } = &mut extents;
        let lists = [
            (PageKind::PageTable, table_pages, counts[0], table),
            (PageKind::FreeList, free_pages, counts[1], free),
        ];
        for (kind, pages, count, list) in lists {
            list.extend(read_extents(device, file, &superblock, kind, (pages.clone(), count))?);
        }
        let mut commit = Self { superblock, extents, other_slot: None };
        commit.check_extents().map_err(|fault| slot_fault(file, slot, page.len(), fault))?;
        commit.other_slot = check_other_slot(&start, &commit.superblock).err();
        Ok(commit)
    }

    /// Checks that superblock and page table can describe a graph.
    pub fn check(&self) -> Result<(), PageFault> {
        self.superblock.check()?;
        self.check_extents()
    }

    fn check_extents(&self) -> Result<(), PageFault> {
        let Superblock { epoch, pages_total, logical_pages, .. } = self.superblock;
        let own = [&self.superblock.log, &self.superblock.snapshots];
        self.extents.check(epoch, pages_total, logical_pages, &own)?;
        check_sections(&self.superblock, &self.extents.table)
    }

    /// Writes the slot and returns when it is on stable storage. Everything that the commit names
    /// must be there already.
    pub fn publish(&self, device: &dyn Device) -> Result<()> {
        let page_bytes = self.superblock.page_bytes as usize;
        let mut buffer = Buffer::new(page_bytes)?;
        self.superblock.encode(&self.extents, &mut buffer);
        let offset = self.superblock.slot() * page_bytes as u64;
        cenote_device::write_all(device, offset, page_bytes, buffer)?;
        Ok(device.sync()?)
    }
}

/// Erases the graph on a device: writes zeros into both slots, on stable storage.
pub(crate) fn erase(device: &dyn Device) -> Result<()> {
    if device.len_bytes()? == 0 {
        return Ok(());
    }
    // The old graph may have any page size.
    let len = PAGE_BYTES_MAX * SLOTS as usize;
    cenote_device::write_all(device, 0, len, Buffer::new(len)?)?;
    Ok(device.sync()?)
}

/// Epoch, number and page size of each slot with a right checksum.
fn valid_slots(start: &[u8]) -> impl Iterator<Item = (u64, PageId, usize)> {
    let sizes = (PAGE_BYTES_MIN.ilog2()..=PAGE_BYTES_MAX.ilog2()).map(|log| 1usize << log);
    let places = sizes.flat_map(|size| (0..SLOTS).map(move |slot| (slot, size)));
    places.filter_map(move |(slot, size)| {
        let page = start.get(slot as usize * size..)?.get(..size)?;
        // Page 0, which holds the page size, may be damaged: try each possible size.
        page_bytes_of("", &page[..PAGE_BYTES_MIN], size as u64).ok().filter(|ok| *ok == size)?;
        let epoch = Slot::epoch(page, slot).ok()?;
        Some((epoch, slot, size))
    })
}

/// Checks that the slot that is not in use holds the previous commit or nothing.
fn check_other_slot(start: &[u8], superblock: &Superblock) -> Result<(), PageFault> {
    let (slot, page_bytes) = (superblock.other_slot(), superblock.page_bytes as usize);
    let page = &start[slot as usize * page_bytes..][..page_bytes];
    if page.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let (found, expected) = (Slot::epoch(page, slot)?, superblock.epoch - 1);
    if found == expected { Ok(()) } else { Err(PageFault::Epoch { found, expected }) }
}

/// Reads a list of extents that lies in pages of its own.
pub(crate) fn read_extents(
    device: &dyn Device,
    file: &str,
    superblock: &Superblock,
    kind: PageKind,
    (pages, count): (std::ops::Range<PageId>, u64),
) -> Result<Vec<Extent>> {
    let page_bytes = superblock.page_bytes as usize;
    let section = if kind == PageKind::PageTable { "page table" } else { "free list" };
    let mut extents: Vec<Extent> = Vec::new();
    let at_once = (EXTENTS_READ_BYTES / page_bytes).min((pages.end - pages.start) as usize);
    let mut buffer = Buffer::new(at_once.max(1) * page_bytes)?;
    for page in pages.clone() {
        let within = (page - pages.start) as usize % at_once;
        if within == 0 {
            let len = at_once.min((pages.end - page) as usize) * page_bytes;
            buffer = cenote_device::read_exact(device, page * page_bytes as u64, len, buffer)?;
        }
        let bytes = &buffer[within * page_bytes..][..page_bytes];
        let expected = (count - extents.len() as u64).min(table::per_page(page_bytes) as u64);
        let identity = Identity { salt: superblock.salt, physical: page, epoch: superblock.epoch };
        let verified = header::verify(bytes, &identity, kind).and_then(|header| {
            equal("number of extents", header.entries.into(), expected)?;
            let used = HEADER_BYTES + expected as usize * size_of::<Extent>();
            zero_behind("extent", &bytes[used..])?;
            let places = bytes[HEADER_BYTES..used].chunks_exact(size_of::<Extent>());
            extents.extend(places.map(bytemuck::pod_read_unaligned::<Extent>));
            Ok(())
        });
        verified.map_err(|fault| {
            let (file, page_bytes) = (file.into(), page_bytes as u64);
            PageError { file, page, physical: page, page_bytes, section, fault }
        })?;
    }
    Ok(extents)
}

/// Checks that the page table holds exactly the pages of the sections.
pub(crate) fn check_sections(superblock: &Superblock, extents: &[Extent]) -> Result<(), PageFault> {
    for section in &superblock.sections {
        let Section { first_page, pages, .. } = *section;
        let mut next = first_page;
        while next < first_page + pages {
            let behind = extents.partition_point(|extent| extent.logical <= next);
            let extent = behind.checked_sub(1).map(|i| extents[i]);
            let end = extent.map_or(0, |extent| extent.logical + extent.pages);
            if end <= next {
                let name = section.kind.name();
                let reason = format!("its page table has no page {next}, of the section of {name}");
                return Err(other(reason));
            }
            next = end;
        }
    }
    let found = extents.iter().map(|extent| extent.pages).sum::<u64>();
    let expected = superblock.sections.iter().map(|section| section.pages).sum::<u64>();
    equal("pages of all sections in its page table", found, expected)
}

/// Reads the start of a device, long enough for both slots at any page size, or all of its
/// `device_bytes`.
fn read_start(device: &dyn Device, device_bytes: u64) -> Result<Vec<u8>> {
    let both = (PAGE_BYTES_MAX as u64 * SLOTS).min(device_bytes);
    let (expected, len) = (both as usize, both.next_multiple_of(PAGE_BYTES_MIN as u64) as usize);
    let mut queue = device.queue(&QueueConfig::one_by_one())?;
    queue.push(Request { tag: 0, op: Op::Read, offset: 0, len, buffer: Buffer::new(len)? });
    let mut completions = Vec::with_capacity(1);
    queue.reap(1, &mut completions)?;
    let done = completions.pop().expect("reap(1) returns a completion");
    let (device, op, offset) = (device.name(), Op::Read, 0);
    match done.result {
        Ok(found) if found >= expected => Ok(done.buffer[..expected].to_vec()),
        Ok(found) => Err(DeviceError::Short { device, op, offset, expected, found }.into()),
        Err(fault) => Err(DeviceError::Io { device, op, offset, len, fault }.into()),
    }
}

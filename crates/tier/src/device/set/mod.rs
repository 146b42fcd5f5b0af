//! A set of tiers in memory: the map, the free slots ([`alloc`]), and the state of stable storage.

mod alloc;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cenote_device::{Device, setters};

use super::entry::{Entry, Place};
use super::error::{Result, TieredError};
use super::generation;
use super::header::{Role, SetHeader, SetId, TierHeader};
use super::io::{self, IoBuffer};
use super::journal::Journal;
use super::layout::Record;
use super::lock::lock;
use super::map::{BlockMap, Pin};
use super::reclaim::{DeferredFrees, ReadSections};
use super::recorded::Recorded;
use super::recover::{Position, Recovered, recover, recover_since};
use super::slots::Slots;
use alloc::Alloc;

/// A tier of a new set.
#[derive(Debug)]
pub struct TierPart {
    /// Its device, within its I/O budget, which migrations share with all users.
    pub device: Arc<dyn Device>,
    /// Its name in the set's headers.
    pub name: String,
    /// Bytes that it may take, headers included.
    pub capacity_bytes: u64,
}

/// Configuration of a new set.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SetConfig {
    /// The random id of the set, stored in all members.
    pub id: SetId,
    /// Bytes of a block, the unit of moves.
    pub block_bytes: u32,
    /// Pages of each journal.
    pub journal_pages: u32,
}

impl SetConfig {
    /// Blocks of 16 KiB, journals of 1 MiB.
    pub fn new(id: SetId) -> Self {
        Self { id, block_bytes: 16 << 10, journal_pages: 256 }
    }

    setters! { id: SetId, block_bytes: u32, journal_pages: u32 }
}

/// What [`TieredDevice::refresh`](super::TieredDevice::refresh) found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// The map has not changed.
    Newest,
    /// Blocks came to the map, which are known now.
    Grown,
    /// More has changed than can be taken over: the set has to be opened again.
    Outdated,
}

#[derive(Debug)]
pub(super) struct TierState {
    pub(super) device: Arc<dyn Device>,
    pub(super) name: String,
    pub(super) slots: u32,
    /// Slots reserved for migrations, so that full tiers can exchange blocks.
    pub(super) spare: u32,
    /// Largest gap that a request reads through instead of being split.
    pub(super) gap_bytes: AtomicU64,
    /// Requests in flight, of all queues.
    pub(super) in_flight: Arc<AtomicU32>,
    sync_failed: AtomicBool,
    /// Whether a write has completed since the last sync of all tiers began, here or in a process
    /// before.
    written: AtomicBool,
}

impl TierState {
    /// The next sync of all tiers includes this one: called before a write is reported as done.
    pub(super) fn set_written(&self) {
        self.written.store(true, Ordering::SeqCst);
    }
}

/// A set of tiers, shared by queues and migrations.
///
/// Order of locks: `journal`, `alloc`, those of `recorded`.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) header: SetHeader,
    pub(super) map_device: Arc<dyn Device>,
    pub(super) tiers: Vec<TierState>,
    pub(super) map: BlockMap,
    pub(super) readers: ReadSections,
    pub(super) align: usize,
    len_bytes: AtomicU64,
    /// The length on stable storage.
    len_synced: AtomicU64,
    journal: Mutex<Journal>,
    /// The state of the map file that a set that only reads knows.
    known: Mutex<Position>,
    /// Whether the generation of changes since the set was opened is confirmed.
    is_generation_begun: AtomicBool,
    alloc: Mutex<Alloc>,
    /// Number of commits that have ended, for writes that wait for one.
    commits: Mutex<u64>,
    commit_ended: Condvar,
    pub(super) recorded: Recorded,
    pub(super) migrator: Mutex<()>,
    /// Queues in which a write waits for a slot. Nothing moves meanwhile, since migrations would
    /// take every slot that they release before the write.
    pub(super) waiting_writers: AtomicUsize,
    /// The buffer of synchronous transfers to tiers.
    pub(super) buffer: IoBuffer,
}

fn spare_of(slots: u32) -> u32 {
    (slots / 32).clamp(1, 64)
}

impl Core {
    /// Creates an empty set: headers on every member, then the map.
    pub(super) fn create(
        map_device: Arc<dyn Device>,
        parts: Vec<TierPart>,
        config: &SetConfig,
    ) -> Result<Self> {
        let block = u64::from(config.block_bytes);
        let mut header = SetHeader {
            id: config.id,
            block_bytes: config.block_bytes,
            journal_pages: config.journal_pages,
            tiers: Vec::new(),
        };
        for part in &parts {
            let room = part.capacity_bytes.saturating_sub(header.data_start()) / block.max(1);
            let slots = u32::try_from(room).unwrap_or(u32::MAX);
            header.tiers.push(TierHeader { name: part.name.clone(), slots });
        }
        header.check()?;
        for (tier, part) in (0..).zip(&parts) {
            header.write(part.device.as_ref(), Role::Tier(tier))?;
            part.device.set_len(header.data_start())?;
            generation::create(part.device.as_ref(), &header.id)?;
        }
        let journal = Journal::create(Arc::clone(&map_device), &header)?;
        header.write(map_device.as_ref(), Role::Map)?;
        map_device.sync()?;
        let devices = parts.into_iter().map(|part| part.device).collect();
        let empty = Recovered::empty(&header);
        let set = Self::assemble(map_device, devices, header, journal, empty)?;
        set.is_generation_begun.store(true, Ordering::Release);
        Ok(set)
    }

    /// Opens a set; `devices` are in the order of its header.
    pub(super) fn open(
        map_device: Arc<dyn Device>,
        header: SetHeader,
        devices: Vec<Arc<dyn Device>>,
    ) -> Result<Self> {
        let buffer = IoBuffer::default();
        for (tier, device) in (0..).zip(&devices) {
            check_member(device.as_ref(), &header, tier, &buffer)?;
        }
        let (journal, recovered) = recover(Arc::clone(&map_device), &header)?;
        for device in &devices {
            let (map, tier) = (map_device.as_ref(), device.as_ref());
            generation::check(map, tier, &header, journal.generation, &buffer)?;
        }
        Self::assemble(map_device, devices, header, journal, recovered)
    }

    fn assemble(
        map_device: Arc<dyn Device>,
        devices: Vec<Arc<dyn Device>>,
        header: SetHeader,
        journal: Journal,
        recovered: Recovered,
    ) -> Result<Self> {
        let Recovered { map, len_bytes, position, .. } = recovered;
        let (slots, file_bytes) = take_slots(&map_device.name(), &devices, &header, &map)?;
        let align = devices.iter().map(|device| device.block_bytes()).max().unwrap_or(1);
        let tiers = devices.into_iter().zip(&header.tiers).map(|(device, tier)| TierState {
            device,
            name: tier.name.clone(),
            slots: tier.slots,
            spare: spare_of(tier.slots),
            gap_bytes: AtomicU64::new(u64::from(header.block_bytes)),
            in_flight: Arc::default(),
            sync_failed: AtomicBool::new(false),
            written: AtomicBool::new(true),
        });
        let alloc = Alloc {
            slots,
            deferred: DeferredFrees::default(),
            reserved: 0,
            dirty: Vec::new(),
            file_bytes,
        };
        Ok(Self {
            tiers: tiers.collect(),
            header,
            map_device,
            map,
            readers: ReadSections::default(),
            align,
            len_bytes: AtomicU64::new(len_bytes),
            len_synced: AtomicU64::new(len_bytes),
            journal: Mutex::new(journal),
            known: Mutex::new(position),
            is_generation_begun: AtomicBool::new(false),
            alloc: Mutex::new(alloc),
            commits: Mutex::new(0),
            commit_ended: Condvar::new(),
            recorded: Recorded::default(),
            migrator: Mutex::new(()),
            waiting_writers: AtomicUsize::new(0),
            buffer: IoBuffer::default(),
        })
    }

    pub(super) fn block_bytes(&self) -> u64 {
        u64::from(self.header.block_bytes)
    }

    pub(super) fn len_bytes(&self) -> u64 {
        self.len_bytes.load(Ordering::SeqCst)
    }

    pub(super) fn blocks_of(&self, len_bytes: u64) -> u32 {
        u32::try_from(len_bytes.div_ceil(self.block_bytes())).unwrap_or(u32::MAX)
    }

    /// Most blocks of the device.
    pub(super) fn blocks_max(&self) -> u64 {
        let sum: u64 = self.tiers.iter().map(|tier| u64::from(tier.slots - tier.spare)).sum();
        sum.min(u32::MAX.into())
    }

    pub(super) fn offset_of(&self, place: Place) -> u64 {
        self.header.data_start() + u64::from(place.slot) * self.block_bytes()
    }

    pub(super) fn alloc(&self) -> MutexGuard<'_, Alloc> {
        lock(&self.alloc)
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        lock(&self.journal)
    }

    /// Grows the length to at least `end`.
    pub(super) fn reach(&self, end: u64) {
        self.len_bytes.fetch_max(end, Ordering::SeqCst);
    }

    /// Syncs a tier. After one failure all later syncs fail.
    pub(super) fn sync_tier(&self, tier: usize) -> Result<()> {
        let state = &self.tiers[tier];
        if state.sync_failed.load(Ordering::SeqCst) {
            return Err(TieredError::SyncFailed { file: state.device.name() });
        }
        state.device.sync().map_err(|error| {
            state.sync_failed.store(true, Ordering::SeqCst);
            error.into()
        })
    }

    /// Syncs a tier if it was written. The caller has the journal's lock: the next sync waits for
    /// the end of one that covers its writes.
    fn sync_if_written(&self, tier: usize) -> Result<()> {
        let state = &self.tiers[tier];
        let is_written = state.written.swap(false, Ordering::SeqCst);
        if is_written || state.sync_failed.load(Ordering::SeqCst) {
            return self.sync_tier(tier);
        }
        Ok(())
    }

    /// Makes all completed writes durable, and then the map.
    pub(super) fn sync(&self) -> Result<()> {
        let mut journal = self.journal();
        let dirty = std::mem::take(&mut self.alloc().dirty);
        // A completed write is in the list and within the length, if read in this order.
        let len_bytes = self.len_bytes();
        let blocks = self.blocks_of(len_bytes);
        let (ready, behind): (Vec<u32>, Vec<u32>) =
            dirty.iter().partition(|&&block| block < blocks);
        let outcome = self.sync_with(&mut journal, len_bytes, &ready);
        let mut alloc = self.alloc();
        match outcome {
            Ok(()) => alloc.dirty.extend(behind),
            Err(_) => alloc.dirty.extend(dirty),
        }
        outcome
    }

    fn sync_with(&self, journal: &mut Journal, len_bytes: u64, ready: &[u32]) -> Result<()> {
        (0..self.tiers.len()).try_for_each(|tier| self.sync_if_written(tier))?;
        let record = |&block: &u32| {
            let entry = self.map.get(block);
            let place = entry.place().filter(|_| entry.is_fresh())?;
            Some(Record { block, place })
        };
        let records: Vec<Record> = ready.iter().filter_map(record).collect();
        if records.is_empty() && len_bytes == self.len_synced.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.commit(journal, len_bytes, &records)
    }

    /// Takes over the blocks that another process has added to the map.
    pub(super) fn refresh(&self) -> Result<Refreshed> {
        let mut known = lock(&self.known);
        let map = self.map_device.as_ref();
        let found = match recover_since(map, &self.header, *known, self.len_bytes()) {
            Err(TieredError::Damaged { .. }) | Ok(None) => return Ok(Refreshed::Outdated),
            Err(error) => return Err(error),
            Ok(Some(found)) if found.position == *known => return Ok(Refreshed::Newest),
            Ok(Some(found)) => found,
        };
        for (block, place) in found.map.placed() {
            match self.map.get(block).place() {
                None => self.map.set(block, Entry::of(place)),
                Some(before) if before == place => {}
                Some(_) => return Ok(Refreshed::Outdated),
            }
        }
        self.reach(found.len_bytes);
        *known = found.position;
        Ok(Refreshed::Grown)
    }

    /// Must be called before every change: the first call after the set was opened begins a new
    /// generation.
    pub(super) fn before_change(&self) -> Result<()> {
        if self.is_generation_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        self.begin_generation(&mut self.journal())
    }

    fn begin_generation(&self, journal: &mut Journal) -> Result<()> {
        if self.is_generation_begun.load(Ordering::Acquire) {
            return Ok(());
        }
        // A process may have ended between a write to the map and its sync: the next page of the
        // journal says that those before it are synced.
        self.map_device.sync()?;
        let number = journal.generation.begun.saturating_add(1);
        journal.generation.begun = number;
        self.commit_records(journal, self.len_synced.load(Ordering::SeqCst), &[])?;
        for tier in &self.tiers {
            generation::advance(tier.device.as_ref(), &self.header.id, number, &self.buffer)?;
        }
        journal.generation.confirmed = number;
        self.commit_records(journal, self.len_synced.load(Ordering::SeqCst), &[])?;
        self.is_generation_begun.store(true, Ordering::Release);
        Ok(())
    }

    /// Makes records durable; their entries are no longer fresh.
    pub(super) fn commit(
        &self,
        journal: &mut Journal,
        len_bytes: u64,
        records: &[Record],
    ) -> Result<()> {
        self.begin_generation(journal)?;
        self.commit_records(journal, len_bytes, records)
    }

    fn commit_records(
        &self,
        journal: &mut Journal,
        len_bytes: u64,
        records: &[Record],
    ) -> Result<()> {
        journal.commit(len_bytes, records, &self.map, self.blocks_of(len_bytes), |committed| {
            for record in committed {
                let known = |entry: Entry| entry.place().map(|_| entry.fresh(false));
                let _ = self.map.update(record.block, known);
            }
        })?;
        self.len_synced.store(len_bytes, Ordering::SeqCst);
        Ok(())
    }

    /// Changes the length. A truncation is durable on return.
    pub(super) fn set_len(&self, bytes: u64) -> Result<()> {
        if bytes.div_ceil(self.block_bytes()) > self.blocks_max() {
            let reason = format!("{bytes} bytes are more than the tiers hold");
            let source = std::io::Error::new(std::io::ErrorKind::StorageFull, reason);
            let device = self.map_device.name();
            return Err(
                cenote_device::DeviceError::File { device, action: "resize", source }.into()
            );
        }
        let mut journal = self.journal();
        let before = self.len_bytes();
        if bytes < before {
            self.begin_generation(&mut journal)?;
            self.clear_tail(bytes, before)?;
            self.commit(&mut journal, bytes, &[])?;
            let mut alloc = self.alloc();
            for block in self.blocks_of(bytes)..self.blocks_of(before) {
                let gone =
                    self.map.update(block, |entry| entry.place().map(|_| entry.without_place()));
                if let Some(place) = gone.ok().and_then(Entry::place) {
                    alloc.deferred.push(place);
                }
            }
        }
        self.len_bytes.store(bytes, Ordering::SeqCst);
        Ok(())
    }

    /// Zeroes the rest of the last block, so that a later growth reads zeros.
    fn clear_tail(&self, bytes: u64, before: u64) -> Result<()> {
        let block = bytes / self.block_bytes();
        let within = bytes % self.block_bytes();
        let Some(place) = self.map.get(block as u32).place().filter(|_| within > 0) else {
            return Ok(());
        };
        let end = (before - block * self.block_bytes()).min(self.block_bytes()) as usize;
        let device = self.tiers[usize::from(place.tier)].device.as_ref();
        let offset = self.offset_of(place);
        // The pin cancels a copy under way, which would miss the zeros. No commit is under way.
        if self.map.pin(block as u32) != Pin::At(place) {
            return Err(TieredError::Frozen { file: self.map_device.name() });
        }
        let zeroed = io::read(device, &self.buffer, offset, self.header.block_bytes as usize);
        let zeroed = zeroed.and_then(|mut contents| {
            contents[within as usize..end].fill(0);
            io::write(device, &self.buffer, offset, &contents)
        });
        self.map.unpin(block as u32);
        zeroed?;
        self.sync_tier(usize::from(place.tier))
    }

    /// Number of commits that have ended.
    pub(super) fn commits(&self) -> u64 {
        *lock(&self.commits)
    }

    /// Counts an ended commit and wakes the writes that wait for it.
    pub(super) fn end_commit(&self) {
        *lock(&self.commits) += 1;
        self.commit_ended.notify_all();
    }

    /// Waits until more than `seen` commits have ended; false after a millisecond.
    pub(super) fn wait_for_commit(&self, seen: u64) -> bool {
        let commits = lock(&self.commits);
        // Readers that leave do not notify, which would cost every read: hence the timeout.
        let patience = Duration::from_millis(1);
        let slept = self.commit_ended.wait_timeout_while(commits, patience, |now| *now <= seen);
        !slept.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// Bytes of map, free lists, journal, accesses and buffer.
    pub(super) fn memory_bytes(&self) -> usize {
        let journal = self.journal().memory_bytes();
        self.map.memory_bytes()
            + self.alloc().memory_bytes()
            + journal
            + self.recorded.memory_bytes()
            + self.buffer.memory_bytes()
    }
}

/// The slots of each tier, with those of all blocks marked, and the bytes of each tier's file.
fn take_slots(
    file: &str,
    devices: &[Arc<dyn Device>],
    header: &SetHeader,
    map: &BlockMap,
) -> Result<(Vec<Slots>, Vec<u64>)> {
    let (mut slots, mut file_bytes) = (Vec::new(), Vec::new());
    for (device, tier) in devices.iter().zip(&header.tiers) {
        let bytes = device.len_bytes()?;
        let used = bytes.saturating_sub(header.data_start());
        let used = used.div_ceil(u64::from(header.block_bytes));
        slots.push(Slots::new(tier.slots, u32::try_from(used).unwrap_or(u32::MAX)));
        file_bytes.push(bytes);
    }
    for (block, place) in map.placed() {
        let Place { tier, slot } = place;
        if !slots[usize::from(tier)].mark(slot) {
            let reason =
                format!("block {block} lies in slot {slot} of tier {tier}, as another does");
            return Err(TieredError::Damaged { file: file.to_owned(), reason });
        }
        check_reach(header, place, &file_bytes, devices)?;
    }
    Ok((slots, file_bytes))
}

/// Refuses a file that is not the expected tier.
fn check_member(device: &dyn Device, set: &SetHeader, tier: u8, buffer: &IoBuffer) -> Result<()> {
    let wanted = &set.tiers[usize::from(tier)].name;
    let wrong = |reason: String| Err(TieredError::Member { file: device.name(), reason });
    let (header, role) = match SetHeader::read_with(device, buffer) {
        Ok(found) => found,
        Err(TieredError::Member { reason, .. }) => {
            return wrong(format!("{reason}; it should be tier {wanted}: put back the file"));
        }
        Err(error) => return Err(error),
    };
    let found = match role {
        Role::Map => "the map of the tiers".to_owned(),
        Role::Tier(other) => format!("tier {}", header.tiers[usize::from(other)].name),
    };
    if header.id != set.id {
        return wrong(format!(
            "it is {found} of another graph, or of an earlier import; put back this one's {wanted}"
        ));
    }
    if role != Role::Tier(tier) {
        return wrong(format!(
            "it is {found}, where tier {wanted} is expected: put each in its place"
        ));
    }
    if header != *set {
        return wrong(format!("it and the map name different tiers; put back this one's {wanted}"));
    }
    Ok(())
}

/// Refuses a tier's file that ends before a slot that is taken.
fn check_reach(
    header: &SetHeader,
    place: Place,
    file_bytes: &[u64],
    devices: &[Arc<dyn Device>],
) -> Result<()> {
    let tier = usize::from(place.tier);
    let end = header.data_start() + (u64::from(place.slot) + 1) * u64::from(header.block_bytes);
    if file_bytes[tier] >= end {
        return Ok(());
    }
    let reason = format!(
        "it was cut: it ends at byte {}, its blocks go on to {end}; put back the whole file",
        file_bytes[tier]
    );
    Err(TieredError::Member { file: devices[tier].name(), reason })
}

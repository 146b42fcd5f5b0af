//! Named snapshots: states of a graph that are kept while it changes.
//!
//! A snapshot is an epoch with a name. It costs one page, which holds the superblock of that epoch,
//! and the pages that later epochs free: they stay in the free list, and no commit writes to them
//! until the snapshot is removed.
//!
//! - [`Snapshot`]: what a list of them shows
//! - `Snapshots`: all of a graph, verified, with the pages that they need

use std::ops::Range;
use std::sync::Arc;

use cenote_device::{Buffer, Device};
use cenote_pool::PageId;

use crate::commit::{Commit, Latest, check_sections, read_extents};
use crate::error::{PageError, PageFault, Result, StoreError, at_most, other};
use crate::format::{PageKind, SLOTS};
use crate::graph::Graph;
use crate::header::{self, Identity, PageHeader};
use crate::pages::LookupConfig;
use crate::ranges;
use crate::superblock::{Slot, SnapshotLabel, Superblock};
use crate::table::{Extent, Extents};

/// Name of the page of a snapshot in errors.
const SECTION: &str = "snapshot";

/// A state of a graph that is kept under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// The epoch that it keeps.
    pub epoch: u64,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges, as the user counts them.
    pub edges: u64,
    /// Pages that only this snapshot needs: as many become free when it is removed.
    pub pages_held: u64,
}

/// The state that a snapshot keeps.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotState {
    pub label: SnapshotLabel,
    /// As of its epoch, without log and snapshots.
    pub superblock: Superblock,
    /// Its page table; it has no free list.
    pub extents: Extents,
}

impl SnapshotState {
    /// The state of a commit, whose log must be empty.
    pub fn of(commit: &Commit, label: SnapshotLabel) -> Self {
        let Commit { superblock, extents: Extents { table, table_pages, .. }, .. } = commit;
        let superblock =
            Superblock { log: 0..0, snapshots: 0..0, snapshots_epoch: 0, ..superblock.clone() };
        let (table, table_pages) = (table.clone(), table_pages.clone());
        let extents = Extents { table, table_pages, ..Extents::default() };
        Self { label, superblock, extents }
    }

    pub fn latest(&self) -> Latest {
        let (superblock, extents) = (self.superblock.clone(), self.extents.clone());
        let commit = Commit { superblock, extents, other_slot: None };
        Latest { snapshot: Some(self.label.clone()), ..Latest::without_log(commit) }
    }

    /// What a list shows of it.
    pub fn show(&self, pages_held: u64) -> Snapshot {
        let Self { label, superblock, .. } = self;
        let Superblock { epoch, edges, .. } = *superblock;
        let vertices = superblock.live_vertices();
        let (name, created) = (label.name.clone(), label.created);
        Snapshot { name, epoch, created, vertices, edges, pages_held }
    }

    /// Fills the payload of its page, which is zeroed.
    pub fn encode(&self, page: &mut [u8]) -> PageHeader {
        self.superblock.encode_snapshot(&self.extents, &self.label, page);
        PageHeader::new(PageKind::Snapshot)
    }

    /// The physical pages that it needs, ascending.
    pub fn pages(&self) -> Vec<Range<PageId>> {
        ranges::union(self.runs().map(|run| run.pages))
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        let Extents { table, table_pages, .. } = &self.extents;
        let of_table =
            Run { pages: table_pages.clone(), epoch: self.superblock.epoch, is_mapped: false };
        let mapped = table.iter().map(|extent| Run {
            pages: extent.physical..extent.physical + extent.pages,
            epoch: extent.epoch,
            is_mapped: true,
        });
        mapped.chain([of_table]).filter(|run| !run.pages.is_empty())
    }

    /// Reads and verifies the page of a snapshot, and the pages of its page table.
    fn read(device: &dyn Device, file: &str, newest: &Superblock, page: PageId) -> Result<Self> {
        let page_bytes = newest.page_bytes as usize;
        let offset = page * page_bytes as u64;
        let buffer = Buffer::new(page_bytes)?;
        let buffer = cenote_device::read_exact(device, offset, page_bytes, buffer)?;
        let bad = |fault| page_error(file, newest, page, fault);
        let identity =
            Identity { salt: newest.salt, physical: page, epoch: newest.snapshots_epoch };
        let header = header::verify(&buffer, &identity, PageKind::Snapshot).map_err(bad)?;
        let plain = PageHeader {
            epoch: header.epoch,
            checksum: header.checksum,
            ..PageHeader::new(PageKind::Snapshot)
        };
        if header != plain {
            return Err(bad(other("fields of its header that should be zero are not")).into());
        }
        let (label, slot) = Slot::decode_snapshot(&buffer, newest).map_err(bad)?;
        let Slot { superblock, mut extents, counts } = slot;
        let table_pages = (extents.table_pages.clone(), counts[0]);
        extents.table.extend(read_extents(
            device,
            file,
            &superblock,
            PageKind::PageTable,
            table_pages,
        )?);
        let snapshot = Self { label, superblock, extents };
        snapshot.check().map_err(bad)?;
        Ok(snapshot)
    }

    /// Checks its page table by itself.
    fn check(&self) -> Result<(), PageFault> {
        let Superblock { epoch, pages_total, logical_pages, .. } = self.superblock;
        self.extents.check_order(epoch, logical_pages)?;
        for Extent { physical, pages, .. } in &self.extents.table {
            at_most("pages of an extent", *pages, pages_total)?;
            at_most("first page of an extent", *physical, pages_total - pages)?;
        }
        let mut runs: Vec<_> = self.runs().map(|run| run.pages).collect();
        runs.push(0..SLOTS);
        runs.sort_unstable_by_key(|pages| pages.start);
        if let Some(pair) = runs.windows(2).find(|pair| pair[0].end > pair[1].start) {
            return Err(other(format!("by its page table page {} is used twice", pair[1].start)));
        }
        check_sections(&self.superblock, &self.extents.table)
    }
}

/// Physical pages of one epoch, in a section or of a page table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    pages: Range<PageId>,
    epoch: u64,
    is_mapped: bool,
}

/// The snapshots of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshots {
    /// The oldest first.
    pub all: Vec<SnapshotState>,
    /// The physical pages that one of them needs, ascending.
    pub pages: Vec<Range<PageId>>,
}

impl Snapshots {
    /// Snapshots that were verified.
    pub fn new(all: Vec<SnapshotState>) -> Self {
        let pages = all.iter().flat_map(SnapshotState::runs).map(|run| run.pages);
        let pages = ranges::union(pages);
        Self { all, pages }
    }

    /// Reads and verifies the snapshots of a commit, with its page table and free list.
    pub fn read(
        device: &dyn Device,
        file: &str,
        newest: &Superblock,
        table: &[Extent],
        free: &[Extent],
    ) -> Result<Self> {
        let all =
            newest.snapshots.clone().map(|page| SnapshotState::read(device, file, newest, page));
        let all = all.collect::<Result<Vec<_>>>()?;
        check_labels(file, newest, &all)?;
        check_overlaps(file, newest, &all)?;
        let uses = PageUses::new(table, free);
        for (page, snapshot) in newest.snapshots.clone().zip(&all) {
            uses.check(snapshot).map_err(|fault| page_error(file, newest, page, fault))?;
        }
        Ok(Self::new(all))
    }

    /// The snapshots of a commit.
    pub fn of(device: &dyn Device, file: &str, commit: &Commit) -> Result<Self> {
        let Commit { superblock, extents, .. } = commit;
        Self::read(device, file, superblock, &extents.table, &extents.free)
    }

    pub fn memory_bytes(&self) -> usize {
        let tables = self.all.iter().map(|snapshot| snapshot.extents.table.capacity());
        tables.sum::<usize>() * size_of::<Extent>()
            + self.pages.capacity() * size_of::<Range<PageId>>()
    }

    /// The snapshot of a name.
    pub fn find(&self, file: &str, name: &str) -> Result<&SnapshotState> {
        let found = self.all.iter().find(|snapshot| snapshot.label.name == name);
        found.ok_or_else(|| {
            let names = self.all.iter().map(|snapshot| format!("`{}`", snapshot.label.name));
            let known = match names.collect::<Vec<_>>().join(", ") {
                known if known.is_empty() => "the graph has none".to_owned(),
                known => format!("the graph has {known}"),
            };
            StoreError::NoSnapshot { file: file.into(), name: name.into(), known }
        })
    }

    /// What a list of them shows; `free` is the free list of the commit, ascending.
    pub fn list(&self, free: &[Extent]) -> Vec<Snapshot> {
        let free = ranges::union(free.iter().map(|run| run.physical..run.physical + run.pages));
        let mut ends = Vec::new();
        for (at, snapshot) in self.all.iter().enumerate() {
            for pages in ranges::intersection(&snapshot.pages(), &free) {
                ends.extend([(pages.start, 1, at as i64), (pages.end, -1, at as i64)]);
            }
        }
        ends.sort_unstable();
        let mut held = vec![0; self.all.len()];
        // How many snapshots need the pages from here on, and the sum of their numbers: of one, its
        // number.
        let (mut from, mut needed_by, mut numbers) = (0, 0, 0);
        for (page, step, at) in ends {
            if needed_by == 1 {
                held[numbers as usize] += page - from;
            }
            (from, needed_by, numbers) = (page, needed_by + step, numbers + step * at);
        }
        self.all.iter().zip(held).map(|(snapshot, held)| snapshot.show(held)).collect()
    }
}

/// Checks that names are distinct and epochs ascend.
fn check_labels(file: &str, newest: &Superblock, all: &[SnapshotState]) -> Result<()> {
    for (at, snapshot) in all.iter().enumerate() {
        let page = newest.snapshots.start + at as u64;
        let SnapshotState { label, superblock, .. } = snapshot;
        if all[..at].iter().any(|other| other.label.name == label.name) {
            let fault = other(format!("there are two snapshots `{}`", label.name));
            return Err(page_error(file, newest, page, fault).into());
        }
        if at > 0 && all[at - 1].superblock.epoch >= superblock.epoch {
            let fault = other(format!("the epochs of snapshots do not ascend at `{}`", label.name));
            return Err(page_error(file, newest, page, fault).into());
        }
    }
    Ok(())
}

/// Checks that a page of two snapshots is the same page in both.
fn check_overlaps(file: &str, newest: &Superblock, all: &[SnapshotState]) -> Result<()> {
    let mut runs: Vec<(PageId, Run)> = Vec::new();
    for (page, snapshot) in newest.snapshots.clone().zip(all) {
        runs.extend(snapshot.runs().map(|run| (page, run)));
    }
    runs.sort_unstable_by_key(|(_, run)| run.pages.start);
    // The run that reaches furthest; any run before that overlaps the next one is as it.
    let mut furthest: Option<&Run> = None;
    for (page, run) in &runs {
        let Some(before) = furthest.filter(|before| before.pages.end > run.pages.start) else {
            furthest = Some(run);
            continue;
        };
        if (before.epoch, before.is_mapped) != (run.epoch, run.is_mapped) {
            let first = run.pages.start;
            let fault = other(format!("another snapshot has another page in place of {first}"));
            return Err(page_error(file, newest, *page, fault).into());
        }
        if run.pages.end > before.pages.end {
            furthest = Some(run);
        }
    }
    Ok(())
}

/// What the newest commit has in each physical page.
struct PageUses(Vec<(Range<PageId>, PageUse)>);

#[derive(Clone, Copy)]
enum PageUse {
    /// A page of a section, by the epoch that wrote it.
    Used(u64),
    /// A free page, by the epoch that freed it.
    Free(u64),
}

impl PageUses {
    fn new(table: &[Extent], free: &[Extent]) -> Self {
        let range = |extent: &Extent| extent.physical..extent.physical + extent.pages;
        let used = table.iter().map(|extent| (range(extent), PageUse::Used(extent.epoch)));
        let free = free.iter().map(|extent| (range(extent), PageUse::Free(extent.epoch)));
        let mut places: Vec<_> = used.chain(free).collect();
        places.sort_unstable_by_key(|(pages, _)| pages.start);
        Self(places)
    }

    /// Checks that each page of a snapshot is still the same one, or was freed after it.
    fn check(&self, snapshot: &SnapshotState) -> Result<(), PageFault> {
        let snapshot_epoch = snapshot.superblock.epoch;
        for Run { pages, epoch, is_mapped } in snapshot.runs() {
            let mut next = pages.start;
            let mut at = self.0.partition_point(|(place, _)| place.end <= next);
            while next < pages.end {
                let found = self.0.get(at).filter(|(place, _)| place.start <= next);
                let is_kept = match found {
                    Some((_, PageUse::Used(used))) => is_mapped && *used == epoch,
                    Some((_, PageUse::Free(freed))) => *freed > snapshot_epoch,
                    None => false,
                };
                if !is_kept {
                    let fault = format!("its page {next} was used again by a later epoch");
                    return Err(other(fault));
                }
                next = found.map_or(next, |(place, _)| place.end);
                at += 1;
            }
        }
        Ok(())
    }
}

fn page_error(file: &str, newest: &Superblock, page: PageId, fault: PageFault) -> PageError {
    let (file, page_bytes) = (file.into(), newest.page_bytes.into());
    PageError { file, page, physical: page, page_bytes, section: SECTION, fault }
}

impl Graph {
    /// Opens a graph as it was when a snapshot was made; see [`Graph::open_with`].
    ///
    /// # Errors
    /// As [`Graph::open`], and [`StoreError::NoSnapshot`].
    pub fn open_at(
        device: Arc<dyn Device>,
        name: &str,
        plan: impl FnOnce(&Superblock) -> LookupConfig,
    ) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let commit = Commit::read(device.as_ref(), &file)?;
        let snapshots = Snapshots::of(device.as_ref(), &file, &commit)?;
        let latest = snapshots.find(&file, name)?.latest();
        Self::of(device, file, latest, plan, None)
    }

    /// The snapshots of the graph, the oldest first. Reads a page and the page table of each. A
    /// graph that was opened at a snapshot has none.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        Ok(self.read_snapshots()?.list(&self.pages.layout.free))
    }

    /// Pages of the file that hold nothing of this epoch but belong to snapshots.
    pub fn snapshot_pages(&self) -> Result<u64> {
        let free = self.pages.layout.free.iter();
        let free = ranges::union(free.map(|run| run.physical..run.physical + run.pages));
        Ok(ranges::pages(&ranges::intersection(&self.read_snapshots()?.pages, &free)))
    }

    /// The name of the snapshot that the graph was opened at.
    pub fn snapshot_name(&self) -> Option<&str> {
        self.pages.layout.snapshot.as_ref().map(|label| label.name.as_str())
    }

    pub(crate) fn read_snapshots(&self) -> Result<Snapshots> {
        let Self { pages } = self;
        let layout = &pages.layout;
        let (device, newest) = (pages.device.as_ref(), &layout.committed);
        Snapshots::read(device, &layout.file, newest, layout.table.extents(), &layout.free)
    }
}

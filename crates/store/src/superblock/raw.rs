//! The encoding of the superblock in its page.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use cenote_pool::PageId;

use super::features::{
    self, DELTA_RUNS, FEATURES_KNOWN, FEATURES_OF_SLOT, LOG, NARROW_WEIGHTS, SNAPSHOTS,
};
use super::label::{NAME_BYTES_MAX, SNAPSHOTS_MAX, SnapshotLabel, name_fault};
use super::{IdKind, SECTION, Section, SectionKind, Superblock};
use crate::error::{PageError, PageFault, Result, StoreError, at_most, equal, other, zero_behind};
use crate::format::{self, Codec, FORMAT_VERSION, HEADER_BYTES, MAGIC, PageKind, VERTICES_MAX};
use crate::header::{self, Identity, PageHeader};
use crate::order::Order;
use crate::table::{self, Extent, Extents};
use crate::values::ValueType;
use crate::weights::{WeightFormat, WeightSummary, WeightType};

/// Entries of the section table.
pub const SECTIONS_MAX: usize = 32;
/// Bytes of a slot before its extents.
const SUPERBLOCK_BYTES: usize = size_of::<Raw>();

const DIRECTED: u64 = 1 << 0;
const IN_EDGES: u64 = 1 << 1;
const WEIGHTED: u64 = 1 << 2;
const INTEGER_IDS: u64 = 1 << 3;
const STRING_IDS: u64 = 1 << 4;
const DUPLICATES_KEPT: u64 = 1 << 5;
const SELF_LOOPS_KEPT: u64 = 1 << 6;
const FLAGS_KNOWN: u64 =
    DIRECTED | IN_EDGES | WEIGHTED | INTEGER_IDS | STRING_IDS | DUPLICATES_KEPT | SELF_LOOPS_KEPT;

/// The bits of the type of weights with its code; the bytes of a weight are behind them.
const WEIGHT_CODE: u64 = 0xff;
const WEIGHT_BYTES_SHIFT: u32 = 8;

#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct RawSection {
    kind: u32,
    codec: u32,
    first_page: u64,
    pages: u64,
    items: u64,
    epoch: u64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Raw {
    header: PageHeader,
    magic: [u8; 8],
    format_version: u32,
    page_bytes: u32,
    features_required: u64,
    features_optional: u64,
    flags: u64,
    vertices: u64,
    edges: u64,
    stored_out: u64,
    stored_in: u64,
    duplicates: u64,
    self_loops: u64,
    degree_max: u64,
    degree_max_vertex: u64,
    salt: u64,
    epoch: u64,
    pages_total: u64,
    weight_type: u64,
    weight_min: u64,
    weight_max: u64,
    weight_mean: u64,
    logical_pages: u64,
    table_extents: u64,
    table_page: u64,
    free_extents: u64,
    order: u64,
    order_seed: u64,
    free_page: u64,
    log_page: u64,
    log_pages: u64,
    snapshot_page: u64,
    snapshots: u64,
    snapshots_epoch: u64,
    /// Of the page of a snapshot, as are the next two.
    created: u64,
    name_bytes: u64,
    name: [u8; NAME_BYTES_MAX],
    /// Of a graph with delta runs.
    listed_vertices: u64,
    reserved: [u64; 14],
    value_type: u64,
    sections: [RawSection; SECTIONS_MAX],
}

/// The slot of an epoch: page 0 for odd epochs, page 1 for even ones.
pub(super) fn slot_of(epoch: u64) -> PageId {
    (epoch % format::SLOTS + 1) % format::SLOTS
}

/// A decoded slot, without extents that lie in pages of their own.
pub(crate) struct Slot {
    pub superblock: Superblock,
    /// The extents of page table and free list that lie in the slot.
    pub extents: Extents,
    /// Number of extents of the page table and of the free list.
    pub counts: [u64; 2],
}

fn extents_in_slot(page_bytes: usize) -> usize {
    (page_bytes - SUPERBLOCK_BYTES) / size_of::<Extent>()
}

impl Superblock {
    /// Whether page table and free list need pages of their own. The table has precedence in the
    /// slot.
    pub(crate) fn extents_spill(page_bytes: usize, table: usize, free: usize) -> [bool; 2] {
        let room = extents_in_slot(page_bytes);
        let table_spills = table > room;
        let taken = if table_spills { 0 } else { table };
        [table_spills, free > room - taken]
    }

    /// Encodes superblock and extents into the zeroed page of its slot.
    pub(crate) fn encode(&self, extents: &Extents, page: &mut [u8]) {
        self.encode_fields(extents, None, page);
        let header = PageHeader { epoch: self.epoch, ..PageHeader::new(PageKind::Superblock) };
        header.seal(page, 0, self.slot());
    }

    /// Encodes superblock and page table into the zeroed page of a snapshot, which is not sealed
    /// yet.
    pub(crate) fn encode_snapshot(
        &self,
        extents: &Extents,
        label: &SnapshotLabel,
        page: &mut [u8],
    ) {
        let is_plain = self.log.is_empty() && self.snapshots.is_empty() && extents.free.is_empty();
        assert!(is_plain, "a snapshot names its page table and nothing else");
        self.encode_fields(extents, Some(label), page);
    }

    fn encode_fields(&self, extents: &Extents, label: Option<&SnapshotLabel>, page: &mut [u8]) {
        assert_eq!(page.len(), self.page_bytes as usize, "the superblock fills one page");
        assert!(self.sections.len() <= SECTIONS_MAX, "the section table has {SECTIONS_MAX} slots");
        let mut raw = Raw {
            magic: MAGIC,
            format_version: FORMAT_VERSION,
            page_bytes: self.page_bytes,
            features_required: self.features_required(),
            features_optional: self.features_optional,
            flags: self.flags(),
            vertices: self.vertices,
            edges: self.edges,
            stored_out: self.stored_out,
            stored_in: self.stored_in,
            duplicates: self.duplicates,
            self_loops: self.self_loops,
            degree_max: self.degree_max,
            degree_max_vertex: u64::from(self.degree_max_vertex),
            salt: self.salt,
            epoch: self.epoch,
            pages_total: self.pages_total,
            logical_pages: self.logical_pages,
            table_extents: extents.table.len() as u64,
            table_page: extents.table_pages.start,
            free_extents: extents.free.len() as u64,
            free_page: extents.free_pages.start,
            order: self.order.code().0,
            order_seed: self.order.code().1,
            log_page: self.log.start,
            log_pages: self.log.end - self.log.start,
            snapshot_page: self.snapshots.start,
            snapshots: self.snapshots.end - self.snapshots.start,
            snapshots_epoch: self.snapshots_epoch,
            listed_vertices: if self.has_delta_runs() { self.listed_vertices } else { 0 },
            value_type: self.value_type.map_or(0, |kind| kind as u64),
            ..Raw::zeroed()
        };
        if let Some(SnapshotLabel { name, created }) = label {
            raw.created = *created;
            raw.name_bytes = name.len() as u64;
            raw.name[..name.len()].copy_from_slice(name.as_bytes());
        }
        if let Some(weights) = &self.weights {
            raw.put_weights(weights);
        }
        for (slot, section) in raw.sections.iter_mut().zip(&self.sections) {
            let Section { kind, codec, first_page, pages, items, epoch } = *section;
            let (kind, codec) = (kind as u32, codec as u32);
            *slot = RawSection { kind, codec, first_page, pages, items, epoch };
        }
        page[..SUPERBLOCK_BYTES].copy_from_slice(bytemuck::bytes_of(&raw));
        let of_table = extents.table.iter().filter(|_| extents.table_pages.is_empty());
        let of_free = extents.free.iter().filter(|_| extents.free_pages.is_empty());
        let places = page[SUPERBLOCK_BYTES..].chunks_exact_mut(size_of::<Extent>());
        for (place, extent) in places.zip(of_table.chain(of_free)) {
            place.copy_from_slice(bytemuck::bytes_of(extent));
        }
    }

    fn flags(&self) -> u64 {
        let ids = match self.ids {
            IdKind::Dense => 0,
            IdKind::Integers => INTEGER_IDS,
            IdKind::Strings => STRING_IDS,
        };
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        ids | flag(self.directed, DIRECTED)
            | flag(self.in_edges, IN_EDGES)
            | flag(self.weights.is_some(), WEIGHTED)
            | flag(self.duplicates_kept, DUPLICATES_KEPT)
            | flag(self.self_loops_kept, SELF_LOOPS_KEPT)
    }
}

/// Page size of the graph whose file starts with `start`: the first 4 KiB, or all of a shorter
/// file. The error says what the file is if it is not a graph of this version.
pub(crate) fn page_bytes_of(file: &str, start: &[u8], file_bytes: u64) -> Result<usize> {
    let field = |at: usize| bytemuck::pod_read_unaligned::<u32>(&start[at..at + 4]);
    if start.is_empty() {
        return Err(StoreError::Empty { file: file.into() });
    }
    let magic = &start[HEADER_BYTES.min(start.len())..start.len().min(HEADER_BYTES + 8)];
    if magic != MAGIC {
        if start.len() >= format::PAGE_BYTES_MIN && start.iter().all(|byte| *byte == 0) {
            return Err(StoreError::Unfinished { file: file.into() });
        }
        return Err(StoreError::NotCenote { file: file.into(), found: magic.to_vec() });
    }
    if start.len() < format::PAGE_BYTES_MIN {
        let expected = format::PAGE_BYTES_MIN as u64;
        return Err(truncated(file, file_bytes, expected, 0));
    }
    let version = field(56);
    if version < FORMAT_VERSION {
        let (found, supported) = (version, FORMAT_VERSION);
        return Err(StoreError::OlderVersion { file: file.into(), found, supported });
    }
    let page_bytes = field(60);
    if !format::is_page_size(u64::from(page_bytes)) {
        let reason = format!("a page size of {page_bytes} bytes is not possible");
        return Err(slot_fault(file, 0, format::PAGE_BYTES_MIN, other(reason)).into());
    }
    if file_bytes < u64::from(page_bytes) {
        return Err(truncated(file, file_bytes, u64::from(page_bytes), 0));
    }
    Ok(page_bytes as usize)
}

impl Slot {
    /// Epoch of a slot with a right checksum that belongs where it lies.
    pub fn epoch(page: &[u8], slot: PageId) -> Result<u64, PageFault> {
        let epoch = PageHeader::read(page).epoch;
        let identity = Identity { salt: 0, physical: slot, epoch };
        header::verify(page, &identity, PageKind::Superblock)?;
        if epoch == 0 || slot_of(epoch) != slot {
            return Err(other(format!("epoch {epoch} does not belong into this slot")));
        }
        Ok(epoch)
    }

    /// Decodes a slot of a device of `device_bytes`. Bounds every number by the size of the device
    /// before using it.
    pub fn decode(file: &str, page: &[u8], slot: PageId, device_bytes: u64) -> Result<Self> {
        let bad = |fault: PageFault| slot_fault(file, slot, page.len(), fault);
        let epoch = Self::epoch(page, slot).map_err(bad)?;
        let raw: Raw = bytemuck::pod_read_unaligned(&page[..SUPERBLOCK_BYTES]);
        if raw.format_version > FORMAT_VERSION {
            let (found, supported) = (raw.format_version, FORMAT_VERSION);
            return Err(StoreError::NewerVersion { file: file.into(), found, supported });
        }
        if raw.features_required & !FEATURES_KNOWN != 0 {
            let bits = raw.features_required & !FEATURES_KNOWN;
            return Err(StoreError::UnknownFeature { file: file.into(), bits });
        }
        equal("epoch", epoch, raw.epoch).map_err(bad)?;
        if !raw.is_nameless() {
            return Err(bad(other("bytes that should be zero are not")).into());
        }
        let superblock = raw.decode().map_err(bad)?;
        if superblock.page_bytes as usize != page.len() {
            return Err(bad(other("its page size differs from that of its page")).into());
        }
        let bytes_of = |pages: u64| pages.saturating_mul(page.len() as u64);
        let expected = bytes_of(superblock.pages_total);
        // A log is whole up to its last flush, wherever it is cut off.
        let is_last = !superblock.log.is_empty() && superblock.log.end == superblock.pages_total;
        let least = if is_last { bytes_of(superblock.log.start) } else { expected };
        if device_bytes < least {
            let first_missing = device_bytes / page.len() as u64;
            return Err(truncated(file, device_bytes, expected, first_missing));
        }
        superblock.check().map_err(bad)?;
        let extents = raw.decode_extents(page, superblock.pages_total).map_err(bad)?;
        Ok(Self { superblock, extents, counts: [raw.table_extents, raw.free_extents] })
    }

    /// Decodes the page of a snapshot, whose header was verified, of a graph whose newest
    /// superblock is `newest`.
    pub fn decode_snapshot(
        page: &[u8],
        newest: &Superblock,
    ) -> Result<(SnapshotLabel, Self), PageFault> {
        let raw: Raw = bytemuck::pod_read_unaligned(&page[..SUPERBLOCK_BYTES]);
        let is_ours = (raw.magic, raw.format_version, raw.page_bytes, raw.salt)
            == (MAGIC, FORMAT_VERSION, newest.page_bytes, newest.salt);
        if !is_ours {
            return Err(other("it is no superblock of this graph"));
        }
        if raw.features_required & FEATURES_OF_SLOT != 0
            || raw.free_extents != 0
            || raw.free_page != 0
        {
            return Err(other("a snapshot has no log, free pages, snapshots or delta runs"));
        }
        let unknown = raw.features_required & !FEATURES_KNOWN;
        if unknown != 0 {
            return Err(other(format!("it has unknown features, bits {unknown:#x}")));
        }
        at_most("epoch of a snapshot", raw.epoch, newest.snapshots_epoch - 1)?;
        at_most("epoch 0 of a snapshot", u64::from(raw.epoch == 0), 0)?;
        at_most("pages of a snapshot", raw.pages_total, newest.pages_total)?;
        at_most("logical pages of a snapshot", raw.logical_pages, newest.logical_pages)?;
        let superblock = raw.decode()?;
        superblock.check()?;
        let extents = raw.decode_extents(page, superblock.pages_total)?;
        let label = SnapshotLabel { name: raw.decode_name()?, created: raw.created };
        Ok((label, Self { superblock, extents, counts: [raw.table_extents, 0] }))
    }
}

impl Raw {
    fn decode_name(&self) -> Result<String, PageFault> {
        at_most("bytes of a name", self.name_bytes, NAME_BYTES_MAX as u64)?;
        let (name, rest) = self.name.split_at(self.name_bytes as usize);
        zero_behind("character of a name", rest)?;
        let name = std::str::from_utf8(name).map_err(|_| other("its name is not UTF-8"))?;
        match name_fault(name) {
            Some(fault) => Err(other(format!("its name {name:?} {fault}"))),
            None => Ok(name.to_owned()),
        }
    }

    /// Whether the fields of a snapshot's name are zero, as in a slot.
    fn is_nameless(&self) -> bool {
        (self.created, self.name_bytes, self.name) == (0, 0, [0; NAME_BYTES_MAX])
    }

    /// Decodes each field; relations between fields are checked afterwards.
    fn decode(&self) -> Result<Superblock, PageFault> {
        if self.flags & !FLAGS_KNOWN != 0 {
            return Err(other(format!("unknown flags {:#x}", self.flags & !FLAGS_KNOWN)));
        }
        let flag = |bit: u64| self.flags & bit != 0;
        let ids = match (flag(INTEGER_IDS), flag(STRING_IDS)) {
            (false, false) => IdKind::Dense,
            (true, false) => IdKind::Integers,
            (false, true) => IdKind::Strings,
            (true, true) => return Err(other("ids cannot be integers and strings")),
        };
        if self.format_version < FORMAT_VERSION {
            return Err(other("it is of an older version than its slot"));
        }
        let order = Order::of_code((self.order, self.order_seed))
            .ok_or_else(|| other(format!("unknown order {}", self.order)))?;
        at_most("vertex of largest degree", self.degree_max_vertex, VERTICES_MAX)?;
        let has_log = self.features_required & LOG != 0;
        let log = [self.log_page, self.log_pages];
        if log.iter().any(|number| (*number != 0) != has_log) {
            return Err(other("its feature of a log and the place of its log disagree"));
        }
        features::check_weights(self.features_required, flag(WEIGHTED))?;
        let snapshots = [self.snapshot_page, self.snapshots, self.snapshots_epoch];
        let has_snapshots = self.features_required & SNAPSHOTS != 0;
        if snapshots.iter().any(|number| (*number != 0) != has_snapshots) {
            return Err(other("its feature of snapshots and the place of them disagree"));
        }
        let has_runs = self.features_required & DELTA_RUNS != 0;
        if self.reserved != [0; 14] || !has_runs && self.listed_vertices != 0 {
            return Err(other("bytes that should be zero are not"));
        }
        let sections = self.decode_sections()?;
        features::check(self.features_required, &sections)?;
        Ok(Superblock {
            format_version: self.format_version,
            page_bytes: self.page_bytes,
            features_optional: self.features_optional,
            directed: flag(DIRECTED),
            in_edges: flag(IN_EDGES),
            ids,
            order,
            duplicates_kept: flag(DUPLICATES_KEPT),
            self_loops_kept: flag(SELF_LOOPS_KEPT),
            value_type: self.decode_value_type()?,
            weights: self.decode_weights()?,
            vertices: self.vertices,
            edges: self.edges,
            stored_out: self.stored_out,
            stored_in: self.stored_in,
            duplicates: self.duplicates,
            self_loops: self.self_loops,
            degree_max: self.degree_max,
            degree_max_vertex: self.degree_max_vertex as u32,
            salt: self.salt,
            epoch: self.epoch,
            pages_total: self.pages_total,
            logical_pages: self.logical_pages,
            log: self.decode_log()?,
            snapshots: self.decode_snapshots()?,
            snapshots_epoch: self.snapshots_epoch,
            logged_vertices: 0,
            listed_vertices: if has_runs { self.listed_vertices } else { self.vertices },
            sections,
        })
    }

    fn decode_value_type(&self) -> Result<Option<ValueType>, PageFault> {
        match self.value_type {
            0 => Ok(None),
            code => {
                ValueType::of_code(code).map(Some).ok_or_else(|| other("unknown type of values"))
            }
        }
    }

    fn decode_log(&self) -> Result<Range<PageId>, PageFault> {
        at_most("pages of the log", self.log_pages, self.pages_total)?;
        at_most("first page of the log", self.log_page, self.pages_total - self.log_pages)?;
        Ok(self.log_page..self.log_page + self.log_pages)
    }

    fn decode_snapshots(&self) -> Result<Range<PageId>, PageFault> {
        at_most("snapshots", self.snapshots, SNAPSHOTS_MAX as u64)?;
        at_most("snapshots", self.snapshots, self.pages_total)?;
        at_most("page of snapshots", self.snapshot_page, self.pages_total - self.snapshots)?;
        at_most("epoch of the pages of snapshots", self.snapshots_epoch, self.epoch)?;
        Ok(self.snapshot_page..self.snapshot_page + self.snapshots)
    }

    fn put_weights(&mut self, weights: &WeightSummary) {
        let (kind, format) = (weights.kind(), weights.format());
        let raw = |ordered| if weights.any { kind.raw(ordered) } else { 0 };
        let bytes = if format.is_narrow() { format.bytes() as u64 } else { 0 };
        self.weight_type = kind as u64 | bytes << WEIGHT_BYTES_SHIFT;
        self.weight_min = raw(weights.min_ordered);
        self.weight_max = raw(weights.max_ordered);
        self.weight_mean = weights.mean_bits;
    }

    /// Decodes the weight fields, which must agree with the flag.
    fn decode_weights(&self) -> Result<Option<WeightSummary>, PageFault> {
        let (code, bytes) =
            (self.weight_type & WEIGHT_CODE, self.weight_type >> WEIGHT_BYTES_SHIFT);
        let kind = WeightType::of_code(code);
        let weighted = self.flags & WEIGHTED != 0;
        if weighted != kind.is_some() {
            return Err(other("its flags and its type of weights contradict each other"));
        }
        let is_narrow = self.features_required & NARROW_WEIGHTS != 0;
        let Some(kind) = kind else {
            let fields = [self.weight_type, self.weight_min, self.weight_max, self.weight_mean];
            return if fields == [0; 4] && !is_narrow {
                Ok(None)
            } else {
                Err(other("bytes that should be zero are not"))
            };
        };
        let format = match bytes {
            0 => Some(WeightFormat::full(kind)),
            _ => WeightFormat::new(kind, bytes).filter(|format| format.is_narrow()),
        };
        let Some(format) = format.filter(|format| format.is_narrow() == is_narrow) else {
            return Err(other(format!("{bytes} bytes for a weight of type {}", kind.name())));
        };
        let any = self.stored_out > 0;
        let ordered = |raw| if any { kind.ordered(raw) } else { 0 };
        let summary = WeightSummary {
            format,
            min_ordered: ordered(self.weight_min),
            max_ordered: ordered(self.weight_max),
            mean_bits: self.weight_mean,
            any,
        };
        let ends = [summary.min(), summary.max()].into_iter().flatten();
        let finite =
            ends.fold(summary.mean().is_finite(), |all, end| all & end.to_f64().is_finite());
        if !finite || summary.min_ordered > summary.max_ordered {
            return Err(other("its smallest, largest or mean weight is none"));
        }
        Ok(Some(summary))
    }

    /// Decodes the extents in the slot, and the places of those in pages of their own.
    fn decode_extents(&self, page: &[u8], pages_total: u64) -> Result<Extents, PageFault> {
        let per_page = table::per_page(page.len()) as u64;
        let lists = [(self.table_page, self.table_extents), (self.free_page, self.free_extents)];
        let mut own = lists.map(|_| 0..0);
        for (pages, (first, count)) in own.iter_mut().zip(lists) {
            at_most("extents", count, pages_total)?;
            if first > 0 && count == 0 {
                return Err(other("it names pages for a list without extents"));
            }
            if first > 0 {
                *pages = first..first.saturating_add(count.div_ceil(per_page));
                at_most("end of a list of extents", pages.end, pages_total)?;
            }
        }
        let [table_pages, free_pages] = own;
        let in_slot = |pages: &Range<u64>, count| if pages.is_empty() { count } else { 0 };
        let table = in_slot(&table_pages, self.table_extents);
        let free = in_slot(&free_pages, self.free_extents);
        at_most("extents in the slot", table + free, extents_in_slot(page.len()) as u64)?;
        let mut all = page[SUPERBLOCK_BYTES..].chunks_exact(size_of::<Extent>());
        let mut take = |count: u64| {
            let taken = all.by_ref().take(count as usize);
            taken.map(bytemuck::pod_read_unaligned).collect::<Vec<Extent>>()
        };
        let (table, free) = (take(table), take(free));
        if all.any(|extent| extent.iter().any(|byte| *byte != 0)) {
            return Err(other("bytes that should be zero are not"));
        }
        Ok(Extents { table, free, table_pages, free_pages })
    }

    /// Decodes the section table, which is filled from the start.
    fn decode_sections(&self) -> Result<Vec<Section>, PageFault> {
        let used = self.sections.iter().take_while(|slot| slot.kind != 0).count();
        if self.sections[used..]
            .iter()
            .any(|slot| bytemuck::bytes_of(slot) != [0; size_of::<RawSection>()])
        {
            return Err(other("an unused slot of the section table is not zero"));
        }
        self.sections[..used].iter().map(RawSection::decode).collect()
    }
}

impl RawSection {
    fn decode(&self) -> Result<Section, PageFault> {
        let kind = SectionKind::ALL.into_iter().find(|kind| *kind as u32 == self.kind);
        let kind = kind.ok_or_else(|| other(format!("unknown section kind {}", self.kind)))?;
        let may_be_packed = kind.page_kind() == PageKind::Adjacency;
        let codec = Codec::ALL.into_iter().find(|codec| *codec as u32 == self.codec);
        let codec = codec.filter(|codec| *codec == Codec::Raw || may_be_packed);
        let codec = codec
            .ok_or_else(|| other(format!("unknown codec {} of {}", self.codec, kind.name())))?;
        let RawSection { first_page, pages, items, epoch, .. } = *self;
        Ok(Section { kind, codec, first_page, pages, items, epoch })
    }
}

pub(crate) fn slot_fault(
    file: &str,
    slot: PageId,
    page_bytes: usize,
    fault: PageFault,
) -> PageError {
    let (file, page_bytes) = (file.into(), page_bytes as u64);
    PageError { file, page: slot, physical: slot, page_bytes, section: SECTION, fault }
}

fn truncated(file: &str, found: u64, expected: u64, page: u64) -> StoreError {
    StoreError::Truncated { file: file.into(), found, expected, page }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblock_layout_is_as_documented() {
        assert_eq!(SUPERBLOCK_BYTES, 1792);
        assert_eq!(std::mem::offset_of!(Raw, magic), 48);
        assert_eq!(std::mem::offset_of!(Raw, format_version), 56);
        assert_eq!(std::mem::offset_of!(Raw, page_bytes), 60);
        assert_eq!(std::mem::offset_of!(Raw, flags), 80);
        assert_eq!(std::mem::offset_of!(Raw, pages_total), 168);
        assert_eq!(std::mem::offset_of!(Raw, logical_pages), 208);
        assert_eq!(std::mem::offset_of!(Raw, order), 240);
        assert_eq!(std::mem::offset_of!(Raw, free_page), 256);
        assert_eq!(std::mem::offset_of!(Raw, log_page), 264);
        assert_eq!(std::mem::offset_of!(Raw, snapshot_page), 280);
        assert_eq!(std::mem::offset_of!(Raw, created), 304);
        assert_eq!(std::mem::offset_of!(Raw, name), 320);
        assert_eq!(std::mem::offset_of!(Raw, value_type), 504);
        assert_eq!(std::mem::offset_of!(Raw, sections), 512);
        assert_eq!(extents_in_slot(4096), 72);
    }
}

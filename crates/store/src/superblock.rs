//! The first page: what the graph is and where everything lies.

use bytemuck::{Pod, Zeroable};

use crate::error::{PageError, PageFault, Result, StoreError};
use crate::format::{
    self, Codec, FEATURE_PACKED, FORMAT_VERSION, HEADER_BYTES, MAGIC, PageHeader, PageKind,
    VERTICES_MAX,
};
use crate::hub_neighbours;
use crate::order::Order;
use crate::weights::column::per_page;
use crate::weights::{WeightSummary, WeightType};

/// How the superblock's page is called in errors.
pub const SECTION: &str = "superblock";
/// Slots of the section table.
pub const SECTIONS_MAX: usize = 16;
/// Bytes at the start of page 0 that hold all of the superblock.
pub const SUPERBLOCK_BYTES: usize = size_of::<Raw>();

const DIRECTED: u64 = 1 << 0;
const IN_EDGES: u64 = 1 << 1;
const WEIGHTED: u64 = 1 << 2;
const INTEGER_IDS: u64 = 1 << 3;
const STRING_IDS: u64 = 1 << 4;
const DUPLICATES_KEPT: u64 = 1 << 5;
const SELF_LOOPS_KEPT: u64 = 1 << 6;
const FLAGS_KNOWN: u64 =
    DIRECTED | IN_EDGES | WEIGHTED | INTEGER_IDS | STRING_IDS | DUPLICATES_KEPT | SELF_LOOPS_KEPT;

/// Required feature: sections of weights.
const FEATURE_WEIGHTS: u64 = 1 << 1;

/// Required feature: vertices that do not lie in the order of their ids.
const FEATURE_ORDER: u64 = 1 << 2;
/// Required feature: hub neighbours.
const FEATURE_HEADS: u64 = 1 << 3;
/// Required features that this program has.
const FEATURES_KNOWN: u64 = FEATURE_PACKED | FEATURE_WEIGHTS | FEATURE_ORDER | FEATURE_HEADS;

/// What a run of pages holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SectionKind {
    /// Lists of targets.
    OutAdjacency = 1,
    /// Lists of sources.
    InAdjacency = 2,
    /// Page index of the lists of targets.
    OutIndex = 3,
    /// Page index of the lists of sources.
    InIndex = 4,
    /// Lengths of the lists of targets.
    OutDegrees = 5,
    /// Lengths of the lists of sources.
    InDegrees = 6,
    /// The user's vertex ids, integers.
    Integers = 7,
    /// The user's vertex ids, strings.
    Strings = 8,
    /// Weights of the lists of targets.
    OutWeights = 9,
    /// Weights of the lists of sources.
    InWeights = 10,
    /// The vertex of every rank.
    VertexOfRank = 11,
    /// The rank of every vertex.
    RankOfVertex = 12,
    /// Of each vertex the neighbours with the longest lists: of its list of targets.
    OutHubNeighbours = 13,
    /// The same of its list of sources.
    InHubNeighbours = 14,
}

impl SectionKind {
    /// All kinds that this program knows.
    pub const ALL: [SectionKind; 14] = [
        Self::OutAdjacency,
        Self::InAdjacency,
        Self::OutIndex,
        Self::InIndex,
        Self::OutDegrees,
        Self::InDegrees,
        Self::Integers,
        Self::Strings,
        Self::OutWeights,
        Self::InWeights,
        Self::VertexOfRank,
        Self::RankOfVertex,
        Self::OutHubNeighbours,
        Self::InHubNeighbours,
    ];

    /// How errors name a page of the section.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutAdjacency => "adjacency",
            Self::InAdjacency => "in-adjacency",
            Self::OutIndex => "index",
            Self::InIndex => "in-index",
            Self::OutDegrees => "degrees",
            Self::InDegrees => "in-degrees",
            Self::Integers => "integer ids",
            Self::Strings => "string ids",
            Self::OutWeights => "weights",
            Self::InWeights => "in-weights",
            Self::VertexOfRank => "vertex of rank",
            Self::RankOfVertex => "rank of vertex",
            Self::OutHubNeighbours => "hub_neighbours",
            Self::InHubNeighbours => "in-hub-neighbours",
        }
    }

    /// Kind of the section's pages.
    pub fn page_kind(self) -> PageKind {
        match self {
            Self::OutAdjacency | Self::InAdjacency => PageKind::Adjacency,
            Self::OutIndex | Self::InIndex => PageKind::Index,
            Self::OutDegrees | Self::InDegrees => PageKind::Degrees,
            Self::Integers => PageKind::Integers,
            Self::Strings => PageKind::Strings,
            Self::OutWeights | Self::InWeights => PageKind::Weights,
            Self::VertexOfRank | Self::RankOfVertex => PageKind::Order,
            Self::OutHubNeighbours | Self::InHubNeighbours => PageKind::HubNeighbours,
        }
    }
}

/// A run of pages of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// What the pages hold.
    pub kind: SectionKind,
    /// How its pages are encoded; raw unless they hold lists.
    pub codec: Codec,
    /// First page in the file.
    pub first_page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Number of items: list entries, index words, degrees, ids or ranks.
    pub items: u64,
}

/// How the user names vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// By the numbers `0..vertices`: no map is stored.
    Dense,
    /// By integers of 64 bits.
    Integers,
    /// By strings.
    Strings,
}

/// The first page, decoded and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Version of the format that wrote the file.
    pub format_version: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Features that a reader may ignore.
    pub features_optional: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether a directed graph has lists of sources too.
    pub in_edges: bool,
    /// How the user names vertices.
    pub ids: IdKind,
    /// In which order the vertices lie.
    pub order: Order,
    /// Whether an edge may stand in a list more than once.
    pub duplicates_kept: bool,
    /// Whether a vertex may stand in its own list.
    pub self_loops_kept: bool,
    /// What is known of the weights, where edges have one.
    pub weights: Option<WeightSummary>,
    /// Number of vertices.
    pub vertices: u64,
    /// Number of edges as the user counts them.
    pub edges: u64,
    /// Entries of all lists of targets.
    pub stored_out: u64,
    /// Entries of all lists of sources.
    pub stored_in: u64,
    /// Repeated edges that the import found (and kept or left out).
    pub duplicates: u64,
    /// Self-loops that the import found (and kept or left out).
    pub self_loops: u64,
    /// Length of the longest list of targets.
    pub degree_max: u64,
    /// The smallest vertex with such a list.
    pub degree_max_vertex: u32,
    /// Number that goes into every checksum and tells graphs apart.
    pub salt: u64,
    /// Counts the writers of this file; 1 after an import.
    pub generation: u64,
    /// Pages of the file.
    pub pages_total: u64,
    /// The runs of pages, in file order.
    pub sections: Vec<Section>,
}

#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct RawSection {
    kind: u32,
    codec: u32,
    first_page: u64,
    pages: u64,
    items: u64,
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
    generation: u64,
    pages_total: u64,
    weight_type: u64,
    weight_min: u64,
    weight_max: u64,
    weight_mean: u64,
    reserved: [u64; 4],
    order: u64,
    order_seed: u64,
    sections: [RawSection; SECTIONS_MAX],
}

impl Superblock {
    /// The section of a kind, if the graph has it.
    pub fn section(&self, kind: SectionKind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    /// How the lists are encoded.
    pub fn codec(&self) -> Codec {
        self.section(SectionKind::OutAdjacency).map_or(Codec::Raw, |section| section.codec)
    }

    /// Features that a reader must know.
    fn features_required(&self) -> u64 {
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        let packed = self.sections.iter().any(|section| section.codec == Codec::Packed);
        flag(packed, FEATURE_PACKED)
            | flag(self.weights.is_some(), FEATURE_WEIGHTS)
            | flag(self.order != Order::Natural, FEATURE_ORDER)
            | flag(self.has_hub_neighbours(), FEATURE_HEADS)
    }

    /// Whether each vertex has its hub neighbours.
    pub fn has_hub_neighbours(&self) -> bool {
        self.sections.iter().any(|section| section.kind.page_kind() == PageKind::HubNeighbours)
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        self.pages_total * u64::from(self.page_bytes)
    }

    /// Writes page 0 into `page`, a zeroed page.
    pub fn encode(&self, page: &mut [u8]) {
        assert_eq!(page.len(), self.page_bytes as usize, "the superblock fills one page");
        assert!(self.sections.len() <= SECTIONS_MAX, "the section table has {SECTIONS_MAX} slots");
        let mut raw = Raw {
            magic: MAGIC,
            format_version: self.format_version,
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
            generation: self.generation,
            pages_total: self.pages_total,
            order: self.order.code().0,
            order_seed: self.order.code().1,
            ..Raw::zeroed()
        };
        if let Some(weights) = &self.weights {
            raw.put_weights(weights);
        }
        for (slot, section) in raw.sections.iter_mut().zip(&self.sections) {
            let Section { kind, codec, first_page, pages, items } = *section;
            *slot = RawSection { kind: kind as u32, codec: codec as u32, first_page, pages, items };
        }
        page[..SUPERBLOCK_BYTES].copy_from_slice(bytemuck::bytes_of(&raw));
        let mut header = PageHeader::new(PageKind::Superblock);
        header.generation = self.generation;
        header.seal(page, 0, 0);
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

    /// Page size of the graph whose file starts with `start` (up to 4 KiB of it, fewer only where
    /// the file is shorter). Says what else the file is if it is no graph of this version.
    pub fn page_bytes_of(file: &str, start: &[u8], file_bytes: u64) -> Result<usize> {
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
        let page_bytes = field(60);
        if !format::is_page_size(u64::from(page_bytes)) {
            let reason = format!("a page size of {page_bytes} bytes is not possible");
            return Err(fault(file, format::PAGE_BYTES_MIN, PageFault::Other(reason)));
        }
        if file_bytes < u64::from(page_bytes) {
            return Err(truncated(file, file_bytes, u64::from(page_bytes), 0));
        }
        Ok(page_bytes as usize)
    }

    /// Decodes and verifies page 0 of a file of `file_bytes`. Nothing that it says is believed
    /// before it is bounded by the size of the file.
    pub fn decode(file: &str, page: &[u8], file_bytes: u64) -> Result<Self> {
        let bad = |reason: PageFault| fault(file, page.len(), reason);
        let header = format::verify(page, 0, 0, PageKind::Superblock).map_err(bad)?;
        let raw: Raw = bytemuck::pod_read_unaligned(&page[..SUPERBLOCK_BYTES]);
        if raw.format_version > FORMAT_VERSION {
            let (found, supported) = (raw.format_version, FORMAT_VERSION);
            return Err(StoreError::NewerVersion { file: file.into(), found, supported });
        }
        let bits = raw.features_required & !FEATURES_KNOWN;
        if bits != 0 {
            return Err(StoreError::UnknownFeature { file: file.into(), bits });
        }
        let rest = &page[SUPERBLOCK_BYTES..];
        if raw.reserved != [0; 4] || rest.iter().any(|byte| *byte != 0) {
            return Err(bad(other("bytes that should be zero are not")));
        }
        if header.generation != raw.generation {
            return Err(bad(mismatch("generation", header.generation, raw.generation)));
        }
        let superblock = raw.decode().map_err(bad)?;
        if superblock.page_bytes as usize != page.len() {
            return Err(bad(other("it tells two page sizes")));
        }
        let features = superblock.features_required();
        if raw.features_required != features {
            let what = "required features";
            return Err(bad(mismatch(what, raw.features_required, features)));
        }
        superblock.check_length(file, file_bytes)?;
        superblock.check_sections().map_err(bad)?;
        superblock.check_counts().map_err(bad)?;
        Ok(superblock)
    }

    fn check_length(&self, file: &str, found: u64) -> Result<()> {
        let page_bytes = u64::from(self.page_bytes);
        let expected = self.pages_total.saturating_mul(page_bytes);
        if found < expected {
            return Err(truncated(file, found, expected, found / page_bytes));
        }
        if found > expected {
            let page = self.pages_total;
            return Err(StoreError::Overlong { file: file.into(), found, expected, page });
        }
        Ok(())
    }

    /// The sections cover all pages behind the superblock, one after the other.
    fn check_sections(&self) -> Result<(), PageFault> {
        let mut next = 1u64;
        for (i, section) in self.sections.iter().enumerate() {
            let name = section.kind.name();
            if self.sections[..i].iter().any(|other| other.kind == section.kind) {
                return Err(other(&format!("it has two sections of {name}")));
            }
            if section.first_page != next {
                return Err(mismatch("first page of a section", section.first_page, next));
            }
            next = next.checked_add(section.pages).ok_or_else(|| other("a section is too long"))?;
        }
        equal("pages of all sections and the superblock", next, self.pages_total)
    }

    fn check_counts(&self) -> Result<(), PageFault> {
        at_most("vertices", self.vertices, VERTICES_MAX)?;
        if self.in_edges && !self.directed {
            return Err(other("an undirected graph has no separate in-edges"));
        }
        let wants = |kind| match kind {
            SectionKind::OutAdjacency | SectionKind::OutIndex | SectionKind::OutDegrees => true,
            SectionKind::InAdjacency | SectionKind::InIndex | SectionKind::InDegrees => {
                self.in_edges
            }
            SectionKind::Integers => self.ids == IdKind::Integers,
            SectionKind::Strings => self.ids == IdKind::Strings,
            SectionKind::OutWeights => self.weights.is_some(),
            SectionKind::InWeights => self.weights.is_some() && self.in_edges,
            SectionKind::VertexOfRank | SectionKind::RankOfVertex => self.order != Order::Natural,
            SectionKind::OutHubNeighbours => self.has_hub_neighbours() && !self.directed,
            SectionKind::InHubNeighbours => {
                self.has_hub_neighbours() && self.directed && self.in_edges
            }
        };
        for kind in SectionKind::ALL {
            match self.section(kind) {
                Some(section) if wants(kind) => self.check_section(section)?,
                None if !wants(kind) => {}
                Some(_) => return Err(other(&format!("a section of {} too many", kind.name()))),
                None => return Err(other(&format!("no section of {}", kind.name()))),
            }
        }
        let stored_in = if self.in_edges { self.stored_out } else { 0 };
        equal("entries of the in-lists", self.stored_in, stored_in)?;
        if self.directed {
            equal("edges", self.edges, self.stored_out)?;
        } else {
            at_most("edges", self.edges, self.stored_out)?;
            at_most("stored entries", self.stored_out, self.edges.saturating_mul(2))?;
        }
        at_most("degree of the largest vertex", self.degree_max, self.stored_out)?;
        let vertex_last = self.vertices.saturating_sub(1);
        at_most("vertex of largest degree", u64::from(self.degree_max_vertex), vertex_last)
    }

    /// Items and pages of a section agree, so that nobody allocates for items that cannot be.
    fn check_section(&self, section: &Section) -> Result<(), PageFault> {
        let page_bytes = self.page_bytes as usize;
        let words = format::words_per_page(page_bytes) as u64;
        let (n, Section { kind, codec, pages, items, .. }) = (self.vertices, *section);
        let adjacency_pages = |kind| self.section(kind).map_or(0, |section| section.pages);
        match kind {
            SectionKind::OutAdjacency | SectionKind::InAdjacency => {
                let stored = if kind == SectionKind::OutAdjacency {
                    self.stored_out
                } else {
                    self.stored_in
                };
                equal("items of an adjacency section", items, stored)?;
                if (pages == 0) != (n == 0) {
                    return Err(mismatch("pages of an adjacency section", pages, n.min(1)));
                }
                let (entries, lists) = format::items_per_page(page_bytes, codec);
                at_most("stored entries", items, pages.saturating_mul(entries as u64))?;
                at_most("vertices", n, pages.saturating_mul(lists as u64))
            }
            SectionKind::OutIndex => {
                equal("items of the index", items, adjacency_pages(SectionKind::OutAdjacency))?;
                equal("pages of the index", pages, items.div_ceil(words))
            }
            SectionKind::InIndex => {
                equal("items of the in-index", items, adjacency_pages(SectionKind::InAdjacency))?;
                equal("pages of the in-index", pages, items.div_ceil(words))
            }
            SectionKind::Integers => {
                equal("number of ids", items, n)?;
                equal("pages of integer ids", pages, items.div_ceil(words))
            }
            SectionKind::VertexOfRank | SectionKind::RankOfVertex => {
                equal("number of ranks", items, n)?;
                equal("pages of ranks", pages, items.div_ceil(words * 2))
            }
            SectionKind::OutHubNeighbours | SectionKind::InHubNeighbours => {
                equal("number of hub neighbours", items, n)?;
                let per_page = hub_neighbours::per_page(page_bytes) as u64;
                equal("pages of hub neighbours", pages, items.div_ceil(per_page))
            }
            SectionKind::OutWeights | SectionKind::InWeights => {
                let stored =
                    if kind == SectionKind::OutWeights { self.stored_out } else { self.stored_in };
                equal("number of weights", items, stored)?;
                let weights = self.weights.as_ref().expect("sections of weights are wanted");
                let per_page = per_page(weights.kind, page_bytes) as u64;
                equal("pages of weights", pages, items.div_ceil(per_page))
            }
            SectionKind::OutDegrees | SectionKind::InDegrees | SectionKind::Strings => {
                equal("items of a vertex section", items, n)?;
                at_most("items of a vertex section", items, pages.saturating_mul(words * 8))
            }
        }
    }
}

impl Raw {
    /// Field by field; relations between fields are checked afterwards.
    fn decode(&self) -> Result<Superblock, PageFault> {
        if self.format_version == 0 {
            return Err(other("format version 0 does not exist"));
        }
        if self.flags & !FLAGS_KNOWN != 0 {
            return Err(other(&format!("unknown flags {:#x}", self.flags & !FLAGS_KNOWN)));
        }
        let flag = |bit: u64| self.flags & bit != 0;
        let ids = match (flag(INTEGER_IDS), flag(STRING_IDS)) {
            (false, false) => IdKind::Dense,
            (true, false) => IdKind::Integers,
            (false, true) => IdKind::Strings,
            (true, true) => return Err(other("ids cannot be integers and strings")),
        };
        at_most("vertex of largest degree", self.degree_max_vertex, VERTICES_MAX)?;
        Ok(Superblock {
            format_version: self.format_version,
            page_bytes: self.page_bytes,
            features_optional: self.features_optional,
            directed: flag(DIRECTED),
            in_edges: flag(IN_EDGES),
            ids,
            order: self.decode_order()?,
            duplicates_kept: flag(DUPLICATES_KEPT),
            self_loops_kept: flag(SELF_LOOPS_KEPT),
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
            generation: self.generation,
            pages_total: self.pages_total,
            sections: self.decode_sections()?,
        })
    }

    /// The required feature and the two fields say the same.
    fn decode_order(&self) -> Result<Order, PageFault> {
        let order = Order::of_code((self.order, self.order_seed));
        let order = order.ok_or_else(|| other(&format!("unknown order {}", self.order)))?;
        if (order != Order::Natural) != (self.features_required & FEATURE_ORDER != 0) {
            return Err(other("its features and its order of vertices contradict each other"));
        }
        Ok(order)
    }

    fn put_weights(&mut self, weights: &WeightSummary) {
        let raw = |ordered| if weights.any { weights.kind.raw(ordered) } else { 0 };
        self.weight_type = weights.kind as u64;
        self.weight_min = raw(weights.min_ordered);
        self.weight_max = raw(weights.max_ordered);
        self.weight_mean = weights.mean_bits;
    }

    /// The flag, the required feature and the four fields say the same.
    fn decode_weights(&self) -> Result<Option<WeightSummary>, PageFault> {
        let kind = WeightType::of_code(self.weight_type);
        let weighted = self.flags & WEIGHTED != 0;
        if weighted != (self.features_required & FEATURE_WEIGHTS != 0) || weighted != kind.is_some()
        {
            return Err(other("its flags, features and type of weights contradict each other"));
        }
        let Some(kind) = kind else {
            let fields = [self.weight_type, self.weight_min, self.weight_max, self.weight_mean];
            return if fields == [0; 4] {
                Ok(None)
            } else {
                Err(other("bytes that should be zero are not"))
            };
        };
        let any = self.stored_out > 0;
        let ordered = |raw| if any { kind.ordered(raw) } else { 0 };
        let summary = WeightSummary {
            kind,
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

    /// Slots are filled from the start; the rest is zero.
    fn decode_sections(&self) -> Result<Vec<Section>, PageFault> {
        let used = self.sections.iter().take_while(|slot| slot.kind != 0).count();
        if self.sections[used..].iter().any(|slot| bytemuck::bytes_of(slot) != [0; 32]) {
            return Err(other("an unused slot of the section table is not zero"));
        }
        self.sections[..used].iter().map(RawSection::decode).collect()
    }
}

impl RawSection {
    fn decode(&self) -> Result<Section, PageFault> {
        let kind = SectionKind::ALL.into_iter().find(|kind| *kind as u32 == self.kind);
        let kind = kind.ok_or_else(|| other(&format!("unknown section kind {}", self.kind)))?;
        let may_be_packed = kind.page_kind() == PageKind::Adjacency;
        let codec = Codec::ALL.into_iter().find(|codec| *codec as u32 == self.codec);
        let codec = codec.filter(|codec| *codec == Codec::Raw || may_be_packed);
        let codec = codec
            .ok_or_else(|| other(&format!("unknown codec {} of {}", self.codec, kind.name())))?;
        let RawSection { first_page, pages, items, .. } = *self;
        Ok(Section { kind, codec, first_page, pages, items })
    }
}

fn fault(file: &str, page_bytes: usize, fault: PageFault) -> StoreError {
    let (file, page_bytes) = (file.into(), page_bytes as u64);
    PageError { file, page: 0, page_bytes, section: SECTION, fault }.into()
}

fn truncated(file: &str, found: u64, expected: u64, page: u64) -> StoreError {
    StoreError::Truncated { file: file.into(), found, expected, page }
}

fn other(reason: &str) -> PageFault {
    PageFault::Other(reason.into())
}

fn mismatch(what: &'static str, found: u64, expected: u64) -> PageFault {
    PageFault::Mismatch { what, found, expected }
}

fn equal(what: &'static str, found: u64, expected: u64) -> Result<(), PageFault> {
    if found == expected { Ok(()) } else { Err(mismatch(what, found, expected)) }
}

fn at_most(what: &'static str, found: u64, limit: u64) -> Result<(), PageFault> {
    if found <= limit { Ok(()) } else { Err(PageFault::Limit { what, found, limit }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblock_layout_is_as_documented() {
        assert_eq!(SUPERBLOCK_BYTES, 768);
        assert_eq!(std::mem::offset_of!(Raw, magic), 48);
        assert_eq!(std::mem::offset_of!(Raw, format_version), 56);
        assert_eq!(std::mem::offset_of!(Raw, page_bytes), 60);
        assert_eq!(std::mem::offset_of!(Raw, flags), 80);
        assert_eq!(std::mem::offset_of!(Raw, pages_total), 168);
        assert_eq!(std::mem::offset_of!(Raw, order), 240);
        assert_eq!(std::mem::offset_of!(Raw, order_seed), 248);
        assert_eq!(std::mem::offset_of!(Raw, sections), 256);
    }
}

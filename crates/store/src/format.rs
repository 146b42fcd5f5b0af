//! The numbers and kinds of the format; `FORMAT.md` is the document.

/// Where the superblock says that the file is a Cenote graph. The line end shows text-mode copies.
pub const MAGIC: [u8; 8] = *b"CENOTE\r\n";
/// The version that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 2;
/// Pages 0 and 1 are commit slots.
pub const SLOTS: u64 = 2;
/// The epoch of an import's commit, the first of a graph.
pub const EPOCH_OF_IMPORT: u64 = 1;
/// Every page starts with a header of this size.
pub const HEADER_BYTES: usize = 48;
/// Smallest page.
pub const PAGE_BYTES_MIN: usize = 4096;
/// Largest page: offsets inside a page are 16 bits.
pub const PAGE_BYTES_MAX: usize = 65536;
/// Page size unless asked otherwise.
pub const PAGE_BYTES_DEFAULT: usize = 4096;
/// Most vertices of a graph; the last `u32` is left to mean "none".
pub const VERTICES_MAX: u64 = u32::MAX as u64;
/// Longest string id in bytes.
pub const ID_BYTES_MAX: usize = 65536;
/// Set in the superblock's required features where a section has packed pages.
pub const FEATURE_PACKED: u64 = 1 << 0;
/// A long list starts in the rest of a page only where at least so many of its entries fit.
pub const HEAD_ENTRIES_MIN: usize = 16;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// A commit slot: page 0 or 1.
    Superblock = 0,
    /// Lists of neighbours.
    Adjacency = 1,
    /// Words of the page index.
    Index = 2,
    /// Lengths of all lists.
    Degrees = 3,
    /// The user's vertex ids, integers.
    Integers = 4,
    /// The user's vertex ids, strings.
    Strings = 5,
    /// Weights of edges.
    Weights = 6,
    /// Tables of an order of vertices.
    Order = 7,
    /// Of each vertex the neighbours with the longest lists.
    HubNeighbours = 8,
    /// Extents of the page table.
    PageTable = 9,
    /// Extents of the free list.
    FreeList = 10,
}

/// How the lists of an adjacency section are encoded; pages of other kinds are always raw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// Entries as they are: four bytes each.
    #[default]
    Raw = 0,
    /// Gaps of few bits.
    Packed = 1,
}

impl Codec {
    /// All codecs that this program knows.
    pub const ALL: [Codec; 2] = [Self::Raw, Self::Packed];

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Packed => "packed",
        }
    }

    /// The codec of this name.
    pub fn of_name(name: &str) -> Option<Codec> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }
}

/// Whether a graph may have pages of this size.
pub fn is_page_size(bytes: u64) -> bool {
    bytes.is_power_of_two() && (PAGE_BYTES_MIN as u64..=PAGE_BYTES_MAX as u64).contains(&bytes)
}

/// Bytes of a page behind its header.
pub const fn payload_bytes(page_bytes: usize) -> usize {
    page_bytes - HEADER_BYTES
}

/// `u64` items (index words, integer ids) that a page holds.
pub const fn words_per_page(page_bytes: usize) -> usize {
    payload_bytes(page_bytes) / 8
}

/// `u32` items (list entries, vertices) that a page holds.
pub const fn entries_per_page(page_bytes: usize) -> usize {
    payload_bytes(page_bytes) / 4
}

/// A list of at most so many entries never straddles two pages.
pub const fn short_list_max(page_bytes: usize) -> usize {
    page_bytes / 64
}

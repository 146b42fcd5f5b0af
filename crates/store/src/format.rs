//! Constants and kinds of the file format, described in `FORMAT.md`.

/// Magic bytes of the superblock. Their line end reveals copies in text mode.
pub const MAGIC: [u8; 8] = *b"CENOTE\r\n";
/// Format version that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 2;
/// Number of commit slots: pages 0 and 1.
pub const SLOTS: u64 = 2;
/// The epoch of an import's commit, the first of a graph.
pub const EPOCH_OF_IMPORT: u64 = 1;
/// Bytes of the header of every page.
pub const HEADER_BYTES: usize = 48;
/// Smallest page size.
pub const PAGE_BYTES_MIN: usize = 4096;
/// Largest page size: offsets inside a page are 16 bits.
pub const PAGE_BYTES_MAX: usize = 65536;
/// Bytes of a block of the log.
pub const LOG_BLOCK_BYTES: usize = 4096;
/// Most vertices of a graph; the last `u32` means "none".
pub const VERTICES_MAX: u64 = u32::MAX as u64;
/// Longest string id, in bytes.
pub const ID_BYTES_MAX: usize = 65536;
/// A long list starts in the remaining part of a page only if at least this many entries fit.
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
    /// Blocks of the log.
    Log = 11,
    /// The superblock of a snapshot.
    Snapshot = 12,
    /// Changes of lists, of a sorted run.
    DeltaRun = 13,
    /// Numbers of deleted vertices.
    Deleted = 14,
    /// Values of vertices.
    Values = 15,
}

/// How the lists of an adjacency section are encoded; pages of other kinds are always raw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// Four bytes per entry.
    #[default]
    Raw = 0,
    /// Gaps between entries, in few bits each.
    Packed = 1,
}

impl Codec {
    /// All codecs that this program knows.
    pub const ALL: [Codec; 2] = [Self::Raw, Self::Packed];

    /// Name on the command line.
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

/// Whether this is a valid page size.
pub fn is_page_size(bytes: u64) -> bool {
    bytes.is_power_of_two() && (PAGE_BYTES_MIN as u64..=PAGE_BYTES_MAX as u64).contains(&bytes)
}

/// Most free space of pages of lists, in percent.
pub const FREE_SPACE_MAX: u32 = 50;

/// Bytes of a page that stay free when lists are packed.
pub(crate) const fn free_bytes(page_bytes: usize, free_space: u32) -> usize {
    payload_bytes(page_bytes) * free_space as usize / 100
}

/// Bytes of a page without its header.
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

/// A list of at most this many entries never spans two pages.
pub const fn short_list_max(page_bytes: usize) -> usize {
    page_bytes / 64
}

//! Constants, page header and checksum. `FORMAT.md` is the document; this is its first half in
//! code.

use bytemuck::{Pod, Zeroable};

use crate::error::PageFault;
use crate::packed;

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

/// The first 48 bytes of every page, as they are in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PageHeader {
    /// CRC-32C, see [`checksum`].
    pub checksum: u32,
    /// A [`PageKind`].
    pub kind: u8,
    /// How the payload is encoded: a [`Codec`].
    pub codec: u8,
    /// Adjacency: lists that have a piece in the page (or are empty and lie here).
    pub lists: u16,
    /// Adjacency: vertex of list 0. Degrees and ids: vertex of the first item.
    pub first: u32,
    /// Adjacency: entries. Other kinds: items that start in the page.
    pub entries: u32,
    /// Adjacency: position within list 0 of the page's first entry. Strings: bytes at the start
    /// of the payload that continue a string of an earlier page. Weights: address of the first.
    pub head_skip: u64,
    /// Adjacency: whole length of list 0.
    pub head_degree: u64,
    /// Adjacency: whole length of the last list.
    pub tail_degree: u64,
    /// The epoch in which the page was written.
    pub epoch: u64,
}

impl PageHeader {
    /// A header of the given kind, all else zero; of the epoch of an import.
    pub fn new(kind: PageKind) -> Self {
        Self { kind: kind as u8, epoch: EPOCH_OF_IMPORT, ..Self::default() }
    }

    /// The header of a page.
    ///
    /// # Panics
    /// If `bytes` is shorter than a header.
    #[inline]
    pub fn read(bytes: &[u8]) -> Self {
        bytemuck::pod_read_unaligned(&bytes[..HEADER_BYTES])
    }

    /// Puts the header at the start of logical page `page` and its checksum into it.
    pub fn seal(mut self, bytes: &mut [u8], salt: u64, page: u64) {
        bytes[..HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&self));
        self.checksum = checksum(bytes, salt, page);
        bytes[..4].copy_from_slice(&self.checksum.to_le_bytes());
    }
}

/// CRC-32C of a page without its first four bytes, followed by the graph's salt and the logical
/// page number: a page that was swapped with another, or comes from another graph, does not pass.
#[inline]
pub fn checksum(bytes: &[u8], salt: u64, page: u64) -> u32 {
    let mut place = [0; 16];
    place[..8].copy_from_slice(&salt.to_le_bytes());
    place[8..].copy_from_slice(&page.to_le_bytes());
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(&bytes[4..]);
    digest.update(&place);
    digest.finalize() as u32
}

/// Most entries, and most lists, that an adjacency page can tell of.
pub const fn items_per_page(page_bytes: usize, codec: Codec) -> (usize, usize) {
    match codec {
        Codec::Raw => (payload_bytes(page_bytes) / 4, payload_bytes(page_bytes) / 2),
        Codec::Packed => {
            let items = packed::items_max(page_bytes);
            (items, items)
        }
    }
}

/// What a page proves by its checksum and its header, whatever it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Of which graph it is.
    pub salt: u64,
    /// Its logical number.
    pub page: u64,
    /// The epoch in which it was written.
    pub epoch: u64,
}

/// Reads the header of a raw page whose checksum, epoch and kind are right.
#[inline]
pub fn verify(bytes: &[u8], identity: &Identity, kind: PageKind) -> Result<PageHeader, PageFault> {
    verify_codec(bytes, identity, kind, Codec::Raw)
}

/// Reads the header of a page whose checksum, epoch, kind and codec are right.
#[inline]
pub fn verify_codec(
    bytes: &[u8],
    identity: &Identity,
    kind: PageKind,
    codec: Codec,
) -> Result<PageHeader, PageFault> {
    let header = PageHeader::read(bytes);
    let computed = checksum(bytes, identity.salt, identity.page);
    if header.checksum != computed {
        return Err(PageFault::Checksum { stored: header.checksum, computed });
    }
    if header.epoch != identity.epoch {
        return Err(PageFault::Epoch { found: header.epoch, expected: identity.epoch });
    }
    if header.kind != kind as u8 {
        return Err(PageFault::Kind { found: header.kind, expected: kind });
    }
    if header.codec != codec as u8 {
        return Err(PageFault::Codec { found: header.codec, expected: codec as u8 });
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_crc32c_of_page_salt_and_number() {
        let mut page = vec![0; 4096];
        page[4..13].copy_from_slice(b"123456789");
        let mut whole = page[4..].to_vec();
        whole.extend(7u64.to_le_bytes());
        whole.extend(3u64.to_le_bytes());
        assert_eq!(checksum(&page, 7, 3), bitwise_crc32c(&whole));
        assert_eq!(bitwise_crc32c(b"123456789"), 0xe306_9283, "the check value of CRC-32C");
    }

    fn bitwise_crc32c(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(crc & 1));
            }
        }
        !crc
    }

    #[test]
    fn sealed_page_verifies_only_in_its_place() {
        let mut page = vec![9; 4096];
        PageHeader::new(PageKind::Degrees).seal(&mut page, 1, 2);
        let verify = |salt, number, epoch, kind| {
            verify(&page, &Identity { salt, page: number, epoch }, kind)
        };
        assert!(verify(1, 2, 1, PageKind::Degrees).is_ok());
        assert!(matches!(verify(1, 3, 1, PageKind::Degrees), Err(PageFault::Checksum { .. })));
        assert!(matches!(verify(2, 2, 1, PageKind::Degrees), Err(PageFault::Checksum { .. })));
        assert!(matches!(verify(1, 2, 2, PageKind::Degrees), Err(PageFault::Epoch { .. })));
        assert!(matches!(verify(1, 2, 1, PageKind::Index), Err(PageFault::Kind { .. })));
    }
}

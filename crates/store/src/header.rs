//! Page headers, checksums, and the verification that is common to all pages.

use bytemuck::{Pod, Zeroable};

use crate::error::PageFault;
use crate::format::{Codec, EPOCH_OF_IMPORT, HEADER_BYTES, PageKind};

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
    /// Adjacency: position within list 0 of the page's first entry. Strings: bytes at the start of
    /// the payload that continue a string of an earlier page. Weights: address of the first.
    pub head_skip: u64,
    /// Adjacency: whole length of list 0.
    pub head_degree: u64,
    /// Adjacency: whole length of the last list.
    pub tail_degree: u64,
    /// The epoch in which the page was written.
    pub epoch: u64,
}

impl PageHeader {
    /// A header of the given kind and the epoch of an import, all other fields zero.
    pub fn new(kind: PageKind) -> Self {
        Self { kind: kind as u8, epoch: EPOCH_OF_IMPORT, ..Self::default() }
    }

    /// Reads the header of a page.
    ///
    /// # Panics
    /// If `bytes` is shorter than a header.
    #[inline]
    pub fn read(bytes: &[u8]) -> Self {
        bytemuck::pod_read_unaligned(&bytes[..HEADER_BYTES])
    }

    /// Writes the header and its checksum to the start of physical page `page`.
    pub fn seal(mut self, bytes: &mut [u8], salt: u64, page: u64) {
        bytes[..HEADER_BYTES].copy_from_slice(bytemuck::bytes_of(&self));
        self.checksum = checksum(bytes, salt, page);
        bytes[..4].copy_from_slice(&self.checksum.to_le_bytes());
    }
}

/// CRC-32C of a page without its first four bytes, followed by the graph's salt and the physical
/// page number. A page that was swapped with another or comes from another graph fails.
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

/// The identity of a page, which its checksum and header must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Salt of its graph.
    pub salt: u64,
    /// Its physical number.
    pub physical: u64,
    /// The epoch in which it was written.
    pub epoch: u64,
}

/// Verifies checksum, epoch and kind of a raw page and returns its header.
#[inline]
pub fn verify(bytes: &[u8], identity: &Identity, kind: PageKind) -> Result<PageHeader, PageFault> {
    verify_codec(bytes, identity, kind, Codec::Raw)
}

/// Verifies checksum, epoch, kind and codec of a page and returns its header.
#[inline]
pub fn verify_codec(
    bytes: &[u8],
    identity: &Identity,
    kind: PageKind,
    codec: Codec,
) -> Result<PageHeader, PageFault> {
    let header = PageHeader::read(bytes);
    let computed = checksum(bytes, identity.salt, identity.physical);
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
            verify(&page, &Identity { salt, physical: number, epoch }, kind)
        };
        assert!(verify(1, 2, 1, PageKind::Degrees).is_ok());
        assert!(matches!(verify(1, 3, 1, PageKind::Degrees), Err(PageFault::Checksum { .. })));
        assert!(matches!(verify(2, 2, 1, PageKind::Degrees), Err(PageFault::Checksum { .. })));
        assert!(matches!(verify(1, 2, 2, PageKind::Degrees), Err(PageFault::Epoch { .. })));
        assert!(matches!(verify(1, 2, 1, PageKind::Index), Err(PageFault::Kind { .. })));
    }
}

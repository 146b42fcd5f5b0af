//! Pages of the map file: 4 KiB with a checksum over the set's id and the page.

/// Bytes of a page of the map file, and of the smallest write to a tier.
pub(super) const PAGE_BYTES: usize = 4096;

const HEAD_BYTES: usize = 48;

pub(super) const ITEM_BYTES: usize = PAGE_BYTES - HEAD_BYTES;

/// The id of a set, stored in all its members.
pub type SetId = [u8; 16];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Head = 0x4845_4144,
    Map = 0x4d41_5020,
    Journal = 0x4a52_4e4c,
    Generation = 0x4745_4e52,
}

/// The generation of a map; see [`super::generation`]. A new set has generation 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Generation {
    /// Every tier has at least this number.
    pub(super) confirmed: u32,
    /// Every tier has at most this number.
    pub(super) begun: u32,
}

impl Generation {
    pub(super) const FIRST: Self = Self { confirmed: 1, begun: 1 };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHead {
    pub(super) epoch: u64,
    /// Number of the page among its kind and epoch, or of a tier's generation.
    pub(super) index: u32,
    /// Pages of the journal that were synced when this one was written.
    pub(super) stable: u32,
    /// Items, or blocks.
    pub(super) count: u32,
    /// Checksum of the page before.
    pub(super) previous: u32,
    /// Length of the device.
    pub(super) len_bytes: u64,
    pub(super) generation: Generation,
}

/// CRC-32C of the set's id and a page of the map file without the checksum field at byte 4. A
/// header's checksum is that of its bytes from byte 4 on.
pub fn checksum(set: &SetId, page: &[u8]) -> u32 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
    digest.update(set);
    digest.update(&page[..4]);
    digest.update(&page[8..]);
    digest.finalize() as u32
}

fn word(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"))
}

fn long(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("eight bytes"))
}

/// Writes the header of a page whose items are in place; returns the checksum.
pub(super) fn seal(page: &mut [u8], set: &SetId, kind: Kind, head: PageHead) -> u32 {
    assert_eq!(page.len(), PAGE_BYTES, "a page is sealed as a whole");
    page[..4].copy_from_slice(&(kind as u32).to_le_bytes());
    page[8..16].copy_from_slice(&head.epoch.to_le_bytes());
    for (at, value) in [(16, head.index), (20, head.stable), (24, head.count), (28, head.previous)]
    {
        page[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    page[32..40].copy_from_slice(&head.len_bytes.to_le_bytes());
    page[40..44].copy_from_slice(&head.generation.confirmed.to_le_bytes());
    page[44..48].copy_from_slice(&head.generation.begun.to_le_bytes());
    let sum = checksum(set, page);
    page[4..8].copy_from_slice(&sum.to_le_bytes());
    sum
}

/// The header and checksum of a page of this kind, if it verifies.
pub(super) fn verify(page: &[u8], set: &SetId, kind: Kind) -> Option<(PageHead, u32)> {
    let sum = word(page, 4);
    if word(page, 0) != kind as u32 || sum != checksum(set, page) {
        return None;
    }
    let head = PageHead {
        epoch: long(page, 8),
        index: word(page, 16),
        stable: word(page, 20),
        count: word(page, 24),
        previous: word(page, 28),
        len_bytes: long(page, 32),
        generation: Generation { confirmed: word(page, 40), begun: word(page, 44) },
    };
    Some((head, sum))
}

pub(super) fn items(page: &[u8]) -> &[u8] {
    &page[HEAD_BYTES..]
}

pub(super) fn items_mut(page: &mut [u8]) -> &mut [u8] {
    &mut page[HEAD_BYTES..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_bit_or_another_set_is_seen() {
        let mut page = vec![3; PAGE_BYTES];
        let generation = Generation { confirmed: 6, begun: 7 };
        let (epoch, index, stable, count, previous, len_bytes) = (9, 2, 1, 5, 77, 1);
        let head = PageHead { epoch, index, stable, count, previous, len_bytes, generation };
        let sum = seal(&mut page, &[1; 16], Kind::Journal, head);
        assert_eq!(verify(&page, &[1; 16], Kind::Journal), Some((head, sum)));
        assert_eq!(verify(&page, &[2; 16], Kind::Journal), None);
        assert_eq!(verify(&page, &[1; 16], Kind::Map), None);
        for at in 0..PAGE_BYTES {
            page[at] ^= 1 << (at % 8);
            assert_eq!(verify(&page, &[1; 16], Kind::Journal), None, "byte {at}");
            page[at] ^= 1 << (at % 8);
        }
    }
}

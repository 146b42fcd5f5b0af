//! Layout of the map file, and encoding of its items.
//!
//! In pages of 4 KiB: two headers of 16 KiB; the header pages of both copies of the map; the
//! journals of both, then their mirrors; then both copies of the map in alternating segments of 64
//! pages, so that they can grow in place.

use super::entry::Place;
use super::header::{HEADER_BYTES, SetHeader};
use super::page::{ITEM_BYTES, PAGE_BYTES};

/// Bytes of a record of the journal: block, slot, tier.
pub(super) const RECORD_BYTES: usize = 16;

pub(super) const RECORDS: usize = ITEM_BYTES / RECORD_BYTES;

/// Bytes of an entry of the map: slot, and the tier plus 1, or 0.
pub(super) const ENTRY_BYTES: usize = 8;

pub(super) const ENTRIES: usize = ITEM_BYTES / ENTRY_BYTES;

pub(super) const SEGMENT_PAGES: u64 = 64;

/// Number of times that each page of the journal is written.
pub(super) const MIRRORS: u64 = 2;

const PAGE: u64 = PAGE_BYTES as u64;

/// A block's new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) block: u32,
    pub(super) place: Place,
}

impl Record {
    pub(super) fn encode(&self, item: &mut [u8]) {
        item[..4].copy_from_slice(&self.block.to_le_bytes());
        item[4..8].copy_from_slice(&self.place.slot.to_le_bytes());
        item[8] = self.place.tier;
    }

    pub(super) fn decode(item: &[u8]) -> Self {
        Self { block: word(item, 0), place: Place { tier: item[8], slot: word(item, 4) } }
    }
}

pub(super) fn encode_place(place: Place, item: &mut [u8]) {
    item[..4].copy_from_slice(&place.slot.to_le_bytes());
    item[4] = place.tier + 1;
}

pub(super) fn decode_place(item: &[u8]) -> Option<Place> {
    item[4].checked_sub(1).map(|tier| Place { tier, slot: word(item, 0) })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Offsets in the map file. Epoch n has the copy and the journal n mod 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) journal_pages: u32,
}

impl Layout {
    pub(super) fn of(header: &SetHeader) -> Self {
        Self { journal_pages: header.journal_pages }
    }

    pub(super) fn head(self, epoch: u64) -> u64 {
        2 * HEADER_BYTES as u64 + epoch % 2 * PAGE
    }

    pub(super) fn journal(self, epoch: u64, mirror: u64) -> u64 {
        let journals = 2 * mirror + epoch % 2;
        self.head(0) + 2 * PAGE + journals * u64::from(self.journal_pages) * PAGE
    }

    pub(super) fn segment(self, epoch: u64, segment: u64) -> u64 {
        self.fixed_bytes() + (2 * segment + epoch % 2) * SEGMENT_PAGES * PAGE
    }

    /// Bytes before the segments: the least size of the file.
    pub(super) fn fixed_bytes(self) -> u64 {
        self.journal(0, MIRRORS)
    }
}

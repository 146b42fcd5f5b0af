//! Generations, which detect stale copies of the map or of a tier.
//!
//! The first change after a set was opened begins a new generation. Its number is committed to the
//! map as *begun*, then written to a page of every tier and synced, then committed as *confirmed*;
//! only then is anything else written. So a tier with a greater number than the map's begun one was
//! changed after that map was copied: the map is stale, and writing by it would overwrite live
//! blocks. A tier with a smaller number than the confirmed one is itself an old copy. A crash may
//! leave the numbers between.
//!
//! Not detected: copies made while the set was in use and restored within the same generation, and
//! diverged histories with equal numbers after the whole set was restored.

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::header::{HEADER_BYTES, SetHeader, SetId};
use super::io::{self, IoBuffer};
use super::page::{Generation, Kind, PAGE_BYTES, PageHead, seal, verify};

/// First byte of the two pages of a tier that hold the number of its generation.
const PAGES_AT: usize = 2 * HEADER_BYTES;
const PAGES: usize = 2;

/// Writes the pages of a new tier, and syncs.
pub(super) fn create(tier: &dyn Device, set: &SetId) -> Result<()> {
    let page = page_of(set, Generation::FIRST.begun);
    io::write(tier, &IoBuffer::default(), PAGES_AT as u64, &page.repeat(PAGES))?;
    Ok(tier.sync()?)
}

/// Writes the number of a generation to both pages of a tier, each synced: the newest valid page
/// last, so that a torn write leaves it.
pub(super) fn advance(
    tier: &dyn Device,
    set: &SetId,
    number: u32,
    buffer: &IoBuffer,
) -> Result<()> {
    let [first, second] = read(tier, set, buffer)?;
    let page = page_of(set, number);
    for at in if first > second { [1, 0] } else { [0, 1] } {
        io::write(tier, buffer, (PAGES_AT + at * PAGE_BYTES) as u64, &page)?;
        tier.sync()?;
    }
    Ok(())
}

fn page_of(set: &SetId, number: u32) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    seal(&mut page, set, Kind::Generation, PageHead { index: number, ..PageHead::default() });
    page
}

/// The numbers in the two pages of a tier; `None` where a page does not verify.
fn read(tier: &dyn Device, set: &SetId, buffer: &IoBuffer) -> Result<[Option<u32>; PAGES]> {
    let len = PAGES * PAGE_BYTES;
    if tier.len_bytes()? < (PAGES_AT + len) as u64 {
        return Ok([None; PAGES]);
    }
    let pages = io::read(tier, buffer, PAGES_AT as u64, len)?;
    let number = |at: usize| {
        let page = &pages[at * PAGE_BYTES..(at + 1) * PAGE_BYTES];
        verify(page, set, Kind::Generation).map(|(head, _)| head.index)
    };
    Ok([number(0), number(1)])
}

/// Refuses a tier whose generation does not match the map's.
pub(super) fn check(
    map: &dyn Device,
    tier: &dyn Device,
    set: &SetHeader,
    of_map: Generation,
    buffer: &IoBuffer,
) -> Result<()> {
    let Some(number) = read(tier, &set.id, buffer)?.into_iter().flatten().max() else {
        let reason = "the pages of its generation are damaged; put back the whole file";
        return Err(TieredError::Member { file: tier.name(), reason: reason.into() });
    };
    let (of_map, older, newer) = if number > of_map.begun {
        (of_map.begun, map, tier)
    } else if number < of_map.confirmed {
        (of_map.confirmed, tier, map)
    } else {
        return Ok(());
    };
    Err(TieredError::Stale {
        older: older.name(),
        older_generation: number.min(of_map),
        newer: newer.name(),
        newer_generation: number.max(of_map),
    })
}

//! Generations: which states of the map and of the tiers belong together.
//!
//! The first change after a set was opened begins a new generation. Its number is committed to the
//! map as *begun*, then written to a page of every tier and synced, then committed as *confirmed*;
//! only then is anything else written. So a tier whose number is greater than the one that the map
//! has begun was changed after that map was copied: the map is stale, and writing by it would
//! overwrite live blocks. A tier whose number is less than the confirmed one is an old copy itself.
//! Between begun and confirmed lie the numbers that a crash may leave.
//!
//! Not found are copies that were made while the set was in use, if they were put back within the
//! same generation, and histories that parted after the whole set was put back and count alike.

use cenote_device::Device;

use super::error::{Result, TieredError};
use super::header::{HEADER_BYTES, SetHeader, SetId};
use super::io::{self, Spare};
use super::page::{Generation, Kind, PAGE_BYTES, PageHead, seal, verify};

/// First byte of the two pages of a tier that each hold the number of its generation.
const PAGES_AT: usize = 2 * HEADER_BYTES;
const PAGES: usize = 2;

/// Writes the pages of a new tier, and syncs.
pub(super) fn create(tier: &dyn Device, set: &SetId) -> Result<()> {
    let page = page_of(set, Generation::FIRST.begun);
    io::write(tier, &Spare::default(), PAGES_AT as u64, &page.repeat(PAGES))?;
    Ok(tier.sync()?)
}

/// Writes the number of a generation to a tier, one page after the other, each synced: the page
/// that verifies and is newest comes last, so that a torn write leaves it.
pub(super) fn advance(tier: &dyn Device, set: &SetId, number: u32, buffer: &Spare) -> Result<()> {
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

/// The numbers in the two pages of a tier; none where a page does not verify.
fn read(tier: &dyn Device, set: &SetId, buffer: &Spare) -> Result<[Option<u32>; PAGES]> {
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

/// Refuses a tier that does not belong to the state of the map.
pub(super) fn check(
    map: &dyn Device,
    tier: &dyn Device,
    set: &SetHeader,
    of_map: Generation,
    buffer: &Spare,
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

//! Checks that the two tables of an order are inverse to each other.
//!
//! The first table gives each rank once with a vertex, the second each vertex once with a rank. If
//! both hold the same pairs, both are permutations. Sums of 64-bit hashes compare them.

use super::adjacency::{hash_key, mix};
use super::{Check, check_pages};
use crate::error::{Result, other, zero_behind};
use crate::format::HEADER_BYTES;
use crate::order;
use crate::superblock::{SECTION, SectionKind};

pub(super) fn check_order(check: &mut Check<'_>) -> Result<()> {
    let vertices = sum(check, SectionKind::VertexOfRank, |rank, vertex| (rank, vertex))?;
    let ranks = sum(check, SectionKind::RankOfVertex, |vertex, rank| (rank, vertex))?;
    match (vertices, ranks) {
        (Some(vertices), Some(ranks)) if vertices != ranks => {
            let reason = "its tables of ranks and vertices are not each the inverse of the other";
            let slot = check.graph.superblock().slot();
            check.note_page(slot, SECTION, other(reason))
        }
        _ => Ok(()),
    }
}

/// The sum of the hashes of all pairs (rank, vertex) of a table. `None` if there is no such table
/// or it has a fault.
fn sum(
    check: &mut Check<'_>,
    kind: SectionKind,
    pair: fn(u64, u64) -> (u64, u64),
) -> Result<Option<u64>> {
    let Some(&section) = check.graph.superblock().section(kind) else { return Ok(None) };
    let key = hash_key(check.graph.superblock());
    let (mut sum, mut page, mut at) = (0u64, 0, 0);
    let sound = check_pages(check, section, &mut |bytes, header| {
        let entries = order::entries(bytes, header, page, section.items)?;
        page += 1;
        for entry in entries {
            let (rank, vertex) = pair(at, u64::from(*entry));
            sum = sum.wrapping_add(mix((rank << 32 | vertex) ^ key));
            at += 1;
        }
        zero_behind("entry", &bytes[HEADER_BYTES + entries.len() * 4..])
    })?;
    Ok(sound.then_some(sum))
}

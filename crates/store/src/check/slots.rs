//! The commit slot that was not read, and the weights that nothing leads to. That the page table is
//! sound was seen when the graph was opened.

use super::Check;
use crate::commit;
use crate::error::{PageFault, Result};
use crate::format::SLOTS;
use crate::graph::Words;
use crate::superblock::{SECTION, SectionKind};
use crate::weights::column;

pub(super) fn check_slots(check: &mut Check<'_>) -> Result<()> {
    let superblock = check.graph.superblock();
    let other = commit::other_slot(check.graph.device().as_ref(), superblock)?;
    let (epoch, slot) = (superblock.epoch, SLOTS - 1 - superblock.slot());
    let fault = match other {
        Ok(None) => return Ok(()),
        Ok(Some(found)) if found + 1 == epoch => return Ok(()),
        Ok(Some(found)) => PageFault::Epoch { found, expected: epoch - 1 },
        Err(fault) => fault,
    };
    check.note_page(slot, SECTION, fault)
}

/// Each place for a weight belongs to one page of lists.
pub(super) fn check_weight_index(check: &mut Check<'_>, kind: SectionKind) -> Result<()> {
    let weights = match kind {
        SectionKind::OutWeightIndex => SectionKind::OutWeights,
        _ => SectionKind::InWeights,
    };
    let graph = check.graph;
    let (Some(index), Some(weights)) =
        (graph.superblock().section(kind), graph.superblock().section(weights))
    else {
        return Ok(());
    };
    let mut words = Words::new(graph, kind)?;
    // As a rule the weights of a page follow those of the page before.
    let mut runs: Vec<std::ops::Range<u64>> = Vec::new();
    loop {
        match words.next() {
            Ok(Some((_, word))) => {
                let addresses = column::addresses(word);
                match runs.last_mut() {
                    Some(run) if run.end == addresses.start => run.end = addresses.end,
                    _ => runs.push(addresses),
                }
            }
            Ok(None) => break,
            // That is told where the lists are checked.
            Err(_) => return Ok(()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs.sort_unstable_by_key(|run| run.start);
    let mut next = 0;
    for run in &runs {
        if run.start != next {
            break;
        }
        next = run.end;
    }
    if next == weights.items && runs.last().is_none_or(|run| run.end == next) {
        return Ok(());
    }
    let reason = format!("the weight at address {next} is of no page of lists, or of two");
    check.note_page(index.first_page, kind.name(), PageFault::Other(reason))
}

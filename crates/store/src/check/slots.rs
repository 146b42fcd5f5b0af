//! The commit slot that is not in use, and the weights that nothing leads to. Opening the graph
//! has verified that the page table is sound.

use super::Check;
use crate::error::{Result, other};
use crate::superblock::SectionKind;
use crate::weights::column;
use crate::words::Words;

pub(super) fn check_slots(check: &mut Check<'_>) -> Result<()> {
    match check.graph.other_slot_fault() {
        Some(fault) => check.note(fault.into()),
        None => Ok(()),
    }
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
    let mut words = Words::new(&graph.pages, kind)?;
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
    check.note_page(index.first_page, kind.name(), other(reason))
}

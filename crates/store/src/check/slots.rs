//! Checks the slot that is not in use, and that the weight index leads to no weight twice.

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

/// Checks that each address of a weight belongs to one page of lists at most, and as many as there
/// are entries to one.
pub(super) fn check_weight_index(check: &mut Check<'_>, kind: SectionKind) -> Result<()> {
    let graph = check.graph;
    let (weights, stored) = match kind {
        SectionKind::OutWeightIndex => (SectionKind::OutWeights, graph.superblock().stored_out),
        _ => (SectionKind::InWeights, graph.superblock().stored_in),
    };
    let (Some(index), Some(weights)) =
        (graph.superblock().section(kind), graph.superblock().section(weights))
    else {
        return Ok(());
    };
    let mut words = Words::new(&graph.pages, kind)?;
    // The weights of a page usually follow those of the page before.
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
            // The check of the lists reports this fault.
            Err(_) => return Ok(()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs.sort_unstable_by_key(|run| run.start);
    let (mut next, mut referenced) = (0, 0);
    for run in &runs {
        if run.start < next {
            let reason = format!("the weight at address {} is of two pages of lists", run.start);
            return check.note_page(index.first_page, kind.name(), other(reason));
        }
        next = run.end;
        referenced += run.end - run.start;
    }
    if referenced == stored && next <= weights.items {
        return Ok(());
    }
    let reason = format!("it leads to {referenced} weights for {stored} entries");
    check.note_page(index.first_page, kind.name(), other(reason))
}

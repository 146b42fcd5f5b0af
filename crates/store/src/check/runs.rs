//! Checks the pages of delta runs. Their changes are checked with the lists.

use super::{Check, check_pages};
use crate::error::{Result, at_most, equal, other};
use crate::runs::page::RunPage;
use crate::runs::run::RunPages;
use crate::superblock::SectionKind;
use crate::{Adjacency, Direction};

/// A page of a run as the index has it: its first group, that of the next page of the same run and
/// direction, and the pages of lists.
struct Indexed {
    first: u64,
    next: u64,
    pages: u64,
}

pub(super) fn check_runs(check: &mut Check<'_>) -> Result<()> {
    let graph = check.graph;
    let Some(&section) = graph.superblock().section(SectionKind::DeltaRuns) else { return Ok(()) };
    let runs = graph.run_index();
    let mut all: Vec<(u64, Indexed)> = Vec::new();
    for (direction, runs) in [(Direction::Out, &runs.out), (Direction::In, &runs.back)] {
        let pages = graph.adjacency(direction).map_or(0, Adjacency::pages);
        runs.iter().for_each(|run| all.extend(indexed(run, pages)));
    }
    all.sort_unstable_by_key(|(page, _)| *page);
    let mut edits = 0;
    let mut indexed = all.into_iter();
    check_pages(check, section, &mut |bytes, header| {
        let (_, Indexed { first, next, pages }) =
            indexed.next().ok_or_else(|| other("the index of the runs does not have it"))?;
        let (mut at, mut found) = (0, None);
        for group in RunPage::parse(bytes, header)?.groups() {
            found.get_or_insert(group.page);
            at = group.page;
            edits += group.edits.len() as u64;
        }
        equal("page of the first group", found.unwrap_or(0), first)?;
        at_most("page of a group", at, next.min(pages - 1))
    })?;
    check.compare("changes of delta runs", section.items, edits)
}

fn indexed(run: &RunPages, pages: u64) -> impl Iterator<Item = (u64, Indexed)> {
    let nexts = run.firsts.iter().skip(1).copied().chain([u64::MAX]);
    let of_page = run.firsts.iter().zip(nexts);
    run.pages
        .clone()
        .zip(of_page)
        .map(move |(page, (&first, next))| (page, Indexed { first, next, pages }))
}

//! Reads entries of lists that are chosen by their positions: of a long list only the pages that
//! hold one of them.

use std::ops::Range;

use super::{Lookup, Wanted};
use crate::error::{PageFault, Result};
use crate::index::Adjacency;
use crate::lookup::long::LongLists;
use crate::page::List;
use crate::{Direction, VertexId};

/// An entry that has not been read; no vertex has this number.
const UNREAD: VertexId = VertexId::MAX;

/// Chooses positions of a list: gets its place among the lists and its length, and appends
/// positions, which ascend and may repeat.
pub type Choose<'c> = &'c mut dyn FnMut(usize, u64, &mut Vec<u64>);

/// Entries that were chosen from lists.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Of one list after the other, in the order in which their lengths were found.
    positions: Vec<u64>,
    entries: Vec<VertexId>,
    /// Those of each list, once they are chosen.
    ranges: Vec<Option<Range<usize>>>,
}

impl Chosen {
    /// The positions that were chosen from list `at`, and the entries there.
    ///
    /// # Panics
    /// If there is no such list.
    pub fn list(&self, at: usize) -> (&[u64], &[VertexId]) {
        let range = self.ranges[at].clone().unwrap_or_default();
        (&self.positions[range.clone()], &self.entries[range])
    }

    /// Appends a list of which `choose` appends the positions, with the entry at each.
    pub fn push(
        &mut self,
        choose: impl FnOnce(&mut Vec<u64>),
        entry_at: impl FnMut(u64) -> VertexId,
    ) {
        let start = self.positions.len();
        choose(&mut self.positions);
        self.entries.extend(self.positions[start..].iter().copied().map(entry_at));
        self.ranges.push(Some(start..self.positions.len()));
    }
}

impl Lookup<'_> {
    /// Reads the entries of the lists of `vertices` at positions that `choose` chooses when it gets
    /// the length of a list. Of a list on several pages only those with a chosen entry are read,
    /// and its first one if its length is not known yet; a position whose page is not known yet may
    /// cost another page. After an error no request is in flight.
    ///
    /// # Errors
    /// As [`Lookup::read`].
    ///
    /// # Panics
    /// If `choose` appends a position beyond a list, or one below the position before.
    pub fn read_chosen(
        &mut self,
        direction: Direction,
        vertices: &[VertexId],
        choose: Choose<'_>,
    ) -> Result<Chosen> {
        let ranges = vec![None; vertices.len()];
        let chosen = Chosen { ranges, ..Chosen::default() };
        let pages = self.pages;
        let Some(adjacency) = pages.layout.adjacency(direction) else { return Ok(chosen) };
        vertices.iter().try_for_each(|&vertex| pages.layout.check_vertex(vertex))?;
        let long = pages.long_lists(direction, adjacency);
        let mut search = Search { adjacency, long, vertices, choose, chosen };
        let mut open: Vec<u32> = (0..vertices.len() as u32).collect();
        loop {
            self.wanted.clear();
            // Each page that is read resolves entries or narrows where they can be.
            open.retain(|&list| search.want(list, &mut self.wanted));
            if open.is_empty() {
                return Ok(search.chosen);
            }
            self.wanted.sort_unstable();
            self.wanted.dedup();
            self.read_wanted(adjacency, &mut |wanted, piece| search.take(wanted, piece))?;
        }
    }
}

struct Search<'a> {
    adjacency: &'a Adjacency,
    long: &'a LongLists,
    vertices: &'a [VertexId],
    choose: Choose<'a>,
    chosen: Chosen,
}

impl Search<'_> {
    /// Adds the pages to read next of a list; false if all of its chosen entries were read.
    fn want(&mut self, list: u32, wanted: &mut Vec<Wanted>) -> bool {
        let vertex = self.vertices[list as usize];
        let pages = self.adjacency.pages_of(vertex);
        let (start, end) = (*pages.start(), *pages.end());
        let degree = if start == end { None } else { self.long.degree(start) };
        let before = wanted.len();
        let want = |page| Wanted { page, vertex, list };
        match (self.chosen.ranges[list as usize].is_some(), degree) {
            (false, None) => wanted.push(want(start)),
            (false, Some(degree)) => self.choose(list, degree),
            (true, _) => {}
        }
        // The entries of a list that a page has as a whole were read when they were chosen.
        let Some(degree) = degree else { return wanted.len() > before };
        let (positions, entries) = self.chosen.list(list as usize);
        for (&position, _) in positions.iter().zip(entries).filter(|(_, entry)| **entry == UNREAD) {
            let page = self.long.page_of(&pages, position, degree);
            if wanted[before..].last().is_none_or(|last| last.page != page) {
                wanted.push(want(page));
            }
        }
        wanted.len() > before
    }

    /// Chooses positions of a list whose length is known now.
    fn choose(&mut self, list: u32, degree: u64) {
        let Chosen { positions, entries, ranges } = &mut self.chosen;
        let start = positions.len();
        (self.choose)(list as usize, degree, positions);
        let of_list = &positions[start..];
        assert!(of_list.is_sorted(), "chosen positions ascend");
        assert!(of_list.last().is_none_or(|last| *last < degree), "a list has chosen positions");
        entries.resize(positions.len(), UNREAD);
        ranges[list as usize] = Some(start..positions.len());
    }

    /// Takes the chosen entries of a piece of a list.
    fn take(&mut self, wanted: &Wanted, piece: &List<'_>) -> Result<(), PageFault> {
        // Of a list on one page this verifies that it has no other.
        if !piece.is_whole() {
            let pages = self.adjacency.pages_of(wanted.vertex);
            self.long.learn(&pages, wanted.page, piece)?;
        }
        if self.chosen.ranges[wanted.list as usize].is_none() {
            self.choose(wanted.list, piece.degree);
        }
        let Chosen { positions, entries, ranges } = &mut self.chosen;
        let range = ranges[wanted.list as usize].clone().expect("positions are chosen");
        let end = piece.skip + piece.targets.len() as u64;
        let of_list = &positions[range.clone()];
        let first = range.start + of_list.partition_point(|position| *position < piece.skip);
        for (position, entry) in positions[first..range.end].iter().zip(&mut entries[first..]) {
            if *position >= end {
                break;
            }
            *entry = piece.targets[(position - piece.skip) as usize];
        }
        Ok(())
    }
}

//! How much longer lists have become by the changes of runs and log.

use super::gather::{DeltaRoom, PageEdit};
use super::{ListDelta, PlacedEdit};
use crate::VertexId;
use crate::error::Result;

/// The change of the length of each list, asked for in ascending order.
pub(crate) struct Lengths<'d> {
    delta: &'d ListDelta,
    /// The first vertex of a page.
    first_of: Box<dyn Fn(u64) -> VertexId + 'd>,
    /// The next page; without runs the next change of the log.
    next: u64,
    /// Ascending by vertex; a long list has one in each of its pages.
    lengths: Vec<(VertexId, i64)>,
    at: usize,
    room: DeltaRoom,
}

impl<'d> Lengths<'d> {
    pub fn new(delta: &'d ListDelta, first_of: impl Fn(u64) -> VertexId + 'd) -> Self {
        let (lengths, room) = (Vec::new(), DeltaRoom::default());
        Self { delta, first_of: Box::new(first_of), next: 0, lengths, at: 0, room }
    }

    /// How much longer the list of a vertex has become.
    pub fn of(&mut self, vertex: VertexId) -> Result<i64> {
        let mut net = 0;
        loop {
            if self.at == self.lengths.len() && !self.load(vertex)? {
                return Ok(net);
            }
            let (owner, by) = self.lengths[self.at];
            if owner > vertex {
                return Ok(net);
            }
            net += if owner == vertex { by } else { 0 };
            self.at += 1;
        }
    }

    /// Loads the lists that are changed next; false if they are behind a vertex.
    fn load(&mut self, vertex: VertexId) -> Result<bool> {
        let Self { delta, first_of, next, lengths, at, room } = self;
        (*at, _) = (0, lengths.clear());
        if delta.runs.is_none() {
            let rest = &delta.edits[*next as usize..];
            let Some(edits) = rest.chunk_by(|a, b| a.owner == b.owner).next() else {
                return Ok(false);
            };
            *next += edits.len() as u64;
            lengths.push((edits[0].owner, edits.iter().map(PlacedEdit::net).sum()));
            return Ok(true);
        }
        while lengths.is_empty() {
            let page = *next;
            if page > delta.last_page || first_of(page) > vertex {
                return Ok(false);
            }
            *next += 1;
            if let Some(delta) = delta.of_page(page, first_of(page), room)? {
                let of_lists = delta.edits.chunk_by(|a, b| a.owner() == b.owner());
                let net = |edits: &[PageEdit]| edits.iter().map(|edit| edit.net()).sum();
                let first = delta.first;
                lengths.extend(of_lists.map(|edits| (first + edits[0].owner(), net(edits))));
            }
        }
        Ok(true)
    }
}

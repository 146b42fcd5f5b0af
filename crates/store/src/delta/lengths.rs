//! How much longer lists have become by the changes of runs and log.

use super::gather::{BEYOND, RunsFrom};
use super::{ListDelta, PlacedEdit, run};
use crate::VertexId;
use crate::error::{Result, other};
use crate::runs::read::RunCursor;

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
    /// Of each list of a page.
    nets: Vec<i64>,
    cursors: Vec<RunCursor>,
}

impl<'d> Lengths<'d> {
    /// The changes from the list of a vertex on, which begins in a page.
    pub fn new(
        delta: &'d ListDelta,
        first_of: impl Fn(u64) -> VertexId + 'd,
        (page, vertex): (u64, VertexId),
    ) -> Self {
        let edits = || delta.edits.partition_point(|edit| edit.owner < vertex) as u64;
        Self {
            delta,
            first_of: Box::new(first_of),
            next: if delta.runs.is_some() { page } else { edits() },
            lengths: Vec::new(),
            at: 0,
            nets: Vec::new(),
            cursors: Vec::new(),
        }
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
        let Self { delta, first_of, next, lengths, at, nets, cursors } = self;
        (*at, _) = (0, lengths.clear());
        let Some(RunsFrom { runs, from }) = &delta.runs else {
            let rest = &delta.edits[*next as usize..];
            let Some(edits) = rest.chunk_by(|a, b| a.owner == b.owner).next() else {
                return Ok(false);
            };
            *next += edits.len() as u64;
            lengths.push((edits[0].owner, edits.iter().map(PlacedEdit::net).sum()));
            return Ok(true);
        };
        while lengths.is_empty() {
            let page = *next;
            if page > delta.last_page || first_of(page) > vertex {
                return Ok(false);
            }
            *next += 1;
            let first = first_of(page);
            let lists = delta.lists_max(page, first);
            nets.clear();
            // An entry that is added by one and deleted by another adds up to nothing.
            runs.of_page(*from, page, cursors, &mut |group| {
                let Some(last) = group.edits.last() else { return Ok(()) };
                if last.owner() >= lists {
                    return Err(other(BEYOND));
                }
                if nets.len() <= last.owner() as usize {
                    nets.resize(last.owner() as usize + 1, 0);
                }
                for edit in group.edits {
                    nets[edit.owner() as usize] += if edit.is_added() { 1 } else { -1 };
                }
                Ok(())
            })?;
            for edit in run(&delta.edits, page, PlacedEdit::page) {
                let owner = (edit.owner - first) as usize;
                nets.resize(nets.len().max(owner + 1), 0);
                nets[owner] += edit.net();
            }
            let changed = (first..).zip(nets.iter().copied()).filter(|(_, net)| *net != 0);
            lengths.extend(changed);
        }
        Ok(true)
    }
}

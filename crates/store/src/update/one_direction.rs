//! The lists of one direction, and what a batch changes in them.

use std::ops::Range;

use super::degrees::DegreeEdit;
use super::edits::{Changes, Edit};
use super::weights::EditedColumn;
use crate::graph::Graph;
use crate::{Adjacency, Direction};

/// What happened to the lists of one direction.
#[derive(Default)]
pub(super) struct Rewritten<'g> {
    /// The pages that were packed anew, ascending, by their numbers before, and the index words of
    /// those that take their place.
    pub groups: Vec<(Range<u64>, Vec<u64>)>,
    /// The lengths of the lists, to be finished if any page was packed anew.
    pub degrees: Option<DegreeEdit<'g>>,
    /// Entries of all lists.
    pub stored: u64,
    /// By how many the edges that repeat another have become more.
    pub repeats: i64,
    pub pages_read: u64,
    /// `None` if no weight changed.
    pub column: Option<EditedColumn>,
}

/// The lists of one direction, and what a batch changes in them.
pub(super) struct Lists<'a> {
    pub graph: &'a Graph,
    pub direction: Direction,
    pub adjacency: &'a Adjacency,
    pub edits: &'a [Edit],
    pub changes: Changes<'a>,
    /// Vertices after the batch.
    pub vertices: u32,
}

impl Lists<'_> {
    /// Vertices before the batch.
    pub fn base(&self) -> u32 {
        self.graph.vertices() as u32
    }
}

//! On which page the list of a vertex starts, for vertices that mostly follow each other.

use std::ops::Range;

use cenote_engine::{Adjacency, VertexId};

/// The page that was found last, with the vertices whose lists start there; none at first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PageOf {
    number: u64,
    starting: Range<VertexId>,
}

impl PageOf {
    /// The page on which the list of `v` starts; fast if it is the one that was found last.
    #[inline(always)]
    pub fn find(&mut self, lists: &Adjacency, v: VertexId) -> u64 {
        if !self.starting.contains(&v) {
            self.number = *lists.pages_of(v).start();
            self.starting = lists.starting_in(self.number);
        }
        self.number
    }
}

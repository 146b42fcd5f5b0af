//! Lists as edits have made them.

use std::ops::Range;

use crate::VertexId;

/// Lists that edits have made, one after the other.
#[derive(Debug, Default)]
pub(super) struct EditedLists {
    pub entries: Vec<VertexId>,
    /// Ordered bits, one for each entry; none in a graph without weights.
    pub weights: Vec<u64>,
    /// The weights of entries before and after, where they differ.
    pub swaps: Vec<[Option<u64>; 2]>,
    /// By how many the edges that repeat another have become more; both directions count them.
    pub repeats: i64,
}

impl EditedLists {
    /// Appends a part of a list as it is.
    pub fn copy(&mut self, list: &[VertexId], weights: &[u64], part: Range<usize>) {
        self.entries.extend_from_slice(&list[part.clone()]);
        if !weights.is_empty() {
            self.weights.extend_from_slice(&weights[part]);
        }
    }
}

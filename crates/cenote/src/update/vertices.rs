//! Vertices that are added and deleted.

use cenote_store::Op;

use super::Update;
use crate::error::Result;

impl Update {
    /// Adds a vertex without edges with the next commit.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn add_vertex(&mut self, id: impl ToString) -> Result<()> {
        self.change(Op::AddVertex, [&id, &id], None)
    }

    /// Deletes a vertex with all its edges with the next commit. Its number and its id stay in the
    /// file until it is compacted.
    ///
    /// # Errors
    /// As [`Update::add`].
    pub fn delete_vertex(&mut self, id: impl ToString) -> Result<()> {
        self.change(Op::DeleteVertex, [&id, &id], None)
    }
}

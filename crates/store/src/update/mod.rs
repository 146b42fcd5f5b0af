//! Changes of a stored graph in batches: each batch is one commit.
//!
//! A large batch of edges becomes a delta run where there is room for one. Any other batch rewrites
//! the pages of the lists that it changes, copy-on-write, and nothing else: pages between them keep
//! their places. What a page cannot hold any more goes to a new page behind it. Readers of earlier
//! epochs keep reading theirs.
//!
//! - [`Batch`], [`Change`], [`Answer`]: what is to change, and what became of it
//! - `apply`: a batch from its check to its commit
//! - `copies`: the copies of an entry where edges repeat
//! - `ahead`: pages that are read while those before them are rewritten
//! - `answers`: what became of each change
//! - `edits`: the changes as they concern single lists; `edited`: the lists that they make
//! - `one_direction`: lists, and what a batch changes in them
//! - `lists`: pages of lists, packed anew; `group_lists`: those that are packed together
//! - `in_order`: work on several threads whose results are taken in order
//! - `place`: finds the places of the changes of a batch, for a run
//! - `spill`: writes the changes of the log, or of a batch, as a delta run
//! - `page_index`: the page index; `degrees`: the lengths of lists
//! - `moved`: where lists lie that were packed anew; `rebase`: brings changes to them that were
//!   committed meanwhile
//! - `watch`: progress and cancellation
//! - `values`: values of vertices; `vertices`: those that are deleted or come back
//! - `weights`: the weights of lists that change, and where they lie

mod ahead;
mod answers;
mod apply;
mod copies;
mod degrees;
mod edited;
mod edits;
mod group_lists;
mod in_order;
mod lists;
pub(crate) mod moved;
mod one_direction;
mod page_index;
mod place;
pub(crate) mod rebase;
mod spill;
mod values;
mod vertices;
pub mod watch;
mod weights;

pub(crate) use apply::{Update, check};

use crate::VertexId;
use crate::ids::Id;
use crate::values::Value;
use crate::weights::Weight;

/// What a change does with an edge or a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds the edge; in a graph that keeps repeated edges once more, if it is there.
    Add,
    /// Deletes the edge, if the change has a weight only one of this weight. Of repeated edges it
    /// deletes one, of those with the smallest weight unless the change has one.
    Delete,
    /// Sets the weight of the edge, which must be there; of all its copies, if it repeats.
    Set,
    /// Adds the vertex, which was deleted, without edges. New ids need no such change.
    AddVertex,
    /// Deletes the vertex with all its edges. It keeps its number until the graph is compacted.
    DeleteVertex,
    /// Sets the value of the vertex.
    SetValue,
    /// Removes the value of the vertex, which must have one.
    RemoveValue,
}

impl Op {
    /// Whether it changes a vertex, not an edge.
    pub fn is_of_vertex(self) -> bool {
        matches!(self, Self::AddVertex | Self::DeleteVertex | Self::SetValue | Self::RemoveValue)
    }

    /// Whether a batch with such a change is a commit, since the log cannot have it.
    pub(crate) fn is_commit(self) -> bool {
        matches!(self, Self::DeleteVertex | Self::SetValue | Self::RemoveValue)
    }
}

/// A change of one edge or vertex. In an undirected graph the order of the ends of an edge does not
/// matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// What to do.
    pub op: Op,
    /// One end: the vertex that the edge leaves, where edges have a direction.
    pub source: VertexId,
    /// The other end; in a change of a vertex the same.
    pub target: VertexId,
}

impl Change {
    /// A change of a vertex.
    pub fn of_vertex(op: Op, vertex: VertexId) -> Self {
        Self { op, source: vertex, target: vertex }
    }
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Answer {
    /// The edge or vertex was added or deleted, or its weight or value was set or removed.
    Done,
    /// An edge or vertex to be added was there already; the edge keeps its weight. Not of edges in
    /// a graph that keeps repeated ones.
    Present,
    /// An edge to be deleted, or whose weight was to be set, was not there, or not with the weight
    /// of the deletion, or a vertex had no value to be removed.
    Absent,
    /// A self-loop was not added, because the graph keeps none.
    SelfLoop,
    /// A vertex to be deleted, or whose value was to be set or removed, is deleted already, or an
    /// end of an edge to be deleted or whose weight was to be set.
    Unknown,
}

/// Changes that are made together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Ids of new vertices, which get the next numbers in this order. None of them may be an id of
    /// the graph already.
    pub new_ids: Vec<Id>,
    /// The changes; of several of one edge or vertex the later sees what the earlier did. An edge
    /// that is added to a deleted vertex adds the vertex too.
    pub changes: Vec<Change>,
    /// The weights of the changes, one for each, or none at all. In a graph with weights every
    /// change that adds an edge or sets its weight has one, of the type of the graph's, and one
    /// that deletes an edge may have one; elsewhere none has.
    pub weights: Vec<Option<Weight>>,
    /// The values that are set, one for each such change. They have the type of the graph's values;
    /// the first ones give it, all the same.
    pub values: Vec<Value>,
    /// Most edges that the deleted vertices may have, since they are in memory; `None` for any.
    pub deleted_edges_max: Option<u64>,
}

/// What a batch did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Updated {
    /// The epoch that the batch made; the one before where nothing changed.
    pub epoch: u64,
    /// One for each change, in the order of the batch.
    pub answers: Vec<Answer>,
    /// Pages of lists that were read because a change concerns one of their lists.
    pub pages_read: u64,
    /// Pages that were written, of lists and of everything else.
    pub pages_written: u64,
    /// Bytes that this thread wrote to the log, with the zeros of a log that it made.
    pub log_bytes: u64,
    /// Changes of the log that were merged into the lists.
    pub merged: u64,
    /// Changes of lists that delta runs had and that were merged into the lists.
    pub merged_entries: u64,
    /// Changes of the log that were written as a delta run.
    pub spilled: u64,
    /// Deleted vertices that were added again, those that the batch itself deleted included.
    pub revived: u64,
    /// Edges that were deleted with a vertex.
    pub edges_of_vertices: u64,
}

impl Updated {
    pub(crate) fn unchanged(epoch: u64) -> Self {
        Self {
            epoch,
            answers: Vec::new(),
            pages_read: 0,
            pages_written: 0,
            log_bytes: 0,
            merged: 0,
            merged_entries: 0,
            spilled: 0,
            revived: 0,
            edges_of_vertices: 0,
        }
    }
}

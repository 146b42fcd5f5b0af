//! What a commit did.

use cenote_store::{Answer, Op, Updated};
use serde::Serialize;

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum ChangeAnswer {
    /// The edge or vertex was added or deleted, or the edge got another weight.
    Done,
    /// An edge or vertex to be added was there already; the edge keeps its weight.
    Present,
    /// An edge to be deleted, or to get another weight, was not there.
    Absent,
    /// A self-loop was not added, because the graph keeps none.
    SelfLoop,
    /// A vertex to be deleted is none, or an end of an edge to be deleted or to get another weight.
    UnknownVertex,
}

impl From<Answer> for ChangeAnswer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done => Self::Done,
            Answer::Present => Self::Present,
            Answer::Absent => Self::Absent,
            Answer::SelfLoop => Self::SelfLoop,
            Answer::Unknown => Self::UnknownVertex,
        }
    }
}

/// What a commit did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UpdateReport {
    /// The epoch of the graph's lists now: a new one, unless the changes are in the log.
    pub epoch: u64,
    /// Edges added.
    pub added: u64,
    /// Edges and vertices to be added that were there already.
    pub present: u64,
    /// Edges deleted, without those of deleted vertices.
    pub deleted: u64,
    /// Edges to be deleted, or to get another weight, and values to be removed, that were not
    /// there.
    pub absent: u64,
    /// Edges that got another weight.
    pub reweighted: u64,
    /// Self-loops that were not added, because the graph keeps none.
    pub self_loops: u64,
    /// Vertices to be deleted that are none, and edges to be deleted, or to get another weight,
    /// with an end that is none.
    pub unknown_vertices: u64,
    /// Vertices added, by themselves or with an edge.
    pub new_vertices: u64,
    /// Vertices deleted.
    pub deleted_vertices: u64,
    /// Edges that were deleted with them.
    pub deleted_with_vertices: u64,
    /// Vertices whose value was set.
    pub values_set: u64,
    /// Vertices whose value was removed.
    pub values_removed: u64,
    /// Pages of lists read.
    pub pages_read: u64,
    /// Pages written, of lists and of everything else.
    pub pages_written: u64,
    /// Their bytes.
    pub bytes_written: u64,
    /// Bytes written to the log.
    pub log_bytes_written: u64,
    /// Changes of the log that were merged into the lists.
    pub merged: u64,
    /// Changes of lists that were in delta runs and were merged into the lists; an undirected edge
    /// has two.
    pub merged_entries: u64,
    /// Changes of the log that became a delta run.
    pub spilled: u64,
    /// What became of each change, in their order.
    #[serde(skip)]
    pub answers: Vec<ChangeAnswer>,
}

impl UpdateReport {
    /// Adds the answer of the next change.
    pub(super) fn push(&mut self, op: Op, answer: ChangeAnswer) {
        let count = match (answer, op) {
            (ChangeAnswer::Done, Op::Add) => &mut self.added,
            (ChangeAnswer::Done, Op::Delete) => &mut self.deleted,
            (ChangeAnswer::Done, Op::Set) => &mut self.reweighted,
            (ChangeAnswer::Done, Op::DeleteVertex) => &mut self.deleted_vertices,
            (ChangeAnswer::Done, Op::SetValue) => &mut self.values_set,
            (ChangeAnswer::Done, Op::RemoveValue) => &mut self.values_removed,
            // Counted with the new vertices that edges bring.
            (ChangeAnswer::Done, Op::AddVertex) => return self.answers.push(answer),
            (ChangeAnswer::Present, _) => &mut self.present,
            (ChangeAnswer::Absent, _) => &mut self.absent,
            (ChangeAnswer::SelfLoop, _) => &mut self.self_loops,
            (ChangeAnswer::UnknownVertex, _) => &mut self.unknown_vertices,
        };
        *count += 1;
        self.answers.push(answer);
    }

    /// Adds what a commit read and wrote.
    pub(super) fn count(&mut self, done: &Updated, page_bytes: u32) {
        self.count_beside(done, page_bytes);
        self.epoch = done.epoch;
        self.log_bytes_written += done.log_bytes;
        self.merged += done.merged;
        self.new_vertices += done.revived;
        self.deleted_with_vertices += done.edges_of_vertices;
    }

    /// Adds what a merge beside commits read and wrote.
    pub(super) fn count_beside(&mut self, done: &Updated, page_bytes: u32) {
        self.pages_read += done.pages_read;
        self.pages_written += done.pages_written;
        self.bytes_written += done.pages_written * u64::from(page_bytes);
        self.merged_entries += done.merged_entries;
        self.spilled += done.spilled;
    }

    /// Adds the counts of a later commit, without its answers.
    pub fn merge(&mut self, later: &Self) {
        self.epoch = later.epoch;
        let counts = [
            (&mut self.added, later.added),
            (&mut self.present, later.present),
            (&mut self.deleted, later.deleted),
            (&mut self.absent, later.absent),
            (&mut self.reweighted, later.reweighted),
            (&mut self.self_loops, later.self_loops),
            (&mut self.unknown_vertices, later.unknown_vertices),
            (&mut self.new_vertices, later.new_vertices),
            (&mut self.deleted_vertices, later.deleted_vertices),
            (&mut self.deleted_with_vertices, later.deleted_with_vertices),
            (&mut self.values_set, later.values_set),
            (&mut self.values_removed, later.values_removed),
            (&mut self.pages_read, later.pages_read),
            (&mut self.pages_written, later.pages_written),
            (&mut self.bytes_written, later.bytes_written),
            (&mut self.log_bytes_written, later.log_bytes_written),
            (&mut self.merged, later.merged),
            (&mut self.merged_entries, later.merged_entries),
            (&mut self.spilled, later.spilled),
        ];
        counts.into_iter().for_each(|(sum, more)| *sum += more);
    }
}

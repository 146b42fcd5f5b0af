//! Which changes become delta runs, and when runs are merged into the lists.

use std::sync::MutexGuard;

use super::{Live, NEW_IDS_BYTES_MAX, NEW_VERTICES_MAX, Store, WriteLimits};
use crate::Direction;
use crate::error::Result;
use crate::graph::Graph;
use crate::index::Adjacency;
use crate::log::encoded_id_bytes;
use crate::readers::lock;
use crate::runs::page::run_bytes;
use crate::superblock::SectionKind;
use crate::update::watch::{UNWATCHED, Watch};
use crate::update::{Batch, Change, Op, Updated};

impl Store {
    /// Merges delta runs and log into the lists if the runs are more than passes over the lists
    /// should read ([`run_percent`](super::WriteLimits::run_percent)); for the end of a series of
    /// large batches.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn settle(&self) -> Result<Updated> {
        self.settle_watched(UNWATCHED)
    }

    /// [`Store::settle`], watched.
    ///
    /// # Errors
    /// As [`Store::settle`], and [`StoreError::Cancelled`](crate::StoreError::Cancelled).
    pub fn settle_watched(&self, watch: Watch<'_>) -> Result<Updated> {
        let mut live = lock(&self.live);
        let graph = self.base_graph(&mut live)?;
        match run_pages_max(&graph, self.limits.run_percent) < run_pages(&graph) {
            true => self.update_with(live, &Batch::default(), watch),
            false => Ok(Updated::unchanged(graph.superblock().epoch)),
        }
    }

    /// Makes a batch, with all changes of the log, a commit: as a delta run if there is room for
    /// one, else in the lists, which then take all runs.
    pub(super) fn make_commit<'s>(
        &'s self,
        mut live: MutexGuard<'s, Live>,
        batch: &Batch,
        watch: Watch<'s>,
    ) -> Result<Updated> {
        let graph = self.base_graph(&mut live)?;
        let of_edges = |change: &Change| matches!(change.op, Op::Add | Op::Delete);
        let may_be_run = graph.superblock().has_plain_edges()
            && batch.changes.iter().all(of_edges)
            && !is_for_commit(&graph, batch);
        if may_be_run && self.has_room_for_run(&live, batch, batch.changes.len()) {
            if let Some(updated) = self.update_as_run(live, batch, watch)? {
                return Ok(updated);
            }
            live = lock(&self.live);
        }
        self.update_with(live, batch, watch)
    }

    /// Whether there is room for a run of the changes of the log and so many of a batch, which has
    /// new ids.
    pub(super) fn has_room_for_run(&self, live: &Live, batch: &Batch, changes: usize) -> bool {
        let (pending, graph) = (live.pending(), live.base_graph());
        let changes = (pending.edges.len() + changes) as u64;
        let percent = match batch.changes.len() > WriteLimits::LOGGED_MAX {
            true => self.limits.bulk_run_percent,
            false => self.limits.beside_percent,
        };
        let percent = percent.max(self.limits.run_percent);
        let new_ids = pending.id_bytes + encoded_id_bytes(&batch.new_ids);
        // A graph without vertices has no page to read new lists with.
        graph.vertices() > 0
            && graph.superblock().has_plain_edges()
            && changes > 0
            && live.new_vertices() + batch.new_ids.len() <= NEW_VERTICES_MAX
            && new_ids <= NEW_IDS_BYTES_MAX
            && run_pages(graph) + pages_of_run(graph, changes) <= run_pages_max(graph, percent)
    }
}

/// Pages of a run of so many changes.
pub(super) fn pages_of_run(graph: &Graph, changes: u64) -> u64 {
    run_bytes(2 * changes, list_pages(graph)).div_ceil(graph.page_bytes() as u64)
}

/// Whether a batch deletes vertices, changes their values, or concerns deleted ones, which the log
/// cannot have.
pub(super) fn is_for_commit(graph: &Graph, batch: &Batch) -> bool {
    let is_deleted = |vertex| !graph.deleted().is_empty() && graph.is_deleted(vertex);
    let mut changes = batch.changes.iter();
    changes.any(|Change { op, source, target }| {
        op.is_commit() || is_deleted(*source) || is_deleted(*target)
    })
}

/// Pages of the lists of both directions.
pub(super) fn list_pages(graph: &Graph) -> u64 {
    of_lists(graph, Adjacency::pages)
}

/// The sum of what is counted of the lists of both directions.
fn of_lists(graph: &Graph, count: fn(&Adjacency) -> u64) -> u64 {
    let lists = [Direction::Out, Direction::In].map(|direction| graph.adjacency(direction));
    let [out, back] = lists.map(|lists| lists.map_or(0, count));
    out + if graph.is_directed() { back } else { 0 }
}

pub(super) fn run_pages(graph: &Graph) -> u64 {
    graph.superblock().section(SectionKind::DeltaRuns).map_or(0, |runs| runs.pages)
}

/// So many pages of delta runs are a share of the lists, of packed ones as if they were raw: they
/// take as much work to merge, and runs are not packed.
pub(super) fn run_pages_max(graph: &Graph, percent: u64) -> u64 {
    let entry_bytes = 4 * of_lists(graph, Adjacency::stored_edges);
    let raw_pages = list_pages(graph).max(entry_bytes / graph.page_bytes() as u64);
    raw_pages.saturating_mul(percent) / 100
}

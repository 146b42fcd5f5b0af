//! Writes the changes of the log as a delta run.

use std::sync::MutexGuard;

use super::Batch;
use super::apply::Update;
use crate::Direction;
use crate::error::Result;
use crate::log::log_fault;
use crate::runs::write::RunWriter;
use crate::store::{Live, Store};

/// What was written.
pub(crate) struct Spilled {
    pub changes: u64,
    pub pages: u64,
}

impl Store {
    /// Writes the changes of the log as a delta run, with the last runs where they have become
    /// many, in one commit. `None` if nothing would be left of them and of all runs: then nothing
    /// has changed.
    pub(crate) fn spill(&self, live: MutexGuard<'_, Live>) -> Result<Option<Spilled>> {
        let mut transaction = self.begin_with(self.quiet(live))?;
        let graph = transaction.base()?;
        let superblock = graph.superblock();
        let runs = graph.run_index();
        let (kept, level) = runs.next_run();
        let mut directions = vec![Direction::Out];
        directions.extend(superblock.in_edges.then_some(Direction::In));
        let (mut deltas, pending) = (Vec::new(), transaction.pending());
        for direction in directions {
            let lists = graph.adjacency(direction).expect("the graph has this direction");
            let delta =
                lists.with_log(lists.runs_from(kept), pending, direction, superblock.directed);
            let delta = delta.map_err(|fault| log_fault(graph.file(), superblock, fault))?;
            deltas.push((direction, lists, delta));
        }
        let (counts, changes) = (pending.counts, pending.edges.len() as u64);
        let batch = Batch { new_ids: pending.new_ids.clone(), ..Batch::default() };
        let mut writer = RunWriter::begin(&mut transaction, &graph, runs, (kept, level))?;
        for (direction, lists, delta) in &deltas {
            let first_of = |page| lists.vertices_in(page).start;
            delta.for_each_group(&first_of, &mut |group| writer.group(group))?;
            writer.end(*direction)?;
        }
        if writer.is_empty() {
            return Ok(None);
        }
        writer.finish()?;
        let vertices = counts.vertices as u32;
        let mut update =
            Update { graph: &graph, transaction: &mut transaction, batch: &batch, vertices };
        update.ids()?;
        let superblock = transaction.superblock();
        superblock.vertices = counts.vertices;
        superblock.edges = counts.edges;
        (superblock.stored_out, superblock.stored_in) = (counts.stored_out, counts.stored_in);
        superblock.degree_max = counts.degree_max;
        superblock.degree_max_vertex = counts.degree_max_vertex;
        let pages = transaction.pages_written();
        transaction.commit()?;
        Ok(Some(Spilled { changes, pages }))
    }
}

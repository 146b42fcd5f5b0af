//! Writes changes as a delta run: those of the log, and those of a batch.

use std::sync::MutexGuard;

use super::ahead::PAGES_MAX;
use super::apply::{Update, check};
use super::edits::{Changes, edits_of};
use super::in_order::Items;
use super::one_direction::Lists;
use super::place::{Placed, PlacedTo};
use super::watch::{UNWATCHED, Watch};
use super::{Answer, Batch, Change, Op, Updated};
use crate::degrees::longer;
use crate::delta::{DeltaRoom, ListDelta, PlacedEdit};
use crate::error::Result;
use crate::gallop::gallop;
use crate::graph::Graph;
use crate::index::Adjacency;
use crate::log::log_fault;
use crate::runs::page::RunGroups;
use crate::runs::write::RunWriter;
use crate::store::transaction::Transaction;
use crate::store::{Live, Store};
use crate::{Direction, VertexId};

/// Changes that a thread puts together at a time, about, and most pages of lists that they are of.
const PART_EDITS: u64 = 1 << 14;
const PART_PAGES_MAX: u64 = 16;

/// What was written.
pub(crate) struct Spilled {
    pub changes: u64,
    pub pages: u64,
}

/// The changes of a direction that become a run, with those of the last runs.
type RunDelta<'g> = (Direction, &'g Adjacency, ListDelta);

impl Store {
    /// Writes the changes of the log as a delta run, with the last runs where they have become
    /// many, in one commit. `None` if nothing would be left of them and of all runs: then nothing
    /// has changed.
    pub(crate) fn spill(&self, live: MutexGuard<'_, Live>) -> Result<Option<Spilled>> {
        let mut transaction = self.begin_with(self.quiet(live), UNWATCHED)?;
        transaction.keep_lists();
        let graph = transaction.base()?;
        let superblock = graph.superblock();
        let (kept, _) = graph.run_index().next_run(transaction.runs_merging());
        let (mut deltas, pending) = (Vec::new(), transaction.pending());
        for direction in directions(&graph) {
            let lists = graph.adjacency(direction).expect("the graph has this direction");
            let delta =
                lists.with_log(lists.runs_from(kept), pending, direction, superblock.directed);
            let delta = delta.map_err(|fault| log_fault(graph.file(), superblock, fault))?;
            deltas.push((direction, lists, delta));
        }
        let (counts, changes) = (pending.counts, pending.edges.len() as u64);
        let batch = Batch { new_ids: pending.new_ids.clone(), ..Batch::default() };
        if !write_run(&mut transaction, &graph, &deltas)? {
            return Ok(None);
        }
        let vertices = counts.vertices as u32;
        let mut update =
            Update { graph: &graph, draft: &mut transaction.draft, batch: &batch, vertices };
        update.ids()?;
        counts.set(transaction.superblock());
        let pages = transaction.draft.pages_written();
        transaction.commit()?;
        Ok(Some(Spilled { changes, pages }))
    }

    /// Makes a batch of changes of edges, and those of the log before it, in one commit that writes
    /// them as a delta run. `None` if the lists have to be rewritten instead: then nothing has
    /// changed.
    pub(crate) fn update_as_run<'s>(
        &'s self,
        live: MutexGuard<'s, Live>,
        batch: &Batch,
        watch: Watch<'s>,
    ) -> Result<Option<Updated>> {
        let mut transaction = self.begin_with(self.quiet(live), watch)?;
        transaction.keep_lists();
        let graph = transaction.base()?;
        let (logged, batch) = transaction.with_logged(batch);
        let batch = batch.as_ref();
        check(&graph, None, batch)?;
        let vertices = (graph.vertices() + batch.new_ids.len()) as u32;
        let mut updated = Updated {
            answers: vec![Answer::Done; batch.changes.len()],
            spilled: logged as u64,
            ..Updated::unchanged(graph.superblock().epoch)
        };
        let of_batch = (batch, vertices);
        let Some(made) = write_batch(&mut transaction, &graph, of_batch, &mut updated)? else {
            return Ok(None);
        };
        if !made.is_changed {
            return Ok(Some(updated));
        }
        let mut update = Update { graph: &graph, draft: &mut transaction.draft, batch, vertices };
        update.ids()?;
        update.counts(&updated.answers);
        let superblock = transaction.superblock();
        for (direction, net) in made.nets {
            let stored = match direction {
                Direction::Out => &mut superblock.stored_out,
                Direction::In => &mut superblock.stored_in,
            };
            *stored = stored.saturating_add_signed(net);
        }
        if let Some(longest) = made.longest {
            (superblock.degree_max, superblock.degree_max_vertex) = longest;
        }
        updated.pages_written = transaction.draft.pages_written();
        updated.epoch = transaction.commit()?;
        updated.answers.drain(..logged);
        Ok(Some(updated))
    }
}

/// The directions in which lists are stored.
fn directions(graph: &Graph) -> impl Iterator<Item = Direction> + use<> {
    let back = graph.superblock().in_edges.then_some(Direction::In);
    [Direction::Out].into_iter().chain(back)
}

/// What a batch has changed, as a run.
#[derive(Default)]
struct Made {
    /// By how many entries the lists of each direction become longer.
    nets: Vec<(Direction, i64)>,
    longest: Option<(u64, VertexId)>,
    is_changed: bool,
}

impl Made {
    fn add(&mut self, graph: &Graph, direction: Direction, placed: &Placed) -> Result<()> {
        self.nets.push((direction, placed.net));
        self.is_changed |= placed.is_changed;
        if direction == Direction::Out {
            self.longest = Some(match placed.longest {
                Some(longest) => longest,
                None => longest_with(graph, &placed.edits)?,
            });
        }
        Ok(())
    }
}

/// Writes the changes of a batch as a run, with the last runs where they have become many. `None`
/// if the lists have to be rewritten instead.
fn write_batch(
    transaction: &mut Transaction<'_>,
    graph: &Graph,
    (batch, vertices): (&Batch, u32),
    updated: &mut Updated,
) -> Result<Option<Made>> {
    let runs = graph.run_index();
    let next = runs.next_run(transaction.runs_merging());
    let is_changed = updated.spilled > 0 || !batch.new_ids.is_empty();
    let mut made = Made { is_changed, ..Made::default() };
    if next.0 == runs.out.len() {
        // Their places are written as they are found.
        let is_kept = may_shorten_longest(graph, batch);
        let mut writer = RunWriter::begin(&mut transaction.draft, graph, runs, next)?;
        for direction in directions(graph) {
            let to = PlacedTo::Run(&mut writer, is_kept);
            let placed = place(graph, (batch, vertices, direction), to, &mut updated.answers)?;
            let Some(placed) = placed else { return Ok(None) };
            updated.pages_read += placed.pages_read;
            made.add(graph, direction, &placed)?;
            writer.end(direction)?;
        }
        let is_empty = made.is_changed && writer.is_empty();
        if made.is_changed && !is_empty {
            writer.finish()?;
        }
        return Ok((!is_empty).then_some(made));
    }
    let mut deltas = Vec::new();
    for direction in directions(graph) {
        let to = PlacedTo::Kept(&mut transaction.draft);
        let placed = place(graph, (batch, vertices, direction), to, &mut updated.answers)?;
        let Some(placed) = placed else { return Ok(None) };
        updated.pages_read += placed.pages_read;
        made.add(graph, direction, &placed)?;
        let lists = graph.adjacency(direction).expect("the graph has this direction");
        let delta = lists.with_edits(lists.runs_from(next.0), placed.edits, vertices);
        deltas.push((direction, lists, delta));
    }
    let is_written = !made.is_changed || write_run(transaction, graph, &deltas)?;
    Ok(is_written.then_some(made))
}

/// Whether a batch deletes edges of the vertex with the longest list.
fn may_shorten_longest(graph: &Graph, batch: &Batch) -> bool {
    let vertex = graph.superblock().degree_max_vertex;
    let mut changes = batch.changes.iter();
    changes.any(|&Change { op, source, target }| {
        op != Op::Add && (source == vertex || target == vertex)
    })
}

fn place(
    graph: &Graph,
    (batch, vertices, direction): (&Batch, u32, Direction),
    to: PlacedTo<'_, '_, '_>,
    answers: &mut [Answer],
) -> Result<Option<Placed>> {
    let superblock = graph.superblock();
    let edits = edits_of(&batch.changes, direction, superblock.directed, vertices.into());
    let changes = Changes::of(batch, superblock);
    let adjacency = graph.adjacency(direction).expect("the graph has this direction");
    Lists { graph, direction, adjacency, edits: &edits, changes, vertices }.place(to, answers)
}

/// The longest list of targets and its smallest vertex, with some changes, by a pass over the
/// lengths of all lists.
fn longest_with(graph: &Graph, edits: &[PlacedEdit]) -> Result<(u64, VertexId)> {
    let (mut longest, mut rest) = ((0, 0), edits);
    let mut net_of = |vertex: VertexId| {
        if rest.first().is_none_or(|edit| edit.owner > vertex) {
            return 0;
        }
        let (own, behind) = rest.split_at(gallop(rest, |edit| edit.owner <= vertex));
        rest = behind;
        own.iter().map(PlacedEdit::net).sum::<i64>()
    };
    graph.degrees(Direction::Out, &mut |first, degrees| {
        for (vertex, &degree) in (first..).zip(degrees) {
            let degree = degree.saturating_add_signed(net_of(vertex));
            longest = longer(longest, (degree, vertex));
        }
    })?;
    // Those of new vertices.
    for of_list in rest.chunk_by(|a, b| a.owner == b.owner) {
        longest = longer(longest, (of_list.len() as u64, of_list[0].owner));
    }
    Ok(longest)
}

/// Pages of lists whose changes a thread puts together at a time.
fn part_pages(delta: &ListDelta) -> u64 {
    let pages = PART_EDITS.saturating_mul(delta.pages()) / (delta.edits() as u64).max(1);
    pages.clamp(1, PART_PAGES_MAX)
}

/// Writes a run, with the last runs where they have become many; false if nothing would be left of
/// them and of all runs.
fn write_run(
    transaction: &mut Transaction<'_>,
    graph: &Graph,
    deltas: &[RunDelta<'_>],
) -> Result<bool> {
    let runs = graph.run_index();
    let next = runs.next_run(transaction.runs_merging());
    let threads_for = |delta: &ListDelta| transaction.draft.threads_for(delta.pages());
    let threads: Vec<usize> = deltas.iter().map(|(.., delta)| threads_for(delta)).collect();
    let mut writer = RunWriter::begin(&mut transaction.draft, graph, runs, next)?;
    for ((direction, lists, delta), threads) in deltas.iter().zip(threads) {
        let first_of = |page| lists.vertices_in(page).start;
        let (pages, of_part) = (delta.pages(), part_pages(delta));
        let items = Items {
            count: pages.div_ceil(of_part) as usize,
            threads,
            weight: &|_| of_part,
            weight_max: PAGES_MAX,
        };
        items.in_order(
            || Ok(DeltaRoom::default()),
            |_, _| Ok(()),
            |room, at| {
                let start = at as u64 * of_part;
                let (part, mut groups) = (start..pages.min(start + of_part), RunGroups::default());
                delta.for_each_group(part, &first_of, room, &mut |group| {
                    groups.push(group);
                    Ok(())
                })?;
                Ok(groups)
            },
            |_, groups| groups.for_each(&mut |group| writer.group(group)),
        )?;
        writer.end(*direction)?;
    }
    if writer.is_empty() {
        return Ok(false);
    }
    writer.finish()?;
    Ok(true)
}

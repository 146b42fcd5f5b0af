//! A batch from its check to its commit.

use std::collections::HashMap;
use std::sync::MutexGuard;

use super::edits::{CHANGES_MAX, Changes, Edit, edits_of};
use super::one_direction::Lists;
use super::page_index::write_index;
use super::values::write_values;
use super::vertices::{self, write_deleted};
use super::watch::{UNWATCHED, Watch};
use super::weights::EditedColumn;
use super::{Answer, Batch, Change, Op, Updated};
use crate::error::{Result, StoreError};
use crate::format::{Codec, ID_BYTES_MAX, VERTICES_MAX};
use crate::graph::Graph;
use crate::ids::{Id, IdColumn, IdRef, write_appended_integers, write_appended_strings};
use crate::store::draft::{Draft, SectionEdit};
use crate::store::{Live, Store};
use crate::superblock::{IdKind, SectionKind};
use crate::values::ValueType;
use crate::weights::WeightType;
use crate::{Direction, VertexId};

impl Store {
    /// Makes a batch of changes, and those of delta runs and log before it, in one commit that is
    /// durable when this returns. Waits for the transaction before it to end.
    ///
    /// In memory: 16 bytes for each change and direction, twice as much in an undirected graph, the
    /// lists that change and share a page, and a few MiB of pages. In a graph with weights also the
    /// weight index, the weights of those lists at 8 bytes each, and some 40 bytes for each page of
    /// weights that is written. An edge that is deleted with a vertex takes 24 bytes and those of a
    /// change. To find the edges of vertices of a directed graph without lists of sources all lists
    /// are read, and a bit for each vertex is in memory; elsewhere the lists of the vertices,
    /// unless there are many.
    ///
    /// The weights of a list that grows go behind the others. A batch that would leave half of the
    /// addresses unreferenced writes all weights anew, so its time is that of the whole column.
    ///
    /// # Errors
    /// [`StoreError::Update`] for a vertex, an id or a weight that the graph cannot have.
    /// [`StoreError::DeletedEdges`] for deleted vertices with more edges than the batch allows.
    /// Errors of reading, and those of [`Transaction::commit`](crate::Transaction::commit). The
    /// graph stays as it was, or takes all of the batch.
    pub fn update(&self, batch: &Batch) -> Result<Updated> {
        self.update_watched(batch, UNWATCHED)
    }

    /// [`Store::update`], watched while it rewrites lists.
    ///
    /// # Errors
    /// As [`Store::update`], and [`StoreError::Cancelled`].
    pub fn update_watched(&self, batch: &Batch, watch: Watch<'_>) -> Result<Updated> {
        self.update_with(self.lock_live(), batch, watch)
    }

    /// Merges the changes of delta runs and log into the lists, in one commit. Does nothing if
    /// there are none.
    ///
    /// # Errors
    /// As [`Store::update`].
    pub fn merge(&self) -> Result<Updated> {
        self.merge_watched(UNWATCHED)
    }

    /// [`Store::merge`], watched.
    ///
    /// # Errors
    /// As [`Store::merge`], and [`StoreError::Cancelled`].
    pub fn merge_watched(&self, watch: Watch<'_>) -> Result<Updated> {
        self.update_watched(&Batch::default(), watch)
    }

    pub(crate) fn update_with<'s>(
        &'s self,
        live: MutexGuard<'s, Live>,
        batch: &Batch,
        watch: Watch<'s>,
    ) -> Result<Updated> {
        let mut transaction = self.begin_with(self.quiet(live), watch)?;
        let graph = transaction.base()?;
        let (logged, batch) = transaction.with_logged(batch);
        check(&graph, None, &batch)?;
        let vertices = (graph.vertices() + batch.new_ids.len()) as u32;
        let planned = vertices::plan(&graph, &batch)?;
        let value_type = batch.values.first().map(|value| value.kind());
        let batch = planned.as_ref().map_or(batch.as_ref(), |planned| &planned.batch);
        check_count(&graph, batch)?;
        let mut updated = Updated {
            answers: vec![Answer::Done; batch.changes.len()],
            ..Updated::unchanged(graph.superblock().epoch)
        };
        let mut update = Update { graph: &graph, draft: &mut transaction.draft, batch, vertices };
        let mut is_changed = update.lists(&mut updated)?;
        if let Some(planned) = &planned {
            let values = &planned.values;
            is_changed |= write_values(&mut transaction.draft, &graph, value_type, values)?;
        }
        let run_changes = graph.run_changes();
        let deleted = planned.as_ref().and_then(|planned| planned.deleted.as_deref());
        let is_pending = logged > 0 || run_changes > 0;
        // Changes that undo those of runs or log change no list, but end runs and log.
        if is_changed || is_pending || !batch.new_ids.is_empty() || deleted.is_some() {
            let mut update =
                Update { graph: &graph, draft: &mut transaction.draft, batch, vertices };
            update.ids()?;
            update.counts(&updated.answers);
            transaction.superblock().listed_vertices = vertices.into();
            transaction.draft.remove(SectionKind::DeltaRuns);
            transaction.draft.remove(SectionKind::DeltaIndex);
            if let Some(after) = deleted {
                write_deleted(&mut transaction.draft, graph.deleted(), after)?;
            }
            updated.pages_written = transaction.draft.pages_written();
            updated.epoch = transaction.commit()?;
        }
        if let Some(planned) = planned {
            (updated.answers, updated.edges_of_vertices) = planned.answers(&updated.answers);
            updated.revived = planned.revived;
        }
        updated.answers.drain(..logged);
        (updated.merged, updated.merged_entries) = (logged as u64, run_changes);
        Ok(updated)
    }
}

/// Vertices that the log adds, and their ids.
pub(crate) type Named<'a> = (u64, &'a HashMap<Id, VertexId>);

/// Whether the graph, with vertices of the log, can take a batch.
pub(crate) fn check(graph: &Graph, logged: Option<Named<'_>>, batch: &Batch) -> Result<()> {
    let superblock = graph.superblock();
    let refuse = |reason: String| StoreError::Update { file: graph.file().to_string(), reason };
    let before = superblock.vertices + logged.map_or(0, |(vertices, _)| vertices);
    let vertices = before + batch.new_ids.len() as u64;
    if vertices > VERTICES_MAX {
        return Err(refuse(format!("{vertices} vertices, at most {VERTICES_MAX} are possible")));
    }
    check_count(graph, batch)?;
    let ends = batch.changes.iter().flat_map(|change| [change.source, change.target]);
    if let Some(vertex) = ends.into_iter().find(|vertex| u64::from(*vertex) >= vertices) {
        return Err(refuse(format!("vertex {vertex} of a change, but there are {vertices}")));
    }
    let is_of_two = |change: &&Change| change.op.is_of_vertex() && change.source != change.target;
    if let Some(Change { source, target, .. }) = batch.changes.iter().find(is_of_two) {
        return Err(refuse(format!("a change of a vertex, but of two: {source} and {target}")));
    }
    if let Some(reason) = check_values(batch, superblock.value_type) {
        return Err(refuse(reason));
    }
    let kind = superblock.weights.map(|weights| weights.kind());
    if let Some(reason) = check_weights(batch, kind) {
        return Err(refuse(reason));
    }
    check_ids(graph, logged, &batch.new_ids, &refuse)
}

/// What is wrong with the values of a batch for a graph with values of this type, or without.
fn check_values(batch: &Batch, kind: Option<ValueType>) -> Option<String> {
    let sets = batch.changes.iter().filter(|change| change.op == Op::SetValue);
    let (values, count) = (&batch.values, sets.count());
    if values.len() != count {
        return Some(format!("{} values for {count} changes that set one", values.len()));
    }
    let kind = kind.or_else(|| values.first().map(|value| value.kind()))?;
    if let Some(value) = values.iter().find(|value| value.kind() != kind) {
        let (found, kind) = (value.kind().name(), kind.name());
        return Some(format!("the value {value} is of type {found}, its values are {kind}"));
    }
    let value = values.iter().find(|value| !value.is_possible())?;
    Some(format!("the value {value} is not finite"))
}

fn check_count(graph: &Graph, batch: &Batch) -> Result<()> {
    let count = batch.changes.len();
    if count <= CHANGES_MAX {
        return Ok(());
    }
    let reason = format!("{count} changes, at most {CHANGES_MAX} are possible");
    Err(StoreError::Update { file: graph.file().to_string(), reason })
}

/// What is wrong with the weights of a batch for a graph with weights of this type, or without.
fn check_weights(batch: &Batch, kind: Option<WeightType>) -> Option<String> {
    let (weights, count) = (&batch.weights, batch.changes.len());
    if !weights.is_empty() && weights.len() != count {
        return Some(format!("{} weights for {count} changes", weights.len()));
    }
    let mut weights = weights.iter().copied().chain(std::iter::repeat(None));
    for Change { op, source, target } in &batch.changes {
        let edge = || format!("the edge from vertex {source} to {target}");
        match (kind, weights.next().flatten()) {
            (None, None) if *op == Op::Set => {
                return Some(format!("the weight of {}, but its edges have none", edge()));
            }
            (None, Some(weight)) => {
                return Some(format!("weight {weight} of {}, but its edges have none", edge()));
            }
            (Some(kind), Some(weight)) if weight.kind() != kind => {
                let (found, kind) = (weight.kind().name(), kind.name());
                let edge = edge();
                return Some(format!(
                    "weight {weight} of {edge} is of type {found}, its edges have {kind}"
                ));
            }
            (Some(_), Some(weight)) if weight.ordered().is_none() => {
                return Some(format!("weight {weight} of {} is not finite", edge()));
            }
            (Some(kind), None) if matches!(op, Op::Add | Op::Set) => {
                let edge = edge();
                return Some(format!("{edge} has no weight, its edges have {}", kind.name()));
            }
            _ => {}
        }
    }
    None
}

fn check_ids(
    graph: &Graph,
    logged: Option<Named<'_>>,
    new: &[Id],
    refuse: &dyn Fn(String) -> StoreError,
) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let ids = graph.ids()?;
    let shown = |id: &Id| {
        let mut text = id.to_string();
        text.truncate(text.floor_char_boundary(80));
        format!("{text:?}")
    };
    for id in new {
        match (ids.kind(), id) {
            (IdKind::Strings, Id::String(string)) if string.len() > ID_BYTES_MAX => {
                let len = string.len();
                let id = shown(id);
                return Err(refuse(format!(
                    "the id {id}... has {len} bytes, at most {ID_BYTES_MAX} are possible"
                )));
            }
            (IdKind::Strings, Id::String(_)) => {}
            (IdKind::Dense | IdKind::Integers, Id::Integer(_)) => {}
            (IdKind::Strings, Id::Integer(_)) => {
                return Err(refuse(format!(
                    "the id {} is a number, its ids are strings",
                    shown(id)
                )));
            }
            (_, Id::String(_)) => {
                return Err(refuse(format!("the id {} is no number, as its ids are", shown(id))));
            }
        }
    }
    let mut sorted: Vec<IdRef<'_>> = new.iter().map(Id::as_ref).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(refuse(format!("the id {} occurs twice", shown(&pair[0].to_id()))));
    }
    let is_logged = |id: &&Id| logged.is_some_and(|(_, named)| named.contains_key(*id));
    let taken = match new.iter().find(is_logged) {
        Some(id) => Some(id.as_ref()),
        None => ids.any_of(&sorted)?,
    };
    match taken {
        Some(id) => Err(refuse(format!("the id {} is one of its ids already", shown(&id.to_id())))),
        None => Ok(()),
    }
}

/// A batch on its way into the lists.
pub(crate) struct Update<'u, 's> {
    pub graph: &'u Graph,
    pub draft: &'u mut Draft<'s>,
    pub batch: &'u Batch,
    /// Vertices after the batch.
    pub vertices: u32,
}

impl Update<'_, '_> {
    /// Rewrites lists, weights, indexes and degrees. Whether any list or weight changed.
    pub fn lists(&mut self, updated: &mut Updated) -> Result<bool> {
        use Direction::{In, Out};
        let superblock = self.graph.superblock();
        let both = [Out, In];
        let directions = if superblock.in_edges { &both[..] } else { &both[..1] };
        let mut is_changed = false;
        let changes = &self.batch.changes;
        for &direction in directions {
            let edits = edits_of(changes, direction, superblock.directed, self.vertices.into());
            is_changed |= self.direction(direction, &edits, updated)?;
        }
        Ok(is_changed)
    }

    /// The same for one direction.
    fn direction(
        &mut self,
        direction: Direction,
        edits: &[Edit],
        updated: &mut Updated,
    ) -> Result<bool> {
        use SectionKind::{InHubNeighbours, InIndex, InWeightIndex};
        use SectionKind::{OutHubNeighbours, OutIndex, OutWeightIndex};
        let (graph, vertices) = (self.graph, self.vertices);
        let changes = Changes::of(self.batch, graph.superblock());
        let (index, hubs, weight_index) = match direction {
            Direction::Out => (OutIndex, OutHubNeighbours, OutWeightIndex),
            Direction::In => (InIndex, InHubNeighbours, InWeightIndex),
        };
        let adjacency = graph.adjacency(direction).expect("the graph has this direction");
        let lists = Lists { graph, direction, adjacency, edits, changes, vertices };
        let rewritten = lists.rewrite(self.draft, &mut updated.answers)?;
        updated.pages_read += rewritten.pages_read;
        let is_reweighed = rewritten.column.is_some();
        if let Some(EditedColumn { words, summary }) = rewritten.column {
            if !words.is_empty() {
                write_index(self.draft, graph, weight_index, &words)?;
            }
            if direction == Direction::Out {
                self.draft.superblock().weights = Some(summary);
            }
        }
        if rewritten.groups.is_empty() {
            return Ok(is_reweighed);
        }
        write_index(self.draft, graph, index, &rewritten.groups)?;
        let degrees = rewritten.degrees.expect("there are groups");
        let longest = degrees.finish(self.draft)?;
        // Hub neighbours can be rebuilt; until then they would describe the lists before.
        self.draft.remove(hubs);
        self.draft.remove(SectionKind::PartHubNeighbours);
        let superblock = self.draft.superblock();
        match direction {
            Direction::Out => {
                superblock.stored_out = rewritten.stored;
                (superblock.degree_max, superblock.degree_max_vertex) = longest;
                superblock.duplicates =
                    superblock.duplicates.saturating_add_signed(rewritten.repeats);
            }
            Direction::In => superblock.stored_in = rewritten.stored,
        }
        Ok(true)
    }

    /// Appends the ids of new vertices.
    pub fn ids(&mut self) -> Result<()> {
        let new = &self.batch.new_ids;
        if new.is_empty() {
            return Ok(());
        }
        let ids = self.graph.ids()?;
        let before = ids.appended();
        let count = before.map_or(0, IdColumn::len) + new.len();
        let appended = before.into_iter().flat_map(IdColumn::iter);
        let appended = appended.chain(new.iter().map(Id::as_ref));
        let first = self.vertices - count as u32;
        let mut section = SectionEdit::new(self.draft)?;
        let kind = match ids.kind() {
            IdKind::Dense | IdKind::Integers => {
                let integers = appended.map(|id| match id {
                    IdRef::Integer(integer) => integer,
                    IdRef::String(_) => unreachable!("ids were checked"),
                });
                write_appended_integers(&mut section, first, integers)?;
                SectionKind::AppendedIntegers
            }
            IdKind::Strings => {
                let strings = appended.map(|id| match id {
                    IdRef::String(string) => string,
                    IdRef::Integer(_) => unreachable!("ids were checked"),
                });
                write_appended_strings(&mut section, first, strings)?;
                SectionKind::AppendedStrings
            }
        };
        section.finish(kind, Codec::Raw, count as u64);
        let superblock = self.draft.superblock();
        if superblock.ids == IdKind::Dense {
            superblock.ids = IdKind::Integers;
        }
        Ok(())
    }

    /// Counts vertices and edges.
    pub fn counts(&mut self, answers: &[Answer]) {
        let superblock = self.draft.superblock();
        superblock.vertices = self.vertices.into();
        for (change, _) in
            self.batch.changes.iter().zip(answers).filter(|(_, a)| **a == Answer::Done)
        {
            match change.op {
                Op::Add => superblock.edges += 1,
                Op::Delete => superblock.edges -= 1,
                _ => {}
            }
        }
    }
}

//! The changes of vertices in a batch, as changes of edges and of the set of deleted vertices.
//!
//! To delete a vertex is to delete its edges, those that the batch has added before included, and
//! to keep its number in the set. To add it again takes it out of the set. What is left of a batch
//! changes edges only.

use std::collections::{HashMap, HashSet};

use super::values::ChangedValues;
use super::{Answer, Batch, Change, Op};
use crate::error::{Result, StoreError};
use crate::format::{self, Codec, HEADER_BYTES, PageKind};
use crate::graph::Graph;
use crate::header::PageHeader;
use crate::sink::PageTarget;
use crate::store::draft::{Draft, SectionEdit};
use crate::superblock::SectionKind;
use crate::values::{StoredValues, Value};
use crate::{Adjacency, Direction, VertexId};

/// Where more than a page in so many would be looked up, all lists are read in one pass.
const SCAN_SHARE: u64 = 8;

/// Vertices in a word of a set.
const WORD_BITS: usize = u64::BITS as usize;

/// A batch of which only changes of edges are left.
#[derive(Debug)]
pub(super) struct Planned {
    pub batch: Batch,
    /// The deleted vertices after the batch; `None` where they stay.
    pub deleted: Option<Vec<VertexId>>,
    /// Values that the batch sets, or removes with their vertices.
    pub values: ChangedValues,
    /// How often a deleted vertex was added.
    pub revived: u64,
    outcomes: Vec<Outcome>,
    /// Which changes of `batch` delete an edge because one of its ends is deleted.
    of_vertices: Vec<bool>,
}

/// What becomes of a change of the batch as it was given.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Known(Answer),
    /// That of a change of the batch that is left.
    Edge(u32),
}

/// Plans a batch, or returns `None` where it changes edges of vertices that are there and nothing
/// else. Its vertices were checked.
pub(super) fn plan<'g>(graph: &'g Graph, batch: &'g Batch) -> Result<Option<Planned>> {
    let is_plain = |change: &Change| {
        let is_of_edge = !change.op.is_of_vertex();
        is_of_edge && !graph.is_deleted(change.source) && !graph.is_deleted(change.target)
    };
    if batch.changes.iter().all(is_plain) {
        return Ok(None);
    }
    let doomed: HashSet<VertexId> = batch
        .changes
        .iter()
        .filter(|change| change.op == Op::DeleteVertex && !graph.is_deleted(change.source))
        .map(|change| change.source)
        .collect();
    let stored = StoredEdges::of(graph, &doomed, batch.deleted_edges_max)?;
    let again = batch.changes.iter().filter(|change| change.op == Op::DeleteVertex);
    let touched = again.map(|change| (change.source, Vec::new())).collect();
    let mut plan = Plan {
        graph,
        stored_values: StoredValues::open(&graph.pages)?,
        new_values: batch.values.iter(),
        stored,
        touched,
        is_deleted: HashMap::new(),
        planned: Planned {
            batch: Batch { new_ids: batch.new_ids.clone(), ..Batch::default() },
            deleted: None,
            values: ChangedValues::new(),
            revived: 0,
            outcomes: Vec::with_capacity(batch.changes.len()),
            of_vertices: Vec::new(),
        },
    };
    let is_weighted = !batch.weights.is_empty();
    let weights = batch.weights.iter().map(Some).chain(std::iter::repeat(None));
    for (change, weight) in batch.changes.iter().zip(weights) {
        let outcome = plan.change(change, is_weighted)?;
        if let (Outcome::Edge(_), Some(weight)) = (outcome, weight) {
            plan.planned.batch.weights.push(*weight);
        }
        plan.planned.outcomes.push(outcome);
    }
    Ok(Some(plan.finish()))
}

struct Plan<'g> {
    graph: &'g Graph,
    stored_values: Option<StoredValues<'g>>,
    new_values: std::slice::Iter<'g, Value>,
    stored: StoredEdges,
    /// Edges that the batch has added so far, of the vertices that it deletes.
    touched: HashMap<VertexId, Vec<[VertexId; 2]>>,
    /// Where it differs from the graph.
    is_deleted: HashMap<VertexId, bool>,
    planned: Planned,
}

impl Plan<'_> {
    fn is_deleted(&self, vertex: VertexId) -> bool {
        let changed = self.is_deleted.get(&vertex).copied();
        changed.unwrap_or_else(|| self.graph.is_deleted(vertex))
    }

    fn change(&mut self, change: &Change, is_weighted: bool) -> Result<Outcome> {
        let &Change { op, source, target } = change;
        Ok(match op {
            Op::SetValue => {
                let value = self.new_values.next().expect("their number was checked");
                if self.is_deleted(source) {
                    return Ok(Outcome::Known(Answer::Unknown));
                }
                self.planned.values.insert(source, Some(value.bits()));
                Outcome::Known(Answer::Done)
            }
            Op::RemoveValue if self.is_deleted(source) => Outcome::Known(Answer::Unknown),
            Op::RemoveValue => Outcome::Known(match self.has_value(source)? {
                true => {
                    self.planned.values.insert(source, None);
                    Answer::Done
                }
                false => Answer::Absent,
            }),
            Op::AddVertex => Outcome::Known(match self.revive(source) {
                true => Answer::Done,
                false => Answer::Present,
            }),
            Op::DeleteVertex if self.is_deleted(source) => Outcome::Known(Answer::Unknown),
            Op::DeleteVertex => {
                self.delete(source, is_weighted);
                Outcome::Known(Answer::Done)
            }
            Op::Add => {
                let ends = [source, target];
                for end in ends {
                    self.revive(end);
                    if let Some(edges) = self.touched.get_mut(&end) {
                        edges.push(ends);
                    }
                }
                self.edge(*change)
            }
            Op::Delete | Op::Set if self.is_deleted(source) || self.is_deleted(target) => {
                Outcome::Known(Answer::Unknown)
            }
            Op::Delete | Op::Set => self.edge(*change),
        })
    }

    fn has_value(&self, vertex: VertexId) -> Result<bool> {
        match (self.planned.values.get(&vertex), &self.stored_values) {
            (Some(changed), _) => Ok(changed.is_some()),
            (None, Some(stored)) => Ok(stored.get(vertex)?.is_some()),
            (None, None) => Ok(false),
        }
    }

    fn edge(&mut self, change: Change) -> Outcome {
        let at = self.planned.batch.changes.len();
        self.planned.batch.changes.push(change);
        self.planned.of_vertices.push(false);
        Outcome::Edge(at as u32)
    }

    /// Whether the vertex was deleted.
    fn revive(&mut self, vertex: VertexId) -> bool {
        let was_deleted = self.is_deleted(vertex);
        if was_deleted {
            self.is_deleted.insert(vertex, false);
            self.planned.revived += 1;
        }
        was_deleted
    }

    fn delete(&mut self, vertex: VertexId, is_weighted: bool) {
        self.is_deleted.insert(vertex, true);
        self.planned.values.insert(vertex, None);
        let touched = self.touched.get_mut(&vertex).map(std::mem::take).unwrap_or_default();
        let Self { stored, planned, .. } = self;
        for [source, target] in stored.of_vertex(vertex).chain(touched) {
            planned.batch.changes.push(Change { op: Op::Delete, source, target });
            planned.of_vertices.push(true);
            if is_weighted {
                planned.batch.weights.push(None);
            }
        }
    }

    fn finish(mut self) -> Planned {
        let graph = self.graph;
        let now = |vertex: &VertexId| self.is_deleted.get(vertex).copied();
        let kept = graph.deleted().iter().copied().filter(|vertex| now(vertex) != Some(false));
        let newly =
            self.is_deleted.iter().filter(|(vertex, now)| **now && !graph.is_deleted(**vertex));
        let mut deleted: Vec<VertexId> = kept.chain(newly.map(|(vertex, _)| *vertex)).collect();
        deleted.sort_unstable();
        self.planned.deleted = (deleted != graph.deleted()).then_some(deleted);
        self.planned
    }
}

impl Planned {
    /// The answers of the batch as it was given, from those of the changes that are left, and how
    /// many edges were deleted with their vertices.
    pub fn answers(&self, of_edges: &[Answer]) -> (Vec<Answer>, u64) {
        let answer = |outcome: &Outcome| match outcome {
            Outcome::Known(answer) => *answer,
            Outcome::Edge(at) => of_edges[*at as usize],
        };
        let with_vertices = self.of_vertices.iter().zip(of_edges);
        let deleted = with_vertices
            .filter(|(is_of_vertex, answer)| **is_of_vertex && **answer == Answer::Done);
        (self.outcomes.iter().map(answer).collect(), deleted.count() as u64)
    }
}

/// The edges of some vertices in the lists, ascending by vertex; an edge between two of them occurs
/// for both.
struct StoredEdges(Vec<(VertexId, [VertexId; 2])>);

impl StoredEdges {
    fn of(graph: &Graph, vertices: &HashSet<VertexId>, max: Option<u64>) -> Result<Self> {
        let mut found = Found { edges: Vec::new(), count: 0, max: max.unwrap_or(u64::MAX) };
        let lists = [Direction::Out, Direction::In].map(|direction| graph.adjacency(direction));
        let pages: u64 = lists.into_iter().flatten().map(Adjacency::pages).sum();
        let has_both = lists[1].is_some();
        match vertices.len() as u64 {
            0 => {}
            count if has_both && count <= pages / SCAN_SHARE => found.look_up(graph, vertices)?,
            _ => found.scan(graph, vertices)?,
        }
        let Found { mut edges, count, max } = found;
        if count > max {
            let file = graph.file().to_string();
            return Err(StoreError::DeletedEdges { file, edges: count, max });
        }
        edges.sort_unstable();
        Ok(Self(edges))
    }

    fn of_vertex(&self, vertex: VertexId) -> impl Iterator<Item = [VertexId; 2]> {
        let from = self.0.partition_point(|(of, _)| *of < vertex);
        let own = self.0[from..].iter().take_while(move |(of, _)| *of == vertex);
        own.map(|(_, ends)| *ends)
    }
}

/// Edges as they are found; only counted beyond `max`.
struct Found {
    edges: Vec<(VertexId, [VertexId; 2])>,
    count: u64,
    max: u64,
}

impl Found {
    fn push(&mut self, vertex: VertexId, ends: [VertexId; 2]) {
        self.count += 1;
        if self.count <= self.max {
            self.edges.push((vertex, ends));
        }
    }

    /// Reads the lists of the vertices.
    fn look_up(&mut self, graph: &Graph, vertices: &HashSet<VertexId>) -> Result<()> {
        let handle = graph.handle()?;
        let mut ascending: Vec<VertexId> = vertices.iter().copied().collect();
        ascending.sort_unstable();
        for vertex in ascending.into_iter().filter(|vertex| (*vertex as usize) < graph.vertices()) {
            graph.look_up(&handle, Direction::Out, vertex, &mut |targets| {
                targets.iter().for_each(|target| self.push(vertex, [vertex, *target]));
            })?;
            if graph.is_directed() {
                graph.look_up(&handle, Direction::In, vertex, &mut |sources| {
                    sources.iter().for_each(|source| self.push(vertex, [*source, vertex]));
                })?;
            }
        }
        Ok(())
    }

    /// Reads all lists of targets.
    fn scan(&mut self, graph: &Graph, vertices: &HashSet<VertexId>) -> Result<()> {
        let mut set = vec![0u64; graph.vertices().div_ceil(WORD_BITS)];
        for vertex in vertices.iter().map(|vertex| *vertex as usize) {
            if vertex < graph.vertices() {
                set[vertex / WORD_BITS] |= 1 << (vertex % WORD_BITS);
            }
        }
        let holds = |vertex: VertexId| {
            let vertex = vertex as usize;
            set.get(vertex / WORD_BITS).is_some_and(|word| word >> (vertex % WORD_BITS) & 1 == 1)
        };
        graph.scan(Direction::Out, &mut |_, page| {
            for list in page.lists() {
                let owner = list.vertex;
                let is_own = holds(owner);
                for &target in list.targets {
                    if is_own {
                        self.push(owner, [owner, target]);
                    }
                    if graph.is_directed() && holds(target) {
                        self.push(target, [owner, target]);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Writes the pages of the section that differ, or removes it where no vertex is deleted.
pub(super) fn write_deleted(
    draft: &mut Draft<'_>,
    before: &[VertexId],
    after: &[VertexId],
) -> Result<()> {
    let kind = SectionKind::DeletedVertices;
    if after.is_empty() {
        draft.remove(kind);
        return Ok(());
    }
    let mut section = SectionEdit::new(draft)?;
    let per_page = format::entries_per_page(section.page_bytes());
    let mut old = before.chunks(per_page);
    for (page, own) in (0..).zip(after.chunks(per_page)) {
        if old.next() == Some(own) {
            section.keep(page..page + 1);
            continue;
        }
        let bytes: &[u8] = bytemuck::cast_slice(own);
        section.page()[HEADER_BYTES..HEADER_BYTES + bytes.len()].copy_from_slice(bytes);
        let (first, entries) = (own[0], own.len() as u32);
        section.seal(PageHeader { first, entries, ..PageHeader::new(PageKind::Deleted) })?;
    }
    section.finish(kind, Codec::Raw, after.len() as u64);
    Ok(())
}

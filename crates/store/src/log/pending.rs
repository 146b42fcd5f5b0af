//! What the changes of a log come to.

use std::collections::BTreeMap;

use super::{LoggedBatch, LoggedChange, encoded_id_bytes};
use crate::VertexId;
use crate::error::{PageFault, at_most, equal, other};
use crate::format::VERTICES_MAX;
use crate::ids::Id;
use crate::superblock::{IdKind, SectionKind, Superblock};
use crate::update::{Change, Op};

/// The numbers of a graph that changes of edges change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PendingCounts {
    pub vertices: u64,
    pub edges: u64,
    pub stored_out: u64,
    pub stored_in: u64,
    pub degree_max: u64,
    pub degree_max_vertex: VertexId,
}

impl PendingCounts {
    pub fn of(superblock: &Superblock) -> Self {
        let Superblock { vertices, edges, stored_out, stored_in, degree_max, .. } = *superblock;
        let degree_max_vertex = superblock.degree_max_vertex;
        Self { vertices, edges, stored_out, stored_in, degree_max, degree_max_vertex }
    }

    /// Sets the numbers of a superblock.
    pub fn set(&self, superblock: &mut Superblock) {
        superblock.vertices = self.vertices;
        superblock.edges = self.edges;
        (superblock.stored_out, superblock.stored_in) = (self.stored_out, self.stored_in);
        superblock.degree_max = self.degree_max;
        superblock.degree_max_vertex = self.degree_max_vertex;
    }
}

/// A change that the lists do not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingEdge {
    pub is_added: bool,
    /// See [`LoggedChange::pages`].
    pub pages: [u64; 2],
}

/// Changes that the lists of the epoch do not have yet: at most one for each edge.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    directed: bool,
    has_in_edges: bool,
    /// By source and target; in an undirected graph by the smaller and the larger end.
    pub edges: BTreeMap<(VertexId, VertexId), PendingEdge>,
    pub new_ids: Vec<Id>,
    /// Their bytes in the log.
    pub id_bytes: usize,
    pub counts: PendingCounts,
    /// All changes of the log, with those that cancel each other out.
    pub logged_changes: usize,
}

impl Pending {
    pub fn new(superblock: &Superblock) -> Self {
        Self {
            directed: superblock.directed,
            has_in_edges: superblock.in_edges,
            edges: BTreeMap::new(),
            new_ids: Vec::new(),
            id_bytes: 0,
            counts: PendingCounts::of(superblock),
            logged_changes: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.new_ids.is_empty()
    }

    /// The key of an edge, and whether its ends have changed places.
    pub fn key(&self, source: VertexId, target: VertexId) -> ((VertexId, VertexId), bool) {
        let is_turned = !self.directed && source > target;
        (if is_turned { (target, source) } else { (source, target) }, is_turned)
    }

    /// Adds vertices with the next numbers.
    pub fn add_ids(&mut self, ids: &[Id]) {
        self.counts.vertices += ids.len() as u64;
        self.id_bytes += encoded_id_bytes(ids);
        self.new_ids.extend_from_slice(ids);
    }

    /// Takes back the vertices that were added last.
    pub fn take_back_ids(&mut self, count: usize) {
        let keep = self.new_ids.len() - count;
        self.counts.vertices -= count as u64;
        self.id_bytes -= encoded_id_bytes(&self.new_ids[keep..]);
        self.new_ids.truncate(keep);
    }

    /// Makes a change. A change and its opposite cancel each other out. False if the edge is there
    /// already or is not there.
    pub fn apply(&mut self, change: &LoggedChange) -> bool {
        let LoggedChange { is_added, source, target, mut pages } = *change;
        let (key, is_turned) = self.key(source, target);
        if is_turned {
            pages.swap(0, 1);
        }
        match self.edges.get(&key) {
            Some(edge) if edge.is_added == is_added => return false,
            Some(_) => drop(self.edges.remove(&key)),
            None => drop(self.edges.insert(key, PendingEdge { is_added, pages })),
        }
        let by = |count: &mut u64, entries: u64| match is_added {
            true => *count += entries,
            false => *count = count.saturating_sub(entries),
        };
        by(&mut self.counts.edges, 1);
        by(&mut self.counts.stored_out, if self.directed || source == target { 1 } else { 2 });
        if self.directed && self.has_in_edges {
            by(&mut self.counts.stored_in, 1);
        }
        true
    }

    /// Makes the changes of a batch of the log.
    pub fn replay(&mut self, batch: LoggedBatch) -> Result<(), PageFault> {
        let LoggedBatch { new_ids, changes, counts } = batch;
        self.add_ids(&new_ids);
        at_most("vertices", self.counts.vertices, VERTICES_MAX)?;
        equal("vertices after a batch", counts.vertices, self.counts.vertices)?;
        for change in &changes {
            for end in [change.source, change.target] {
                at_most("vertex of a change", u64::from(end) + 1, self.counts.vertices)?;
            }
            if !self.apply(change) {
                return Err(other("it adds an edge twice or deletes one that is not there"));
            }
        }
        self.logged_changes += changes.len();
        equal("edges after a batch", counts.edges, self.counts.edges)?;
        at_most("length of the longest list", counts.degree_max, self.counts.stored_out)?;
        at_most("vertex of largest degree", counts.degree_max_vertex.into(), counts.vertices)?;
        self.counts.degree_max = counts.degree_max;
        self.counts.degree_max_vertex = counts.degree_max_vertex;
        Ok(())
    }

    /// The superblock of the graph with the changes of runs and log. Its lists are not those that
    /// derived sections were made from, so these are stale.
    pub fn superblock(&self, committed: &Superblock) -> Superblock {
        let mut superblock = committed.clone();
        if self.is_empty() && !committed.has_delta_runs() {
            return superblock;
        }
        let PendingCounts { vertices, edges, stored_out, stored_in, .. } = self.counts;
        let PendingCounts { degree_max, degree_max_vertex, .. } = self.counts;
        superblock.logged_vertices = self.new_ids.len() as u64;
        if superblock.ids == IdKind::Dense && !self.new_ids.is_empty() {
            superblock.ids = IdKind::Integers;
        }
        for (kind, items) in
            [(SectionKind::OutAdjacency, stored_out), (SectionKind::InAdjacency, stored_in)]
        {
            let section = superblock.sections.iter_mut().find(|section| section.kind == kind);
            if let Some(section) = section {
                section.items = items;
                section.epoch = committed.epoch + 1;
            }
        }
        Superblock {
            vertices,
            edges,
            stored_out,
            stored_in,
            degree_max,
            degree_max_vertex,
            ..superblock
        }
    }

    /// All changes, for a commit.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        self.edges.iter().map(|(&(source, target), edge)| {
            let op = if edge.is_added { Op::Add } else { Op::Delete };
            Change { op, source, target }
        })
    }
}

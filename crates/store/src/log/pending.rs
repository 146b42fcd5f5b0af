//! What the changes of a log come to.

use std::collections::BTreeMap;

use super::{EdgeOp, LoggedBatch, LoggedChange, encoded_id_bytes};
use crate::VertexId;
use crate::error::{PageFault, at_most, equal, other};
use crate::format::VERTICES_MAX;
use crate::ids::Id;
use crate::superblock::{IdKind, SectionKind, Superblock};
use crate::update::{Change, Op};
use crate::weights::summary::SummaryEdit;
use crate::weights::{Weight, WeightSummary, WeightType};

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
    /// The highest bits of the first say what becomes of the edge.
    pages: [u64; 2],
    /// Ordered bits of the weight that the edge has now; 0 if it is deleted or has none.
    pub weight: u64,
}

/// Bits of the first page of a [`PendingEdge`]: it is not there any more; it was there with
/// another weight.
const DELETED: u64 = 1 << 63;
const REWEIGHED: u64 = 1 << 62;

impl PendingEdge {
    fn new(op: EdgeOp, mut pages: [u64; 2], weight: u64) -> Self {
        pages[0] |= match op {
            EdgeOp::Add => 0,
            EdgeOp::Delete => DELETED,
            EdgeOp::Set => REWEIGHED,
        };
        Self { pages, weight }
    }

    /// What becomes of the edge of the lists: [`EdgeOp::Set`] if it only gets a weight.
    pub fn op(&self) -> EdgeOp {
        match self.pages[0] & (DELETED | REWEIGHED) {
            0 => EdgeOp::Add,
            DELETED => EdgeOp::Delete,
            _ => EdgeOp::Set,
        }
    }

    /// Whether the edge is there now.
    pub fn is_there(&self) -> bool {
        self.op() != EdgeOp::Delete
    }

    /// See [`LoggedChange::pages`].
    pub fn pages(&self) -> [u64; 2] {
        [self.pages[0] & !(DELETED | REWEIGHED), self.pages[1]]
    }
}

/// Changes that the lists of the epoch do not have yet: at most one for each edge.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    directed: bool,
    has_in_edges: bool,
    weights: Option<WeightType>,
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
            weights: superblock.weight_type(),
            edges: BTreeMap::new(),
            new_ids: Vec::new(),
            id_bytes: 0,
            counts: PendingCounts::of(superblock),
            logged_changes: 0,
        }
    }

    pub fn weight_type(&self) -> Option<WeightType> {
        self.weights
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

    /// The change of an edge, if there is one.
    pub fn edge(&self, source: VertexId, target: VertexId) -> Option<&PendingEdge> {
        self.edges.get(&self.key(source, target).0)
    }

    /// Makes a change. An addition and a deletion of an edge without weight cancel each other out.
    /// False if the edge is there already or is not there.
    pub fn apply(&mut self, change: &LoggedChange) -> bool {
        let LoggedChange { op, source, target, weight, mut pages } = *change;
        let (key, is_turned) = self.key(source, target);
        if is_turned {
            pages.swap(0, 1);
        }
        let before = self.edges.get(&key).copied();
        let of_lists = match (before.map(|edge| edge.op()), op) {
            (Some(EdgeOp::Add | EdgeOp::Set), EdgeOp::Add)
            | (Some(EdgeOp::Delete), EdgeOp::Delete | EdgeOp::Set) => return false,
            (None, op) => Some(op),
            (Some(EdgeOp::Add), EdgeOp::Delete) => None,
            (Some(EdgeOp::Add), EdgeOp::Set) => Some(EdgeOp::Add),
            (Some(EdgeOp::Set), op) => Some(op),
            // It was there, maybe with another weight.
            (Some(EdgeOp::Delete), EdgeOp::Add) => self.weights.map(|_| EdgeOp::Set),
        };
        match of_lists {
            Some(op) => {
                let pages = before.map_or(pages, |before| before.pages());
                self.edges.insert(key, PendingEdge::new(op, pages, weight));
            }
            None => drop(self.edges.remove(&key)),
        }
        let by = |count: &mut u64, entries: u64| match op {
            EdgeOp::Add => *count += entries,
            EdgeOp::Delete => *count = count.saturating_sub(entries),
            EdgeOp::Set => {}
        };
        by(&mut self.counts.edges, 1);
        by(&mut self.counts.stored_out, if self.directed || source == target { 1 } else { 2 });
        if self.directed && self.has_in_edges {
            by(&mut self.counts.stored_in, 1);
        }
        true
    }

    /// Takes back what the last change made of an edge; the caller takes back the counts.
    pub fn put_back(&mut self, change: &LoggedChange, before: Option<PendingEdge>) {
        let (key, _) = self.key(change.source, change.target);
        match before {
            Some(edge) => drop(self.edges.insert(key, edge)),
            None => drop(self.edges.remove(&key)),
        }
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
            weights: committed.weights.map(|weights| self.summary(weights, committed.stored_out)),
            ..superblock
        }
    }

    /// The summary of the weights with those of the changes, which must be right as bounds: the
    /// weights of entries that are deleted or get another are taken for the mean, since the log
    /// does not have them.
    fn summary(&self, committed: WeightSummary, stored: u64) -> WeightSummary {
        let mean = committed.mean();
        let mut summary = SummaryEdit::new(committed, stored);
        for (&(source, target), edge) in &self.edges {
            for _ in 0..if self.directed || source == target { 1 } else { 2 } {
                if edge.op() != EdgeOp::Add {
                    summary.remove_number(mean);
                }
                if edge.is_there() {
                    summary.add(edge.weight);
                }
            }
        }
        summary.finish(self.counts.stored_out)
    }

    /// All changes, for a commit.
    pub fn changes(&self) -> impl Iterator<Item = Change> {
        self.edges.iter().map(|(&(source, target), edge)| {
            let op = match edge.op() {
                EdgeOp::Add => Op::Add,
                EdgeOp::Delete => Op::Delete,
                EdgeOp::Set => Op::Set,
            };
            Change { op, source, target }
        })
    }

    /// The weight of each of them; nothing in a graph without weights.
    pub fn change_weights(&self) -> impl Iterator<Item = Option<Weight>> {
        self.weights.into_iter().flat_map(|kind| {
            let weight = move |edge: &PendingEdge| kind.weight(edge.weight);
            self.edges.values().map(move |edge| edge.is_there().then(|| weight(edge)))
        })
    }
}

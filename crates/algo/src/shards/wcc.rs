//! Weakly connected components on a shard: each is labelled by the smallest number of its vertices.
//!
//! One pass joins what is connected within the shard, its boundary included; then shards exchange
//! labels of boundary vertices, and a component of the shard takes the smallest label that one of
//! its vertices got. So the number of supersteps depends on how often a path changes its shard, and
//! not on its length.
//!
//! **Trick.** As [`crate::wcc`], a list of an undirected graph is skipped from where its vertex is
//! in the largest component. All shards take that of the same vertex, the hub, so an edge between
//! two shards is skipped at both its ends only if both ends are connected to the hub. Most boundary
//! vertices are then joined with nothing: neither they nor their labels matter here. Those that are
//! joined are *attached*. Labels go to owners in even supersteps, and back in odd ones, for those
//! alone, and only if the other side does not know an equal or smaller one. Where the shard has hub
//! neighbours, they join nearly all that is connected to the hub, and only the lists of other
//! vertices are read.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cenote_engine::{ActiveSet, Bitmap, Direction, Engine, HugeVec, VertexId};

use super::Part;
use super::exchange::{
    Candidates, Message, boundary_candidates, candidates_to_mirrors, candidates_to_owners,
    from_mirrors, from_owners, mirrored_candidates, quiet, sent,
};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::neighbourhood::directions;
use crate::parallel;
use crate::report::Result;
use crate::wcc::{Forest, JoinAll, JoinHubNeighbours, JoinUntilGiant};

/// No label: that of a vertex that is not attached.
const NONE: u32 = u32::MAX;

/// Memory: 12 bytes a vertex of the file, a bit more each, 4 bytes for each mirrored vertex, 4 for
/// each that is attached, 16 for each exchanged label.
pub(super) fn bytes_for(part: &Part) -> u64 {
    12 * part.places() as u64 + Bitmap::bytes_for(part.places()) + 24 * part.exchanged()
}

pub(super) struct Wcc {
    hub: u64,
    /// After the pass the root of each vertex.
    forest: Forest,
    /// The label of each root.
    labels: HugeVec<AtomicU32>,
    /// The label of each boundary vertex that its owner knows.
    known_to_owner: HugeVec<AtomicU32>,
    /// For each mirrored vertex, shard by shard, the label that the shard knows.
    known_to_mirror: HugeVec<AtomicU32>,
    /// The attached vertices of the boundary, and those that are attached in boundaries of other
    /// shards, which these tell in the first superstep.
    attached: Candidates,
    attached_there: Candidates,
    /// Whether a label may be new to another shard since this superstep.
    has_news: AtomicBool,
    /// How many labels wait to be sent in the next superstep.
    waiting: u64,
}

impl Wcc {
    pub fn new(part: &Part, hub: u64) -> Result<Self> {
        let mirrored = part.mirrored.iter().map(Vec::len).sum();
        let labels = HugeVec::<AtomicU32>::zeroed(part.places())?;
        parallel::for_each_of(&part.numbers, |v, &number| {
            labels[v].store(number as u32, Ordering::Relaxed);
        });
        Ok(Self {
            hub,
            forest: Forest::new(part.places())?,
            labels,
            known_to_owner: HugeVec::zeroed(part.places())?,
            // No label is smaller than 0, so none is sent for a vertex that is not attached.
            known_to_mirror: HugeVec::zeroed(mirrored)?,
            attached: Vec::new(),
            attached_there: Vec::new(),
            has_news: AtomicBool::new(true),
            waiting: 0,
        })
    }

    /// Joins what is connected within the shard, and finds which boundary vertices are attached.
    fn join(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        let (own, giant) = (part.own_set(), part.vertex_of(self.hub));
        if let Some(giant) = giant.filter(|_| part.has_hub_neighbours()) {
            self.join_by_hub_neighbours(engine, part, giant)?;
        } else if part.is_directed {
            for direction in [Direction::Out, Direction::In] {
                if direction == Direction::Out || part.graph.has_in_edges() {
                    engine.visit("pass", direction, own, &JoinAll(&self.forest))?;
                }
            }
        } else if let Some(giant) = giant {
            let kernel = JoinUntilGiant { forest: &self.forest, giant };
            engine.visit("pass", Direction::Out, own, &kernel)?;
        } else {
            engine.visit("pass", Direction::Out, own, &JoinAll(&self.forest))?;
        }
        self.forest.flatten();
        let joined = Bitmap::new(part.places())?;
        self.for_each_vertex(|v, root| {
            // Vertices of a large component would all set the same bit.
            if root != v && !joined.contains(root) {
                joined.insert(root);
            }
        });
        self.attached = boundary_candidates(part, |v| {
            let is_attached = self.forest.parent(v) != v || joined.contains(v);
            if is_attached {
                self.known_to_owner[v as usize].store(NONE, Ordering::Relaxed);
            }
            is_attached
        });
        Ok(())
    }

    /// Joins what hub neighbours join, then the lists of vertices that are not connected to the
    /// hub.
    fn join_by_hub_neighbours(&self, engine: &Engine, part: &Part, giant: VertexId) -> Result<()> {
        let (forest, done) = (&self.forest, Bitmap::new(part.places())?);
        // Their lists are in other shards.
        part.insert_boundary(&done);
        // On a directed graph hub neighbours are neighbours in one direction only.
        let whole = (!part.is_directed).then_some(&done);
        let kernel = JoinHubNeighbours { forest, done: whole };
        engine.visit_hub_neighbours_of_part("hub neighbours", part.own(), &kernel)?;
        let giant = forest.root(giant);
        parallel::insert_where(&done, part.own(), |v| forest.root(v) == giant);
        let rest = ActiveSet::NotIn(&done);
        for &direction in directions(part.is_directed) {
            engine.visit("not connected to the hub", direction, rest, &JoinAll(forest))?;
        }
        Ok(())
    }

    fn for_each_vertex(&self, take: impl Fn(VertexId, VertexId) + Sync) {
        parallel::for_each(self.labels.len(), |v| {
            take(v as VertexId, self.forest.parent(v as VertexId));
        });
    }

    #[inline(always)]
    fn label(&self, v: VertexId) -> u32 {
        self.labels[self.forest.parent(v) as usize].load(Ordering::Relaxed)
    }

    /// Takes a label that another shard has for the component of `v`.
    #[inline(always)]
    fn lower(&self, v: VertexId, label: u32) {
        let cell = &self.labels[self.forest.parent(v) as usize];
        let known = cell.load(Ordering::Relaxed);
        if label < known {
            cell.store(label, Ordering::Relaxed);
        }
        if label != known {
            // It goes on to others, or back.
            self.has_news.store(true, Ordering::Relaxed);
        }
    }

    /// Takes labels that shards have sent for vertices that are owned here.
    fn take_from_mirrors(&mut self, part: &Part, input: &Input<'_>) {
        from_mirrors(part, input.inbox, |at, v, label: u32| {
            if label != NONE {
                self.known_to_mirror[at].store(label, Ordering::Relaxed);
                self.lower(v, label);
            }
        });
        if input.superstep == 1 {
            self.find_attached_there(part);
        }
    }

    fn take_from_owners(&self, part: &Part, input: &Input<'_>) {
        from_owners(part, input.inbox, |v, label: u32| {
            if label != NONE {
                self.known_to_owner[v as usize].fetch_min(label, Ordering::Relaxed);
                self.lower(v, label);
            }
        });
    }

    /// Whether the owner of a boundary vertex does not know its label here.
    #[inline(always)]
    fn is_new_to_owner(&self, v: VertexId) -> bool {
        self.label(v) < self.known_to_owner[v as usize].load(Ordering::Relaxed)
    }

    /// Whether a shard that has an own vertex in its boundary does not know its label.
    #[inline(always)]
    fn is_new_to_mirror(&self, at: usize, v: VertexId) -> bool {
        self.label(v) < self.known_to_mirror[at].load(Ordering::Relaxed)
    }

    fn send_to_owners(&self, part: &Part) -> Vec<Option<Message>> {
        let is_new = |v| self.is_new_to_owner(v);
        let label = |v: VertexId| {
            let label = self.label(v);
            self.known_to_owner[v as usize].store(label, Ordering::Relaxed);
            label
        };
        candidates_to_owners(part, &self.attached, NONE, is_new, label)
    }

    fn send_to_mirrors(&self, part: &Part) -> Vec<Option<Message>> {
        let is_new = |at, v| self.is_new_to_mirror(at, v);
        let label = |at: usize, v| {
            let label = self.label(v);
            self.known_to_mirror[at].store(label, Ordering::Relaxed);
            label
        };
        candidates_to_mirrors(part, &self.attached_there, NONE, is_new, label)
    }

    /// How many labels wait to be sent the other way.
    fn waiting(&self, part: &Part, to_owners: bool) -> u64 {
        let waiting = if to_owners {
            let of_shard = |(run, positions): (&Range<VertexId>, &Vec<u32>)| {
                let is_new = |at: &&u32| self.is_new_to_owner(run.start + **at);
                positions.iter().filter(is_new).count()
            };
            part.runs.iter().zip(&self.attached).map(of_shard).sum::<usize>()
        } else {
            let first = part.own().start;
            let of_shard = |((start, own), positions): ((usize, &[u32]), &Vec<u32>)| {
                let is_new = |at: &&u32| {
                    let at = **at as usize;
                    self.is_new_to_mirror(start + at, first + own[at])
                };
                positions.iter().filter(is_new).count()
            };
            part.mirrored_lists().zip(&self.attached_there).map(of_shard).sum()
        };
        waiting as u64
    }

    /// Finds the vertices that are attached in the boundaries of other shards: their labels are
    /// known since the first superstep. Where a label is 0 no smaller one will follow.
    fn find_attached_there(&mut self, part: &Part) {
        let known = &self.known_to_mirror;
        self.attached_there = mirrored_candidates(part, |at| known[at].load(Ordering::Relaxed) > 0);
    }

    /// Own vertices that name a component. The smallest vertex of a component is a root.
    fn components(&self, part: &Part) -> u64 {
        let is_name = |v: VertexId| {
            let label = self.labels[v as usize].load(Ordering::Relaxed);
            self.forest.parent(v) == v && u64::from(label) == part.numbers[v as usize]
        };
        part.count_own(is_name) as u64
    }
}

impl Program for Wcc {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let to_owners = input.superstep.is_multiple_of(2);
        if input.superstep == 0 {
            self.join(engine, part)?;
        } else if to_owners {
            self.take_from_owners(part, input);
        } else {
            self.take_from_mirrors(part, input);
        }
        let has_news = self.has_news.swap(false, Ordering::Relaxed);
        let messages = match (has_news || self.waiting > 0, to_owners) {
            (false, _) => quiet(part),
            (true, true) => self.send_to_owners(part),
            (true, false) => self.send_to_mirrors(part),
        };
        // All that waited the other way was sent in the superstep before.
        self.waiting = if has_news { self.waiting(part, !to_owners) } else { 0 };
        let sent = sent(&messages);
        // The count matters in the last superstep, which sends nothing.
        let components = if sent == 0 { self.components(part) } else { 0 };
        let report = vec![("sent", sent), ("waiting", self.waiting), ("components", components)];
        Ok(Step { messages, report })
    }

    /// Which labels wait is not in the state, nor which vertices are attached.
    fn restored(&mut self, part: &Part) {
        self.has_news.store(true, Ordering::Relaxed);
        let known = &self.known_to_owner;
        self.attached =
            boundary_candidates(part, |v| known[v as usize].load(Ordering::Relaxed) > 0);
        self.find_attached_there(part);
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![
            ("roots", Cells::U32(self.forest.cells())),
            ("labels", Cells::U32(&self.labels)),
            ("known_to_owner", Cells::U32(&self.known_to_owner)),
            ("known_to_mirror", Cells::U32(&self.known_to_mirror)),
        ]
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        vec![("component", Values::U64(part.of_own(|v| self.label(v).into())))]
    }
}

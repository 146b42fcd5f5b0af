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
//! joined are *attached*. Labels go to owners in even supersteps, and back in odd ones, for
//! attached vertices alone, and only if the other side does not know an equal or smaller one.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cenote_engine::{Bitmap, Direction, Engine, HugeVec, VertexId};

use super::Part;
use super::exchange::{Message, from_mirrors, from_owners, quiet, sent, to_mirrors, to_owners};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::parallel;
use crate::report::Result;
use crate::wcc::{Forest, JoinAll, JoinUntilGiant};

/// No label: that of a vertex that is not attached.
const NONE: u32 = u32::MAX;

/// Memory: 12 bytes a vertex of the file, a bit more each, 4 bytes for each mirrored vertex, 16 for
/// each exchanged label.
pub(super) fn bytes_for(part: &Part) -> u64 {
    12 * part.places() as u64 + Bitmap::bytes_for(part.places()) + 20 * part.exchanged()
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
            has_news: AtomicBool::new(true),
            waiting: 0,
        })
    }

    /// Joins what is connected within the shard, and finds which boundary vertices are attached.
    fn join(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        let own = part.own_set();
        if part.is_directed {
            for direction in [Direction::Out, Direction::In] {
                if direction == Direction::Out || part.graph.has_in_edges() {
                    engine.visit("pass", direction, own, &JoinAll(&self.forest))?;
                }
            }
        } else if let Some(giant) = part.vertex_of(self.hub) {
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
        self.for_each_vertex(|v, root| {
            if root != v || joined.contains(v) {
                self.known_to_owner[v as usize].store(NONE, Ordering::Relaxed);
            }
        });
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
    fn take_from_mirrors(&self, part: &Part, input: &Input<'_>) {
        from_mirrors(part, input.inbox, |at, v, label: u32| {
            if label != NONE {
                self.known_to_mirror[at].store(label, Ordering::Relaxed);
                self.lower(v, label);
            }
        });
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
        let label = |v| if self.is_new_to_owner(v) { self.label(v) } else { NONE };
        let messages = to_owners(part, |v| self.is_new_to_owner(v), label);
        part.for_each_boundary(|v| {
            self.known_to_owner[v as usize].fetch_min(self.label(v), Ordering::Relaxed);
        });
        messages
    }

    fn send_to_mirrors(&self, part: &Part) -> Vec<Option<Message>> {
        let new = |at, v| self.is_new_to_mirror(at, v);
        let label = |at, v| if new(at, v) { self.label(v) } else { NONE };
        let messages = to_mirrors(part, new, label);
        let first = part.own().start;
        for (start, own) in part.mirrored_lists() {
            let known = &self.known_to_mirror[start..start + own.len()];
            parallel::for_each_of(own, |at, own| {
                known[at].fetch_min(self.label(first + own), Ordering::Relaxed);
            });
        }
        messages
    }

    /// How many labels wait to be sent the other way.
    fn waiting(&self, part: &Part, to_owners: bool) -> u64 {
        if to_owners {
            let new = |at| self.is_new_to_owner(part.boundary_vertex(at));
            return parallel::count(part.boundary_count(), new) as u64;
        }
        let first = part.own().start;
        let lists = part.mirrored_lists().map(|(start, own)| {
            let new = |at| self.is_new_to_mirror(start + at, first + own[at]);
            parallel::count(own.len(), new) as u64
        });
        lists.sum()
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

    /// Which labels wait is not in the state.
    fn restored(&mut self, _: &Part) {
        self.has_news.store(true, Ordering::Relaxed);
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

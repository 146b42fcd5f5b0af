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
//!
//! The component of the hub has one label in all shards, which no other is less than, whatever the
//! smallest number in it is: that comes with the reports. So a vertex in it is sent once.

mod known;
mod labels;

use cenote_engine::{ActiveSet, Bitmap, Direction, Engine, VertexId};

use self::known::Known;
use self::labels::Labels;
use super::Part;
use super::exchange::{Message, for_each, quiet, sent};
use super::program::{Input, Program, Step};
use super::state::{Cells, Values};
use crate::neighbourhood::directions;
use crate::parallel;
use crate::report::Result;
use crate::wcc::{Forest, JoinAll, JoinHubNeighbours, JoinUntilGiant};

/// The label of the component of the hub.
const GIANT: u32 = 0;
/// No label.
const NONE: u32 = u32::MAX;

/// Memory: 8 bytes a vertex of the file, 4 of the answer, a bit more each, 8 bytes for each
/// attached vertex, 16 for each exchanged label.
pub(super) fn bytes_for(part: &Part) -> u64 {
    12 * part.places() as u64 + Bitmap::bytes_for(part.places()) + 24 * part.exchanged()
}

pub(super) struct Wcc {
    labels: Labels,
    /// For each shard the labels of its vertices in the boundary here that it knows, and those of
    /// own vertices that it has in its boundary.
    owners: Vec<Known>,
    mirrors: Vec<Known>,
    /// In how many supersteps labels may have to be sent yet: they go to owners and back in turn.
    unsent: u64,
    /// The smallest number in the component of the hub, in all shards.
    least: u64,
}

impl Wcc {
    pub fn new(part: &Part, hub: u64) -> Result<Self> {
        Ok(Self {
            labels: Labels::new(part, hub)?,
            owners: Vec::new(),
            mirrors: Vec::new(),
            unsent: 0,
            least: u64::MAX,
        })
    }

    /// Joins what is connected within the shard, and finds which boundary vertices are attached.
    fn join(&mut self, engine: &Engine, part: &Part) -> Result<()> {
        let (own, forest) = (part.own_set(), &self.labels.forest);
        let giant = part.vertex_of(self.labels.hub());
        if let Some(giant) = giant.filter(|_| part.has_hub_neighbours()) {
            join_by_hub_neighbours(engine, part, forest, giant)?;
        } else if part.is_directed {
            for direction in [Direction::Out, Direction::In] {
                if direction == Direction::Out || part.graph.has_in_edges() {
                    engine.visit("pass", direction, own, &JoinAll(forest))?;
                }
            }
        } else if let Some(giant) = giant {
            engine.visit("pass", Direction::Out, own, &JoinUntilGiant { forest, giant })?;
        } else {
            engine.visit("pass", Direction::Out, own, &JoinAll(forest))?;
        }
        self.owners = attached(part, forest)?;
        self.labels.count(part);
        if let Some(giant) = giant {
            self.labels.lower(giant, GIANT);
        }
        Ok(())
    }

    /// Takes labels that shards have sent for vertices that are owned here. In the first superstep
    /// these are the vertices that are attached there.
    fn take_from_mirrors(&mut self, part: &Part, input: &Input<'_>) {
        let first = part.own().start;
        let mut mirrors = std::mem::take(&mut self.mirrors);
        mirrors.resize_with(part.mirrored.len(), Known::default);
        for ((own, known), message) in part.mirrored.iter().zip(&mut mirrors).zip(input.inbox) {
            let Some(message) = message else { continue };
            if input.superstep == 1 {
                *known = Known::of(message);
            } else {
                known.note(message);
            }
            for_each(message, |at, label| self.take(first + own[at], label));
        }
        self.mirrors = mirrors;
    }

    /// Takes labels that the owners of boundary vertices have sent.
    fn take_from_owners(&mut self, part: &Part, input: &Input<'_>) {
        let mut owners = std::mem::take(&mut self.owners);
        for ((run, known), message) in part.runs.iter().zip(&mut owners).zip(input.inbox) {
            let Some(message) = message else { continue };
            known.note(message);
            for_each(message, |at, label| self.take(run.start + at as VertexId, label));
        }
        self.owners = owners;
    }

    /// Takes a label that another shard has for the component of `v`.
    fn take(&mut self, v: VertexId, label: u32) {
        if label != NONE && label != self.labels.of(v) {
            self.labels.lower(v, label);
            // It goes on to others, or a smaller one goes back.
            self.unsent = 2;
        }
    }

    fn send_to_owners(&mut self, part: &Part) -> Vec<Option<Message>> {
        let labels = &self.labels;
        parallel::map_mut(&mut self.owners, |to, known| {
            let run = &part.runs[to];
            known.send(run.len(), |at| labels.of(run.start + at))
        })
    }

    fn send_to_mirrors(&mut self, part: &Part) -> Vec<Option<Message>> {
        let (first, labels) = (part.own().start, &self.labels);
        parallel::map_mut(&mut self.mirrors, |to, known| {
            let own = &part.mirrored[to];
            known.send(own.len(), |at| labels.of(first + own[at as usize]))
        })
    }
}

impl Program for Wcc {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step> {
        let to_owners = input.superstep.is_multiple_of(2);
        if input.superstep == 0 {
            self.join(engine, part)?;
            self.unsent = 1;
        } else {
            self.least = input.shared.first().copied().unwrap_or(u64::MAX);
            if to_owners {
                self.take_from_owners(part, input);
            } else {
                self.take_from_mirrors(part, input);
            }
        }
        let messages = match (self.unsent > 0, to_owners) {
            (false, _) => quiet(part),
            (true, true) => self.send_to_owners(part),
            (true, false) => self.send_to_mirrors(part),
        };
        self.unsent = self.unsent.saturating_sub(1);
        let report = vec![
            ("sent", sent(&messages)),
            ("unsent", self.unsent),
            ("components", self.labels.components),
            ("least", self.labels.least),
        ];
        Ok(Step { messages, report })
    }

    /// What other shards know is not in the state: they get all labels again.
    fn restored(&mut self, part: &Part) -> Result<()> {
        self.labels.restored(part);
        self.owners = attached(part, &self.labels.forest)?;
        let all = |own: &Vec<u32>| Known::nothing_of((0..own.len() as u32).collect());
        self.mirrors = part.mirrored.iter().map(all).collect();
        self.unsent = 2;
        Ok(())
    }

    fn state(&self) -> Vec<(&'static str, Cells<'_>)> {
        vec![
            ("roots", Cells::U32(self.labels.forest.cells())),
            ("lowered", Cells::U32(self.labels.lowered())),
        ]
    }

    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)> {
        let least = self.least.min(self.labels.least) as u32;
        let number = |v| self.labels.number(self.labels.of(v)).unwrap_or(least);
        vec![("component", Values::U32(part.of_own(number)))]
    }
}

/// Joins what hub neighbours join, then the lists of vertices that are not connected to the hub.
fn join_by_hub_neighbours(
    engine: &Engine,
    part: &Part,
    forest: &Forest,
    giant: VertexId,
) -> Result<()> {
    let done = Bitmap::new(part.places())?;
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

/// Lets every vertex point to its root, and finds for each shard which of its vertices in the
/// boundary here are attached.
fn attached(part: &Part, forest: &Forest) -> Result<Vec<Known>> {
    let (own, joined) = (part.own(), Bitmap::new(part.places())?);
    forest.flatten_with(|v, root| {
        // Vertices of a large component would all set the same bit.
        if root != v && !own.contains(&root) && !joined.contains(root) {
            joined.insert(root);
        }
    });
    Ok(parallel::collect_each(part.runs.len(), |to| {
        let run = part.boundary_of(to);
        let is_attached = |v: &VertexId| forest.parent(*v) != *v || joined.contains(*v);
        let first = run.start;
        Known::nothing_of(run.filter(is_attached).map(|v| v - first).collect())
    }))
}

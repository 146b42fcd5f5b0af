//! Chains of vertices with two neighbours each, followed in memory.
//!
//! **Trick.** A search that comes to such a vertex from one neighbour goes on to the other. The
//! *link* of a vertex is the exclusive or of its two neighbours: with one of them it gives the
//! other. It lies in the place of the level, which a vertex does not have before it is reached, so
//! links take no memory. On a directed graph the link of a vertex with one target is this target.
//! Without links each vertex of a chain costs a page where chains lie in no order.
//!
//! The chain on the lowest level is followed first, and none far ahead of the pages of other
//! vertices: a vertex that is reached too early has lost its link when its level falls, and costs
//! a page then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use cenote_engine::{ActiveSet, Direction, Engine, Graph, Kernel, List, VertexId};

use super::UNREACHED;
use crate::kind::mean_degree;
use crate::parallel;
use crate::report::Result;

/// Set in the place of a level where that holds a link, and in [`UNREACHED`].
const IS_LINK: u32 = 1 << 31;

/// Entries a vertex of an undirected graph that is likely made of chains, and twice those of a
/// directed one: hardly more than the vertices of chains have.
const ENTRIES_MAX: f64 = 2.25;

/// Chains that are followed at the same time, as a share of all vertices.
const HEADS_SHARE: usize = 256;

/// How far a search has come along a chain: the vertex before, and the one that is next, with its
/// level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    pub level: u32,
    pub from: VertexId,
    pub to: VertexId,
}

/// The chains that a search follows.
#[derive(Debug)]
pub(super) struct Chains {
    heads: Mutex<Vec<Reverse<Head>>>,
    heads_max: usize,
    is_directed: bool,
}

impl Chains {
    /// Most bytes of a search of a graph.
    pub fn bytes_for(graph: &Graph) -> u64 {
        (heads_max(graph) * size_of::<Reverse<Head>>()) as u64
    }

    /// Reads the links of vertices without a level, if chains [are likely](are_likely).
    pub fn load(engine: &Engine, levels: &[AtomicU32]) -> Result<Option<Self>> {
        let (heads_max, is_directed) = (heads_max(engine.graph()), engine.graph().is_directed());
        if heads_max == 0 {
            return Ok(None);
        }
        let links = Links { levels, is_directed };
        engine.visit("chains", Direction::Out, ActiveSet::All, &links)?;
        let heads = Mutex::new(Vec::with_capacity(heads_max));
        Ok(Some(Self { heads, heads_max, is_directed }))
    }

    /// The way on from `v`, which had this in place of its level and was reached from `from` on
    /// `level`; `None` if that was no link.
    #[inline(always)]
    pub fn on_from(&self, before: u32, v: VertexId, from: VertexId, level: u32) -> Option<Head> {
        let link = (IS_LINK..UNREACHED).contains(&before).then_some(before & !IS_LINK)?;
        let to = if self.is_directed { link } else { link ^ from };
        Some(Head { level: level + 1, from: v, to })
    }

    /// Puts [`UNREACHED`] in the place of links that are left.
    pub fn unlink(levels: &[AtomicU32]) {
        parallel::for_each_of(levels, |_, word| {
            if !is_level(word.load(Ordering::Relaxed)) {
                word.store(UNREACHED, Ordering::Relaxed);
            }
        });
    }

    /// Has a chain followed later. False if too many are.
    pub fn push(&self, head: Head) -> bool {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = heads.len() < self.heads_max;
        if has_room {
            heads.push(Reverse(head));
        }
        has_room
    }

    /// Has chains followed up to level `last`, the one on the lowest level first: by `advance`, up
    /// to the level that it is given, where another one is the lowest. `advance` returns from where
    /// the chain is to be followed later, if it does not end, and a new `last`, if that falls.
    pub fn follow(
        &self,
        mut last: u64,
        mut advance: impl FnMut(Head, u64) -> Result<(Option<Head>, Option<u64>)>,
    ) -> Result<()> {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_level = BinaryHeap::from(mem::take(&mut *heads));
        while let Some(Reverse(head)) = by_level.pop() {
            if u64::from(head.level) > last {
                by_level.push(Reverse(head));
                break;
            }
            let next = by_level.peek().map_or(u64::MAX, |Reverse(next)| next.level.into());
            let (on, up_to) = advance(head, next.min(last))?;
            by_level.extend(on.map(Reverse));
            last = last.min(up_to.unwrap_or(u64::MAX));
        }
        *heads = by_level.into_vec();
        Ok(())
    }
}

/// Whether this is a level, and neither a link nor [`UNREACHED`].
#[inline(always)]
pub(super) fn is_level(word: u32) -> bool {
    word < IS_LINK
}

/// Whether the graph is likely made of chains.
pub(super) fn are_likely(graph: &Graph) -> bool {
    // A link of any two vertices, and every level, are below the bits that are set.
    let have_room = graph.vertices() < IS_LINK as usize / 2;
    let entries = if graph.is_directed() { 2.0 } else { 1.0 } * mean_degree(graph);
    have_room && entries <= ENTRIES_MAX
}

fn heads_max(graph: &Graph) -> usize {
    if are_likely(graph) { graph.vertices().div_ceil(HEADS_SHARE) } else { 0 }
}

/// Puts links in the places of levels.
struct Links<'a> {
    levels: &'a [AtomicU32],
    is_directed: bool,
}

impl Kernel for Links<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let place = &self.levels[list.vertex as usize];
        let is_whole = list.targets.len() as u64 == list.degree;
        if !is_whole || place.load(Ordering::Relaxed) != UNREACHED {
            return;
        }
        let link = match (self.is_directed, list.targets) {
            (true, &[target]) => target,
            // Back, where the search has been.
            (false, [_]) => 0,
            (false, [a, b]) => a ^ b,
            _ => return,
        };
        place.store(IS_LINK | link, Ordering::Relaxed);
    }
}

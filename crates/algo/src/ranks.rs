//! Ranks: the order of the user's ids, by which all results are defined.
//!
//! The *rank* of a vertex is the position of its id among all ids in ascending order. On a graph in
//! natural order without appended and deleted vertices every vertex is its own rank, and nothing
//! here takes memory or time. Deleted vertices, which have numbers and no edges, have the ranks
//! behind those of the others.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    Adjacency, Bitmap, Direction, Graph, HugeVec, Order, StateArray, StateFile, VertexId,
};

use crate::parallel::{self, fill};
use crate::report::Result;

/// Whether every vertex is its own rank.
pub(crate) fn is_natural(graph: &Graph) -> bool {
    let superblock = graph.superblock();
    superblock.order == Order::Natural && superblock.appended() == 0 && superblock.deleted() == 0
}

/// Calls `visit` with all vertices in the order of their ids, then with the deleted ones.
pub(crate) fn for_each_by_id(graph: &Graph, mut visit: impl FnMut(VertexId)) -> Result<()> {
    graph.ids()?.for_each_vertex(&mut visit)?;
    graph.deleted().iter().copied().for_each(visit);
    Ok(())
}

/// Sorts vertices by id and removes duplicates.
pub(crate) fn sort_by_id(graph: &Graph, vertices: &mut Vec<VertexId>) -> Result<()> {
    vertices.sort_unstable();
    vertices.dedup();
    if !is_natural(graph) {
        let mut ranks = Vec::with_capacity(vertices.len());
        graph.ids()?.ranks_of(vertices, &mut ranks)?;
        let mut ranked: Vec<_> = ranks.into_iter().zip(vertices.iter().copied()).collect();
        ranked.sort_unstable();
        vertices.clear();
        vertices.extend(ranked.into_iter().map(|(_, vertex)| vertex));
    }
    Ok(())
}

/// The default source of a search: the vertex with the longest out-list, of several the one with
/// the smallest id.
///
/// # Errors
/// The degrees or the order cannot be read, of a shuffled graph or one that updates have changed.
pub fn default_source(graph: &Graph) -> Result<VertexId> {
    let superblock = graph.superblock();
    // The superblock has the smallest of these vertices. An import by degrees or by a search from
    // the longest list puts the smallest id among equals first.
    let is_smallest_id = match superblock.order {
        _ if superblock.deleted() > 0 => false,
        Order::Natural => superblock.appended() == 0,
        Order::Degree | Order::Bfs => superblock.epoch == 1,
        Order::Cluster | Order::Random { .. } => false,
    };
    if is_smallest_id {
        return Ok(superblock.degree_max_vertex);
    }
    let longest = Bitmap::new(graph.vertices())?;
    graph.degrees(Direction::Out, &mut |first, degrees| {
        for (v, _) in (first..).zip(degrees).filter(|(_, d)| **d == superblock.degree_max) {
            longest.insert(v);
        }
    })?;
    let mut source = None;
    for_each_by_id(graph, |v| {
        if source.is_none() && longest.contains(v) {
            source = Some(v);
        }
    })?;
    Ok(source.unwrap_or(superblock.degree_max_vertex))
}

/// How much of the memory takes one part of an array in a state file: parts begin at multiples of
/// 4 KiB.
fn part_of(memory: &[VertexId]) -> usize {
    (memory.len() / 1024 * 1024).max(1024.min(memory.len()))
}

/// The rank of every vertex.
#[derive(Debug)]
pub(crate) struct Ranks {
    /// `None` where every vertex is its own rank.
    ranks: Option<StateArray<VertexId>>,
    /// Ranks from here on are those of deleted vertices.
    live: VertexId,
}

impl Ranks {
    /// Bytes of the ranks of a graph.
    pub fn bytes_for(graph: &Graph) -> u64 {
        if is_natural(graph) { 0 } else { 4 * graph.vertices() as u64 }
    }

    /// Reads the ranks.
    pub fn load(graph: &Graph) -> Result<Self> {
        let live = graph.live_vertices() as VertexId;
        if is_natural(graph) {
            return Ok(Self { ranks: None, live });
        }
        let mut ranks = HugeVec::zeroed(graph.vertices())?;
        // The table in the file counts deleted vertices among the others.
        if !graph.deleted().is_empty() || !graph.ids()?.copy_ranks(&mut ranks)? {
            let mut next = 0;
            for_each_by_id(graph, |v| {
                ranks[v as usize] = next;
                next += 1;
            })?;
        }
        Ok(Self { ranks: Some(ranks.into()), live })
    }

    /// Writes the ranks to a state file, as many at a time as fit in `memory`. Returns their place;
    /// `None` where every vertex is its own rank.
    pub fn write(graph: &Graph, file: &StateFile, memory: &mut [VertexId]) -> Result<Option<u64>> {
        if is_natural(graph) {
            return Ok(None);
        }
        let n = graph.vertices();
        let place = file.reserve(4 * n as u64);
        let part = part_of(memory);
        for first in (0..n).step_by(part) {
            let ranks = &mut memory[..part.min(n - first)];
            let mut next = 0;
            for_each_by_id(graph, |v| {
                if let Some(rank) = (v as usize).checked_sub(first).and_then(|v| ranks.get_mut(v)) {
                    *rank = next;
                }
                next += 1;
            })?;
            file.write(place + 4 * first as u64, ranks)?;
        }
        Ok(Some(place))
    }

    /// The ranks that [`Ranks::write`] has written.
    pub fn stored(
        graph: &Graph,
        ranks: Option<cenote_engine::Result<StateArray<VertexId>>>,
    ) -> Result<Self> {
        let live = graph.live_vertices() as VertexId;
        Ok(Self { ranks: ranks.transpose()?, live })
    }

    /// Gives the memory of ranks in a state file back, until they are used again.
    pub fn release(&self) {
        if let Some(ranks) = &self.ranks {
            ranks.release();
        }
    }

    /// Whether every vertex is its own rank.
    #[inline(always)]
    pub fn is_natural(&self) -> bool {
        self.ranks.is_none()
    }

    /// The rank of a vertex.
    #[inline(always)]
    pub fn of(&self, v: VertexId) -> VertexId {
        match &self.ranks {
            None => v,
            Some(ranks) => ranks[v as usize],
        }
    }

    /// The rank of a vertex; `None` for one that was deleted.
    #[inline(always)]
    pub fn live_of(&self, v: VertexId) -> Option<VertexId> {
        Some(self.of(v)).filter(|&rank| rank < self.live)
    }

    /// Sorts vertices by id.
    pub fn sort(&self, vertices: &mut [VertexId]) {
        match &self.ranks {
            None => vertices.sort_unstable(),
            Some(ranks) => vertices.sort_unstable_by_key(|&v| ranks[v as usize]),
        }
    }

    /// The targets of a list sorted by id; in `memory` if they are not sorted already.
    #[inline(always)]
    pub fn sorted<'a>(
        &self,
        targets: &'a [VertexId],
        memory: &'a mut Vec<VertexId>,
    ) -> &'a [VertexId] {
        if self.is_natural() {
            return targets;
        }
        memory.clear();
        memory.extend_from_slice(targets);
        self.sort(memory);
        memory
    }

    /// Bytes that [`Ranks::sorted`] takes for the longest list of a graph.
    pub fn list_bytes(graph: &Graph) -> u64 {
        if is_natural(graph) {
            return 0;
        }
        let longest = [Direction::Out, Direction::In]
            .map(|direction| graph.adjacency(direction).map_or(0, Adjacency::list_entries_bound));
        // A growing vector needs the old copy for a moment.
        3 * 4 * longest[0].max(longest[1])
    }

    /// The `count` vertices of the largest values, largest first; ties in the order of ids. Passes
    /// over deleted vertices.
    pub fn top(
        &self,
        count: usize,
        values: impl Iterator<Item = (VertexId, f64)>,
    ) -> Vec<(VertexId, f64)> {
        let mut top: Vec<(VertexId, f64)> = Vec::new();
        for (v, value) in values {
            // Most values are too small.
            let is_less = top.last().is_some_and(|&(_, least)| value < least);
            if (top.len() == count && is_less) || self.of(v) >= self.live {
                continue;
            }
            let precedes = |&(u, other): &(VertexId, f64)| {
                other > value || other == value && self.of(u) < self.of(v)
            };
            if top.len() == count && top.last().is_none_or(precedes) {
                continue;
            }
            top.insert(top.partition_point(precedes), (v, value));
            top.truncate(count);
        }
        top
    }

    /// The inverse, in the same memory.
    pub fn into_vertices(self, graph: &Graph) -> Result<Vertices> {
        match self.ranks {
            None => Ok(Vertices(None)),
            Some(StateArray::Memory(memory)) => Vertices::read(graph, memory),
            Some(StateArray::File(_)) => Vertices::load(graph),
        }
    }
}

/// The vertex of every rank.
#[derive(Debug)]
pub(crate) struct Vertices(Option<HugeVec<VertexId>>);

impl Vertices {
    /// Reads the vertices.
    pub fn load(graph: &Graph) -> Result<Self> {
        if is_natural(graph) {
            return Ok(Self(None));
        }
        Self::read(graph, HugeVec::zeroed(graph.vertices())?)
    }

    fn read(graph: &Graph, mut memory: HugeVec<VertexId>) -> Result<Self> {
        let mut places = memory.iter_mut();
        for_each_by_id(graph, |v| {
            if let Some(place) = places.next() {
                *place = v;
            }
        })?;
        Ok(Self(Some(memory)))
    }

    /// Writes the vertices to a state file, as many at a time as fit in `memory`; returns their
    /// place.
    pub fn write(graph: &Graph, file: &StateFile, memory: &mut [VertexId]) -> Result<u64> {
        let place = file.reserve(4 * graph.vertices() as u64);
        let part = part_of(memory);
        let (mut at, mut filled, mut written) = (place, 0, Ok(()));
        for_each_by_id(graph, |v| {
            memory[filled] = v;
            filled += 1;
            if filled == part && written.is_ok() {
                written = file.write(at, &memory[..part]);
                at += 4 * part as u64;
            }
            filled %= part;
        })?;
        written?;
        if filled > 0 {
            file.write(at, &memory[..filled])?;
        }
        Ok(place)
    }

    /// The vertex of a rank.
    #[inline(always)]
    pub fn of(&self, rank: VertexId) -> VertexId {
        match &self.0 {
            None => rank,
            Some(vertices) => vertices[rank as usize],
        }
    }
}

/// The parent of a vertex without one.
pub const NO_PARENT: u32 = u32::MAX;

/// For each vertex the parent with the smallest id that was proposed.
#[derive(Debug)]
pub(crate) struct Parents {
    /// As ranks.
    smallest: HugeVec<AtomicU32>,
    ranks: Ranks,
}

impl Parents {
    /// Bytes of the parents of a graph.
    pub fn bytes_for(graph: &Graph) -> u64 {
        4 * graph.vertices() as u64 + Ranks::bytes_for(graph)
    }

    /// All vertices without a parent.
    pub fn new(graph: &Graph) -> Result<Self> {
        let smallest = HugeVec::<AtomicU32>::zeroed(graph.vertices())?;
        fill(&smallest, NO_PARENT);
        Ok(Self { smallest, ranks: Ranks::load(graph)? })
    }

    /// Makes `parent` the parent of `v` unless one with a smaller id is known.
    #[inline(always)]
    pub fn propose(&self, v: VertexId, parent: VertexId) {
        let (cell, rank) = (&self.smallest[v as usize], self.ranks.of(parent));
        // Most proposals do not win, and a load costs less than an exchange.
        if cell.load(Ordering::Relaxed) > rank {
            cell.fetch_min(rank, Ordering::Relaxed);
        }
    }

    /// Proposes several parents, in ascending order.
    #[inline(always)]
    pub fn propose_all(&self, v: VertexId, parents: impl Iterator<Item = VertexId>) {
        let enough = if self.ranks.is_natural() { 1 } else { usize::MAX };
        parents.take(enough).for_each(|parent| self.propose(v, parent));
    }

    /// Whether `v` has a parent.
    #[inline(always)]
    pub fn has(&self, v: VertexId) -> bool {
        self.smallest[v as usize].load(Ordering::Relaxed) != NO_PARENT
    }

    /// The parent of every vertex.
    pub fn finish(self, graph: &Graph) -> Result<HugeVec<VertexId>> {
        let mut parents = self.smallest.into_plain();
        if !self.ranks.is_natural() {
            let vertices = self.ranks.into_vertices(graph)?;
            parallel::for_each_chunk_mut(&mut parents, parallel::BLOCK, |_, parents| {
                for parent in parents.iter_mut().filter(|parent| **parent != NO_PARENT) {
                    *parent = vertices.of(*parent);
                }
            });
        }
        Ok(parents)
    }
}

//! The vertices that are most similar to given sources.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, Graph, HugeVec, Kernel, List, VertexId,
};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Result, Rules, SimilarConfig, Similarity};
use crate::parallel;
use crate::ranks::Ranks;

/// Bytes of a neighbour of a source while neighbours are put together and sorted.
const NEIGHBOR_BYTES: u64 = 3 * size_of::<Neighbor>() as u64;

/// Neighbours of sources take at most `1 / NEIGHBORS_SHARE` of the optional memory.
const NEIGHBORS_SHARE: u64 = 4;

/// Bytes of a row.
const ROW_BYTES: u64 = 24;

/// Bytes of a vertex in a hash table with as many free places as others.
const ENTRY_BYTES: u64 = 40;

/// A neighbour of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Neighbor {
    vertex: VertexId,
    /// The place of the source.
    source: u32,
}

/// What a source counts: for each vertex the sum over the common neighbours.
enum Sums {
    /// By vertex.
    Dense(HugeVec<u64>),
    Sparse(FxHashMap<VertexId, u64>),
}

impl Sums {
    /// Bytes for the sums over lists with so many entries in all.
    fn bytes_for(vertices: usize, entries: u64) -> u64 {
        let sparse = entries.saturating_mul(ENTRY_BYTES).saturating_add(ENTRY_BYTES);
        sparse.min(8 * vertices as u64)
    }

    fn new(vertices: usize, entries: u64) -> Result<Self> {
        if Self::bytes_for(vertices, entries) == 8 * vertices as u64 {
            return Ok(Self::Dense(HugeVec::zeroed(vertices)?));
        }
        Ok(Self::Sparse(FxHashMap::with_capacity_and_hasher(entries as usize, Default::default())))
    }

    fn add(&mut self, vertices: &[VertexId], value: u64) {
        match self {
            Self::Dense(sums) => vertices.iter().for_each(|&v| sums[v as usize] += value),
            Self::Sparse(sums) => {
                vertices.iter().for_each(|&v| *sums.entry(v).or_default() += value);
            }
        }
    }

    /// Calls `each` with every vertex that was counted.
    fn each(&self, mut each: impl FnMut(VertexId, u64)) {
        match self {
            Self::Dense(sums) => {
                let counted = (0..).zip(sums.iter()).filter(|(_, sum)| **sum > 0);
                counted.for_each(|(v, &sum)| each(v, sum));
            }
            Self::Sparse(sums) => sums.iter().for_each(|(&v, &sum)| each(v, sum)),
        }
    }
}

/// What a run is expected to read.
pub(super) struct Expected {
    pub lists: f64,
    /// Entries of a list.
    pub entries: f64,
    pub batches: f64,
}

/// Finds the most similar vertices.
pub(super) struct Top<'a> {
    engine: &'a Engine,
    rules: Rules<'a>,
    top: usize,
    ranks: Ranks,
    frontier: Frontier,
}

impl<'a> Top<'a> {
    /// Bytes of one source and all rows, and for further sources.
    pub fn bytes_for(graph: &Graph, similar: &SimilarConfig) -> (u64, u64) {
        let n = graph.vertices() as u64;
        let sources = similar.sources.len().max(1) as u64;
        let rows = sources * ROW_BYTES * u64::from(similar.top).min(n);
        let one = NEIGHBOR_BYTES * graph.superblock().degree_max + 8 * n;
        (rows + one, one.saturating_mul(sources - 1))
    }

    /// About how many lists are read, of so many entries each, and in how many batches, with so
    /// much memory for further sources.
    pub fn reads_for(graph: &Graph, similar: &SimilarConfig, scratch_bytes: u64) -> Expected {
        let superblock = graph.superblock();
        let n = graph.vertices() as f64;
        let (mean, longest) = (superblock.stored_out as f64 / n.max(1.0), superblock.degree_max);
        // Without sources it is the one of the largest degree.
        let sources = similar.sources.len().max(1) as f64;
        let neighbors = if similar.sources.is_empty() { longest as f64 } else { mean };
        // Vertices with long lists are neighbours more often.
        let of_neighbor = (mean * longest as f64).sqrt();
        let entries = (neighbors * of_neighbor).min(superblock.stored_out as f64);
        let sums = Sums::bytes_for(graph.vertices(), entries as u64) as f64;
        let room = scratch_bytes as f64;
        let share = room / NEIGHBORS_SHARE as f64;
        let of_sums = sources * sums / (room - share + 8.0 * n);
        let of_neighbors = sources * neighbors * NEIGHBOR_BYTES as f64
            / (share + (longest * NEIGHBOR_BYTES) as f64);
        let batches = of_sums.max(of_neighbors).max(1.0).min(sources);
        // Neighbours that sources of a batch share are read once.
        let of_batch = (sources / batches * (1.0 + neighbors)).min(n);
        Expected { lists: batches * of_batch, entries: of_neighbor, batches }
    }

    pub fn new(engine: &'a Engine, rules: Rules<'a>, top: u32) -> Result<Self> {
        let graph = engine.graph();
        let frontier = Frontier::new(graph.vertices())?;
        Ok(Self { engine, rules, top: top as usize, ranks: Ranks::load(graph)?, frontier })
    }

    /// The rows of all sources, and how many batches there were.
    pub fn run(mut self, sources: &[VertexId]) -> Result<(Vec<Similarity>, u64)> {
        let room = self.engine.memory().scratch_bytes;
        let degree_max = self.engine.graph().superblock().degree_max;
        let neighbors_max = room / NEIGHBORS_SHARE / NEIGHBOR_BYTES + degree_max;
        let sums_max = room - room / NEIGHBORS_SHARE + 8 * self.engine.graph().vertices() as u64;
        let (mut rows, mut batches, mut first) = (Vec::new(), 0, 0);
        while first < sources.len() {
            let sizes = sources[first..].iter().map(|&v| u64::from(self.rules.degrees.of(v)));
            let some = &sources[first..][..fitting(sizes, neighbors_max)];
            let neighbors = self.neighbors(some)?;
            let entries = self.entries(some, &neighbors);
            let mut done = 0;
            while done < some.len() {
                let n = self.engine.graph().vertices();
                let sizes = entries[done..].iter().map(|&entries| Sums::bytes_for(n, entries));
                let of = done..done + fitting(sizes, sums_max);
                batches += 1;
                rows.append(&mut self.batch(some, &neighbors, &entries, of.clone())?);
                done = of.end;
            }
            first += some.len();
        }
        Ok((rows, batches))
    }

    /// The neighbours of sources, by vertex.
    fn neighbors(&mut self, sources: &[VertexId]) -> Result<Vec<Neighbor>> {
        let mut places: Vec<(VertexId, u32)> = sources.iter().copied().zip(0..).collect();
        places.sort_unstable();
        self.frontier.set(sources);
        let kernel = Collect { places };
        let active = ActiveSet::In(&self.frontier);
        let parts = self.engine.visit("sources".to_owned(), Direction::Out, active, &kernel)?;
        let mut neighbors = parts.concat();
        neighbors.par_sort_unstable();
        Ok(neighbors)
    }

    /// How many entries the lists of each source's neighbours have.
    fn entries(&self, sources: &[VertexId], neighbors: &[Neighbor]) -> Vec<u64> {
        let mut entries = vec![0; sources.len()];
        for neighbor in neighbors {
            entries[neighbor.source as usize] +=
                u64::from(self.rules.degrees.towards(neighbor.vertex));
        }
        entries
    }

    fn batch(
        &mut self,
        sources: &[VertexId],
        neighbors: &[Neighbor],
        entries: &[u64],
        of: Range<usize>,
    ) -> Result<Vec<Similarity>> {
        let n = self.engine.graph().vertices();
        let sums = entries[of.clone()].iter().map(|&entries| Sums::new(n, entries).map(Mutex::new));
        let mut sums = sums.collect::<Result<Vec<_>>>()?;
        let is_of = |neighbor: &&Neighbor| of.contains(&(neighbor.source as usize));
        self.frontier.set(neighbors.iter().filter(is_of).map(|neighbor| neighbor.vertex));
        let directed = self.engine.graph().is_directed();
        let direction = if directed { Direction::In } else { Direction::Out };
        let count = Count { rules: self.rules, neighbors, first: of.start, sums: &sums };
        let active = ActiveSet::In(&self.frontier);
        self.engine.visit("neighbours".to_owned(), direction, active, &count)?;
        let sources = &sources[of];
        let rows = parallel::map_mut(&mut sums, |at, sums| {
            self.best(sources[at], sums.get_mut().unwrap_or_else(PoisonError::into_inner))
        });
        // They make room for a copy of the rows.
        drop(sums);
        Ok(rows.concat())
    }

    /// The most similar vertices of a source.
    fn best(&self, source: VertexId, sums: &Sums) -> Vec<Similarity> {
        let order = |a: &Similarity, b: &Similarity| -> Ordering {
            let by_rank = || self.ranks.of(a.target).cmp(&self.ranks.of(b.target));
            b.score.total_cmp(&a.score).then_with(by_rank)
        };
        let mut best = Vec::new();
        sums.each(|target, sum| {
            if target == source {
                return;
            }
            let score = self.rules.score(source, target, sum);
            best.push(Similarity { source, target, score });
            if best.len() > 2 * self.top {
                best.select_nth_unstable_by(self.top, order);
                best.truncate(self.top);
            }
        });
        best.sort_unstable_by(order);
        best.truncate(self.top);
        best
    }
}

/// How many of these fit side by side; one at least.
fn fitting(sizes: impl Iterator<Item = u64>, most: u64) -> usize {
    let mut sum = 0u64;
    let fits = sizes.take_while(|size| {
        sum = sum.saturating_add(*size);
        sum <= most
    });
    fits.count().max(1)
}

/// Collects the neighbours of sources.
struct Collect {
    /// The sources with their places, by vertex.
    places: Vec<(VertexId, u32)>,
}

impl Kernel for Collect {
    type Local = Vec<Neighbor>;

    fn local(&self) -> Vec<Neighbor> {
        Vec::new()
    }

    fn list(&self, local: &mut Vec<Neighbor>, list: &List<'_>) {
        let Ok(at) = self.places.binary_search_by_key(&list.vertex, |place| place.0) else {
            return;
        };
        let source = self.places[at].1;
        local.extend(list.targets.iter().map(|&vertex| Neighbor { vertex, source }));
    }
}

/// Counts the lists of neighbours for their sources.
struct Count<'a> {
    rules: Rules<'a>,
    /// By vertex.
    neighbors: &'a [Neighbor],
    /// The place of the first source of the batch.
    first: usize,
    sums: &'a [Mutex<Sums>],
}

impl Kernel for Count<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let value = self.rules.value(list.vertex);
        let first = self.neighbors.partition_point(|neighbor| neighbor.vertex < list.vertex);
        let of_list = self.neighbors[first..].iter().take_while(|n| n.vertex == list.vertex);
        for neighbor in of_list {
            let place = (neighbor.source as usize).checked_sub(self.first);
            if let Some(sums) = place.and_then(|place| self.sums.get(place)) {
                let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
                sums.add(list.targets, value);
            }
        }
    }
}

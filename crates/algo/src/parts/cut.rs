//! How the vertices are cut into parts.

use std::ops::{Range, RangeInclusive};

use cenote_engine::{Adjacency, Direction, Engine, EngineConfig, Graph, Needs, PageTask, VertexId};

use super::heap::Heap;
use super::room::Room;
use crate::csr::{self, entries};
use crate::kind::is_flat;
use crate::near::share_near;
use crate::report::Result;

/// Parts are made of granules, of which a graph has at most so many.
const GRANULES: u64 = 4096;

/// Parts in memory at a time: one for each thread, but at least two, so that edges to a neighbour
/// are followed at once, and no more than these, since small parts have more edges to others.
const IN_MEMORY: RangeInclusive<usize> = 2..=8;

/// The least share of edges that must stay within the parts in memory. On a grid in the order of
/// its rows they do if these parts have 10 rows; with fewer, parts are read so often that visits of
/// single pages are faster.
const NEAR: f64 = 0.94;

/// Where not all lists fit in memory, they leave this share of it to cached pages.
const CACHE_SHARE: u64 = 4;

/// A division of the vertices into parts of equal size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Vertices of the graph.
    vertices: u64,
    /// Vertices of a part.
    part: u64,
    /// Parts in memory at a time.
    in_memory: usize,
    /// The most entries of the lists of a part.
    entries: u64,
}

/// Whether a graph may be searched part by part: the paths of networks with more edges have few
/// steps, and cached pages are worth more.
pub(crate) fn is_worth_room(graph: &Graph) -> bool {
    (csr::is_worth_room(graph) || is_flat(graph)) && entries(graph) < u64::from(u32::MAX)
}

/// Bytes for all lists as one part, and some more, with which they mostly fit as several parts that
/// do not have equally many entries.
pub(crate) fn bytes_for_all(graph: &Graph) -> u64 {
    let bytes = Cut::of_all(graph).bytes_for(graph);
    bytes + bytes / 32
}

/// Leaves memory for parts, where [`is_worth_room`]: for all lists if they fit beside vertex state,
/// else most of what is left. `needs` asks for all.
pub(crate) fn with_room(
    graph: &Graph,
    mut config: EngineConfig,
    needs: &Needs,
) -> Result<EngineConfig> {
    let (_, memory) = Engine::plan(graph, &config, needs)?;
    let left = memory.scratch_bytes + memory.cache_bytes;
    let cache = left.checked_sub(needs.scratch_bytes).unwrap_or(left / CACHE_SHARE);
    config.cache_bytes = Some(config.cache_bytes.map_or(cache, |set| set.min(cache)));
    Ok(config)
}

/// About how often lists are read part by part in so many bytes, where most edges lead nearby.
/// Measured on grids and road networks of 10^6 and 8 x 10^6 vertices in 60 to 180 parts.
pub(crate) fn likely_reads(graph: &Graph, bytes: u64) -> f64 {
    let parts = bytes_for_all(graph) as f64 / bytes.max(1) as f64 * *IN_MEMORY.start() as f64;
    1.5 + parts / 40.0
}

impl Cut {
    fn of_all(graph: &Graph) -> Self {
        let vertices = graph.vertices() as u64;
        Self { vertices, part: vertices, in_memory: 1, entries: entries(graph) }
    }

    /// The largest parts of which as many as there are threads fit in `bytes`; all lists as one
    /// part, if only that fits, or if too many edges lead to other parts; `None` if nothing does.
    pub fn of(engine: &Engine, bytes: u64) -> Result<Option<Self>> {
        let all = Self::of_all(engine.graph());
        match Self::of_near(engine, bytes)? {
            None if all.bytes_for(engine.graph()) <= bytes => Ok(Some(all)),
            cut => Ok(cut),
        }
    }

    /// As [`Cut::of`], but `None` if too many edges lead to other parts.
    pub fn of_near(engine: &Engine, bytes: u64) -> Result<Option<Self>> {
        let all = Self::of_all(engine.graph());
        let all_fit = all.bytes_for(engine.graph()) <= bytes;
        let mut cut = Self::largest(engine, all, bytes)?;
        cut = cut.filter(|cut| !all_fit || cut.parts() <= cut.in_memory);
        match cut {
            Some(cut) if cut.near(engine)? >= NEAR => Ok(Some(cut)),
            _ => Ok(None),
        }
    }

    fn largest(engine: &Engine, all: Self, bytes: u64) -> Result<Option<Self>> {
        let graph = engine.graph();
        let granule = all.granule();
        let mut sums = vec![0; all.vertices.div_ceil(granule) as usize];
        graph.degrees(Direction::Out, &mut |first, degrees| {
            for (v, degree) in (u64::from(first)..).zip(degrees) {
                sums[(v / granule) as usize] += degree;
            }
        })?;
        let in_memory = engine.config().threads.clamp(*IN_MEMORY.start(), *IN_MEMORY.end());
        let of_granules = |granules: usize| {
            let entries = sums.chunks(granules).map(|part| part.iter().sum::<u64>()).max();
            let part = granules as u64 * granule;
            Self { part, in_memory, entries: entries.unwrap_or(0), ..all }
        };
        let mut granules = sums.len().div_ceil(in_memory);
        loop {
            let cut = of_granules(granules);
            if cut.bytes_for(graph) <= bytes {
                return Ok(Some(cut));
            }
            if granules == 1 {
                return Ok(None);
            }
            granules -= granules.div_ceil(16);
        }
    }

    /// Vertices of a granule.
    fn granule(self) -> u64 {
        self.vertices.div_ceil(GRANULES).next_multiple_of(64).max(64)
    }

    /// Bytes of the parts in memory, their heaps, the list of the pages of one, the entries of each
    /// granule and the least distance in each part.
    fn bytes_for(self, graph: &Graph) -> u64 {
        let granules = self.vertices.div_ceil(self.granule());
        let of_parts = 2 * granules * size_of::<u64>() as u64;
        let tasks = self.pages(graph) * size_of::<PageTask>() as u64;
        let part = Room::bytes_for(graph, self.part, self.entries) + Heap::bytes_for(self.part);
        of_parts + tasks + self.in_memory as u64 * part
    }

    /// The most pages of a part.
    fn pages(self, graph: &Graph) -> u64 {
        let of_part = |lists: &Adjacency, part| Room::pages_of(lists, &self.vertices(part)).count();
        let most = |lists| (0..self.parts()).map(|part| of_part(lists, part)).max();
        graph.adjacency(Direction::Out).and_then(most).unwrap_or(0) as u64
    }

    /// How many of the edges on some pages stay within as many vertices as are in memory, or in one
    /// part, if all are.
    fn near(self, engine: &Engine) -> Result<f64> {
        let is_all = self.parts() <= self.in_memory;
        share_near(engine, if is_all { self.part } else { self.part * self.in_memory as u64 })
    }

    /// The number of parts.
    pub fn parts(self) -> usize {
        self.vertices.div_ceil(self.part.max(1)) as usize
    }

    /// Parts in memory at a time.
    pub fn in_memory(self) -> usize {
        self.in_memory
    }

    /// The most vertices of a part.
    pub fn part_vertices(self) -> usize {
        self.part as usize
    }

    /// The part of a vertex.
    #[inline(always)]
    pub fn part_of(self, v: VertexId) -> usize {
        (u64::from(v) / self.part) as usize
    }

    /// The vertices of a part.
    pub fn vertices(self, part: usize) -> Range<VertexId> {
        let start = |part: usize| (part as u64 * self.part).min(self.vertices) as VertexId;
        start(part)..start(part + 1)
    }

    /// Room for any part.
    pub(super) fn room(self, graph: &Graph) -> Result<Room> {
        Room::new(graph, self.part, self.entries)
    }
}

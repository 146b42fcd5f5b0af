//! The order by which edges are directed, and what it says about lists before any is read.

use std::ops::Range;

use cenote_engine::{Adjacency, Direction, Graph, HugeVec, VertexId};

use super::lists::{NEAR, words_of};
use crate::report::Result;

/// Ranks with at least this many edges may become hubs, whose lists are also kept as rows of bits:
/// below it, a row is longer than the work that it saves.
const HUB_DEGREE: u64 = 64;

/// Rows at most: 16 MiB of bits.
const HUBS_MAX: u32 = 1 << 14;

/// Every vertex's place by falling degree (ties by rising vertex), and bounds on oriented lists:
/// vertex `v` keeps its neighbours of smaller rank, at most as many as it has neighbours, and at
/// most as many as there are smaller ranks.
pub(crate) struct Order {
    pub ranks: HugeVec<u32>,
    /// For each page of out-lists, the words that lists of all vertices before it take at most;
    /// one more for the whole.
    words_before: Vec<u64>,
    /// Words of the longest list, at most.
    pub list_words_max: u64,
    /// Words of the lists that start in one page, at most.
    pub page_words_max: u64,
    /// Words of all lists, as a random graph of these degrees would have them.
    pub words_expected: u64,
    /// Vertices that are worth a row of bits.
    pub hubs: u32,
    /// A list is kept of vertices with so many edges: one edge makes no triangle. On a directed
    /// graph, where an edge each way counts as two, they are distinguished too late.
    pub degree_min: u32,
    /// Lists start at multiples of this many words, so that a `u32` holds their place.
    pub unit: u64,
}

/// Sums over the degrees.
#[derive(Default)]
struct Sums {
    all: u64,
    far: u64,
    lists: u64,
}

impl Order {
    /// Memory that stays, bytes.
    pub fn bytes_for(graph: &Graph) -> u64 {
        4 * graph.vertices() as u64 + 8 * (out_lists(graph).pages() + 1)
    }

    /// Ranks the vertices; `doubles` says whether lists keep which edges run both ways. While it
    /// runs it takes 4 bytes for each value up to the largest degree on top.
    pub fn new(graph: &Graph, doubles: bool) -> Result<Self> {
        let n = graph.vertices();
        let mut order = Self {
            ranks: HugeVec::zeroed(n)?,
            words_before: Vec::new(),
            list_words_max: 0,
            page_words_max: 0,
            words_expected: 0,
            hubs: 0,
            degree_min: if graph.is_directed() { 1 } else { 2 },
            unit: 1,
        };
        order.take_degrees(graph, Direction::Out)?;
        if graph.is_directed() {
            order.take_degrees(graph, Direction::In)?;
        }
        // As if no list was compressed: a u32 must be able to hold where each starts.
        let entries = graph.superblock().stored_out + graph.superblock().stored_in;
        while (2 * entries + 8 * n as u64) / order.unit >= u64::from(u32::MAX) {
            order.unit *= 2;
        }
        order.rank_by_degree(out_lists(graph), doubles);
        Ok(order)
    }

    /// Adds degrees up in the place of the ranks; a degree above the number of vertices, which
    /// repeated edges make, counts as that.
    fn take_degrees(&mut self, graph: &Graph, direction: Direction) -> Result<()> {
        let n = graph.vertices() as u64;
        graph.degrees(direction, &mut |first, degrees| {
            for (sum, &degree) in self.ranks[first as usize..].iter_mut().zip(degrees) {
                *sum = u64::from(*sum).saturating_add(degree).min(n) as u32;
            }
        })?;
        Ok(())
    }

    fn rank_by_degree(&mut self, lists: &Adjacency, doubles: bool) {
        let mut next = first_ranks(&self.ranks);
        let mut sums = Sums::default();
        let mut words = 0u64;
        for v in 0..self.ranks.len() {
            while (self.words_before.len() as u64) < lists.pages()
                && lists.starts_from(self.words_before.len() as u64) as usize <= v
            {
                self.words_before.push(words);
            }
            let degree = self.ranks[v];
            let rank = next[degree as usize];
            next[degree as usize] += 1;
            self.ranks[v] = rank;
            let of_list = self.words_of_vertex(degree, rank, doubles);
            words += of_list;
            self.list_words_max = self.list_words_max.max(of_list);
            sums.all += u64::from(degree);
            sums.far += if rank >= NEAR { u64::from(degree) } else { 0 };
            sums.lists += u64::from(of_list > 0);
            self.hubs += u32::from(u64::from(degree) >= HUB_DEGREE);
        }
        self.words_before.resize(lists.pages() as usize + 1, words);
        let pages = self.words_before.windows(2).map(|pair| pair[1] - pair[0]);
        self.page_words_max = pages.max().unwrap_or(0);
        self.words_expected = expected(&sums, doubles).min(words);
        self.hubs = self.hubs.min(HUBS_MAX);
    }

    /// The most words that the list of a vertex takes.
    fn words_of_vertex(&self, degree: u32, rank: u32, doubles: bool) -> u64 {
        if degree < self.degree_min {
            return 0;
        }
        words_of(0, u64::from(degree.min(rank)), doubles).next_multiple_of(self.unit)
    }

    /// The first of `pages` whose lists fit into `room` words whatever they are: up to which page,
    /// and whose lists these are.
    pub fn reach(&self, graph: &Graph, pages: Range<u64>, room: u64) -> (u64, Range<VertexId>) {
        let limit = self.words_before[pages.start as usize] + room;
        let fitting = self.words_before.partition_point(|&words| words <= limit) as u64;
        let to = (fitting - 1).clamp(pages.start, pages.end);
        let lists = out_lists(graph);
        let vertex = |page| match page == lists.pages() {
            true => graph.vertices() as VertexId,
            false => lists.starts_from(page),
        };
        (to, vertex(pages.start)..vertex(to))
    }
}

pub(crate) fn out_lists(graph: &Graph) -> &Adjacency {
    graph.adjacency(Direction::Out).expect("every graph has lists of targets")
}

/// For each degree the rank of the first vertex that has it.
fn first_ranks(degrees: &[u32]) -> Vec<u32> {
    let largest = degrees.iter().copied().max().unwrap_or(0);
    let mut counts = vec![0u32; largest as usize + 1];
    for &degree in degrees {
        counts[degree as usize] += 1;
    }
    let mut before = 0;
    for count in counts.iter_mut().rev() {
        before += std::mem::replace(count, before);
    }
    counts
}

/// Half of the entries stay; between two ranks that are not near as many as if edges had been
/// drawn by degree alone.
fn expected(sums: &Sums, doubles: bool) -> u64 {
    let edges = sums.all / 2;
    let far = (sums.far as f64 * sums.far as f64 / (2.0 * sums.all.max(1) as f64)) as u64;
    let near = edges.saturating_sub(far);
    let flags = if doubles { edges / 32 + sums.lists } else { 0 };
    near / 2 + far + 3 * sums.lists + sums.lists / 2 + flags
}

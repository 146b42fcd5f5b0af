//! The order by which edges are directed, and bounds of list lengths before any list is read.

use cenote_engine::{Adjacency, Direction, Graph, HugeVec};

use super::lists::{NEAR, words_of};
use crate::report::Result;

/// Vertices of at least this degree may become hubs, whose lists are also kept as bit rows; for
/// others a row takes longer than it saves.
const HUB_DEGREE: u64 = 64;

/// The most hubs: 16 MiB of bits.
const HUBS_MAX: u32 = 1 << 14;

/// A vertex of smaller degree, in both directions together, has one neighbour at most and is in no
/// triangle.
const DEGREE_MIN: u32 = 2;

/// Vertices ranked by falling degree (ties by rising vertex), and bounds on oriented lists: a
/// vertex keeps its neighbours of lower rank, at most its degree and at most its rank.
pub(crate) struct Order {
    pub ranks: HugeVec<u32>,
    /// For each page of out-lists, the most words of the lists of all vertices before it; at the
    /// end, of all lists.
    words_before: Vec<u64>,
    /// The most words of a list.
    pub list_words_max: u64,
    /// The most words of the lists that start in one page.
    pub page_words_max: u64,
    /// Words of all lists, if a random graph had these degrees.
    pub words_expected: u64,
    /// The number of hubs.
    pub hubs: u32,
    /// Vertices of at least [`DEGREE_MIN`], which have the lowest ranks: the lists of others are
    /// not kept.
    pub kept: u32,
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
    /// Bytes of the order.
    pub fn bytes_for(graph: &Graph) -> u64 {
        4 * graph.vertices() as u64 + 8 * (out_lists(graph).pages() + 1)
    }

    /// Ranks the vertices; `doubles`: whether lists keep which edges run both ways. Temporarily
    /// takes 4 more bytes for each value up to the largest degree.
    pub fn new(graph: &Graph, doubles: bool) -> Result<Self> {
        let n = graph.vertices();
        let mut order = Self {
            ranks: HugeVec::zeroed(n)?,
            words_before: Vec::new(),
            list_words_max: 0,
            page_words_max: 0,
            words_expected: 0,
            hubs: 0,
            kept: 0,
            unit: unit_of(graph),
        };
        order.take_degrees(graph, Direction::Out)?;
        if graph.is_directed() {
            order.take_degrees(graph, Direction::In)?;
        }
        order.rank_by_degree(out_lists(graph), doubles);
        Ok(order)
    }

    /// Bounds of what [`Order::new`] would find, from the index alone: without ranks, and only for
    /// graphs without hubs.
    pub fn bound(graph: &Graph, doubles: bool) -> Self {
        let (superblock, lists) = (graph.superblock(), out_lists(graph));
        let (n, degree_max) = (graph.vertices() as u64, superblock.degree_max);
        assert!(degree_max < HUB_DEGREE && !graph.is_directed(), "no hubs");
        let unit = unit_of(graph);
        let list_words_max = words_of(0, degree_max, doubles).next_multiple_of(unit);
        // A list that is kept has two entries or more, so its words are at most four times those.
        let entries = lists.page_entries_max() + degree_max;
        let words_expected = superblock.stored_out / 2 + 4 * n;
        Self {
            ranks: HugeVec::zeroed(0).expect("no memory is needed"),
            words_before: Vec::new(),
            list_words_max,
            page_words_max: (4 * unit * entries).min(list_words_max * n),
            words_expected,
            hubs: 0,
            kept: 0,
            unit,
        }
    }

    /// Adds degrees to `ranks`, at most the number of vertices, which repeated edges may exceed.
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
            let of_list = words_of_vertex(degree, rank, doubles).next_multiple_of(self.unit);
            words += of_list;
            self.list_words_max = self.list_words_max.max(of_list);
            sums.all += u64::from(degree);
            sums.far += if rank >= NEAR { u64::from(degree) } else { 0 };
            sums.lists += u64::from(of_list > 0);
            self.kept += u32::from(degree >= DEGREE_MIN);
            self.hubs += u32::from(u64::from(degree) >= HUB_DEGREE);
        }
        self.words_before.resize(lists.pages() as usize + 1, words);
        let pages = self.words_before.windows(2).map(|pair| pair[1] - pair[0]);
        self.page_words_max = pages.max().unwrap_or(0);
        self.words_expected = expected(&sums, doubles).min(words);
        self.hubs = self.hubs.min(HUBS_MAX);
    }

    /// The most words of the lists that start in `page`.
    pub fn words_in(&self, page: u64) -> u64 {
        self.words_before[page as usize + 1] - self.words_before[page as usize]
    }
}

/// Words of which a `u32` can count all that lists take: for uncompressed lists, the worst case.
fn unit_of(graph: &Graph) -> u64 {
    let entries = graph.superblock().stored_out + graph.superblock().stored_in;
    let words = 2 * entries + 8 * graph.vertices() as u64;
    let mut unit = 1;
    while words / unit >= u64::from(u32::MAX) {
        unit *= 2;
    }
    unit
}

pub(crate) fn out_lists(graph: &Graph) -> &Adjacency {
    graph.adjacency(Direction::Out).expect("every graph has lists of targets")
}

/// The most words that the list of a vertex takes.
fn words_of_vertex(degree: u32, rank: u32, doubles: bool) -> u64 {
    if degree < DEGREE_MIN { 0 } else { words_of(0, u64::from(degree.min(rank)), doubles) }
}

/// For each degree, the rank of the first vertex of that degree.
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

/// Expected words of all lists: half of the entries; pairs of ranks that are both not near are as
/// frequent as if edges were drawn by degree alone.
fn expected(sums: &Sums, doubles: bool) -> u64 {
    let edges = sums.all / 2;
    let far = (sums.far as f64 * sums.far as f64 / (2.0 * sums.all.max(1) as f64)) as u64;
    let near = edges.saturating_sub(far);
    let flags = if doubles { edges / 32 + sums.lists } else { 0 };
    near / 2 + far + 3 * sums.lists + sums.lists / 2 + flags
}

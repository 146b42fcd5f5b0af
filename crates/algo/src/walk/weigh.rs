//! Which entry of a list a step proposes, by weight.

use std::ops::Range;

use cenote_engine::{
    Adjacency, Direction, Engine, EngineConfig, Graph, Page, VertexId, Weights,
    weighted_pages_bytes_for,
};

use super::fixed::{Scale, below_total, index_of};
use super::hubs::Hubs;
use super::long::Contradiction;
use crate::report::{AlgoError, Result};

/// What steps by weight know of the graph.
#[derive(Debug)]
pub(super) struct Weighing<'a> {
    adjacency: &'a Adjacency,
    scale: Scale,
    hubs: Hubs,
}

/// Where the entry lies that a draw chooses from a list of which a piece is on a page.
enum Place {
    /// Among these, which are the whole list.
    List(Range<usize>),
    /// Among these, which are a part of a long list: where the sum of their weights is above this.
    Part(Range<usize>, u128),
    /// Nowhere: the list weighs nothing.
    Nowhere,
    /// On another page; on the first one where a long list is not known yet.
    At(u64),
}

/// What came of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This neighbour is proposed.
    Target(VertexId),
    /// There is none to go to.
    DeadEnd,
    /// It lies on this page, or its weight does not lie among those that are here.
    At(u64),
}

impl<'a> Weighing<'a> {
    /// Knows no long list yet.
    pub fn new(graph: &'a Graph) -> Result<Self> {
        let adjacency = graph.adjacency(Direction::Out).expect("every graph has out-lists");
        graph.load_weights(Direction::Out)?;
        Ok(Self { adjacency, scale: Scale::new(graph), hubs: Hubs::default() })
    }

    /// Memory beside the walks: long lists, copies that wait for weights.
    pub fn bytes(graph: &Graph, config: &EngineConfig) -> Result<u64> {
        let (column, adjacency) =
            (graph.load_weights(Direction::Out)?, graph.adjacency(Direction::Out));
        let (Some(column), Some(adjacency)) = (column, adjacency) else { return Ok(0) };
        let sums = config.threads as u64 * adjacency.page_entries_max() * size_of::<u128>() as u64;
        let visits = weighted_pages_bytes_for(graph, config, Direction::Out)?;
        Ok(Hubs::bytes(adjacency, column) + visits + 2 * sums)
    }

    /// Pages that are read to know the long lists, if walks come to all of them.
    pub fn pages_to_learn(graph: &Graph) -> u64 {
        match (graph.adjacency(Direction::Out), graph.weights(Direction::Out)) {
            (Some(adjacency), Some(column)) => Hubs::pages(adjacency, column),
            _ => 0,
        }
    }

    fn place(
        &self,
        page: &Page<'_>,
        number: u64,
        vertex: VertexId,
        word: impl FnOnce() -> u64,
    ) -> Place {
        let i = (vertex - page.first_vertex()) as usize;
        let (list, start, end) = (page.list(i), page.start(i), page.end(i));
        if list.is_whole() {
            return Place::List(start..end);
        }
        let Some(hub) = self.hubs.get(vertex) else {
            return Place::At(*self.adjacency.pages_of(vertex).start());
        };
        if hub.total() == 0 {
            return Place::Nowhere;
        }
        let drawn = below_total(word(), hub.total());
        let part = hub.part(drawn);
        let page = self.adjacency.pages_of(vertex).start() + part.page;
        if page != number {
            return Place::At(page);
        }
        let place = |position: u64| (start + position.saturating_sub(list.skip) as usize).min(end);
        let entries = place(part.positions.start)..place(part.positions.end);
        Place::Part(entries, drawn - part.before)
    }

    /// The page at which a walk is to wait for what `word` draws; the first of a long list that is
    /// not known yet.
    pub fn page_of(&self, vertex: VertexId, word: impl FnOnce() -> u64) -> u64 {
        let pages = self.adjacency.pages_of(vertex);
        if pages.start() == pages.end() {
            return *pages.start();
        }
        match self.hubs.get(vertex) {
            Some(hub) if hub.total() > 0 => {
                pages.start() + hub.part(below_total(word(), hub.total())).page
            }
            _ => *pages.start(),
        }
    }

    /// The entries of page `number` whose weights decide what `word` draws, by their places.
    pub fn entries(
        &self,
        page: &Page<'_>,
        number: u64,
        vertex: VertexId,
        word: impl FnOnce() -> u64,
    ) -> Range<usize> {
        match self.place(page, number, vertex, word) {
            Place::List(entries) | Place::Part(entries, _) => entries,
            Place::Nowhere | Place::At(_) => 0..0,
        }
    }

    /// Chooses from a list of which a piece is on page `number`.
    pub fn choose(
        &self,
        there: &mut There<'_>,
        page: &Page<'_>,
        number: u64,
        vertex: VertexId,
        word: u64,
    ) -> std::result::Result<Choice, Contradiction> {
        let (entries, drawn) = match self.place(page, number, vertex, || word) {
            Place::List(entries) if entries.is_empty() => return Ok(Choice::DeadEnd),
            Place::List(entries) => (entries, None),
            Place::Part(entries, drawn) => (entries, Some(drawn)),
            Place::Nowhere => return Ok(Choice::DeadEnd),
            Place::At(page) => return Ok(Choice::At(page)),
        };
        if entries.start < there.entries.start || entries.end > there.entries.end {
            return Ok(Choice::At(number));
        }
        let sums = there.sums_of(self.scale, entries.clone())?;
        let total = sums.last().copied().unwrap_or(0);
        if drawn.is_none() && total == 0 {
            return Ok(Choice::DeadEnd);
        }
        let index = index_of(sums, drawn.unwrap_or_else(|| below_total(word, total)));
        match page.entries()[entries].get(index) {
            Some(target) => Ok(Choice::Target(*target)),
            // The weights are not those that were summed up before.
            None => Err(Contradiction),
        }
    }

    /// Whether the list of `vertex`, which has a piece on this page, runs over to the next.
    pub fn runs_on(&self, page: u64, vertex: VertexId) -> bool {
        let next = page + 1;
        next < self.adjacency.pages()
            && self.adjacency.continues(next)
            && self.adjacency.vertices_in(next).start == vertex
    }

    /// Learns the long ones among the lists of these vertices, so far as they are not known.
    pub fn learn(&mut self, engine: &Engine, mut vertices: Vec<VertexId>) -> Result<()> {
        vertices.sort_unstable();
        vertices.dedup();
        vertices.retain(|v| {
            let pages = self.adjacency.pages_of(*v);
            pages.start() != pages.end() && self.hubs.get(*v).is_none()
        });
        let unknown = vertices;
        match self.hubs.learn(engine, self.scale, &unknown)? {
            Ok(()) => Ok(()),
            Err(Contradiction) => Err(contradiction(engine.graph())),
        }
    }
}

/// Pages that say different things of the same list.
pub(super) fn contradiction(graph: &Graph) -> AlgoError {
    AlgoError::Contradiction {
        file: graph.file().to_string(),
        fault: "pieces of a list do not fit together, or weights not the superblock".to_owned(),
    }
}

/// The weights that are there beside a page.
#[derive(Debug)]
pub(super) struct There<'a> {
    entries: Range<usize>,
    weights: Weights<'a>,
    /// Sums of the entries that were asked for last.
    sums: &'a mut Sums,
}

/// Sums of weights, kept from walk to walk.
#[derive(Debug, Default)]
pub(super) struct Sums {
    of: Range<usize>,
    sums: Vec<u128>,
}

impl<'a> There<'a> {
    /// The weights of these entries of a page.
    pub fn new(entries: Range<usize>, weights: Weights<'a>, sums: &'a mut Sums) -> Self {
        sums.of = 0..0;
        Self { entries, weights, sums }
    }

    fn sums_of(
        &mut self,
        scale: Scale,
        entries: Range<usize>,
    ) -> std::result::Result<&[u128], Contradiction> {
        if self.sums.of != entries {
            self.sums.sums.clear();
            let first = self.entries.start;
            let weights = self.weights.slice(entries.start - first..entries.end - first);
            scale.sums(weights, &mut self.sums.sums)?;
            self.sums.of = entries;
        }
        Ok(&self.sums.sums)
    }
}

/// The smallest range that holds both.
pub(super) fn hull(a: Range<usize>, b: Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

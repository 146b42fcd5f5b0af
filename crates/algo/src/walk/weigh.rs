//! Weighted choice of the entry that a step proposes.

use std::ops::Range;

use cenote_engine::{
    Adjacency, Direction, Engine, EngineConfig, Graph, Page, VertexId, Weights,
    weighted_pages_bytes_for,
};

use super::fixed::{Scale, below_total, index_of};
use super::hubs::Hubs;
use super::long::Contradiction;
use crate::report::{AlgoError, Result};

/// The state of weighted steps: the known long lists.
#[derive(Debug)]
pub(super) struct Weighing<'a> {
    adjacency: &'a Adjacency,
    scale: Scale,
    hubs: Hubs,
}

/// The location of the entry that a draw selects from a list with a piece on a page.
enum Place {
    /// In this range, which is the whole list.
    List(Range<usize>),
    /// In this range, a part of a long list, at this sum of weights within it.
    Part(Range<usize>, u128),
    /// Nowhere: all weights of the list are 0.
    Nowhere,
    /// On another page; on the first one if the long list is unknown.
    At(u64),
}

/// The result of a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// This neighbour is proposed.
    Target(VertexId),
    /// No neighbour can be proposed.
    DeadEnd,
    /// The entry is on this page, or its weight is not among those that were read.
    At(u64),
}

impl<'a> Weighing<'a> {
    /// Initially no long list is known.
    pub fn new(graph: &'a Graph) -> Result<Self> {
        let adjacency = graph.adjacency(Direction::Out).expect("every graph has out-lists");
        graph.load_weights(Direction::Out)?;
        Ok(Self { adjacency, scale: Scale::new(graph), hubs: Hubs::default() })
    }

    /// Bytes of long lists, sums, and copies that wait for weights.
    pub fn bytes(graph: &Graph, config: &EngineConfig) -> Result<u64> {
        let (column, adjacency) =
            (graph.load_weights(Direction::Out)?, graph.adjacency(Direction::Out));
        let (Some(column), Some(adjacency)) = (column, adjacency) else { return Ok(0) };
        let sums = config.threads as u64 * adjacency.page_entries_max() * size_of::<u128>() as u64;
        let visits = weighted_pages_bytes_for(graph, config, Direction::Out)?;
        Ok(Hubs::bytes(adjacency, column) + visits + 2 * sums)
    }

    /// Pages read to load all long lists.
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

    /// The page at which a walk waits for the entry that `word` selects; the first page of a long
    /// list that is unknown.
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

    /// The entries of page `number` whose weights decide what `word` selects.
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

    /// Chooses from a list with a piece on page `number`.
    pub fn choose(
        &self,
        weights: &mut PageWeights<'_>,
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
        if entries.start < weights.entries.start || entries.end > weights.entries.end {
            return Ok(Choice::At(number));
        }
        let sums = weights.sums_of(self.scale, entries.clone())?;
        let total = sums.last().copied().unwrap_or(0);
        if drawn.is_none() && total == 0 {
            return Ok(Choice::DeadEnd);
        }
        let index = index_of(sums, drawn.unwrap_or_else(|| below_total(word, total)));
        match page.entries()[entries].get(index) {
            Some(target) => Ok(Choice::Target(*target)),
            // The weights differ from those of the known sums.
            None => Err(Contradiction),
        }
    }

    /// Whether the list of `vertex`, which has a piece on this page, continues on the next.
    pub fn runs_on(&self, page: u64, vertex: VertexId) -> bool {
        let next = page + 1;
        next < self.adjacency.pages()
            && self.adjacency.continues(next)
            && self.adjacency.vertices_in(next).start == vertex
    }

    /// Loads the long lists among those of `vertices` that are not known.
    pub fn learn(&mut self, engine: &Engine, mut vertices: Vec<VertexId>) -> Result<()> {
        vertices.sort_unstable();
        vertices.dedup();
        vertices.retain(|v| {
            let pages = self.adjacency.pages_of(*v);
            pages.start() != pages.end() && self.hubs.get(*v).is_none()
        });
        match self.hubs.load(engine, self.scale, &vertices)? {
            Ok(()) => Ok(()),
            Err(Contradiction) => Err(contradiction(engine.graph())),
        }
    }
}

/// The error for pages that contradict each other.
pub(super) fn contradiction(graph: &Graph) -> AlgoError {
    AlgoError::Contradiction {
        file: graph.file().to_string(),
        fault: "pieces of a list do not fit together, or weights not the superblock".to_owned(),
    }
}

/// The weights of entries of a page.
#[derive(Debug)]
pub(super) struct PageWeights<'a> {
    entries: Range<usize>,
    weights: Weights<'a>,
    /// Prefix sums of the entries used last.
    sums: &'a mut Sums,
}

/// Prefix sums of weights, reused for walks at the same vertex.
#[derive(Debug, Default)]
pub(super) struct Sums {
    of: Range<usize>,
    sums: Vec<u128>,
}

impl<'a> PageWeights<'a> {
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

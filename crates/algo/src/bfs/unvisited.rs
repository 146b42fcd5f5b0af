//! The residual graph of a search: the lists of the vertices that a bottom-up step left unvisited,
//! kept in memory.
//!
//! Symmetric lists are kept as they are. On a directed graph the step reads in-lists, whose entries
//! are kept reversed, as arcs sorted by source.

use cenote_engine::{Bitmap, List, VertexId};

use crate::parallel;
use crate::report::Result;
use crate::residual::{Kept, Parts, Residual, ResidualPart};

/// Arcs that a thread takes at a time.
const ARCS_OF_BLOCK: usize = 1 << 14;

/// Space for the lists that the workers of a step keep.
#[derive(Debug)]
pub(super) enum Keep {
    /// For symmetric lists.
    Lists(Parts),
    /// For directed graphs: 4-byte words per worker.
    Arcs(u64),
}

impl Keep {
    /// Space of `bytes` for all workers.
    pub fn new(bytes: u64, workers: usize, symmetric: bool) -> Result<Self> {
        Ok(match symmetric {
            true => Self::Lists(Parts::new(bytes, workers, Residual::INDEX_WORDS)?),
            false => Self::Arcs(bytes / 4 / workers as u64),
        })
    }

    /// The part of one worker.
    pub fn part(&self) -> UnvisitedPart {
        match self {
            Self::Lists(parts) => UnvisitedPart::Lists(parts.take()),
            Self::Arcs(words_max) => {
                UnvisitedPart::Arcs(ArcsPart { words_max: *words_max, ..ArcsPart::default() })
            }
        }
    }
}

/// The lists that one worker keeps.
#[derive(Debug)]
pub(super) enum UnvisitedPart {
    Lists(ResidualPart),
    Arcs(ArcsPart),
}

impl UnvisitedPart {
    /// Keeps a list, or a piece of one, without a vertex of the frontier. `visited`: the vertices
    /// visited before the step.
    pub fn keep(&mut self, list: &List<'_>, visited: &Bitmap) {
        match self {
            Self::Lists(part) if part.is_full() || list.targets.is_empty() => {}
            Self::Lists(part) => {
                part.keep(Kept { vertex: list.vertex, whole: list.is_whole() }, list.targets);
            }
            Self::Arcs(part) => part.keep(list, visited),
        }
    }
}

/// The edges among unvisited vertices; for symmetric graphs, all edges of unvisited vertices.
#[derive(Debug)]
pub(super) struct Unvisited {
    lists: Residual,
    /// Sorted, part by part.
    arcs: Vec<Vec<(VertexId, VertexId)>>,
}

impl Unvisited {
    /// Joins the workers' parts; `None` if a part did not fit.
    pub fn of(parts: Vec<UnvisitedPart>) -> Option<Self> {
        let (mut lists, mut arcs) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                UnvisitedPart::Lists(part) if !part.is_full() => lists.push(part),
                UnvisitedPart::Arcs(mut part) if !part.overflown => {
                    part.arcs.sort_unstable();
                    arcs.push(part.arcs);
                }
                _ => return None,
            }
        }
        Some(Self { lists: Residual::new(lists), arcs })
    }

    /// Calls `show` for every target of `v`, a vertex that was unvisited before the step.
    pub fn for_each_target(&self, v: VertexId, mut show: impl FnMut(VertexId)) {
        self.lists.pieces(v).flatten().for_each(|&target| show(target));
        for arcs in &self.arcs {
            let first = arcs.partition_point(|arc| arc.0 < v);
            arcs[first..].iter().take_while(|arc| arc.0 == v).for_each(|arc| show(arc.1));
        }
    }

    /// The number of lists; 0 for directed graphs, where [`Unvisited::select`] finds nothing.
    pub fn lists(&self) -> usize {
        self.lists.lists()
    }

    /// The number of arcs; 0 for symmetric graphs.
    pub fn arcs(&self) -> usize {
        self.arcs.iter().map(Vec::len).sum()
    }

    /// The targets of all arcs that pass `test`, which gets source and target.
    pub fn select_arcs(
        &self,
        test: impl Fn(VertexId, VertexId) -> bool + Sync,
    ) -> impl Iterator<Item = VertexId> {
        let blocks: Vec<_> = self.arcs.iter().flat_map(|arcs| arcs.chunks(ARCS_OF_BLOCK)).collect();
        let of_block = |at: usize| -> Vec<VertexId> {
            let passing = blocks[at].iter().filter(|&&(source, target)| test(source, target));
            passing.map(|arc| arc.1).collect()
        };
        parallel::collect_each(blocks.len(), of_block).into_iter().flatten()
    }

    /// Whether lists are found by vertex without sorting them first.
    pub fn is_indexed(&self) -> bool {
        self.lists.is_indexed()
    }

    /// The vertices whose list, or a piece of it, passes `test`.
    pub fn select(&self, test: impl Fn(VertexId, &[VertexId]) -> bool + Sync) -> Vec<VertexId> {
        self.lists.select(test)
    }
}

/// Arcs from unvisited vertices, in the order of arrival until they are sorted; dropped when they
/// exceed the worker's share.
#[derive(Debug, Default)]
pub(super) struct ArcsPart {
    arcs: Vec<(VertexId, VertexId)>,
    words_max: u64,
    overflown: bool,
}

impl ArcsPart {
    /// Skips visited sources: they have no edge to a vertex that stays unvisited.
    fn keep(&mut self, list: &List<'_>, visited: &Bitmap) {
        for &source in list.targets {
            if self.overflown || visited.contains(source) {
                continue;
            }
            // A growing vector needs both copies for a moment.
            if 4 * (self.arcs.len() as u64 + 1) > self.words_max {
                self.overflown = true;
                self.arcs = Vec::new();
                continue;
            }
            self.arcs.push((source, list.vertex));
        }
    }
}

//! The residual graph of a search: the lists of the vertices that a bottom-up step left unvisited,
//! kept in memory.
//!
//! Where lists are symmetric, a vertex's own list has what it can reach: lists are kept as they
//! are. Otherwise the step saw in-lists: their entries are kept turned round, as arcs sorted by
//! source.

use cenote_engine::{Bitmap, List, VertexId};

use crate::report::Result;
use crate::residual::{Kept, Parts, Residual, ResidualPart};

/// What the workers of a step keep.
#[derive(Debug)]
pub(super) enum Keep {
    /// Of a graph with symmetric lists.
    Lists(Parts),
    /// Of a directed graph: words of 4 bytes that each worker may keep.
    Arcs(u64),
}

impl Keep {
    /// Room of `bytes` for all workers.
    pub fn new(bytes: u64, workers: usize, symmetric: bool) -> Result<Self> {
        Ok(match symmetric {
            true => Self::Lists(Parts::new(bytes, workers, Residual::INDEX_WORDS)?),
            false => Self::Arcs(bytes / 4 / workers as u64),
        })
    }

    /// The part of one more worker.
    pub fn part(&self) -> UnvisitedPart {
        match self {
            Self::Lists(parts) => UnvisitedPart::Lists(parts.take()),
            Self::Arcs(words_max) => {
                UnvisitedPart::Arcs(ArcsPart { words_max: *words_max, ..ArcsPart::default() })
            }
        }
    }
}

/// What one worker keeps.
#[derive(Debug)]
pub(super) enum UnvisitedPart {
    Lists(ResidualPart),
    Arcs(ArcsPart),
}

impl UnvisitedPart {
    /// Keeps a list, or a piece of one, in which nothing was found. `visited` are the vertices
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

/// The edges of all unvisited vertices among themselves, and of symmetric graphs all theirs.
#[derive(Debug)]
pub(super) struct Unvisited {
    lists: Residual,
    /// Sorted, part by part.
    arcs: Vec<Vec<(VertexId, VertexId)>>,
}

impl Unvisited {
    /// Joins the workers' parts; `None` where something did not fit.
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

    /// Shows every vertex to which `v`, unvisited before the step, has an edge in here.
    pub fn for_each_target(&self, v: VertexId, mut show: impl FnMut(VertexId)) {
        self.lists.pieces(v).flatten().for_each(|&target| show(target));
        for arcs in &self.arcs {
            let first = arcs.partition_point(|arc| arc.0 < v);
            arcs[first..].iter().take_while(|arc| arc.0 == v).for_each(|arc| show(arc.1));
        }
    }

    /// Lists; 0 where they are not symmetric, so that [`Unvisited::select`] would find nothing.
    pub fn lists(&self) -> usize {
        self.lists.lists()
    }

    /// The vertices that `test` chooses by their lists, piece by piece.
    pub fn select(&self, test: impl Fn(VertexId, &[VertexId]) -> bool + Sync) -> Vec<VertexId> {
        self.lists.select(test)
    }
}

/// Arcs from unvisited vertices, in the order of arrival until they are sorted. Grows to its share
/// of the budget, then gives up.
#[derive(Debug, Default)]
pub(super) struct ArcsPart {
    arcs: Vec<(VertexId, VertexId)>,
    words_max: u64,
    overflown: bool,
}

impl ArcsPart {
    /// A vertex that was visited before the step has no edge to one that stays unvisited after it.
    fn keep(&mut self, list: &List<'_>, visited: &Bitmap) {
        for &source in list.targets {
            if self.overflown || visited.contains(source) {
                continue;
            }
            // Growing doubles the vector and holds both copies for a moment.
            if 4 * (self.arcs.len() as u64 + 1) > self.words_max {
                self.overflown = true;
                self.arcs = Vec::new();
                continue;
            }
            self.arcs.push((source, list.vertex));
        }
    }
}

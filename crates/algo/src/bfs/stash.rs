//! The lists of the vertices that a bottom-up step left unvisited, kept in memory.
//!
//! Where lists are symmetric, a vertex's own list tells what it can reach: lists are kept as they
//! are. Otherwise the step saw in-lists: their entries are kept turned round, as arcs sorted by
//! source.

use cenote_engine::{Bitmap, List, VertexId};
use rayon::prelude::*;

/// What one worker keeps.
#[derive(Debug)]
pub(super) enum StashPart {
    /// Of a graph with symmetric lists.
    Lists(ListsPart),
    /// Of a directed graph.
    Arcs(ArcsPart),
}

impl StashPart {
    /// A part that holds at most `words_max` words of 4 bytes.
    pub fn with_words(words_max: u64, symmetric: bool) -> Self {
        if symmetric {
            StashPart::Lists(ListsPart::with_words(words_max))
        } else {
            StashPart::Arcs(ArcsPart { words_max, ..ArcsPart::default() })
        }
    }

    /// Keeps a list in which nothing was found. `visited` are the vertices visited before the
    /// step.
    pub fn keep(&mut self, list: &List<'_>, visited: &Bitmap) {
        match self {
            StashPart::Lists(part) => part.keep(list),
            StashPart::Arcs(part) => part.keep(list, visited),
        }
    }

    /// Sorts what is kept; `None` where a list did not fit, or came in pieces of which none was
    /// found in (so it is needed and not here).
    fn seal(mut self, visited: &impl Fn(VertexId) -> bool) -> Option<Self> {
        let whole = match &mut self {
            StashPart::Lists(part) => {
                part.starts.sort_unstable();
                !part.overflown && part.in_pieces.iter().all(|&v| visited(v))
            }
            StashPart::Arcs(part) => {
                part.arcs.sort_unstable();
                !part.overflown
            }
        };
        whole.then_some(self)
    }
}

/// The edges of all unvisited vertices among themselves, and of symmetric graphs all theirs.
#[derive(Debug)]
pub(super) struct Stash {
    parts: Vec<StashPart>,
}

impl Stash {
    /// Joins the workers' parts, if nothing is missing.
    pub fn of(parts: Vec<StashPart>, visited: impl Fn(VertexId) -> bool) -> Option<Self> {
        let parts: Option<Vec<_>> = parts.into_iter().map(|part| part.seal(&visited)).collect();
        Some(Self { parts: parts? })
    }

    /// Shows every vertex to which `v`, unvisited before the step, has an edge in here.
    pub fn for_each_target(&self, v: VertexId, mut show: impl FnMut(VertexId)) {
        for part in &self.parts {
            match part {
                StashPart::Lists(part) => part.list(v).iter().for_each(|&target| show(target)),
                StashPart::Arcs(part) => {
                    let first = part.arcs.partition_point(|arc| arc.0 < v);
                    let arcs = part.arcs[first..].iter().take_while(|arc| arc.0 == v);
                    arcs.for_each(|arc| show(arc.1));
                }
            }
        }
    }

    /// Lists; 0 where they are not symmetric, so that [`Stash::select`] would find nothing.
    pub fn lists(&self) -> usize {
        let lists = |part: &StashPart| match part {
            StashPart::Lists(part) => part.starts.len(),
            StashPart::Arcs(_) => 0,
        };
        self.parts.iter().map(lists).sum()
    }

    /// The vertices that `test` chooses by their lists.
    pub fn select(&self, test: impl Fn(VertexId, &[VertexId]) -> bool + Sync) -> Vec<VertexId> {
        let lists = self.parts.iter().filter_map(|part| match part {
            StashPart::Lists(part) => Some(part),
            StashPart::Arcs(_) => None,
        });
        let mut found = Vec::new();
        for part in lists {
            found.par_extend(
                part.starts
                    .par_iter()
                    .filter_map(|&(v, start)| test(v, part.list_at(start)).then_some(v)),
            );
        }
        found
    }
}

/// List lengths and targets in the order of arrival, and where each list starts. Grows to its
/// share of the budget, then gives up: a stash with a gap is useless.
#[derive(Debug)]
pub(super) struct ListsPart {
    /// Length, then the targets, list after list.
    words: Vec<u32>,
    /// Vertex and where its list starts in `words`.
    starts: Vec<(VertexId, u32)>,
    /// Vertices whose list came in pieces: kept lists are whole.
    in_pieces: Vec<VertexId>,
    words_max: u64,
    overflown: bool,
}

impl ListsPart {
    /// A part that holds at most `words_max` words, lists and starts together.
    pub fn with_words(words_max: u64) -> Self {
        let words_max = words_max.min(u64::from(u32::MAX));
        Self {
            words: Vec::new(),
            starts: Vec::new(),
            in_pieces: Vec::new(),
            words_max,
            overflown: false,
        }
    }

    /// Keeps a list in which nothing was found.
    pub fn keep(&mut self, list: &List<'_>) {
        if self.overflown || list.degree == 0 {
            return;
        }
        if list.targets.len() as u64 != list.degree {
            self.in_pieces.push(list.vertex);
            return;
        }
        // Growing doubles a vector and holds both copies for a moment: half the share is usable.
        let words = self.words.len() + 2 * self.starts.len() + self.in_pieces.len();
        if 2 * (words + list.targets.len() + 3) as u64 > self.words_max {
            self.overflown = true;
            self.words = Vec::new();
            self.starts = Vec::new();
            return;
        }
        let start = u32::try_from(self.words.len()).expect("words_max fits u32");
        self.starts.push((list.vertex, start));
        self.words.push(u32::try_from(list.degree).expect("a list on one page is short"));
        self.words.extend_from_slice(list.targets);
    }

    /// The list of `v`; empty if it has none here.
    fn list(&self, v: VertexId) -> &[u32] {
        match self.starts.binary_search_by_key(&v, |&(vertex, _)| vertex) {
            Ok(at) => self.list_at(self.starts[at].1),
            Err(_) => &[],
        }
    }

    fn list_at(&self, start: u32) -> &[u32] {
        let start = start as usize;
        &self.words[start + 1..start + 1 + self.words[start] as usize]
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
    /// Who was visited before the step has no edge to one that stays unvisited after it.
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

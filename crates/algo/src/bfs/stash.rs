//! The lists of the vertices that a bottom-up step left unvisited, kept in memory.

use cenote_engine::{Frontier, List, VertexId};

/// What one worker keeps: list lengths and targets in the order of arrival, and where each list
/// starts. Grows to its share of the budget, then gives up: a stash with a gap is useless.
#[derive(Debug)]
pub(super) struct StashPart {
    /// Length, then the targets, list after list.
    words: Vec<u32>,
    /// Vertex and where its list starts in `words`.
    starts: Vec<(VertexId, u32)>,
    /// Vertices whose list came in pieces: kept lists are whole.
    in_pieces: Vec<VertexId>,
    words_max: u64,
    overflown: bool,
}

impl StashPart {
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
}

/// The lists of all unvisited vertices that have any neighbour.
#[derive(Debug)]
pub(super) struct Stash {
    parts: Vec<StashPart>,
}

impl Stash {
    /// Joins the workers' parts; `None` where a list did not fit, or came in pieces of which none
    /// was found in (so it is needed and not here).
    pub fn of(mut parts: Vec<StashPart>, visited: impl Fn(VertexId) -> bool) -> Option<Self> {
        let whole =
            parts.iter().all(|part| !part.overflown && part.in_pieces.iter().all(|&v| visited(v)));
        if !whole {
            return None;
        }
        for part in &mut parts {
            part.starts.sort_unstable();
        }
        Some(Self { parts })
    }

    /// The list of `v`; empty if it has none here.
    pub fn list(&self, v: VertexId) -> &[u32] {
        self.parts
            .iter()
            .find_map(|part| {
                let at = part.starts.binary_search_by_key(&v, |&(vertex, _)| vertex).ok()?;
                Some(part.list_at(part.starts[at].1))
            })
            .unwrap_or(&[])
    }

    /// The vertices with a neighbour in the frontier; tells `found` each with the smallest.
    pub fn adjacent_to(
        &self,
        frontier: &Frontier,
        mut found: impl FnMut(VertexId, VertexId),
    ) -> Vec<VertexId> {
        let mut vertices = Vec::new();
        for part in &self.parts {
            for &(v, start) in &part.starts {
                let targets = part.list_at(start);
                if let Some(&parent) = targets.iter().find(|&&target| frontier.contains(target)) {
                    found(v, parent);
                    vertices.push(v);
                }
            }
        }
        vertices
    }
}

impl StashPart {
    fn list_at(&self, start: u32) -> &[u32] {
        let start = start as usize;
        &self.words[start + 1..start + 1 + self.words[start] as usize]
    }
}

//! Triangles whose middle vertex had left the window when their largest was loaded: the lists of
//! these middle vertices are read again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cenote_engine::{ActiveSet, Direction, Engine, Frontier, Kernel, List, VertexId};

use super::Sums;
use crate::report::Result;

/// The most bytes for a word of a kept list: while arrays grow, in blocks and of all, and a query.
pub(super) const BYTES_PER_WORD: u64 = 24;

/// Words of a kept list before its entries: vertex, length, and where the window started.
const HEADER_WORDS: usize = 3;

/// How many words are kept.
pub(super) struct Far {
    words: AtomicU64,
    words_max: u64,
    is_full: AtomicBool,
}

impl Far {
    pub fn new(words_max: u64) -> Self {
        Self { words: AtomicU64::new(0), words_max, is_full: AtomicBool::new(false) }
    }

    /// Whether a list was lost.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Appends the list of `u`, loaded when the window started at `start`, if it still fits.
    #[cold]
    pub fn keep(&self, into: &mut Vec<u32>, u: VertexId, start: VertexId, list: &[VertexId]) {
        let words = (HEADER_WORDS + list.len()) as u64;
        if self.words.fetch_add(words, Ordering::Relaxed) + words > self.words_max {
            return self.is_full.store(true, Ordering::Relaxed);
        }
        into.extend([u, list.len() as u32, start]);
        into.extend(list);
    }
}

/// Counts the triangles of kept lists with middle vertices before their window.
pub(super) fn count(engine: &Engine, kept: &[u32], sums: &Sums) -> Result<u64> {
    if kept.is_empty() {
        return Ok(0);
    }
    let mut queries = Vec::with_capacity(queries_of(kept).count());
    queries.extend(queries_of(kept));
    queries.sort_unstable();
    let mut middles = Frontier::new(engine.graph().vertices())?;
    middles.set(queries.iter().map(|&(w, _)| w));
    let answer = Answer { kept, queries: &queries, sums };
    let active = ActiveSet::In(&middles);
    let counts = engine.visit_whole("left the window", Direction::Out, active, &answer)?;
    Ok(counts.iter().sum())
}

/// Each middle vertex before its window, with where the list begins of which it is.
fn queries_of(kept: &[u32]) -> impl Iterator<Item = (VertexId, usize)> {
    let mut at = 0;
    let lists = std::iter::from_fn(move || {
        let here = at;
        at += HEADER_WORDS + *kept.get(here + 1)? as usize;
        Some(here)
    });
    lists.flat_map(move |at| {
        let (_, start, entries) = parse(kept, at);
        let before = entries.iter().skip(1).take_while(move |&&w| w < start);
        before.map(move |&w| (w, at))
    })
}

/// Vertex, start of the window and entries of the list that begins at a place.
fn parse(kept: &[u32], at: usize) -> (VertexId, VertexId, &[VertexId]) {
    let from = at + HEADER_WORDS;
    (kept[at], kept[at + 2], &kept[from..from + kept[at + 1] as usize])
}

/// Looks up what lists have in common with those of their middle vertices.
struct Answer<'a> {
    kept: &'a [u32],
    /// Ascending.
    queries: &'a [(VertexId, usize)],
    sums: &'a Sums,
}

impl Kernel for Answer<'_> {
    type Local = u64;

    fn local(&self) -> u64 {
        0
    }

    fn list(&self, count: &mut u64, list: &List<'_>) {
        let w = list.vertex;
        let of_w = &list.targets[..list.targets.partition_point(|&target| target < w)];
        let from = self.queries.partition_point(|&(middle, _)| middle < w);
        for &(_, at) in self.queries[from..].iter().take_while(|&&(middle, _)| middle == w) {
            let (u, _, of_u) = parse(self.kept, at);
            let before = of_u.partition_point(|&x| x < w);
            *count += self.sums.common(&of_u[..before], of_w, [u, w]);
        }
    }
}

//! The neighbours of lower rank in a list, and what the first sweep notes of it.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{List, VertexId};

use super::lists::Lengths;
use super::parts::Parts;
use crate::page_of::PageOf;

/// Entries that are filtered at a time; a power of two.
const SIFT: usize = 512;

/// Selects the neighbours of lower rank in a list.
pub(super) struct Sift<'a> {
    pub ranks: &'a [u32],
    /// Vertices of this rank or a higher one are in no triangle.
    pub kept: u32,
    /// Whether a list may hold a vertex twice, or a self-loop.
    pub repeats: bool,
    /// In the first sweep, which passes every list once.
    pub notes: Option<Notes<'a>>,
}

/// What the first sweep notes.
#[derive(Clone, Copy)]
pub(super) struct Notes<'a> {
    /// Neighbours of each vertex, by rank.
    pub degrees: &'a [AtomicU32],
    /// `None` if no other sweep follows.
    pub parts: Option<&'a Parts<'a>>,
    /// Whether lists keep which edges run both ways.
    pub doubles: bool,
    /// Lists start at multiples of so many words.
    pub unit: u64,
}

/// Memory of a worker for the lists that it sifts.
pub(super) struct Sifted {
    /// The ranks that are filtered at a time.
    found: Box<[u32; SIFT]>,
    ranks: Vec<u32>,
    merged: Vec<u32>,
    doubles: Vec<bool>,
    page: PageOf,
}

impl Sifted {
    pub fn new() -> Self {
        let (ranks, merged, doubles, page) = Default::default();
        Self { found: Box::new([0; SIFT]), ranks, merged, doubles, page }
    }

    /// What was sorted last.
    pub fn sorted(&self) -> &[u32] {
        &self.ranks
    }
}

impl Sift<'_> {
    /// The rank of the vertex of a list.
    #[inline(always)]
    pub fn rank(&self, list: &List<'_>) -> u32 {
        self.ranks[list.vertex as usize]
    }

    /// The lower ranks, in no order and maybe repeated; none of a list that is not kept.
    pub fn select<'s>(&self, list: &List<'_>, sifted: &'s mut Sifted) -> &'s [u32] {
        let Sifted { found, ranks: into, .. } = sifted;
        let rank = self.rank(list);
        into.clear();
        let targets = if rank < self.kept { list.targets } else { &[] };
        for targets in targets.chunks(SIFT) {
            let mut count = 0;
            for &target in targets {
                let other = self.ranks[target as usize];
                found[count % SIFT] = other;
                count += usize::from(other < rank);
            }
            into.extend_from_slice(&found[..count]);
        }
        into
    }

    /// Sorts what was selected last, from this list, leaves each rank once, and takes notes.
    pub fn sort(&self, list: &List<'_>, sifted: &mut Sifted) {
        let Sifted { ranks: into, page, .. } = sifted;
        into.sort_unstable();
        if self.repeats {
            into.dedup();
        }
        if let Some(Notes { degrees, parts, .. }) = self.notes {
            let rank = self.rank(list);
            let degree = neighbours(list.vertex, list.targets, self.repeats);
            degrees[rank as usize].fetch_add(degree, Ordering::Relaxed);
            if let Some(parts) = parts
                && !into.is_empty()
            {
                let of_targets = list.targets.iter().map(|&v| (v, self.ranks[v as usize]));
                parts.note(parts.page_of(page, list.vertex), of_targets.filter(|(_, r)| *r < rank));
            }
        }
    }

    /// [`Sift::select`] and [`Sift::sort`].
    pub fn take(&self, list: &List<'_>, sifted: &mut Sifted) {
        self.select(list, sifted);
        self.sort(list, sifted);
    }

    /// Notes that the targets of this list take so many words of their own.
    pub fn note_targets(&self, list: &List<'_>, words: usize, sifted: &mut Sifted) {
        if let Some(Notes { parts: Some(parts), unit, .. }) = self.notes {
            let words = (words as u64).next_multiple_of(unit);
            parts.add_target_words(parts.page_of(&mut sifted.page, list.vertex), words);
        }
    }

    /// What was sorted last, from this list, together with the `targets` of lower rank in a
    /// directed graph; and then which of them are targets as well as sources.
    pub fn join<'s>(
        &self,
        list: &List<'_>,
        targets: Option<&[u32]>,
        sifted: &'s mut Sifted,
    ) -> (&'s [u32], &'s [bool]) {
        let Sifted { ranks, merged, doubles, page, .. } = sifted;
        let (ranks, doubles) = match targets {
            None => (ranks.as_slice(), &[][..]),
            Some(targets) => {
                merge(targets, ranks, merged, doubles);
                (merged.as_slice(), doubles.as_slice())
            }
        };
        if let Some(notes) = self.notes {
            let rank = self.rank(list);
            for (&other, _) in ranks.iter().zip(doubles).filter(|(_, is_double)| **is_double) {
                notes.forget_double(rank, other);
            }
            if let Some(parts) = notes.parts
                && !ranks.is_empty()
            {
                let words = Lengths::of(ranks).words(notes.doubles).next_multiple_of(notes.unit);
                parts.add_words(parts.page_of(page, list.vertex), words);
            }
        }
        (ranks, doubles)
    }
}

impl Notes<'_> {
    /// Corrects the degrees for an edge that runs both ways, which was counted twice at both ends.
    fn forget_double(&self, a: u32, b: u32) {
        for rank in [a, b] {
            self.degrees[rank as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts the distinct neighbours of `v` in its list, which ascends; `repeats`: whether it may hold
/// a vertex twice, or `v`.
#[inline(always)]
pub(super) fn neighbours(v: VertexId, list: &[VertexId], repeats: bool) -> u32 {
    let others = match repeats {
        false => list.len(),
        true => list.chunk_by(|a, b| a == b).filter(|run| run[0] != v).count(),
    };
    u32::try_from(others).expect("distinct vertices are fewer than ids")
}

/// The union of two ascending lists, and which of its entries are in both.
fn merge(a: &[u32], b: &[u32], union: &mut Vec<u32>, both: &mut Vec<bool>) {
    union.clear();
    both.clear();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let (x, y) = (a.get(i).copied(), b.get(j).copied());
        let least = x.unwrap_or(u32::MAX).min(y.unwrap_or(u32::MAX));
        let (in_a, in_b) = (x == Some(least), y == Some(least));
        union.push(least);
        both.push(in_a && in_b);
        i += usize::from(in_a);
        j += usize::from(in_b);
    }
}

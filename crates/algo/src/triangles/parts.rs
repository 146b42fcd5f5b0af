//! Where the middle vertices of triangles are: which lists have to pass which chunk, and how much
//! memory the lists of each page take.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{Adjacency, Graph, HugeVec, VertexId};

use super::order::out_lists;
use crate::page_of::PageOf;
use crate::report::Result;

/// The bit for hubs, whose lists are bit rows; each of the others is for a part of the vertices.
const HUBS: u32 = 63;

/// Consecutive pages that share a mask.
const GROUP: u64 = 8;

/// For each group of pages of lists, the parts of the vertices in which its lists have neighbours
/// of lower rank. Where edges join vertices of similar ids, these are few, and a chunk of lists is
/// in as few; the lists of all other groups need not pass it.
pub(super) struct Parts<'e> {
    lists: &'e Adjacency,
    groups: HugeVec<AtomicU64>,
    /// A part has `2^shift` vertices.
    shift: u32,
    /// Vertices of a rank below this are hubs.
    hubs: u32,
    /// For each page the words of the oriented lists that start there.
    words: HugeVec<AtomicU64>,
    /// On a directed graph those of their targets alone.
    target_words: HugeVec<AtomicU64>,
}

impl<'e> Parts<'e> {
    pub fn bytes_for(graph: &Graph) -> u64 {
        let pages = out_lists(graph).pages();
        let of_words = if graph.is_directed() { 2 * pages } else { pages };
        8 * (pages.div_ceil(GROUP) + of_words)
    }

    /// No group has neighbours anywhere, and no page lists.
    pub fn new(graph: &'e Graph, hubs: u32) -> Result<Self> {
        let (lists, vertices) = (out_lists(graph), graph.vertices());
        let groups = HugeVec::zeroed(lists.pages().div_ceil(GROUP) as usize)?;
        let shift = (0..).find(|shift| vertices >> shift < HUBS as usize).expect("0 is reached");
        let pages = lists.pages() as usize;
        let words = HugeVec::zeroed(pages)?;
        let target_words = HugeVec::zeroed(if graph.is_directed() { pages } else { 0 })?;
        Ok(Self { lists, groups, shift, hubs, words, target_words })
    }

    /// The page where the list of `v` starts.
    pub fn page_of(&self, page: &mut PageOf, v: VertexId) -> u64 {
        page.find(self.lists, v)
    }

    /// Notes where the neighbours of lower rank of a vertex of `page` are; with each goes its rank.
    pub fn note(&self, page: u64, neighbours: impl Iterator<Item = (VertexId, u32)>) {
        let mut parts = 0;
        for (neighbour, rank) in neighbours {
            parts |= 1 << if rank < self.hubs { HUBS } else { neighbour >> self.shift };
        }
        self.groups[(page / GROUP) as usize].fetch_or(parts, Ordering::Relaxed);
    }

    /// Notes how many words the oriented list of a vertex of `page` takes.
    pub fn add_words(&self, page: u64, words: u64) {
        self.words[page as usize].fetch_add(words, Ordering::Relaxed);
    }

    /// The same for its targets.
    pub fn add_target_words(&self, page: u64, words: u64) {
        self.target_words[page as usize].fetch_add(words, Ordering::Relaxed);
    }

    /// The words of all oriented lists that start in `page`.
    pub fn words_in(&self, page: u64) -> u64 {
        self.words[page as usize].load(Ordering::Relaxed)
    }

    /// Those of their targets alone; 0 on an undirected graph.
    pub fn target_words_in(&self, page: u64) -> u64 {
        self.target_words.get(page as usize).map_or(0, |words| words.load(Ordering::Relaxed))
    }

    /// Whether lists of the group of `page` may have neighbours among `vertices`, or, if asked
    /// for, hubs.
    pub fn meet(&self, page: u64, vertices: &Range<VertexId>, hubs: bool) -> bool {
        let (first, last) = (vertices.start >> self.shift, (vertices.end - 1) >> self.shift);
        let among = (u64::MAX >> (HUBS - last)) & (u64::MAX << first);
        let asked = among | u64::from(hubs) << HUBS;
        self.groups[(page / GROUP) as usize].load(Ordering::Relaxed) & asked != 0
    }
}

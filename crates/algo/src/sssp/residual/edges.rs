//! The edges of the residual graph in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use cenote_engine::{Graph, HugeVec, VertexId, Weight};

use crate::csr::entries;
use crate::parallel;
use crate::report::Result;

/// Words before the edges of a list: its vertex and their number; once linked, the number with the
/// place of the vertex in its group, and the next list of the group.
const HEADER: usize = 2;

/// Vertices of a group, whose lists are a chain: a power of 2.
const GROUP: usize = 4;

/// The most words: a number of edges shares its word with a place in a group.
const WORDS_MAX: u64 = 1 << 30;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// Room is useful for the edges of all lists times this. Uniform random graphs fill it.
const USEFUL: (u64, u64) = (3, 8);

/// The least words of a share.
const SHARE_MIN: u64 = 64;

/// Words for fewer of the edges, one of this many, do not help.
const WORTH: u64 = 50;

/// How an edge is stored.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// In one word, with so many bits for the target.
    Packed(u32),
    /// The target, and a weight of 32 bits.
    Narrow,
    /// The target, and a weight of 64 bits.
    Wide,
}

impl Format {
    /// That of a graph with weights: as short as its largest weight allows.
    fn of(graph: &Graph) -> Option<Self> {
        let weights = graph.superblock().weights?;
        let bits = (graph.vertices().max(2) - 1).ilog2() + 1;
        let fits = |max: u64| max.checked_shr(u32::BITS - bits).is_none_or(|rest| rest == 0);
        let max = match weights.max() {
            Some(Weight::U32(max)) => Some(u64::from(max)),
            Some(Weight::I64(max)) => u64::try_from(max).ok(),
            _ => None,
        };
        Some(match weights.kind().bytes() {
            _ if bits < u32::BITS && max.is_some_and(fits) => Self::Packed(bits),
            4 => Self::Narrow,
            _ => Self::Wide,
        })
    }

    /// Words for each edge of lists of so many, with their headers.
    fn words_each(self, of_list: f64) -> f64 {
        self.words() as f64 + HEADER as f64 / of_list.max(1.0)
    }

    /// Words of an edge.
    fn words(self) -> usize {
        match self {
            Self::Packed(_) => 1,
            Self::Narrow => 2,
            Self::Wide => 3,
        }
    }
}

/// Edges by their sources. Workers add them, each to its share of the memory.
pub(super) struct Edges {
    format: Format,
    words: HugeVec<AtomicU32>,
    /// The first list of each group of vertices.
    heads: HugeVec<AtomicU32>,
    /// Words of a share.
    share: usize,
    shares_taken: AtomicUsize,
    /// Whether a weight was larger than the graph says.
    misfits: AtomicBool,
}

/// What a worker has added.
#[derive(Debug, Default)]
pub(super) struct Share {
    start: usize,
    used: usize,
    end: usize,
    /// The start of the list that is being written.
    open: Option<usize>,
}

impl Share {
    /// Words that are used.
    pub fn len(&self) -> usize {
        self.used - self.start
    }

    /// Words that are free.
    pub fn room(&self) -> usize {
        self.end - self.used
    }
}

impl Edges {
    /// Bytes of which more do not help; 0 for a graph without weights.
    pub fn bytes_useful(graph: &Graph) -> u64 {
        let Some(format) = Format::of(graph) else { return 0 };
        let words = entries(graph).saturating_mul(format.words() as u64);
        4 * (words / USEFUL.1 * USEFUL.0).min(WORDS_MAX) + Self::bytes_of_groups(graph)
    }

    fn bytes_of_groups(graph: &Graph) -> u64 {
        4 * graph.vertices().div_ceil(GROUP) as u64
    }

    /// Whether there is room for some edges in so many bytes.
    pub fn has_room(graph: &Graph, bytes: u64, workers: usize) -> bool {
        let words = Self::words_in(graph, bytes) as u64;
        graph.is_weighted()
            && words / workers as u64 >= SHARE_MIN
            && words >= entries(graph) / WORTH
    }

    fn words_in(graph: &Graph, bytes: u64) -> usize {
        (bytes.saturating_sub(Self::bytes_of_groups(graph)) / 4).min(WORDS_MAX) as usize
    }

    /// No edges of a graph with weights, with room for some in so many bytes, a share for each
    /// worker; without room if [`Edges::has_room`] is false.
    pub fn new(graph: &Graph, bytes: u64, workers: usize) -> Result<Self> {
        let share = match Self::has_room(graph, bytes, workers) {
            true => Self::words_in(graph, bytes) / workers,
            false => 0,
        };
        let groups = if share > 0 { graph.vertices().div_ceil(GROUP) } else { 0 };
        Ok(Self {
            format: Format::of(graph).expect("a graph with weights"),
            words: HugeVec::zeroed(share * workers)?,
            heads: HugeVec::zeroed(groups)?,
            share,
            shares_taken: AtomicUsize::new(0),
            misfits: AtomicBool::new(false),
        })
    }

    /// Whether it has no room.
    pub fn is_none(&self) -> bool {
        self.words.is_empty()
    }

    /// About how many edges fit, where lists have so many each.
    pub fn capacity(&self, of_list: f64) -> f64 {
        self.words.len() as f64 / self.format.words_each(of_list)
    }

    /// The same, of so many bytes.
    pub fn capacity_of(graph: &Graph, bytes: u64, of_list: f64) -> f64 {
        let words = Self::words_in(graph, bytes) as f64;
        Format::of(graph).map_or(0.0, |format| words / format.words_each(of_list))
    }

    /// Whether a weight was larger than the graph says.
    pub fn has_misfits(&self) -> bool {
        self.misfits.load(Ordering::Relaxed)
    }

    /// Takes all edges out.
    pub fn clear(&mut self) {
        *self.shares_taken.get_mut() = 0;
        parallel::fill(&self.heads, NONE);
    }

    /// The share of a worker, or an empty one if all are taken.
    pub fn share(&self) -> Share {
        let start = self.shares_taken.fetch_add(1, Ordering::Relaxed) * self.share;
        let (start, end) = match start + self.share <= self.words.len() {
            true => (start, start + self.share),
            false => (0, 0),
        };
        Share { start, used: start, end, open: None }
    }

    fn load(&self, at: usize) -> u32 {
        self.words[at].load(Ordering::Relaxed)
    }

    fn store(&self, at: usize, word: u32) {
        self.words[at].store(word, Ordering::Relaxed);
    }

    /// Adds an edge of `v`, with the bits of its weight; false if there is no room.
    #[inline(always)]
    pub fn push(&self, share: &mut Share, v: VertexId, target: VertexId, weight: u64) -> bool {
        let header = if share.open.is_none() { HEADER } else { 0 };
        if share.used + header + self.format.words() > share.end {
            return false;
        }
        if header > 0 {
            share.open = Some(share.used);
            self.store(share.used, v);
            share.used += HEADER;
        }
        match self.format {
            Format::Packed(bits) => {
                if weight >> (u32::BITS - bits) != 0 {
                    self.misfits.store(true, Ordering::Relaxed);
                }
                self.store(share.used, target | (weight as u32) << bits);
            }
            Format::Narrow => {
                self.store(share.used, target);
                self.store(share.used + 1, weight as u32);
            }
            Format::Wide => {
                self.store(share.used, target);
                self.store(share.used + 1, weight as u32);
                self.store(share.used + 2, (weight >> 32) as u32);
            }
        }
        share.used += self.format.words();
        true
    }

    /// Ends the list that is being written.
    #[inline(always)]
    pub fn close(&self, share: &mut Share) {
        if let Some(open) = share.open.take() {
            let count = (share.used - open - HEADER) / self.format.words();
            self.store(open + 1, count as u32);
        }
    }

    /// The target of the edge at a place, and the bits of its weight.
    #[inline(always)]
    fn edge(&self, at: usize) -> (VertexId, u64) {
        let target = self.load(at);
        match self.format {
            Format::Packed(bits) => (target & ((1 << bits) - 1), u64::from(target >> bits)),
            Format::Narrow => (target, self.load(at + 1).into()),
            Format::Wide => {
                (target, u64::from(self.load(at + 2)) << 32 | u64::from(self.load(at + 1)))
            }
        }
    }

    /// The places of a list's edges, which start behind its header.
    fn places(&self, list: usize, count: u32) -> impl Iterator<Item = usize> + use<> {
        let words = self.format.words();
        (0..count as usize).map(move |i| list + HEADER + i * words)
    }

    /// The lists of a share that is not linked, each with its vertex and number of edges.
    fn lists(&self, share: Range<usize>) -> impl Iterator<Item = (usize, VertexId, u32)> + '_ {
        let mut at = share.start;
        std::iter::from_fn(move || {
            let list = (at < share.end).then(|| (at, self.load(at), self.load(at + 1)))?;
            at += HEADER + list.2 as usize * self.format.words();
            Some(list)
        })
    }

    /// The edges of a share that is not linked.
    pub fn count_in(&self, share: &Share) -> usize {
        self.lists(share.start..share.used).map(|(_, _, count)| count as usize).sum()
    }

    /// Calls `each` with the edges of a share that is not linked.
    pub fn for_each_in(&self, share: &Share, mut each: impl FnMut(VertexId, u64)) {
        for (list, _, count) in self.lists(share.start..share.used) {
            for at in self.places(list, count) {
                let (target, weight) = self.edge(at);
                each(target, weight);
            }
        }
    }

    /// Keeps only some of the edges of a share, whose last list is closed.
    pub fn retain(&self, share: &mut Share, mut is_kept: impl FnMut(VertexId, u64) -> bool) {
        let mut kept = Share { used: share.start, open: None, ..*share };
        for (list, v, count) in self.lists(share.start..share.used) {
            for at in self.places(list, count) {
                let (target, weight) = self.edge(at);
                if is_kept(target, weight) {
                    // It is not behind the place that it comes from.
                    self.push(&mut kept, v, target, weight);
                }
            }
            self.close(&mut kept);
        }
        *share = kept;
    }

    /// Makes the lists of all shares, the last ones closed, found by [`Edges::for_each`].
    pub fn link(&self, shares: &[Share]) {
        parallel::blocks_of(1, shares.len(), &|one| {
            for share in &shares[one] {
                for (list, v, count) in self.lists(share.start..share.used) {
                    let (group, place) = (v as usize / GROUP, v as usize % GROUP);
                    let next = self.heads[group].swap(list as u32, Ordering::Relaxed);
                    self.store(list, count * GROUP as u32 + place as u32);
                    self.store(list + 1, next);
                }
            }
        });
    }

    /// Calls `each` with the targets and weights of the linked edges of a vertex.
    #[inline(always)]
    pub fn for_each(&self, v: VertexId, mut each: impl FnMut(VertexId, u64)) {
        let (group, place) = (v as usize / GROUP, v as usize % GROUP);
        let mut next = self.heads[group].load(Ordering::Relaxed);
        while next != NONE {
            let list = next as usize;
            let head = self.load(list);
            next = self.load(list + 1);
            if head as usize % GROUP != place {
                continue;
            }
            for at in self.places(list, head / GROUP as u32) {
                let (target, weight) = self.edge(at);
                each(target, weight);
            }
        }
    }
}

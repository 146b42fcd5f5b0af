//! Loads lists from pages as oriented lists in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, Graph, HugeVec, Kernel, List, VertexId,
};

use super::lists::{Arena, ListWriter, NOWHERE, Shape, Supply, Written};
use super::order::{Order, out_lists};
use super::parts::Parts;
use crate::page_of::PageOf;
use crate::report::{AlgoError, Result};

/// Entries that are filtered at a time; a power of two.
const SIFT: usize = 512;

/// Lists take less memory than is set aside for them before they are loaded, so that more fit; such
/// a rest is loaded if it has at least `1 / TAIL_SHARE` as many pages as those before.
const TAIL_SHARE: u64 = 8;

/// Loads oriented lists, a segment of the vertices at a time. On a directed graph a list is merged
/// from targets, which are loaded first, and sources.
pub(crate) struct Loader<'e> {
    engine: &'e Engine,
    order: &'e Order,
    segment: Frontier,
    targets: Option<Targets>,
    /// Neighbours of each vertex, by rank.
    pub degrees: HugeVec<AtomicU32>,
    /// Whether it is the first sweep, which loads every list once: it counts degrees.
    pub is_first: bool,
}

/// The lists that a sweep needs.
pub(crate) enum Needed<'a> {
    /// All of them. In the first sweep `parts` gets where they have neighbours of lower rank.
    All { parts: Option<&'a Parts<'a>> },
    /// Those of groups of pages with neighbours among these vertices, or, if asked for, with hubs.
    Meeting { parts: &'a Parts<'a>, vertices: Range<VertexId>, hubs: bool },
}

impl Needed<'_> {
    fn has(&self, page: u64) -> bool {
        match self {
            Self::All { .. } => true,
            Self::Meeting { parts, vertices, hubs } => parts.meet(page, vertices, *hubs),
        }
    }
}

/// The targets of lower rank of the vertices of a segment, and their places.
struct Targets {
    arena: Arena,
    places: HugeVec<AtomicU32>,
}

impl<'e> Loader<'e> {
    /// Bytes without the arena for targets.
    pub fn bytes_for(graph: &Graph, order: &Order, workers: usize) -> u64 {
        let n = graph.vertices();
        let places = if graph.is_directed() { 4 * n as u64 } else { 0 };
        let at_hand = workers as u64 * 3 * 4 * order.list_words_max;
        Frontier::bytes_for(n, 1) + 4 * n as u64 + places + at_hand
    }

    /// `targets_bytes`: memory for targets of lower rank.
    pub fn new(
        engine: &'e Engine,
        order: &'e Order,
        shape: Shape,
        targets_bytes: u64,
    ) -> Result<Self> {
        let n = engine.graph().vertices();
        let targets = if engine.graph().is_directed() {
            let arena = Arena::new(Shape { doubles: false, ..shape }, targets_bytes)?;
            Some(Targets { arena, places: HugeVec::zeroed(n)? })
        } else {
            None
        };
        let (segment, degrees) = (Frontier::new(n)?, HugeVec::zeroed(n)?);
        Ok(Self { engine, order, segment, targets, degrees, is_first: true })
    }

    /// Loads the lists that start in `pages` and are `needed` into `arena`, as many as fit, and
    /// stores their `places` by rank. Returns the page to continue with.
    pub fn fill(
        &mut self,
        label: &str,
        pages: Range<u64>,
        needed: &Needed<'_>,
        arena: &mut Arena,
        places: Option<&[AtomicU32]>,
    ) -> Result<u64> {
        let workers = self.engine.config().threads;
        let mut from = pages.start;
        while from < pages.end {
            let mut room = arena.room(workers);
            if let Some(targets) = &mut self.targets {
                targets.arena.clear();
                room = room.min(targets.arena.room(workers));
            }
            let to = self.order.reach(from..pages.end, room, |page| needed.has(page));
            let is_small = (to - from) * TAIL_SHARE < from - pages.start;
            // Lists that are not kept cost no pass if they come with the next ones.
            if to == from || is_small && places.is_none() {
                break;
            }
            self.load(label, from..to, needed, arena, places)?;
            from = to;
        }
        Ok(from)
    }

    fn load(
        &mut self,
        label: &str,
        pages: Range<u64>,
        needed: &Needed<'_>,
        arena: &mut Arena,
        places: Option<&[AtomicU32]>,
    ) -> Result<()> {
        let graph = self.engine.graph();
        let lists = out_lists(graph);
        let all = pages == (0..lists.pages()) && matches!(needed, Needed::All { .. });
        let mut vertices = graph.vertices() as u64;
        if !all {
            let pages = pages.filter(|&page| needed.has(page));
            self.segment.set(pages.flat_map(|page| lists.starting_in(page)));
            vertices = self.segment.count();
        }
        if vertices == 0 {
            return Ok(());
        }
        let active = if all { ActiveSet::All } else { ActiveSet::In(&self.segment) };
        let sift = Sift {
            ranks: &self.order.ranks,
            kept: self.order.kept,
            degrees: self.is_first.then_some(&*self.degrees),
            parts: match needed {
                Needed::All { parts } if self.is_first => *parts,
                _ => None,
            },
            repeats: graph.superblock().duplicates_kept || graph.superblock().self_loops_kept,
        };
        let mut direction = Direction::Out;
        if let Some(Targets { arena, places }) = &mut self.targets {
            let supply = arena.supply();
            let kernel = KeepTargets { sift: &sift, supply: &supply, places };
            let label = format!("{label}, targets");
            let seen = Seen::of(self.engine.visit_whole(label, direction, active, &kernel)?);
            seen.settle(graph, vertices, arena)?;
            direction = Direction::In;
        }
        let supply = arena.supply();
        let kernel =
            Orient { sift: &sift, supply: &supply, places, targets: self.targets.as_ref() };
        let seen = Seen::of(self.engine.visit_whole(label, direction, active, &kernel)?);
        seen.settle(graph, vertices, arena)
    }
}

/// The work of all workers in a visit.
struct Seen {
    lists: u64,
    written: Vec<Written>,
}

impl Seen {
    fn of(locals: Vec<Local<'_>>) -> Self {
        Self {
            lists: locals.iter().map(|local| local.lists).sum(),
            written: locals.into_iter().map(|local| local.writer.finish()).collect(),
        }
    }

    /// Ends the visit; an error if a list is missing or did not fit.
    fn settle(self, graph: &Graph, vertices: u64, arena: &mut Arena) -> Result<()> {
        let fault = if !arena.settle(self.written) {
            "lists are longer than the degrees say".to_owned()
        } else if self.lists != vertices {
            format!("{} complete lists of {vertices} vertices", self.lists)
        } else {
            return Ok(());
        };
        Err(AlgoError::Contradiction { file: graph.file().to_string(), fault })
    }
}

/// The writer, buffers and count of lists of one worker.
struct Local<'a> {
    writer: ListWriter<'a>,
    /// The ranks that are filtered at a time.
    found: Box<[u32; SIFT]>,
    ranks: Vec<u32>,
    merged: Vec<u32>,
    doubles: Vec<bool>,
    page: PageOf,
    lists: u64,
}

impl Local<'_> {
    fn new() -> Self {
        let (ranks, merged, doubles, page) = Default::default();
        let found = Box::new([0; SIFT]);
        Self { writer: ListWriter::new(), found, ranks, merged, doubles, page, lists: 0 }
    }
}

/// Selects the neighbours of lower rank in a list, and counts degrees.
struct Sift<'a> {
    ranks: &'a [u32],
    /// Vertices of this rank or a higher one are in no triangle.
    kept: u32,
    degrees: Option<&'a [AtomicU32]>,
    /// Gets where a list has neighbours of lower rank.
    parts: Option<&'a Parts<'a>>,
    /// Whether a list may hold a vertex twice, or a self-loop.
    repeats: bool,
}

impl Sift<'_> {
    /// Puts the lower ranks into the ranks of `local`, ascending, each once; none of a list that is
    /// not kept.
    fn take(&self, list: &List<'_>, local: &mut Local<'_>) {
        let Local { found, ranks: into, page, .. } = local;
        let rank = self.ranks[list.vertex as usize];
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
        into.sort_unstable();
        if self.repeats {
            into.dedup();
        }
        if let Some(parts) = self.parts
            && !into.is_empty()
        {
            let lower = list.targets.iter().filter_map(|&target| {
                let other = self.ranks[target as usize];
                (other < rank).then_some((target, other))
            });
            parts.note(page, list.vertex, lower);
        }
        if let Some(degrees) = self.degrees {
            degrees[rank as usize].fetch_add(neighbours(list, self.repeats), Ordering::Relaxed);
        }
    }

    /// Corrects the degrees for an edge that runs both ways, which was counted twice at both ends.
    fn is_double(&self, a: u32, b: u32) {
        if let Some(degrees) = self.degrees {
            degrees[a as usize].fetch_sub(1, Ordering::Relaxed);
            degrees[b as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts the distinct neighbours in a list, whose targets ascend; `repeats`: whether it may hold a
/// vertex twice, or a self-loop.
pub(super) fn neighbours(list: &List<'_>, repeats: bool) -> u32 {
    let others = match repeats {
        false => list.targets.len(),
        true => {
            let runs = list.targets.chunk_by(|a, b| a == b);
            runs.filter(|run| run[0] != list.vertex).count()
        }
    };
    u32::try_from(others).expect("distinct vertices are fewer than ids")
}

/// Keeps the targets of a directed graph's lists.
struct KeepTargets<'a> {
    sift: &'a Sift<'a>,
    supply: &'a Supply<'a>,
    places: &'a [AtomicU32],
}

impl<'a> Kernel for KeepTargets<'a> {
    type Local = Local<'a>;

    fn local(&self) -> Local<'a> {
        Local::new()
    }

    fn list(&self, local: &mut Local<'a>, list: &List<'_>) {
        local.lists += 1;
        self.sift.take(list, local);
        let mut place = NOWHERE;
        if !local.ranks.is_empty()
            && let Some((at, words)) = local.writer.reserve(self.supply, 1 + local.ranks.len())
        {
            words[0] = local.ranks.len() as u32;
            words[1..=local.ranks.len()].copy_from_slice(&local.ranks);
            place = at;
        }
        self.places[list.vertex as usize].store(place, Ordering::Relaxed);
    }
}

impl Targets {
    fn of(&self, v: VertexId) -> &[u32] {
        match self.places[v as usize].load(Ordering::Relaxed) {
            NOWHERE => &[],
            place => {
                let words = self.arena.words_at(place);
                &words[1..=words[0] as usize]
            }
        }
    }
}

/// Writes oriented lists to memory.
struct Orient<'a> {
    sift: &'a Sift<'a>,
    supply: &'a Supply<'a>,
    places: Option<&'a [AtomicU32]>,
    targets: Option<&'a Targets>,
}

impl<'a> Kernel for Orient<'a> {
    type Local = Local<'a>;

    fn local(&self) -> Local<'a> {
        Local::new()
    }

    fn list(&self, local: &mut Local<'a>, list: &List<'_>) {
        local.lists += 1;
        let rank = self.sift.ranks[list.vertex as usize];
        self.sift.take(list, local);
        let (mut ranks, mut doubles) = (&local.ranks, &[][..]);
        if let Some(targets) = self.targets {
            merge(targets.of(list.vertex), &local.ranks, &mut local.merged, &mut local.doubles);
            (ranks, doubles) = (&local.merged, &local.doubles);
            for (&other, _) in ranks.iter().zip(doubles).filter(|(_, is_double)| **is_double) {
                self.sift.is_double(rank, other);
            }
        }
        if !ranks.is_empty()
            && let Some(place) = local.writer.write(self.supply, rank, ranks, |i| doubles[i])
            && let Some(places) = self.places
        {
            places[rank as usize].store(place, Ordering::Relaxed);
        }
    }
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

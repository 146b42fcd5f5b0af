//! Assembled neighbourhoods: the list of a vertex, or on a directed graph both of its lists.
//!
//! Out-lists and in-lists lie in different pages. A directed graph is visited in ranges of
//! vertices: the out-lists of a range are loaded into memory, then its in-lists are visited and
//! joined with them.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use cenote_engine::{
    AHEAD_ENTRIES, ActiveSet, Adjacency, Assembled, Direction, Engine, EngineConfig, Graph, Kernel,
    List, MemoryPlan, NamedPages, Page, PageTask, Purpose, VertexId, head_of,
};

use crate::estimate::Reads;
use crate::report::{AlgoError, Result};
use crate::residual::{Kept, Residual, ResidualPart};

/// The least memory for out-lists, even of a small budget.
const ROOM_BYTES_MIN: u64 = 1 << 20;

/// Beyond this memory for out-lists, longer ranges gain nothing.
const ROOM_BYTES_MAX: u64 = 32 << 20;

/// Words of a piece beside its targets: a header of two, and an index entry.
pub(crate) const PIECE_WORDS: usize = 2 + Residual::INDEX_WORDS;

/// As [`Kernel`], for whole neighbourhoods.
pub(crate) trait Neighbourhood: Sync {
    type Local: Send;

    fn local(&self) -> Self::Local;

    /// Called before [`Neighbourhood::take`] with neighbours that it gets soon, of which it may
    /// prefetch what it keeps; of a long slice only the first ones: see [`blocks_ahead`].
    fn prefetch(&self, _neighbours: &[VertexId]) {}

    /// Processes all neighbours of `v`, in one or more slices; a neighbour in both directions of a
    /// directed graph is there twice.
    fn take(&self, local: &mut Self::Local, v: VertexId, neighbours: &[&[VertexId]]);
}

/// The neighbours of a slice in blocks; `prefetch` gets those of the next one before each. The
/// first ones [`Neighbourhood::prefetch`] has got.
#[inline(always)]
pub(crate) fn blocks_ahead<'n>(
    slice: &'n [VertexId],
    prefetch: impl Fn(&[VertexId]) + 'n,
) -> impl Iterator<Item = &'n [VertexId]> + 'n {
    let mut later = slice.chunks(AHEAD_ENTRIES).skip(1);
    slice.chunks(AHEAD_ENTRIES).inspect(move |_| later.next().into_iter().for_each(&prefetch))
}

/// The directions in which a vertex has neighbours.
pub(crate) fn directions(is_directed: bool) -> &'static [Direction] {
    if is_directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] }
}

/// An upper bound of the entries of the longest list, in both directions added up.
pub(crate) fn entries_bound(graph: &Graph) -> u64 {
    let of = |direction| graph.adjacency(direction).map_or(0, Adjacency::list_entries_bound);
    of(Direction::Out) + of(Direction::In)
}

/// Required bytes of visits, and optional bytes that make them faster.
pub(crate) fn bytes_for(graph: &Graph, config: &EngineConfig) -> (u64, u64) {
    let pieces = Assembled::bytes_for(graph, config);
    if !graph.is_directed() {
        return (pieces, 0);
    }
    let longest = graph.adjacency(Direction::Out).map_or(0, Adjacency::list_entries_bound);
    // Every piece of the longest list with its header; for a small graph, all lists.
    let all = graph.superblock().stored_out * 4 * (1 + PIECE_WORDS as u64) + 64;
    let room = (longest * 6 + 4096).max(ROOM_BYTES_MIN).min(all);
    (pieces + room, ROOM_BYTES_MAX.min(all))
}

/// Adds the memory use of visits to `reads`: as a rule they use neither pieces nor the required
/// space for out-lists; the optional space as far as there are lists for it.
pub(crate) fn using(
    graph: &Graph,
    config: &EngineConfig,
    memory: &MemoryPlan,
    reads: Reads,
) -> Reads {
    let lists = graph.superblock().stored_out as f64 * 5.6;
    let filled = (lists / memory.scratch_bytes.max(1) as f64).min(1.0);
    reads.sparing(bytes_for(graph, config).0).filling(filled / 2.0, filled)
}

/// Passes the neighbourhoods of all active vertices to `neighbourhood`, once each. `active` must
/// not change meanwhile.
pub(crate) fn visit<V: Neighbourhood>(
    engine: &Engine,
    label: &str,
    active: ActiveSet<'_>,
    neighbourhood: &V,
) -> Result<Vec<V::Local>> {
    visit_within(engine, label, active, neighbourhood, engine.memory().scratch_bytes)
}

/// As [`visit`], with at most `optional_bytes` beyond the required ones.
pub(crate) fn visit_within<V: Neighbourhood>(
    engine: &Engine,
    label: &str,
    active: ActiveSet<'_>,
    neighbourhood: &V,
    optional_bytes: u64,
) -> Result<Vec<V::Local>> {
    if !engine.graph().is_directed() {
        return visit_out(engine, label, active, neighbourhood);
    }
    Ranges::new(engine, active, optional_bytes)?.visit(label, neighbourhood)
}

/// As [`visit`], where the out-lists are the neighbourhoods.
pub(crate) fn visit_out<V: Neighbourhood>(
    engine: &Engine,
    label: &str,
    active: ActiveSet<'_>,
    neighbourhood: &V,
) -> Result<Vec<V::Local>> {
    let single = Single(neighbourhood);
    Ok(engine.visit_whole(label, Direction::Out, active, &single)?)
}

/// An undirected graph: the list is the neighbourhood.
struct Single<'a, V>(&'a V);

impl<V: Neighbourhood> Kernel for Single<'_, V> {
    type Local = V::Local;

    fn local(&self) -> V::Local {
        self.0.local()
    }

    fn prefetch(&self, targets: &[VertexId]) {
        self.0.prefetch(targets);
    }

    fn list(&self, local: &mut V::Local, list: &List<'_>) {
        self.0.take(local, list.vertex, &[list.targets]);
    }
}

/// A directed graph, range by range.
struct Ranges<'a> {
    engine: &'a Engine,
    active: ActiveSet<'a>,
    outward: &'a Adjacency,
    inward: &'a Adjacency,
    room_words: usize,
    /// The estimated number of out-list pages that fit.
    pages: u64,
}

impl<'a> Ranges<'a> {
    fn new(engine: &'a Engine, active: ActiveSet<'a>, optional_bytes: u64) -> Result<Self> {
        let graph = engine.graph();
        let adjacency = |direction| graph.adjacency(direction).expect("in-edges were demanded");
        let (outward, inward) = (adjacency(Direction::Out), adjacency(Direction::In));
        let (_, more) = bytes_for(graph, engine.config());
        let all = graph.superblock().stored_out * 4 * (1 + PIECE_WORDS as u64) + 64;
        let longest = outward.list_entries_bound() * 6 + 4096;
        let given = optional_bytes.min(more);
        let room = longest.max(ROOM_BYTES_MIN).min(all) + given;
        let average =
            (outward.stored_edges() * 4 + graph.vertices() as u64 * 20) / outward.pages().max(1);
        Ok(Self {
            engine,
            active,
            outward,
            inward,
            room_words: usize::try_from(room / 4).unwrap_or(usize::MAX),
            pages: (room * 3 / 4 / average.max(1)).max(1),
        })
    }

    fn visit<V: Neighbourhood>(&self, label: &str, neighbourhood: &V) -> Result<Vec<V::Local>> {
        let vertices = self.engine.graph().vertices() as VertexId;
        let mut locals = Vec::new();
        let (mut from, mut pages) = (0, self.pages);
        while from < vertices {
            let mut to = self.end_of(from, pages);
            let loaded = loop {
                match self.load(label, from..to)? {
                    Some(loaded) => break loaded,
                    None if to - from > 1 => {
                        to = from + (to - from) / 2;
                        pages = (pages / 2).max(1);
                    }
                    None => return Err(self.contradiction(from)),
                }
            };
            locals.extend(self.join(label, from..to, &loaded, neighbourhood)?);
            from = to;
            pages = self.pages.min(pages * 2);
        }
        Ok(locals)
    }

    fn contradiction(&self, v: VertexId) -> AlgoError {
        AlgoError::Contradiction {
            file: self.engine.graph().device().name(),
            fault: format!("the out-list of vertex {v} is longer than the index says"),
        }
    }

    /// The end of the range of vertices from `from` whose lists start within `pages` pages.
    fn end_of(&self, from: VertexId, pages: u64) -> VertexId {
        let vertices = self.engine.graph().vertices() as VertexId;
        let page = *self.outward.pages_of(from).start() + pages;
        let end =
            if page < self.outward.pages() { self.outward.starts_from(page) } else { vertices };
        end.max(from + 1)
    }

    /// Loads the active out-lists of a range; `None` if they do not fit.
    fn load(&self, label: &str, range: Range<VertexId>) -> Result<Option<Residual>> {
        let (label, mut room) = (format!("{label}: out"), self.room_words);
        let direction = Direction::Out;
        let parts = load(self.engine, (label, true), direction, (self.active, range), &mut room)?;
        Ok(parts.map(Residual::new))
    }

    fn join<V: Neighbourhood>(
        &self,
        label: &str,
        range: Range<VertexId>,
        out_lists: &Residual,
        neighbourhood: &V,
    ) -> Result<Vec<V::Local>> {
        let tasks = tasks(self.inward, self.active, &range);
        let partner = Partner { out_lists, neighbourhood };
        let whole = Assembled::new(self.engine, &partner);
        let join = Join { active: self.active, range, whole };
        let (label, pages) = (format!("{label}: in"), NamedPages::of_pass(&tasks));
        let mut locals = self.engine.visit_pages(label.as_str(), Direction::In, pages, &join)?;
        join.whole.finish(&label, Direction::In, (self.engine, &mut locals))?;
        Ok(locals)
    }
}

/// The pages of a range with active lists.
fn tasks(adjacency: &Adjacency, active: ActiveSet<'_>, range: &Range<VertexId>) -> Vec<PageTask> {
    let first = *adjacency.pages_of(range.start).start();
    let last = *adjacency.pages_of(range.end - 1).end();
    (first..=last)
        .filter(|&page| {
            let there = adjacency.vertices_in(page);
            let both = there.start.max(range.start)..there.end.min(range.end);
            active.any_in(both)
        })
        .map(|page| PageTask { page, from: 0, to: 0 })
        .collect()
}

/// Loads the active lists of a range in at most so many words, and subtracts what they take; `None`
/// if they do not fit. `loops`: whether entries of a list to its own vertex are loaded.
pub(crate) fn load(
    engine: &Engine,
    (label, loops): (String, bool),
    direction: Direction,
    (active, range): (ActiveSet<'_>, Range<VertexId>),
    room_words: &mut usize,
) -> Result<Option<Vec<ResidualPart>>> {
    let adjacency = engine.graph().adjacency(direction).expect("in-edges were demanded");
    let tasks = tasks(adjacency, active, &range);
    let load = Load {
        active,
        range,
        loops,
        left_words: AtomicI64::new(i64::try_from(*room_words).unwrap_or(i64::MAX)),
        over: AtomicBool::new(false),
        room_words: *room_words,
        fault: Mutex::new(None),
    };
    let parts = engine.visit_pages(label, direction, NamedPages::of_pass(&tasks), &load)?;
    if let Ok(Some(fault)) = load.fault.into_inner() {
        return Err(fault);
    }
    *room_words = usize::try_from(load.left_words.into_inner()).unwrap_or(0);
    let over = load.over.load(Ordering::Relaxed);
    Ok((!over).then(|| parts.into_iter().flatten().collect()))
}

/// Keeps the lists of a range.
struct Load<'a> {
    active: ActiveSet<'a>,
    range: Range<VertexId>,
    loops: bool,
    room_words: usize,
    left_words: AtomicI64,
    over: AtomicBool,
    fault: Mutex<Option<AlgoError>>,
}

impl Kernel for Load<'_> {
    type Local = Option<ResidualPart>;

    /// Reserves address space for the whole room; only what is written takes memory.
    fn local(&self) -> Option<ResidualPart> {
        match ResidualPart::with_bytes(self.room_words as u64 * 4, 0) {
            Ok(part) => Some(part),
            Err(error) => {
                self.over.store(true, Ordering::Relaxed);
                if let Ok(mut fault) = self.fault.lock() {
                    *fault = Some(error);
                }
                None
            }
        }
    }

    fn page(&self, part: &mut Option<ResidualPart>, page: &Page<'_>, _: &Purpose<'_>) {
        let Some(part) = part else { return };
        for list in page.lists() {
            let vertex = list.vertex;
            let needless = list.targets.is_empty() || self.over.load(Ordering::Relaxed);
            if needless || !self.range.contains(&vertex) || !self.active.contains(vertex) {
                continue;
            }
            let words = (list.targets.len() + PIECE_WORDS) as i64;
            if self.left_words.fetch_sub(words, Ordering::Relaxed) < words {
                self.over.store(true, Ordering::Relaxed);
                return;
            }
            let kept = Kept { vertex, whole: list.is_whole() };
            if self.loops || list.targets.binary_search(&vertex).is_err() {
                part.keep(kept, list.targets);
                continue;
            }
            part.begin();
            list.targets.iter().filter(|&&target| target != vertex).for_each(|&t| part.push(t));
            part.end(kept);
        }
    }
}

/// Passes assembled in-lists to [`Partner`].
struct Join<'a, V> {
    active: ActiveSet<'a>,
    range: Range<VertexId>,
    whole: Assembled<'a, Partner<'a, V>>,
}

impl<V: Neighbourhood> Kernel for Join<'_, V> {
    type Local = V::Local;

    fn local(&self) -> V::Local {
        self.whole.local()
    }

    fn page(&self, local: &mut V::Local, page: &Page<'_>, _: &Purpose<'_>) {
        for list in page.lists() {
            if self.range.contains(&list.vertex) && self.active.contains(list.vertex) {
                self.whole.list(local, &list);
            }
        }
    }
}

/// Joins an in-list with the out-list in memory.
struct Partner<'a, V> {
    out_lists: &'a Residual,
    neighbourhood: &'a V,
}

impl<V: Neighbourhood> Kernel for Partner<'_, V> {
    type Local = V::Local;

    fn local(&self) -> V::Local {
        self.neighbourhood.local()
    }

    fn list(&self, local: &mut V::Local, list: &List<'_>) {
        let mut take = |slices: &[&[VertexId]]| {
            slices.iter().for_each(|slice| self.neighbourhood.prefetch(head_of(slice)));
            self.neighbourhood.take(local, list.vertex, slices);
        };
        let mut pieces = self.out_lists.pieces(list.vertex);
        match (pieces.next(), pieces.next()) {
            (None, _) => take(&[list.targets]),
            (Some(only), None) => take(&[only, list.targets]),
            (Some(first), Some(second)) => {
                let mut all = vec![list.targets, first, second];
                all.extend(pieces);
                take(&all);
            }
        }
    }
}

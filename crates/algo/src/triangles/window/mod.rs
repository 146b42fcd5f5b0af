//! One pass with a moving window of lists, where edges lead nearby and no vertex has many.
//!
//! **Trick.** There the order of the ids serves as well as one by degree: each vertex keeps its
//! neighbours of smaller id, and a triangle `x < w < u` is found at `u`, as an `x` that the lists
//! of `u` and `w` share. The list of `w` was loaded before or with that of `u`, and few pages ago.
//! So pages are read in file order, a batch at a time, and only the last batches stay in memory: no
//! array by vertex is needed, and the memory of the window stays in the processor's cache. It grows
//! when many edges lead behind its start, up to what the budget has.
//!
//! Lists with a middle vertex that had left the window ("far") are kept, and the lists of those
//! middle vertices read again at the end. Where more are far than memory is set aside for, or where
//! the first pages say so, nothing is counted: the caller counts chunk by chunk.
//!
//! - [`batch`]: lists of consecutive pages in memory
//! - [`far`]: triangles whose middle vertex had left the window

mod batch;
mod far;

use std::collections::VecDeque;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cenote_engine::{
    Assembled, Engine, EngineConfig, Frontier, Graph, HugeVec, Strategy, VertexId,
};

use super::count::At;
use super::order::out_lists;
use super::{Counted, Job};
use crate::parallel::sum_of_blocks;
use crate::report::Result;
use batch::Batch;
use far::Far;

/// Vertices of more neighbours make lists long in either order.
const DEGREE_MAX: u64 = 63;

/// Bytes of the pages of a batch: they fill requests, and their lists fit a cache.
const BATCH_BYTES: u64 = 2 << 20;

/// Pages of the first batch, which says whether edges lead nearby.
const PROBE_PAGES: u64 = 64;

/// In that batch fewer than `1 / PROBE_SHARE` of the lists have an edge longer than the window.
const PROBE_SHARE: u64 = 8;

/// The window has at least this many batches.
const BATCHES_MIN: u64 = 2;

/// Lists that are far take at most `1 / FAR_SHARE` of the memory.
const FAR_SHARE: u64 = 8;

/// Vertices that a thread takes at a time.
const BLOCK: usize = 1 << 10;

/// Whether a window may suit the graph; whether it does, its lists say.
pub(super) fn may_suit(graph: &Graph, config: &EngineConfig) -> bool {
    config.strategy == Strategy::Auto
        && !graph.is_directed()
        && graph.superblock().degree_max <= DEGREE_MAX
}

/// Counts the triangles in one pass, on the engine's threads; `None` if a window does not suit.
pub(super) fn count(job: &Job, engine: &Engine) -> Result<Option<Counted>> {
    let Some(plan) = Plan::new(engine, job.at) else { return Ok(None) };
    let mut window = Window::new(engine, plan, job.at)?;
    let pages = out_lists(engine.graph()).pages();
    let mut from = 0;
    while from < pages {
        let to = window.plan.end_of_batch(from).min(pages);
        let left = (pages - to).div_ceil(window.plan.batch_pages);
        let fits = window.load(from..to)? && window.count(left);
        engine.check_cancel()?;
        if !fits {
            return Ok(None);
        }
        from = to;
    }
    window.finish().map(Some)
}

/// How the memory is divided.
struct Plan {
    /// Pages of a batch but the first.
    batch_pages: u64,
    /// The most vertices of a batch.
    batch_vertices: usize,
    batch_entries: usize,
    batch_bytes: u64,
    batches_max: u64,
    far_words_max: u64,
    /// About how far an edge may lead.
    span: u32,
}

impl Plan {
    /// `None` if memory for a window is missing.
    fn new(engine: &Engine, at: At) -> Option<Self> {
        let (graph, memory) = (engine.graph(), engine.memory());
        let n = graph.vertices();
        let by_vertex = if at == At::Nowhere { 0 } else { 12 * n as u64 };
        let fixed =
            Assembled::bytes_for(graph, engine.config()) + Frontier::bytes_for(n, 1) + by_vertex;
        let room = (memory.state_bytes + memory.scratch_bytes).checked_sub(fixed)?;
        let far_bytes = room / FAR_SHARE;
        let room = room - far_bytes;
        let mut batch_pages = (BATCH_BYTES / graph.page_bytes() as u64).max(1);
        loop {
            let plan = Self::of_batches(engine, batch_pages, room);
            if plan.batches_max > BATCHES_MIN {
                let far_words_max = far_bytes / far::BYTES_PER_WORD;
                return Some(Self { far_words_max, ..plan });
            }
            batch_pages = (batch_pages > 1).then_some(batch_pages / 2)?;
        }
    }

    fn of_batches(engine: &Engine, batch_pages: u64, room: u64) -> Self {
        let graph = engine.graph();
        let (lists, degree_max) = (out_lists(graph), graph.superblock().degree_max);
        let mut plan = Self {
            batch_pages,
            batch_vertices: 0,
            batch_entries: 0,
            batch_bytes: 0,
            batches_max: 0,
            far_words_max: 0,
            span: 0,
        };
        let (mut from, mut longest) = (0, 0);
        while from < lists.pages() {
            let to = plan.end_of_batch(from).min(lists.pages());
            longest = longest.max(lists.starts_from(to) - lists.starts_from(from));
            from = to;
        }
        plan.batch_vertices = longest as usize;
        // The last list may end on the next page.
        let entries = lists.entries_max_of(batch_pages) + degree_max;
        plan.batch_entries = entries as usize;
        plan.batch_bytes = Batch::bytes_for(batch_pages, entries, longest.into(), degree_max);
        plan.batches_max = room / plan.batch_bytes;
        let vertices = plan.batches_max.saturating_sub(1) * u64::from(longest);
        plan.span = vertices.min(u64::from(u32::MAX)) as u32;
        plan
    }

    fn end_of_batch(&self, from: u64) -> u64 {
        from + if from == 0 { self.batch_pages.min(PROBE_PAGES) } else { self.batch_pages }
    }
}

/// The window and what was counted so far.
struct Window<'e> {
    engine: &'e Engine,
    plan: Plan,
    /// In the order of their vertices, which are consecutive.
    batches: VecDeque<Batch>,
    /// So many are kept.
    batches_now: u64,
    far: Far,
    found: Found,
    wedges: u64,
    sums: Sums,
}

/// Sums by vertex; empty for [`At::Nowhere`].
struct Sums {
    degrees: HugeVec<AtomicU32>,
    counts: HugeVec<AtomicU64>,
}

impl Sums {
    fn add(&self, v: VertexId, count: u64) {
        if let Some(sum) = self.counts.get(v as usize) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Counts the triangles of `u` and `w` with the vertices that the lists of both have.
    fn common(&self, of_u: &[VertexId], of_w: &[VertexId], [u, w]: [VertexId; 2]) -> u64 {
        let (mut i, mut j, mut count) = (0, 0, 0);
        while i < of_u.len() && j < of_w.len() {
            let (x, y) = (of_u[i], of_w[j]);
            if x == y {
                count += 1;
                self.add(x, 1);
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        if count > 0 {
            self.add(u, count);
            self.add(w, count);
        }
        count
    }
}

/// What some of the lists gave.
#[derive(Default)]
struct Found {
    triangles: u64,
    /// Lists with a middle vertex before the window: see [`Far`].
    far: Vec<u32>,
    far_lists: u64,
}

impl AddAssign for Found {
    fn add_assign(&mut self, other: Self) {
        self.triangles += other.triangles;
        self.far.extend(other.far);
        self.far_lists += other.far_lists;
    }
}

impl<'e> Window<'e> {
    fn new(engine: &'e Engine, plan: Plan, at: At) -> Result<Self> {
        let n = if at == At::Nowhere { 0 } else { engine.graph().vertices() };
        Ok(Self {
            engine,
            far: Far::new(plan.far_words_max),
            plan,
            batches: VecDeque::new(),
            batches_now: BATCHES_MIN,
            found: Found::default(),
            wedges: 0,
            sums: Sums { degrees: HugeVec::zeroed(n)?, counts: HugeVec::zeroed(n)? },
        })
    }

    /// Loads the lists that start in these pages; false if the window does not suit.
    fn load(&mut self, pages: std::ops::Range<u64>) -> Result<bool> {
        let graph = self.engine.graph();
        let lists = out_lists(graph);
        let mut batch = match self.batches.len() as u64 >= self.batches_now {
            true => self.batches.pop_front().expect("the window has batches"),
            false => Batch::new(&self.plan)?,
        };
        let vertices = lists.starts_from(pages.start)..lists.starts_from(pages.end);
        let is_first = pages.start == 0;
        let loaded =
            batch.load(self.engine, vertices.clone(), &self.sums.degrees, self.plan.span)?;
        let is_complete = loaded.is_complete(&vertices);
        self.wedges += loaded.wedges;
        self.batches.push_back(batch);
        let is_near = !is_first || loaded.far_ends * PROBE_SHARE <= loaded.lists;
        Ok(is_complete && is_near)
    }

    /// Counts the triangles whose largest vertex is in the last batch, to which `left` more will
    /// follow; false if too many are far.
    fn count(&mut self, left: u64) -> bool {
        let current = self.batches.back().expect("a batch was loaded");
        let first = current.vertices.start;
        let found = sum_of_blocks(BLOCK, current.vertices.len(), |block| {
            let mut found = Found::default();
            for v in block.start as u32..block.end as u32 {
                self.of_vertex(current, first + v, &mut found);
            }
            found
        });
        if self.is_worth_more(&found, left) {
            self.batches_now = (2 * self.batches_now).min(self.plan.batches_max);
        }
        self.found += found;
        !self.far.is_full()
    }

    /// Whether twice as many batches are worth their memory, if as many lists are far in each of
    /// those left. A list that is far has a page read again, and to get memory takes about as long
    /// as to read it.
    fn is_worth_more(&self, found: &Found, left: u64) -> bool {
        let more_pages =
            self.batches_now * self.plan.batch_bytes / self.engine.graph().page_bytes() as u64;
        let words = self.found.far.len() as u64 + found.far.len() as u64 * (1 + left);
        found.far_lists * left > more_pages || words > self.plan.far_words_max / 2
    }

    #[inline(always)]
    fn of_vertex(&self, current: &Batch, u: VertexId, found: &mut Found) {
        let list = current.list(u);
        let [_, second, ..] = *list else { return };
        let start = self.start();
        if second < start {
            self.far.keep(&mut found.far, u, start, list);
            found.far_lists += 1;
        }
        for (i, &w) in list.iter().enumerate().skip(1) {
            if w >= start {
                let of_w = self.list(current, w);
                found.triangles += self.sums.common(&list[..i], of_w, [u, w]);
            }
        }
    }

    /// The first vertex of the window.
    fn start(&self) -> VertexId {
        self.batches.front().map_or(0, |batch| batch.vertices.start)
    }

    /// The smaller neighbours of a vertex in the window.
    #[inline(always)]
    fn list<'a>(&'a self, current: &'a Batch, w: VertexId) -> &'a [VertexId] {
        if w >= current.vertices.start {
            return current.list(w);
        }
        let behind = self.batches.partition_point(|batch| batch.vertices.start <= w);
        self.batches[behind - 1].list(w)
    }

    fn finish(mut self) -> Result<Counted> {
        // Memory for the lists that are read again.
        self.batches.clear();
        let far = std::mem::take(&mut self.found.far);
        let triangles = self.found.triangles + far::count(self.engine, &far, &self.sums)?;
        let Sums { degrees, counts } = self.sums;
        let has_counts = counts.len() == self.engine.graph().vertices();
        Ok(Counted {
            triangles,
            wedges: self.wedges.into(),
            chunks: 1,
            ranks: HugeVec::zeroed(0)?,
            degrees,
            counts,
            has_counts,
        })
    }
}

//! Long lists by weight: of a list that runs over pages the sums of its weights, part by part, so
//! that a step needs only the part with the entry that it takes.
//!
//! A part is what a page of lists and a page of weights have in common. When a walk comes to a long
//! list whose sums are not known, the list is read once as a whole, with the others of its window;
//! from then on a step there costs one page of lists and one of weights, as at any other vertex.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{
    Adjacency, Direction, Engine, Kernel, Page, PageTask, Purpose, VertexId, WeightColumn,
};
use rustc_hash::FxHashMap;

use super::fixed::{Scale, index_of};
use super::long::Contradiction;
use crate::report::Result;

/// Parts that are learned at a time: what is known before it is put in order.
const PARTS_MAX: u64 = 1 << 14;

/// Memory of a list beside its parts, twice for the table's growth.
const HUB_BYTES: u64 = 2 * (size_of::<(VertexId, Hub)>() as u64 + 8);

/// Memory of a part: where it ends, its page, the sum up to there.
const PART_BYTES: u64 = (size_of::<u64>() + size_of::<u32>() + size_of::<u128>()) as u64;

/// What is known of one list.
#[derive(Debug)]
pub(super) struct Hub {
    /// Positions where its parts end, ascending.
    ends: Box<[u64]>,
    /// The pages of lists that they lie on, counted from the first of the list.
    pages: Box<[u32]>,
    /// The weights of all entries before these positions.
    sums: Box<[u128]>,
}

/// A part of a long list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Positions in the list.
    pub positions: Range<u64>,
    /// The page of lists that it lies on, counted from the first of the list.
    pub page: u64,
    /// The weights of the entries before.
    pub before: u128,
}

impl Hub {
    /// The weights of all its entries.
    pub fn total(&self) -> u128 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// The part that `drawn`, less than the total, falls into.
    pub fn part(&self, drawn: u128) -> Part {
        let i = index_of(&self.sums, drawn);
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        let before = if i == 0 { 0 } else { self.sums[i - 1] };
        Part { positions: start..self.ends[i], page: u64::from(self.pages[i]), before }
    }
}

/// The long lists that walks have come to.
#[derive(Debug, Default)]
pub(super) struct Hubs(FxHashMap<VertexId, Hub>);

/// Each long list of a direction, and its parts at most.
fn for_each_long(
    adjacency: &Adjacency,
    column: &WeightColumn,
    mut each: impl FnMut(VertexId, u64),
) {
    let mut page = 1;
    while page < adjacency.pages() {
        if adjacency.continues(page) {
            let vertex = adjacency.vertices_in(page).start;
            let pages = adjacency.pages_of(vertex);
            each(vertex, parts_of(adjacency, column, vertex));
            // Another list may begin on the last of them, and run on.
            page = pages.end() + 1;
        } else {
            page += 1;
        }
    }
}

/// Parts of a list at most.
fn parts_of(adjacency: &Adjacency, column: &WeightColumn, vertex: VertexId) -> u64 {
    let pages = adjacency.pages_of(vertex);
    let of_page = |page| {
        let weights = column.pages_of(column.addresses_of(page));
        weights.end - weights.start
    };
    pages.map(of_page).sum::<u64>()
}

impl Hubs {
    /// Memory at most: of all long lists, and of those that are learned at a time.
    pub fn bytes(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
        let (mut bytes, mut largest, mut all) = (0, 0, 0);
        for_each_long(adjacency, column, |_, parts| {
            bytes += HUB_BYTES + parts * PART_BYTES;
            (largest, all) = (parts.max(largest), all + parts);
        });
        // Vectors grow by doubling, and are put together.
        let learned = all.min(PARTS_MAX + largest);
        bytes + 3 * learned * size_of::<Piece>() as u64
    }

    /// Pages of lists and of weights that all long lists lie on, about.
    pub fn pages(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
        let mut pages = 0;
        for_each_long(adjacency, column, |_, parts| pages += parts);
        pages
    }

    pub fn get(&self, vertex: VertexId) -> Option<&Hub> {
        self.0.get(&vertex)
    }

    /// Learns these long lists, ascending and each once.
    pub fn learn(
        &mut self,
        engine: &Engine,
        scale: Scale,
        vertices: &[VertexId],
    ) -> Result<std::result::Result<(), Contradiction>> {
        let graph = engine.graph();
        let adjacency = graph.adjacency(Direction::Out).expect("every graph has out-lists");
        let column = graph.weights(Direction::Out).expect("weighted walks have weights");
        let mut rest = vertices;
        while let Some(first) = rest.first() {
            let (mut count, mut parts) = (1, parts_of(adjacency, column, *first));
            while let Some(next) = rest.get(count) {
                parts += parts_of(adjacency, column, *next);
                if parts > PARTS_MAX {
                    break;
                }
                count += 1;
            }
            let (now, later) = rest.split_at(count);
            rest = later;
            let wrong = AtomicBool::new(false);
            let kernel = Learn { column, scale, vertices: now, wrong: &wrong };
            let tasks = PageTask::of_lists(adjacency, now);
            let label = format!("weights of {} long lists", now.len());
            let pieces = engine.visit_weighted_pages(label, Direction::Out, &tasks, &kernel)?;
            let pieces = pieces.into_iter().flat_map(|local| local.pieces).collect();
            if wrong.load(Ordering::Relaxed) || self.keep(pieces).is_err() {
                return Ok(Err(Contradiction));
            }
        }
        Ok(Ok(()))
    }

    /// Puts what was learned in order.
    fn keep(&mut self, mut pieces: Vec<Piece>) -> std::result::Result<(), Contradiction> {
        pieces.sort_unstable_by_key(|piece| (piece.vertex, piece.skip));
        for pieces in pieces.chunk_by(|a, b| a.vertex == b.vertex) {
            let first = pieces[0].page;
            let (mut ends, mut sums) = (Vec::new(), Vec::new());
            let pages = pieces.iter().map(|piece| (piece.page - first) as u32).collect();
            ends.reserve_exact(pieces.len());
            sums.reserve_exact(pieces.len());
            let (mut end, mut sum) = (0, 0);
            for piece in pieces {
                if piece.skip != end || piece.page < first {
                    return Err(Contradiction);
                }
                end += u64::from(piece.len);
                sum += piece.sum;
                ends.push(end);
                sums.push(sum);
            }
            if end != pieces[0].degree {
                return Err(Contradiction);
            }
            let hub = Hub { ends: ends.into(), pages, sums: sums.into() };
            self.0.insert(pieces[0].vertex, hub);
        }
        Ok(())
    }
}

/// A part of a list as it is learned.
#[derive(Clone, Copy, Debug)]
struct Piece {
    vertex: VertexId,
    len: u32,
    /// Position in its list, and length of that.
    skip: u64,
    degree: u64,
    /// Page of lists.
    page: u64,
    sum: u128,
}

/// Sums the weights of long lists.
struct Learn<'a> {
    column: &'a WeightColumn,
    scale: Scale,
    vertices: &'a [VertexId],
    wrong: &'a AtomicBool,
}

#[derive(Debug, Default)]
struct Learned {
    pieces: Vec<Piece>,
    scratch: Vec<u128>,
}

/// Where the piece of a vertex's list lies on a page.
fn places(page: &Page<'_>, vertex: VertexId) -> Range<usize> {
    let i = (vertex - page.first_vertex()) as usize;
    page.start(i)..page.end(i)
}

impl Kernel for Learn<'_> {
    type Local = Learned;

    fn local(&self) -> Learned {
        Learned::default()
    }

    fn entries(&self, page: &Page<'_>, task: PageTask) -> Range<usize> {
        let vertices = &self.vertices[task.from as usize..task.to as usize];
        let (first, last) = (vertices[0], vertices[vertices.len() - 1]);
        places(page, first).start..places(page, last).end
    }

    fn page(&self, local: &mut Learned, page: &Page<'_>, purpose: &Purpose<'_>) {
        let task = purpose.task;
        let Some((entries, weights)) = purpose.weights.clone() else { return };
        let Learned { pieces, scratch } = local;
        let page_address = self.column.addresses_of(task.page).start;
        for &vertex in &self.vertices[task.from as usize..task.to as usize] {
            let list = page.list((vertex - page.first_vertex()) as usize);
            let places = places(page, vertex);
            let addresses = page_address + places.start as u64..page_address + places.end as u64;
            for weight_page in self.column.pages_of(addresses.clone()) {
                let first = weight_page * self.column.per_page() as u64;
                let start = addresses.start.max(first);
                let end = addresses.end.min(first + self.column.per_page() as u64);
                let from = (start - page_address) as usize - entries.start;
                let part = weights.slice(from..from + (end - start) as usize);
                let Ok(sum) = self.scale.total(part, scratch) else {
                    return self.wrong.store(true, Ordering::Relaxed);
                };
                pieces.push(Piece {
                    vertex,
                    len: part.len() as u32,
                    skip: list.skip + start - addresses.start,
                    degree: list.degree,
                    page: task.page,
                    sum,
                });
            }
        }
    }
}

//! Prefix sums of the weights of long lists, part by part, so that a weighted step on a list that
//! spans pages reads only the part with its entry.
//!
//! A part is the intersection of a page of lists and a page of weights. When a walk first comes to
//! a long list, the list is read completely, together with the others of its window; from then on a
//! step there reads one page of lists and one of weights, as at any other vertex.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{
    Adjacency, Direction, Engine, Kernel, NamedPages, Page, PageTask, Purpose, VertexId,
    WeightColumn,
};
use rustc_hash::FxHashMap;

use super::fixed::{Scale, index_of};
use super::long::Contradiction;
use crate::report::Result;

/// Parts that are loaded at a time.
const PARTS_MAX: u64 = 1 << 14;

/// Bytes of a list without its parts, twice for the table's growth.
const HUB_BYTES: u64 = 2 * (size_of::<(VertexId, Hub)>() as u64 + 8);

/// Bytes of a part: its end, its page, its sum.
const PART_BYTES: u64 = (size_of::<u64>() + size_of::<u32>() + size_of::<u128>()) as u64;

/// The parts of one long list.
#[derive(Debug)]
pub(super) struct Hub {
    /// The ends of the parts, as positions in the list, ascending.
    ends: Box<[u64]>,
    /// The pages of lists that hold them, counted from the first of the list.
    pages: Box<[u32]>,
    /// The sums of the weights of all entries before these ends.
    sums: Box<[u128]>,
}

/// A part of a long list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Positions in the list.
    pub positions: Range<u64>,
    /// The page of lists that holds it, counted from the first of the list.
    pub page: u64,
    /// The sum of the weights before it.
    pub before: u128,
}

impl Hub {
    /// The sum of all weights.
    pub fn total(&self) -> u128 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// The part that contains `drawn`, which is less than the total.
    pub fn part(&self, drawn: u128) -> Part {
        let i = index_of(&self.sums, drawn);
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        let before = if i == 0 { 0 } else { self.sums[i - 1] };
        Part { positions: start..self.ends[i], page: u64::from(self.pages[i]), before }
    }
}

/// The known long lists.
#[derive(Debug, Default)]
pub(super) struct Hubs(FxHashMap<VertexId, Hub>);

/// Calls `each` with each long list of a direction and the most parts it has.
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
            // Another list may begin on the last page and continue.
            page = pages.end() + 1;
        } else {
            page += 1;
        }
    }
}

/// The most parts of a list.
fn parts_of(adjacency: &Adjacency, column: &WeightColumn, vertex: VertexId) -> u64 {
    let pages = adjacency.pages_of(vertex);
    let of_page = |page| {
        let mut addresses = column.addresses_of(page);
        // As if the entries that the log adds had addresses behind the others.
        addresses.end += adjacency.weight_edits(page) as u64;
        let weights = column.pages_of(addresses);
        weights.end - weights.start
    };
    pages.map(of_page).sum::<u64>()
}

impl Hubs {
    /// The most bytes: of all long lists, and of those that are being loaded.
    pub fn bytes(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
        let (mut bytes, mut largest, mut all) = (0, 0, 0);
        for_each_long(adjacency, column, |_, parts| {
            bytes += HUB_BYTES + parts * PART_BYTES;
            (largest, all) = (parts.max(largest), all + parts);
        });
        // Vectors double, and are concatenated.
        let learned = all.min(PARTS_MAX + largest);
        bytes + 3 * learned * size_of::<Piece>() as u64
    }

    /// About how many pages of lists and of weights all long lists have.
    pub fn pages(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
        let mut pages = 0;
        for_each_long(adjacency, column, |_, parts| pages += parts);
        pages
    }

    pub fn get(&self, vertex: VertexId) -> Option<&Hub> {
        self.0.get(&vertex)
    }

    /// Loads these long lists, ascending and each once.
    pub fn load(
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
            let pages = NamedPages::of_pass(&tasks);
            let pieces = engine.visit_weighted_pages(label, Direction::Out, pages, &kernel)?;
            let pieces = pieces.into_iter().flat_map(|local| local.pieces).collect();
            if wrong.load(Ordering::Relaxed) || self.keep(pieces).is_err() {
                return Ok(Err(Contradiction));
            }
        }
        Ok(Ok(()))
    }

    /// Stores loaded parts in order.
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

/// A part of a list as it is loaded.
#[derive(Clone, Copy, Debug)]
struct Piece {
    vertex: VertexId,
    len: u32,
    /// Position in its list, and length of the list.
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

/// The entries of a vertex's list on a page.
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

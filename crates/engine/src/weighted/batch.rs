//! Copies of lists that wait for their weights.

use std::ops::Range;

use cenote_store::{Adjacency, List, VertexId, WeightColumn, Weights};

use super::WeightedKernel;
use crate::tasks::PageTask;

/// A wanted piece of a list.
#[derive(Clone, Copy, Debug)]
struct Piece {
    vertex: VertexId,
    page: u64,
    skip: u64,
    degree: u64,
    /// Ordinal of its first entry.
    ordinal: u64,
    /// Where its entries stand in the batch.
    start: u32,
    len: u32,
}

/// Pieces of one extent of lists, ascending.
#[derive(Debug, Default)]
pub struct Batch {
    pieces: Vec<Piece>,
    targets: Vec<VertexId>,
    /// What was reserved for it.
    pub cost: u64,
}

impl Batch {
    /// An empty one, for which so many bytes are reserved.
    pub fn of(cost: u64) -> Self {
        Self { cost, ..Self::default() }
    }

    pub fn push(&mut self, list: &List<'_>, ordinal: u64) {
        let start = u32::try_from(self.targets.len()).expect("an extent has few entries");
        let len = u32::try_from(list.targets.len()).expect("a page has few entries");
        self.targets.extend_from_slice(list.targets);
        let List { vertex, page, skip, degree, .. } = *list;
        self.pieces.push(Piece { vertex, page, skip, degree, ordinal, start, len });
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The pages of weights that its pieces need, ascending, each once.
    pub fn weight_pages(&self, column: &WeightColumn) -> Vec<u64> {
        let mut pages = Vec::new();
        for piece in &self.pieces {
            let wanted = column.pages_of(piece.ordinals());
            let known = pages.last().map_or(0, |last| last + 1);
            pages.extend(wanted.start.max(known)..wanted.end);
        }
        pages
    }

    /// Gives the kernel all that has its weights in this page of weights.
    pub fn serve<K: WeightedKernel>(
        &self,
        kernel: &K,
        local: &mut K::Local,
        first: u64,
        weights: Weights<'_>,
    ) {
        let end = first + weights.len() as u64;
        let from = self.pieces.partition_point(|piece| piece.ordinals().end <= first);
        for piece in &self.pieces[from..] {
            if piece.ordinal >= end {
                break;
            }
            let start = piece.start as usize;
            let targets = &self.targets[start..start + piece.len as usize];
            let Piece { vertex, page, skip, degree, ordinal, .. } = *piece;
            let list = List { vertex, page, skip, degree, targets };
            serve(kernel, local, &list, ordinal, first, weights);
        }
    }
}

impl Piece {
    fn ordinals(&self) -> Range<u64> {
        self.ordinal..self.ordinal + u64::from(self.len)
    }
}

/// Gives the kernel the part of a list whose weights are those from ordinal `first` on.
pub fn serve<K: WeightedKernel>(
    kernel: &K,
    local: &mut K::Local,
    list: &List<'_>,
    ordinal: u64,
    first: u64,
    weights: Weights<'_>,
) {
    let end = (ordinal + list.targets.len() as u64).min(first + weights.len() as u64);
    let start = ordinal.max(first);
    let within = (start - ordinal) as usize..(end - ordinal) as usize;
    let skip = list.skip + within.start as u64;
    let part = List { skip, targets: &list.targets[within], ..*list };
    kernel.list(local, &part, weights.slice((start - first) as usize..(end - first) as usize));
}

/// Bytes that the copies of a page's lists take at most.
pub fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
    let ordinals = column.ordinals_of(page);
    let lists = adjacency.vertices_in(page);
    (ordinals.end - ordinals.start) * size_of::<VertexId>() as u64
        + u64::from(lists.end - lists.start) * size_of::<Piece>() as u64
}

/// The same of some pages. Vectors grow by doubling, so twice what they hold.
pub fn cost_of(adjacency: &Adjacency, column: &WeightColumn, tasks: &[PageTask]) -> u64 {
    2 * tasks.iter().map(|task| cost_of_page(adjacency, column, task.page)).sum::<u64>()
}

/// Copies that one worker may have waiting, as far as pages are not larger: what a fast drive
/// brings in a millisecond.
const COPIES_BYTES: u64 = 2 << 20;

/// Bytes of copies that one worker may have waiting: at least two of any page, and no more than all
/// lists.
pub fn bytes_max(adjacency: &Adjacency, column: &WeightColumn) -> u64 {
    let costs = || (0..adjacency.pages()).map(|page| cost_of_page(adjacency, column, page));
    let (dearest, all) = (costs().max().unwrap_or(0), costs().sum::<u64>());
    (4 * dearest).max(COPIES_BYTES).min(2 * all)
}

/// Cuts ascending tasks where the copies of one extent would take more than half of that.
pub fn groups<'t>(
    adjacency: &Adjacency,
    column: &WeightColumn,
    tasks: &'t [PageTask],
    bytes_max: u64,
) -> Vec<&'t [PageTask]> {
    let (mut groups, mut start, mut cost) = (Vec::new(), 0, 0);
    for (i, task) in tasks.iter().enumerate() {
        let more = 2 * cost_of_page(adjacency, column, task.page);
        if cost > 0 && cost + more > bytes_max / 2 {
            groups.push(&tasks[start..i]);
            (start, cost) = (i, 0);
        }
        cost += more;
    }
    groups.push(&tasks[start..]);
    groups
}

//! Copies of lists that wait for their weights.

use std::ops::Range;

use cenote_store::{Adjacency, List, VertexId, WeightColumn, Weights};

use super::WeightedKernel;
use super::serve::Copies;

/// A wanted piece of a list.
#[derive(Clone, Copy, Debug)]
struct Piece {
    vertex: VertexId,
    page: u64,
    skip: u64,
    degree: u64,
    /// Address of the weight of its first entry.
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
}

impl Batch {
    pub fn push(&mut self, list: &List<'_>, ordinal: u64) {
        let start = u32::try_from(self.targets.len()).expect("an extent has few entries");
        let len = u32::try_from(list.targets.len()).expect("a page has few entries");
        self.targets.extend_from_slice(list.targets);
        let List { vertex, page, skip, degree, .. } = *list;
        self.pieces.push(Piece { vertex, page, skip, degree, ordinal, start, len });
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

impl Copies for Batch {
    fn ordinals(&self) -> impl Iterator<Item = Range<u64>> {
        self.pieces.iter().map(Piece::ordinals)
    }

    fn sort(&mut self) {
        self.pieces.sort_by_key(|piece| piece.ordinal);
    }
}

impl Piece {
    fn ordinals(&self) -> Range<u64> {
        self.ordinal..self.ordinal + u64::from(self.len)
    }
}

/// Gives the kernel the part of a list whose weights are those from address `first` on.
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
    let ordinals = column.addresses_of(page);
    let lists = adjacency.vertices_in(page);
    (ordinals.end - ordinals.start) * size_of::<VertexId>() as u64
        + u64::from(lists.end - lists.start) * size_of::<Piece>() as u64
}

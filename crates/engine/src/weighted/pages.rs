//! Pages as a whole, with the weights of some of their entries put together: for kernels that look
//! about on a page.

use std::ops::Range;

use cenote_store::{Adjacency, Decoded, List, Page, WeightColumn, Weights};

use super::serve::{Arrival, Copies, Serve};
use crate::tasks::PageTask;

/// A step that works by pages and weights:
/// [`Engine::visit_weighted_pages`](crate::Engine::visit_weighted_pages) brings it the pages that
/// it names, in no fixed order, from many threads.
pub trait WeightedPageKernel: Sync {
    /// What a worker gathers by itself during a visit, given back at its end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// The entries of a page, by their places in [`Page::entries`], whose weights its task needs.
    fn entries(&self, page: &Page<'_>, task: PageTask) -> Range<usize>;

    /// Takes a page, the weights of these entries, and the task that named it.
    fn page(
        &self,
        local: &mut Self::Local,
        page: &Page<'_>,
        entries: Range<usize>,
        weights: Weights<'_>,
        task: PageTask,
    );
}

/// A page that waits for weights.
#[derive(Debug)]
struct PageCopy {
    task: PageTask,
    /// Words, so that they are aligned as pages are.
    bytes: Box<[u64]>,
    entries: Range<usize>,
    /// Address of the weight of the first of these entries.
    ordinal: u64,
    /// As they lie in the file, as far as they have come.
    weights: Box<[u64]>,
    missing: u64,
}

impl PageCopy {
    fn ordinals(&self) -> Range<u64> {
        self.ordinal..self.ordinal + self.entries.len() as u64
    }

    /// Takes what it needs of some weights. Whether it has all of them now.
    fn fill(&mut self, first: u64, weights: Weights<'_>) -> bool {
        let wanted = self.ordinals();
        let start = wanted.start.max(first);
        let end = wanted.end.min(first + weights.len() as u64);
        let found = weights.slice((start - first) as usize..(end - first) as usize).as_bytes();
        let at = (start - wanted.start) as usize * (found.len() / (end - start) as usize);
        let into: &mut [u8] = bytemuck::cast_slice_mut(&mut self.weights);
        into[at..at + found.len()].copy_from_slice(found);
        self.missing -= end - start;
        self.missing == 0
    }
}

/// Pages of one extent of lists, ascending.
#[derive(Debug, Default)]
pub(crate) struct PageBatch(Vec<PageCopy>);

impl Copies for PageBatch {
    fn ordinals(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(PageCopy::ordinals)
    }

    fn sort(&mut self) {
        self.0.sort_by_key(|copy| copy.ordinal);
    }
}

/// Whole pages go to a kernel, each for its task.
pub(crate) struct Pages<'a, K> {
    pub adjacency: &'a Adjacency,
    pub column: &'a WeightColumn,
    pub kernel: &'a K,
}

impl<K: WeightedPageKernel> Pages<'_, K> {
    fn give(&self, local: &mut PageLocal<K::Local>, copy: &PageCopy) {
        let PageLocal { local, decoded } = local;
        let bytes = bytemuck::cast_slice(&copy.bytes);
        let page = self.adjacency.reparse(copy.task.page, bytes, decoded);
        let page = page.expect("it was parsed when it was copied");
        let len = copy.entries.len() * self.column.kind().bytes();
        let weights = &bytemuck::cast_slice(&copy.weights)[..len];
        let weights = Weights::from_bytes(self.column.kind(), weights);
        self.kernel.page(local, &page, copy.entries.clone(), weights, copy.task);
    }
}

/// A worker's own.
pub(crate) struct PageLocal<L> {
    pub local: L,
    /// Where copies of packed pages are decoded.
    decoded: Decoded,
}

impl<K: WeightedPageKernel> Serve for Pages<'_, K> {
    type Local = PageLocal<K::Local>;
    type Batch = PageBatch;

    fn local(&self) -> Self::Local {
        PageLocal { local: self.kernel.local(), decoded: Decoded::new() }
    }

    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
        let ordinals = column.addresses_of(page);
        let weights = (ordinals.end - ordinals.start) * column.kind().bytes() as u64;
        (adjacency.page_bytes() + size_of::<PageCopy>()) as u64 + weights.next_multiple_of(8)
    }

    fn take(
        &self,
        local: &mut Self::Local,
        arrival: Arrival<'_>,
        batch: &mut PageBatch,
        _: impl FnMut(&mut Self::Local, &List<'_>, u64) -> bool,
    ) {
        let Arrival { page, bytes, task, ordinal } = arrival;
        let entries = self.kernel.entries(page, task);
        if entries.is_empty() {
            let none =
                Weights::from_bytes(self.column.kind(), bytemuck::cast_slice::<u64, u8>(&[]));
            return self.kernel.page(&mut local.local, page, 0..0, none, task);
        }
        let weight_bytes = entries.len() * self.column.kind().bytes();
        let mut words = vec![0u64; bytes.len() / 8].into_boxed_slice();
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
        batch.0.push(PageCopy {
            task,
            bytes: words,
            ordinal: ordinal + entries.start as u64,
            weights: vec![0; weight_bytes.div_ceil(8)].into_boxed_slice(),
            missing: entries.len() as u64,
            entries,
        });
    }

    fn list(&self, _: &mut Self::Local, _: &List<'_>, _: u64, _: u64, _: Weights<'_>) {}

    fn weights(
        &self,
        local: &mut Self::Local,
        batch: &mut PageBatch,
        first: u64,
        weights: Weights<'_>,
    ) {
        let end = first + weights.len() as u64;
        let from = batch.0.partition_point(|copy| copy.ordinals().end <= first);
        for copy in &mut batch.0[from..] {
            if copy.ordinal >= end {
                break;
            }
            if copy.fill(first, weights) {
                self.give(local, copy);
            }
        }
    }
}

//! Weighted visits of pages: for kernels that need the weights of any entries of a page together.

use std::ops::Range;

use cenote_store::{Adjacency, Decoded, List, WeightColumn, Weights};

use super::copies::Copies;
use super::dispatch::{Dispatch, Fetched};
use crate::error::Result;
use crate::frontier::ActiveSet;
use crate::kernel::{Kernel, Purpose};
use crate::tasks::PageTask;

/// A page that waits for weights.
#[derive(Debug)]
struct PageCopy {
    task: PageTask,
    /// In words, for the alignment of pages.
    bytes: Box<[u64]>,
    entries: Range<usize>,
    /// Address of the weight of the first of these entries.
    address: u64,
    /// The weights that have arrived, as in the file.
    weights: Box<[u64]>,
    missing: u64,
}

impl PageCopy {
    fn addresses(&self) -> Range<u64> {
        self.address..self.address + self.entries.len() as u64
    }

    /// Copies the weights it needs, of those from address `first` on; true if it now has all.
    fn fill(&mut self, first: u64, weights: Weights<'_>) -> bool {
        let active = self.addresses();
        let start = active.start.max(first);
        let end = active.end.min(first + weights.len() as u64);
        let found = weights.slice((start - first) as usize..(end - first) as usize).as_bytes();
        let at = (start - active.start) as usize * (found.len() / (end - start) as usize);
        let into: &mut [u8] = bytemuck::cast_slice_mut(&mut self.weights);
        into[at..at + found.len()].copy_from_slice(found);
        self.missing -= end - start;
        self.missing == 0
    }
}

/// Pages of one extent of lists, ascending.
#[derive(Debug, Default)]
pub(crate) struct PageCopies(Vec<PageCopy>);

impl Copies for PageCopies {
    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
        let addresses = column.addresses_of(page);
        let weights = (addresses.end - addresses.start) * column.kind().bytes() as u64;
        (adjacency.page_bytes() + size_of::<PageCopy>()) as u64 + weights.next_multiple_of(8)
    }

    fn addresses(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(PageCopy::addresses)
    }

    fn sort(&mut self) {
        self.0.sort_by_key(|copy| copy.address);
    }
}

/// Dispatches pages with all the weights they need, each for its task.
pub(crate) struct WeightedPages<'a, K> {
    pub adjacency: &'a Adjacency,
    pub column: &'a WeightColumn,
    pub kernel: &'a K,
}

impl<K: Kernel> WeightedPages<'_, K> {
    fn dispatch(&self, local: &mut PageLocal<K::Local>, copy: &PageCopy) {
        let PageLocal { local, decoded } = local;
        let bytes = bytemuck::cast_slice(&copy.bytes);
        let page = self.adjacency.reparse(copy.task.page, bytes, decoded);
        let page = page.expect("it was parsed when it was copied");
        let len = copy.entries.len() * self.column.kind().bytes();
        let weights = &bytemuck::cast_slice(&copy.weights)[..len];
        let weights = Weights::from_bytes(self.column.kind(), weights);
        let weights = Some((copy.entries.clone(), weights));
        let purpose = Purpose { active: ActiveSet::All, task: copy.task, weights };
        self.kernel.page(local, &page, &purpose);
    }
}

/// The kernel's local of a worker, and its buffer for decoded copies.
pub(crate) struct PageLocal<L> {
    pub local: L,
    decoded: Decoded,
}

impl<K: Kernel> Dispatch for WeightedPages<'_, K> {
    type Local = PageLocal<K::Local>;
    type Copies = PageCopies;

    fn local(&self) -> Self::Local {
        PageLocal { local: self.kernel.local(), decoded: Decoded::new() }
    }

    fn page(
        &self,
        local: &mut Self::Local,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        copies: &mut PageCopies,
        _: impl FnMut(&mut Self::Local, &List<'_>, u64) -> bool,
    ) -> Result<()> {
        let Fetched { adjacency, bytes, task } = page;
        let page = adjacency.reparse(task.page, bytes, decoded)?;
        let entries = self.kernel.entries(&page, task);
        if entries.is_empty() {
            let none = bytemuck::cast_slice::<u64, u8>(&[]);
            let weights = Some((0..0, Weights::from_bytes(self.column.kind(), none)));
            let purpose = Purpose { active: ActiveSet::All, task, weights };
            self.kernel.page(&mut local.local, &page, &purpose);
            return Ok(());
        }
        let address = self.column.addresses_of(task.page).start;
        let weight_bytes = entries.len() * self.column.kind().bytes();
        let mut words = vec![0u64; bytes.len() / 8].into_boxed_slice();
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
        copies.0.push(PageCopy {
            task,
            bytes: words,
            address: address + entries.start as u64,
            weights: vec![0; weight_bytes.div_ceil(8)].into_boxed_slice(),
            missing: entries.len() as u64,
            entries,
        });
        Ok(())
    }

    fn weights(
        &self,
        local: &mut Self::Local,
        copies: &mut PageCopies,
        first: u64,
        weights: Weights<'_>,
    ) {
        let end = first + weights.len() as u64;
        let from = copies.0.partition_point(|copy| copy.addresses().end <= first);
        for copy in copies.0[from..].iter_mut().take_while(|copy| copy.address < end) {
            if copy.fill(first, weights) {
                self.dispatch(local, copy);
            }
        }
    }
}

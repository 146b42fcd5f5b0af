//! Weighted visits of pages: for kernels that need the weights of any entries of a page together.

use std::ops::Range;

use cenote_store::{
    Adjacency, Decoded, EntryOrder, WeightColumn, WeightFormat, WeightPlace, WeightRun, Weights,
};

use super::copies::{Copies, entries_max};
use super::dispatch::{Dispatch, Fetched, Now};
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
    /// The weights that have arrived, each with all bytes of its type.
    weights: Box<[u64]>,
    missing: u64,
}

impl PageCopy {
    /// Copies weights to the entries from the `at`-th on.
    fn put(&mut self, at: usize, weights: Weights<'_>) {
        let format = WeightFormat::full(weights.kind());
        let bytes = |entries: usize| entries * format.bytes();
        let into: &mut [u8] = bytemuck::cast_slice_mut(&mut self.weights);
        weights.put(format, &mut into[bytes(at)..bytes(at + weights.len())]);
        self.missing -= weights.len() as u64;
    }
}

/// Neighbouring entries of a copy whose weights are on the device.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    /// Address of the first weight.
    address: u64,
    len: u32,
    /// The copy, and which of its entries is the first.
    copy: u32,
    at: u32,
}

impl Awaited {
    fn addresses(&self) -> Range<u64> {
        self.address..self.address + u64::from(self.len)
    }
}

/// Pages of one extent of lists, ascending, and the weights that they wait for.
#[derive(Debug, Default)]
pub(crate) struct PageCopies {
    pages: Vec<PageCopy>,
    awaited: Vec<Awaited>,
}

impl PageCopies {
    /// Adds a page whose `entries` have their weights there; its weights are room for them. Returns
    /// it if none is on the device.
    fn push(&mut self, mut page: PageCopy, runs: Vec<WeightRun<'_>>) -> Option<PageCopy> {
        let copy = u32::try_from(self.pages.len()).expect("an extent has few pages");
        for WeightRun { entries, place } in runs {
            let at = entries.start - page.entries.start;
            match place {
                WeightPlace::Logged(weights) => page.put(at, weights),
                WeightPlace::Stored(address) => {
                    let (len, at) = (entries.len() as u32, at as u32);
                    self.awaited.push(Awaited { address, len, copy, at });
                }
            }
        }
        if page.missing == 0 {
            return Some(page);
        }
        self.pages.push(page);
        None
    }
}

impl Copies for PageCopies {
    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
        let weights = entries_max(adjacency, column, page) * column.kind().bytes() as u64;
        let edits = adjacency.weight_edits(page);
        // A change of the log divides the entries.
        let places = (edits + 1) * size_of::<Awaited>() + edits * size_of::<WeightRun<'_>>();
        (adjacency.page_bytes() + size_of::<PageCopy>() + places) as u64
            + weights.next_multiple_of(8)
    }

    fn addresses(&self) -> impl Iterator<Item = Range<u64>> {
        self.awaited.iter().map(Awaited::addresses)
    }

    fn sort(&mut self) {
        self.awaited.sort_by_key(|awaited| awaited.address);
    }
}

/// Dispatches pages with all the weights they need, each for its task.
pub(crate) struct WeightedPages<'a, K: Kernel> {
    adjacency: &'a Adjacency,
    column: &'a WeightColumn,
    kernel: &'a K,
    pub local: K::Local,
    /// For copies.
    decoded: Decoded,
}

impl<'a, K: Kernel> WeightedPages<'a, K> {
    pub fn new(adjacency: &'a Adjacency, column: &'a WeightColumn, kernel: &'a K) -> Self {
        Self { adjacency, column, kernel, local: kernel.local(), decoded: Decoded::new() }
    }

    fn dispatch(&mut self, copy: &PageCopy) {
        let bytes = bytemuck::cast_slice(&copy.bytes);
        let page = self.adjacency.reparse(copy.task.page, bytes, &mut self.decoded);
        let page = page.expect("it was parsed when it was copied");
        let format = WeightFormat::full(self.column.kind());
        let len = copy.entries.len() * format.bytes();
        let weights = Weights::from_bytes(format, &bytemuck::cast_slice(&copy.weights)[..len]);
        let weights = Some((copy.entries.clone(), weights));
        let purpose = Purpose { active: ActiveSet::All, task: copy.task, weights };
        self.kernel.page(&mut self.local, &page, &purpose);
    }
}

impl<K: Kernel> Dispatch<PageCopies> for WeightedPages<'_, K> {
    fn page(
        &mut self,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        copies: &mut PageCopies,
        _: &mut Now<'_>,
    ) -> Result<()> {
        let Fetched { adjacency, bytes, task, .. } = page;
        let page = page.view(EntryOrder::Ascending, decoded)?;
        let entries = self.kernel.entries(&page, task);
        if entries.is_empty() {
            let none = bytemuck::cast_slice::<u64, u8>(&[]);
            let weights = Some((0..0, Weights::from_bytes(self.column.format(), none)));
            let purpose = Purpose { active: ActiveSet::All, task, weights };
            self.kernel.page(&mut self.local, &page, &purpose);
            return Ok(());
        }
        let runs = adjacency.weight_runs_of(task.page, self.column, &page, entries.clone())?;
        let weight_bytes = entries.len() * self.column.kind().bytes();
        let mut words = vec![0u64; bytes.len() / 8].into_boxed_slice();
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
        let copy = PageCopy {
            task,
            bytes: words,
            weights: vec![0; weight_bytes.div_ceil(8)].into_boxed_slice(),
            missing: entries.len() as u64,
            entries,
        };
        if let Some(copy) = copies.push(copy, runs) {
            self.dispatch(&copy);
        }
        Ok(())
    }

    fn weights(&mut self, copies: &mut PageCopies, first: u64, weights: Weights<'_>) {
        let end = first + weights.len() as u64;
        let PageCopies { pages, awaited } = copies;
        let from = awaited.partition_point(|awaited| awaited.addresses().end <= first);
        for awaited in awaited[from..].iter().take_while(|awaited| awaited.address < end) {
            let addresses = awaited.addresses();
            let (start, end) = (addresses.start.max(first), addresses.end.min(end));
            let copy = &mut pages[awaited.copy as usize];
            let found = weights.slice((start - first) as usize..(end - first) as usize);
            copy.put(awaited.at as usize + (start - addresses.start) as usize, found);
            if copy.missing == 0 {
                self.dispatch(copy);
            }
        }
    }
}

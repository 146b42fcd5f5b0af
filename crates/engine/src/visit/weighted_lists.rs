//! Weighted visits of lists: the active lists of a page are copied and wait for their weights.

use std::cell::Cell;
use std::ops::Range;

use cenote_store::{
    Adjacency, Decoded, EntryOrder, List, VertexId, WeightColumn, WeightPlace, WeightRun, Weights,
};

use super::copies::{Copies, entries_max};
use super::dispatch::{Dispatch, Fetched, Now};
use crate::ahead::Ahead;
use crate::error::Result;
use crate::frontier::ActiveSet;
use crate::kernel::Kernel;
use crate::weight_runs::parts;

/// An active piece of a list.
#[derive(Clone, Copy, Debug)]
struct Piece {
    vertex: VertexId,
    page: u64,
    skip: u64,
    degree: u64,
    /// Address of the weight of its first entry.
    address: u64,
    /// The start of its entries in [`ListCopies::targets`].
    start: u32,
    len: u32,
}

/// The active pieces of one extent, ascending.
#[derive(Debug, Default)]
pub(crate) struct ListCopies {
    pieces: Vec<Piece>,
    targets: Vec<VertexId>,
}

impl ListCopies {
    fn push(&mut self, list: &List<'_>, address: u64) {
        let start = u32::try_from(self.targets.len()).expect("an extent has few entries");
        let len = u32::try_from(list.targets.len()).expect("a page has few entries");
        self.targets.extend_from_slice(list.targets);
        let List { vertex, page, skip, degree, .. } = *list;
        self.pieces.push(Piece { vertex, page, skip, degree, address, start, len });
    }
}

impl Copies for ListCopies {
    fn cost_of_page(adjacency: &Adjacency, column: &WeightColumn, page: u64) -> u64 {
        let lists = adjacency.vertices_in(page);
        let edits = adjacency.weight_edits(page) as u64;
        // A change of the log divides a list.
        let pieces = u64::from(lists.end - lists.start) + edits;
        // The copies and the places of the weights, before they are copied.
        entries_max(adjacency, column, page) * size_of::<VertexId>() as u64
            + pieces * size_of::<Piece>() as u64
            + edits * size_of::<WeightRun<'_>>() as u64
    }

    fn addresses(&self) -> impl Iterator<Item = Range<u64>> {
        self.pieces.iter().map(Piece::addresses)
    }

    fn sort(&mut self) {
        self.pieces.sort_by_key(|piece| piece.address);
    }
}

impl Piece {
    fn addresses(&self) -> Range<u64> {
        self.address..self.address + u64::from(self.len)
    }
}

/// Dispatches active lists with their weights.
pub(crate) struct WeightedLists<'a, K: Kernel> {
    column: &'a WeightColumn,
    active: ActiveSet<'a>,
    kernel: &'a K,
    pub local: K::Local,
}

impl<'a, K: Kernel> WeightedLists<'a, K> {
    pub fn new(column: &'a WeightColumn, active: ActiveSet<'a>, kernel: &'a K) -> Self {
        Self { column, active, kernel, local: kernel.local() }
    }

    /// Passes the part of a list at `address` that has weights among those from `first` on.
    fn list(&mut self, list: &List<'_>, address: u64, first: u64, weights: Weights<'_>) {
        let end = (address + list.targets.len() as u64).min(first + weights.len() as u64);
        let start = address.max(first);
        let within = (start - address) as usize..(end - address) as usize;
        let skip = list.skip + within.start as u64;
        let part = List { skip, targets: &list.targets[within], ..*list };
        let weights = weights.slice((start - first) as usize..(end - first) as usize);
        self.kernel.weighted_list(&mut self.local, &part, weights);
    }
}

impl<K: Kernel> Dispatch<ListCopies> for WeightedLists<'_, K> {
    fn page(
        &mut self,
        page: Fetched<'_>,
        decoded: &mut Decoded,
        copies: &mut ListCopies,
        now: &mut Now<'_>,
    ) -> Result<()> {
        let Fetched { adjacency, task, .. } = page;
        let page = page.view(EntryOrder::Ascending, decoded)?;
        let active = self.active;
        let address = self.column.addresses_of(task.page).start;
        let runs = adjacency.weight_runs(task.page, self.column, &page)?;
        let (kernel, mut ahead) = (self.kernel, Ahead::new(page.entries()));
        let is_now = Cell::new(false);
        let mut part = |list: &List<'_>, place: WeightPlace<'_>| match place {
            WeightPlace::Logged(weights) => {
                self.kernel.weighted_list(&mut self.local, list, weights);
            }
            WeightPlace::Stored(address) => {
                let mut give = |first, weights: Weights<'_>| {
                    self.list(list, address, first, weights);
                };
                is_now.set(now(list, address, &mut give));
                if !is_now.get() {
                    copies.push(list, address);
                }
            }
        };
        let mut dispatch = |list: &List<'_>, start: usize| {
            let entries = start..start + list.targets.len();
            if is_now.get() {
                ahead.show(kernel, entries.clone());
            }
            match &runs {
                _ if entries.is_empty() => {}
                None => part(list, WeightPlace::Stored(address + start as u64)),
                Some(runs) => {
                    parts(*list, entries, runs).for_each(|(list, place)| part(&list, place))
                }
            }
        };
        if let Some(vertices) = active.list() {
            let vertices = &vertices[task.from as usize..task.to as usize];
            for &v in vertices.iter().filter(|&&v| kernel.wants(v)) {
                let place = (v - page.first_vertex()) as usize;
                dispatch(&page.list(place), page.start(place));
            }
            return Ok(());
        }
        let mut start = 0;
        for list in page.lists() {
            if active.contains(list.vertex) && kernel.wants(list.vertex) {
                dispatch(&list, start);
            }
            start += list.targets.len();
        }
        Ok(())
    }

    fn weights(&mut self, copies: &mut ListCopies, first: u64, weights: Weights<'_>) {
        let end = first + weights.len() as u64;
        let from = copies.pieces.partition_point(|piece| piece.addresses().end <= first);
        let covered = copies.pieces[from..].iter().take_while(|piece| piece.address < end);
        let mut ahead = Ahead::new(&copies.targets);
        for &Piece { vertex, page, skip, degree, address, start, len } in covered {
            ahead.show(self.kernel, start as usize..start as usize + len as usize);
            let targets = &copies.targets[start as usize..][..len as usize];
            let list = List { vertex, page, skip, degree, targets };
            self.list(&list, address, first, weights);
        }
    }
}

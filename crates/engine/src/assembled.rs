//! Complete lists for kernels that cannot work on pieces.

use std::sync::{Mutex, PoisonError};

use cenote_store::{Direction, Graph, List, Page, VertexId};
use rustc_hash::FxHashMap;

use crate::ahead::{Ahead, head_of};
use crate::config::EngineConfig;
use crate::kernel::{Kernel, Purpose};
use crate::schedule::Schedule;

/// A [`Kernel`] that assembles the pieces of lists that span pages, so that the inner kernel sees
/// complete lists only. A list within one page is passed on as it is.
///
/// Pages are read in file order, so few lists are incomplete at a time: see
/// [`Assembled::bytes_for`].
#[derive(Debug)]
pub struct Assembled<'a, K> {
    kernel: &'a K,
    incomplete: Mutex<FxHashMap<VertexId, Incomplete>>,
}

/// The memory for requests beside pieces is found to a part of the budget, one of so many.
const LEFT_STEPS: u64 = 256;

/// A list of which some pieces have arrived.
#[derive(Debug)]
struct Incomplete {
    /// Each with the position in the list where it starts.
    pieces: Vec<(u64, Box<[VertexId]>)>,
    missing: u64,
}

impl<'a, K> Assembled<'a, K> {
    /// Assembled lists for `kernel`.
    pub fn new(kernel: &'a K) -> Self {
        Self { kernel, incomplete: Mutex::default() }
    }
}

impl Assembled<'_, ()> {
    /// The most bytes of pieces during a visit, to be counted in the state bytes of
    /// [`Needs`](crate::Needs): all entries in flight, and for each worker the longest list at both
    /// ends of its chunk.
    pub fn bytes_for(graph: &Graph, config: &EngineConfig) -> u64 {
        let budget = config.memory_bytes;
        // The least `left` for which requests with so many bytes, and their pieces, take the budget
        // or more. A run that sets these pieces aside has no more than `left` for its requests, and
        // more memory never makes requests smaller.
        let (mut least, mut left) = (0, budget);
        while left - least > budget / LEFT_STEPS + 1 {
            let middle = least + (left - least) / 2;
            match middle + Self::bytes_with(graph, config, middle) < budget {
                true => least = middle,
                false => left = middle,
            }
        }
        Self::bytes_with(graph, config, left)
    }

    /// The same, where requests are planned for so many bytes.
    fn bytes_with(graph: &Graph, config: &EngineConfig, left: u64) -> u64 {
        let schedule = Schedule::new(config, graph.page_bytes(), left);
        let buffer_pages = schedule.buffer_bytes().div_ceil(graph.page_bytes() as u64);
        let threads = config.threads as u64;
        let pages = buffer_pages + threads * schedule.chunk_pages();
        let entries_max = |direction| {
            graph.adjacency(direction).map_or(0, |adjacency| {
                adjacency.entries_max_of(pages) + 2 * threads * adjacency.list_entries_bound()
            })
        };
        // Pieces lie in memory as plain vertices, however their pages are encoded.
        let entries = entries_max(Direction::Out).max(entries_max(Direction::In));
        let bound = entries * size_of::<VertexId>() as u64;
        // No more than all lists, half as much again while a table grows.
        let superblock = graph.superblock();
        bound.min(superblock.stored_out.max(superblock.stored_in) * 6)
    }
}

impl<K: Kernel> Kernel for Assembled<'_, K> {
    type Local = K::Local;

    fn local(&self) -> K::Local {
        self.kernel.local()
    }

    fn list(&self, local: &mut K::Local, list: &List<'_>) {
        if list.is_whole() {
            return self.kernel.list(local, list);
        }
        if let Some(targets) = self.insert(list) {
            self.kernel.prefetch(head_of(&targets));
            self.kernel.list(local, &List { skip: 0, targets: &targets, ..*list });
        }
    }

    fn page(&self, local: &mut K::Local, page: &Page<'_>, purpose: &Purpose<'_>) {
        // Of few active lists the next ones are most often not those of the next vertices.
        let mut ahead = purpose.active.list().is_none().then(|| Ahead::new(page.entries()));
        let mut start = 0;
        for list in page.lists() {
            let end = start + list.targets.len();
            if purpose.active.contains(list.vertex) {
                ahead.iter_mut().for_each(|ahead| ahead.show(self.kernel, start..end));
                self.list(local, &list);
            }
            start = end;
        }
    }
}

impl<K> Assembled<'_, K> {
    /// Stores a piece; returns the list if no piece is missing any more. If pages with right
    /// checksums contradict each other, the list stays incomplete (`check` reports that), and its
    /// pieces take no more memory than they have entries.
    fn insert(&self, piece: &List<'_>) -> Option<Vec<VertexId>> {
        let mut incomplete = self.incomplete.lock().unwrap_or_else(PoisonError::into_inner);
        let list = incomplete
            .entry(piece.vertex)
            .or_insert_with(|| Incomplete { pieces: Vec::new(), missing: piece.degree });
        list.missing = list.missing.checked_sub(piece.targets.len() as u64)?;
        list.pieces.push((piece.skip, piece.targets.into()));
        if list.missing > 0 {
            return None;
        }
        let mut pieces = incomplete.remove(&piece.vertex)?.pieces;
        drop(incomplete);
        pieces.sort_unstable_by_key(|(skip, _)| *skip);
        let slices: Vec<&[VertexId]> = pieces.iter().map(|(_, targets)| &**targets).collect();
        Some(slices.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what it is shown.
    #[derive(Debug, Default)]
    struct Shown(Mutex<Vec<(VertexId, Vec<VertexId>)>>);

    impl Kernel for Shown {
        type Local = ();

        fn local(&self) {}

        fn list(&self, (): &mut (), list: &List<'_>) {
            assert!(list.is_whole() && list.skip == 0);
            self.0.lock().unwrap().push((list.vertex, list.targets.to_vec()));
        }
    }

    fn piece(vertex: VertexId, skip: u64, degree: u64, targets: &[VertexId]) -> List<'_> {
        List { vertex, page: 0, skip, degree, targets }
    }

    #[test]
    fn pieces_in_any_order_become_the_list() {
        let shown = Shown::default();
        let whole = Assembled::new(&shown);
        whole.list(&mut (), &piece(7, 4, 6, &[50, 60]));
        whole.list(&mut (), &piece(9, 0, 3, &[1, 2]));
        whole.list(&mut (), &piece(7, 0, 6, &[10, 20]));
        whole.list(&mut (), &piece(8, 0, 2, &[3, 4]));
        assert_eq!(*shown.0.lock().unwrap(), [(8, vec![3, 4])], "only whole lists");
        whole.list(&mut (), &piece(7, 2, 6, &[30, 40]));
        whole.list(&mut (), &piece(9, 2, 3, &[5]));
        let expected = [(8, vec![3, 4]), (7, vec![10, 20, 30, 40, 50, 60]), (9, vec![1, 2, 5])];
        assert_eq!(*shown.0.lock().unwrap(), expected);
        assert!(whole.incomplete.lock().unwrap().is_empty());
    }

    #[test]
    fn pieces_that_contradict_each_other_take_no_more_than_they_hold() {
        let shown = Shown::default();
        let whole = Assembled::new(&shown);
        whole.list(&mut (), &piece(1, 0, u64::MAX, &[1]));
        whole.list(&mut (), &piece(2, 0, 2, &[1]));
        whole.list(&mut (), &piece(2, 1, 9, &[1, 2, 3]));
        assert!(shown.0.lock().unwrap().is_empty());
    }
}

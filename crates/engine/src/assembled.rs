//! Complete lists for kernels that cannot work on pieces.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cenote_store::{Adjacency, Direction, Graph, List, Page, VertexId};
use rustc_hash::FxHashMap;

use crate::ahead::{Ahead, head_of};
use crate::config::EngineConfig;
use crate::engine::Engine;
use crate::error::Result;
use crate::frontier::ActiveSet;
use crate::kernel::{Kernel, Purpose};
use crate::schedule::Schedule;

/// Pieces that wait for others of their lists may take one part in so many of the memory of a run.
const ROOM_SHARE: u64 = 32;

/// The least memory for them, beside the longest list.
const ROOM_BYTES_MIN: u64 = 64 << 10;

/// Bytes of a piece that waits, beside its entries.
const PIECE_BYTES: u64 = 128;

/// The memory for requests beside pieces is found to a part of the budget, one of so many.
const LEFT_STEPS: u64 = 256;

/// A [`Kernel`] that assembles the pieces of lists that span pages, so that the inner kernel sees
/// complete lists only. A list within one page is passed on as it is.
///
/// Pages are read about in file order, so pieces wait for few others of their lists. Those for
/// which there is no room ([`Assembled::bytes_for`]) are left out, and their lists read once more
/// when the visit has ended: [`Assembled::finish`].
#[derive(Debug)]
pub struct Assembled<'a, K> {
    kernel: &'a K,
    room_bytes: u64,
    waiting: Mutex<Waiting>,
}

/// What of lists has arrived.
#[derive(Debug, Default)]
struct Waiting {
    lists: FxHashMap<VertexId, Incomplete>,
    /// Of all pieces.
    bytes: u64,
    /// Vertices whose lists found no room.
    left_out: Vec<VertexId>,
}

/// A list of which some pieces have arrived.
#[derive(Debug)]
struct Incomplete {
    /// Each with the position in the list where it starts; none of a list that is left out.
    pieces: Vec<(u64, Box<[VertexId]>)>,
    bytes: u64,
    missing: u64,
    is_left_out: bool,
}

impl Engine {
    /// As [`Engine::visit`], for a kernel that needs complete lists. Its needs are to include
    /// [`Assembled::bytes_for`].
    ///
    /// # Errors
    /// As [`Engine::visit`].
    pub fn visit_whole<K: Kernel>(
        &self,
        label: impl Into<String>,
        direction: Direction,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> Result<Vec<K::Local>> {
        let (label, whole) = (label.into(), Assembled::new(self, kernel));
        let mut locals = self.visit(label.as_str(), direction, active, &whole)?;
        whole.finish(&label, direction, (self, &mut locals))?;
        Ok(locals)
    }
}

impl<'a, K> Assembled<'a, K> {
    /// Assembled lists of a visit of `engine` for `kernel`. Without [`Assembled::finish`] after it
    /// the kernel may miss lists; [`Engine::visit_whole`] does both.
    pub fn new(engine: &Engine, kernel: &'a K) -> Self {
        Self::with_room(kernel, room_bytes(engine.graph(), engine.config()))
    }

    /// The same with so many bytes for pieces that wait: with fewer, more lists are read twice.
    pub fn with_room(kernel: &'a K, room_bytes: u64) -> Self {
        Self { kernel, room_bytes, waiting: Mutex::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Assembled<'_, ()> {
    /// The most bytes of pieces and lists during a visit, to be counted in the state bytes of
    /// [`Needs`](crate::Needs): pieces that wait, and for each worker the longest list, once in
    /// pieces and once whole.
    pub fn bytes_for(graph: &Graph, config: &EngineConfig) -> u64 {
        let of_workers = 2 * config.threads as u64 * longest_bytes(graph);
        (room_bytes(graph, config) + of_workers).min(all_bytes(graph))
    }
}

/// Bytes of pieces that may wait.
fn room_bytes(graph: &Graph, config: &EngineConfig) -> u64 {
    let memory = config.memory_bytes.saturating_sub(Engine::fixed_bytes(graph, config));
    longest_bytes(graph) + (memory / ROOM_SHARE).max(ROOM_BYTES_MIN)
}

/// Bytes of the longest list, at most.
fn longest_bytes(graph: &Graph) -> u64 {
    let of = |direction| graph.adjacency(direction).map_or(0, Adjacency::list_entries_bound);
    // Of in-lists the longest is not known.
    let outward = of(Direction::Out).min(graph.superblock().degree_max);
    let inward = if graph.is_directed() { of(Direction::In) } else { 0 };
    4 * outward.max(inward)
}

/// Bytes of all lists in pieces: half as much again while a table grows.
fn all_bytes(graph: &Graph) -> u64 {
    let superblock = graph.superblock();
    superblock.stored_out.max(superblock.stored_in).saturating_mul(6)
}

/// The most bytes of all pieces of lists that lie on several pages, during a visit of a kernel that
/// assembles them by itself: 4 for each entry in flight, and for each worker the longest list at
/// both ends of its chunk.
pub fn pieces_bytes_max(graph: &Graph, config: &EngineConfig) -> u64 {
    let budget = config.memory_bytes.saturating_sub(Engine::fixed_bytes(graph, config));
    // The least `left` for which requests with so many bytes, and their pieces, take the budget
    // or more. A run that sets these pieces aside has no more than `left` for its requests, and
    // more memory never makes requests smaller.
    let (mut least, mut left) = (0, budget);
    while left - least > budget / LEFT_STEPS + 1 {
        let middle = least + (left - least) / 2;
        match middle + pieces_bytes_with(graph, config, middle) < budget {
            true => least = middle,
            false => left = middle,
        }
    }
    pieces_bytes_with(graph, config, left)
}

/// The same, where requests are planned for so many bytes.
fn pieces_bytes_with(graph: &Graph, config: &EngineConfig, left: u64) -> u64 {
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
    (4 * entries).min(all_bytes(graph))
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
            self.show(local, (list.vertex, list.page), &targets);
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

impl<K: Kernel> Assembled<'_, K> {
    /// Ends the visit, whose locals these are: reads the lists that were left out, one after the
    /// other.
    ///
    /// # Errors
    /// A page that cannot be read or is damaged.
    pub fn finish(
        self,
        label: &str,
        direction: Direction,
        (engine, locals): (&Engine, &mut [K::Local]),
    ) -> Result<()> {
        let mut left_out = std::mem::take(&mut self.waiting().left_out);
        let Some(local) = locals.first_mut().filter(|_| !left_out.is_empty()) else {
            return Ok(());
        };
        left_out.sort_unstable();
        let bound = longest_bytes(engine.graph()) / 4;
        let (mut lookup, mut targets) = (engine.lookup(direction)?, Vec::new());
        for &v in &left_out {
            let (mut missing, mut page) = (None, 0);
            lookup.list_backwards(v, |piece| {
                page = piece.page;
                if missing.is_none() && piece.degree <= bound {
                    targets.resize(piece.degree as usize, 0);
                    missing = Some(piece.degree);
                }
                let place = targets.get_mut(piece.skip as usize..);
                let place = place.and_then(|rest| rest.get_mut(..piece.targets.len()));
                if let (Some(place), Some(missing)) = (place, &mut missing) {
                    place.copy_from_slice(piece.targets);
                    *missing = missing.wrapping_sub(piece.targets.len() as u64);
                }
            })?;
            // Pages that contradict each other are reported by `check`.
            if missing == Some(0) {
                self.show(local, (v, page), &targets);
            }
        }
        lookup.finish(&format!("{label}: long lists"));
        Ok(())
    }

    /// Shows a whole list, of which a piece lies on `page`.
    fn show(&self, local: &mut K::Local, (vertex, page): (VertexId, u64), targets: &[VertexId]) {
        self.kernel.prefetch(head_of(targets));
        let degree = targets.len() as u64;
        self.kernel.list(local, &List { vertex, page, skip: 0, degree, targets });
    }
}

impl<K> Assembled<'_, K> {
    /// Stores a piece; returns the list if no piece is missing any more. If pages with right
    /// checksums contradict each other, the list stays incomplete (`check` reports that), and its
    /// pieces take no more memory than they have entries.
    fn insert(&self, piece: &List<'_>) -> Option<Vec<VertexId>> {
        let mut waiting = self.waiting();
        let Waiting { lists, bytes, left_out } = &mut *waiting;
        let list = lists.entry(piece.vertex).or_insert_with(|| Incomplete {
            pieces: Vec::new(),
            bytes: 0,
            missing: piece.degree,
            is_left_out: false,
        });
        list.missing = list.missing.checked_sub(piece.targets.len() as u64)?;
        let of_piece = size_of_val(piece.targets) as u64 + PIECE_BYTES;
        if !list.is_left_out && list.missing > 0 && *bytes + of_piece > self.room_bytes {
            *bytes -= std::mem::take(&mut list.bytes);
            list.pieces = Vec::new();
            list.is_left_out = true;
            left_out.push(piece.vertex);
        }
        if !list.is_left_out {
            list.pieces.push((piece.skip, piece.targets.into()));
            list.bytes += of_piece;
            *bytes += of_piece;
        }
        if list.missing > 0 {
            return None;
        }
        let Incomplete { mut pieces, bytes: of_list, is_left_out, .. } =
            lists.remove(&piece.vertex)?;
        *bytes -= of_list;
        drop(waiting);
        if is_left_out {
            return None;
        }
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
        let whole = Assembled::with_room(&shown, 1 << 20);
        whole.list(&mut (), &piece(7, 4, 6, &[50, 60]));
        whole.list(&mut (), &piece(9, 0, 3, &[1, 2]));
        whole.list(&mut (), &piece(7, 0, 6, &[10, 20]));
        whole.list(&mut (), &piece(8, 0, 2, &[3, 4]));
        assert_eq!(*shown.0.lock().unwrap(), [(8, vec![3, 4])], "only whole lists");
        whole.list(&mut (), &piece(7, 2, 6, &[30, 40]));
        whole.list(&mut (), &piece(9, 2, 3, &[5]));
        let expected = [(8, vec![3, 4]), (7, vec![10, 20, 30, 40, 50, 60]), (9, vec![1, 2, 5])];
        assert_eq!(*shown.0.lock().unwrap(), expected);
        assert!(whole.waiting().lists.is_empty() && whole.waiting().bytes == 0);
    }

    #[test]
    fn pieces_without_room_are_left_out_with_their_lists() {
        let (shown, entries) = (Shown::default(), 100);
        let targets: Vec<VertexId> = (0..entries).collect();
        let room = 2 * (PIECE_BYTES + 4 * u64::from(entries));
        let whole = Assembled::with_room(&shown, room);
        for v in 0..5 {
            whole.list(&mut (), &piece(v, 0, 150, &targets));
        }
        assert_eq!(whole.waiting().bytes, room);
        assert_eq!(whole.waiting().left_out, [2, 3, 4]);
        for v in (0..5).rev() {
            whole.list(&mut (), &piece(v, 100, 150, &targets[..50]));
        }
        let shown: Vec<VertexId> = shown.0.lock().unwrap().iter().map(|(v, _)| *v).collect();
        assert_eq!(shown, [1, 0], "these found room");
        assert!(whole.waiting().lists.is_empty() && whole.waiting().bytes == 0);
    }

    #[test]
    fn pieces_that_contradict_each_other_take_no_more_than_they_hold() {
        let shown = Shown::default();
        let whole = Assembled::with_room(&shown, 1 << 20);
        whole.list(&mut (), &piece(1, 0, u64::MAX, &[1]));
        whole.list(&mut (), &piece(2, 0, 2, &[1]));
        whole.list(&mut (), &piece(2, 1, 9, &[1, 2, 3]));
        assert!(shown.0.lock().unwrap().is_empty());
    }
}

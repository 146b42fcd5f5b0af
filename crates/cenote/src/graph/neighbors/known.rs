//! Ids of the neighbours in several lists, which are looked up together.
//!
//! Lists of one window have many neighbours in common, and their ids lie on few pages. Looked up
//! list by list, each page of ids would be read again for almost every list.

use cenote_store::superblock::IdKind;
use cenote_store::{IdColumn, IdRef, Ids, StoreError, VertexId};

use crate::error::Result;

/// Memory for an entry of the lists and its id, and how much of that is text; numbers have none.
const ENTRY_BYTES: u64 = 32;
const ENTRY_TEXT_BYTES: u64 = 48;

/// The distinct neighbours in some lists, with their ids.
#[derive(Debug)]
pub(super) struct KnownIds {
    /// The neighbours, ascending, and the place of the id of each among the ids.
    vertices: Vec<VertexId>,
    places: Vec<u32>,
    /// Ascending.
    ids: IdColumn,
}

impl KnownIds {
    /// The ids of the neighbours in lists that [`lists_fitting`] has counted. None where their text
    /// is too long, or a look-up reads nothing.
    pub fn of(ids: &Ids, lists: &[Vec<VertexId>], memory_bytes: u64) -> Result<Option<Self>> {
        if lists.len() < 2 || ids.is_natural() && ids.kind() == IdKind::Dense {
            return Ok(None);
        }
        let mut vertices: Vec<VertexId> = lists.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut ranks = Vec::with_capacity(vertices.len());
        ids.ranks_of(&vertices, &mut ranks)?;
        let mut ranked: Vec<(VertexId, u32)> = ranks.into_iter().zip(0..).collect();
        ranked.sort_unstable();
        let mut places = vec![0; vertices.len()];
        (0..).zip(&ranked).for_each(|(place, (_, at))| places[*at as usize] = place);
        let ranks: Vec<VertexId> = ranked.into_iter().map(|(rank, _)| rank).collect();
        let text_max = memory_bytes / entry_bytes(ids) * ENTRY_TEXT_BYTES;
        let ids = column_of(ids, &ranks, text_max)?;
        Ok(ids.map(|ids| Self { vertices, places, ids }))
    }

    /// Appends the place of the id of each neighbour in a list.
    pub fn places_of(&self, list: &[VertexId], out: &mut Vec<u32>) {
        let at = |vertex| self.vertices.binary_search(vertex).expect("it is in one of the lists");
        out.extend(list.iter().map(|vertex| self.places[at(vertex)]));
    }

    /// The id at a place.
    pub fn get(&self, place: u32) -> IdRef<'_> {
        self.ids.get(place as usize)
    }
}

/// How many of the first lists have ids that fit together, at least one.
pub(super) fn lists_fitting(ids: &Ids, lists: &[Vec<VertexId>], memory_bytes: u64) -> usize {
    let mut room = memory_bytes / entry_bytes(ids);
    let fits = |list: &&Vec<VertexId>| {
        let left = room.checked_sub(list.len() as u64);
        room = left.unwrap_or_default();
        left.is_some()
    };
    lists.iter().take_while(fits).count().max(1)
}

fn entry_bytes(ids: &Ids) -> u64 {
    if ids.kind() == IdKind::Strings { ENTRY_BYTES + ENTRY_TEXT_BYTES } else { ENTRY_BYTES }
}

/// The ids of ranks, which ascend; none if their text is longer than `text_max`.
fn column_of(ids: &Ids, ranks: &[VertexId], text_max: u64) -> Result<Option<IdColumn>> {
    let mut column = IdColumn::with_capacity(ids.kind(), ranks.len());
    let read = ids.for_each_of(ranks, |id| {
        column.push(id);
        if column.text_bytes() as u64 > text_max { Err(Ended::TooLong) } else { Ok(()) }
    });
    match read {
        Ok(()) => Ok(Some(column)),
        Err(Ended::TooLong) => Ok(None),
        Err(Ended::Failed(error)) => Err(error.into()),
    }
}

/// Why a pass over ids ended early.
enum Ended {
    TooLong,
    Failed(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use cenote_algo::mix::mix;

    use super::*;
    use crate::import::Order;
    use crate::{Error, Graph, Import};

    fn bytes_read(graph: &Graph) -> u64 {
        graph.budgets.iter().map(|budget| budget.stats().reads.bytes).sum()
    }

    #[test]
    fn lists_of_a_window_read_each_page_of_ids_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("random.cenote");
        let id = |i: u64| mix(i) % 40_000 * 3;
        for order in [Order::Natural, Order::Random { seed: 3 }] {
            let edges = (0..200_000).map(|i| (id(2 * i), id(2 * i + 1)));
            let import = Import::new().edges(edges).order(order).memory("64MiB").overwrite();
            import.run(&path).unwrap();
            let graph = Graph::open(&path).unwrap();
            let lists = (0..2_000).fold(graph.neighbors().threads(1), |lists, i| lists.of(id(i)));
            let before = bytes_read(&graph);
            assert_eq!(lists.collect().unwrap().len(), 2_000);
            let bytes = bytes_read(&graph) - before;
            assert!(bytes < 4 * path.metadata().unwrap().len(), "{order:?}: {bytes} bytes");
        }
    }

    #[test]
    fn ids_that_do_not_fit_are_found_list_by_list() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = "x".repeat(500);
        let path = folder.path().join("long.cenote");
        let id = |v: u64| format!("{prefix}{:05}", v % 300);
        let ring = (0..300).map(|v| (id(v), id(v + 1)));
        Import::new().edges(ring).memory("64MiB").run(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        let ids = graph.kept_ids().unwrap();
        let lists: Vec<Vec<VertexId>> = (0..9).map(|v| vec![v, v + 30, v + 200]).collect();
        assert_eq!(lists_fitting(ids, &lists, 6 * 80), 2);
        assert_eq!(lists_fitting(ids, &lists, 0), 1, "at least one");
        assert_eq!(lists_fitting(ids, &lists, 1 << 20), 9);
        assert!(KnownIds::of(ids, &lists, 27 * 80).unwrap().is_none(), "of longer text");
        let known = KnownIds::of(ids, &lists, 1 << 20).unwrap().unwrap();
        let mut places = Vec::new();
        known.places_of(&lists[4], &mut places);
        for (place, vertex) in places.iter().zip(&lists[4]) {
            assert_eq!(known.get(*place).to_id(), ids.id_of(*vertex).unwrap());
        }
        let few =
            (0..300).map(id).fold(graph.neighbors().memory(1 << 20), |lists, id| lists.of(id));
        let mut degrees = 0;
        few.for_each(|list| {
            degrees += list.degree();
            list.for_each(|id, _| {
                assert_eq!(id.to_id().to_string().len(), 505);
                Ok::<_, Error>(())
            })
        })
        .unwrap();
        assert_eq!(degrees, 600);
    }
}

//! Unpacked pages stay in memory from the second time on, as far as they fit, and show the same
//! lists.

use std::collections::BTreeSet;

use crate::graphs::{MemoryDevice, Random, TestGraph, aligned};
use cenote_store::{Codec, Decoded, Direction, EntryOrder, Graph, List, UnpackedPages, VertexId};

const PAGE_BYTES: usize = 4096;

/// Lists of a page and less, and one of several pages.
fn graph(codec: Codec) -> TestGraph {
    let mut random = Random(5);
    let mut end = || random.below(20_000) as u32;
    let mut edges: BTreeSet<_> = (0..60_000).map(|_| (end(), end())).collect();
    edges.extend((0..9_000).map(|v| (42, 2 * v)));
    let edges: Vec<_> = edges.into_iter().collect();
    TestGraph { codec, ..TestGraph::directed(20_000, &edges) }
}

type Owned = (VertexId, u64, u64, Vec<VertexId>);

fn owned(list: &List<'_>) -> Owned {
    (list.vertex, list.skip, list.degree, list.targets.to_vec())
}

/// Looks at all lists `times` times, as pages and as some lists of each, and compares them.
fn look(graph: &Graph, file: &[u8], unpacked: &UnpackedPages, times: usize) {
    let (mut decoded, mut plain) = (Decoded::new(), Decoded::new());
    for time in 0..times {
        for direction in [Direction::Out, Direction::In] {
            let adjacency = graph.adjacency(direction).unwrap();
            for page in 0..adjacency.pages() {
                let at = graph.physical(adjacency.first_page() + page) as usize * PAGE_BYTES;
                let bytes = aligned(&file[at..at + PAGE_BYTES]);
                let expected = adjacency.parse(page, &bytes, &mut plain).unwrap();
                let expected: Vec<_> = expected.lists().map(|list| owned(&list)).collect();
                let order = EntryOrder::Ascending;
                if time % 2 == 0 {
                    let read = (page, &bytes[..]);
                    let view = unpacked.page(adjacency, read, order, &mut decoded).unwrap();
                    assert!(view.lists().map(|list| owned(&list)).eq(expected.iter().cloned()));
                }
                let every = 1 + (page as usize + time) % 50;
                let chosen: Vec<_> = expected.iter().step_by(every).cloned().collect();
                let vertices: Vec<_> = chosen.iter().map(|list| list.0).collect();
                let (mut found, read) = (Vec::new(), (page, &bytes[..]));
                let mut take = |list: &List<'_>| found.push(owned(list));
                let wanted = (&vertices[..], order);
                unpacked.lists(adjacency, read, wanted, &mut decoded, &mut take).unwrap();
                assert_eq!(found, chosen, "page {page}");
            }
        }
    }
}

fn all_pages(graph: &Graph) -> usize {
    let pages = |direction| graph.adjacency(direction).unwrap().pages() as usize;
    pages(Direction::Out) + pages(Direction::In)
}

#[test]
fn pages_are_kept_from_the_second_time_on() {
    let file = graph(Codec::Packed).stored_bytes();
    let graph = Graph::open(MemoryDevice::with_bytes(file.clone()).shared()).unwrap();
    let (bytes, pages) = (UnpackedPages::bytes_for_all(&graph), all_pages(&graph));
    // Once as pages and once as lists.
    for (times, expected) in [(0, 0), (1, pages), (4, pages)] {
        let unpacked = UnpackedPages::new(&graph, bytes);
        look(&graph, &file, &unpacked, times);
        assert_eq!(unpacked.pages(), expected, "{times} times");
    }
    let unpacked = UnpackedPages::new(&graph, bytes);
    let (adjacency, mut decoded) = (graph.adjacency(Direction::Out).unwrap(), Decoded::new());
    for (time, expected) in [(1, 0), (2, 1), (3, 1)] {
        let at = graph.physical(adjacency.first_page()) as usize * PAGE_BYTES;
        let bytes = aligned(&file[at..at + PAGE_BYTES]);
        unpacked.page(adjacency, (0, &bytes), EntryOrder::Any, &mut decoded).unwrap();
        assert_eq!(unpacked.pages(), expected, "time {time}");
    }
}

#[test]
fn pages_beyond_the_room_are_unpacked_each_time() {
    let file = graph(Codec::Packed).stored_bytes();
    let graph = Graph::open(MemoryDevice::with_bytes(file.clone()).shared()).unwrap();
    let (bytes, pages) = (UnpackedPages::bytes_for_all(&graph), all_pages(&graph));
    let mut before = 0;
    for share in [0, 1, 4, 8] {
        let unpacked = UnpackedPages::new(&graph, bytes * share / 10);
        look(&graph, &file, &unpacked, 3);
        let kept = unpacked.pages();
        assert!(kept < pages && kept >= before, "{kept} of {pages} in {share} tenths");
        before = kept;
    }
    assert!(before > pages / 2, "{before} of {pages}");
}

#[test]
fn raw_pages_are_not_kept() {
    let file = graph(Codec::Raw).stored_bytes();
    let graph = Graph::open(MemoryDevice::with_bytes(file.clone()).shared()).unwrap();
    assert_eq!(UnpackedPages::bytes_for_all(&graph), 0);
    let unpacked = UnpackedPages::new(&graph, 1 << 30);
    look(&graph, &file, &unpacked, 3);
    assert_eq!(unpacked.pages(), 0);
}

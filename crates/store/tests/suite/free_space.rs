//! Free space in pages: how far an import fills them, and how they fill when lists grow.

use crate::graphs::model::{Kind, Model, add, changes, random_batch};
use crate::graphs::{MemoryDevice, Random, TestGraph, assert_same};
use crate::live::Live;
use cenote_store::format::{FREE_SPACE_MAX, HEADER_BYTES};
use cenote_store::header::PageHeader;
use cenote_store::{Batch, Codec, Direction, Graph, Store};

fn random_graph(seed: u64, codec: Codec, free_space: u32) -> TestGraph {
    let mut random = Random(seed);
    let mut vertex = || random.below(4_000) as u32;
    let mut edges: Vec<_> = (0..60_000).map(|_| (vertex(), vertex())).collect();
    // A hub of several pages.
    edges.extend((0..4_000).step_by(1 + seed as usize % 2).map(|v| (77, v)));
    edges.sort_unstable();
    edges.dedup();
    let graph = TestGraph::directed(4_000, &edges);
    TestGraph { codec, free_space, duplicates_kept: false, ..graph }
}

fn pages(graph: &Graph) -> u64 {
    graph.adjacency(Direction::Out).unwrap().pages()
}

/// Bytes behind the last one that is not zero, between entries and table in a raw page.
fn free_bytes(page: &[u8], codec: Codec) -> usize {
    let header = PageHeader::read(page);
    let used = match codec {
        Codec::Raw => usize::from(header.lists) * 2 + header.entries as usize * 4,
        Codec::Packed => page.iter().rposition(|byte| *byte != 0).unwrap() + 1 - HEADER_BYTES,
    };
    page.len() - HEADER_BYTES - used
}

#[test]
fn an_import_leaves_the_free_space_in_each_page_and_little_more() {
    for (codec, free_space) in Codec::ALL
        .into_iter()
        .flat_map(|codec| [0, 1, 10, 50].map(|free_space| (codec, free_space)))
    {
        let expected = random_graph(3, codec, free_space);
        let device = MemoryDevice::default();
        expected.write(&device, 700).unwrap();
        let graph = Graph::open(device.shared()).unwrap();
        assert_eq!(graph.superblock().free_space(), free_space);
        assert_same(&graph, &expected);
        let bytes = device.bytes();
        let wanted = (4096 - HEADER_BYTES) * free_space as usize / 100;
        let (mut all, mut count) = (0, 0);
        for direction in [Direction::Out, Direction::In] {
            let lists = graph.adjacency(direction).unwrap();
            for page in 0..lists.pages() {
                let at = graph.physical(lists.first_page() + page) as usize * 4096;
                let free = free_bytes(&bytes[at..at + 4096], codec);
                assert!(free >= wanted, "page {page} of {free_space}%: {free} bytes");
                all += free - wanted;
                count += 1;
            }
        }
        assert!(all / count < 200, "{codec:?}, {free_space}%: {} bytes more a page", all / count);
    }
}

#[test]
fn lists_grow_into_free_space_before_pages_are_split() {
    for codec in Codec::ALL {
        let grow = |free_space| {
            let mut live = Live::new(random_graph(4, codec, free_space));
            let before = pages(&live.graph());
            let mut written = 0;
            for round in 0..8 {
                // In neighbouring lists, and one far away.
                let near = (0..150).map(|i| add(i * 3 % 400, (i * 37 + round * 411) % 4_000));
                let batch =
                    changes(near.chain([add(3_000 + round * 9, round)]).collect::<Vec<_>>());
                written += live.update(&batch).pages_written;
            }
            live.assert_same();
            (pages(&live.graph()) - before, written)
        };
        let ((none, more), (some, fewer)) = (grow(0), grow(20));
        println!("{codec:?}: {none} pages more, {some} with 20%, {more} and {fewer} written");
        assert!(some < none / 2, "{codec:?}: {some} pages more, without free space {none}");
    }
}

/// Splits leave the free space too.
#[test]
fn pages_that_are_split_have_free_space_again() {
    for codec in Codec::ALL {
        let mut live = Live::new(random_graph(5, codec, 30));
        let mut random = Random(6);
        // Every page is split.
        let far = |random: &mut Random| random.below(4_000) as u32;
        let all = (0..60_000).map(|_| add(far(&mut random), far(&mut random)));
        live.update(&changes(all.collect::<Vec<_>>()));
        live.assert_same();
        let (graph, bytes) = (live.graph(), live.device.bytes());
        let lists = graph.adjacency(Direction::Out).unwrap();
        let free = (0..lists.pages()).map(|page| {
            let at = graph.physical(lists.first_page() + page) as usize * 4096;
            free_bytes(&bytes[at..at + 4096], codec)
        });
        let mean = free.sum::<usize>() / lists.pages() as usize;
        assert!(mean > 4096 / 10, "{codec:?}: {mean} bytes of a page are free");
    }
}

#[test]
fn programs_keep_optional_features_and_refuse_more_free_space_than_there_can_be() {
    let graph = random_graph(1, Codec::Raw, FREE_SPACE_MAX);
    let device = MemoryDevice::default();
    graph.write(&device, usize::MAX).unwrap();
    let set = |byte: usize, value: u8| {
        device.change(|bytes| {
            bytes[byte] = value;
            PageHeader::read(&bytes[..4096]).seal(&mut bytes[..4096], 0, 0);
        });
    };
    assert_eq!(device.bytes()[72], 50);
    set(72, 51);
    let error = Graph::open(device.shared()).unwrap_err().to_string();
    assert!(error.contains("percent of free space"), "{error}");
    set(72, 50 | 1 << 6);
    set(79, 0x80);
    let store = Store::open(device.shared()).unwrap();
    let mut model = Model::of(graph);
    let batch: Batch = random_batch(&model, Kind::Few, &mut Random(9));
    model.apply(&batch);
    store.update(&batch).unwrap();
    let live = Live { device, store, model };
    live.assert_same();
    let superblock = live.graph().superblock().clone();
    let features = superblock.features_optional;
    assert_eq!((superblock.epoch, features), (2, 50 | 1 << 6 | 1 << 63));
    assert_eq!(superblock.free_space(), 50);
}

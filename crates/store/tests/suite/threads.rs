//! Threads that rewrite lists: any number of them writes the same bytes, and one that fails ends
//! the others.

use crate::graphs::model::random_multigraph;
use crate::graphs::model::{KINDS, Model, add, changes, delete, random_batch, random_graph};
use crate::graphs::{MemoryDevice, Random, TestGraph};
use cenote_store::{Answer, Batch, Codec, Direction, Store, StoreError, WriteLimits};

fn limits(threads: usize) -> WriteLimits {
    let limits = WriteLimits::default().threads(threads).thread_pages(0);
    limits.bytes(64 << 10).changes(40).run_percent(50).bulk_run_percent(50)
}

fn open(device: &MemoryDevice, threads: usize) -> Store {
    Store::open(device.shared()).unwrap().with_limits(limits(threads))
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    write_alike(9);
}

#[test]
#[ignore = "long: make soak"]
fn longer_any_number_of_threads_writes_the_same_bytes() {
    write_alike(30);
}

fn write_alike(seeds: u64) {
    for seed in 0..seeds {
        let mut random = Random(seed);
        let graph = match seed % 3 {
            0 => random_multigraph(&mut random),
            _ => random_graph(&mut random),
        };
        let device = MemoryDevice::default();
        graph.write(&device, usize::MAX).unwrap();
        let mut model = Model::of(graph);
        let devices = [1, 2, 4].map(|threads| {
            let device = MemoryDevice::with_bytes(device.bytes());
            (open(&device, threads), device)
        });
        for round in 0..12 {
            let kind = KINDS[(random.next() % KINDS.len() as u64) as usize];
            let batch = random_batch(&model, kind, &mut random);
            let expected = model.apply(&batch);
            for (store, _) in &devices {
                let updated = match round % 3 {
                    0 => store.update(&batch),
                    _ => store.commit(&batch),
                };
                assert_eq!(updated.unwrap().answers, expected, "seed {seed}, {kind:?}");
            }
        }
        devices.iter().for_each(|(store, _)| drop(store.merge().unwrap()));
        let [first, others @ ..] = devices.map(|(_, device)| device.bytes());
        assert!(others.iter().all(|bytes| *bytes == first), "seed {seed}");
    }
}

/// Many groups of pages: some with a long list, and each with a change.
fn large(codec: Codec) -> (TestGraph, Batch) {
    let mut edges: Vec<_> =
        (0..150_000u32).map(|i| (i % 9_000, i.wrapping_mul(77_773) % 9_000)).collect();
    edges.extend((0..9_000).flat_map(|v| [(42, v), (7_000, v)]));
    edges.sort_unstable();
    edges.dedup();
    let absent = (0..9_000).step_by(50).map(|v| (v, (v * 31 + 17) % 9_000));
    let absent: Vec<_> = absent.filter(|edge| edges.binary_search(edge).is_err()).collect();
    let graph = TestGraph { codec, ..TestGraph::directed(9_000, &edges) };
    let mut batch = changes(absent.into_iter().map(|(a, b)| add(a, b)));
    batch.changes.extend([delete(42, 8_999), delete(7_000, 1)]);
    (graph, batch)
}

#[test]
fn many_groups_are_rewritten_alike_and_a_damaged_page_ends_all_threads() {
    for codec in [Codec::Raw, Codec::Packed] {
        let (graph, batch) = large(codec);
        let device = MemoryDevice::default();
        graph.write(&device, usize::MAX).unwrap();
        let page_bytes = graph.page_bytes;
        let written = [1, 2, 3].map(|threads| {
            let device = MemoryDevice::with_bytes(device.bytes());
            let store = open(&device, threads);
            let updated = store.update(&batch).unwrap();
            assert!(updated.answers.iter().all(|answer| *answer == Answer::Done));
            assert!(updated.pages_read > 30, "{}", updated.pages_read);
            device.bytes()
        });
        assert!(written.iter().all(|bytes| *bytes == written[0]), "{codec:?}");
        // A page in the middle, of the lists before.
        let store = open(&device, 3);
        let graph = store.graph(|_| Default::default()).unwrap();
        let lists = graph.adjacency(Direction::Out).unwrap();
        let place = graph.physical(lists.first_page() + 20);
        device.change(|bytes| bytes[place as usize * page_bytes + page_bytes / 2] ^= 1);
        drop(graph);
        let fault = store.update(&batch).unwrap_err();
        assert!(matches!(fault, StoreError::Page(_)), "{fault:?}");
    }
}

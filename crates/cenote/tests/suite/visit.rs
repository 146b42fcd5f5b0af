//! Passes over lists in batches, against a serial read of all lists.

use std::collections::BTreeMap;

use cenote::engine::for_each_weighted_list;
use cenote::graph::ListBatch;
use cenote::import::WeightType;
use cenote::{Direction, Error, Graph, Import, Update, VertexId};
use cenote_store::Codec;

use crate::graphs::Random;

type Lists = BTreeMap<VertexId, Vec<(VertexId, f64)>>;

/// A directed graph with a few long lists, some empty ones, and changes in its log.
fn graph(folder: &std::path::Path, codec: Codec, weights: bool) -> Graph {
    let mut random = Random(3);
    let path = folder.join("g.cenote");
    let hubs = |random: &mut Random| if random.below(3) == 0 { 7 } else { random.below(2500) };
    let edges: Vec<(u64, u64, f64)> = (0..30_000)
        .map(|_| (hubs(&mut random), random.below(20_000), random.below(50) as f64))
        .collect();
    let import = Import::new().directed().in_edges().codec(codec).memory("64MiB");
    if weights {
        import.weights(WeightType::F64).slice(&edges).overwrite().run(&path).unwrap();
    } else {
        let plain = edges.iter().map(|&(u, v, _)| (u, v));
        import.edges(plain).overwrite().run(&path).unwrap();
        let mut update = Update::open(&path).unwrap();
        (0..300).for_each(|v| update.add(3u64, 60 * v).unwrap());
        update.commit().unwrap();
    }
    Graph::open(&path).unwrap()
}

fn serial(graph: &Graph, direction: Direction) -> Lists {
    let mut lists = Lists::new();
    for_each_weighted_list(graph.stored(), direction, |list, weights| {
        let weight = |i| weights.map_or(0.0, |weights| weights.get(i).to_f64());
        let entries = list.targets.iter().enumerate().map(|(i, &target)| (target, weight(i)));
        lists.entry(list.vertex).or_default().extend(entries);
    })
    .unwrap();
    lists.retain(|_, list| !list.is_empty());
    lists
}

/// Adds a batch to lists. Returns how many of its lists continue one of a batch before.
fn gather(lists: &mut Lists, batch: &ListBatch) -> usize {
    assert!(batch.vertices.is_sorted_by(|a, b| a < b), "each vertex once, ascending");
    assert_eq!(batch.offsets.len(), batch.vertices.len() + 1);
    assert_eq!((batch.offsets[0], *batch.offsets.last().unwrap()), (0, batch.targets.len() as i64));
    let mut continued = 0;
    for (&vertex, range) in batch.vertices.iter().zip(batch.offsets.windows(2)) {
        assert!(range[0] < range[1], "no empty list");
        let range = range[0] as usize..range[1] as usize;
        let weight = |i| batch.weights.as_ref().map_or(0.0, |weights| weights[i]);
        continued += usize::from(lists.contains_key(&vertex));
        let list = lists.entry(vertex).or_default();
        list.extend(range.map(|i| (batch.targets[i], weight(i))));
    }
    continued
}

#[test]
fn batches_have_every_list_once_in_order_whatever_threads_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut pieces = 0;
    for (codec, weights) in [(Codec::Raw, false), (Codec::Packed, false), (Codec::Raw, true)] {
        let graph = graph(folder.path(), codec, weights);
        for direction in [Direction::Out, Direction::In] {
            let expected = serial(&graph, direction);
            let mut first: Option<Vec<ListBatch>> = None;
            for threads in [1, 3] {
                let visit = graph.visit().direction(direction).weights(weights).threads(threads);
                let lists = visit.memory("32MiB").batch_edges(4096).open().unwrap();
                let batches: Vec<_> = lists.pass(None).unwrap().map(Result::unwrap).collect();
                let (mut found, mut continued) = (Lists::new(), 0);
                for batch in &batches {
                    assert!(batch.targets.len() as u64 <= lists.batch_edges());
                    continued += gather(&mut found, batch);
                }
                let longest = expected.values().map(Vec::len).max().unwrap() as u64;
                assert_eq!(continued > 0, longest > lists.batch_edges() / 2, "pieces of the hub");
                pieces += continued;
                assert!(batches.len() > 1);
                assert!(found == expected, "{codec:?}, {direction:?}, {threads} threads");
                assert!(first.get_or_insert(batches.clone()) == &batches);
            }
            // A second pass reads nothing, since all pages are in memory.
            let lists = graph.visit().direction(direction).memory("64MiB").open().unwrap();
            let frontier: Vec<VertexId> = (0..2000).map(|i| i * 7919 % 2000 * 3 % 2400).collect();
            for some in [&frontier[..3], &[7, 3, 7], &frontier] {
                let mut found = Lists::new();
                for batch in lists.pass(Some(some)).unwrap() {
                    gather(&mut found, &batch.unwrap());
                }
                let mut expected = expected.clone();
                expected.retain(|vertex, _| some.contains(vertex));
                if !weights {
                    assert!(found == expected, "{codec:?}, {direction:?}, {} lists", some.len());
                }
                assert!(found.keys().eq(expected.keys()));
            }
            let before = lists.stats().bytes_read;
            assert!(lists.pass(Some(&frontier)).unwrap().all(|batch| batch.is_ok()));
            assert_eq!(lists.stats().bytes_read, before);
        }
    }
    assert!(pieces > 0);
}

#[test]
fn a_pass_ends_when_it_is_dropped_and_excludes_a_second_one() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Codec::Raw, false);
    let lists = graph.visit().memory("32MiB").batch_edges(1).open().unwrap();
    let mut pass = lists.pass(None).unwrap();
    pass.next().unwrap().unwrap();
    let refused = lists.pass(None).unwrap_err().to_string();
    assert!(refused.contains("end it first"), "{refused}");
    // Another reader has memory and threads of its own.
    let other = graph.visit().memory("32MiB").open().unwrap();
    assert!(other.pass(None).unwrap().next().unwrap().is_ok());
    drop(pass);
    let mut pass = lists.pass(None).unwrap();
    assert!(pass.by_ref().all(|batch| batch.is_ok()));
    // One at its end excludes none, and an empty frontier has no batch.
    assert_eq!(lists.pass(Some(&[])).unwrap().count(), 0);
    assert!(pass.next().is_none());
    let beyond = graph.vertices() as VertexId;
    for (error, part) in [
        (lists.pass(Some(&[beyond])).unwrap_err(), "frontier has the vertex"),
        (graph.visit().threads(0).open().unwrap_err(), "threads is 0"),
        (graph.visit().batch_edges(0).open().unwrap_err(), "batch_edges is 0"),
        (graph.visit().weights(true).open().unwrap_err(), "no weights"),
        (graph.visit().memory("64KiB").open().unwrap_err(), "visit"),
        (graph.visit().batch_edges(u64::MAX).open().unwrap_err(), "visit"),
        (graph.visit().memory("much").open().unwrap_err(), "much"),
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = graph.visit().memory("64KiB").open().unwrap_err();
    assert!(matches!(error, Error::MemoryBudget { .. }));
}

#[test]
fn a_damaged_page_ends_the_pass_with_its_error() {
    let folder = tempfile::tempdir().unwrap();
    drop(graph(folder.path(), Codec::Raw, false));
    let path = folder.path().join("g.cenote");
    let graph = Graph::open(&path).unwrap();
    let lists = graph.stored().adjacency(Direction::Out).unwrap();
    let page = graph.stored().physical(lists.first_page() + lists.pages() / 2);
    let at = page as usize * graph.stored().page_bytes() + 200;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let lists = graph.visit().memory("32MiB").batch_edges(1).open().unwrap();
    let error = lists.pass(None).unwrap().find_map(Result::err).unwrap();
    assert!(matches!(&error, Error::Corrupt(_)), "{error}");
    assert!(error.to_string().contains(&format!("page {page}")), "{error}");
}

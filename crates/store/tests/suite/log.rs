//! Small batches in the log: the graph that is read with them, what another process finds, when
//! they are merged, and logs that were cut off or damaged.

use crate::diff::{a_list_a_page, assert_diff};
use crate::graphs::model::{
    KINDS, Model, add, changes, delete, new_ids, random_batch, random_graph, weigh,
};
use crate::graphs::{MemoryDevice, Random, TestGraph, TestIds};
use crate::live::{Live, assert_same};
use cenote_store::format::{HEADER_BYTES, LOG_BLOCK_BYTES};
use cenote_store::header::checksum;
use cenote_store::{
    Batch, Codec, Direction, Graph, Store, WeightType, WriteLimits, check_device, edges,
};

const U32: Option<WeightType> = Some(WeightType::U32);
const F64: Option<WeightType> = Some(WeightType::F64);

fn limits(random: &mut Random) -> WriteLimits {
    let bytes = [16 << 10, 64 << 10, 1 << 20][random.below(3) as usize];
    let limits = WriteLimits::default().bytes(bytes);
    let limits = limits.run_percent([0, 200, 100_000][random.below(3) as usize]);
    limits.changes([10, 500, 100_000][random.below(3) as usize])
}

/// Batches of every kind to the log, merges, readers, and stores that are opened again. Returns the
/// number of batches that went to the log.
fn play(seed: u64, rounds: u64) -> u64 {
    let mut random = Random(seed);
    // Of each type of weights, and as often without.
    let weights = WeightType::NAMES.map(|(_, kind)| Some(kind)).into_iter().cycle();
    let weights = weights.flat_map(|kind| [None, kind]).nth(seed as usize % 8).flatten();
    let mut live = Live::new(TestGraph { weights, ..random_graph(&mut random) });
    let limits = limits(&mut random);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    let mut readers: Vec<(Graph, Model)> = Vec::new();
    let mut logged = 0;
    for round in 0..rounds {
        let kind = KINDS[(random.next() % KINDS.len() as u64) as usize];
        println!("seed {seed}, batch {round}: {kind:?}, {} edges", live.model.edges.len());
        readers.push((live.graph(), live.model.clone()));
        let batch = random_batch(&live.model, kind, &mut random);
        logged += u64::from(live.commit(&batch).log_bytes > 0);
        live.assert_same();
        for (reader, model) in &readers {
            assert_diff((reader, model), (&live.graph(), &live.model));
        }
        match random.below(6) {
            0 => drop(live.store.merge().unwrap()),
            1 => {
                readers.clear();
                live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
            }
            2 => {
                let (reader, model) = readers.remove(0);
                assert_same(&reader, &model);
            }
            _ => continue,
        }
        live.assert_same();
    }
    let merged = live.store.merge().unwrap();
    let graph = live.graph();
    assert!(!graph.has_logged() && merged.epoch == graph.superblock().epoch);
    live.assert_same();
    logged
}

#[test]
fn random_batches_in_the_log_are_read_as_if_they_were_in_the_lists() {
    let logged: u64 = (0..4).map(|seed| play(seed, 6)).sum();
    assert!(logged > 4, "{logged} batches in the log");
}

#[test]
#[ignore = "long: make soak"]
fn random_batches_in_the_log_longer() {
    let logged: u64 = (0..20).map(|seed| play(seed, 12)).sum();
    assert!(logged > 8, "{logged} batches in the log");
}

// ------------------------------------------------------------------------------------------------
// Limits

#[test]
fn a_full_log_is_merged_and_begins_again() {
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(300, &[(0, 1)]) };
    let mut live = Live::new(graph);
    let limits = WriteLimits::default().bytes(4 * LOG_BLOCK_BYTES as u64);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    let mut merged = Vec::new();
    for v in 2..20 {
        merged.push(live.commit(&changes([add(0, v)])).merged);
    }
    let expected = [0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0];
    assert_eq!(merged, expected, "four flushes fit, and the fifth batch takes them along");
    live.assert_same();
    // Few changes are kept in memory.
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits.changes(2));
    live.commit(&changes([add(1, 2), add(1, 3), add(1, 4)]));
    assert_eq!(live.store.logged_changes(), 0);
    live.commit(&changes([add(1, 5), delete(1, 2)]));
    assert_eq!(live.store.logged_changes(), 2);
    live.assert_same();
    // Without a byte there is no log.
    let none = limits.bytes(0);
    let device = MemoryDevice::default();
    TestGraph::undirected(3, &[(0, 1)]).write(&device, usize::MAX).unwrap();
    let store = Store::open(device.shared()).unwrap().with_limits(none);
    assert_eq!(store.commit(&changes([add(1, 2)])).unwrap().log_bytes, 0);
    assert!(store.superblock().log.is_empty());
}

#[test]
fn lists_of_many_pages_change_in_the_log() {
    let [raw, packed] = Codec::ALL;
    for (codec, weights) in [(raw, None), (packed, None), (raw, U32), (packed, F64)] {
        let mut random = Random(5);
        // Gaps of many lengths do not pack well.
        let (vertices, one_of) = if codec == Codec::Raw { (16_000, 1) } else { (28_000, 3) };
        let hub: Vec<(u32, u32)> =
            (0..vertices).filter(|_| random.below(one_of) == 0).map(|v| (7, v)).collect();
        let mut graph = TestGraph::directed(vertices as usize, &hub);
        (graph.codec, graph.duplicates_kept, graph.weights) = (codec, false, weights);
        let mut live = Live::new(graph);
        let pages = live.graph().adjacency(Direction::Out).unwrap().pages_of(7).count();
        assert!(pages > if codec == Codec::Raw { 12 } else { 1 }, "{pages} pages");
        for _ in 0..3 {
            let some = (0..200).map(|_| {
                let change = if random.below(2) == 0 { add } else { delete };
                change(7, random.below(vertices as u64) as u32)
            });
            let mut batch = changes(some.collect::<Vec<_>>());
            if let Some(kind) = weights {
                weigh(&mut batch, &live.model, kind, &mut random);
            }
            assert!(live.commit(&batch).log_bytes > 0);
        }
        live.assert_same();
        // A page would be left without an entry of the list.
        let last = live.model.edges.iter().copied().rev().take(600);
        let batch = changes(last.map(|(u, v)| delete(u, v)).collect::<Vec<_>>());
        live.commit(&batch);
        live.assert_same();
    }
}

/// Each reads many pages of a graph that has more of them than the writer's pool.
#[test]
fn more_threads_than_the_pool_serves_at_once_commit_all_the_same() {
    let (store, _) = a_list_a_page();
    std::thread::scope(|scope| {
        for thread in 0..40 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..3 {
                    let lists = (0..60).map(|i| (i * 97 + thread * 31 + round * 7) % 2000);
                    let batch = changes(lists.map(|v| add(v, 2 * thread + 1)).collect::<Vec<_>>());
                    store.commit(&batch).unwrap();
                }
            });
        }
    });
    let graph = store.graph(|_| Default::default()).unwrap();
    for thread in 0..40 {
        let mut list = Vec::new();
        graph.read_list(Direction::Out, (97 + thread * 31) % 2000, &mut list).unwrap();
        assert!(list.contains(&(2 * thread + 1)), "thread {thread}");
    }
}

#[test]
fn threads_that_commit_at_the_same_time_all_become_durable() {
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::undirected(500, &[(0, 1)]) };
    let mut live = Live::new(graph);
    let limits = WriteLimits::default().changes(150);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &live.store;
            scope.spawn(move || {
                for i in 0..100 {
                    let edge = add(thread * 100 + i, (thread * 100 + i + 7) % 500);
                    let updated = store.commit(&changes([edge])).unwrap();
                    assert_eq!(updated.answers, [cenote_store::Answer::Done]);
                }
            });
        }
    });
    for i in 0..400 {
        live.model.apply(&changes([add(i, (i + 7) % 500)]));
    }
    live.assert_same();
}

// ------------------------------------------------------------------------------------------------
// Damage

/// A graph with flushes of some blocks in its log: its bytes, the offset of the log, the blocks of
/// each flush, and the graph before the first and after each.
fn logged(weights: Option<WeightType>) -> (Vec<u8>, usize, Vec<usize>, Vec<Model>) {
    let edges: Vec<(u32, u32)> = (0..99).map(|v| (v, v + 1)).collect();
    let graph = TestGraph {
        duplicates_kept: false,
        weights,
        ids: TestIds::Strings((0..100).map(|v| format!("vertex {v:03}")).collect()),
        ..TestGraph::undirected(100, &edges)
    };
    let mut live = Live::new(graph);
    live.commit(&changes([delete(5, 50)]));
    let mut random = Random(2);
    let (mut models, mut blocks) = (vec![live.model.clone()], Vec::new());
    for count in [3, 400, 1, 200] {
        let some = |_| (random.below(101) as u32, random.below(101) as u32);
        let all = (0..count).map(some).filter(|(u, v)| u != v).collect::<Vec<_>>();
        let mut batch = changes(all.into_iter().map(|(u, v)| add(u, v)));
        batch.changes.push(delete(count % 90, count % 90 + 1));
        batch.changes.retain(|change| change.source.max(change.target) < live.model.vertices() + 1);
        if let Some(kind) = weights {
            weigh(&mut batch, &live.model, kind, &mut random);
        }
        batch.new_ids = new_ids(&live.model, 1, &mut random);
        blocks.push(live.commit(&batch).log_bytes as usize / LOG_BLOCK_BYTES);
        models.push(live.model.clone());
    }
    live.assert_same();
    let at = live.store.superblock().log.start as usize * 4096;
    (live.device.bytes(), at, blocks, models)
}

fn open(bytes: &[u8]) -> cenote_store::Result<Graph> {
    Graph::open(MemoryDevice::with_bytes(bytes.to_vec()).shared())
}

#[test]
fn a_flush_that_is_cut_off_ends_the_log_and_damage_before_it_is_an_error() {
    [None, F64].into_iter().for_each(|weights| cut_and_damage(weights, 183));
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_flush_that_is_cut_off_ends_the_log_and_damage_before_it_is_an_error() {
    [None, F64].into_iter().for_each(|weights| cut_and_damage(weights, 61));
}

fn cut_and_damage(weights: Option<WeightType>, step: usize) {
    let (bytes, log, blocks, models) = logged(weights);
    assert!(blocks.iter().any(|blocks| *blocks > 1), "{blocks:?}");
    let of_flush: Vec<usize> =
        (0..).zip(&blocks).flat_map(|(flush, count)| vec![flush; *count]).collect();
    for (block, &flush) in of_flush.iter().enumerate() {
        for at in (0..LOG_BLOCK_BYTES).step_by(step) {
            let mut bytes = bytes.clone();
            bytes[log + block * LOG_BLOCK_BYTES + at] ^= 1 << (at % 8);
            let report =
                check_device(MemoryDevice::with_bytes(bytes.clone()).shared(), &mut |_, _| true);
            if flush + 1 < blocks.len() {
                let error = open(&bytes).unwrap_err().to_string();
                assert!(error.contains(&format!("flush {} is damaged", flush + 1)), "{error}");
                assert!(!report.unwrap().is_whole());
            } else {
                let graph = open(&bytes).unwrap();
                let fault = graph.cut_flush_fault().expect("the last flush is damaged");
                let first = of_flush.iter().position(|of| *of == flush).expect("it has blocks");
                assert_eq!(fault.page as usize, (log + first * LOG_BLOCK_BYTES) / 4096);
                assert_eq!(graph.superblock().edges, models[flush].edges.len() as u64);
                assert!(report.unwrap().is_whole());
            }
        }
    }
    // What is lost from some block on: the last flushes are not there, or cut off.
    for (lost, is_shorter) in (0..=of_flush.len()).flat_map(|lost| [(lost, false), (lost, true)]) {
        let mut bytes = bytes.clone();
        let end = log + lost * LOG_BLOCK_BYTES;
        if is_shorter {
            bytes.truncate(end + lost)
        } else {
            bytes[end..].fill(0)
        }
        let whole = of_flush.get(lost).copied().unwrap_or(blocks.len());
        let device = MemoryDevice::with_bytes(bytes);
        let graph = Graph::open(device.shared()).unwrap();
        let begins = lost == of_flush.len() || lost == 0 || of_flush[lost] != of_flush[lost - 1];
        let begins = begins && !is_shorter;
        assert_eq!(graph.cut_flush_fault().is_none(), begins, "{lost}");
        assert_same(&graph, &models[whole]);
        // The next writer goes on.
        let store = Store::open(device.shared()).unwrap();
        assert_eq!(store.cut_flush_fault().is_none(), begins);
        let mut live = Live { device, store, model: models[whole].clone() };
        let mut batch = changes([delete(30, 31), add(3, 90)]);
        if let Some(kind) = weights {
            batch.weights = vec![None, Some(Random(3).weight(kind))];
        }
        live.commit(&batch);
        live.assert_same();
    }
}

#[test]
fn no_log_with_right_checksums_makes_a_reader_panic() {
    [None, U32].into_iter().for_each(|weights| read_hostile_logs(weights, 150));
}

#[test]
#[ignore = "long: make soak"]
fn no_log_with_right_checksums_longer() {
    [None, U32].into_iter().for_each(|weights| read_hostile_logs(weights, 6000));
}

fn read_hostile_logs(weights: Option<WeightType>, rounds: usize) {
    let (bytes, log, blocks, _) = logged(weights);
    let salt = open(&bytes).unwrap().superblock().salt;
    let mut random = Random(77);
    let mut refused = 0;
    for round in 0..rounds {
        let mut bytes = bytes.clone();
        let block = random.below(blocks.iter().sum::<usize>() as u64) as usize;
        let start = log + block * LOG_BLOCK_BYTES;
        let page = &mut bytes[start..start + LOG_BLOCK_BYTES];
        for _ in 0..1 + random.below(3) {
            // The header, the first batch, or anywhere.
            let end = [HEADER_BYTES, HEADER_BYTES + 80, LOG_BLOCK_BYTES][round % 3] as u64;
            let at = 4 + random.below(end - 4) as usize;
            page[at] = [0, 1, 0xff, page[at] ^ 1][random.below(4) as usize];
        }
        let sum = checksum(page, salt, (start / LOG_BLOCK_BYTES) as u64);
        page[..4].copy_from_slice(&sum.to_le_bytes());
        let read = open(&bytes).and_then(|graph| {
            graph.degrees(Direction::Out, &mut |_, _| {})?;
            graph.ids()?.load()?;
            graph.read_weights(Direction::Out, 5, &mut Vec::new())?;
            edges::for_each_edge(&graph, &mut |_, _| {}, &mut |_, _, _| Ok(())).map(drop)
        });
        refused += u64::from(read.is_err());
    }
    assert!(refused > rounds as u64 / 3, "{refused} of {rounds}");
}

#[test]
fn batches_that_the_graph_cannot_take_are_refused_whole() {
    let (bytes, _, _, models) = logged(None);
    let device = MemoryDevice::with_bytes(bytes);
    let store = Store::open(device.shared()).unwrap();
    let model = models.last().unwrap();
    let known = |id| Batch { new_ids: vec![id], ..changes([add(1, 40)]) };
    let mut refused = vec![changes([add(1, 40), add(0, model.vertices())])];
    refused.extend([model.ids[4].clone(), model.ids.last().unwrap().clone()].map(known));
    for batch in refused {
        let error = store.commit(&batch).unwrap_err().to_string();
        assert!(error.contains("vertex") || error.contains("ids already"), "{error}");
        let graph = Graph::open(device.shared()).unwrap();
        assert_eq!(graph.superblock().edges, model.edges.len() as u64);
    }
    let live = Live { device, store, model: model.clone() };
    live.assert_same();
}

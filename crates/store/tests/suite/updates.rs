//! Batches of changes against a set of edges: answers, lists, ids and degrees after each, what
//! older readers see, which pages are written, what is refused, and batches over damaged pages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::diff::assert_diff;
use crate::graphs::model::{
    KINDS, Kind, Model, add, changes, delete, new_ids, random_batch, random_graph,
};
use crate::graphs::{MemoryDevice, Random, TestGraph, TestIds, assert_lists};
use crate::live::{DIRECTIONS, Live, assert_same, pages_of};
use cenote_store::{
    Answer, Batch, Codec, Direction, Graph, Id, List, Store, StoreError, WeightType,
};

/// Sets a flag when it is dropped, which a panic does too.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// ------------------------------------------------------------------------------------------------
// Random batches

/// So many batches one after the other, their kinds in turn from a first one on, or at random;
/// older readers keep reading their graphs.
fn play(seed: u64, weights: Option<WeightType>, (first, rounds): (Option<usize>, usize)) {
    let mut random = Random(seed);
    let mut live = Live::new(TestGraph { weights, ..random_graph(&mut random) });
    let mut readers: Vec<(Graph, Model)> = Vec::new();
    for round in 0..rounds {
        let drawn = random.below(KINDS.len() as u64) as usize;
        let kind = KINDS[first.map_or(drawn, |first| (first + round) % KINDS.len())];
        let edges = live.model.edges.len();
        println!("seed {seed}, {weights:?}, batch {round}: {kind:?}, {edges} edges");
        readers.push((live.graph(), live.model.clone()));
        let batch = random_batch(&live.model, kind, &mut random);
        live.update(&batch);
        live.assert_same();
        for (reader, model) in &readers {
            let lists = model.lists();
            assert_eq!(reader.vertices(), lists.out.len());
            let mut found: Vec<Vec<u32>> = vec![Vec::new(); reader.vertices()];
            reader
                .scan(Direction::Out, &mut |_, page| {
                    let append = |list: List<'_>| found[list.vertex as usize].extend(list.targets);
                    page.lists().for_each(append);
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, lists.out, "a reader of epoch {}", reader.superblock().epoch);
            assert_diff((reader, model), (&live.graph(), &live.model));
        }
        if random.below(3) == 0 {
            let gone = random.below(readers.len() as u64) as usize;
            let (reader, model) = readers.remove(gone);
            assert_same(&reader, &model);
        }
        if random.below(4) == 0 {
            readers.clear();
            live.store = Store::open(live.device.shared()).unwrap();
        }
    }
}

#[test]
fn random_batches_leave_the_graph_that_their_edges_make() {
    (0..8).for_each(|seed| play(seed, None, (None, 4)));
}

#[test]
#[ignore = "long: make soak"]
fn random_batches_leave_the_graph_longer() {
    (0..8).chain(1000..1016).for_each(|seed| play(seed, None, (None, 8)));
}

#[test]
fn random_batches_leave_the_weights_that_their_edges_have() {
    // None of these graphs is empty, and there are batches of every kind.
    let seeds = [(2000, 0), (2017, 4), (2021, 8), (2030, 2)];
    for ((seed, first), (_, kind)) in seeds.into_iter().zip(WeightType::NAMES) {
        play(seed, Some(kind), (Some(first), 4));
    }
}

#[test]
#[ignore = "long: make soak"]
fn random_batches_leave_the_weights_longer() {
    for (i, (_, kind)) in (0..).zip(WeightType::NAMES) {
        (0..6).for_each(|seed| play(2000 + 10 * i + seed, Some(kind), (None, 8)));
    }
}

#[test]
fn a_list_grows_from_nothing_to_many_pages_and_goes_again() {
    for codec in Codec::ALL {
        let mut graph = TestGraph::directed(40_000, &[(1, 2), (3, 4), (39_999, 0)]);
        (graph.codec, graph.duplicates_kept) = (codec, false);
        let mut live = Live::new(graph);
        // Gaps of many lengths do not pack well.
        let mut random = Random(3);
        let targets: Vec<u32> = (0..40_000).filter(|_| random.below(3) == 0).collect();
        live.update(&changes(targets.iter().map(|&v| add(20_000, v))));
        live.assert_same();
        let graph = live.graph();
        let pages = graph.adjacency(Direction::Out).unwrap().pages_of(20_000).count();
        assert!(pages > if codec == Codec::Raw { 12 } else { 1 }, "{pages} pages");
        live.update(&changes(targets.iter().map(|&v| delete(20_000, v))));
        live.assert_same();
        live.update(&changes([add(20_000, 7)]));
        live.assert_same();
    }
}

#[test]
fn changes_of_one_edge_in_a_batch_see_each_other() {
    use Answer::{Absent, Done, Present, SelfLoop};
    for directed in [false, true] {
        let graph = match directed {
            true => TestGraph::directed(4, &[(0, 1)]),
            false => TestGraph::undirected(4, &[(0, 1)]),
        };
        let (duplicates_kept, self_loops_kept) = (false, false);
        let mut live = Live::new(TestGraph { duplicates_kept, self_loops_kept, ..graph });
        let batch = [
            add(0, 1),
            delete(0, 1),
            delete(0, 1),
            add(1, 0),
            add(0, 1),
            delete(2, 2),
            add(2, 2),
            delete(3, 2),
        ];
        let answers = live.update(&changes(batch)).answers;
        let second = if directed { Done } else { Present };
        let expected = [Present, Done, Absent, Done, second, Absent, SelfLoop, Absent];
        assert_eq!(answers, expected);
        live.assert_same();
        // Nothing is left of changes that undo each other.
        let epoch = live.store.epoch();
        let pages = live.store.update(&changes([add(2, 3), delete(2, 3)])).unwrap();
        assert_eq!(pages.answers, [Done, Done]);
        assert!(live.store.epoch() <= epoch + 1);
        live.assert_same();
    }
}

#[test]
fn readers_in_other_threads_see_their_own_epoch_while_batches_are_made() {
    let mut random = Random(8);
    let edges: Vec<_> =
        (0..9_000).map(|_| (random.below(3_000) as u32, random.below(3_000) as u32)).collect();
    let edges: BTreeSet<_> = edges.into_iter().collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(3_000, &edges) };
    let mut live = Live::new(graph);
    let ended = AtomicBool::new(false);
    for _ in 0..4 {
        let (graph, lists) = (live.graph(), live.model.lists());
        let graph = Arc::new(graph);
        ended.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !ended.load(Ordering::SeqCst) {
                        assert_lists(&graph, Direction::Out, &lists.out);
                        assert_lists(&graph, Direction::In, lists.back.as_ref().unwrap());
                    }
                });
            }
            let _end = SetOnDrop(&ended);
            for _ in 0..12 {
                let kind = [Kind::Few, Kind::Many, Kind::NewVertices][random.below(3) as usize];
                let batch = random_batch(&live.model, kind, &mut random);
                live.update(&batch);
            }
        });
    }
    live.assert_same();
}

// ------------------------------------------------------------------------------------------------
// Space

/// A graph of many pages, of which every second was written by an update.
fn fragmented() -> Live {
    let mut random = Random(2);
    let edges: BTreeSet<_> =
        (0..200_000).map(|_| (random.below(3_000) as u32, random.below(3_000) as u32)).collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(3_000, &edges) };
    let mut live = Live::new(graph);
    let graph = live.graph();
    let lists = graph.adjacency(Direction::Out).unwrap();
    assert!(lists.pages() > 150);
    let every_second = (0..lists.pages()).step_by(2).map(|page| lists.vertices_in(page).start);
    let missing = |u: u32| (0..).find(|v| !live.model.edges.contains(&(u, *v))).unwrap();
    let batch = changes(every_second.map(|u| add(u, missing(u))));
    live.update(&batch);
    live
}

#[test]
fn a_file_does_not_grow_when_the_same_edges_come_and_go() {
    come_and_go(160);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_file_does_not_grow_when_the_same_edges_come_and_go() {
    come_and_go(400);
}

fn come_and_go(rounds: usize) {
    let few = TestGraph { duplicates_kept: false, ..TestGraph::undirected(900, &[(5, 6)]) };
    for mut live in [Live::new(few), fragmented()] {
        let mut random = Random(4);
        let n = u64::from(live.model.vertices());
        let edges: BTreeSet<_> =
            (0..40).map(|_| (random.below(n) as u32, random.below(n) as u32)).collect();
        let edges: Vec<_> = edges
            .into_iter()
            .filter(|&(u, v)| u != v && !live.model.edges.contains(&live.model.edge(u, v)))
            .collect();
        let mut size = Vec::new();
        for round in 0..rounds {
            let change = if round % 2 == 0 { add } else { delete };
            let batch = changes(edges.iter().map(|&(u, v)| change(u, v)));
            if round < rounds - 10 {
                live.store.update(&batch).unwrap();
                live.model.apply(&batch);
            } else {
                live.update(&batch);
            }
            size.push(live.graph().superblock().pages_total);
        }
        live.assert_same();
        let early = size[..40].iter().max().unwrap();
        let late = size[rounds - 40..].iter().max().unwrap();
        assert!(late <= early, "{early} pages at first, {late} later");
    }
}

#[test]
fn a_reader_holds_pages_only_as_long_as_it_lives() {
    let mut live = fragmented();
    let toggle = |live: &mut Live, times: u32| {
        for _ in 0..times {
            for change in [add, delete] {
                let batch = changes((0..30).map(|i| change(i * 100, 2_999 - i)));
                live.store.update(&batch).unwrap();
                live.model.apply(&batch);
            }
        }
        live.graph().superblock().pages_total
    };
    let settled = toggle(&mut live, 10);
    let (reader, model) = (live.graph(), live.model.clone());
    let held = toggle(&mut live, 10);
    assert!(held > settled + 100, "{held} pages, {settled} before");
    assert_same(&reader, &model);
    drop(reader);
    let freed = toggle(&mut live, 10);
    assert!(freed <= held + 8, "{freed} pages, {held} before");
    live.assert_same();
}

// ------------------------------------------------------------------------------------------------
// What is refused

/// A batch that must be refused changes nothing, and the store goes on.
fn assert_refused(live: &mut Live, batch: &Batch, why: &str) {
    let (bytes, epoch) = (live.device.bytes(), live.store.epoch());
    let error = live.store.update(batch).expect_err(why).to_string();
    assert!(!error.is_empty() && !error.contains('\n'), "{why}: {error}");
    assert!(error.contains(why), "{why} is not in: {error}");
    assert_eq!(live.store.epoch(), epoch);
    assert!(live.device.bytes() == bytes, "{why}: the file has changed");
}

#[test]
fn what_a_graph_cannot_take_is_refused_and_changes_nothing() {
    let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let numbers = vec![3, 5, 8, 900];
    for ids in [TestIds::Dense, TestIds::Integers(numbers), TestIds::Strings(names)] {
        let graph = TestGraph { duplicates_kept: false, ids, ..TestGraph::directed(4, &[(0, 1)]) };
        let mut live = Live::new(graph);
        let mut random = Random(6);
        for _ in 0..2 {
            let n = live.model.vertices();
            assert_refused(&mut live, &changes([add(0, 2), add(n, 0)]), &n.to_string());
            assert_refused(&mut live, &changes([delete(0, n + 7)]), &(n + 7).to_string());
            assert_refused(&mut live, &changes([add(0, u32::MAX)]), &u32::MAX.to_string());
            let with_ids = |new_ids: Vec<Id>| Batch { new_ids, ..changes([add(0, 2)]) };
            let fresh = new_ids(&live.model, 2, &mut random);
            let beyond = Batch { changes: vec![add(0, n + 2)], ..with_ids(fresh.clone()) };
            assert_refused(&mut live, &beyond, &(n + 2).to_string());
            let known = live.model.ids.last().unwrap().clone();
            let text = known.to_string();
            assert_refused(&mut live, &with_ids(vec![fresh[0].clone(), known]), &text);
            let twice = vec![fresh[0].clone(), fresh[1].clone(), fresh[0].clone()];
            assert_refused(&mut live, &with_ids(twice), &fresh[0].to_string());
            let other_kind = match fresh[0] {
                Id::Integer(_) => Id::String("x".into()),
                Id::String(_) => Id::Integer(77_777),
            };
            let text = other_kind.to_string();
            assert_refused(&mut live, &with_ids(vec![other_kind]), &text);
            let batch = Batch { new_ids: fresh, ..changes([add(0, n), add(n + 1, n)]) };
            live.update(&batch);
            live.assert_same();
        }
    }
}

// ------------------------------------------------------------------------------------------------
// Damage

/// Batches over a graph of which one bit is flipped. How many of them failed, and how many did not.
fn over_damage(graph: &TestGraph, batch: &Batch, step: usize) -> [u32; 2] {
    let (mut ends, page_bytes) = ([0; 2], graph.page_bytes);
    let whole = Live::new(graph.clone());
    let bytes = whole.device.bytes();
    let mut after = whole.model.clone();
    after.apply(batch);
    let changed = after.changed_since(&whole.model);
    let (stored, mut needed) = (whole.graph(), BTreeSet::new());
    for (direction, changed) in DIRECTIONS.into_iter().zip(&changed) {
        let adjacency = stored.adjacency(direction).unwrap();
        let known = changed.iter().copied().filter(|&v| v < whole.model.vertices()).collect();
        let pages = pages_of(adjacency, &known);
        needed.extend(pages.into_iter().map(|page| stored.physical(adjacency.first_page() + page)));
    }
    for at in (2 * page_bytes..bytes.len()).step_by(step) {
        let page = (at / page_bytes) as u64;
        let flip = |bytes: &mut Vec<u8>| bytes[at] ^= 4;
        let device = MemoryDevice::with_bytes(bytes.clone());
        device.change(flip);
        let Ok(store) = Store::open(device.shared()) else { continue };
        let before = device.bytes();
        match store.update(batch) {
            Ok(_) => {
                ends[1] += 1;
                assert!(!needed.contains(&page), "page {page} was not read");
                let mut live = Live { device, store, model: after.clone() };
                // What was not read is as it was: where it still is in use, damaged.
                live.device.change(flip);
                if live.device.bytes()[at] != bytes[at] {
                    live.device.change(flip);
                }
                live.store = Store::open(live.device.shared()).unwrap();
                live.assert_same();
            }
            Err(error) => {
                ends[0] += 1;
                assert!(matches!(error, StoreError::Page(_)), "{error}");
                assert!(!error.to_string().contains('\n'), "{error}");
                assert_eq!(store.epoch(), 1);
                let kept = 0..before.len();
                assert!(device.bytes()[kept.clone()] == before[kept], "page {page}: it changed");
                // Once the page is right again, the same store makes the batch.
                device.change(flip);
                let mut live = Live { device, store, model: whole.model.clone() };
                live.assert_same();
                live.update(batch);
                live.assert_same();
            }
        }
    }
    ends
}

#[test]
fn a_flipped_bit_in_a_page_that_a_batch_reads_is_an_error_and_the_graph_stays() {
    update_over_damage(2063, 4091);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_flipped_bit_in_a_page_that_a_batch_reads_is_an_error_and_the_graph_stays() {
    update_over_damage(1031, 2063);
}

/// Flips a bit of one byte in so many, without new vertices and with them: in each page.
fn update_over_damage(step: usize, step_with_new: usize) {
    for (seed, codec) in (0..).zip(Codec::ALL) {
        let mut random = Random(seed);
        let mut edges: BTreeSet<_> =
            (0..4_000).map(|_| (random.below(900) as u32, random.below(900) as u32)).collect();
        edges.extend((0..900).map(|v| (450, v)));
        let edges: Vec<_> = edges.into_iter().collect();
        let ids = TestIds::Integers((0..900).map(|v| 10 * v).collect());
        let graph = TestGraph::directed(900, &edges);
        let graph = TestGraph { codec, duplicates_kept: false, ids, ..graph };
        let hub = edges.iter().filter(|edge| edge.0 == 450).take(500);
        let mut batch = changes(hub.map(|&(u, v)| delete(u, v)).chain([add(0, 1), delete(0, 1)]));
        let ends = over_damage(&graph, &batch, step);
        println!("{codec:?}: {ends:?} with an error, without");
        assert!(ends[0] > 0 && ends[1] > 0);
        batch.new_ids = vec![Id::Integer(7), Id::Integer(100_000)];
        batch.changes.push(add(900, 901));
        let ends = over_damage(&graph, &batch, step_with_new);
        assert!(ends[0] > 0, "{ends:?}");
    }
}

#[test]
fn a_failed_write_poisons_the_store_and_leaves_the_graph_before_or_after() {
    let mut random = Random(31);
    let mut counted = [0; 2];
    for _ in 0..6 {
        let mut graph = random_graph(&mut random);
        while graph.out.is_empty() {
            graph = random_graph(&mut random);
        }
        graph.weights = [None, Some(WeightType::F64)][random.below(2) as usize];
        let first = Live::new(graph);
        let bytes = first.device.bytes();
        let batch = random_batch(&first.model, Kind::NewVertices, &mut random);
        let mut after = first.model.clone();
        after.apply(&batch);
        let count = || first.device.writes().iter().flatten().count();
        let imported = count();
        first.store.update(&batch).unwrap();
        let writes = count() - imported;
        let step = writes.div_ceil(12);
        for good in (0..writes).step_by(step) {
            let device = MemoryDevice::with_bytes(bytes.clone());
            let store = Store::open(device.shared()).unwrap();
            device.fail_after_writes(good);
            let error = store.update(&batch).unwrap_err();
            let next = store.update(&changes([]));
            let next = next.map(|updated| updated.epoch);
            assert!(matches!(next, Ok(1) | Err(StoreError::Poisoned { .. })), "{error}: {next:?}");
            let found = Graph::open(device.shared()).unwrap();
            let is_after = found.superblock().epoch == 2;
            counted[usize::from(is_after)] += 1;
            assert_same(&found, if is_after { &after } else { &first.model });
        }
    }
    assert!(counted[0] > 0, "{counted:?}");
}

#[test]
fn the_same_batches_give_the_same_bytes() {
    for seed in 0..6 {
        let bytes = [(); 2].map(|()| {
            let mut random = Random(seed);
            let weights = [None, Some(WeightType::F32)][seed as usize % 2];
            let mut live = Live::new(TestGraph { weights, ..random_graph(&mut random) });
            for kind in [Kind::Few, Kind::NewVertices, Kind::Many] {
                let batch = random_batch(&live.model, kind, &mut random);
                live.store.update(&batch).unwrap();
                live.model.apply(&batch);
            }
            live.device.bytes()
        });
        assert!(bytes[0] == bytes[1], "seed {seed}");
    }
}

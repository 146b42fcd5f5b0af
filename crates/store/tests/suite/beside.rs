//! Merges beside commits: while new lists are written, and before they become those of the graph,
//! batches are committed, and both are in the graph afterwards.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::graphs::model::{KINDS, Kind, Model, add, changes, delete, random_batch, random_graph};
use crate::graphs::{MemoryDevice, Random, TestGraph};
use crate::live::{Live, assert_same};
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Batch, Codec, Graph, Id, IdRef, LookupConfig, Store, StoreError, UpdateProgress, WriteLimits,
};

/// Limits with which every few changes become a run.
fn limits(changes: usize) -> WriteLimits {
    WriteLimits::default().bytes(64 << 10).changes(changes).run_percent(100_000)
}

/// The kinds of batches that become runs.
const OF_RUNS: [Kind; 8] = {
    let [few, empty, no_effect, many, without_hub, new_hub, repeats, new, ..] = KINDS;
    [few, empty, no_effect, many, without_hub, new_hub, repeats, new]
};

/// What became of the merges.
#[derive(Debug, Default)]
struct Merges {
    /// How many were made, how many of them with changes that came meanwhile.
    made: usize,
    with_changes: usize,
    /// How many a commit has superseded.
    superseded: usize,
    /// Commits while new lists were written.
    meanwhile: usize,
}

fn commit(store: &Store, model: &mut Model, kinds: &[Kind], random: &mut Random) {
    let kind = kinds[random.below(kinds.len() as u64) as usize];
    let mut batch = random_batch(model, kind, random);
    batch.changes.truncate(1 + random.below(12) as usize);
    let expected = model.apply(&batch);
    assert_eq!(store.commit(&batch).unwrap().answers, expected);
}

fn play(seed: u64) -> Merges {
    let mut random = Random(seed);
    let graph = loop {
        let graph = random_graph(&mut random);
        if graph.weights.is_none() {
            break graph;
        }
    };
    let mut live = Live::new(graph);
    let limits = limits(1 + random.below(12) as usize);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    let mut merges = Merges::default();
    let mut readers: Vec<(Graph, Model)> = Vec::new();
    for _ in 0..10 {
        for _ in 0..1 + random.below(8) {
            commit(&live.store, &mut live.model, &OF_RUNS, &mut random);
        }
        readers.push((live.graph(), live.model.clone()));
        let Live { store, model, .. } = &mut live;
        let (state, commits) = (RefCell::new((model, &mut random)), Cell::new(0));
        let watch = |_: UpdateProgress| {
            let (model, random) = &mut *state.borrow_mut();
            while random.below(3) == 0 {
                let kinds = if random.below(40) == 0 { &KINDS[..] } else { &OF_RUNS[..] };
                commit(store, model, kinds, random);
                commits.set(commits.get() + 1);
            }
            false
        };
        let Some(prepared) = store.prepare_merge(&watch).unwrap() else { continue };
        merges.meanwhile += commits.get();
        let (model, random) = state.into_inner();
        let last = random.below(3);
        (0..last).for_each(|_| commit(store, model, &OF_RUNS, random));
        if random.below(12) == 0 {
            store.merge().unwrap();
        }
        let finished = prepared.finish().unwrap();
        merges.superseded += usize::from(finished.is_none());
        if let Some(updated) = finished {
            assert!(updated.merged_entries > 0 && updated.epoch == store.epoch(), "{updated:?}");
            merges.made += 1;
            merges.with_changes += usize::from(live.graph().runs() == 1);
        }
        live.assert_same();
        let at = random.below(readers.len() as u64) as usize;
        let (reader, model) = readers.swap_remove(at);
        assert_same(&reader, &model);
    }
    live.store.merge().unwrap();
    live.assert_same();
    merges
}

/// Plays so many seeds; merges of every kind must be among them.
fn play_all(seeds: std::ops::Range<u64>) {
    let played: Vec<_> = seeds.map(play).collect();
    let sum = |of: fn(&Merges) -> usize| played.iter().map(of).sum::<usize>();
    let (made, changed) = (sum(|merges| merges.made), sum(|merges| merges.with_changes));
    let (superseded, meanwhile) = (sum(|merges| merges.superseded), sum(|merges| merges.meanwhile));
    assert!(made > 20 && changed > 12 && superseded > 1 && meanwhile > 16, "{played:?}");
}

#[test]
fn what_is_committed_beside_a_merge_is_in_the_merged_graph() {
    play_all(0..4);
}

#[test]
#[ignore = "long: make soak"]
fn what_is_committed_beside_a_merge_longer() {
    play_all(4..30);
}

/// A hub with a list of many pages, short lists, and runs that change both.
fn with_hub(codec: Codec) -> Live {
    let hub = (0..HUB_VERTICES).step_by(2).map(|v| (7, v));
    let others = (0..900u32).map(|v| (v, v * 13 % HUB_VERTICES)).filter(|(u, _)| *u != 7);
    let edges: std::collections::BTreeSet<_> = hub.chain(others).collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = TestGraph::directed(HUB_VERTICES as usize, &edges);
    let mut live = Live::new(TestGraph { codec, duplicates_kept: false, ..graph });
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits(100));
    for round in 0..4u32 {
        let of_hub = (0..60).map(|i| add(7, (i * 577 + round * 7) % HUB_VERTICES));
        let new_lists = (0..40).map(|i| add(i * 11, HUB_VERTICES - 1 - round));
        live.commit(&changes(of_hub.chain(new_lists)));
    }
    live
}

/// Vertices of [`with_hub`]: its longest list has several pages.
const HUB_VERTICES: u32 = 9_000;

#[test]
fn entries_of_a_long_list_find_their_pages_among_new_ones() {
    for codec in Codec::ALL {
        let mut live = with_hub(codec);
        let prepared = live.store.prepare_merge(&|_| false).unwrap().unwrap();
        // Entries with which pages begin, too, and each of them twice.
        let model = &mut live.model;
        for round in 0..3 {
            let of_hub: Vec<u32> =
                model.edges.iter().filter(|(u, _)| *u == 7).map(|(_, v)| *v).collect();
            let gone = of_hub.iter().skip(round).step_by(5).map(|v| delete(7, *v));
            let back = (0..2200).map(|i| add(7, i * 4 + round as u32));
            for batch in [changes(gone), changes(back)] {
                let expected = model.apply(&batch);
                assert_eq!(live.store.commit(&batch).unwrap().answers, expected);
            }
        }
        let updated =
            prepared.finish().unwrap().expect("no part of a list is left without entries");
        assert!(updated.merged_entries > 200, "{updated:?}");
        assert_eq!(live.graph().runs(), 1);
        live.assert_same();
        live.commit(&changes((0..50).map(|i| add(7, i * 171))));
        live.assert_same();
    }
}

#[test]
fn one_change_during_a_merge_does_not_make_the_next_one_due() {
    let mut live = with_hub(Codec::Raw);
    drop(live.store);
    // The log may have more than the runs have room for.
    let limits = WriteLimits::default().run_percent(50);
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
    assert!(live.store.is_merge_due().unwrap());
    let Live { store, model, .. } = &mut live;
    let prepared = store.prepare_merge(&|_| false).unwrap().unwrap();
    let batch = changes([add(3, 5), add(3, 6)]);
    let expected = model.apply(&batch);
    assert_eq!(store.commit(&batch).unwrap().answers, expected);
    prepared.finish().unwrap().unwrap();
    assert_eq!(live.graph().runs(), 1);
    assert!(!live.store.is_merge_due().unwrap());
    live.assert_same();
}

#[test]
fn a_list_that_would_leave_a_new_page_without_entries_is_not_merged_beside_commits() {
    let mut live = with_hub(Codec::Raw);
    let epoch = live.store.epoch();
    let prepared = live.store.prepare_merge(&|_| false).unwrap().unwrap();
    let model = &mut live.model;
    // The pages before have room for this: each keeps the entry with which it begins.
    let before = live.store.graph(|_| LookupConfig::default()).unwrap();
    let lists = before.adjacency(cenote_store::Direction::Out).unwrap();
    let mut kept = std::collections::BTreeSet::new();
    for page in lists.pages_of(7) {
        let mut list = Vec::new();
        before.read_list(cenote_store::Direction::Out, 7, &mut list).unwrap();
        let share = (page - lists.pages_of(7).start()) as usize;
        let pages = (lists.pages_of(7).end() - lists.pages_of(7).start() + 1) as usize;
        kept.insert(list[share * list.len() / pages]);
        kept.insert(
            list[(share * list.len() / pages + list.len() / pages / 2).min(list.len() - 1)],
        );
    }
    drop(before);
    let gone: Vec<_> = model
        .edges
        .iter()
        .filter(|(u, v)| *u == 7 && !kept.contains(v))
        .map(|&(u, v)| delete(u, v))
        .collect();
    for some in gone.chunks(400) {
        let batch = changes(some.iter().copied());
        let expected = model.apply(&batch);
        assert_eq!(live.store.commit(&batch).unwrap().answers, expected);
    }
    let is_made = prepared.finish().unwrap().is_some();
    live.assert_same();
    live.store.merge().unwrap();
    live.assert_same();
    assert!(live.store.epoch() > epoch && (is_made || live.graph().runs() == 0));
}

#[test]
fn a_merge_that_is_dropped_or_cancelled_leaves_nothing() {
    let live = with_hub(Codec::Raw);
    let before = live.graph();
    let total = Cell::new(0);
    let prepared = live.store.prepare_merge(&|progress| {
        assert!(progress.pages_done <= progress.pages_total);
        total.set(progress.pages_done);
        false
    });
    assert!(total.get() > 1);
    assert!(live.store.prepare_merge(&|_| false).unwrap().is_none(), "one at a time");
    drop(prepared);
    let stops = Cell::new(0);
    let cancelled = live.store.prepare_merge(&|progress| {
        stops.set(stops.get() + 1);
        progress.pages_done > total.get() / 2
    });
    assert!(matches!(cancelled, Err(StoreError::Cancelled { .. })) && stops.get() > 0);
    for watched in [
        live.store.merge_watched(&|progress| progress.pages_done > total.get() / 2).map(drop),
        live.store.snapshot_watched(Some("s"), 0, &|_| true).map(drop),
        live.store.update_watched(&changes([add(1, 3)]), &|_| true).map(drop),
    ] {
        let error = watched.unwrap_err();
        assert!(matches!(error, StoreError::Cancelled { .. }), "{error}");
        assert!(error.to_string().contains("as it was before"), "{error}");
    }
    let graph = live.graph();
    assert_eq!((graph.superblock(), graph.runs()), (before.superblock(), before.runs()));
    live.assert_same();
    // The pages that they wrote are used again.
    let bytes = live.device.bytes().len();
    live.store.merge().unwrap();
    assert!(live.device.bytes().len() <= bytes + (1 << 20));
    live.assert_same();
}

#[test]
fn a_commit_that_is_large_and_cancelled_changes_nothing() {
    let mut live = with_hub(Codec::Raw);
    let batch = changes((0..20_000).map(|i| add(i % 900, i % HUB_VERTICES)));
    let error = live.store.commit_watched(&batch, &|progress| progress.pages_done > 1);
    assert!(matches!(error, Err(StoreError::Cancelled { .. })));
    live.assert_same();
    live.commit(&batch);
    live.assert_same();
}

#[test]
fn new_vertices_of_runs_and_of_later_changes_have_their_lists() {
    let mut live = with_hub(Codec::Raw);
    let new = |live: &Live, id: u64| {
        let vertex = live.model.vertices();
        let mut batch = changes([add(vertex, 3), add(7, vertex), add(vertex, vertex)]);
        batch.new_ids.push(Id::Integer(1_000_000 + id));
        batch
    };
    for id in 0..3 {
        let batch = new(&live, id);
        live.commit(&batch);
    }
    let spilled = |live: &mut Live, from: u32| {
        for (some, edges) in [(from, 90), (from + 1, 40)] {
            // Not of the hub, which has some of them already.
            live.commit(&changes((100..100 + edges).map(|i| add(i, some))));
        }
    };
    spilled(&mut live, 7_001);
    let Live { store, model, .. } = &mut live;
    let prepared = store.prepare_merge(&|_| false).unwrap().unwrap();
    let mut batch = changes([add(HUB_VERTICES + 1, 5), add(model.vertices(), HUB_VERTICES)]);
    batch.new_ids.push(Id::Integer(2_000_000));
    let expected = model.apply(&batch);
    assert_eq!(store.commit(&batch).unwrap().answers, expected);
    prepared.finish().unwrap().unwrap();
    live.assert_same();
    // Without a run there is no place for a vertex of the log alone.
    live.store.merge().unwrap();
    spilled(&mut live, 7_003);
    live.store.merge().unwrap();
    spilled(&mut live, 7_005);
    let Live { store, model, .. } = &mut live;
    let undone: Vec<_> = (100..140).map(|i| delete(i, 7_006)).collect();
    let epoch = store.epoch();
    let prepared = store.prepare_merge(&|_| false).unwrap().unwrap();
    let alone = Batch { new_ids: vec![Id::Integer(3_000_000)], ..changes(undone) };
    let expected = model.apply(&alone);
    assert_eq!(store.commit(&alone).unwrap().answers, expected);
    assert!(prepared.finish().unwrap().is_none() && store.epoch() <= epoch + 1);
    live.assert_same();
}

#[test]
fn a_full_device_during_a_merge_beside_commits_leaves_a_whole_graph() {
    for writes in [0, 1, 3] {
        let live = with_hub(Codec::Raw);
        live.device.fail_after_writes(writes);
        let merged = live.store.prepare_merge(&|_| false);
        let merged = merged.and_then(|prepared| prepared.expect("there are runs").finish());
        assert!(merged.is_err(), "{writes} writes");
        let found = MemoryDevice::with_bytes(live.device.bytes());
        let graph = Graph::open(found.shared()).unwrap();
        assert_same(&graph, &live.model);
        assert!(graph.superblock().section(SectionKind::DeltaRuns).is_some());
    }
}

#[test]
fn ids_are_found_while_a_merge_moves_them_from_the_log_to_the_commit() {
    let live = with_hub(Codec::Raw);
    let (store, is_done, merges) = (&live.store, AtomicBool::new(false), AtomicUsize::new(0));
    let mut ids: Vec<u64> = (0..u64::from(HUB_VERTICES)).collect();
    let mut unknown = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let Some(prepared) = store.prepare_merge(&|_| false).unwrap() else { continue };
                let is_made = prepared.finish().unwrap().is_some();
                merges.fetch_add(is_made.into(), Ordering::Relaxed);
            }
        });
        for round in 0..150u32 {
            let new = store.vertices() as u32;
            let to_new = (0..60).map(|i| add(i * 11, new));
            let mut batch = changes(to_new.chain([add(new, round)]));
            batch.new_ids.push(Id::Integer(1_000_000 + u64::from(round)));
            store.commit(&batch).unwrap();
            ids.push(1_000_000 + u64::from(round));
            let ids: Vec<IdRef<'_>> = ids.iter().map(|id| IdRef::Integer(*id)).collect();
            for _ in 0..4 {
                let found = store.vertices_of(&ids).unwrap();
                unknown += found.iter().filter(|vertex| vertex.is_none()).count();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(unknown, 0);
    assert!(merges.into_inner() > 4);
}

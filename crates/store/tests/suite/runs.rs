//! Delta runs: the log of a graph becomes runs, runs become fewer, and all are merged into the
//! lists; the graph is read with them throughout.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::diff::assert_diff;
use crate::graphs::model::{KINDS, Model, add, changes, delete, random_batch, random_graph};
use crate::graphs::{MemoryDevice, Random, TestGraph};
use crate::live::{DIRECTIONS, Live, assert_same};
use cenote_store::format::HEADER_BYTES;
use cenote_store::header::checksum;
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Batch, Codec, Graph, Id, LookupConfig, Store, StoreError, WriteLimits, check_device,
};

/// Limits with which every few changes become a run.
fn limits(changes: usize) -> WriteLimits {
    WriteLimits::default().bytes(64 << 10).changes(changes).run_percent(100_000)
}

fn open(live: &mut Live, limits: WriteLimits) {
    live.store = Store::open(live.device.shared()).unwrap().with_limits(limits);
}

/// Batches of every kind, most of which become runs. Returns the largest number of runs, and how
/// often runs became fewer without a merge.
fn play(seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let mut live = Live::new(random_graph(&mut random));
    let limits = limits(1 + random.below(12) as usize);
    open(&mut live, limits);
    let mut readers: Vec<(Graph, Model)> = Vec::new();
    let (mut most, mut fewer) = (0, 0);
    for round in 0..60 {
        // Clearing a graph and deleting vertices merge all runs.
        let kinds = if round % 20 == 19 { &KINDS[..] } else { &KINDS[..KINDS.len() - 2] };
        let kind = kinds[(random.next() % kinds.len() as u64) as usize];
        let before = live.graph().runs();
        println!("seed {seed}, batch {round}: {kind:?}, {before} runs");
        if round % 8 == 0 {
            readers.push((live.graph(), live.model.clone()));
        }
        let mut batch = random_batch(&live.model, kind, &mut random);
        batch.changes.truncate(10);
        batch.weights.truncate(10);
        let updated = live.commit(&batch);
        let runs = live.graph().runs();
        most = most.max(runs);
        fewer += usize::from(runs < before && updated.merged_entries == 0);
        if round % 6 == 5 {
            live.assert_same();
            for (reader, model) in &readers {
                assert_diff((reader, model), (&live.graph(), &live.model));
            }
        }
        if random.below(12) == 0 {
            readers.clear();
            open(&mut live, limits);
        }
    }
    live.assert_same();
    for (reader, model) in &readers {
        assert_same(reader, model);
    }
    let is_changed = live.graph().runs() > 0 || live.graph().has_logged();
    let (before, merged) = (live.store.epoch(), live.store.merge().unwrap());
    assert_eq!(merged.epoch, before + u64::from(is_changed));
    assert!(live.graph().runs() == 0 && !live.graph().superblock().has_delta_runs());
    live.assert_same();
    (most, fewer)
}

#[test]
fn random_batches_in_runs_are_read_as_if_they_were_in_the_lists() {
    play_all(0..4);
}

#[test]
#[ignore = "long: make soak"]
fn longer_random_batches_in_runs_are_read_as_if_they_were_in_the_lists() {
    play_all(0..12);
}

fn play_all(seeds: Range<u64>) {
    let played: Vec<_> = seeds.map(play).collect();
    let most = played.iter().map(|(most, _)| *most).max().unwrap();
    let fewer: usize = played.iter().map(|(_, fewer)| *fewer).sum();
    assert!(most > 4 && fewer > 2, "{played:?}");
}

/// A graph with a list of many pages, and runs that change it.
fn with_runs(codec: Codec) -> Live {
    let mut random = Random(5);
    let hub = (0..40_000).filter(|_| random.below(3) == 0).map(|v| (7, v));
    let others = (0..3000u32).map(|v| (v, v * 13 % 40_000));
    let edges: std::collections::BTreeSet<_> = hub.chain(others).collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = TestGraph { codec, duplicates_kept: false, ..TestGraph::directed(40_000, &edges) };
    let mut live = Live::new(graph);
    open(&mut live, limits(100));
    for round in 0..12u32 {
        let of_hub = (0..60).map(|i| add(7, (i * 577 + round * 3) % 40_000));
        let deleted = live.model.edges.iter().filter(|(u, v)| *u == 7 && v % 97 == round);
        let deleted: Vec<_> = deleted.take(20).map(|&(u, v)| delete(u, v)).collect();
        let mut batch = changes(of_hub.chain(deleted));
        batch.new_ids.push(Id::Integer(1_000_000 + u64::from(round)));
        let new = live.model.vertices();
        batch.changes.extend([add(new, 3), add(7, new), add(round, new)]);
        live.commit(&batch);
    }
    live
}

#[test]
fn long_lists_and_new_vertices_lie_in_runs() {
    for codec in Codec::ALL {
        let mut live = with_runs(codec);
        let graph = live.graph();
        assert!(graph.runs() > 1 && graph.run_changes() > 500, "{} runs", graph.runs());
        assert!(graph.superblock().listed_vertices < graph.superblock().vertices);
        live.assert_same();
        // Little memory, so that pages of runs are read again and again.
        let small = live.store.graph(|_| LookupConfig::default().run_bytes(0)).unwrap();
        assert_same(&small, &live.model);
        // A batch that is no small one takes the runs along.
        let batch = changes([add(1, 2), add(7, 1)]);
        let (expected, updated) = (live.model.apply(&batch), live.store.update(&batch).unwrap());
        assert_eq!(updated.answers, expected);
        assert!(updated.merged_entries > 500, "{updated:?}");
        assert_eq!(live.graph().runs(), 0);
        live.assert_same();
    }
}

#[test]
fn runs_are_merged_when_they_are_a_share_of_the_lists() {
    let edges: Vec<_> = (0..40_000u32).map(|v| (v, v * 7 % 40_000)).collect();
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(40_000, &edges) };
    let mut live = Live::new(graph);
    open(&mut live, limits(50).run_percent(12));
    let (mut spilled, mut merged, mut most) = (0, 0, 0);
    for round in 0..60u32 {
        let batch = changes((0..50).map(|i| add(i * 800 + round, (i + round) * 611 % 40_000)));
        let updated = live.commit(&batch);
        spilled += updated.spilled;
        merged += updated.merged_entries;
        let graph = live.graph();
        let pages = |kind| graph.superblock().section(kind).map_or(0, |section| section.pages);
        let lists = pages(SectionKind::OutAdjacency) + pages(SectionKind::InAdjacency);
        let room = lists * 12 / 100;
        assert!(pages(SectionKind::DeltaRuns) <= room, "more than an eighth");
        most = most.max(graph.runs());
    }
    assert!(spilled > 1000 && merged > 500 && most > 2, "{spilled}, {merged}, {most}");
    live.assert_same();
    // Without a share there are no runs.
    open(&mut live, limits(50).run_percent(0));
    live.store.merge().unwrap();
    for round in 0..4 {
        live.commit(&changes((0..50).map(|i| delete(i * 800 + round, (i + round) * 611 % 40_000))));
        assert_eq!(live.graph().runs(), 0);
    }
    live.assert_same();
}

#[test]
fn changes_that_cancel_each_other_out_leave_no_run() {
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(300, &[(0, 1)]) };
    let mut live = Live::new(graph);
    open(&mut live, limits(4));
    let batch = |add_them: bool, from: u32| {
        changes((from..from + 4).map(|v| if add_them { add(9, v) } else { delete(9, v) }))
    };
    for round in 0..40 {
        live.commit(&batch(round % 2 == 0, 20));
    }
    live.commit(&Batch::default());
    live.assert_same();
    live.commit(&batch(true, 100));
    live.commit(&batch(true, 120));
    assert!(live.graph().runs() > 0);
    live.assert_same();
}

/// Every page of runs and of their index is damaged in turn: reading the lists is an error, or the
/// page was not needed; a check finds it.
#[test]
fn damage_of_each_page_of_runs_is_found() {
    let live = with_runs(Codec::Packed);
    let graph = live.graph();
    let page_bytes = graph.page_bytes();
    for kind in [SectionKind::DeltaRuns, SectionKind::DeltaIndex] {
        let section = *graph.superblock().section(kind).unwrap();
        for page in section.range() {
            let at = graph.physical(page) as usize * page_bytes;
            for (offset, bit) in [(4, 1), (60, 3), (page_bytes - 1, 0)] {
                let mut bytes = live.device.bytes();
                bytes[at + offset] ^= 1 << bit;
                let damaged = MemoryDevice::with_bytes(bytes);
                let report = check_device(damaged.shared(), &mut |_, _| true).unwrap();
                assert!(!report.is_whole(), "{kind:?} {page}, byte {offset}");
                let read = Graph::open(damaged.shared()).and_then(|graph| {
                    DIRECTIONS
                        .iter()
                        .try_for_each(|direction| graph.scan(*direction, &mut |_, _| Ok(())))
                });
                match read {
                    Err(StoreError::Page(error)) => {
                        assert!(error.to_string().contains("delta"), "{error}");
                    }
                    other => panic!("{kind:?} {page}, byte {offset}: {other:?}"),
                }
            }
        }
    }
}

/// What a change adds to one page of a long list, another deletes from the next one.
#[test]
fn a_long_list_that_keeps_its_length_is_read_with_a_run() {
    let edges: Vec<_> = (0..20_000).filter(|v| v % 3 == 0).map(|v| (7, v)).collect();
    for codec in Codec::ALL {
        let graph =
            TestGraph { codec, duplicates_kept: false, ..TestGraph::undirected(20_000, &edges) };
        let mut live = Live::new(graph);
        open(&mut live, limits(4));
        live.commit(&changes([add(7, 1), delete(7, 19_998)]));
        live.commit(&changes([add(7, 10_000), delete(7, 9_999), add(3, 4)]));
        assert!(live.graph().runs() > 0);
        live.assert_same();
    }
}

/// Eight large batches become one run; each deletes edges of the longest list, so that others
/// become the longest.
#[test]
fn large_batches_take_the_last_runs_along() {
    let edges: BTreeSet<_> = (0..60_000u32).map(|i| (i % 4000, i * 7 % 3989)).collect();
    let edges: Vec<_> = edges.into_iter().filter(|(u, v)| u < v).collect();
    for graph in [TestGraph::directed(4000, &edges), TestGraph::undirected(4000, &edges)] {
        let mut random = Random(11);
        let mut live = Live::new(TestGraph { duplicates_kept: false, ..graph });
        open(&mut live, limits(100_000).bulk_run_percent(1_000_000));
        let mut runs = Vec::new();
        for _ in 0..9 {
            let longest = live.graph().superblock().degree_max_vertex;
            let of_longest = live.model.edges.iter().filter(|(u, v)| [*u, *v].contains(&longest));
            let deleted: Vec<_> = of_longest.take(800).map(|&(u, v)| delete(u, v)).collect();
            let mut vertex = || random.below(4000) as u32;
            let added: Vec<_> = (0..17_000).map(|_| add(vertex(), vertex())).collect();
            live.commit(&changes(deleted.into_iter().chain(added)));
            live.assert_same();
            runs.push(live.graph().runs());
        }
        assert_eq!(runs, [1, 2, 3, 4, 5, 6, 7, 1, 2]);
    }
}

/// A page with so many changes could not be read.
#[test]
fn a_large_batch_for_which_a_page_has_no_room_is_merged() {
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(300, &[(0, 1)]) };
    let mut live = Live::new(graph);
    open(&mut live, limits(100_000).bulk_run_percent(1_000_000));
    let batch = |from: u32, to| changes((from..to).flat_map(|u| (0..300).map(move |v| add(u, v))));
    live.commit(&batch(0, 200));
    live.assert_same();
    assert_eq!(live.graph().runs(), 1, "60,000 entries");
    live.commit(&batch(200, 300));
    live.assert_same();
    assert_eq!(live.graph().runs(), 0, "90,000 entries");
}

/// Batches that are too large for the log, in graphs of some 40,000 edges.
fn play_large(seed: u64) {
    let mut random = Random(seed);
    let vertices = [60, 3000, 30_000][seed as usize % 3];
    let edges: std::collections::BTreeSet<_> = (0..40_000)
        .map(|_| (random.below(vertices) as u32, random.below(vertices) as u32))
        .filter(|(u, v)| u < v)
        .collect();
    let edges: Vec<_> = edges.into_iter().collect();
    let graph = match seed % 2 {
        0 => TestGraph::directed(vertices as usize, &edges),
        _ => TestGraph::undirected(vertices as usize, &edges),
    };
    let codec = Codec::ALL[(seed / 2 % 2) as usize];
    let mut live = Live::new(TestGraph { codec, duplicates_kept: false, ..graph });
    // The first ones in the log, and nothing kept in memory.
    let limits = limits(100_000).bulk_run_percent(1_000_000).run_bytes(0);
    open(&mut live, limits.run_percent(0));
    for round in 0..4u64 {
        let before = live.graph();
        let model = live.model.clone();
        let new = if round == 2 { 30 } else { 0 };
        let hub = random.below(vertices) as u32;
        let count = if round % 2 == 0 { 17_000 } else { 50 };
        let known = live.model.edges.iter().copied().collect::<Vec<_>>();
        let mut list: Vec<_> = (0..count)
            .map(|i| match random.below(4) {
                0 if !known.is_empty() => {
                    let (u, v) = known[random.below(known.len() as u64) as usize];
                    delete(u, v)
                }
                1 => add(hub, random.below(vertices + new) as u32),
                // Some twice.
                2 if i % 16 == 0 => add(hub, 1),
                _ => add(random.below(vertices + new) as u32, random.below(vertices) as u32),
            })
            .collect();
        // One of the longest list, so that another may become the longest.
        list.push(delete(
            known.first().map_or(0, |(u, _)| *u),
            known.first().map_or(1, |(_, v)| *v),
        ));
        let mut batch = changes(list);
        batch.new_ids.extend((0..new).map(|i| Id::Integer(1_000_000 + i)));
        let updated = live.commit(&batch);
        let runs = live.graph().runs();
        println!(
            "seed {seed}, batch {round}: {runs} runs, {} pages written",
            updated.pages_written
        );
        assert!(runs > 0 && updated.merged_entries == 0, "it became a run");
        live.assert_same();
        assert_diff((&before, &model), (&live.graph(), &live.model));
        if random.below(3) == 0 {
            open(&mut live, limits.run_percent(0));
        }
    }
    // A small batch does not fit the share of runs for small ones.
    let settled = live.store.settle().unwrap();
    assert!(settled.merged_entries > 0 && live.graph().runs() == 0);
    live.assert_same();
    let epoch = live.store.epoch();
    assert_eq!(live.store.settle().unwrap().epoch, epoch, "there is nothing left to merge");
}

#[test]
fn large_batches_become_runs_until_they_are_settled() {
    // Each codec, direction and number of vertices.
    (0..3).for_each(play_large);
}

#[test]
#[ignore = "long: make soak"]
fn longer_large_batches_become_runs_until_they_are_settled() {
    (0..6).for_each(play_large);
}

#[test]
fn no_run_with_right_checksums_makes_a_reader_panic() {
    read_hostile_runs(250);
}

#[test]
#[ignore = "long: make soak"]
fn no_run_with_right_checksums_longer() {
    read_hostile_runs(6000);
}

fn read_hostile_runs(rounds: usize) {
    let live = with_runs(Codec::Raw);
    let (graph, bytes) = (live.graph(), live.device.bytes());
    let (page_bytes, salt) = (graph.page_bytes(), graph.superblock().salt);
    let mut random = Random(78);
    let mut refused = 0;
    for round in 0..rounds {
        let kind = [SectionKind::DeltaRuns, SectionKind::DeltaIndex][usize::from(round % 4 == 3)];
        let section = *graph.superblock().section(kind).unwrap();
        let page = section.first_page + random.below(section.pages);
        let physical = graph.physical(page);
        let mut bytes = bytes.clone();
        let page = &mut bytes[physical as usize * page_bytes..][..page_bytes];
        for _ in 0..1 + random.below(3) {
            let end = [HEADER_BYTES, HEADER_BYTES + 80, page_bytes][round % 3] as u64;
            let at = 4 + random.below(end - 4) as usize;
            page[at] = [0, 1, 0xff, page[at] ^ 1][random.below(4) as usize];
        }
        let sum = checksum(page, salt, physical);
        page[..4].copy_from_slice(&sum.to_le_bytes());
        let damaged = MemoryDevice::with_bytes(bytes);
        let read = Graph::open(damaged.shared()).and_then(|graph| {
            DIRECTIONS.iter().try_for_each(|direction| {
                graph.degrees(*direction, &mut |_, _| {})?;
                graph.scan(*direction, &mut |_, view| {
                    let vertices = graph.vertices() as u32;
                    assert!(view.entries().iter().all(|entry| *entry < vertices));
                    Ok(())
                })
            })
        });
        refused += u64::from(read.is_err());
    }
    assert!(refused > rounds as u64 / 3, "{refused} of {rounds}");
}

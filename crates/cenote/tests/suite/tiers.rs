//! Updates of graphs over tiers: beside migration, beside readers in this process and in others,
//! and until the tiers are full.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cenote::update::ChangeAnswer;
use cenote::{Error, Graph, Import, Update};
use cenote_tier::device::TierUse;
use tempfile::TempDir;

use crate::graphs::Random;
use crate::update::{Holder, Oracle, answers, assert_same, change, exported, kinds};

/// A policy that moves what is read.
const POLICY: &str = "tlru";

fn over_tiers<'a>(import: Import<'a>, folder: &Path, fast: &str, slow: &str) -> Import<'a> {
    let tier = |name: &str, capacity: &str| format!("{name}={}:{capacity}", folder.display());
    let import = import.tier(tier("fast", fast)).tier(tier("slow", slow));
    import.tier_block("4KiB").tier_policy(POLICY)
}

/// A folder with a path of numbers over two tiers.
fn stored(edges: u64, slow: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let edges: Vec<(u64, u64)> = (0..edges).map(|i| (i, i + 1)).collect();
    let import = Import::new().slice(&edges).memory("64MiB");
    over_tiers(import, folder.path(), "80KiB", slow).run(&path).unwrap();
    (folder, path)
}

fn read_only(path: &Path) -> Graph {
    Graph::options().migration(false).open(path).unwrap()
}

fn uses(graph: &Graph) -> Vec<TierUse> {
    graph.tiers().unwrap().members().device.tiers()
}

#[test]
fn a_changed_graph_over_tiers_answers_as_the_graph_of_its_edges() {
    change_over_tiers(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_changed_graph_over_tiers_answers_as_the_graph_of_its_edges() {
    change_over_tiers(true);
}

/// Graphs of all kinds, or of every second kind; of these every second is also read while it moves.
fn change_over_tiers(is_long: bool) {
    let mut moved = 0;
    for (seed, kind) in (1..).zip(kinds()).step_by(if is_long { 1 } else { 2 }) {
        let mut random = Random(seed);
        let mut oracle = Oracle::new(kind, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.cenote");
        oracle.import_with(&path, |import| over_tiers(import, folder.path(), "96KiB", "64MiB"));
        for (round, changes) in [3, 400, 1, 60].into_iter().enumerate() {
            let case = format!("{kind:?}, round {round}");
            // A writer of its own, or one beside a graph that moves its pages.
            let graph = (round % 2 == 1).then(|| Graph::open(&path).unwrap());
            let mut update = match &graph {
                Some(graph) => graph.update().unwrap(),
                None => Update::open(&path).unwrap(),
            };
            for batch in [changes / 2, changes - changes / 2] {
                let expected: Vec<ChangeAnswer> =
                    (0..batch).map(|_| change(&mut update, &mut oracle, &mut random)).collect();
                assert_eq!(update.commit().unwrap().answers, expected, "{case}");
                if let Some(graph) = &graph {
                    graph.bfs().memory("16MiB").verify(true).run().unwrap();
                }
            }
            drop(update);
            if let Some(graph) = graph {
                let tiers = graph.tiers().unwrap();
                moved += tiers.moved().map_or(0, |done| done.moved);
                graph.close().unwrap();
            }
            if round == 3 {
                assert_same(&read_only(&path), &oracle, &case);
            }
        }
        if is_long || seed % 4 == 1 {
            let still = answers(&read_only(&path), &kind.id(1));
            let moving = Graph::open(&path).unwrap();
            assert!(answers(&moving, &kind.id(1)) == still, "{kind:?}: another while it moves");
        }
        assert!(uses(&read_only(&path)).iter().all(|tier| tier.blocks > 0), "both have blocks");
    }
    assert!(moved > 0, "no block moved beside an update");
}

#[test]
fn readers_see_whole_batches_while_a_writer_maps_new_blocks() {
    const EDGES: u64 = 300;
    let (_folder, path) = stored(EDGES, "64MiB");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers = [0, 1].map(|at| {
            let (done, path) = (&done, &path);
            scope.spawn(move || {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) || reads == 0 {
                    let graph = read_only(path);
                    for _ in 0..3 {
                        assert_eq!(exported(&graph).len() as u64, EDGES);
                    }
                    if at == 1 {
                        let report = Graph::check(path, &mut |_, _| true).unwrap();
                        assert!(report.is_whole(), "{:?}", report.faults);
                    }
                    reads += 1;
                }
            })
        });
        let mut update = Update::open(&path).unwrap();
        let before = uses(&read_only(&path));
        let kept: Vec<Graph> = (0..12)
            .flat_map(|round| {
                for i in 0..EDGES {
                    update.delete(i, i + 1 + round).unwrap();
                    update.add(i, i + 2 + round).unwrap();
                }
                update.commit().unwrap();
                update.merge().unwrap();
                (round % 3 == 0).then(|| read_only(&path))
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        // Each is as it was, and reads blocks that were mapped after the first.
        let lists: Vec<_> = kept.iter().map(exported).collect();
        assert!(lists.windows(2).all(|pair| pair[0] != pair[1]));
        let blocks = |tiers: &[TierUse]| tiers.iter().map(|tier| tier.blocks).sum::<u64>();
        assert!(blocks(&uses(kept.last().unwrap())) > blocks(&before) + 10);
    });
}

#[test]
fn a_graph_that_moves_its_pages_is_changed_through_it_alone() {
    let (_folder, path) = stored(300, "64MiB");
    let graph = Graph::open(&path).unwrap();
    let error = Update::open(&path).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error:?}");
    assert!(error.to_string().contains("is moving the graph's pages"), "{error}");
    let mut update = graph.update().unwrap();
    let error = graph.update().unwrap_err();
    assert!(
        error.to_string().contains("another writer of this process is changing the graph"),
        "{error}"
    );
    update.add(0, 200).unwrap();
    update.commit().unwrap();
    assert_eq!((graph.edges(), exported(&graph).len()), (300, 300), "an open graph stays");
    graph.close().unwrap();
    // Nothing moves any more, so others may read while it goes on.
    update.add(0, 201).unwrap();
    update.commit().unwrap();
    update.merge().unwrap();
    assert_eq!(exported(&read_only(&path)).len(), 302);
    // Who opened it meanwhile cannot move pages, and has a writer of its own later.
    let reader = Graph::open(&path).unwrap();
    assert!(reader.tiers().unwrap().moved().is_none());
    drop(update);
    let mut update = reader.update().unwrap();
    update.delete(0, 200).unwrap();
    update.commit().unwrap();
    drop(update);
    assert_eq!(exported(&read_only(&path)).len(), 301);
    assert!(Graph::check(&path, &mut |_, _| true).unwrap().is_whole());
}

#[test]
fn a_reader_in_another_process_keeps_its_pages_until_it_is_killed() {
    let (_folder, path) = stored(300, "64MiB");
    let holder = Holder::start("still reader", &path);
    let mut update = Update::open(&path).unwrap();
    let mut blocks_after = |commits: u32| {
        for _ in 0..commits {
            for is_added in [true, false] {
                for i in 0..100 {
                    match is_added {
                        true => update.add(i * 3, 250).unwrap(),
                        false => update.delete(i * 3, 250).unwrap(),
                    }
                }
                update.commit().unwrap();
                update.merge().unwrap();
            }
        }
        uses(&read_only(&path)).iter().map(|tier| tier.blocks).sum::<u64>()
    };
    let held = [4, 4, 4].map(&mut blocks_after);
    assert!(held[0] < held[1] && held[1] < held[2], "{held:?}: the graph grows");
    holder.kill();
    let freed = [4, 4, 4].map(&mut blocks_after);
    assert_eq!(freed[1], freed[2], "{held:?}, {freed:?}: pages are used again");
}

#[test]
fn full_tiers_are_named_and_leave_the_graph_as_it_was() {
    let (_folder, path) = stored(300, "1500KiB");
    let mut edges = exported(&read_only(&path));
    let mut update = Update::open(&path).unwrap();
    let mut committed = 0;
    let error = loop {
        for i in 0..200 {
            update.add(committed * 200 + i, committed * 200 + i + 100_000).unwrap();
        }
        match update.commit().and_then(|_| update.merge()) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
        edges = exported(&read_only(&path));
        assert!(committed < 10_000, "the tiers are never full");
    };
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    let text = error.to_string();
    for words in ["g.cenote: no room for the new pages", "fast has 0 B left of", "slow has "] {
        assert!(text.contains(words) && !text.contains('\n'), "{text}");
    }
    let found = exported(&read_only(&path));
    assert!(found == edges || found.len() == edges.len() + 200, "a whole batch or none of it");
    let refused = update.merge().unwrap_err().to_string();
    assert!(
        refused.contains("an earlier write failed") && refused.contains("open the graph"),
        "{refused}"
    );
    drop(update);
    assert!(Graph::check(&path, &mut |_, _| true).unwrap().is_whole());
    let graph = Graph::open(&path).unwrap();
    graph.wcc().memory("64MiB").verify(true).run().unwrap();
}

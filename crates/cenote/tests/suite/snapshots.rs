//! Snapshots as the library's users make and read them: answers, space, other processes, errors.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use cenote::graph::Info;
use cenote::{Error, Graph, Import, Update};

use crate::graphs::Random;
use crate::update::{Holder, answers, exported, stored};

/// Random edges among 80 vertices, and one per vertex.
fn import(path: &Path) {
    let mut random = Random(3);
    let mut edges: Vec<(u64, u64)> = (0..79).map(|v| (v, v + 1)).collect();
    edges.extend((0..300).map(|_| (random.below(80), random.below(80))));
    Import::new().slice(&edges).directed().in_edges().memory("64MiB").run(path).unwrap();
}

#[test]
fn every_algorithm_at_a_snapshot_answers_as_before_the_updates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    import(&path);
    let mut random = Random(4);
    let mut update = Update::open(&path).unwrap();
    let mut kept = Vec::new();
    for round in 0..3 {
        let name = format!("round {round}");
        let graph = Graph::open(&path).unwrap();
        let expected = (exported(&graph), answers(&graph, "7"));
        let made = update.snapshot(&name).unwrap();
        assert_eq!((made.name.as_str(), made.edges), (name.as_str(), graph.edges()));
        assert!(made.created > 1_700_000_000, "{made:?}");
        kept.push((name, expected));
        for _ in 0..40 {
            update.add(random.below(90), random.below(90)).unwrap();
            update.delete(random.below(80), random.below(80)).unwrap();
        }
        update.commit().unwrap();
        if round == 1 {
            update.merge().unwrap();
        }
        let now = exported(&Graph::open(&path).unwrap());
        for (name, (edges, values)) in &kept {
            let at = Graph::open_at(&path, name).unwrap();
            assert_ne!(edges, &now);
            assert_eq!((at.snapshot_name(), &exported(&at)), (Some(name.as_str()), edges));
            let pairs = answers(&at, "7").into_iter().zip(values.iter().cloned());
            pairs.for_each(|(found, expected)| assert_eq!(found, expected, "{name}"));
        }
    }
    let names: Vec<_> = update.snapshots().into_iter().map(|snapshot| snapshot.name).collect();
    assert_eq!(names, ["round 0", "round 1", "round 2"]);
    let graph = Graph::open(&path).unwrap();
    assert_eq!(graph.snapshots().unwrap(), update.snapshots());
    let info = graph.info().unwrap();
    let own: u64 = info.snapshots.iter().map(|snapshot| snapshot.pages_held).sum();
    assert!(own > 0 && info.snapshot_pages >= own, "{info:?}");
    check_space(&path, &info);
    assert!(Graph::check(&path, &mut |_, _| true).unwrap().is_whole());
    assert!(Graph::check_at(&path, "round 1", &mut |_, _| true).unwrap().is_whole());
    for name in names {
        update.remove_snapshot(&name).unwrap();
    }
    let info = Graph::open(&path).unwrap().info().unwrap();
    assert!(info.snapshots.is_empty() && info.snapshot_pages == 0 && info.free_pages >= own);
    check_space(&path, &info);
}

/// The bytes in use are those of sections, superblocks, log and the few pages that find them; the
/// rest of the file is free or kept by snapshots.
fn check_space(path: &Path, info: &Info) {
    let page_bytes = u64::from(info.page_size);
    let sections: u64 = info.sections.iter().map(|section| section.pages).sum();
    let least = (sections + 2) * page_bytes + info.log_bytes;
    let most = least + 8 * page_bytes;
    assert!((least..=most).contains(&info.used_bytes), "{least} to {most}: {info:?}");
    let unused = (info.free_pages + info.snapshot_pages) * page_bytes;
    let file_bytes = std::fs::metadata(path).unwrap().len();
    assert_eq!((info.used_bytes + unused, info.file_bytes), (file_bytes, file_bytes), "{info:?}");
    let times = file_bytes as f64 / info.used_bytes as f64;
    assert!(info.space_amplification == times && times > 1.0, "{info:?}");
}

#[test]
fn a_reader_at_a_removed_snapshot_in_another_process_keeps_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    import(&path);
    let mut update = Update::open(&path).unwrap();
    let expected = exported(&Graph::open(&path).unwrap());
    update.snapshot("old").unwrap();
    let here = Graph::open_at(&path, "old").unwrap();
    let holder = Holder::start("snapshot", &path);
    update.remove_snapshot("old").unwrap();
    let mut pages_after = |commits: u32| {
        for _ in 0..commits {
            update.add(1, 60).unwrap();
            update.commit().unwrap();
            update.merge().unwrap();
            update.delete(1, 60).unwrap();
            update.commit().unwrap();
            update.merge().unwrap();
        }
        std::fs::metadata(&path).unwrap().len() / 4096
    };
    let held = [4, 4].map(&mut pages_after);
    assert!(held[0] < held[1], "{held:?}: the file grows");
    assert_eq!(exported(&here), expected);
    drop(here);
    let held = [4, 4].map(&mut pages_after);
    assert!(held[0] < held[1], "{held:?}: the other process reads it still");
    holder.kill();
    let freed = [4, 4, 4].map(&mut pages_after);
    assert_eq!(freed[1], freed[2], "{freed:?}: pages are used again");
}

#[test]
fn readers_open_a_snapshot_while_others_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    import(&path);
    let mut update = Update::open(&path).unwrap();
    update.snapshot("kept").unwrap();
    let expected = exported(&Graph::open(&path).unwrap());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut reads = 0;
                while !is_done.load(Ordering::Relaxed) || reads == 0 {
                    let graph = Graph::open_at(&path, "kept").unwrap();
                    assert_eq!(exported(&graph), expected);
                    let newest = Graph::open(&path).unwrap();
                    let names = newest.snapshots().unwrap().into_iter().map(|one| one.name);
                    assert!(names.into_iter().any(|name| name == "kept"));
                    reads += 1;
                }
                reads
            })
        });
        for round in 0..60u64 {
            update.add(round % 80, 100 + round).unwrap();
            update.delete(round, round + 1).unwrap();
            update.commit().unwrap();
            update.snapshot(&round.to_string()).unwrap();
            if round >= 3 {
                update.remove_snapshot(&(round - 3).to_string()).unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
        let reads = readers.map(|reader| reader.join().unwrap());
        assert!(reads.iter().all(|reads| *reads > 0), "{reads:?}");
    });
    assert!(Graph::check(&path, &mut |_, _| true).unwrap().is_whole());
}

#[test]
fn a_snapshot_that_stays_does_not_make_the_file_grow_with_every_update() {
    let (_folder, path) = stored();
    let mut update = Update::open(&path).unwrap();
    update.snapshot("old").unwrap();
    let mut pages_after = |commits: u32| {
        for _ in 0..commits {
            update.add("a", "c").unwrap();
            update.commit().unwrap();
            update.merge().unwrap();
            update.delete("a", "c").unwrap();
            update.commit().unwrap();
            update.merge().unwrap();
        }
        std::fs::metadata(&path).unwrap().len() / 4096
    };
    let pages = [3, 3, 3].map(&mut pages_after);
    assert_eq!(pages[1], pages[2], "{pages:?}");
    assert_eq!(exported(&Graph::open_at(&path, "old").unwrap()), ["a\tb", "b\tc"]);
}

#[test]
fn wrong_names_and_graphs_without_snapshots_are_errors_that_say_what_to_do() {
    let (folder, path) = stored();
    let mut update = Update::open(&path).unwrap();
    update.add("a", "c").unwrap();
    update.snapshot("one").unwrap();
    assert_eq!(update.len(), 1, "changes that were not committed stay so");
    assert_eq!(update.snapshot_of_epoch().unwrap().name, "epoch-2");
    let error = update.snapshot("one").unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)), "{error:?}");
    assert!(error.to_string().contains("remove it or choose another name"), "{error}");
    let error = update.remove_snapshot("two").unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)), "{error:?}");
    for error in [
        Graph::open_at(&path, "two").unwrap_err(),
        Graph::check_at(&path, "two", &mut |_, _| true).unwrap_err(),
    ] {
        assert!(matches!(error, Error::InvalidInput(_)), "{error:?}");
        let words = "no snapshot `two`: the graph has `one`, `epoch-2`";
        assert!(error.to_string().contains(words), "{error}");
    }
    let tiered = folder.path().join("tiered.cenote");
    let tier = |name| format!("{name}={}", folder.path().display());
    let import = Import::new().slice(&[(1u64, 2u64)]).memory("64MiB");
    import.tier(tier("a") + ":1MiB").tier(tier("b")).run(&tiered).unwrap();
    let error = Graph::open_at(&tiered, "one").unwrap_err().to_string();
    assert!(error.contains("no snapshot `one`: the graph has none"), "{error}");
    let import = Import::new().slice(&[("x", "y")]).memory("64MiB");
    import.overwrite().run(&path).unwrap();
    let error = update.snapshot("three").unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error:?}");
}

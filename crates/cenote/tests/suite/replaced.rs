//! Graphs whose file is replaced by a compaction or an import while others change it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cenote::{Compact, Error, Graph, Import, Update};

use crate::compact::{assert_whole, names};
use crate::update::exported;

#[test]
fn no_import_is_lost_while_its_graph_is_compacted() {
    check_imports(24);
}

#[test]
#[ignore = "long: make soak"]
fn longer_no_import_is_lost_while_its_graph_is_compacted() {
    check_imports(59);
}

/// Imports a graph so many times while it is compacted.
fn check_imports(imports: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let import = |number: u64| {
        let edges = [(0, number)];
        Import::new().slice(&edges).memory("64MiB").threads(1).overwrite().run(&path).unwrap();
    };
    import(1);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let compactions = scope.spawn(|| {
            let mut done = 0;
            while !is_done.load(Ordering::Relaxed) {
                match Compact::new(&path).memory("64MiB").threads(1).run() {
                    Ok(_) => done += 1,
                    Err(Error::Locked { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            done
        });
        for number in 2..=imports {
            import(number);
            assert_eq!(exported(&Graph::open(&path).unwrap()), [format!("0\t{number}")]);
            std::thread::sleep(std::time::Duration::from_millis(number % 7 * 5));
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(compactions.join().unwrap() > 0);
    });
    assert_eq!(names(&folder), ["g.cenote"]);
}

#[test]
fn no_change_is_lost_while_the_file_is_replaced_again_and_again() {
    check_changes(8);
}

#[test]
#[ignore = "long: make soak"]
fn longer_no_change_is_lost_while_the_file_is_replaced_again_and_again() {
    check_changes(20);
}

/// The least commits beside these compactions.
const COMMITS_MIN: u32 = 10;

/// Compacts a graph so many times while three writers change it.
fn check_changes(compactions: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    Import::new().slice(&[(0u64, 1u64)]).memory("64MiB").run(&path).unwrap();
    let (is_done, commits) = (AtomicBool::new(false), AtomicU32::new(0));
    let (mut committed, mut compacted) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..=3u64)
            .map(|writer| {
                let (path, is_done, commits) = (&path, &is_done, &commits);
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    let numbers = writer * 1_000_000..;
                    for number in numbers.take_while(|_| !is_done.load(Ordering::Relaxed)) {
                        let mut update = match Update::open(path) {
                            Ok(update) => update,
                            Err(Error::Locked { .. }) => continue,
                            Err(error) => panic!("{error}"),
                        };
                        update.add(0, number).unwrap();
                        update.commit().unwrap();
                        drop(update);
                        mine.push(format!("0\t{number}"));
                        commits.fetch_add(1, Ordering::Relaxed);
                        // Else this writer mostly takes the lock again before others see it free.
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                    mine
                })
            })
            .collect();
        let started = std::time::Instant::now();
        // On some days a compaction is over before a writer comes to its turn.
        let goes_on =
            |compacted| compacted < compactions || commits.load(Ordering::Relaxed) <= COMMITS_MIN;
        while goes_on(compacted) && started.elapsed().as_secs() < 60 {
            match Compact::new(&path).memory("64MiB").threads(1).run() {
                Ok(_) => compacted += 1,
                Err(Error::Locked { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        is_done.store(true, Ordering::Relaxed);
        committed.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
    });
    let enough = committed.len() > COMMITS_MIN as usize;
    assert!(compacted > 3 && enough, "{compacted}, {}", committed.len());
    committed.push("0\t1".to_owned());
    committed.sort();
    assert_eq!(exported(&Graph::open(&path).unwrap()), committed);
    assert_whole(&path, "after all");
    assert_eq!(names(&folder), ["g.cenote"]);
}

//! Batches that are large: their memory, and what is written of them beside lists.

use cenote::{Error, Graph, IdRef, Import, Op, Update};

use crate::update::stored;

#[test]
fn a_batch_that_does_not_fit_the_memory_says_so_and_can_be_committed_in_parts() {
    let (_folder, path) = stored();
    let error = Update::options().memory("1MiB").open(&path).unwrap_err();
    let Error::MemoryBudget { needed, .. } = error else { panic!("{error:?}") };
    let mut update = Update::options().memory(2 * needed).open(&path).unwrap();
    let error = (0..).find_map(|i| update.add(i, "b").err()).unwrap();
    assert!(matches!(error, Error::MemoryBudget { .. }), "{error:?}");
    assert!(error.to_string().contains("`memory`"), "{error}");
    let held = update.len();
    assert!((10..1_000_000).contains(&held), "{held}");
    // Each change has a new vertex, for which there is no room beside all changes.
    let Error::MemoryBudget { needed, .. } = update.commit().unwrap_err() else { panic!() };
    assert_eq!(update.len(), held);
    let (mut added, mut commits) = (0, 0);
    while !update.is_empty() {
        let report = update.commit_what_fits().unwrap();
        assert!(report.added > 0 && report.added == report.new_vertices);
        assert_eq!(report.answers.len() as u64, report.added);
        (added, commits) = (added + report.added, commits + 1);
        assert_eq!(held - update.len(), added as usize);
    }
    assert!(added == held as u64 && commits > 1, "{commits} commits");
    let (_folder, path) = stored();
    let mut update = Update::options().memory(needed).open(&path).unwrap();
    (0..held).for_each(|i| update.add(i, "b").unwrap());
    assert_eq!(update.commit().unwrap().new_vertices, held as u64);
    // All are known now.
    (0..held / 2).for_each(|i| update.delete(i, "b").unwrap());
    assert_eq!(update.commit().unwrap().deleted, held as u64 / 2);
}

#[test]
fn many_changes_have_the_memory_that_the_log_does_not_need() {
    const MEMORY: usize = 64 << 20;
    // As the documents say.
    const CHANGE: usize = 96;
    let (_folder, path) = stored();
    let mut update = Update::options().memory(MEMORY as u64).open(&path).unwrap();
    while update.delete("a", "b").is_ok() {}
    // It would be less than a third with the quarter that is the log's.
    let bytes = update.len() * CHANGE;
    assert!((MEMORY * 2 / 5..MEMORY * 3 / 4).contains(&bytes), "{bytes} bytes of changes");
}

/// So many that pages of lengths are written while lists still are: more than 128 of 4 KiB.
#[test]
fn the_lengths_of_many_lists_follow_their_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let n = 700_000u64;
    let path_edges = (0..n - 1).map(|v| (v, v + 1));
    Import::new().edges(path_edges).memory("256MiB").run(&path).unwrap();
    let mut update = Update::options().memory("512MiB").open(&path).unwrap();
    // First nearly all pages of lengths change, as a run and as lists, then a few, of new ones too.
    for step in [3, 4, 90_000] {
        (0..n).step_by(step).for_each(|v| update.add(v, v + step as u64).unwrap());
        update.commit().unwrap();
        update.merge().unwrap();
        let report = Graph::check(&path, &mut |_, _| true).unwrap();
        assert!(report.is_whole(), "{report:?}");
    }
}

/// With more memory more is kept, and merges run beside commits: neither may take what the next
/// changes need.
#[test]
#[ignore = "long: make soak"]
fn longer_what_begins_with_some_memory_also_ends_with_it() {
    let edges = |seed: u64| {
        (0..1_500_000u64).map(move |i| {
            let mixed = |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let hash = |i| (mixed(i) ^ (mixed(i) >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
            (hash(2 * i), hash(2 * i + 1))
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    Import::new().edges(edges(0)).memory("256MiB").run(&path).unwrap();
    for mebibytes in [36, 42, 48, 54] {
        let copy = folder.path().join("copy.cenote");
        std::fs::copy(&path, &copy).unwrap();
        let mut update = Update::options().memory(mebibytes << 20).open(&copy).unwrap();
        let mut added = 0;
        for (source, target) in edges(1 << 40) {
            let [source, target] = [source, target].map(IdRef::Integer);
            while !update.has_room([source, target]) {
                added += update.commit_what_fits().unwrap().added;
            }
            update.push(Op::Add, [source, target], None).unwrap();
        }
        while !update.is_empty() {
            added += update.commit_what_fits().unwrap().added;
        }
        assert!(added > 1_400_000, "{added} with {mebibytes} MiB");
    }
}

/// After a merge of changes all over the graph, its lists lie in many places.
#[test]
fn an_estimate_knows_the_requests_for_lists_in_many_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let n = 300_000u64;
    let path_edges = (0..n - 1).map(|v| (v, v + 1));
    Import::new().edges(path_edges).memory("256MiB").run(&path).unwrap();
    let mut requests = Vec::new();
    for round in 0..2 {
        let graph = Graph::open(&path).unwrap();
        let run = || graph.wcc().memory("64MiB");
        let (estimate, answer) = (run().estimate().unwrap(), run().run().unwrap());
        let (expected, found) = (estimate.plan.read_requests, answer.stats().read_requests);
        assert!(found.abs_diff(expected) <= 2 + expected / 8, "{found}, {expected} expected");
        assert_eq!(answer.stats().bytes_read, estimate.plan.bytes_read);
        requests.push(found);
        let mut update = Update::open(&path).unwrap();
        (0..n).step_by(13_000).for_each(|v| update.add(v, (v * 7 + 99_999 + round) % n).unwrap());
        update.commit().unwrap();
        let dirty = Graph::open(&path).unwrap().info().unwrap().dirty_pages;
        let merged = update.merge().unwrap();
        // Others are those of indexes.
        assert!((30..=merged.pages_written).contains(&dirty), "{dirty} of {merged:?}");
        assert_eq!(Graph::open(&path).unwrap().info().unwrap().dirty_pages, 0);
    }
    assert!(requests[1] > 2 * requests[0], "{requests:?}");
}

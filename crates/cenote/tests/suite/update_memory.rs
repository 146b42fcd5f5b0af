//! The memory of batches.

use cenote::{Error, Update};

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

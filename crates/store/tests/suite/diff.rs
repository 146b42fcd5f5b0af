//! What changed between two states, against the sets of their edges; and how little is read for it.

use crate::graphs::model::{Model, add, changes, delete};
use crate::graphs::{MemoryDevice, TestGraph};
use cenote_store::{Change, Direction, Graph, Op, Store, StoreError, Weight, for_each_change};

/// Checks what is told to have changed between two states.
pub fn assert_diff((before, old): (&Graph, &Model), (after, new): (&Graph, &Model)) {
    let mut expected = Vec::new();
    for &(u, v) in old.edges.union(&new.edges) {
        let [was, is] = [old, new].map(|model| model.edges.contains(&(u, v)));
        let copies = [old, new].map(|model| model.copies.get(&(u, v)).cloned().unwrap_or_default());
        if new.first.duplicates_kept {
            for (op, weight) in copies_that_differ(&copies) {
                expected.push((Change { op, source: u, target: v }, weight));
            }
            continue;
        }
        let [before, after] = copies.map(|copies| copies.first().copied().flatten());
        let told = match (was, is) {
            (true, true) if before == after => continue,
            (true, true) => (Op::Set, after),
            (false, _) => (Op::Add, after),
            (true, false) => (Op::Delete, before),
        };
        expected.push((Change { op: told.0, source: u, target: v }, told.1));
    }
    let edges = expected.len();
    let is_live = |model: &Model, v: u32| v < model.vertices() && !model.deleted.contains(&v);
    let has_edge = |v: u32| new.edges.iter().any(|edge| edge.0 == v || edge.1 == v);
    let all = || 0..new.vertices();
    let added = all().filter(|v| is_live(new, *v) && !is_live(old, *v));
    let deleted = all().filter(|v| is_live(old, *v) && !is_live(new, *v));
    let counts_of_vertices = (added.clone().count() as u64, deleted.clone().count() as u64);
    let alone = added.filter(|v| !has_edge(*v));
    expected.extend(alone.map(|v| (Change::of_vertex(Op::AddVertex, v), None)));
    expected.extend(deleted.map(|v| (Change::of_vertex(Op::DeleteVertex, v), None)));
    let mut found = Vec::new();
    let mut progress = (0, 0);
    let report = for_each_change::<StoreError>(
        before,
        after,
        &mut |done, all| {
            assert!(progress.0 <= done && done <= all, "{done} of {all} pages");
            progress = (done, all);
        },
        &mut |change, weight| {
            found.push((change, weight));
            Ok(())
        },
    )
    .unwrap();
    assert_eq!(found, expected);
    let count = |op| expected[..edges].iter().filter(|(change, _)| change.op == op).count() as u64;
    let counts = [report.added, report.deleted, report.reweighed];
    assert_eq!(counts, [Op::Add, Op::Delete, Op::Set].map(count));
    assert_eq!((report.new_vertices, report.deleted_vertices), counts_of_vertices);
    assert_eq!(progress, (report.pages, report.pages));
    let same =
        for_each_change::<StoreError>(after, after, &mut |_, _| {}, &mut |_, _| unreachable!())
            .unwrap();
    assert!(after.has_logged() || same.pages_read == 0, "nothing changed");
}

/// The copies of an edge that only one of two states has, by ascending weight.
fn copies_that_differ([old, new]: &[Vec<Option<Weight>>; 2]) -> Vec<(Op, Option<Weight>)> {
    let mut weights: Vec<Option<Weight>> = old.iter().chain(new).copied().collect();
    weights.sort_by(|a, b| a.map(Weight::to_f64).partial_cmp(&b.map(Weight::to_f64)).unwrap());
    weights.dedup();
    let of_weight = |weight| {
        let [before, after] =
            [old, new].map(|copies| copies.iter().filter(|c| **c == weight).count());
        let op = if before > after { Op::Delete } else { Op::Add };
        std::iter::repeat_n((op, weight), before.abs_diff(after))
    };
    weights.into_iter().flat_map(of_weight).collect()
}

/// 2,000 lists of 900 entries, and a store of them: about a page each.
pub fn a_list_a_page() -> (Store, Vec<Vec<u32>>) {
    let lists: Vec<Vec<u32>> = (0..2000).map(|v| (v..v + 900).map(|u| 2 * u).collect()).collect();
    let mut out = lists.clone();
    out.resize(2 * 2900, Vec::new());
    let device = MemoryDevice::default();
    let graph = TestGraph { duplicates_kept: false, directed: true, ..TestGraph::with_lists(out) };
    graph.write(&device, usize::MAX).unwrap();
    (Store::open(device.shared()).unwrap(), lists)
}

#[test]
fn a_change_of_one_page_is_found_by_reading_few() {
    let (store, _) = a_list_a_page();
    let before = store.graph(|_| Default::default()).unwrap();
    store.update(&changes([add(1000, 1), delete(1000, 2000)])).unwrap();
    let after = store.graph(|_| Default::default()).unwrap();
    let mut found = Vec::new();
    let report =
        for_each_change::<StoreError>(&before, &after, &mut |_, _| {}, &mut |change, _| {
            found.push(change);
            Ok(())
        })
        .unwrap();
    assert_eq!(found, [add(1000, 1), delete(1000, 2000)]);
    assert!(report.pages > 3000 && report.pages_read <= 4, "{report:?}");
    // Changes of the log, in a page of a list of many.
    let hub: Vec<(u32, u32)> = (0..40_000).map(|v| (7, v)).collect();
    let graph = TestGraph { duplicates_kept: false, ..TestGraph::directed(40_000, &hub) };
    let device = MemoryDevice::default();
    graph.write(&device, usize::MAX).unwrap();
    let hub = Store::open(device.shared()).unwrap();
    let earlier = hub.graph(|_| Default::default()).unwrap();
    hub.commit(&changes([delete(7, 20_000), add(9, 3)])).unwrap();
    let later = hub.graph(|_| Default::default()).unwrap();
    assert_eq!(later.logged_changes(), 2);
    let logged =
        for_each_change::<StoreError>(&earlier, &later, &mut |_, _| {}, &mut |_, _| Ok(()));
    let logged = logged.unwrap();
    assert_eq!((logged.added, logged.deleted), (1, 1));
    assert!(logged.pages > 70 && logged.pages_read <= 4, "{logged:?}");
    // The other way round it is no later state unless the vertices are the same.
    let back =
        for_each_change::<StoreError>(&after, &before, &mut |_, _| {}, &mut |_, _| Ok(())).unwrap();
    assert_eq!((back.added, back.deleted), (1, 1));
    let other = TestGraph { duplicates_kept: false, ..TestGraph::undirected(3, &[(0, 1)]) };
    let device = MemoryDevice::default();
    other.write(&device, usize::MAX).unwrap();
    let stranger = Graph::open(device.shared()).unwrap();
    let error =
        for_each_change::<StoreError>(&after, &stranger, &mut |_, _| {}, &mut |_, _| Ok(()));
    assert!(matches!(error, Err(StoreError::NotComparable { .. })), "{error:?}");
}

/// Pages are read by another thread than the one that changes them, a window ahead.
#[test]
fn a_batch_that_changes_more_pages_than_a_window_holds_changes_each() {
    let (store, mut lists) = a_list_a_page();
    let before = store.graph(|_| Default::default()).unwrap();
    let batch: Vec<Change> =
        (0..2000).rev().flat_map(|v| [delete(v, 2 * v + 2), add(v, 1), add(v, 1)]).collect();
    let updated = store.update(&changes(batch)).unwrap();
    assert!(updated.pages_read > 1500, "{} pages", updated.pages_read);
    let graph = store.graph(|_| Default::default()).unwrap();
    for (v, list) in (0..).zip(&mut lists) {
        list.retain(|u| *u != 2 * v + 2);
        list.push(1);
        list.sort_unstable();
        let mut found = Vec::new();
        graph.read_list(Direction::Out, v, &mut found).unwrap();
        assert_eq!(&found, list, "the list of {v}");
    }
    let report =
        for_each_change::<StoreError>(&before, &graph, &mut |_, _| {}, &mut |_, _| Ok(())).unwrap();
    assert_eq!((report.added, report.deleted, report.reweighed), (2000, 2000, 0));
}

//! Vertices that are deleted and added, through the library: what it shows of them, states before
//! and after, copies that follow the changes, and graphs of which nothing is left.

use std::path::{Path, PathBuf};

use cenote::update::ChangeAnswer;
use cenote::{Compact, Error, Graph, Import, Update};
use tempfile::TempDir;

use crate::update::{answers, exported, stored};

/// A folder with a ring of numbers, and a hub with an edge to each of them.
fn wheel(spokes: u64, directed: bool) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let ring = (1..=spokes).map(move |v| (v, v % spokes + 1));
    let edges: Vec<(u64, u64)> = ring.chain((1..=spokes).map(|v| (0, v))).collect();
    let import = Import::new().edges(edges.as_slice()).memory("64MiB");
    let import = if directed { import.directed() } else { import };
    import.run(&path).unwrap();
    (folder, path)
}

fn delete(path: &Path, vertices: impl IntoIterator<Item = u64>) {
    let mut update = Update::open(path).unwrap();
    vertices.into_iter().for_each(|vertex| update.delete_vertex(vertex).unwrap());
    update.commit().unwrap();
}

#[test]
fn a_deleted_vertex_is_gone_from_all_that_the_library_shows() {
    let (folder, path) = stored();
    let mut update = Update::open(&path).unwrap();
    update.add_vertex("island").unwrap();
    update.add_vertex("a").unwrap();
    update.delete_vertex("b").unwrap();
    update.delete_vertex("b").unwrap();
    update.delete("b", "c").unwrap();
    let report = update.commit().unwrap();
    use ChangeAnswer::{Done, Present, UnknownVertex};
    assert_eq!(report.answers, [Done, Present, Done, UnknownVertex, UnknownVertex]);
    let counts = [report.new_vertices, report.deleted_vertices, report.deleted_with_vertices];
    assert_eq!((counts, report.unknown_vertices, report.present), ([1, 1, 2], 2, 1));
    drop(update);
    let graph = Graph::open(&path).unwrap();
    assert_eq!((graph.vertices(), graph.edges()), (3, 0));
    let info = graph.info().unwrap();
    assert_eq!((info.vertices, info.deleted_vertices, info.appended_vertices), (3, 1, 1));
    assert_eq!(info.degree_max_vertex.map(|id| id.to_string()), Some("a".to_owned()));
    for error in [
        graph.vertex_of("b").map(drop).unwrap_err(),
        graph.neighbors().of("b").for_each(|_| Ok::<_, Error>(())).unwrap_err(),
        graph.bfs().source("b").run().map(drop).unwrap_err(),
        graph.pagerank().personalize("b").run().map(drop).unwrap_err(),
    ] {
        let is_unknown = matches!(error, Error::UnknownVertex { .. });
        assert!(is_unknown && error.to_string().contains("its 3 vertices have names"), "{error}");
    }
    let mut text = Vec::new();
    assert_eq!(graph.export().write_text(&mut text, &mut |_, _| {}).unwrap().isolated, 3);
    // Fewer vertices than a summary names.
    let ranks = graph.pagerank().memory("64MiB").run().unwrap();
    let top: Vec<String> =
        ranks.top(10).unwrap().into_iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(top, ["a", "c", "island"]);
    assert_eq!(ranks.report().unwrap().stats.vertices, 3);
    let table = folder.path().join("ranks.csv");
    ranks.write(&table).unwrap();
    let table = std::fs::read_to_string(table).unwrap();
    assert!(table.lines().count() == 4 && !table.contains("b,"), "{table}");
    // Once more, as a new vertex.
    let mut update = Update::open(&path).unwrap();
    update.add("b", "island").unwrap();
    let report = update.commit().unwrap();
    assert_eq!((report.added, report.new_vertices), (1, 1));
    assert_eq!(exported(&Graph::open(&path).unwrap()), ["b\tisland"]);
    assert_eq!(Graph::open(&path).unwrap().info().unwrap().deleted_vertices, 0);
}

#[test]
fn an_array_of_values_has_a_row_for_each_vertex_that_is_left() {
    let (folder, path) = wheel(9, false);
    delete(&path, [0, 4]);
    let graph = Graph::open(&path).unwrap();
    let file = folder.path().join("levels.npy");
    graph.bfs().source(1).memory("64MiB").run().unwrap().write(&file).unwrap();
    let bytes = std::fs::read(file).unwrap();
    let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
    assert!(header.contains("(8, )"), "{header}");
    let data = bytes.len() - 8 * 16;
    let row = |at: usize, field: usize| {
        let from = data + at * 16 + field * 8;
        i64::from_le_bytes(bytes[from..from + 8].try_into().unwrap())
    };
    let rows: Vec<_> = (0..8).map(|at| (row(at, 0), row(at, 1))).collect();
    let expected = [(1, 0), (2, 1), (3, 2), (5, 5), (6, 4), (7, 3), (8, 2), (9, 1)];
    assert_eq!(rows, expected);
}

#[test]
fn a_snapshot_keeps_its_vertices_and_the_changes_since_make_a_copy_the_same() {
    for directed in [false, true] {
        let (folder, path) = wheel(40, directed);
        let copy = folder.path().join("copy.cenote");
        std::fs::copy(&path, &copy).unwrap();
        let mut update = Update::open(&path).unwrap();
        update.snapshot("before").unwrap();
        for vertex in [3, 9, 40, 0] {
            update.delete_vertex(vertex).unwrap();
        }
        update.add_vertex(77).unwrap();
        update.add(78, 3).unwrap();
        update.add(1, 20).unwrap();
        update.commit().unwrap();
        update.delete_vertex(78).unwrap();
        update.commit().unwrap();
        let (before, after) =
            (Graph::open_at(&path, "before").unwrap(), Graph::open(&path).unwrap());
        assert_eq!((before.vertices(), after.vertices()), (41, 39));
        let mut lines = Vec::new();
        let report = after.diff(&before).write_text(&mut lines, &mut |_, _| {}).unwrap();
        assert_eq!((report.new_vertices, report.deleted_vertices), (1, 3));
        let lines = String::from_utf8(lines).unwrap();
        let alone: Vec<&str> = lines.lines().filter(|line| line.split(' ').count() == 2).collect();
        assert_eq!(alone, ["+ 77", "- 0", "- 9", "- 40"], "{lines}");
        let mut follow = Update::open(&copy).unwrap();
        for line in lines.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["+", u, v] => follow.add(u, v).unwrap(),
                ["-", u, v] => follow.delete(u, v).unwrap(),
                ["+", u] => follow.add_vertex(u).unwrap(),
                ["-", u] => follow.delete_vertex(u).unwrap(),
                _ => panic!("{line}"),
            }
        }
        let done = follow.commit().unwrap();
        assert!(done.answers.iter().all(|answer| *answer == ChangeAnswer::Done), "{done:?}");
        let copied = Graph::open(&copy).unwrap();
        assert_eq!(exported(&copied), exported(&after));
        assert!(answers(&copied, "1") == answers(&after, "1"));
        let whole = Graph::check(&path, &mut |_, _| true).unwrap();
        assert!(whole.is_whole(), "{:?}", whole.faults);
        // An earlier answer is of no use where edges were deleted, and of use where vertices came.
        let answer = after.wcc().memory("64MiB").run().unwrap();
        update.add_vertex(9).unwrap();
        update.commit().unwrap();
        let later = Graph::open(&path).unwrap();
        let since = later.wcc().since(answer).memory("64MiB").verify(true).run().unwrap();
        let alone = later.wcc().memory("64MiB").run().unwrap();
        assert!(since.since.is_some() && since.components == alone.components);
    }
}

#[test]
fn a_graph_without_a_vertex_left_is_as_one_without_any() {
    let (_folder, path) = wheel(5, true);
    delete(&path, 0..=5);
    let graph = Graph::open(&path).unwrap();
    assert_eq!((graph.vertices(), graph.edges()), (0, 0));
    assert_eq!(graph.info().unwrap().degree_max_vertex, None);
    let memory = "64MiB";
    let ranks = graph.pagerank().memory(memory).verify(true).run().unwrap();
    assert_eq!(ranks.top(3).unwrap(), []);
    assert_eq!(graph.wcc().memory(memory).verify(true).run().unwrap().components, 0);
    assert_eq!(graph.scc().memory(memory).verify(true).run().unwrap().components, 0);
    assert_eq!(graph.mis().memory(memory).verify(true).run().unwrap().size, 0);
    assert!(exported(&graph).is_empty());
    for error in [
        graph.bfs().memory(memory).run().map(drop).unwrap_err(),
        graph.walk().walkers(3).memory(memory).run().map(drop).unwrap_err(),
    ] {
        assert!(error.to_string().contains("vert"), "{error}");
    }
    let mut update = Update::open(&path).unwrap();
    update.add(2, 9).unwrap();
    assert_eq!(update.commit().unwrap().new_vertices, 2);
    drop(update);
    let report = Compact::new(&path).memory("64MiB").run().unwrap();
    assert_eq!((report.vertices, report.edges, report.deleted_vertices), (2, 1, 5));
    let graph = Graph::open(&path).unwrap();
    assert_eq!((graph.vertices(), exported(&graph)), (2, vec!["2\t9".to_owned()]));
    assert_eq!(graph.info().unwrap().deleted_vertices, 0);
}

#[test]
fn values_are_set_removed_exported_and_kept_by_a_compaction() {
    let (folder, path) = wheel(30, false);
    let mut update = Update::open(&path).unwrap();
    for vertex in 0..20 {
        update.set_value(vertex, 100 - vertex).unwrap();
    }
    update.set_value(7, 1).unwrap();
    update.remove_value(3).unwrap();
    update.remove_value(29).unwrap();
    update.set_value(500, 1).unwrap();
    let error = update.set_value(1, -1).unwrap_err();
    assert!(error.to_string().contains("the value `-1`: expected an integer from 0"), "{error}");
    update.delete_vertex(9).unwrap();
    let report = update.commit().unwrap();
    assert_eq!((report.values_set, report.values_removed, report.absent), (21, 1, 1));
    assert_eq!((report.unknown_vertices, report.deleted_vertices), (1, 1));
    update.snapshot("before").unwrap();
    update.set_value(29, u64::MAX).unwrap();
    update.commit().unwrap();
    drop(update);
    let graph = Graph::open(&path).unwrap();
    assert_eq!(graph.value(7).unwrap(), Some(cenote::Value::U64(1)));
    assert_eq!(graph.value(25).unwrap(), None);
    assert!(matches!(graph.value(9), Err(Error::UnknownVertex { .. })));
    let values = graph.info().unwrap().values.unwrap();
    assert_eq!((values.r#type, values.count), ("u64", 19));
    let export = |graph: &Graph| {
        let out = folder.path().join("values.tsv");
        let counts = graph.export().write_vertices(&out).unwrap();
        (counts, std::fs::read_to_string(out).unwrap())
    };
    let (counts, text) = export(&graph);
    assert_eq!(counts, (30, 19));
    let line = |v: u64| match v {
        3 | 20..=28 | 30 => format!("{v}\n"),
        7 => "7\t1\n".to_owned(),
        29 => format!("29\t{}\n", u64::MAX),
        _ => format!("{v}\t{}\n", 100 - v),
    };
    assert_eq!(text, (0..=30).filter(|v| *v != 9).map(line).collect::<String>());
    assert_eq!(export(&Graph::open_at(&path, "before").unwrap()).0, (30, 18));
    let copy = folder.path().join("copy.cenote");
    for order in [cenote_store::Order::Degree, cenote_store::Order::Natural] {
        let compact = Compact::new(&path).out(&copy).overwrite().order(order).memory("64MiB");
        let report = compact.run().unwrap();
        assert_eq!(report.bytes_after, copy.metadata().unwrap().len());
        let compacted = Graph::open(&copy).unwrap();
        assert_eq!(export(&compacted).1, text, "{order:?}");
        assert_eq!(compacted.info().unwrap().deleted_vertices, 0);
        assert!(Graph::check(&copy, &mut |_, _| true).unwrap().is_whole());
    }
    let refused = Update::options().values(cenote::ValueType::F64).open(&path).unwrap_err();
    assert!(refused.to_string().contains("its values are of type u64, not f64"), "{refused}");
    assert!(answers(&graph, "1") == answers(&Graph::open(&copy).unwrap(), "1"));
}

#[test]
fn a_vertex_with_more_edges_than_the_memory_holds_is_an_error_that_says_how_much() {
    let (_folder, path) = wheel(60_000, true);
    let before = std::fs::read(&path).unwrap();
    let needed = match Update::options().memory(1).open(&path) {
        Err(Error::MemoryBudget { needed, .. }) => needed,
        other => panic!("{other:?}"),
    };
    let mut update = Update::options().memory(needed).open(&path).unwrap();
    update.delete_vertex(0).unwrap();
    let error = update.commit().unwrap_err();
    let Error::MemoryBudget { needed, ref what, .. } = error else { panic!("{error}") };
    assert_eq!(what, "deleting vertices with 60000 edges");
    assert!(std::fs::read(&path).unwrap() == before, "the graph has changed");
    drop(update);
    let mut update = Update::options().memory(2 * needed).open(&path).unwrap();
    update.delete_vertex(0).unwrap();
    assert_eq!(update.commit().unwrap().deleted_with_vertices, 60_000);
}

#[test]
fn repeated_edges_are_added_and_deleted_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let edges = [(1u64, 2u64), (2, 1), (2, 3)];
    let kept = folder.path().join("kept.cenote");
    Import::new().slice(&edges).memory("64MiB").keep_duplicates().run(&kept).unwrap();
    let mut update = Update::open(&kept).unwrap();
    update.add(1, 2).unwrap();
    update.delete(3, 2).unwrap();
    update.delete(3, 2).unwrap();
    update.set_value(1, 5).unwrap();
    let report = update.commit().unwrap();
    assert_eq!((report.added, report.deleted, report.absent, report.present), (1, 1, 1, 0));
    let error = update.delete_weighted(1, 2, 3).unwrap_err();
    assert!(error.to_string().contains("the edges of this graph have no weights"), "{error}");
    let graph = Graph::open(&kept).unwrap();
    let info = graph.info().unwrap();
    assert_eq!((info.edges, info.duplicates, info.duplicates_kept), (3, 2, true));
    assert_eq!(exported(&graph), ["1\t2", "1\t2", "1\t2"]);
    let missing = Update::open(folder.path().join("missing")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing:?}");
}

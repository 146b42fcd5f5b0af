//! Answers and edges as Arrow batches, and the lengths of all lists.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cenote::export::EdgeBatches;
use cenote::import::arrow_array::cast::AsArray;
use cenote::import::arrow_array::types::{Float32Type, Float64Type, UInt64Type};
use cenote::import::arrow_array::{RecordBatch, RecordBatchReader};
use cenote::import::{Order, WeightType};
use cenote::output::Batches;
use cenote::{Direction, Error, Graph, Import, Update};
use tempfile::TempDir;

fn graph(edges: &[(u64, u64)], order: Order) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let import = Import::new().slice(edges).directed().in_edges().order(order);
    import.memory("64MiB").run(&path).unwrap();
    (folder, path)
}

fn integers(batch: &RecordBatch, column: &str) -> Vec<Option<u64>> {
    let column = batch.column_by_name(column).unwrap();
    column.as_primitive::<UInt64Type>().iter().collect()
}

#[test]
fn a_batch_has_ids_in_order_and_nulls_where_nothing_is() {
    let edges = [(30, 10), (10, 20), (40, 40), (40, 30), (50, 40)];
    for order in [Order::Natural, Order::Degree] {
        let (_folder, path) = graph(&edges, order);
        let answer = Graph::open(path).unwrap().bfs().source(30).parents(true).run().unwrap();
        let mut batches = Batches::new(Arc::new(answer)).unwrap();
        let schema = batches.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["vertex", "level", "parent"]);
        let batch = batches.next().unwrap().unwrap();
        assert!(batches.next().is_none());
        assert_eq!(integers(&batch, "vertex"), [10, 20, 30, 40, 50].map(Some));
        assert_eq!(integers(&batch, "level"), [Some(1), Some(2), Some(0), None, None]);
        assert_eq!(integers(&batch, "parent"), [Some(30), Some(10), Some(30), None, None]);
    }
}

#[test]
fn many_vertices_are_several_batches_without_the_deleted_ones() {
    let path_graph: Vec<(u64, u64)> = (0..70_000).map(|v| (v, v + 1)).collect();
    let (_folder, path) = graph(&path_graph, Order::Natural);
    let mut update = Update::open(&path).unwrap();
    update.delete_vertex(5).unwrap();
    update.commit().unwrap();
    drop(update);
    let answer = Graph::open(path).unwrap().pagerank().iterations(2).run().unwrap();
    let ranks: Vec<f64> = answer.ranks().to_vec();
    let batches: Vec<_> = Batches::new(Arc::new(answer)).unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [65_535, 4465]);
    let column = |batch: &RecordBatch| batch.column(1).as_primitive::<Float64Type>().clone();
    let found: Vec<f64> = batches.iter().flat_map(|b| column(b).values().to_vec()).collect();
    let live: Vec<f64> = [&ranks[..5], &ranks[6..]].concat();
    assert_eq!(found, live);
}

#[test]
fn an_answer_without_values_has_no_batches() {
    let (_folder, path) = graph(&[(1, 2)], Order::Natural);
    let answer = Graph::open(&path).unwrap().reach().source(1).target(2).run().unwrap();
    let error = Batches::new(Arc::new(answer)).unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)), "{error}");
    assert!(error.to_string().ends_with("reach has no value per vertex"), "{error}");
    let counted = |per_vertex: bool| {
        let graph = Graph::open(&path).unwrap();
        Batches::new(Arc::new(graph.triangles().per_vertex(per_vertex).run().unwrap()))
    };
    let error = counted(false).unwrap_err().to_string();
    assert!(error.ends_with("triangles has no value per vertex without `per_vertex`"), "{error}");
    assert_eq!(counted(true).unwrap().count(), 1);
}

#[test]
fn edges_are_batches_with_ids_and_weights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let edges = [("b", "a", 1.5f32), ("c", "a", 2.0), ("b", "c", 0.25)];
    let import = Import::new().slice(&edges).weights(WeightType::F32).memory("64MiB");
    import.run(&path).unwrap();
    let open = || EdgeBatches::new(Arc::clone(Graph::open(&path).unwrap().stored())).unwrap();
    let batches: Vec<_> = open().map(Result::unwrap).collect();
    assert_eq!(batches.len(), 1);
    let names = |at: usize| -> Vec<String> {
        let column = batches[0].column(at).as_string::<i64>();
        column.iter().map(|name| name.unwrap().to_owned()).collect()
    };
    let weights = batches[0].column(2).as_primitive::<Float32Type>().values().to_vec();
    assert_eq!(names(0), ["a", "a", "b"]);
    assert_eq!(names(1), ["b", "c", "c"]);
    assert_eq!(weights, [1.5, 2.0, 0.25]);
}

#[test]
fn a_reader_of_edges_that_stops_ends_the_thread() {
    let many: Vec<(u64, u64)> = (0..400_000).map(|v| (v, v + 1)).collect();
    let (_folder, path) = graph(&many, Order::Natural);
    let graph = Graph::open(&path).unwrap();
    let mut batches = EdgeBatches::new(Arc::clone(graph.stored())).unwrap();
    assert_eq!(batches.next().unwrap().unwrap().num_rows(), 65_536);
    // It holds the graph until it ends, and dropping waits for it.
    drop(batches);
    assert_eq!(Arc::strong_count(graph.stored()), 1);
    let all = EdgeBatches::new(Arc::clone(graph.stored())).unwrap();
    assert_eq!(all.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 400_000);
}

#[test]
fn damage_is_an_error_of_a_batch() {
    let many: Vec<(u64, u64)> = (0..300_000).map(|v| (v, v + 1)).collect();
    let (_folder, path) = graph(&many, Order::Natural);
    let intact = Graph::open(&path).unwrap();
    let page = intact.stored().adjacency(Direction::Out).unwrap().first_page() + 3;
    drop(intact);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096 * page as usize + 100] ^= 1;
    fs::write(&path, bytes).unwrap();
    let graph = Graph::open(&path).unwrap();
    let error = EdgeBatches::new(Arc::clone(graph.stored())).unwrap().find_map(Result::err);
    let message = error.unwrap().to_string();
    assert!(message.contains("g.cenote"), "{message}");
}

#[test]
fn degrees_are_those_of_all_lists() {
    let edges = [(1, 2), (1, 3), (2, 3), (9, 1)];
    let (_folder, path) = graph(&edges, Order::Natural);
    let graph = Graph::open(&path).unwrap();
    assert_eq!(graph.degrees(Direction::Out).unwrap(), [2, 1, 0, 1]);
    assert_eq!(graph.degrees(Direction::In).unwrap(), [1, 1, 2, 0]);
    let mut update = graph.update().unwrap();
    update.add(3, 77).unwrap();
    update.delete(1, 2).unwrap();
    update.commit().unwrap();
    let graph = Graph::open(&path).unwrap();
    assert_eq!(graph.degrees(Direction::Out).unwrap(), [1, 1, 1, 1, 0]);
    let plain = path.with_file_name("h.cenote");
    Import::new().slice(&edges).directed().memory("64MiB").run(&plain).unwrap();
    let error = Graph::open(&plain).unwrap().degrees(Direction::In).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
}

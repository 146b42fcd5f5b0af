//! Exported edges are the graph's, each once, in the user's ids.

use std::io::{self, Write};

use crate::graphs::{Random, TestGraph, TestIds};
use cenote::export::{ExportReport, export_parquet, export_text};
use cenote_store::StoreError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

fn text_of(graph: &TestGraph) -> (String, ExportReport) {
    let mut out = Vec::new();
    let report = export_text(&graph.store(), &mut out, &mut |_, _| {}).unwrap();
    (String::from_utf8(out).unwrap(), report)
}

/// Every edge once, by the ids: what both exports should give.
fn edges_of(graph: &TestGraph) -> Vec<(String, String)> {
    let mut edges = Vec::new();
    for (u, list) in graph.out.iter().enumerate() {
        for &v in list.iter().filter(|v| graph.directed || u as u32 <= **v) {
            edges.push((graph.id_of(u).to_string(), graph.id_of(v as usize).to_string()));
        }
    }
    edges
}

fn parquet_of(graph: &TestGraph) -> Vec<(String, String)> {
    let file = tempfile::tempfile().unwrap();
    let out = file.try_clone().unwrap();
    let report = export_parquet(&graph.store(), out, &mut |_, _| {}).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let text = |field: &Field| match field {
        Field::ULong(integer) => integer.to_string(),
        Field::Str(string) => string.clone(),
        other => panic!("a column of another type: {other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let columns: Vec<_> = row.get_column_iter().collect();
        assert_eq!((columns[0].0.as_str(), columns[1].0.as_str()), ("source", "target"));
        (text(columns[0].1), text(columns[1].1))
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(report.edges, rows.len() as u64);
    rows
}

#[test]
fn undirected_edges_are_written_once_as_text() {
    let graph = TestGraph::undirected(6, &[(0, 1), (1, 2), (2, 2), (4, 5)]);
    let (text, report) = text_of(&graph);
    assert_eq!(text, "0\t1\n1\t2\n2\t2\n4\t5\n");
    assert_eq!(report, ExportReport { edges: 4, isolated: 1 });
}

#[test]
fn directed_edges_keep_their_direction_and_ids() {
    let ids = TestIds::Strings(["ant", "bee", "cat"].map(String::from).to_vec());
    let graph = TestGraph { ids, ..TestGraph::directed(3, &[(2, 0), (0, 2), (2, 1)]) };
    let (text, report) = text_of(&graph);
    assert_eq!(text, "ant\tcat\ncat\tant\ncat\tbee\n");
    assert_eq!(report, ExportReport { edges: 3, isolated: 0 });
}

#[test]
fn random_graphs_are_the_same_as_text_and_as_parquet() {
    for seed in 0..6 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let edges: Vec<_> =
            (0..4000).map(|_| (random.below(900) as u32, random.below(900) as u32)).collect();
        let ids = match seed % 3 {
            0 => TestIds::Dense,
            1 => TestIds::Integers((0..900).map(|v| u64::MAX - 1800 + 2 * v).collect()),
            _ => TestIds::Strings((0..900).map(|v| format!("v{v:03}")).collect()),
        };
        let graph = if seed < 3 {
            TestGraph::undirected(900, &edges)
        } else {
            TestGraph::directed(900, &edges)
        };
        let graph = TestGraph { ids, ..graph };
        let expected = edges_of(&graph);
        let lines: String = expected.iter().map(|(u, v)| format!("{u}\t{v}\n")).collect();
        assert_eq!(text_of(&graph).0, lines);
        assert_eq!(parquet_of(&graph), expected);
    }
}

#[test]
fn ids_that_a_line_of_text_cannot_hold_ask_for_parquet() {
    for id in ["", "a b", "a\tb", "a\nb", "#a", "%a", "a,b"] {
        let mut ids = vec![id.to_owned(), "z".to_owned()];
        ids.sort();
        let graph = TestGraph { ids: TestIds::Strings(ids), ..TestGraph::undirected(2, &[(0, 1)]) };
        let mut out = Vec::new();
        let error = export_text(&graph.store(), &mut out, &mut |_, _| {}).unwrap_err().to_string();
        assert!(error.contains("export to Parquet"), "{error}");
        assert!(out.is_empty(), "nothing was written before");
        assert_eq!(parquet_of(&graph), edges_of(&graph));
    }
}

/// Takes a few bytes, then fails.
struct Broken(usize);

impl Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn closed_pipe_is_distinguished_from_other_faults() {
    let edges: Vec<_> = (0..50_000).map(|v| (v, v + 1)).collect();
    let graph = TestGraph::undirected(50_001, &edges).store();
    let is_pipe = |error: StoreError| match error {
        StoreError::Export { source } => source.kind() == io::ErrorKind::BrokenPipe,
        other => panic!("{other}"),
    };
    let room = || Broken(100);
    assert!(is_pipe(export_text(&graph, &mut room(), &mut |_, _| {}).unwrap_err()));
    assert!(is_pipe(export_parquet(&graph, room(), &mut |_, _| {}).unwrap_err()));
}

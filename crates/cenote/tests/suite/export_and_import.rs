//! What an export writes is what an import of it stores again.

use std::fmt::Write;
use std::path::Path;

use cenote::export::{export_parquet, export_text};
use cenote_device::backend::file::{self, OpenOptions};
use cenote_import::{ImportConfig, InputSpec, NoProgress, import};
use cenote_store::{Direction, Graph, Weight, WeightType};
use tempfile::TempDir;

type Edges = Vec<(u32, u32, Weight)>;

fn config(kind: WeightType) -> ImportConfig {
    let weights = Some(kind);
    ImportConfig { directed: true, weights, memory_bytes: 64 << 20, ..ImportConfig::default() }
}

fn input(folder: &TempDir, name: &str, bytes: &[u8]) -> InputSpec {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    InputSpec::new(path)
}

fn open(path: &Path) -> Graph {
    Graph::open(file::open(path, &OpenOptions::reading()).unwrap()).unwrap()
}

/// Every entry of a direction's lists with its weight, through look-ups.
fn entries(graph: &Graph, direction: Direction) -> Edges {
    let mut all = Vec::new();
    for vertex in 0..graph.vertices() as u32 {
        let (mut list, mut weights) = (Vec::new(), Vec::new());
        graph.read_list(direction, vertex, &mut list).unwrap();
        graph.read_weights(direction, vertex, &mut weights).unwrap();
        assert_eq!(list.len(), weights.len(), "every entry of {vertex} has a weight");
        all.extend(list.into_iter().zip(weights).map(|(entry, weight)| (vertex, entry, weight)));
    }
    all
}

fn imported(specs: &[InputSpec], config: &ImportConfig) -> Result<(Graph, Edges), String> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("g.cenote");
    import(specs, &out, config, &NoProgress).map_err(|error| error.to_string())?;
    let graph = open(&out);
    let entries = entries(&graph, Direction::Out);
    Ok((graph, entries))
}

#[test]
fn what_is_exported_is_imported_as_it_was() {
    for (kind, names) in
        WeightType::NAMES.map(|(_, kind)| kind).into_iter().zip([false, true, false, true])
    {
        let id = |number: u32| if names { format!("v{number:05}") } else { number.to_string() };
        let text = (0..3000u32).fold(String::new(), |mut text, i| {
            let weight = if kind.is_integer() { f64::from(i * 7) } else { f64::from(i) / 7.0 };
            writeln!(text, "{} {} {weight}", id(i % 61), id(i * 31 % 997)).unwrap();
            text
        });
        let folder = tempfile::tempdir().unwrap();
        let directed = ImportConfig { keep_self_loops: true, ..config(kind) };
        let (graph, entries) =
            imported(&[input(&folder, "a.el", text.as_bytes())], &directed).unwrap();
        let summary = graph.superblock().weights.unwrap();
        let weights: Vec<f64> = entries.iter().map(|(_, _, weight)| weight.to_f64()).collect();
        assert_eq!(
            summary.min().unwrap().to_f64(),
            weights.iter().copied().fold(f64::MAX, f64::min)
        );
        assert_eq!(summary.max().unwrap().to_f64(), weights.iter().copied().fold(0.0, f64::max));
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        assert!((summary.mean() - mean).abs() < 1e-9 * mean, "{} {mean}", summary.mean());
        let (mut text, mut columns) = (Vec::new(), Vec::new());
        export_text(&graph, &mut text, &mut |_, _| {}).unwrap();
        export_parquet(&graph, &mut columns, &mut |_, _| {}).unwrap();
        for (name, bytes) in [("again.txt", text), ("again.parquet", columns)] {
            let again = imported(&[input(&folder, name, &bytes)], &directed).unwrap();
            assert!(again.1 == entries, "{name}, {}", kind.name());
        }
    }
}

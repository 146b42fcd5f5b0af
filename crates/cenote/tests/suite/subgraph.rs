//! Subgraphs are the edges between the chosen vertices, with ids and weights.

use std::collections::BTreeSet;
use std::path::Path;

use cenote::import::WeightType;
use cenote::{Error, Graph, Import};

const VERTICES: u64 = 400;

/// Edges of a grid of 20 columns with a hub, each with a weight.
fn edges() -> Vec<(u64, u64, f64)> {
    let mut edges = Vec::new();
    for v in 0..VERTICES {
        let weight = (v % 7) as f64 / 4.0;
        if v % 20 < 19 {
            edges.push((10 * v, 10 * (v + 1), weight));
        }
        if v + 20 < VERTICES {
            edges.push((10 * v, 10 * (v + 20), weight + 1.0));
        }
        if v % 3 == 0 && v > 0 {
            edges.push((0, 10 * v + 1, 5.0));
        }
    }
    edges
}

/// The given vertices and those at most so many hops away along edges.
fn near(given: &[u64], hops: u32, directed: bool) -> BTreeSet<u64> {
    let mut chosen: BTreeSet<u64> = given.iter().copied().collect();
    for _ in 0..hops {
        let before = chosen.clone();
        for (source, target, _) in edges() {
            if before.contains(&source) {
                chosen.insert(target);
            }
            if !directed && before.contains(&target) {
                chosen.insert(source);
            }
        }
    }
    chosen
}

/// The lines of an export, sorted.
fn lines(path: &Path) -> BTreeSet<String> {
    let mut text = Vec::new();
    let graph = Graph::open(path).unwrap();
    graph.export().write_text(&mut text, &mut |_, _| {}).unwrap();
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_subgraph_has_all_edges_between_the_vertices_near_the_given_ones() {
    let folder = tempfile::tempdir().unwrap();
    for directed in [false, true] {
        let path = folder.path().join(format!("{directed}.cenote"));
        let import = Import::new().edges(edges()).weights(WeightType::F64).memory("64MiB");
        let import = if directed { import.directed().in_edges() } else { import };
        import.run(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        for (given, hops) in [(vec![0], 1), (vec![210, 3990], 2), (vec![0, 10, 31, 210], 0)] {
            let out = folder.path().join("part.cenote");
            let subgraph = graph.subgraph().hops(hops).memory("64MiB").threads(2).overwrite(true);
            let subgraph = given.iter().fold(subgraph, |subgraph, v| subgraph.source(v));
            let written = subgraph.write(&out).unwrap();
            let chosen = near(&given, hops, directed);
            let between: BTreeSet<String> = edges()
                .into_iter()
                .filter(|(source, target, _)| chosen.contains(source) && chosen.contains(target))
                .map(|(source, target, weight)| format!("{source}\t{target}\t{weight:?}"))
                .collect();
            assert_eq!(lines(&out), between, "{given:?}, {hops} hops, directed {directed}");
            assert_eq!(written.vertices, chosen.len() as u64);
            assert_eq!(written.edges, between.len() as u64);
            let part = Graph::open(&out).unwrap();
            assert_eq!(part.vertices(), written.vertices);
            assert_eq!(part.stored().has_in_edges(), graph.stored().has_in_edges());
        }
    }
}

#[test]
fn names_are_kept_and_lists_of_edges_leave_out_isolated_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("names.cenote"), folder.path().join("part.tsv"));
    let pairs = [("ada", "bob"), ("bob", "cem"), ("cem", "dan"), ("7", "ada")];
    Import::new().edges(pairs).memory("64MiB").run(&path).unwrap();
    let graph = Graph::open(&path).unwrap();
    let subgraph = || graph.subgraph().source("ada").source("bob").source("dan").memory("64MiB");
    let written = subgraph().write(&out).unwrap();
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "ada\tbob\n");
    assert_eq!((written.vertices, written.edges, written.isolated), (3, 1, 1));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
    let refused = subgraph().write(&out);
    assert!(matches!(refused, Err(Error::InvalidInput(_))), "{refused:?}");
    let refused = subgraph().overwrite(true).write(&path);
    assert!(matches!(refused, Err(Error::InvalidInput(_))), "{refused:?}");
    let refused = subgraph().write(folder.path().join("part.doc"));
    assert!(matches!(refused, Err(Error::InvalidInput(_))), "{refused:?}");
    let refused = graph.subgraph().source("eve").write(folder.path().join("a.cenote"));
    assert!(matches!(refused, Err(Error::UnknownVertex { .. })), "{refused:?}");
    let refused = graph.subgraph().write(folder.path().join("a.cenote"));
    assert!(matches!(refused, Err(Error::Parameter { .. })), "{refused:?}");
}

/// The memory that an error names.
fn named_mebibytes(error: &Error) -> u64 {
    let text = error.to_string();
    let named = text.split("give at least ").nth(1).and_then(|rest| rest.split("MiB").next());
    named.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// Follows the error of a budget. Returns whether there was one.
#[track_caller]
fn follow<T: std::fmt::Debug>(memory: &str, run: impl Fn(&str) -> cenote::Result<T>) -> bool {
    let Err(error) = run(memory) else { return false };
    let named = format!("{}MiB", named_mebibytes(&error));
    if let Err(again) = run(&named) {
        panic!("{error}; {again}");
    }
    assert!(!error.to_string().contains("hub_neighbours"), "{error}");
    true
}

/// Follows the errors of some amounts of memory, for some results.
fn check_named_memory(results: &[(u32, &str)], memory: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let numbers = folder.path().join("numbers.cenote");
    let ring = (0..60_000_u64).flat_map(|v| [(v, (v + 1) % 60_000), (v, (v + 217) % 60_000)]);
    Import::new().edges(ring).memory("64MiB").run(&numbers).unwrap();
    let names = folder.path().join("names.cenote");
    let name = |v: u64| format!("a vertex with a long name {}", v % 20_000);
    let ring = (0..20_000).map(|v| (name(v), name(v + 1)));
    Import::new().edges(ring).memory("64MiB").run(&names).unwrap();
    let loops = folder.path().join("loops.cenote");
    let five = (0..5u64).map(|v| (v, v));
    Import::new().edges(five).keep_self_loops().memory("64MiB").run(&loops).unwrap();
    for (path, source) in [(numbers, "5".to_owned()), (names, name(5)), (loops, "3".to_owned())] {
        let graph = Graph::open(&path).unwrap();
        for &(hops, out) in results {
            let run = |memory: &str| {
                let subgraph = graph.subgraph().source(&source).hops(hops).overwrite(true);
                subgraph.memory(memory).threads(2).write(folder.path().join(out))
            };
            assert!(follow("1KiB", run), "1 KiB is not enough");
            for memory in memory {
                follow(memory, run);
            }
        }
    }
}

#[test]
fn the_memory_that_the_first_error_names_suffices() {
    check_named_memory(&[(0, "a.cenote"), (30, "a.parquet")], &["2MiB", "6MiB"]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_the_memory_that_the_first_error_names_suffices() {
    let results = [(0, "a.cenote"), (30, "a.parquet"), (200, "a.cenote")];
    check_named_memory(&results, &["2MiB", "4MiB", "6MiB", "9MiB", "13MiB", "20MiB"]);
}

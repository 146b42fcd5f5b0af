//! Compaction against imports from scratch: the same bytes, whatever updates came before; beside
//! readers, writers and imports.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cenote::import::IdKind;
use cenote::{Compact, Error, Graph, Import, Update};
use cenote_store::{Codec, HubNeighboursChoice, Order, WeightType};
use tempfile::TempDir;

use crate::graphs::Random;
use crate::update::answers;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Dense,
    Integers,
    Strings,
}

/// The options of a graph.
#[derive(Clone, Copy, Debug)]
struct Kind {
    names: Names,
    directed: bool,
    in_edges: bool,
    weights: Option<WeightType>,
    codec: Codec,
    order: Order,
    hub_neighbours: HubNeighboursChoice,
    self_loops: bool,
    duplicates: bool,
    page_bytes: u32,
}

impl Kind {
    fn any(random: &mut Random) -> Self {
        let weights = [None, None].into_iter().chain(WeightType::NAMES.map(|(_, kind)| Some(kind)));
        let weights: Vec<_> = weights.collect();
        let directed = random.below(2) == 0;
        let in_edges = directed && random.below(2) == 0;
        let orders = [Order::Natural, Order::Degree, Order::Bfs, Order::Random { seed: 5 }];
        let has_sources = in_edges || !directed;
        Self {
            names: [Names::Dense, Names::Integers, Names::Strings][random.below(3) as usize],
            directed,
            in_edges,
            weights: weights[random.below(weights.len() as u64) as usize],
            codec: [Codec::Raw, Codec::Packed][random.below(2) as usize],
            order: orders[random.below(4) as usize],
            hub_neighbours: match random.below(3) {
                0 if has_sources => HubNeighboursChoice::Yes,
                1 => HubNeighboursChoice::No,
                _ => HubNeighboursChoice::Auto,
            },
            self_loops: random.below(2) == 0,
            duplicates: false,
            page_bytes: if random.below(4) == 0 { 8192 } else { 4096 },
        }
    }

    fn number(self, vertex: u64) -> u64 {
        match self.names {
            Names::Dense => vertex,
            // Gaps, and an order of their own.
            _ => vertex * 7919 % 100_003 * 1_000_003,
        }
    }

    fn id(self, vertex: u64) -> String {
        match self.names {
            Names::Strings => format!("{}é", self.number(vertex)),
            _ => self.number(vertex).to_string(),
        }
    }

    fn import(self) -> Import<'static> {
        let mut import = Import::new()
            .memory("64MiB")
            .codec(self.codec)
            .order(self.order)
            .page_bytes(self.page_bytes)
            .hub_neighbours(self.hub_neighbours)
            .ids(if self.names == Names::Strings { IdKind::String } else { IdKind::Integer });
        if self.directed {
            import = import.directed();
        }
        if self.in_edges {
            import = import.in_edges();
        }
        if self.self_loops {
            import = import.keep_self_loops();
        }
        if self.duplicates {
            import = import.keep_duplicates();
        }
        match self.weights {
            Some(kind) => import.weights(kind),
            None => import,
        }
    }
}

/// What a graph should be: its vertices, and its edges with their weights.
struct Oracle {
    kind: Kind,
    vertices: BTreeSet<u64>,
    edges: BTreeMap<(u64, u64), Vec<u32>>,
}

impl Oracle {
    fn new(kind: Kind, vertices: u64, edges: u64, random: &mut Random) -> Self {
        let vertices = (0..vertices).collect::<BTreeSet<u64>>();
        let mut oracle = Self { kind, vertices, edges: BTreeMap::new() };
        let count = oracle.vertices.len() as u64;
        for _ in 0..edges {
            // A hub, others, and a third of the vertices without an edge.
            let source = random.below(count / 3 * 2) * (random.below(3) / 2);
            let edge = oracle.edge(source, random.below(count / 3 * 2));
            if edge.0 != edge.1 || kind.self_loops {
                let weights = oracle.edges.entry(edge).or_default();
                if weights.is_empty() || kind.duplicates {
                    weights.push(random.below(1000) as u32);
                }
            }
        }
        oracle
    }

    fn edge(&self, source: u64, target: u64) -> (u64, u64) {
        let turns = !self.kind.directed && source > target;
        if turns { (target, source) } else { (source, target) }
    }

    /// Imports the graph from scratch.
    fn import(&self, import: Import<'static>, path: &Path) {
        let vertices = self.vertices.clone();
        let kind = self.kind;
        let edges = self.edges.iter().flat_map(|(edge, weights)| {
            weights.iter().map(|weight| (edge.0, edge.1, f64::from(*weight)))
        });
        let edges: Vec<(u64, u64, f64)> = edges.collect();
        let import = match kind.names {
            Names::Strings => import
                .edges(edges.into_iter().map(move |(u, v, w)| (kind.id(u), kind.id(v), w)))
                .vertices(vertices.into_iter().map(move |vertex| kind.id(vertex))),
            _ => import
                .edges(edges.into_iter().map(move |(u, v, w)| (kind.number(u), kind.number(v), w)))
                .vertices(vertices.into_iter().map(move |vertex| kind.number(vertex))),
        };
        import.run(path).unwrap();
    }

    /// Changes the graph at random.
    fn change(&mut self, update: &mut Update, random: &mut Random) {
        let (kind, all) = (self.kind, self.vertices.len() as u64 * 5 / 4);
        let any = |random: &mut Random| random.below(all) * random.below(4).min(1);
        let (mut edge, op) = (self.edge(any(random), any(random)), random.below(4));
        if op < 2
            && let Some(there) = self.edges.keys().nth(random.below(97) as usize)
        {
            edge = *there;
        }
        let (source, target) = (kind.id(edge.0), kind.id(edge.1));
        let weight = random.below(1000) as u32;
        match (op, kind.weights) {
            (0, _) => {
                update.delete(source, target).unwrap();
                self.edges.remove(&edge);
                return;
            }
            (1, Some(_)) => {
                update.set_weight(source, target, weight).unwrap();
                self.edges.entry(edge).and_modify(|weights| weights[0] = weight);
                return;
            }
            (_, Some(_)) => update.add_weighted(source, target, weight).unwrap(),
            (_, None) => update.add(source, target).unwrap(),
        }
        self.vertices.extend([edge.0, edge.1]);
        if edge.0 != edge.1 || kind.self_loops {
            self.edges.entry(edge).or_insert_with(|| vec![weight]);
        }
    }
}

fn assert_whole(path: &Path, case: &str) {
    let report = Graph::check(path, &mut |_, _| {}).unwrap();
    assert!(report.is_whole(), "{case}: {:?}", report.faults);
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Compacts a graph and compares the file with that of an import from scratch.
fn assert_as_imported(oracle: &mut Oracle, path: &Path, random: &mut Random, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join(path.file_name().unwrap());
    let (memory, threads) = (32 + random.below(40), 1 + random.below(3) as usize);
    let memory = format!("{memory}MiB");
    let mut compact = Compact::new(path).memory(memory).threads(threads);
    if oracle.kind.hub_neighbours != HubNeighboursChoice::Auto {
        // Updates have removed them, so the graph does not show what was asked for.
        compact = compact.hub_neighbours(oracle.kind.hub_neighbours);
    }
    if random.below(3) == 0 {
        let order = [Order::Natural, Order::Degree, Order::Bfs][random.below(3) as usize];
        compact = compact.order(order);
        oracle.kind.order = order;
    }
    let before = path.metadata().unwrap().len();
    let report = compact.run().unwrap();
    oracle.import(oracle.kind.import().threads(2), &scratch);
    assert_whole(path, case);
    let (found, expected) = (std::fs::read(path).unwrap(), std::fs::read(&scratch).unwrap());
    let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert!(found == expected, "{case}: byte {differs:?} of {} differs", expected.len());
    assert_eq!((report.bytes_before, report.bytes_after), (before, found.len() as u64), "{case}");
    assert_eq!(report.vertices, oracle.vertices.len() as u64, "{case}");
    let edges: usize = oracle.edges.values().map(Vec::len).sum();
    assert_eq!(report.edges, edges as u64, "{case}");
}

#[test]
fn a_compacted_graph_has_the_bytes_of_an_import_from_scratch() {
    for seed in 1..=14 {
        let mut random = Random(seed);
        let kind = Kind::any(&mut random);
        let case = format!("seed {seed}: {kind:?}");
        let edges = 50 + random.below(2000);
        let mut oracle = Oracle::new(kind, 30 + random.below(300), edges, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.cenote");
        oracle.import(kind.import(), &path);
        for round in 0..2 {
            let case = format!("{case}, round {round}");
            for changes in [1, random.below(60), random.below(500)] {
                let mut update = Update::open(&path).unwrap();
                (0..changes).for_each(|_| oracle.change(&mut update, &mut random));
                update.commit().unwrap();
                if random.below(3) == 0 {
                    update.merge().unwrap();
                }
            }
            assert_as_imported(&mut oracle, &path, &mut random, &case);
        }
        assert_eq!(names(&folder), ["g.cenote"], "{case}");
    }
}

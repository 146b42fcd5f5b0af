//! Compaction against imports from scratch: the same bytes, whatever updates came before; beside
//! readers, writers and imports.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cenote::import::IdKind;
use cenote::{Compact, Direction, Error, Graph, Import, Update};
use cenote_store::{Codec, HubNeighboursChoice, Order, WeightType};
use tempfile::TempDir;

use crate::graphs::Random;
use crate::update::{answers, exported};

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
        let duplicates = random.below(3) == 0;
        let orders =
            [Order::Natural, Order::Degree, Order::Bfs, Order::Cluster, Order::Random { seed: 5 }];
        let has_sources = in_edges || !directed;
        Self {
            names: [Names::Dense, Names::Integers, Names::Strings][random.below(3) as usize],
            directed,
            in_edges,
            weights: weights[random.below(weights.len() as u64) as usize],
            codec: [Codec::Raw, Codec::Packed][random.below(2) as usize],
            order: orders[random.below(5) as usize],
            hub_neighbours: match random.below(3) {
                0 if has_sources => HubNeighboursChoice::Yes,
                1 => HubNeighboursChoice::No,
                _ => HubNeighboursChoice::Auto,
            },
            self_loops: random.below(2) == 0,
            duplicates,
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
        let vertex = random.below(all + 3);
        match random.below(20) {
            0 => {
                update.delete_vertex(kind.id(vertex)).unwrap();
                self.vertices.remove(&vertex);
                self.edges.retain(|edge, _| edge.0 != vertex && edge.1 != vertex);
                return;
            }
            1 => {
                update.add_vertex(kind.id(vertex)).unwrap();
                self.vertices.insert(vertex);
                return;
            }
            _ => {}
        }
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
            (0, kind) => {
                let mut copies = self.edges.remove(&edge).unwrap_or_default();
                copies.sort_unstable();
                if kind.is_some() && random.below(2) == 0 {
                    let last = copies.pop().unwrap_or(7);
                    update.delete_weighted(source, target, last).unwrap();
                } else {
                    update.delete(source, target).unwrap();
                    copies.drain(..copies.len().min(1));
                }
                self.edges.extend((!copies.is_empty()).then_some((edge, copies)));
                return;
            }
            (1, Some(_)) => {
                update.set_weight(source, target, weight).unwrap();
                self.edges.entry(edge).and_modify(|weights| weights.fill(weight));
                return;
            }
            (_, Some(_)) => update.add_weighted(source, target, weight).unwrap(),
            (_, None) => update.add(source, target).unwrap(),
        }
        self.vertices.extend([edge.0, edge.1]);
        if edge.0 != edge.1 || kind.self_loops {
            let copies = self.edges.entry(edge).or_default();
            copies.extend((copies.is_empty() || kind.duplicates).then_some(weight));
        }
    }
}

pub fn assert_whole(path: &Path, case: &str) {
    let report = Graph::check(path, &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{case}: {:?}", report.faults);
}

pub fn names(folder: &TempDir) -> Vec<String> {
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
        let orders = [Order::Natural, Order::Degree, Order::Bfs, Order::Cluster];
        let order = orders[random.below(4) as usize];
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
fn a_graph_without_vertices_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    Import::new().edges([(1u64, 2u64)]).memory("64MiB").run(&path).unwrap();
    let mut update = Update::open(&path).unwrap();
    update.delete_vertex(1).unwrap();
    update.delete_vertex(2).unwrap();
    update.commit().unwrap();
    drop(update);
    let before = std::fs::read(&path).unwrap();
    let refused = Compact::new(&path).memory("64MiB").run();
    let Err(Error::InvalidInput(message)) = refused else { panic!("{refused:?}") };
    assert!(
        message.ends_with("all its vertices are deleted, and a compacted graph has one at least")
    );
    assert!(std::fs::read(&path).unwrap() == before);
    assert_eq!(names(&folder), ["g.cenote"]);
}

#[test]
fn a_compacted_graph_has_the_bytes_of_an_import_from_scratch() {
    (4..=10).for_each(compact_changed);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_compacted_graph_has_the_bytes_of_an_import_from_scratch() {
    (11..=30).for_each(compact_changed);
}

fn compact_changed(seed: u64) {
    let mut random = Random(seed);
    let kind = Kind::any(&mut random);
    let case = format!("seed {seed}: {kind:?}");
    // Some with lists of several pages.
    let (vertices, edges) = if seed.is_multiple_of(5) { (6000, 20_000) } else { (300, 2000) };
    let (vertices, edges) = (30 + random.below(vertices), 50 + random.below(edges));
    let mut oracle = Oracle::new(kind, vertices, edges, &mut random);
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

/// A folder with a graph that was changed, and its oracle.
fn changed(kind: Kind, seed: u64) -> (TempDir, PathBuf, Oracle) {
    let mut random = Random(seed);
    let mut oracle = Oracle::new(kind, 200, 1500, &mut random);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    oracle.import(kind.import(), &path);
    for changes in [300, 2] {
        let mut update = Update::open(&path).unwrap();
        (0..changes).for_each(|_| oracle.change(&mut update, &mut random));
        update.commit().unwrap();
        if changes > 2 {
            update.merge().unwrap();
        }
    }
    (folder, path, oracle)
}

fn plain() -> Kind {
    Kind {
        names: Names::Strings,
        directed: false,
        in_edges: false,
        weights: None,
        codec: Codec::Raw,
        order: Order::Natural,
        hub_neighbours: HubNeighboursChoice::Auto,
        self_loops: false,
        duplicates: false,
        page_bytes: 4096,
    }
}

#[test]
fn every_algorithm_answers_as_before() {
    let directed = Kind { directed: true, in_edges: true, ..plain() };
    for (kind, order) in [
        (plain(), Order::Degree),
        (Kind { order: Order::Bfs, names: Names::Integers, ..plain() }, Order::Natural),
        (Kind { weights: Some(WeightType::U32), names: Names::Integers, ..directed }, Order::Bfs),
    ] {
        let (_folder, path, oracle) = changed(kind, 7);
        let source = kind.id(oracle.edges.keys().next().unwrap().0);
        let before = answers(&Graph::open(&path).unwrap(), &source);
        Compact::new(&path).order(order).memory("64MiB").run().unwrap();
        let after = answers(&Graph::open(&path).unwrap(), &source);
        for ((name, before), (_, after)) in before.into_iter().zip(after) {
            let differs = before.iter().zip(&after).find(|(before, after)| before != after);
            assert!(before == after, "{kind:?}: {name}: {differs:?}");
        }
    }
}

#[test]
fn repeated_edges_are_kept_with_their_weights() {
    for seed in 1..=6 {
        let mut random = Random(seed);
        let mut kind = Kind { duplicates: true, ..Kind::any(&mut random) };
        kind.hub_neighbours = HubNeighboursChoice::No;
        let mut oracle = Oracle::new(kind, 90, 2000, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.cenote");
        oracle.import(kind.import(), &path);
        let imported = std::fs::read(&path).unwrap();
        Compact::new(&path).memory("64MiB").run().unwrap();
        assert!(std::fs::read(&path).unwrap() == imported, "nothing was to be compacted");
        assert_as_imported(&mut oracle, &path, &mut random, &format!("{kind:?}"));
    }
}

#[test]
fn hub_neighbours_and_options_are_those_of_the_graph() {
    for choice in [HubNeighboursChoice::Yes, HubNeighboursChoice::No] {
        let kind = Kind { hub_neighbours: choice, ..plain() };
        let mut random = Random(3);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.cenote");
        // Mean degrees at which an import would decide otherwise.
        let edges = if choice == HubNeighboursChoice::Yes { 100 } else { 8000 };
        Oracle::new(kind, 100, edges, &mut random).import(kind.import(), &path);
        let imported = std::fs::read(&path).unwrap();
        Compact::new(&path).memory("64MiB").run().unwrap();
        assert!(std::fs::read(&path).unwrap() == imported, "{choice:?}");
    }
}

#[test]
fn readers_keep_the_old_file_and_later_ones_see_the_new() {
    let (folder, path, oracle) = changed(plain(), 11);
    let before = Graph::open(&path).unwrap();
    let expected = exported(&before);
    let during = AtomicBool::new(false);
    let report = Graph::open(&path)
        .unwrap()
        .compact()
        .memory("64MiB")
        .progress(|_, _, _| {
            let info = Graph::open(&path).unwrap().info().unwrap();
            let vertices = 200 + info.appended_vertices - info.deleted_vertices;
            assert_eq!((info.vertices, oracle.vertices.len() as u64), (vertices, vertices));
            during.store(true, Ordering::Relaxed);
        })
        .run()
        .unwrap();
    assert!(during.into_inner() && report.appended_vertices > 0 && report.merged > 0);
    assert_eq!(exported(&before), expected, "the old file is there as long as it is open");
    assert_eq!(before.wcc().memory("64MiB").verify(true).run().unwrap().labels().len() as u64, {
        before.vertices() + before.info().unwrap().deleted_vertices
    });
    let after = Graph::open(&path).unwrap();
    assert_eq!(exported(&after), expected);
    let info = after.info().unwrap();
    assert_eq!((info.epoch, info.appended_vertices, info.logged_changes), (1, 0, 0));
    let mut update = after.update().unwrap();
    update.add("new", "newer").unwrap();
    update.commit().unwrap();
    assert_eq!(exported(&Graph::open(&path).unwrap()).len(), expected.len() + 1);
    assert_eq!(names(&folder), ["g.cenote"]);
}

#[test]
fn there_is_one_writer() {
    let (_folder, path, _) = changed(plain(), 13);
    let update = Update::open(&path).unwrap();
    let error = Compact::new(&path).run().unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert!(
        error.to_string().contains("another writer of this process is changing the graph"),
        "{error}"
    );
    let copy = path.with_file_name("copy.cenote");
    Compact::new(&path).out(&copy).memory("64MiB").run().unwrap();
    drop(update);
    let mut refused = 0;
    let compact = Compact::new(&path).memory("64MiB").progress(|_, _, _| {
        let error = Update::open(&path).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        refused += 1;
    });
    compact.run().unwrap();
    assert!(refused > 0);
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&copy).unwrap());
}

#[test]
fn snapshots_are_not_lost() {
    let (_folder, path, _) = changed(plain(), 29);
    let mut update = Update::open(&path).unwrap();
    update.snapshot("monday").unwrap();
    drop(update);
    let error = Compact::new(&path).memory("64MiB").run().unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
    assert!(error.to_string().contains("with snapshots, which would be lost"), "{error}");
    let copy = path.with_file_name("copy.cenote");
    Compact::new(&path).out(&copy).memory("64MiB").run().unwrap();
    assert_eq!(Graph::open(&copy).unwrap().snapshots().unwrap().len(), 0);
    let mut update = Update::open(&path).unwrap();
    update.remove_snapshot("monday").unwrap();
    drop(update);
    Compact::new(&path).memory("64MiB").run().unwrap();
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&copy).unwrap());
}

#[test]
fn an_import_meanwhile_is_not_lost() {
    let (folder, path, _) = changed(plain(), 17);
    let compact = Compact::new(&path).memory("64MiB").progress(|_, _, _| {
        let import = Import::new().slice(&[(1u64, 2u64)]).memory("64MiB").overwrite();
        import.run(&path).unwrap();
    });
    let error = compact.run().unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert_eq!(exported(&Graph::open(&path).unwrap()), ["1\t2"]);
    assert_eq!(names(&folder), ["g.cenote"]);
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    let (folder, path, _) = changed(plain(), 19);
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&path, mode(0o640)).unwrap();
    std::fs::create_dir(folder.path().join("other")).unwrap();
    let link = folder.path().join("other/link.cenote");
    symlink(&path, &link).unwrap();
    let inode = path.metadata().unwrap().ino();
    let unfinished = || {
        let hidden = names(&folder).into_iter().find(|name| name.contains(".partial-"))?;
        Some(folder.path().join(hidden).metadata().unwrap().mode() & 0o777)
    };
    let mut seen = None;
    let compact = Compact::new(&link).memory("64MiB");
    compact.progress(|_, _, _| seen = seen.or_else(&unfinished)).run().unwrap();
    assert_eq!(seen, Some(0o640), "nobody else reads it meanwhile");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    let metadata = path.metadata().unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o640);
    assert_ne!(metadata.ino(), inode);
    assert_eq!(names(&folder), ["g.cenote", "other"]);
    Graph::open(&link).unwrap();
}

#[test]
fn whatever_ends_it_early_leaves_the_graph_as_it_was() {
    let (folder, path, _) = changed(Kind { weights: Some(WeightType::F32), ..plain() }, 23);
    let bytes = std::fs::read(&path).unwrap();
    let calls = std::sync::atomic::AtomicU64::new(0);
    for limit in 0..3 {
        calls.store(0, Ordering::Relaxed);
        let cancel = || calls.fetch_add(1, Ordering::Relaxed) >= limit;
        let error = Compact::new(&path).memory("64MiB").cancel(cancel).run().unwrap_err();
        assert!(matches!(error, Error::Cancelled), "after {limit}: {error}");
    }
    let error = Compact::new(&path).memory("1MiB").run().unwrap_err();
    assert!(matches!(error, Error::MemoryBudget { .. }), "{error}");
    let Error::MemoryBudget { suggested, .. } = error else { unreachable!() };
    let error = Compact::new(&path).memory("lots").run().unwrap_err();
    assert!(matches!(error, Error::Parameter { parameter: "memory", .. }), "{error}");
    let error = Compact::new(&path).temp_dir("/nowhere/to/be/found").run().unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert!(std::fs::read(&path).unwrap() == bytes);
    let graph = Graph::open(&path).unwrap();
    let lists = graph.stored().adjacency(Direction::Out).unwrap();
    let page = graph.stored().physical(lists.first_page() + lists.pages() - 1) as usize;
    let mut damaged = bytes.clone();
    damaged[page * 4096 + 2000] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    let error = Compact::new(&path).memory("64MiB").run().unwrap_err();
    assert!(matches!(error, Error::Corrupt(_)), "{error:?}");
    assert!(std::fs::read(&path).unwrap() == damaged);
    assert_eq!(names(&folder), ["g.cenote"]);
    std::fs::write(&path, &bytes).unwrap();
    Compact::new(&path).memory(format!("{suggested}MiB")).run().unwrap();
}

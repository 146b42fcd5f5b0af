//! Updates against sets of edges: what a batch answers, and that a changed graph is the graph of
//! its edges; beside readers and a second writer, in this process and in others.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use cenote::algorithm::StartsAt;
use cenote::import::IdKind;
use cenote::update::ChangeAnswer;
use cenote::{Error, Graph, Import, Update};
use cenote_store::{Codec, HubNeighboursChoice, Order};
use tempfile::TempDir;

use crate::graphs::Random;

/// Numbers of vertices at first, and in all.
const VERTICES: u64 = 120;
const VERTICES_ALL: u64 = 150;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Dense,
    Integers,
    Strings,
}

#[derive(Clone, Copy, Debug)]
pub struct Kind {
    names: Names,
    directed: bool,
    in_edges: bool,
    codec: Codec,
    order: Order,
    self_loops: bool,
}

impl Kind {
    pub fn id(&self, vertex: u64) -> String {
        match self.names {
            Names::Dense => vertex.to_string(),
            Names::Integers => (vertex * 7919 % 1009 * 1_000_003).to_string(),
            Names::Strings => format!("{}é", vertex * 7919 % 1009),
        }
    }

    fn import(&self) -> Import<'static> {
        let mut import = Import::new()
            .memory("64MiB")
            .threads(1)
            .codec(self.codec)
            .order(self.order)
            .ids(if self.names == Names::Strings { IdKind::String } else { IdKind::Integer });
        if self.directed {
            import = import.directed();
        } else {
            import = import.hub_neighbours(HubNeighboursChoice::Yes);
        }
        if self.in_edges {
            import = import.in_edges();
        }
        if self.self_loops {
            import = import.keep_self_loops();
        }
        import
    }
}

/// What a graph should be.
pub struct Oracle {
    kind: Kind,
    vertices: BTreeSet<u64>,
    edges: BTreeSet<(u64, u64)>,
}

impl Oracle {
    pub fn new(kind: Kind, random: &mut Random) -> Self {
        let mut oracle = Self { kind, vertices: (0..VERTICES).collect(), edges: BTreeSet::new() };
        for _ in 0..500 {
            // A hub, and others.
            let source = random.below(VERTICES) * (random.below(3) / 2);
            let edge = oracle.edge(source, random.below(VERTICES));
            if edge.0 != edge.1 || kind.self_loops {
                oracle.edges.insert(edge);
            }
        }
        oracle
    }

    fn edge(&self, source: u64, target: u64) -> (u64, u64) {
        let turns = !self.kind.directed && source > target;
        if turns { (target, source) } else { (source, target) }
    }

    fn add(&mut self, source: u64, target: u64) -> ChangeAnswer {
        self.vertices.extend([source, target]);
        if source == target && !self.kind.self_loops {
            return ChangeAnswer::SelfLoop;
        }
        let is_new = self.edges.insert(self.edge(source, target));
        if is_new { ChangeAnswer::Done } else { ChangeAnswer::Present }
    }

    fn delete(&mut self, source: u64, target: u64) -> ChangeAnswer {
        if !self.vertices.contains(&source) || !self.vertices.contains(&target) {
            return ChangeAnswer::UnknownVertex;
        }
        let was_there = self.edges.remove(&self.edge(source, target));
        if was_there { ChangeAnswer::Done } else { ChangeAnswer::Absent }
    }

    fn add_vertex(&mut self, vertex: u64) -> ChangeAnswer {
        let is_new = self.vertices.insert(vertex);
        if is_new { ChangeAnswer::Done } else { ChangeAnswer::Present }
    }

    fn delete_vertex(&mut self, vertex: u64) -> ChangeAnswer {
        self.edges.retain(|edge| edge.0 != vertex && edge.1 != vertex);
        let was_there = self.vertices.remove(&vertex);
        if was_there { ChangeAnswer::Done } else { ChangeAnswer::UnknownVertex }
    }

    /// Imports the graph from scratch.
    fn import(&self, path: &Path) {
        self.import_with(path, |import| import);
    }

    /// The same, with more options.
    pub fn import_with(
        &self,
        path: &Path,
        options: impl FnOnce(Import<'static>) -> Import<'static>,
    ) {
        let folder = path.parent().unwrap();
        let (vertices, edges) = (folder.join("vertices.v"), folder.join("edges.txt"));
        let line = |vertex: &u64| format!("{}\n", self.kind.id(*vertex));
        std::fs::write(&vertices, self.vertices.iter().map(line).collect::<String>()).unwrap();
        let line =
            |edge: &(u64, u64)| format!("{} {}\n", self.kind.id(edge.0), self.kind.id(edge.1));
        std::fs::write(&edges, self.edges.iter().map(line).collect::<String>()).unwrap();
        let import = self.kind.import().path(vertices).path(edges).overwrite();
        options(import).run(path).unwrap();
    }
}

pub fn change(update: &mut Update, oracle: &mut Oracle, random: &mut Random) -> ChangeAnswer {
    let any = |random: &mut Random| random.below(VERTICES_ALL) * (random.below(4).min(1));
    let (source, target) = (any(random), any(random));
    let ids = [source, target].map(|vertex| oracle.kind.id(vertex));
    match random.below(24) {
        0..2 => {
            update.delete_vertex(&ids[0]).unwrap();
            return oracle.delete_vertex(source);
        }
        2 => {
            update.add_vertex(&ids[1]).unwrap();
            return oracle.add_vertex(target);
        }
        _ => {}
    }
    if random.below(3) == 0 && !oracle.edges.is_empty() {
        let at = random.below(oracle.edges.len() as u64) as usize;
        let &(source, target) = oracle.edges.iter().nth(at).unwrap();
        update.delete(oracle.kind.id(source), oracle.kind.id(target)).unwrap();
        return oracle.delete(source, target);
    }
    if random.below(3) == 0 {
        update.delete(&ids[0], &ids[1]).unwrap();
        return oracle.delete(source, target);
    }
    update.add(&ids[0], &ids[1]).unwrap();
    oracle.add(source, target)
}

fn sorted_lines(text: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> =
        std::str::from_utf8(text).unwrap().lines().map(Into::into).collect();
    lines.sort_unstable();
    lines
}

pub fn exported(graph: &Graph) -> Vec<String> {
    let mut text = Vec::new();
    graph.export().write_text(&mut text, &mut |_, _| {}).unwrap();
    sorted_lines(&text)
}

/// The answer of every algorithm: its summary and the values of all vertices by their ids.
pub fn answers(graph: &Graph, source: &str) -> Vec<(&'static str, Vec<String>)> {
    let folder = graph.path().parent().unwrap();
    let mut answers = Vec::new();
    macro_rules! all {
        ($($name:literal: $run:expr),* $(,)?) => {$(
            let found = match $run.memory("64MiB").threads(2).verify(true).run() {
                Err(error) => vec![error.to_string().replace(folder.to_str().unwrap(), "")],
                Ok(answer) => {
                    let table = folder.join("answer.csv");
                    let mut lines = match answer.write(&table) {
                        Ok(_) => sorted_lines(&std::fs::read(&table).unwrap()),
                        Err(_) => Vec::new(),
                    };
                    let mut summary = serde_json::to_value(answer.summary().unwrap()).unwrap();
                    // How many it takes may depend on where vertices lie.
                    summary.as_object_mut().unwrap().remove("rounds");
                    lines.push(summary.to_string());
                    lines
                }
            };
            answers.push(($name, found));
        )*};
    }
    all!(
        "betweenness": graph.betweenness().source(source),
        "bfs": graph.bfs().source(source).parents(true),
        "bfs from the default source": graph.bfs(),
        "cdlp": graph.cdlp(),
        "degrees": graph.count_degrees(),
        "dfs": graph.dfs().source(source),
        "lexicographic dfs": graph.lexicographic_dfs().source(source),
        "hyperball": graph.hyperball(),
        "kcore": graph.kcore(),
        "lcc": graph.lcc(),
        "leiden": graph.leiden(),
        "louvain": graph.louvain(),
        "mis": graph.mis(),
        "msf": graph.msf(),
        "pagerank": graph.pagerank(),
        "ppr": graph.ppr().seed(source).tolerance(1e-4),
        "reach": graph.reach().source(source).target(source),
        "scc": graph.scc(),
        "similar": graph.similar().source(source),
        "sssp": graph.sssp().source(source),
        "triangles": graph.triangles().per_vertex(true),
        "walk": graph.walk().starts(StartsAt::Random).walkers(3).steps(4),
        "wcc": graph.wcc(),
    );
    answers
}

pub fn assert_same(updated: &Graph, oracle: &Oracle, case: &str) {
    let report = Graph::check(updated.path(), &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{case}: {:?}", report.faults);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(updated.path().file_name().unwrap());
    oracle.import(&path);
    let scratch = Graph::open(&path).unwrap();
    assert_eq!(updated.vertices(), oracle.vertices.len() as u64, "{case}");
    assert_eq!(updated.edges(), oracle.edges.len() as u64, "{case}");
    assert!(exported(updated) == exported(&scratch), "{case}: the exports differ");
    let source = oracle.kind.id(oracle.edges.first().map_or(0, |edge| edge.0));
    let pairs = answers(updated, &source).into_iter().zip(answers(&scratch, &source));
    for ((name, found), (_, expected)) in pairs {
        let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert!(found == expected, "{case}: {name}: {differs:?}");
    }
}

pub fn kinds() -> Vec<Kind> {
    let plain = Kind {
        names: Names::Dense,
        directed: false,
        in_edges: false,
        codec: Codec::Raw,
        order: Order::Natural,
        self_loops: false,
    };
    let directed = Kind { directed: true, in_edges: true, ..plain };
    let (packed, random) = (Codec::Packed, Order::Random { seed: 5 });
    vec![
        plain,
        Kind { names: Names::Integers, codec: packed, order: Order::Degree, ..plain },
        Kind { names: Names::Strings, order: Order::Bfs, self_loops: true, ..plain },
        Kind { names: Names::Strings, codec: packed, ..directed },
        Kind { order: random, self_loops: true, ..directed },
        Kind { names: Names::Integers, order: Order::Bfs, in_edges: false, ..directed },
        Kind { names: Names::Strings, order: Order::Degree, codec: packed, ..plain },
        Kind { codec: packed, order: random, ..plain },
    ]
}

#[test]
fn a_changed_graph_answers_as_the_graph_of_its_edges() {
    check_changed_graphs(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_changed_graph_answers_as_the_graph_of_its_edges() {
    check_changed_graphs(true);
}

/// Changes graphs of all kinds, and compares each with one of its edges after the second and the
/// last round, or after either of them, in turn.
fn check_changed_graphs(is_long: bool) {
    for (seed, kind) in (1..).zip(kinds()) {
        let mut random = Random(seed);
        let mut oracle = Oracle::new(kind, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.cenote");
        oracle.import(&path);
        let mut update = Update::open(&path).unwrap();
        for (round, changes) in [3, 400, 1, 60].into_iter().enumerate() {
            let case = format!("{kind:?}, round {round}");
            let before = oracle.vertices.len() as i64;
            let expected: Vec<ChangeAnswer> =
                (0..changes).map(|_| change(&mut update, &mut oracle, &mut random)).collect();
            let report = update.commit().unwrap();
            assert_eq!(report.answers, expected, "{case}");
            let more = report.new_vertices as i64 - report.deleted_vertices as i64;
            assert_eq!(more, oracle.vertices.len() as i64 - before, "{case}");
            let counts = [
                report.added,
                report.present,
                report.deleted,
                report.absent,
                report.self_loops,
                report.unknown_vertices,
                report.deleted_vertices,
            ];
            // Vertices that are added are counted with those that edges bring.
            let counted = counts.iter().sum::<u64>();
            let others = changes - counted;
            assert!(counted <= changes && others <= report.new_vertices, "{case}: {report:?}");
            assert!(update.is_empty());
            let is_chosen = is_long || round as u64 / 2 == seed % 2;
            if round % 2 == 1 && is_chosen {
                assert_same(&Graph::open(&path).unwrap(), &oracle, &case);
            }
        }
    }
}

#[test]
fn few_changes_of_many_vertices_find_theirs() {
    for names in [Names::Dense, Names::Integers, Names::Strings] {
        let id = |vertex: u64| match names {
            Names::Dense => vertex.to_string(),
            Names::Integers => (vertex * 7919 % 30_011 * 1_000_003).to_string(),
            Names::Strings => format!("v{}", vertex * 7919 % 30_011),
        };
        let folder = tempfile::tempdir().unwrap();
        let (path, input) = (folder.path().join("g.cenote"), folder.path().join("edges.txt"));
        let line = |vertex| format!("{} {}\n", id(vertex), id(vertex + 1));
        std::fs::write(&input, (0..20_000).map(line).collect::<String>()).unwrap();
        let order = Order::Random { seed: 3 };
        Import::new().directed().order(order).path(input).memory("64MiB").run(&path).unwrap();
        let mut update = Update::open(&path).unwrap();
        let changed = [(5, 19_999), (20_000, 20_001), (20_002, 3), (20_001, 20_002), (9, 20_005)];
        for (source, target) in changed {
            update.add(id(source), id(target)).unwrap();
            update.delete(id(source), id(source + 1)).unwrap();
            let report = update.commit().unwrap();
            assert_eq!(report.added, 1, "{names:?} {source} {target}: {report:?}");
            let edges = exported(&Graph::open(&path).unwrap());
            let kept = source + 1 != target;
            let edge = format!("{}\t{}", id(source), id(target));
            assert_eq!(edges.contains(&edge), kept, "{names:?} {edge}");
            let old = format!("{}\t{}", id(source), id(source + 1));
            assert!(!edges.contains(&old), "{names:?} {old}");
        }
        assert_eq!(Graph::open(&path).unwrap().vertices(), 20_004);
    }
}

/// A folder with a path of names.
pub fn stored() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    Import::new().slice(&[("a", "b"), ("b", "c")]).memory("64MiB").run(&path).unwrap();
    (folder, path)
}

#[test]
fn ids_of_the_wrong_kind_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    Import::new().slice(&[(1u64, 2u64)]).memory("64MiB").run(&path).unwrap();
    let mut update = Update::open(&path).unwrap();
    for (wrong, error) in [
        ("bob", update.add(1, "bob").unwrap_err()),
        ("-3", update.add(-3, 1).unwrap_err()),
        ("x", update.delete("x", 1).unwrap_err()),
        ("", update.delete("", 1).unwrap_err()),
    ] {
        assert!(matches!(error, Error::InvalidInput(_)), "{error:?}");
        let message = error.to_string();
        assert!(
            message.contains(&format!("`{wrong}`")) && message.contains("integers"),
            "{message}"
        );
    }
    assert!(update.is_empty());
    let (_folder, path) = stored();
    let mut update = Update::open(path).unwrap();
    let error = update.add("", "b").unwrap_err().to_string();
    assert!(error.contains("1 to 65535 bytes"), "{error}");
    assert!(update.add("x".repeat(65_536), "b").is_err());
    update.add("x".repeat(65_535), "b").unwrap();
    update.add(7, "b").unwrap();
    assert_eq!(update.commit().unwrap().new_vertices, 2);
}

#[test]
fn a_graph_that_an_import_replaced_is_not_changed() {
    let (_folder, path) = stored();
    let mut update = Update::open(&path).unwrap();
    update.add("a", "c").unwrap();
    let import = Import::new().slice(&[("x", "y")]).memory("64MiB");
    import.overwrite().run(&path).unwrap();
    let error = update.commit().unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error:?}");
    assert_eq!(exported(&Graph::open(&path).unwrap()), ["x\ty"]);
}

#[test]
fn an_open_graph_keeps_its_edges_while_updates_go_on() {
    let (_folder, path) = stored();
    let before = Graph::open(&path).unwrap();
    let mut update = before.update().unwrap();
    let mut kept = vec![(exported(&before), before)];
    for round in 0..12 {
        update.add("a", round).unwrap();
        update.delete("a", round - 2).unwrap();
        update.commit().unwrap();
        let graph = Graph::open(&path).unwrap();
        kept.push((exported(&graph), graph));
    }
    assert!(kept.windows(2).all(|pair| pair[0].0 != pair[1].0));
    for (edges, graph) in &kept {
        assert_eq!(&exported(graph), edges);
        let run = graph.wcc().memory("64MiB").verify(true).run().unwrap();
        assert_eq!(run.labels().len() as u64, graph.vertices());
    }
}

#[test]
fn readers_see_whole_batches_while_a_writer_commits() {
    const EDGES: u64 = 300;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let edges: Vec<(u64, u64)> = (0..EDGES).map(|i| (i, i + 1)).collect();
    Import::new().slice(&edges).memory("64MiB").run(&path).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|at| {
                let (done, path) = (&done, &path);
                scope.spawn(move || {
                    let mut reads = 0;
                    while !done.load(Ordering::Relaxed) {
                        let graph = Graph::open(path).unwrap();
                        assert!(graph.warnings().len() <= 1, "{:?}", graph.warnings());
                        for _ in 0..3 {
                            assert_eq!(exported(&graph).len() as u64, EDGES);
                        }
                        if at == 1 {
                            let report = Graph::check(path, &mut |_, _| true).unwrap();
                            assert!(report.is_whole(), "{:?}", report.faults);
                        }
                        reads += 1;
                    }
                    reads
                })
            })
            .collect();
        let mut update = Update::open(&path).unwrap();
        for round in 0..60 {
            // Every edge moves on by one.
            for i in 0..EDGES {
                update.delete(i, i + 1 + round).unwrap();
                update.add(i, i + 2 + round).unwrap();
            }
            update.commit().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let reads: Vec<i32> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        assert!(reads.iter().all(|reads| *reads > 0), "{reads:?}");
    });
}

/// Says to another process of this test what it should hold, and which graph.
const HOLD: &str = "CENOTE_TEST_HOLD";

/// In a process of its own: holds a graph open until it is killed.
#[test]
fn hold() {
    let Ok(what) = std::env::var(HOLD) else { return };
    let (role, path) = what.split_once(':').unwrap();
    let _held: Box<dyn std::any::Any> = match role {
        "writer" => Box::new(Update::open(path).unwrap()),
        "still reader" => Box::new(Graph::options().migration(false).open(path).unwrap()),
        "snapshot" => Box::new(Graph::open_at(path, "old").unwrap()),
        _ => Box::new(Graph::open(path).unwrap()),
    };
    println!("\nheld");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

/// A process that holds a graph.
pub struct Holder(Child);

impl Holder {
    pub fn start(role: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "update::hold", "--nocapture"])
            .env(HOLD, format!("{role}:{}", path.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line == "held"), "it holds the graph");
        Self(child)
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_second_writer_is_refused_with_the_process_of_the_first() {
    let (_folder, path) = stored();
    let holder = Holder::start("writer", &path);
    for _ in 0..2 {
        let error = Update::open(&path).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error:?}");
        let process = format!("process {} ", holder.0.id());
        assert!(error.to_string().contains(&process), "{error}, not {process}");
        assert_eq!(Graph::open(&path).unwrap().edges(), 2, "readers need not wait");
    }
    holder.kill();
    let mut update = Update::open(&path).unwrap();
    let error = Update::open(&path).unwrap_err();
    assert!(error.to_string().contains("another writer"), "{error}");
    update.add("a", "c").unwrap();
    assert_eq!(update.commit().unwrap().added, 1);
}

#[test]
fn a_reader_in_another_process_keeps_its_pages_until_it_is_killed() {
    let (_folder, path) = stored();
    let holder = Holder::start("reader", &path);
    let mut update = Update::open(&path).unwrap();
    let mut pages_after = |commits: u32| {
        for _ in 0..commits {
            update.add("a", "c").unwrap();
            update.commit().unwrap();
            update.merge().unwrap();
            update.delete("a", "c").unwrap();
            update.commit().unwrap();
            update.merge().unwrap();
        }
        std::fs::metadata(&path).unwrap().len() / 4096
    };
    let held = [4, 4, 4].map(&mut pages_after);
    assert!(held[0] < held[1] && held[1] < held[2], "{held:?}: the file grows");
    holder.kill();
    let freed = [4, 4, 4].map(&mut pages_after);
    assert_eq!(freed[1], freed[2], "{held:?}, {freed:?}: pages are used again");
}

#[test]
fn weights_change_with_their_edges_and_wrong_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let edges = [("a", "b", 1.5f32), ("b", "c", 2.5)];
    let import = Import::new().slice(&edges).memory("64MiB");
    import.weights(cenote_store::WeightType::F32).run(&path).unwrap();
    let mut update = Update::open(&path).unwrap();
    assert_eq!(update.weights(), Some(cenote_store::WeightType::F32));
    update.set_weight("c", "b", 0.25).unwrap();
    update.add_weighted("a", "c", "7").unwrap();
    update.delete("a", "b").unwrap();
    update.set_weight("a", "b", 3).unwrap();
    for (result, words) in [
        (update.add("a", "d"), "an edge needs a weight"),
        (update.add_weighted("a", "d", "nan"), "a finite number"),
        (update.set_weight("a", "d", "1e300"), "a finite number"),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::InvalidInput(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
    let report = update.commit().unwrap();
    assert_eq!((report.added, report.deleted, report.reweighted, report.absent), (1, 1, 1, 1));
    let graph = Graph::open(&path).unwrap();
    assert_eq!(exported(&graph), ["a\tc\t7.0", "b\tc\t0.25"]);
    assert!(Graph::check(&path, &mut |_, _| true).unwrap().is_whole());
}

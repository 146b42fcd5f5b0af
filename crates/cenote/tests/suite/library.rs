//! The library as a caller meets it: open, run, answers by the user's ids, errors by their kinds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cenote::algorithm::StartsAt;
use cenote::drive::MeasureOptions;
use cenote::{Error, Graph, Id, Update};
use cenote_import::{ImportConfig, InputSpec, NoProgress, import};
use cenote_store::Order;
use tempfile::TempDir;

/// A star of five with a tail, and a pair: `hub` has the largest degree.
const EDGES: &str = "hub a\nhub b\nhub c\nhub d\nd e\ne f\nx y\n";

/// A folder with a graph of these edges.
fn stored(edges: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("edges.txt"), folder.path().join("g.cenote"));
    std::fs::write(&input, edges).unwrap();
    let config = ImportConfig::default().memory_bytes(64 << 20);
    import(&[InputSpec::new(input)], &out, &config, &NoProgress).unwrap();
    (folder, out)
}

fn id(name: &str) -> Id {
    Id::String(name.to_owned())
}

#[test]
fn a_search_answers_in_slices_and_by_the_users_ids() {
    let (_folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let run = graph.bfs().source("hub").parents(true).memory("64MiB").threads(2).verify(true);
    let bfs = run.run().unwrap();
    assert_eq!(bfs.levels().len() as u64, graph.vertices());
    let f = bfs.vertex_of("f").unwrap();
    assert_eq!((bfs.levels()[f as usize], bfs.reached, bfs.depth), (3, 7, 3));
    assert_eq!(bfs.id_of(bfs.parent(f).unwrap()).unwrap(), id("e"));
    assert_eq!(bfs.level(bfs.vertex_of("x").unwrap()), None);
    let stats = bfs.stats();
    assert!(stats.verified && stats.memory_budget_bytes == 64 << 20 && stats.threads == 2);
    let summary = bfs.summary().unwrap();
    assert_eq!((summary.source, summary.source_chosen), (id("hub"), false));
}

#[test]
fn components_and_ranks_are_keyed_by_the_users_ids() {
    let (_folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let wcc = graph.wcc().memory(64 << 20).run().unwrap();
    assert_eq!((wcc.components, wcc.largest), (2, 7));
    assert_eq!(wcc.summary().unwrap().largest_label, Some(id("a")));
    let ranks = graph.pagerank().iterations(20).memory("64MiB").run().unwrap();
    let top = ranks.top(2).unwrap();
    assert_eq!((&top[0].0, top.len()), (&id("hub"), 2));
}

#[test]
fn every_algorithm_runs_verifies_and_estimates() {
    let (folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    macro_rules! all {
        ($($run:expr),* $(,)?) => {$(
            let estimate = $run.memory("64MiB").estimate().unwrap();
            let least = estimate.memory_bytes_min;
            assert!(least < 2 << 20, "{}: {least}", estimate.algorithm);
            $run.memory(least).run().unwrap();
            let again = $run.memory("1GiB").estimate().unwrap();
            assert_eq!(again.memory_bytes_min, least, "{}", estimate.algorithm);
            let answer = $run.memory("64MiB").verify(true).run().unwrap();
            let report = serde_json::to_value(answer.report().unwrap()).unwrap();
            assert_eq!(report["verified"], true, "{report}");
            assert_eq!(report["algorithm"], estimate.algorithm, "{report}");
            assert!(report["result"].is_object(), "{report}");
        )*};
    }
    all!(
        graph.betweenness(),
        graph.bfs().target("f"),
        graph.cdlp(),
        graph.count_degrees(),
        graph.dfs(),
        graph.lexicographic_dfs().target("f"),
        graph.hyperball(),
        graph.kcore(),
        graph.lcc(),
        graph.leiden(),
        graph.louvain().resolution(0.5),
        graph.mis(),
        graph.msf(),
        graph.pagerank(),
        graph.ppr().seed("hub").seed("f"),
        graph.reach().target("f"),
        graph.scc(),
        graph.similar().pair("hub", "f"),
        graph.similar().source("f"),
        graph.sssp().target("f"),
        graph.triangles().per_vertex(true),
        graph.walk().starts(StartsAt::Random).walkers(3).steps(4),
        graph.wcc(),
    );
    drop(folder);
}

#[test]
fn no_number_makes_a_run_panic() {
    let (_folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    macro_rules! all {
        ($($run:expr),* $(,)?) => {$(
            for (memory, threads, depth) in
                [(1, 0, 0), (64 << 20, 1, usize::MAX), (u64::MAX, 2, 1)]
            {
                // An answer or an error, and the estimate says which.
                let run = || $run.memory(memory).threads(threads).depth(depth);
                let (estimate, answer) = (run().estimate(), run().run());
                assert_eq!(estimate.is_ok(), answer.is_ok(), "{estimate:?} {answer:?}");
            }
            let run = $run.memory("64MiB").threads(usize::MAX).run();
            assert!(matches!(run, Err(Error::Parameter { .. })), "{run:?}");
        )*};
    }
    all!(
        graph.betweenness().samples(u64::MAX, u64::MAX),
        graph.bfs().parents(true),
        graph.cdlp().iterations(0),
        graph.count_degrees(),
        graph.dfs().threshold(0).stacks(0),
        graph.dfs().threshold(u64::MAX).stacks(usize::MAX),
        graph.lexicographic_dfs(),
        graph.kcore().k(u32::MAX),
        graph.hyperball().iterations(0).seed(u64::MAX),
        graph.hyperball().registers(4096),
        graph.kcore().k(0),
        graph.lcc(),
        graph.leiden().iterations(u32::MAX).resolution(1e9),
        graph.louvain().resolution(f64::MIN_POSITIVE),
        graph.mis().seed(u64::MAX),
        graph.msf(),
        graph.pagerank().iterations(0),
        graph.pagerank().tolerance(1e-300).damping(1.0),
        graph.ppr().tolerance(1e-12).top_k(1),
        graph.reach().target("f"),
        graph.scc(),
        graph.similar().top(u32::MAX),
        graph.sssp().delta(f64::MIN_POSITIVE),
        graph.sssp().delta(f64::MAX),
        graph.triangles().per_vertex(true),
        graph.walk().walkers(0),
        graph.walk().per_vertex(0).restart(1.0),
        graph.walk().p(1e-3).q(1e3).walkers(3).seed(u64::MAX),
        graph.wcc(),
    );
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let (_folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    macro_rules! refused {
        ($($run:expr),* $(,)?) => {$(
            let error = $run.memory("64MiB").run().unwrap_err();
            assert!(matches!(error, Error::Parameter { .. }), "{error:?}");
        )*};
    }
    for number in [f64::NAN, f64::INFINITY, -1.0] {
        refused!(
            graph.pagerank().damping(number),
            graph.pagerank().tolerance(number),
            graph.ppr().damping(number),
            graph.ppr().tolerance(number),
            graph.sssp().delta(number),
            graph.walk().restart(number),
            graph.walk().p(number),
            graph.walk().q(number),
        );
    }
    refused!(graph.walk().steps(u32::MAX));
    for (memory_bytes, threads) in [(0, 0), (u64::MAX, usize::MAX), (1 << 20, 1)] {
        let graph = Graph::options().lookups(memory_bytes, threads).open(&path).unwrap();
        let neighbors = graph.neighbors().threads(threads.min(4)).memory(memory_bytes);
        assert_eq!(neighbors.of("f").collect().unwrap(), [[id("e")]]);
    }
}

#[test]
fn answers_are_written_whole_keyed_by_ids_and_never_over_an_input() {
    let (folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let sources = folder.path().join("sources.csv");
    std::fs::write(&sources, "hub\n").unwrap();
    let run = || graph.bfs().sources_file(&sources).memory("64MiB");
    let out = folder.path().join("levels.csv");
    run().out(&out).run().unwrap();
    let written = std::fs::read_to_string(&out).unwrap();
    assert!(written.starts_with("vertex,level\na,1\n"), "{written}");
    // The same file by another name.
    let same = folder.path().join("./sources.csv");
    for refused in [&sources, &same, &path] {
        let error = run().out(refused).run().unwrap_err();
        assert!(matches!(error, Error::InvalidInput(_)), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&sources).unwrap(), "hub\n");
    run().out("/dev/null").run().unwrap();
    use std::os::unix::fs::FileTypeExt;
    assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
    for ending in ["parquet", "csv"] {
        let out = folder.path().join(format!("again.{ending}"));
        assert!(run().run().unwrap().write(&out).unwrap() > 0);
        assert!(out.is_file());
    }
}

#[test]
fn files_of_ids_that_are_empty_or_endless_are_errors() {
    check_files_of_ids("6MiB", 1 << 19);
}

#[test]
#[ignore = "long: make soak"]
fn longer_files_of_ids_that_are_empty_or_endless_are_errors() {
    check_files_of_ids("24MiB", 2 << 20);
}

/// So many ids do not fit in the memory.
fn check_files_of_ids(memory: &str, many: usize) {
    let (folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let fails = |path: PathBuf| {
        let error = graph.bfs().sources_file(&path).memory(memory).run().unwrap_err();
        error.to_string()
    };
    assert!(fails(file("empty", "")).contains("has no id"));
    assert!(fails(file("blank", "\n \n")).contains("has no id"));
    assert!(fails("/dev/zero".into()).contains("too long for an id"));
    let many = fails(file("many", &"hub\n".repeat(many)));
    assert!(many.contains("`memory`"), "{many}");
    let unknown = fails(file("unknown", "hub\nnobody\n"));
    assert!(unknown.contains("line 2") && unknown.contains("`nobody`"), "{unknown}");
    let targets = graph.bfs().targets_file(folder.path().join("empty")).run();
    assert!(matches!(targets, Err(Error::InvalidInput(_))));
}

#[test]
fn errors_keep_their_kinds_apart() {
    let (folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let unknown = graph.bfs().source("nobody").run().unwrap_err();
    assert!(matches!(&unknown, Error::UnknownVertex { id, .. } if id == "nobody"), "{unknown}");
    let budget = graph.pagerank().memory(1).run().unwrap_err();
    assert!(matches!(budget, Error::MemoryBudget { given: 1, .. }), "{budget}");
    assert!(budget.to_string().contains("`memory`"), "{budget}");
    let size = graph.pagerank().memory("lots").run().unwrap_err();
    assert!(matches!(size, Error::InvalidInput(_)), "{size}");
    let damping = graph.pagerank().damping(2.0).run().unwrap_err();
    assert!(matches!(damping, Error::Parameter { parameter: "damping", .. }), "{damping}");
    let inward = graph.neighbors().of("hub").direction(cenote::Direction::In).collect();
    assert!(inward.is_ok(), "lists of an undirected graph lead both ways");
    let broken = folder.path().join("broken.cenote");
    std::fs::write(&broken, "no graph").unwrap();
    assert!(matches!(Graph::open(&broken), Err(Error::Corrupt(_))));
    let missing = Graph::open(folder.path().join("missing.cenote")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}

#[test]
fn a_run_ends_when_its_closure_says_so_and_reports_its_progress() {
    let (_folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let cancelled = graph.wcc().memory("64MiB").cancel(|| true).run();
    assert!(matches!(cancelled, Err(Error::Cancelled)));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let run = graph.wcc().memory("64MiB").progress(move |progress| {
        assert!(progress.bytes_expected > 0);
        counted.fetch_add(1, Ordering::Relaxed);
    });
    run.run().unwrap();
    assert!(calls.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_graph_opens_twice_and_gives_everything_back() {
    let (_folder, path) = stored(EDGES);
    let (first, second) = (Graph::open(&path).unwrap(), Graph::open(&path).unwrap());
    let counts = [&first, &second].map(|graph| graph.wcc().memory("64MiB").run().unwrap());
    assert_eq!(counts[0].components, counts[1].components);
    first.close().unwrap();
    second.close().unwrap();
    // An answer keeps what it needs.
    assert_eq!(counts[0].id_of(0).unwrap(), id("a"));
}

#[test]
fn lists_come_in_the_order_asked_for() {
    let (folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let lists = graph.neighbors().of("e").of("hub").collect().unwrap();
    assert_eq!(lists[0], [id("d"), id("f")]);
    assert_eq!(lists[1], ["a", "b", "c", "d"].map(id));
    let asked = folder.path().join("asked");
    std::fs::write(&asked, "x\n\ny\n").unwrap();
    let lists = graph.neighbors().of_file(&asked).collect().unwrap();
    assert_eq!(lists, [[id("y")], [id("x")]]);
}

/// Of a page of lists one has nearly all entries, which no estimate knows: windows with it are read
/// again, smaller, and each list comes once.
#[test]
fn lists_much_longer_than_they_seem_come_once_and_in_order() {
    const LONG: u64 = 800;
    const TIMES: usize = 600;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uneven.cenote");
    let edges = (1..=LONG).map(|v| (0, v)).chain((1..10_000).map(|v| (v, 0_u64)));
    cenote::Import::new().edges(edges).directed().memory("64MiB").run(&path).unwrap();
    let graph = Graph::options().lookups(4 << 20, 2).open(&path).unwrap();
    let asked = folder.path().join("asked");
    std::fs::write(&asked, "0\n1\n".repeat(TIMES) + "nobody\n").unwrap();
    let mut seen = Vec::new();
    let neighbors = graph.neighbors().memory(4 << 20).threads(2).of_file(&asked);
    let error = neighbors.for_each(|list| {
        seen.push((list.number(), list.degree() as u64));
        Ok::<_, Error>(())
    });
    assert!(error.unwrap_err().to_string().contains("nobody"));
    assert!(seen == [(0, LONG), (1, 1)].repeat(TIMES), "{} lists", seen.len());
}

/// Checks the lists of many vertices of a ring with these ids, up to an unknown one.
fn check_ring(ids: &[String], graph: &Graph) {
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("asked");
    let at = |i: usize| (i * 7919 + i / 5) % ids.len();
    let lines = |count: usize| (0..count).map(|i| format!("{}\n", ids[at(i)])).collect::<String>();
    std::fs::write(&asked, lines(20_000) + "nobody\n" + &lines(10)).unwrap();
    let neighbors = graph.neighbors().memory(16 << 20).threads(2).of(&ids[3]).of_file(&asked);
    let mut seen = 0;
    let visit = |list: &cenote::graph::NeighborList<'_>| {
        let vertex = if seen == 0 { 3 } else { at(seen - 1) };
        let mut expected = [(vertex + 1) % ids.len(), (vertex + ids.len() - 1) % ids.len()];
        let mut found = Vec::new();
        list.for_each(|id, _| {
            found.push(id.to_string());
            Ok::<_, Error>(())
        })?;
        found.sort_unstable();
        expected.sort_unstable_by_key(|&i| &ids[i]);
        assert_eq!(found, expected.map(|i| ids[i].clone()), "list {seen}");
        assert_eq!(list.vertex()?.to_string(), ids[vertex]);
        seen += 1;
        Ok::<_, Error>(())
    };
    let error = neighbors.for_each(visit).unwrap_err();
    assert!(matches!(error, Error::UnknownVertex { .. }), "{error:?}");
    assert!(error.to_string().contains("asked: line 20001: "), "{error}");
    assert_eq!(seen, 20_001, "lists before an unknown id are passed on");
}

#[test]
fn many_ids_that_repeat_are_found_and_an_unknown_one_is_named_by_its_line() {
    check_rings(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_many_ids_that_repeat_are_found_and_an_unknown_one_is_named_by_its_line() {
    check_rings(true);
}

/// Looks for integers in one order and for names in the other, or for both in both.
fn check_rings(is_long: bool) {
    for order in [Order::Natural, Order::Random { seed: 5 }] {
        let is_chosen = |name: &str| is_long || name.is_empty() == (order == Order::Natural);
        for name in ["", "v"].into_iter().filter(|name| is_chosen(name)) {
            let ids: Vec<String> = (0..3000).map(|i| format!("{name}{}", 7 * i)).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("ring.cenote");
            let pairs = (0..2998).map(|i| (ids[i].clone(), ids[i + 1].clone()));
            let import = cenote::Import::new().order(order).memory("64MiB");
            match name {
                "" => import.edges((0..2998_u64).map(|i| (7 * i, 7 * i + 7))).run(&path).unwrap(),
                _ => import.edges(pairs).run(&path).unwrap(),
            };
            // The last vertex comes later, and stands behind the others in the file.
            let mut update = cenote::Update::open(&path).unwrap();
            update.add(&ids[2998], &ids[2999]).unwrap();
            update.add(&ids[2999], &ids[0]).unwrap();
            update.commit().unwrap();
            check_ring(&ids, &Graph::open(&path).unwrap());
        }
    }
}

#[test]
fn a_list_that_does_not_fit_is_refused_with_a_budget_that_suffices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("star.cenote");
    let star = (1..700_000_u64).map(|leaf| (0_u64, leaf));
    cenote::Import::new().edges(star).memory("64MiB").run(&path).unwrap();
    let degree = |memory_bytes: u64| {
        let graph = Graph::options().lookups(memory_bytes, 1).open(&path)?;
        let mut degree = 0;
        graph.neighbors().threads(1).memory(memory_bytes).of(5).of(0).for_each(|list| {
            degree = list.degree();
            Ok::<_, Error>(())
        })?;
        Ok::<_, Error>(degree)
    };
    let error = degree(4 << 20).unwrap_err();
    let Error::MemoryBudget { suggested, needed, .. } = error else { panic!("{error:?}") };
    assert_eq!(degree(suggested << 20).unwrap(), 699_999);
    assert!(matches!(degree(needed - (1 << 20)), Err(Error::MemoryBudget { .. })));
}

#[test]
fn a_graph_describes_and_checks_and_exports_itself() {
    let (folder, path) = stored(EDGES);
    let graph = Graph::open(&path).unwrap();
    let info = graph.info().unwrap();
    assert_eq!((info.vertices, info.edges, info.degree_max_vertex), (9, 7, Some(id("hub"))));
    assert!(Graph::check(&path, &mut |_, _| true).unwrap().is_whole());
    // A writer may be the reason of a fault, so that it is looked for again, but not of an end.
    let writer = Update::open(&path).unwrap();
    let mut calls = 0;
    let mut end = |_, _| {
        calls += 1;
        false
    };
    let ended = Graph::check(&path, &mut end);
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert_eq!(calls, 1);
    drop(writer);
    let out = folder.path().join("out.txt");
    let done = graph.export().write(&out, &mut |_, _| {}).unwrap();
    assert_eq!((done.edges, done.isolated), (7, 0));
    let error = graph.export().write(&path, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)), "{error}");
    let cancelled = graph.export().cancel(|| true).write(&out, &mut |_, _| {});
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

#[test]
fn a_measurement_that_is_ended_is_cancelled() {
    // Of a file, so that no profile of the user is replaced.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(16 << 20).unwrap();
    let options = MeasureOptions::default().quick(true);
    let ended = cenote::drive::measure(file.path(), &options, &mut |_, _| false);
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
}

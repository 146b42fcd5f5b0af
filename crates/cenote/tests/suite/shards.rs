//! Shards hold together what the graph holds, cut into ranges.

use std::collections::BTreeSet;
use std::path::Path;

use cenote::import::{HubNeighboursChoice, Order, WeightType};
use cenote::shards::{MANIFEST, Manifest, Sharding, check};
use cenote::{Direction, Error, Graph, Import, Update};

/// Edges with names, in which the order of the ids is none of the order of appearance.
fn edges() -> Vec<(String, String, f64)> {
    let name = |v: u64| format!("v{:03}", v * 37 % 500);
    (0..900u64).map(|i| (name(i * i % 311), name(i * 7 % 413), (i % 5) as f64)).collect()
}

/// The lists of vertices as lines: the ends by name, and the weight.
fn lists(graph: &Graph, name: &dyn Fn(u32) -> String, direction: Direction) -> BTreeSet<String> {
    let visit = graph.visit().direction(direction).weights(true).memory("32MiB");
    let mut lines = BTreeSet::new();
    for batch in visit.open().unwrap().pass(None).unwrap() {
        let batch = batch.unwrap();
        for (list, &vertex) in batch.vertices.iter().enumerate() {
            for at in batch.offsets[list] as usize..batch.offsets[list + 1] as usize {
                let (other, weight) = (batch.targets[at], batch.weights.as_ref().unwrap()[at]);
                lines.insert(format!("{} {} {weight}", name(vertex), name(other)));
            }
        }
    }
    lines
}

/// The lists of the own vertices of all shards, by name.
fn lists_of_shards(folder: &Path, names: &[String], direction: Direction) -> BTreeSet<String> {
    let manifest = Manifest::read(folder).unwrap();
    let mut lines = BTreeSet::new();
    for shard in &manifest.shards {
        let graph = Graph::open(folder.join(&shard.file)).unwrap();
        let ids = graph.ids().unwrap();
        let name = |v| names[ids.id_of(v).unwrap().to_string().parse::<usize>().unwrap()].clone();
        let own = &names[shard.first_vertex as usize..shard.end() as usize];
        let all = lists(&graph, &name, direction);
        let of_own = |line: &String| own.iter().any(|name| line.starts_with(&format!("{name} ")));
        let entries = all.iter().filter(|line| of_own(line)).count() as u64;
        let stated = if direction == Direction::Out { shard.out_entries } else { shard.in_entries };
        assert_eq!(entries, stated, "{}", shard.file);
        lines.extend(all.into_iter().filter(of_own));
        assert_eq!(graph.vertices(), shard.vertices + shard.boundary_vertices(), "{}", shard.file);
    }
    lines
}

/// Compares the lists of shards with those of graphs of all kinds; how many shards for each order.
fn check_lists(counts: [&[u64]; 3]) {
    let folder = tempfile::tempdir().unwrap();
    let orders = [Order::Natural, Order::Degree, Order::Random { seed: 3 }];
    for (at, (order, counts)) in orders.into_iter().zip(counts).enumerate() {
        for kind in ["undirected", "directed", "in_edges"] {
            let path = folder.path().join(format!("{kind}-{at}.cenote"));
            let import = Import::new().edges(edges()).vertices(["lonely"]).order(order);
            let import = import.weights(WeightType::F32).memory("64MiB");
            match kind {
                "undirected" => import.run(&path),
                "directed" => import.directed().run(&path),
                _ => import.directed().in_edges().run(&path),
            }
            .unwrap();
            if order == Order::Degree {
                // Vertices that came later, and one that is gone.
                let mut update = Update::open(&path).unwrap();
                update.add_weighted("aaa", "v037", 7.0).unwrap();
                update.delete_vertex("v074").unwrap();
                update.commit().unwrap();
            }
            let graph = Graph::open(&path).unwrap();
            let ids = graph.ids().unwrap();
            let mut names = Vec::new();
            ids.for_each(0..u32::MAX, |_, id| {
                names.push(id.to_id().to_string());
                Ok::<(), Error>(())
            })
            .unwrap();
            assert!(names.is_sorted() && names.len() as u64 == graph.vertices());
            let name = |v| ids.id_of(v).unwrap().to_string();
            for &shards in counts {
                let out = folder.path().join(format!("{kind}-{at}-{shards}"));
                Sharding::new(&graph, shards).memory("64MiB").threads(2).write(&out).unwrap();
                let report = check(&out, &mut |_, _| true).unwrap();
                assert!(report.is_whole(), "{kind} {shards}: {:?}", report.faults);
                let mut directions = vec![Direction::Out];
                directions.extend((kind == "in_edges").then_some(Direction::In));
                for direction in directions {
                    let expected = lists(&graph, &name, direction);
                    let found = lists_of_shards(&out, &names, direction);
                    assert_eq!(found, expected, "{kind} {order:?} {shards} {direction:?}");
                }
            }
        }
    }
}

#[test]
fn shards_have_the_lists_of_the_graph_in_any_kind_and_order() {
    check_lists([&[1, 7], &[3], &[2]]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_shards_have_the_lists_of_the_graph_in_any_kind_and_order() {
    check_lists([&[1, 2, 3, 7]; 3]);
}

#[test]
fn a_failure_and_a_cancellation_leave_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("g.cenote"), folder.path().join("out"));
    Import::new().edges((0u64..99).map(|v| (v, v + 1))).memory("64MiB").run(&path).unwrap();
    let graph = Graph::open(&path).unwrap();
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let sharding = || Sharding::new(&graph, 3);
    let error = sharding().memory("64MiB").cancel(|| true).write(&out).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    let error = sharding().memory(1000).write(&out).unwrap_err();
    assert!(matches!(error, Error::MemoryBudget { .. }), "{error}");
    let error = Sharding::new(&graph, 101).write(&out).unwrap_err();
    assert!(matches!(error, Error::Parameter { parameter: "shards", .. }), "{error}");
    assert_eq!(names(), 1, "only the graph file is there");
    std::fs::create_dir(&out).unwrap();
    sharding().memory("64MiB").write(&out).unwrap();
    let error = sharding().memory("64MiB").write(&out).unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)), "{error}");
    assert!(check(&out, &mut |_, _| true).unwrap().is_whole());
    for go_on in [0, 1, 2, 5] {
        let ended = check(&out, &mut |done, _| done < go_on);
        assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    }
}

#[test]
fn a_check_finds_damage_and_files_that_belong_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("g.cenote"), folder.path().join("out"));
    Import::new().edges((0u64..9999).map(|v| (v, v + 1))).memory("64MiB").run(&path).unwrap();
    Sharding::new(&Graph::open(&path).unwrap(), 3).memory("64MiB").write(&out).unwrap();
    let faults = || check(&out, &mut |_, _| true).unwrap().faults;
    let file = |name: &str| out.join(name);
    let (first, second) = (file("shard-00000.cenote"), file("shard-00001.cenote"));
    for name in ["shard-00001.cenote", "shard-00002.ids.parquet", MANIFEST] {
        let bytes = std::fs::read(file(name)).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 4;
        std::fs::write(file(name), &changed).unwrap();
        assert!(faults().iter().all(|fault| fault.file == name) && !faults().is_empty(), "{name}");
        std::fs::write(file(name), &bytes).unwrap();
    }
    let bytes = std::fs::read(&second).unwrap();
    std::fs::remove_file(&second).unwrap();
    assert_eq!(faults()[0].message, "it is missing");
    std::fs::copy(&first, &second).unwrap();
    let found: Vec<String> = faults().into_iter().map(|fault| fault.message).collect();
    assert!(found.iter().any(|fault| fault.contains("not those of its range")), "{found:?}");
    std::fs::write(&second, bytes).unwrap();
    assert_eq!(faults(), []);
}

#[test]
fn the_memory_that_the_first_error_names_suffices() {
    check_memory(10_000, &["1KiB", "3MiB", "10MiB"]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_the_memory_that_the_first_error_names_suffices() {
    check_memory(30_000, &["1KiB", "1MiB", "3MiB", "6MiB", "10MiB", "16MiB"]);
}

/// Cuts rings of so many vertices with little memory, and then with as much as the error names.
fn check_memory(vertices: u64, little: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    for (directed, hubs) in [(false, false), (true, false), (false, true)] {
        let ends = 3 * vertices;
        let ring = (0..vertices).flat_map(|v| [(3 * v, 3 * v + 3), (3 * v, 651 * v % ends)]);
        let import = Import::new().edges(ring).memory("64MiB").overwrite();
        let import = if directed { import.directed().in_edges() } else { import };
        let choice = if hubs { HubNeighboursChoice::Yes } else { HubNeighboursChoice::No };
        import.hub_neighbours(choice).run(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        for &memory in little {
            let (first, again) = (folder.path().join("first"), folder.path().join("again"));
            let sharding = || Sharding::new(&graph, 3).threads(2);
            match sharding().memory(memory).write(&first) {
                Ok(_) => std::fs::remove_dir_all(&first).unwrap(),
                Err(Error::MemoryBudget { suggested, given, needed, .. }) => {
                    assert!(given < needed && needed <= suggested << 20, "{memory}");
                    sharding().memory(suggested << 20).write(&again).unwrap();
                    std::fs::remove_dir_all(&again).unwrap();
                }
                Err(other) => panic!("{memory}: {other}"),
            }
        }
    }
}

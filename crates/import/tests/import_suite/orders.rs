//! Orders of the vertices, compared with their definitions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fs;

use cenote_device::mix;
use cenote_import::{ImportConfig, ImportError, NoProgress, import};
use cenote_store::{Order, WeightType};

use crate::oracle::{
    Id, Lists, assert_imported, assert_imports, expected, file, ids, integers, names, open, tight,
};

const ORDERS: [Order; 4] = [Order::Degree, Order::Bfs, Order::Cluster, Order::Random { seed: 5 }];

/// The ids in the order that a search with a queue meets them in.
fn search(lists: &Lists, by_degree: &[Id]) -> Vec<Id> {
    let mut met = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for start in by_degree {
        let mut queue = VecDeque::new();
        if seen.insert(start.clone()) {
            queue.push_back(start.clone());
        }
        while let Some(id) = queue.pop_front() {
            for target in &lists[&id] {
                if seen.insert(target.clone()) {
                    queue.push_back(target.clone());
                }
            }
            met.push(id);
        }
    }
    met
}

/// The ids in the order that the vertices should have.
fn in_order(lists: &Lists, order: Order) -> Vec<Id> {
    let mut by_degree: Vec<Id> = lists.keys().cloned().collect();
    by_degree.sort_by_key(|id| Reverse(lists[id].len()));
    match order {
        Order::Degree => by_degree,
        Order::Bfs => search(lists, &by_degree),
        _ => unreachable!("a shuffle has no definition"),
    }
}

fn assert_ordered(edges: &[(Id, Id)], config: &ImportConfig) {
    let folder = tempfile::tempdir().unwrap();
    let text: String = edges.iter().map(|(s, t)| format!("{} {}\n", s.text(), t.text())).collect();
    let spec = file(&folder, "a.txt", text.as_bytes());
    for order in [Order::Degree, Order::Bfs] {
        let config = config.clone().order(order);
        let (_, graph) = assert_imported(std::slice::from_ref(&spec), &config, edges, &[]);
        assert_eq!(graph.superblock().order, order);
        assert_eq!(ids(&graph), in_order(&expected(edges, &[], &config).out, order), "{order}");
    }
}

fn random_edges(vertices: u64, count: usize, seed: u64) -> Vec<(u64, u64)> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % vertices
    };
    (0..count).map(|_| (next() * next() / vertices * 3 + 1, next() * 3 + 1)).collect()
}

/// Compares the orders of graphs of all kinds, the largest with so many edges; of each the
/// combinations of options that are chosen.
fn check_kinds(count: usize, is_chosen: impl Fn(usize, bool, bool) -> bool) {
    let path: Vec<(u64, u64)> = (0..300).map(|i| (i, i + 1)).collect();
    let islands: Vec<(u64, u64)> =
        (0..200).flat_map(|i| [(5 * i, 5 * i + 1), (5 * i + 3, 5 * i + i % 3)]).collect();
    let star: Vec<(u64, u64)> = (1..5000).map(|i| (700, i)).collect();
    let random = [random_edges(400, 300, 1), random_edges(3000, count, 2)];
    for (at, edges) in [path, islands, star].into_iter().chain(random).enumerate() {
        for directed in [false, true] {
            for keep_duplicates in [false, true] {
                if !is_chosen(at, directed, keep_duplicates) {
                    continue;
                }
                let config = ImportConfig::default()
                    .directed(directed)
                    .in_edges(directed)
                    .keep_duplicates(keep_duplicates)
                    .keep_self_loops(keep_duplicates)
                    .threads(2);
                assert_ordered(&integers(&edges), &config);
            }
        }
    }
}

#[test]
fn degree_and_bfs_orders_are_what_they_say_on_graphs_of_every_kind() {
    check_kinds(8_000, |at, directed, keep_duplicates| {
        (directed == keep_duplicates) == (at % 2 == 0)
    });
}

#[test]
#[ignore = "long: make soak"]
fn longer_degree_and_bfs_orders_are_what_they_say_on_graphs_of_every_kind() {
    check_kinds(20_000, |_, _, _| true);
}

#[test]
fn names_keep_their_vertices_in_every_order() {
    let edges = names(&[("kiel", "bonn"), ("ulm", "bonn"), ("bonn", "aue"), ("lahr", "ulm")]);
    assert_ordered(&edges, &ImportConfig::default());
    assert_ordered(&edges, &ImportConfig::default().directed(true));
}

#[test]
fn no_order_depends_on_threads_or_memory_or_the_order_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let edges = random_edges(60_000, 200_000, 3);
    let bytes = |edges: &mut dyn Iterator<Item = &(u64, u64)>| {
        edges.flat_map(|&(s, t)| [s, t]).flat_map(u64::to_le_bytes).collect::<Vec<u8>>()
    };
    let forward = file(&folder, "a.u64", &bytes(&mut edges.iter()));
    let backward = file(&folder, "b.u64", &bytes(&mut edges.iter().rev()));
    let out = folder.path().join("out.cenote");
    for (order, directed) in ORDERS.into_iter().zip([false, true, false, true]) {
        let mut files = Vec::new();
        for (spec, threads, memory) in
            [(&forward, 1, 1 << 30), (&forward, 3, 10 << 20), (&backward, 2, 64 << 20)]
        {
            let config = ImportConfig::default()
                .order(order)
                .directed(directed)
                .in_edges(directed)
                .threads(threads)
                .memory_bytes(memory)
                .overwrite(true);
            let report = import(std::slice::from_ref(spec), &out, &config, &NoProgress).unwrap();
            assert!(report.peak_memory_bytes <= memory as u64);
            assert!(report.spill_bytes > 0 || threads != 3, "the small budget is too large");
            files.push(fs::read(&out).unwrap());
        }
        assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "{order}");
    }
}

#[test]
fn shuffles_of_other_seeds_are_other_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let edges = random_edges(500, 3000, 4);
    let text: String = edges.iter().map(|(s, t)| format!("{s} {t}\n")).collect();
    let spec = file(&folder, "a.txt", text.as_bytes());
    let mut found = BTreeMap::new();
    for seed in [0, 1, 1, u64::MAX] {
        let config = ImportConfig::default().order(Order::Random { seed });
        let specs = std::slice::from_ref(&spec);
        let (_, graph) = assert_imported(specs, &config, &integers(&edges), &[]);
        assert_eq!(graph.superblock().order, Order::Random { seed });
        let now = (graph.superblock().salt, ids(&graph));
        assert_eq!(found.entry(seed).or_insert_with(|| now.clone()), &now);
    }
    let distinct: std::collections::BTreeSet<_> = found.values().collect();
    assert_eq!(distinct.len(), 3);
}

#[test]
fn an_order_beyond_the_budget_says_how_much_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let pairs: Vec<u8> =
        (0..700_000u32).flat_map(|i| [i, i + 1]).flat_map(u32::to_le_bytes).collect();
    let spec = file(&folder, "a.u32", &pairs);
    let out = folder.path().join("out.cenote");
    let run = |order, memory_bytes| {
        let config = ImportConfig::default()
            .order(order)
            .memory_bytes(memory_bytes)
            .threads(1)
            .overwrite(true);
        import(std::slice::from_ref(&spec), &out, &config, &NoProgress)
    };
    run(Order::Natural, 9 << 20).unwrap();
    let error = run(Order::Bfs, 9 << 20).unwrap_err();
    assert!(matches!(error, ImportError::Memory { what: "the order of the vertices", .. }));
    let ImportError::Memory { needed, .. } = error else { unreachable!() };
    // Three numbers for each vertex, and what the graph takes beside them.
    assert!((8_400_000..40_000_000).contains(&needed), "{needed}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "input and the graph before");
    let report = run(Order::Bfs, needed).unwrap();
    assert_eq!(report.order, "bfs");
}

#[test]
fn an_order_survives_a_tight_budget() {
    let folder = tempfile::tempdir().unwrap();
    let edges = random_edges(8_000, 60_000, 6);
    let text: String = edges.iter().map(|(s, t)| format!("{s} {t}\n")).collect();
    let spec = file(&folder, "a.txt", text.as_bytes());
    for order in ORDERS {
        let config = tight(ImportConfig::default().order(order).threads(3));
        assert_imports(std::slice::from_ref(&spec), &config, &integers(&edges), &[]);
    }
}

/// The ids from 0 on in an order of chance.
fn shuffled(count: u32) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..count).collect();
    ids.sort_by_key(|id| u64::from(*id).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    ids
}

/// The pairs of a square grid with `side` vertices in a row; `ids` are those of its vertices, row
/// by row.
fn grid(side: u32, ids: &[u32]) -> Vec<u8> {
    let at = |row: u32, column: u32| ids[(row * side + column) as usize];
    let pairs = (0..side).flat_map(|row| (0..side).map(move |column| (row, column)));
    let ends = pairs.flat_map(|(row, column)| {
        let right = (column + 1 < side).then(|| [at(row, column), at(row, column + 1)]);
        let below = (row + 1 < side).then(|| [at(row, column), at(row + 1, column)]);
        right.into_iter().chain(below).flatten()
    });
    ends.flat_map(u32::to_le_bytes).collect()
}

fn path(ids: &[u32]) -> Vec<u8> {
    ids.windows(2).flatten().copied().flat_map(u32::to_le_bytes).collect()
}

/// For each vertex of a graph its id.
fn numbers(graph: &cenote_store::Graph) -> Vec<u32> {
    let number = |id: Id| id.text().parse().unwrap();
    ids(graph).into_iter().map(number).collect()
}

#[test]
fn clusters_bring_neighbours_together() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.cenote");
    let run = |bytes: &[u8]| {
        let spec = file(&folder, "a.u32", bytes);
        let config = ImportConfig::default().order(Order::Cluster).overwrite(true);
        import(&[spec], &out, &config, &NoProgress).unwrap();
        assert_eq!(open(&out).superblock().order, Order::Cluster);
        numbers(&open(&out))
    };
    // A path lies in its own order, from one of its ends.
    let ids = shuffled(30_000);
    let mut found = run(&path(&ids));
    if found[0] != ids[0] {
        found.reverse();
    }
    assert!(found == ids);
    // Of a grid parts of any length are compact: few edges leave them.
    let (side, mut place) = (120u32, vec![0usize; 120 * 120]);
    let ids = shuffled(side * side);
    (0..).zip(run(&grid(side, &ids))).for_each(|(at, id)| place[id as usize] = at);
    let pairs = grid(side, &ids);
    let ends: Vec<usize> = pairs
        .chunks(4)
        .map(|id| place[u32::from_le_bytes(id.try_into().unwrap()) as usize])
        .collect();
    for (length, leaving_max) in [(200, 0.22), (1600, 0.11)] {
        let leaving = ends.chunks(2).filter(|two| two[0] / length != two[1] / length).count();
        let share = leaving as f64 / (ends.len() / 2) as f64;
        assert!(share < leaving_max, "{share} of the edges leave parts of {length} vertices");
    }
}

#[test]
fn auto_takes_the_natural_order_of_a_small_graph_and_of_strings() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.cenote");
    let run = |text: &str, auto| {
        let spec = file(&folder, "a.txt", text.as_bytes());
        let config = ImportConfig::default().auto_order(auto).overwrite(true);
        let report = import(&[spec], &out, &config, &NoProgress).unwrap();
        (report.order, report.order_reason, fs::read(&out).unwrap())
    };
    for (text, why) in [("1 2\n2 3\n", "3 vertices"), ("a b\nb c\n", "strings")] {
        let (order, reason, graph) = run(text, true);
        assert_eq!(order, "natural");
        assert!(reason.unwrap().contains(why));
        assert!(run(text, false) == ("natural", None, graph));
    }
}

#[test]
fn auto_takes_clusters_where_ids_are_of_chance_and_memory_has_room() {
    let folder = tempfile::tempdir().unwrap();
    let spec = file(&folder, "a.u32", &path(&shuffled(600_000)));
    let out = folder.path().join("out.cenote");
    let run = |threads, memory_bytes| {
        let config = ImportConfig::default().auto_order(true).overwrite(true);
        let config = config.threads(threads).memory_bytes(memory_bytes);
        let report = import(std::slice::from_ref(&spec), &out, &config, &NoProgress).unwrap();
        assert!(report.peak_memory_bytes <= memory_bytes as u64);
        (report, fs::read(&out).unwrap())
    };
    let (report, graph) = run(1, 1 << 30);
    assert_eq!((report.order, report.order_memory_bytes), ("cluster", None));
    assert!(report.order_reason.unwrap().contains("ends of 100% of the edges"));
    assert!(report.spill_bytes > 0, "the graph in natural order was spilled");
    let explicit = ImportConfig::default().order(Order::Cluster).overwrite(true);
    import(std::slice::from_ref(&spec), &out, &explicit, &NoProgress).unwrap();
    assert!(fs::read(&out).unwrap() == graph);
    assert!(run(3, 256 << 20).1 == graph);
    // Too little memory for a sample; and for clusters, with how much would do.
    let (report, natural) = run(1, 16 << 20);
    assert_eq!((report.order, report.order_memory_bytes), ("natural", None));
    assert!(report.order_reason.unwrap().contains("too little for a sample"));
    let (report, again) = run(1, 25 << 20);
    assert!(report.order == "natural" && again == natural);
    let needed = report.order_memory_bytes.expect("more than was given");
    let (report, again) = run(1, needed as usize);
    assert!(report.order == "cluster" && again == graph);
}

#[test]
fn the_budget_that_auto_names_for_clusters_suffices_with_weights_too() {
    let folder = tempfile::tempdir().unwrap();
    let ids = shuffled(800_000);
    let text: String = ids.windows(2).map(|two| format!("{} {} 2\n", two[0], two[1])).collect();
    let spec = file(&folder, "a.txt", text.as_bytes());
    let run = |memory_bytes| {
        let config = ImportConfig::default().auto_order(true).overwrite(true).threads(1);
        let config = config.weights(Some(WeightType::U32)).memory_bytes(memory_bytes);
        let out = folder.path().join("out.cenote");
        import(std::slice::from_ref(&spec), &out, &config, &NoProgress).unwrap()
    };
    let report = run(32 << 20);
    assert_eq!(report.order, "natural");
    let needed = report.order_memory_bytes.expect("more than was given");
    assert_eq!(run(needed as usize).order, "cluster");
}

#[test]
fn auto_leaves_large_graphs_with_hubs_or_good_ids_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.cenote");
    // Every vertex is joined to one of 300 hubs, which lie anywhere.
    let vertices = 300_000u32;
    let mixed = |number: u32| number.wrapping_mul(0x9e37_79b1) >> 7;
    let pair = |vertex| [vertex, mixed(mixed(vertex) % 300 + 1) % vertices];
    let hubs: Vec<u8> = (0..vertices).flat_map(pair).flat_map(u32::to_le_bytes).collect();
    let natural: Vec<u32> = (0..520 * 520).collect();
    let chance = (0..900_000u64).map(|at| (mix(at) % u64::from(vertices)) as u32);
    let chance: Vec<u8> = chance.flat_map(u32::to_le_bytes).collect();
    for (name, bytes, why) in [
        ("hubs.u32", hubs, "long lists have"),
        ("path.u32", path(&natural), "100% of the edges together"),
        // In pages of rows half of the edges stay; in clusters a sixth leaves them.
        ("grid.u32", grid(520, &natural), "the ids of 5"),
        // No part of a graph of chance has more edges inside than out of it.
        ("chance.u32", chance, "parts of the graph"),
    ] {
        let spec = file(&folder, name, &bytes);
        let run = |auto| {
            let config = ImportConfig::default().auto_order(auto).overwrite(true);
            import(std::slice::from_ref(&spec), &out, &config, &NoProgress).unwrap()
        };
        let report = run(true);
        let reason = report.order_reason.unwrap();
        assert!(report.order == "natural" && reason.contains(why), "{name}: {reason}");
        let graph = fs::read(&out).unwrap();
        run(false);
        assert!(fs::read(&out).unwrap() == graph, "{name}");
    }
}

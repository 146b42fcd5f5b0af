//! Graphs of every shape come back as they were written.

use std::collections::BTreeSet;

use crate::graphs::{MemoryDevice, Random, TestGraph, TestIds, assert_hub_neighbours, assert_same};
use cenote_store::{
    Codec, Counts, Direction, Graph, GraphWriter, HubNeighboursChoice, IdsSource, StoreError,
};

#[test]
fn triangle_with_tail_comes_back() {
    let graph = TestGraph::undirected(5, &[(0, 1), (1, 2), (0, 2), (2, 3)]);
    let stored = graph.store();
    assert_same(&stored, &graph);
    assert_eq!(stored.superblock().edges, 4);
    assert_eq!(stored.superblock().stored_out, 8);
    assert_eq!(stored.superblock().degree_max_vertex, 2);
    assert_eq!(stored.superblock().pages_total, 5, "two slots, one page each");
}

#[test]
fn graph_without_vertices_comes_back() {
    for graph in [TestGraph::undirected(0, &[]), TestGraph::directed(0, &[])] {
        assert_same(&graph.store(), &graph);
    }
}

#[test]
fn vertices_without_edges_come_back() {
    for codec in Codec::ALL {
        let graph = TestGraph { codec, ..TestGraph::directed(10_000, &[(9_999, 9_999)]) };
        assert_same(&graph.store(), &graph);
    }
}

#[test]
fn self_loops_and_repeated_edges_come_back() {
    for codec in Codec::ALL {
        let edges = [(0, 0), (0, 1), (0, 1), (2, 2), (2, 2)];
        let graph = TestGraph { codec, ..TestGraph::undirected(3, &edges) };
        assert_eq!(graph.edges(), 5);
        assert_same(&graph.store(), &graph);
    }
}

/// Lists around every limit: what fits beside others, a page exactly, a page and one entry, many
/// pages, with and without a list before and after.
#[test]
fn lists_of_every_critical_length_come_back() {
    for page_bytes in [4096, 8192, 16384, 32768, 65536] {
        let full = (page_bytes - 48 - 2) / 4;
        let short = page_bytes / 64;
        let critical = [0, 1, 15, 16, 17, short - 1, short, short + 1];
        let around =
            [full - 1, full, full + 1, 2 * full - 1, 2 * full, 2 * full + 1, 3 * full + 16];
        for before in [0, 1, short, full - 18, full - 17, full - 16, full - 1, full] {
            let lengths = critical.iter().chain(&around).flat_map(|&len| [before, len]);
            let vertices = 4 * full;
            let list = |len: usize| (0..len as u32).collect::<Vec<_>>();
            let mut out: Vec<_> = lengths.map(list).collect();
            out.resize(vertices, Vec::new());
            for codec in Codec::ALL {
                let graph = TestGraph { page_bytes, codec, ..TestGraph::with_lists(out.clone()) };
                assert_lists_only(&graph.store(), &graph);
            }
        }
    }
}

/// `assert_same` looks vertex by vertex; here one pass and a check suffice.
fn assert_lists_only(stored: &Graph, graph: &TestGraph) {
    let mut found = vec![Vec::new(); graph.out.len()];
    let adjacency = stored.adjacency(Direction::Out).unwrap();
    stored
        .scan(Direction::Out, &mut |page, view| {
            for list in view.lists() {
                assert!(adjacency.pages_of(list.vertex).contains(&page));
                found[list.vertex as usize].extend_from_slice(list.targets);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(found, graph.out);
    assert!(cenote_store::check(stored, &mut |_, _| true).unwrap().is_whole());
}

#[test]
fn random_graphs_come_back_whatever_the_page_size_ids_and_pieces() {
    for seed in 0..40 {
        println!("seed {seed}");
        let hub_neighbours =
            [HubNeighboursChoice::Yes, HubNeighboursChoice::No, HubNeighboursChoice::Auto]
                [seed as usize % 3];
        let graph = TestGraph { hub_neighbours, ..random_graph(&mut Random(seed)) };
        let device = MemoryDevice::default();
        let piece = [1, 7, 1000, usize::MAX][seed as usize % 4];
        let written = graph.write(&device, piece).unwrap();
        let stored = Graph::open(device.shared()).unwrap();
        assert_eq!(&written, stored.superblock());
        assert_same(&stored, &graph);
    }
}

/// So many vertices and so long lists that threads share the work.
#[test]
fn heads_of_many_vertices_come_back() {
    let vertices = 300_000;
    let mut random = Random(9);
    let mut edges: Vec<_> = (1..vertices).map(|v| (0, v)).collect();
    edges.extend((2..vertices).step_by(3).map(|v| (1, v)));
    edges.extend((0..vertices).map(|v| (random.below(1 + u64::from(v)) as u32, v)));
    edges.sort_unstable();
    edges.dedup();
    for codec in Codec::ALL {
        let graph = TestGraph::undirected(vertices as usize, &edges);
        let graph = TestGraph { hub_neighbours: HubNeighboursChoice::Yes, codec, ..graph };
        let stored = graph.store();
        assert_hub_neighbours(&stored, &graph);
        assert!(cenote_store::check(&stored, &mut |_, _| true).unwrap().is_whole());
    }
}

/// Few or many vertices, degrees from nothing to almost all.
fn random_graph(random: &mut Random) -> TestGraph {
    let vertices = [1, 2, 40, 700, 3000][random.below(5) as usize];
    let mut edges = BTreeSet::new();
    for _ in 0..random.below(4) * vertices {
        edges.insert((random.below(vertices) as u32, random.below(vertices) as u32));
    }
    for _ in 0..random.below(3) {
        let hub = random.below(vertices) as u32;
        let share = 1 + random.below(3);
        edges.extend((0..vertices).filter(|v| v % share == 0).map(|v| (hub, v as u32)));
    }
    let mut edges: Vec<_> = edges.into_iter().collect();
    let mut graph = match random.below(3) {
        0 => {
            edges.iter_mut().for_each(|(u, v)| (*u, *v) = (*u.min(v), *u.max(v)));
            edges.sort_unstable();
            edges.dedup();
            TestGraph::undirected(vertices as usize, &edges)
        }
        1 => TestGraph::directed(vertices as usize, &edges),
        _ => TestGraph { back: None, ..TestGraph::directed(vertices as usize, &edges) },
    };
    graph.duplicates_kept = random.below(2) == 0;
    graph.page_bytes = 4096 << random.below(5);
    graph.codec = Codec::ALL[random.below(2) as usize];
    graph.salt = random.next();
    graph.ids = random_ids(random, vertices as usize);
    graph
}

fn random_ids(random: &mut Random, count: usize) -> TestIds {
    match random.below(3) {
        0 => TestIds::Dense,
        1 => {
            let mut ids = BTreeSet::from([u64::MAX]);
            while ids.len() < count {
                ids.insert(random.next() >> random.below(64));
            }
            TestIds::Integers(ids.into_iter().take(count).collect())
        }
        _ => {
            let mut ids = BTreeSet::new();
            while ids.len() < count {
                ids.insert(random_string(random));
            }
            TestIds::Strings(ids.into_iter().collect())
        }
    }
}

/// Mostly short with common beginnings; now and then longer than a page.
fn random_string(random: &mut Random) -> String {
    let len = match random.below(200) {
        0 => 3000 + random.below(6000),
        1 => random.below(65_536),
        _ => random.below(30),
    };
    let alphabet = ['a', 'a', 'a', 'b', '\n', ' ', '\t', 'é', '漢', '🦀'];
    let mut string = String::new();
    while (string.len() as u64) < len {
        string.push(alphabet[random.below(10) as usize]);
    }
    string
}

#[test]
fn strings_as_long_as_possible_come_back() {
    let text = |c: &str, len: usize| c.repeat(len);
    let mut ids = vec![
        String::new(),
        text("a", 4042),
        text("a", 4043),
        text("a", 4044),
        text("a", 4045),
        text("a", 4045) + "b",
        text("a", 65_535),
        text("a", 65_536),
        text("a", 65_535) + "b",
        "ab".into(),
        text("b", 65_536),
    ];
    ids.sort();
    for page_bytes in [4096, 65536] {
        let ids = TestIds::Strings(ids.clone());
        let graph = TestGraph { ids, page_bytes, ..TestGraph::undirected(11, &[(0, 10)]) };
        assert_same(&graph.store(), &graph);
    }
}

#[test]
fn ids_that_cannot_be_stored_are_refused_with_a_reason() {
    let refuse = |ids: TestIds, expected: &str| {
        let count = match &ids {
            TestIds::Strings(ids) => ids.len(),
            TestIds::Integers(ids) => ids.len(),
            TestIds::Dense => 0,
        };
        let graph = TestGraph { ids, ..TestGraph::undirected(count, &[]) };
        let device = MemoryDevice::default();
        let error = graph.write(&device, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(Graph::open(device.shared()).is_err(), "no graph is left behind");
    };
    refuse(TestIds::Strings(vec!["b".into(), "a".into()]), "do not ascend");
    refuse(TestIds::Strings(vec!["a".into(), "a".into()]), "do not ascend");
    refuse(TestIds::Strings(vec!["a".repeat(65_537)]), "65537 bytes");
    refuse(TestIds::Integers(vec![1, 1]), "do not ascend");
}

#[test]
fn specs_that_cannot_be_stored_are_refused_with_a_reason() {
    let good = TestGraph::undirected(3, &[]).spec();
    let refuse = |spec, expected: &str| {
        let device = MemoryDevice::default().shared();
        let error = GraphWriter::create(device, spec).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    };
    for page_bytes in [0, 2048, 4097, 12288, 1 << 17] {
        refuse(cenote_store::GraphSpec { page_bytes, ..good.clone() }, "power of two");
    }
    refuse(cenote_store::GraphSpec { vertices: 1 << 32, ..good.clone() }, "at most 4294967295");
    refuse(cenote_store::GraphSpec { in_edges: true, ..good }, "directed graphs only");
}

#[test]
fn counts_that_contradict_the_lists_are_refused() {
    let graph = TestGraph::undirected(3, &[(0, 1)]);
    let device = MemoryDevice::default().shared();
    let mut writer = GraphWriter::create(device, graph.spec()).unwrap();
    graph.out.iter().for_each(|list| writer.push_list(list).unwrap());
    let counts = Counts { edges: 2, duplicates: 0, self_loops: 0 };
    let error = writer.finish(IdsSource::Dense, counts).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
}

#[test]
fn superblock_is_written_last_and_only_after_a_sync() {
    let graph = TestGraph::undirected(50_000, &[(0, 49_999)]);
    let device = MemoryDevice::default();
    let superblock = graph.write(&device, 1).unwrap();
    let writes = device.writes();
    let first_page = writes.iter().position(|write| matches!(write, Some((0, _)))).unwrap();
    assert_eq!(writes[first_page - 1], None, "a sync comes before");
    assert_eq!(writes[first_page + 1..], [None], "only a sync comes after");
    let mut covered: Vec<_> = writes.into_iter().flatten().collect();
    covered.sort_unstable();
    assert_eq!(covered[0], (0, 4096));
    // The other slot was never written.
    let mut end = 8192;
    for (offset, len) in &covered[1..] {
        assert_eq!(*offset, end, "every byte is written once");
        end += *len as u64;
    }
    assert_eq!(end, superblock.file_bytes());
}

#[test]
fn full_disk_at_any_write_leaves_no_graph_behind() {
    let edges: Vec<_> = (0..400_000).map(|v| (v, (v * 7 + 1) % 400_000)).collect();
    let graph = TestGraph::directed(400_000, &edges);
    let device = MemoryDevice::default();
    graph.write(&device, 1).unwrap();
    let writes = device.writes().iter().flatten().count();
    assert!(writes > 5, "the graph is larger than what is in flight");
    for good in 0..writes {
        let device = MemoryDevice::default();
        device.fail_after_writes(good);
        let error = graph.write(&device, 1).unwrap_err().to_string();
        assert!(error.contains("No space left"), "{error}");
        assert!(Graph::open(device.shared()).is_err(), "after {good} good writes");
    }
}

#[test]
#[should_panic(expected = "does not ascend")]
fn list_out_of_order_is_a_fault_of_the_caller() {
    let _ = TestGraph::with_lists(vec![vec![1, 0], vec![]]).stored_bytes();
}

#[test]
#[should_panic(expected = "does not ascend")]
fn piece_that_falls_behind_the_one_before_is_a_fault_of_the_caller() {
    let graph = TestGraph::with_lists(vec![vec![1, 2, 0], vec![], vec![]]);
    let _ = graph.write(&MemoryDevice::default(), 2);
}

#[test]
#[should_panic(expected = "which is no vertex")]
fn target_that_is_no_vertex_is_a_fault_of_the_caller() {
    let _ = TestGraph::with_lists(vec![vec![1]]).stored_bytes();
}

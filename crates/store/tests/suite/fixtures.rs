//! Files of every format version stay readable, and the writer still writes the same bytes.
//!
//! To add fixtures after a deliberate change of the format: `CENOTE_WRITE_FIXTURES=1 cargo test -p
//! cenote-store --test suite fixtures` writes those that are missing. Existing ones are never
//! rewritten.

use std::ops::Range;
use std::path::PathBuf;

use crate::graphs::{MemoryDevice, TestGraph, TestIds, assert_same};
use crate::part;
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Batch, Change, Codec, Direction, Graph, Id, LookupConfig, Op, Store, Value, Weight, WeightType,
    WriteLimits, check_device,
};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A fixture; written first if that is asked and it is missing.
fn fixture(name: &str, make: impl FnOnce() -> Vec<u8>) -> MemoryDevice {
    if std::env::var_os("CENOTE_WRITE_FIXTURES").is_some() && !path(name).exists() {
        std::fs::write(path(name), make()).unwrap();
    }
    let bytes = std::fs::read(path(name));
    MemoryDevice::with_bytes(bytes.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// A square with one diagonal, and a vertex of its own.
fn square() -> TestGraph {
    TestGraph::undirected(5, &[(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
}

/// A list that runs over three pages, in-edges, a self-loop, string ids.
fn star() -> TestGraph {
    let mut edges: Vec<_> = (0..2200).map(|v| (1, v)).collect();
    edges.push((2199, 0));
    let ids = (0..2200).map(|v| format!("vertex/{v:04}")).collect();
    TestGraph { ids: TestIds::Strings(ids), ..TestGraph::directed(2200, &edges) }
}

/// Sparse integer ids on pages of 8 KiB, an edge that repeats.
fn sparse() -> TestGraph {
    let ids = TestIds::Integers(vec![3, 1 << 20, 1 << 40, u64::MAX]);
    let graph = TestGraph::undirected(4, &[(0, 3), (0, 3), (1, 2)]);
    TestGraph { ids, page_bytes: 8192, ..graph }
}

#[test]
fn graphs_of_version_2_are_read_as_ever_and_written_as_ever() {
    let graphs = [("square", square()), ("star", star()), ("sparse", sparse())];
    for (name, graph) in graphs {
        let device = fixture(&format!("v2-{name}.cenote"), || graph.stored_bytes());
        assert_same(&Graph::open(device.shared()).unwrap(), &graph);
        assert!(device.bytes() == graph.stored_bytes(), "{name}: other bytes than ever");
    }
}

#[test]
fn packed_graphs_are_read_as_ever_and_written_as_ever() {
    let graphs = [("square", square()), ("star", star()), ("sparse", sparse())];
    for (name, graph) in graphs {
        let graph = TestGraph { codec: Codec::Packed, ..graph };
        let device = fixture(&format!("v2-packed-{name}.cenote"), || graph.stored_bytes());
        assert_same(&Graph::open(device.shared()).unwrap(), &graph);
        assert!(device.bytes() == graph.stored_bytes(), "{name}: other bytes than ever");
    }
}

/// Two vertices more, with edges.
fn appended() -> Batch {
    let new_ids = ["zoe", "Amy"].map(|id| Id::String(id.into())).to_vec();
    let add = |source, target| Change { op: Op::Add, source, target };
    Batch { new_ids, changes: vec![add(2200, 2201), add(7, 2200)], ..Batch::default() }
}

/// The long list of the star without some entries.
fn without(targets: Range<u32>) -> Batch {
    let delete = |target| Change { op: Op::Delete, source: 1, target };
    Batch { changes: targets.map(delete).collect(), ..Batch::default() }
}

fn assert_targets(graph: &Graph, expected: &[Vec<u32>]) {
    let mut list = Vec::new();
    for (vertex, expected) in (0..).zip(expected) {
        list.clear();
        graph.read_list(Direction::Out, vertex, &mut list).unwrap();
        assert_eq!(list, *expected, "vertex {vertex}");
    }
}

/// The star after two batches: a list that shrinks from three pages to one, appended vertices,
/// pages that lie out of order, free pages and both slots in use.
fn updated_star() -> Vec<u8> {
    let star = TestGraph { duplicates_kept: false, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    store.update(&appended()).unwrap();
    store.update(&without(100..2200)).unwrap();
    device.bytes()
}

#[test]
fn an_updated_graph_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-updated.cenote", updated_star);
    assert!(device.bytes() == updated_star(), "other bytes than ever");
    let mut graph = star();
    graph.out[1].truncate(100);
    graph.out[7].push(2200);
    graph.out.extend([vec![2201], vec![]]);
    let found = Graph::open(device.shared()).unwrap();
    assert_targets(&found, &graph.out);
    let ids = found.ids().unwrap();
    let vertices = ["zoe", "Amy", "vertex/0007"].map(|id| ids.vertex_of(id).unwrap());
    assert_eq!(vertices, [Some(2200), Some(2201), Some(7)]);
    assert_eq!((found.superblock().epoch, found.superblock().edges), (3, 103));
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
}

/// The star with two batches in its log: appended vertices, edges added and deleted.
fn logged_star() -> Vec<u8> {
    let star = TestGraph { duplicates_kept: false, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let limits = WriteLimits::default().bytes(16 << 10);
    let store = Store::open(device.shared()).unwrap().with_limits(limits);
    store.commit(&appended()).unwrap();
    store.commit(&without(1000..1200)).unwrap();
    device.bytes()
}

#[test]
fn a_graph_with_a_log_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-logged.cenote", logged_star);
    assert!(device.bytes() == logged_star(), "other bytes than ever");
    let mut graph = star();
    graph.out[1].retain(|target| !(1000..1200).contains(target));
    graph.out[7].push(2200);
    graph.out.extend([vec![2201], vec![]]);
    let found = Graph::open(device.shared()).unwrap();
    assert_targets(&found, &graph.out);
    let superblock = found.superblock();
    assert_eq!((superblock.epoch, superblock.edges, found.logged_changes()), (2, 2003, 202));
    let log = superblock.log.start as usize * 4096;
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
    let damaged = fixture("v2-corrupt-log.cenote", || {
        let mut bytes = logged_star();
        bytes[log + 60] ^= 1;
        bytes
    });
    let error = Graph::open(damaged.shared()).unwrap_err().to_string();
    assert!(error.contains("flush 1 is damaged: checksum mismatch"), "{error}");
}

/// The star with weights and two batches in its log: edges added, deleted and weighed anew.
fn logged_star_with_weights() -> Vec<u8> {
    let weights = Some(WeightType::F32);
    let star = TestGraph { duplicates_kept: false, weights, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let limits = WriteLimits::default().bytes(16 << 10);
    let store = Store::open(device.shared()).unwrap().with_limits(limits);
    let weight = Some(Weight::F32(0.5));
    store.commit(&Batch { weights: vec![weight; 2], ..appended() }).unwrap();
    let set = Change { op: Op::Set, source: 1, target: 900 };
    let mut batch = without(1000..1200);
    batch.weights = vec![None; batch.changes.len()];
    batch.changes.push(set);
    batch.weights.push(Some(Weight::F32(-2.0)));
    store.commit(&batch).unwrap();
    device.bytes()
}

#[test]
fn a_graph_with_weights_in_its_log_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-logged-weights.cenote", logged_star_with_weights);
    assert!(device.bytes() == logged_star_with_weights(), "other bytes than ever");
    let mut graph = star();
    graph.out[1].retain(|target| !(1000..1200).contains(target));
    graph.out[7].push(2200);
    graph.out.extend([vec![2201], vec![]]);
    let found = Graph::open(device.shared()).unwrap();
    assert_targets(&found, &graph.out);
    let weight = |vertex, target| {
        let (mut list, mut weights) = (Vec::new(), Vec::new());
        found.read_list(Direction::Out, vertex, &mut list).unwrap();
        found.read_weights(Direction::Out, vertex, &mut weights).unwrap();
        assert_eq!(list.len(), weights.len());
        weights[list.binary_search(&target).unwrap()]
    };
    assert_eq!([weight(7, 2200), weight(2200, 2201)], [Weight::F32(0.5); 2]);
    assert_eq!(weight(1, 900), Weight::F32(-2.0));
    let star = TestGraph { weights: Some(WeightType::F32), ..star() };
    assert_eq!(Some(weight(1, 901)), star.weight_of(1, 901));
    // Bits 0 and 5 of the features that a program must know.
    assert_eq!(device.bytes()[4096 + 64], 0b10_0001);
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
}

/// A star with weights of one byte, a snapshot of it, and then one that takes two.
fn star_with_narrow_weights() -> Vec<u8> {
    let weights = Some(WeightType::I64);
    let star = TestGraph { duplicates_kept: false, weights, small_weights: true, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    store.snapshot(Some("narrow"), 1).unwrap();
    let set = Change { op: Op::Set, source: 1, target: 900 };
    let weights = vec![Some(Weight::I64(1_000))];
    store.update(&Batch { changes: vec![set], weights, ..Batch::default() }).unwrap();
    device.bytes()
}

#[test]
fn a_graph_with_narrow_weights_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-narrow-weights.cenote", star_with_narrow_weights);
    assert!(device.bytes() == star_with_narrow_weights(), "other bytes than ever");
    let weights = Some(WeightType::I64);
    let graph = TestGraph { duplicates_kept: false, weights, small_weights: true, ..star() };
    let store = Store::open(device.shared()).unwrap();
    let snapshot = store.graph_at("narrow", |_| LookupConfig::default()).unwrap();
    assert_same(&snapshot, &graph);
    let found = store.graph(|_| LookupConfig::default()).unwrap();
    for (graph_now, bytes, set) in
        [(&snapshot, 1, graph.weight_of(1, 900)), (&found, 2, Some(Weight::I64(1_000)))]
    {
        assert_eq!(graph_now.superblock().weights.unwrap().format().bytes(), bytes);
        let mut weights = Vec::new();
        graph_now.read_weights(Direction::Out, 1, &mut weights).unwrap();
        assert_eq!((Some(weights[900]), Some(weights[901])), (set, graph.weight_of(1, 901)));
    }
    // Bits 1 and 7 of the features that a program must know.
    assert_eq!(device.bytes()[4096 + 64], 0b1000_0010);
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
}

/// The star with two delta runs and a log: appended vertices, edges added and deleted.
fn star_with_runs() -> Vec<u8> {
    let star = TestGraph { duplicates_kept: false, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let limits = WriteLimits::default().bytes(16 << 10).changes(200).run_percent(10_000);
    let store = Store::open(device.shared()).unwrap().with_limits(limits);
    store.commit(&appended()).unwrap();
    store.commit(&without(1000..1200)).unwrap();
    store.commit(&without(1500..1520)).unwrap();
    device.bytes()
}

/// The star without some vertices, one of which came later, and with one that came back.
fn star_without_vertices() -> Vec<u8> {
    let star = TestGraph { duplicates_kept: false, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    store.update(&appended()).unwrap();
    let of = |op, vertices: &[u32]| {
        let changes = vertices.iter().map(|&vertex| Change::of_vertex(op, vertex)).collect();
        store.update(&Batch { changes, ..Batch::default() }).unwrap()
    };
    let all: Vec<u32> = (100..1300).chain([0, 7, 2201]).collect();
    assert_eq!(of(Op::DeleteVertex, &all).edges_of_vertices, 1205);
    of(Op::AddVertex, &[7]);
    device.bytes()
}

#[test]
fn a_graph_with_delta_runs_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-runs.cenote", star_with_runs);
    assert!(device.bytes() == star_with_runs(), "other bytes than ever");
    let mut graph = star();
    graph.out[1].retain(|v| !(1000..1200).contains(v) && !(1500..1520).contains(v));
    graph.out[7].push(2200);
    graph.out.extend([vec![2201], vec![]]);
    let found = Graph::open(device.shared()).unwrap();
    assert_targets(&found, &graph.out);
    let superblock = found.superblock();
    assert_eq!((superblock.epoch, superblock.edges, superblock.listed_vertices), (4, 1983, 2200));
    // Each end of an edge is changed in a list of targets or of sources.
    assert_eq!((found.runs(), found.run_changes(), found.logged_changes()), (2, 404, 20));
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
    let runs = *superblock.section(SectionKind::DeltaRuns).unwrap();
    let damaged = fixture("v2-corrupt-runs.cenote", || {
        let mut bytes = star_with_runs();
        bytes[found.physical(runs.first_page) as usize * 4096 + 60] ^= 1;
        bytes
    });
    let graph = Graph::open(damaged.shared()).unwrap();
    let error = graph.scan(Direction::Out, &mut |_, _| Ok(())).unwrap_err().to_string();
    assert!(error.contains("delta runs") && error.contains("checksum mismatch"), "{error}");
}

#[test]
fn a_graph_with_deleted_vertices_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-deleted.cenote", star_without_vertices);
    assert!(device.bytes() == star_without_vertices(), "other bytes than ever");
    let found = Graph::open(device.shared()).unwrap();
    assert_eq!((found.vertices(), found.live_vertices()), (2202, 1000));
    let superblock = found.superblock();
    assert_eq!((superblock.epoch, superblock.edges), (4, 998));
    let mut list = Vec::new();
    found.read_list(Direction::Out, 1, &mut list).unwrap();
    let is_left = |v: &u32| *v > 0 && *v != 7 && !(100..1300).contains(v);
    assert_eq!(list, (0..2200).filter(is_left).collect::<Vec<_>>());
    let ids = found.ids().unwrap();
    let vertices = ["Amy", "vertex/0007", "vertex/0000"].map(|id| ids.vertex_of(id).unwrap());
    assert_eq!(vertices, [None, Some(7), None]);
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
    let sections = superblock.sections.iter();
    let section = sections.clone().find(|section| section.kind as u32 == 23).unwrap();
    let page = found.physical(section.first_page) as usize;
    let damaged = fixture("v2-corrupt-deleted.cenote", || {
        let mut bytes = star_without_vertices();
        bytes[page * 4096 + 48] ^= 1;
        bytes
    });
    let error = Graph::open(damaged.shared()).unwrap_err().to_string();
    assert!(error.contains("(deleted vertices, ") && error.contains("checksum"), "{error}");
}

/// The star with values of some vertices, one of which was set twice and one removed.
fn valued_star() -> Vec<u8> {
    let star = TestGraph { duplicates_kept: false, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    let of = |op, vertices: &[u32], value: i64| {
        let changes = vertices.iter().map(|&vertex| Change::of_vertex(op, vertex)).collect();
        let values = match op {
            Op::SetValue => vec![Value::I64(value); vertices.len()],
            _ => Vec::new(),
        };
        store.update(&Batch { changes, values, ..Batch::default() }).unwrap();
    };
    of(Op::SetValue, &(0..700).collect::<Vec<u32>>(), -5);
    of(Op::SetValue, &[650, 2100], 1 << 40);
    of(Op::RemoveValue, &[3], 0);
    device.bytes()
}

#[test]
fn a_graph_with_values_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-values.cenote", valued_star);
    assert!(device.bytes() == valued_star(), "other bytes than ever");
    let found = Graph::open(device.shared()).unwrap();
    let values = [0, 3, 650, 699, 700, 2100].map(|vertex| found.value(vertex).unwrap());
    let [small, large] = [-5, 1 << 40].map(|value| Some(Value::I64(value)));
    assert_eq!(values, [small, None, large, small, None, large]);
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
    let sections = found.superblock().sections.iter();
    let section = sections.clone().find(|section| section.kind as u32 == 24).unwrap();
    let page = found.physical(section.first_page) as usize;
    let damaged = fixture("v2-corrupt-values.cenote", || {
        let mut bytes = valued_star();
        bytes[page * 4096 + 48] ^= 1;
        bytes
    });
    let report = check_device(damaged.shared(), &mut |_, _| true).unwrap();
    let message = &report.faults[0].message;
    assert!(message.contains("(vertex values, ") && message.contains("checksum"), "{message}");
}

#[test]
fn a_part_with_hub_neighbours_is_read_as_ever_and_written_as_ever() {
    let made = || part::with_hub_neighbours(true).bytes();
    let device = fixture("v2-part.cenote", made);
    assert!(device.bytes() == made(), "other bytes than ever");
    let found = Graph::open(device.shared()).unwrap();
    assert_same(&found, &part::part(true));
    let section = *found.superblock().section(SectionKind::PartHubNeighbours).unwrap();
    assert_eq!((section.kind as u32, section.items, section.epoch), (27, 900, 2));
    let page = found.physical(section.first_page) as usize;
    let damaged = fixture("v2-corrupt-part.cenote", || {
        let mut bytes = made();
        bytes[page * 4096 + 48] ^= 1;
        bytes
    });
    let report = check_device(damaged.shared(), &mut |_, _| true).unwrap();
    let message = &report.faults[0].message;
    let is_named = message.contains("(hub neighbours of a part, ") && message.contains("checksum");
    assert!(is_named, "{message}");
}

/// The star with a snapshot before each of two batches.
fn star_with_snapshots() -> Vec<u8> {
    let star = TestGraph { duplicates_kept: false, ..star() };
    let device = MemoryDevice::with_bytes(star.stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    store.snapshot(None, 1_767_225_599).unwrap();
    store.update(&appended()).unwrap();
    store.snapshot(Some("appended"), 1_767_225_600).unwrap();
    store.update(&without(100..2200)).unwrap();
    device.bytes()
}

#[test]
fn a_graph_with_snapshots_is_read_as_ever_and_written_as_ever() {
    let device = fixture("v2-snapshot.cenote", star_with_snapshots);
    assert!(device.bytes() == star_with_snapshots(), "other bytes than ever");
    let found = Graph::open(device.shared()).unwrap();
    assert_eq!((found.superblock().epoch, found.superblock().edges), (5, 103));
    let snapshots = found.snapshots().unwrap();
    let shown = |snapshot: &cenote_store::Snapshot| {
        (snapshot.name.clone(), snapshot.epoch, snapshot.created, snapshot.edges)
    };
    let shown: Vec<_> = snapshots.iter().map(shown).collect();
    assert_eq!(shown[0], ("epoch-1".to_owned(), 1, 1_767_225_599, 2201));
    assert_eq!(shown[1], ("appended".to_owned(), 3, 1_767_225_600, 2203));
    let at = |name| Graph::open_at(device.shared(), name, |_| LookupConfig::default()).unwrap();
    assert_same(&at("epoch-1"), &TestGraph { duplicates_kept: false, ..star() });
    let mut list = Vec::new();
    at("appended").read_list(Direction::Out, 2200, &mut list).unwrap();
    assert_eq!(list, [2201]);
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults, []);
    let damaged = fixture("v2-corrupt-snapshot.cenote", || {
        let mut bytes = star_with_snapshots();
        bytes[found.superblock().snapshots.start as usize * 4096 + 320] ^= 1;
        bytes
    });
    let report = check_device(damaged.shared(), &mut |_, _| true).unwrap();
    let message = &report.faults[0].message;
    assert!(report.faults.len() == 1 && message.contains("(snapshot, bytes "), "{message}");
}

#[test]
fn a_graph_of_version_1_asks_to_be_imported_again() {
    let device = fixture("v1-square.cenote", || unreachable!("no program writes version 1 now"));
    let error = Graph::open(device.shared()).unwrap_err().to_string();
    assert!(error.contains("format version 1") && error.contains("import the graph again"));
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!((report.faults.len(), report.faults[0].page), (1, Some(0)));
}

#[test]
fn corrupt_graphs_of_version_2_are_reported_as_ever() {
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = square().stored_bytes();
        change(&mut bytes);
        bytes
    };
    let assert_fault = |name: &str, change: &dyn Fn(&mut Vec<u8>), expected: &str| {
        let device = fixture(&format!("v2-corrupt-{name}.cenote"), || changed(change));
        let report = check_device(device.shared(), &mut |_, _| true).unwrap();
        let messages: Vec<_> = report.faults.iter().map(|fault| fault.message.as_str()).collect();
        assert!(messages[0].contains(expected), "{name}: {messages:?}");
    };
    let superblock = "page 0 (superblock, bytes 0..4096): checksum mismatch";
    assert_fault("superblock", &|bytes| bytes[96] ^= 1, superblock);
    let list = "page 2 (adjacency, bytes 8192..12288): checksum mismatch";
    assert_fault("list", &|bytes| bytes[2 * 4096 + 48] ^= 4, list);
    let index = "page 3 (index, bytes 12288..16384): checksum mismatch";
    assert_fault("index", &|bytes| bytes[3 * 4096 + 48] ^= 4, index);
    let truncated = "truncated: 16384 bytes, but the superblock (page 0) says 20480";
    assert_fault("truncated", &|bytes| bytes.truncate(16384), truncated);
    let packed = &|bytes: &mut Vec<u8>| {
        *bytes = TestGraph { codec: Codec::Packed, ..square() }.stored_bytes();
        bytes[2 * 4096 + 48] ^= 1;
    };
    assert_fault("packed", packed, list);
    let slot = "page 1 (superblock, bytes 4096..8192): checksum mismatch";
    assert_fault("slot", &|bytes| bytes[4096] = 1, slot);
    assert_fault("unfinished", &|bytes| bytes[..4096].fill(0), "was not finished");
}

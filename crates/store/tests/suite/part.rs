//! Hub neighbours of a part of a graph: by lengths of lists that the file does not have.

use crate::graphs::{MemoryDevice, TestGraph};
use cenote_device::{Buffer, read_exact};
use cenote_store::header::PageHeader;
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Batch, Change, Graph, HubNeighbours, LengthClass, Op, Store, check_device, hub_neighbours,
};

const VERTICES: u32 = 900;

/// Lists of the first 600 vertices, which lead to all; those of the last 300 are elsewhere.
pub fn part(in_edges: bool) -> TestGraph {
    let list = |v: u32| (0..v % 7).map(move |i| (v, (v * 5 + i * 131) % VERTICES));
    let mut edges: Vec<_> = (0..600).flat_map(list).filter(|(u, v)| u != v).collect();
    edges.sort_unstable();
    edges.dedup();
    let graph = TestGraph::directed(VERTICES as usize, &edges);
    let back = graph.back.filter(|_| in_edges);
    TestGraph { back, duplicates_kept: false, self_loops_kept: false, ..graph }
}

/// Vertices with larger numbers have longer lists in the whole graph.
fn lengths() -> Vec<LengthClass> {
    (0..VERTICES).map(|v| LengthClass::of(1 << (v / 20))).collect()
}

pub fn with_hub_neighbours(in_edges: bool) -> MemoryDevice {
    let device = MemoryDevice::with_bytes(part(in_edges).stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    assert!(store.write_hub_neighbours_of_part(lengths(), 2, &mut || true).unwrap());
    device
}

fn read(graph: &Graph) -> Vec<HubNeighbours> {
    let section = graph.hub_neighbours_of_part().expect("they were written");
    let mut all = Vec::new();
    for page in 0..section.pages() {
        let offset = graph.physical(section.first_page() + page) * graph.page_bytes() as u64;
        let buffer = Buffer::new(graph.page_bytes()).unwrap();
        let device = graph.device().as_ref();
        let bytes = read_exact(device, offset, graph.page_bytes(), buffer).unwrap();
        all.extend_from_slice(section.parse(page, &bytes).unwrap().1);
    }
    all
}

/// The hub neighbours of a list by their definition.
fn expected(list: &[u32]) -> HubNeighbours {
    let mut best = list.to_vec();
    // By class, which 20 vertices share; of these the smaller one comes first.
    best.sort_by_key(|&v| (std::cmp::Reverse(v / 20), v));
    best.truncate(3);
    best.sort_unstable();
    if list.len() > 3 {
        best.reverse();
    }
    best.resize(3, hub_neighbours::NO_NEIGHBOUR);
    HubNeighbours([best[0], best[1], best[2]])
}

fn faults(device: &MemoryDevice) -> Vec<String> {
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    report.faults.into_iter().map(|fault| fault.message).collect()
}

#[test]
fn hub_neighbours_of_a_part_follow_the_lengths_in_the_whole_graph() {
    for in_edges in [false, true] {
        let (test, device) = (part(in_edges), with_hub_neighbours(in_edges));
        assert_eq!(faults(&device), [""; 0]);
        let graph = Graph::open(device.shared()).unwrap();
        assert!(graph.hub_neighbours().is_none(), "they are for those who know the whole graph");
        let lists = test.back.as_ref().unwrap_or(&test.out);
        let found = read(&graph);
        assert!(found.len() == lists.len() && lists.iter().any(|list| list.len() > 3));
        for (list, found) in lists.iter().zip(found) {
            assert_eq!(found, expected(list), "{list:?}");
        }
    }
}

#[test]
fn changes_make_the_hub_neighbours_of_a_part_stale_and_a_merge_removes_them() {
    let device = with_hub_neighbours(true);
    let store = Store::open(device.shared()).unwrap();
    let has = || {
        let graph = Graph::open(device.shared()).unwrap();
        let section = graph.superblock().section(SectionKind::PartHubNeighbours).is_some();
        (graph.hub_neighbours_of_part().is_some(), section)
    };
    assert_eq!(has(), (true, true));
    let add = |target| {
        let changes = vec![Change { op: Op::Add, source: 599, target }];
        Batch { changes, ..Batch::default() }
    };
    store.update(&add(1)).unwrap();
    assert_eq!(has(), (false, false), "the change is in the lists");
    let lengths = vec![LengthClass::of(7); VERTICES as usize];
    store.write_hub_neighbours_of_part(lengths, 1, &mut || true).unwrap();
    assert_eq!(has(), (true, true));
    store.commit(&add(2)).unwrap();
    assert_eq!(has(), (false, true), "the change is in the log");
    assert_eq!(faults(&device), [""; 0]);
    store.merge().unwrap();
    assert_eq!(has(), (false, false));
    assert_eq!(faults(&device), [""; 0]);
}

#[test]
fn a_cancelled_writer_changes_nothing() {
    let device = MemoryDevice::with_bytes(part(false).stored_bytes());
    let store = Store::open(device.shared()).unwrap();
    assert!(!store.write_hub_neighbours_of_part(lengths(), 1, &mut || false).unwrap());
    drop(store);
    assert!(Graph::open(device.shared()).unwrap().hub_neighbours_of_part().is_none());
    assert_eq!(faults(&device), [""; 0]);
}

#[test]
fn a_check_finds_hub_neighbours_of_a_part_that_are_not_in_the_list() {
    for in_edges in [false, true] {
        let device = with_hub_neighbours(in_edges);
        let graph = Graph::open(device.shared()).unwrap();
        let section = graph.hub_neighbours_of_part().unwrap();
        let lists = part(in_edges);
        let lists = lists.back.as_ref().unwrap_or(&lists.out);
        // On the first page.
        let v = (100..300).find(|&v| lists[v].len() > 3).unwrap();
        let (start, salt) = (graph.physical(section.first_page()), graph.superblock().salt);
        let at = start as usize * 4096 + 48 + 12 * v;
        for place in 0..3 {
            let mut bytes = device.bytes();
            let entry = &mut bytes[at + 4 * place..][..4];
            let mut hub = u32::from_le_bytes(entry.try_into().unwrap());
            // Still descending, most often; else it is another mistake.
            hub = (hub - 1..=hub).rev().find(|other| !lists[v].contains(other)).unwrap_or(hub - 1);
            entry.copy_from_slice(&hub.to_le_bytes());
            let page = &mut bytes[start as usize * 4096..][..4096];
            PageHeader::read(page).seal(page, salt, section.first_page());
            let found = faults(&MemoryDevice::with_bytes(bytes));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(&format!("hub neighbours of vertex {v} ")), "{found:?}");
        }
    }
}

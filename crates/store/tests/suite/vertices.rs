//! Vertices that are deleted and added: what becomes of each change in a batch, with the log and
//! with weights, what a batch writes, and sections of deleted vertices that no program wrote.

use crate::graphs::model::{add, changes, delete};
use crate::graphs::{MemoryDevice, TestGraph};
use crate::live::Live;
use cenote_store::header::PageHeader;
use cenote_store::superblock::SectionKind;
use cenote_store::{
    Answer, Batch, Change, Graph, Id, Op, Store, StoreError, Weight, WeightType, check_device,
};

fn gone(vertex: u32) -> Change {
    Change::of_vertex(Op::DeleteVertex, vertex)
}

fn back(vertex: u32) -> Change {
    Change::of_vertex(Op::AddVertex, vertex)
}

/// A graph of each kind: without direction, directed without lists of sources, and with them.
fn kinds(vertices: usize, edges: &[(u32, u32)]) -> [TestGraph; 3] {
    let directed = TestGraph::directed(vertices, edges);
    let plain = TestGraph::undirected(vertices, edges);
    [plain, TestGraph { back: None, ..directed.clone() }, directed].map(|graph| TestGraph {
        duplicates_kept: false,
        self_loops_kept: true,
        ..graph
    })
}

#[test]
fn a_change_sees_what_those_before_it_did_to_its_vertices() {
    use Answer::{Absent, Done, Present, Unknown};
    for graph in kinds(6, &[(0, 1), (1, 2), (2, 3), (3, 3)]) {
        let mut live = Live::new(graph);
        let answers = live.update(&changes([
            add(4, 2),
            gone(2),
            gone(2),
            delete(1, 2),
            add(2, 5),
            delete(1, 2),
            back(2),
            back(0),
            gone(3),
            back(3),
            delete(3, 3),
        ]));
        let expected =
            [Done, Done, Unknown, Unknown, Done, Absent, Present, Present, Done, Done, Absent];
        assert_eq!(answers.answers, expected);
        // Those of 1, 3 and 4, and the self-loop; two vertices came back.
        assert_eq!((answers.edges_of_vertices, answers.revived), (4, 2));
        live.assert_same();
        assert!(live.graph().deleted().is_empty());
        // A vertex without an edge is a change too, once.
        let epoch = live.store.epoch();
        live.update(&changes([gone(4)]));
        live.update(&changes([gone(4)]));
        assert_eq!((live.store.epoch(), live.graph().deleted()), (epoch + 1, &[4][..]));
        live.assert_same();
        live.update(&changes([gone(4), back(4), gone(4)]));
        assert_eq!(live.store.epoch(), epoch + 1, "nothing is left of it");
    }
}

#[test]
fn a_vertex_takes_the_edges_along_that_the_log_has() {
    for graph in kinds(300, &[(0, 1), (1, 2), (2, 3)]) {
        let mut live = Live::new(graph);
        let ids = [900, 901].map(Id::Integer).to_vec();
        let batch = changes([add(1, 7), add(300, 1), add(301, 5), delete(2, 3)]);
        assert!(live.commit(&Batch { new_ids: ids, ..batch }).log_bytes > 0);
        assert_eq!(live.graph().logged_changes(), 4);
        let epoch = live.store.epoch();
        let done = live.commit(&changes([gone(1), gone(301), add(2, 9)]));
        assert_eq!((done.merged, done.edges_of_vertices), (4, 5));
        assert_eq!((live.store.epoch(), live.graph().logged_changes()), (epoch + 1, 0));
        live.assert_same();
        // The log takes no change of a deleted vertex; what concerns others goes there.
        assert!(live.commit(&changes([add(2, 11)])).log_bytes > 0);
        assert_eq!(live.commit(&changes([delete(301, 2), add(1, 20)])).revived, 1);
        assert_eq!(live.graph().deleted(), [301]);
        live.assert_same();
        // Nor does it add a vertex that is there.
        assert_eq!(live.commit(&changes([back(2)])).answers, [Answer::Present]);
    }
}

#[test]
fn weights_go_with_the_edges_of_a_vertex() {
    for graph in kinds(40, &[(0, 1), (1, 2), (2, 0), (7, 1), (5, 6)]) {
        let mut live = Live::new(TestGraph { weights: Some(WeightType::U32), ..graph });
        let batch = changes([gone(1), add(1, 3), gone(5), back(5)]);
        let weights = [None, Some(Weight::U32(8)), None, None].to_vec();
        live.update(&Batch { weights, ..batch });
        live.assert_same();
        let plain = Batch { weights: Vec::new(), ..changes([gone(3)]) };
        live.update(&plain);
        live.assert_same();
    }
}

#[test]
fn more_edges_than_a_batch_allows_are_counted_and_nothing_changes() {
    let star: Vec<_> = (1..500).map(|v| (0, v)).collect();
    for graph in kinds(500, &star) {
        let mut live = Live::new(graph);
        let epoch = live.store.epoch();
        let batch = Batch { deleted_edges_max: Some(498), ..changes([gone(0)]) };
        let error = live.store.update(&batch).unwrap_err();
        let is_right = matches!(error, StoreError::DeletedEdges { edges: 499, max: 498, .. });
        assert!(is_right, "{error}");
        assert_eq!(live.store.epoch(), epoch);
        live.update(&Batch { deleted_edges_max: Some(499), ..batch });
        live.assert_same();
    }
}

#[test]
fn a_change_of_two_vertices_is_refused() {
    let live = Live::new(kinds(4, &[])[0].clone());
    let wrong = Change { op: Op::DeleteVertex, source: 1, target: 2 };
    let error = live.store.update(&changes([wrong])).unwrap_err().to_string();
    assert!(error.contains("a change of a vertex, but of two: 1 and 2"), "{error}");
    let error = live.store.update(&changes([gone(4)])).unwrap_err().to_string();
    assert!(error.contains("vertex 4 of a change, but there are 4"), "{error}");
}

fn section(graph: &Graph) -> Option<(u64, u64)> {
    let section = graph.superblock().section(SectionKind::DeletedVertices)?;
    Some((section.first_page, section.pages))
}

/// A page has 1,012 of them.
#[test]
fn pages_of_deleted_vertices_that_do_not_change_stay() {
    let mut live = Live::new(kinds(5000, &[(0, 1)])[0].clone());
    live.update(&changes((10..4010).map(gone)));
    let places = |graph: &Graph| {
        let (first, pages) = section(graph).unwrap();
        (first..first + pages).map(|page| graph.physical(page)).collect::<Vec<_>>()
    };
    let before = places(&live.graph());
    assert_eq!(before.len(), 4);
    live.update(&changes([gone(4900), back(3900)]));
    let after = places(&live.graph());
    assert_eq!((&after[..3], after[3] == before[3]), (&before[..3], false));
    live.assert_same();
    live.update(&changes((0..5000).map(back)));
    assert_eq!(section(&live.graph()), None);
    live.assert_same();
}

// ------------------------------------------------------------------------------------------------
// Sections that no program wrote

/// A graph whose section of deleted vertices a commit has rewritten.
fn forged(change: impl Fn(&mut PageHeader, &mut [u8])) -> MemoryDevice {
    let device = MemoryDevice::default();
    let graph = kinds(3000, &[(0, 1), (5, 6)])[2].clone();
    graph.write(&device, usize::MAX).unwrap();
    let store = Store::open(device.shared()).unwrap();
    store.update(&changes((100..1300).map(gone))).unwrap();
    let graph = store.graph(|_| Default::default()).unwrap();
    let (first, pages) = section(&graph).unwrap();
    assert_eq!(pages, 2);
    let page = graph.physical(first) as usize * 4096;
    let bytes = device.bytes()[page..page + 4096].to_vec();
    drop(graph);
    let mut transaction = store.begin().unwrap();
    let (mut header, mut payload) = (PageHeader::read(&bytes), bytes[48..].to_vec());
    change(&mut header, &mut payload);
    transaction.write(first, header, |page| page[48..].copy_from_slice(&payload)).unwrap();
    transaction.commit().unwrap();
    device
}

fn put(payload: &mut [u8], at: usize, vertex: u32) {
    payload[4 * at..4 * at + 4].copy_from_slice(&vertex.to_le_bytes());
}

#[test]
fn a_hostile_section_of_deleted_vertices_is_an_error() {
    let refused = |change: &dyn Fn(&mut PageHeader, &mut [u8]), expected: &str| {
        let device = forged(change);
        let error = Graph::open(device.shared()).unwrap_err().to_string();
        assert!(error.contains("(deleted vertices, ") && error.contains(expected), "{error}");
        let error = Store::open(device.shared()).unwrap();
        assert!(error.update(&changes([gone(1)])).is_err(), "a writer goes on");
        let report = check_device(device.shared(), &mut |_, _| true).unwrap();
        assert!(!report.is_whole());
    };
    refused(&|_, page| put(page, 3, 100), "do not ascend");
    refused(&|_, page| put(page, 1011, 1112), "do not ascend");
    refused(&|_, page| put(page, 1011, 9000), "deleted vertex is 9000");
    refused(&|header, _| header.entries = 1000, "number of items");
    refused(&|header, _| header.first = 99, "first item of a page");
    refused(&|header, _| header.head_skip = 1, "header that should be zero");
    refused(&|header, _| header.kind = 7, "kind");
    assert!(Graph::open(forged(|_, _| {}).shared()).is_ok());
}

#[test]
fn a_deleted_vertex_with_an_edge_is_found_by_a_check() {
    for (vertex, expected) in [
        (0, "vertex 0 is deleted, but its list has entries"),
        (6, "has vertex 6, which is deleted"),
    ] {
        let device = forged(|header, page| {
            header.first = vertex;
            put(page, 0, vertex);
        });
        let report = check_device(device.shared(), &mut |_, _| true).unwrap();
        let messages: Vec<_> = report.faults.iter().map(|fault| &fault.message).collect();
        assert!(messages.iter().any(|message| message.contains(expected)), "{messages:?}");
    }
}

/// The bit, the section and its numbers must agree.
#[test]
fn the_feature_of_deleted_vertices_and_their_section_agree() {
    let device = forged(|_, _| {});
    let graph = Graph::open(device.shared()).unwrap();
    let slot = graph.superblock().slot();
    let sections = graph.superblock().sections.len();
    let place = 512 + 40 * (sections - 1);
    assert_eq!(graph.superblock().sections[sections - 1].kind, SectionKind::DeletedVertices);
    let changed = |at: usize, value: u64, expected: &str| {
        let copy = MemoryDevice::with_bytes(device.bytes());
        copy.change(|bytes| {
            let page = &mut bytes[slot as usize * 4096..][..4096];
            page[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let header = PageHeader::read(page);
            header.seal(page, 0, slot);
        });
        let error = Graph::open(copy.shared()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    changed(64, 0, "its feature of deleted vertices and its sections disagree");
    changed(64, 1 << 40, "bits");
    changed(place + 24, 0, "its section of deleted vertices has none");
    changed(place + 24, 5000, "deleted vertices");
    changed(place + 24, 900, "pages of deleted vertices");
}

//! Damage of every kind gives an error that names the page: never a wrong result, never a panic.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::graphs::{MemoryDevice, Random, TestGraph, TestIds, aligned, read_hub_neighbours};
use cenote_store::format::{HEADER_BYTES, PageKind};
use cenote_store::header::{Identity, PageHeader, verify_codec};
use cenote_store::{
    Codec, Decoded, Direction, Graph, HubNeighboursChoice, StoreError, check_device,
};

/// Ten or so pages of every kind: long and short lists, in-edges, string ids with one that is
/// longer than a page.
fn small_graph() -> TestGraph {
    let mut edges = BTreeSet::new();
    let mut random = Random(1);
    for v in 0..60 {
        edges.insert((v, random.below(60) as u32));
        edges.insert((random.below(60) as u32, v));
    }
    edges.extend((0..1100).map(|i| (7, i)));
    let edges: Vec<_> = edges.into_iter().collect();
    let mut graph = TestGraph::directed(1100, &edges);
    let mut ids: Vec<_> = (0..1100).map(|v| format!("{v:04}")).collect();
    ids[1] += &"x".repeat(5000);
    graph.ids = TestIds::Strings(ids);
    graph
}

/// The same with packed pages.
fn packed_graph() -> TestGraph {
    TestGraph { codec: Codec::Packed, ..small_graph() }
}

fn small_integer_graph() -> TestGraph {
    let ids = TestIds::Integers((0..30).map(|v| v * 1000).collect());
    TestGraph { ids, ..TestGraph::undirected(30, &[(0, 1), (1, 29), (3, 3)]) }
}

/// Of each vertex three neighbours lie apart.
fn small_graph_with_hub_neighbours() -> TestGraph {
    let of_hub = |hub| (hub + 1..30).map(move |v| (hub, v));
    let edges: Vec<_> = (0..4).flat_map(of_hub).collect();
    TestGraph { hub_neighbours: HubNeighboursChoice::Yes, ..TestGraph::undirected(30, &edges) }
}

/// Its vertices do not lie in the order of their ids.
fn small_ordered_graph() -> TestGraph {
    let vertex_of = (0..30).map(|rank| (rank * 7 + 3) % 30).collect();
    TestGraph { vertex_of: Some(vertex_of), ..small_integer_graph() }
}

/// All that is wrong with a file, as the pages that errors name.
fn pages_at_fault(device: &MemoryDevice) -> Vec<Option<u64>> {
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    for fault in &report.faults {
        let named = fault.message.contains("page") || fault.message.contains("empty");
        assert!(named, "{fault}");
    }
    assert_eq!(report.is_whole(), report.faults.is_empty());
    report.faults.iter().map(|fault| fault.page).collect()
}

/// Reads everything that the graph's accessors give. An error ends it.
fn read_all(device: &MemoryDevice) -> Result<Vec<String>, StoreError> {
    let graph = Graph::open(device.shared())?;
    let mut all = vec![format!("{:?}", graph.superblock())];
    for direction in [Direction::Out, Direction::In] {
        graph.scan(direction, &mut |page, view| {
            all.push(format!("{page} {:?}", view.lists().collect::<Vec<_>>()));
            Ok(())
        })?;
        graph.degrees(direction, &mut |first, degrees| all.push(format!("{first} {degrees:?}")))?;
    }
    if graph.hub_neighbours().is_some() {
        all.push(format!("{:?}", read_hub_neighbours(&graph)?));
    }
    let ids = graph.ids()?;
    ids.for_each(0..graph.vertices() as u32, |vertex, id| {
        all.push(format!("{vertex} {id}"));
        Ok::<(), StoreError>(())
    })?;
    let table = ids.load()?;
    all.extend((0..graph.vertices() as u32).map(|vertex| table.get(vertex).to_string()));
    Ok(all)
}

#[test]
fn every_bit_flip_is_an_error_that_names_its_page() {
    flip_bits(32);
}

#[test]
#[ignore = "long: make soak"]
fn every_bit_flip_longer() {
    flip_bits(1);
}

/// Flips each bit in turn. Every reader sees a page through the same check of its checksum; one bit
/// of one byte in so many, and of each in a header, goes the whole way.
fn flip_bits(one_in: usize) {
    for (graph, pages) in [
        (small_graph(), 0..usize::MAX),
        // The other pages are as above.
        (packed_graph(), 2..3),
        (small_integer_graph(), 0..usize::MAX),
        (small_ordered_graph(), 0..usize::MAX),
        (small_graph_with_hub_neighbours(), 0..usize::MAX),
    ] {
        let device = MemoryDevice::with_bytes(graph.stored_bytes());
        let whole = read_all(&device).unwrap();
        assert_eq!(pages_at_fault(&device), []);
        let tried = if one_in == 1 { 0..4096 } else { 0..HEADER_BYTES };
        let bytes = pages.start * 4096..pages.end.saturating_mul(4096).min(device.bytes().len());
        for (byte, bit) in bytes.flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let flip = || device.change(|bytes| bytes[byte] ^= 1 << bit);
            let page = byte / 4096;
            flip();
            assert!(!verifies(&device, byte, &tried, graph.salt), "bit {bit} of byte {byte}");
            let is_of_header = byte % 4096 < HEADER_BYTES;
            if bit != byte % 8 || !is_of_header && !(byte / 16).is_multiple_of(one_in) {
                flip();
                continue;
            }
            // Readers do not look at the slot that is empty.
            if byte % 16 < 8 && page != 1 {
                let error = read_all(&device).expect_err("a flipped bit").to_string();
                assert!(error.contains(&format!("page {page}")), "byte {byte}: {error}");
            } else if page != 1 || byte % 16 == 0 {
                let faults = pages_at_fault(&device);
                assert!(faults.contains(&Some(page as u64)), "byte {byte}: {faults:?}");
            }
            flip();
        }
        assert_eq!(read_all(&device).unwrap(), whole);
    }
}

/// Whether the page of a byte passes as what it was, and where the byte is one of those that are
/// tried so, as anything else.
fn verifies(device: &MemoryDevice, byte: usize, tried: &Range<usize>, salt: u64) -> bool {
    let page = byte / 4096;
    let salt = if page == 0 { 0 } else { salt };
    device.change(|bytes| {
        let bytes = &bytes[page * 4096..(page + 1) * 4096];
        let kinds = [PageKind::Superblock, PageKind::Adjacency, PageKind::Index, PageKind::Degrees];
        let kinds =
            kinds.into_iter().chain([PageKind::Integers, PageKind::Strings, PageKind::Order]);
        let kinds = kinds.chain([PageKind::HubNeighbours]);
        let identity = Identity { salt, physical: page as u64, epoch: 1 };
        let header = PageHeader::read(bytes);
        let is_tried = |kind: PageKind, codec: Codec| {
            tried.contains(&(byte % 4096))
                || (kind as u8, codec as u8) == (header.kind, header.codec)
        };
        let passes = |kind, codec| {
            is_tried(kind, codec) && verify_codec(bytes, &identity, kind, codec).is_ok()
        };
        let mut kinds = kinds;
        kinds.any(|kind| Codec::ALL.into_iter().any(|codec| passes(kind, codec)))
    })
}

#[test]
fn truncation_at_any_page_or_odd_length_is_reported_as_such() {
    let bytes = small_graph().stored_bytes();
    let lengths = (0..bytes.len()).step_by(4096).chain([1, 47, 48, 55, 56, 511, 4095, 4097, 5000]);
    for len in lengths.chain([bytes.len() - 1, bytes.len() - 4095]) {
        let device = MemoryDevice::with_bytes(bytes[..len].to_vec());
        let error = Graph::open(device.shared()).unwrap_err();
        let named = match &error {
            StoreError::Empty { .. } => len == 0,
            StoreError::NotCenote { .. } => (1..56).contains(&len),
            StoreError::Truncated { page, found, expected, .. } => {
                let expected_now = if len < 4096 { 4096 } else { bytes.len() as u64 };
                *page == len as u64 / 4096 && *found == len as u64 && *expected == expected_now
            }
            _ => false,
        };
        assert!(named, "{len} bytes: {error}");
        assert_eq!(pages_at_fault(&device).len(), 1);
    }
}

#[test]
fn bytes_behind_the_end_belong_to_no_graph() {
    let bytes = small_graph().stored_bytes();
    let whole = read_all(&MemoryDevice::with_bytes(bytes.clone())).unwrap();
    for more in [1, 4095, 4096, 100_000] {
        let mut longer = bytes.clone();
        longer.resize(bytes.len() + more, 7);
        let device = MemoryDevice::with_bytes(longer);
        assert_eq!(read_all(&device).unwrap(), whole);
        assert_eq!(pages_at_fault(&device), []);
    }
}

#[test]
fn other_files_are_distinguished_from_damaged_graphs() {
    let open = |bytes: Vec<u8>| Graph::open(MemoryDevice::with_bytes(bytes).shared()).unwrap_err();
    assert!(matches!(open(vec![]), StoreError::Empty { .. }));
    assert!(matches!(open(b"1 2\n2 3\n".to_vec()), StoreError::NotCenote { .. }));
    assert!(matches!(open(vec![0; 100]), StoreError::NotCenote { .. }));
    assert!(matches!(open(vec![b'x'; 9000]), StoreError::NotCenote { .. }));
    let error = open(vec![0; 8192]);
    assert!(matches!(error, StoreError::Unfinished { .. }), "{error}");
}

/// Changes page 0 and makes its checksum right again.
fn forge(bytes: &mut [u8], page: usize, salt: u64, change: impl FnOnce(&mut [u8])) {
    let page_bytes = 4096;
    let start = page * page_bytes;
    change(&mut bytes[start..start + page_bytes]);
    let header = PageHeader::read(&bytes[start..]);
    header.seal(&mut bytes[start..start + page_bytes], salt, page as u64);
}

#[test]
fn newer_versions_and_features_ask_for_a_newer_program() {
    let open = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = small_graph().stored_bytes();
        forge(&mut bytes, 0, 0, change);
        Graph::open(MemoryDevice::with_bytes(bytes).shared())
    };
    let error = open(&|page| page[56] = 1).unwrap_err();
    assert!(matches!(error, StoreError::OlderVersion { found: 1, .. }), "{error}");
    let error = open(&|page| page[56] = 3).unwrap_err();
    assert!(matches!(error, StoreError::NewerVersion { found: 3, .. }), "{error}");
    let error = open(&|page| page[71] = 64).unwrap_err();
    let bits_found = 1 << 62;
    assert!(
        matches!(error, StoreError::UnknownFeature { bits, .. } if bits == bits_found),
        "{error}"
    );
    let error = open(&|page| page[240] = 9).unwrap_err();
    assert!(error.to_string().contains("unknown order 9"), "{error}");
    assert!(open(&|page| page[72] = 4).is_ok(), "an optional feature is no hindrance");
    let error = open(&|page| page[60] = 3).unwrap_err();
    assert!(error.to_string().contains("page size"), "{error}");
    for (flag, words) in [(128, "unknown flags"), (4, "contradict each other")] {
        let error = open(&|page| page[80] |= flag).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// Numbers that break naive arithmetic.
const NASTY: [u64; 12] = [
    0,
    1,
    2,
    255,
    4096,
    u16::MAX as u64,
    u32::MAX as u64,
    1 << 32,
    1 << 40,
    i64::MAX as u64,
    u64::MAX - 1,
    u64::MAX,
];

#[test]
fn hostile_superblocks_with_a_valid_checksum_never_panic() {
    let good = small_graph().stored_bytes();
    let mut random = Random(2);
    let mut opened = 0;
    for round in 0..4_000 {
        let mut bytes = good.clone();
        forge(&mut bytes, 0, 0, |page| {
            for _ in 0..1 + random.below(3) {
                // Field by field: the counts, the section table and the extents are 8 bytes each.
                let at = 56 + 8 * random.below((1856 - 56) / 8) as usize;
                let value = match random.below(3) {
                    0 => NASTY[random.below(12) as usize],
                    1 => {
                        u64::from_le_bytes(page[at..at + 8].try_into().unwrap())
                            ^ (1 << random.below(64))
                    }
                    _ => random.next() >> random.below(64),
                };
                page[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        });
        let device = MemoryDevice::with_bytes(bytes);
        if Graph::open(device.shared()).is_ok() {
            opened += 1;
            let _ = read_all(&device);
            pages_at_fault(&device);
        } else {
            assert_eq!(pages_at_fault(&device).len(), 1, "round {round}");
        }
    }
    println!("{opened} of 4000 forged superblocks could be opened");
    assert!(opened > 0, "harmless fields, such as the number of duplicates, are among them");
}

#[test]
fn hostile_pages_with_a_valid_checksum_never_panic() {
    for graph in [small_graph(), packed_graph(), small_graph_with_hub_neighbours()] {
        attack_pages(&graph, 400);
    }
}

#[test]
#[ignore = "long: make soak"]
fn hostile_pages_with_a_valid_checksum_longer() {
    for graph in [small_graph(), packed_graph(), small_graph_with_hub_neighbours()] {
        attack_pages(&graph, 10_000);
    }
}

fn attack_pages(graph: &TestGraph, rounds: usize) {
    let good = graph.stored_bytes();
    let pages = good.len() / 4096;
    let mut random = Random(3);
    let mut count = 0;
    for _ in 0..rounds {
        let mut bytes = good.clone();
        let page = 2 + random.below(pages as u64 - 2) as usize;
        forge(&mut bytes, page, graph.salt, |page| {
            for _ in 0..1 + random.below(3) {
                let at = match random.below(3) {
                    0 => 4 + 4 * random.below(11) as usize,
                    1 => 4096 - 4 * (1 + random.below(20) as usize),
                    _ => 4 * (1 + random.below(1023) as usize),
                };
                let value = match random.below(2) {
                    0 => NASTY[random.below(12) as usize] as u32,
                    _ => 1 << random.below(32),
                };
                page[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
        });
        let changed = bytes != good;
        let device = MemoryDevice::with_bytes(bytes);
        let _ = read_all(&device);
        let faults = pages_at_fault(&device);
        count += usize::from(changed && !faults.is_empty());
    }
    println!("{count} of {rounds} forged pages were found at fault");
    assert!(count > rounds / 4 * 3, "only {count} of {rounds} forgeries were found");
}

/// Every lookup meets hostile id pages too.
#[test]
fn hostile_id_pages_never_panic_a_lookup() {
    for graph in [small_graph(), small_integer_graph(), small_ordered_graph()] {
        let good = graph.stored_bytes();
        let stored = graph.store();
        let ids = stored.superblock().sections.last().copied().unwrap();
        let mut random = Random(4);
        for _ in 0..2000 {
            let mut bytes = good.clone();
            let page = (ids.first_page + random.below(ids.pages)) as usize;
            forge(&mut bytes, page, graph.salt, |page| {
                let at = 4 + random.below(200) as usize;
                page[at] = random.next() as u8;
            });
            let forged = Graph::open(MemoryDevice::with_bytes(bytes).shared()).unwrap();
            let forged = forged.ids().unwrap();
            for vertex in 0..graph.out.len().min(20) {
                let _ = forged.id_of(vertex as u32);
                let _ = forged.vertex_of(&graph.id_of(vertex).to_string());
            }
        }
    }
}

#[test]
fn tables_of_an_order_that_are_no_inverses_are_found() {
    let graph = small_ordered_graph();
    let good = graph.stored_bytes();
    let stored = graph.store();
    let sections = &stored.superblock().sections;
    for section in &sections[sections.len() - 2..] {
        for (value, expected) in [(1, "each the inverse of the other"), (30, "entry is 30")] {
            let mut bytes = good.clone();
            forge(&mut bytes, section.first_page as usize, graph.salt, |page| {
                assert_ne!(page[48], value);
                page[48] = value;
            });
            let report =
                check_device(MemoryDevice::with_bytes(bytes).shared(), &mut |_, _| true).unwrap();
            let messages: Vec<_> =
                report.faults.iter().map(|fault| fault.message.as_str()).collect();
            assert!(messages.len() == 1 && messages[0].contains(expected), "{messages:?}");
        }
    }
}

#[test]
fn hub_neighbours_that_do_not_follow_from_the_lists_are_found() {
    let graph = small_graph_with_hub_neighbours();
    let good = graph.stored_bytes();
    let page = graph.store().hub_neighbours().unwrap().first_page() as usize;
    for (value, expected) in [(5, "not those of the lists"), (30, "no vertex")] {
        let mut bytes = good.clone();
        forge(&mut bytes, page, graph.salt, |page| {
            assert_ne!(page[48], value);
            page[48] = value;
        });
        let report = check_device(MemoryDevice::with_bytes(bytes).shared(), &mut |_, _| true);
        let faults = report.unwrap().faults;
        let messages: Vec<_> = faults.iter().map(|fault| fault.message.as_str()).collect();
        assert!(messages.len() == 1 && messages[0].contains(expected), "{messages:?}");
    }
}

#[test]
fn swapped_pages_are_errors() {
    let good = small_graph().stored_bytes();
    let pages = good.len() / 4096;
    for (a, b) in (0..pages).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let mut bytes = good.clone();
        let (left, right) = bytes.split_at_mut(a * 4096);
        right[..4096].swap_with_slice(&mut left[b * 4096..(b + 1) * 4096]);
        let device = MemoryDevice::with_bytes(bytes);
        assert!(read_all(&device).is_err(), "pages {a} and {b}");
        assert!(!pages_at_fault(&device).is_empty(), "pages {a} and {b}");
    }
}

#[test]
fn page_of_another_graph_is_an_error() {
    let good = small_graph().stored_bytes();
    let other = TestGraph { salt: 8, ..small_graph() }.stored_bytes();
    assert_eq!(good.len(), other.len());
    for page in 2..good.len() / 4096 {
        let range = page * 4096..(page + 1) * 4096;
        let mut bytes = good.clone();
        bytes[range.clone()].copy_from_slice(&other[range]);
        let device = MemoryDevice::with_bytes(bytes);
        assert!(read_all(&device).is_err(), "page {page}");
        assert!(pages_at_fault(&device).contains(&Some(page as u64)), "page {page}");
    }
}

#[test]
fn page_that_a_lost_write_left_empty_is_an_error() {
    let good = small_graph().stored_bytes();
    for page in 2..good.len() / 4096 {
        let mut bytes = good.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        let device = MemoryDevice::with_bytes(bytes);
        assert!(read_all(&device).is_err(), "page {page}");
        assert!(pages_at_fault(&device).contains(&Some(page as u64)), "page {page}");
    }
}

/// Bytes that no checksum guards against: a writer's mistake under a valid checksum.
#[test]
fn mistakes_under_a_valid_checksum_are_found_by_a_check() {
    let edges = [(0, 1), (0, 2), (1, 2), (2, 3)];
    let graph = TestGraph::undirected(4, &edges);
    let graph = TestGraph { duplicates_kept: false, self_loops_kept: false, ..graph };
    let found = |page: usize, change: &dyn Fn(&mut [u8])| {
        let mut bytes = graph.stored_bytes();
        forge(&mut bytes, page, if page == 0 { 0 } else { graph.salt }, change);
        let report = check_device(MemoryDevice::with_bytes(bytes).shared(), &mut |_, _| true);
        report.unwrap().faults.iter().map(|f| f.message.clone()).collect::<Vec<_>>().join("\n")
    };
    let entry = |i: usize| 48 + 4 * i;
    let assert_found = |page, change: &dyn Fn(&mut [u8]), message: &str| {
        let found = found(page, change);
        assert!(found.contains(message), "expected {message:?}, found: {found}");
    };
    assert_eq!(found(2, &|_| {}), "");
    assert_found(2, &|page| page[entry(0)] = 2, "does not ascend");
    assert_found(2, &|page| page[entry(0)] = 0, "stands in its own list");
    assert_found(2, &|page| page[entry(1)] = 3, "seen from either end");
    assert_found(2, &|page| page[entry(1)] = 4, "has 4 vertices");
    assert_found(2, &|page| page[100] = 1, "should be zero");
    assert_found(2, &|page| page[40] = 2, "it was written in epoch 2, expected 1");
    assert_found(3, &|page| page[4000] = 1, "should be zero");
    assert_found(3, &|page| page[52] = 9, "entries of all pages");
    assert_found(4, &|page| page[48] = 1, "length of a list");
    assert_found(4, &|page| page[60] = 1, "not zero");
    assert_found(0, &|page| page[136] = 2, "largest degree");
    assert_found(0, &|page| page[144] = 1, "vertex of largest degree");
    assert_found(0, &|page| page[96] = 5, "edges");
    assert_found(0, &|page| page[400] = 5, "should be zero");
    assert_found(0, &|page| page[320] = 5, "should be zero");
    assert_found(0, &|page| page[280] = 5, "snapshots and the place of them disagree");
    assert_found(0, &|page| page[1808] = 2, "page 4 is neither used nor free");
    assert_found(0, &|page| page[4000] = 1, "should be zero");
}

#[test]
fn in_edges_that_are_not_the_out_edges_are_found_by_a_check() {
    let mut graph = TestGraph::directed(4, &[(0, 1), (0, 2), (1, 2), (2, 3)]);
    let back = graph.back.as_mut().unwrap();
    back[1] = vec![3];
    let device = MemoryDevice::with_bytes(graph.stored_bytes());
    let report = check_device(device.shared(), &mut |_, _| true).unwrap();
    assert_eq!(report.faults_total, 1);
    assert!(report.faults[0].message.contains("seen from their targets"), "{}", report.faults[0]);
}

#[test]
fn faults_beyond_the_limit_are_counted() {
    let vertices = 200_000;
    let graph = TestGraph::with_lists((0..vertices).map(|v| vec![v]).collect());
    let mut bytes = graph.stored_bytes();
    let pages = bytes.len() / 4096;
    for page in 2..151 {
        bytes[page * 4096 + 2000] ^= 1;
    }
    assert!(pages > 250);
    let mut calls = Vec::new();
    let device = MemoryDevice::with_bytes(bytes);
    let mut note = |done, all| {
        calls.push((done, all));
        true
    };
    let report = check_device(device.shared(), &mut note).unwrap();
    assert_eq!((report.faults.len(), report.faults_total), (100, 149));
    assert_eq!(calls.last(), Some(&(pages as u64, pages as u64)));
}

#[test]
#[should_panic(expected = "parsed as a whole")]
fn part_of_a_page_is_a_fault_of_the_caller() {
    let stored = small_graph().store();
    let page = aligned(&[0; 2048]);
    let _ = stored.adjacency(Direction::Out).unwrap().parse(0, &page, &mut Decoded::new());
}

#[test]
fn kind_of_a_page_is_part_of_what_is_verified() {
    let graph = small_graph();
    let mut bytes = graph.stored_bytes();
    forge(&mut bytes, 2, graph.salt, |page| page[4] = PageKind::Degrees as u8);
    let device = MemoryDevice::with_bytes(bytes);
    let error = read_all(&device).unwrap_err().to_string();
    assert!(error.contains("page 2 (adjacency, bytes 8192..12288): it is of kind 3"), "{error}");
}

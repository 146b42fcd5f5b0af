//! Commits of new epochs: readers of old ones see no change, pages are reused when no reader needs
//! them, and after a power cut at any write the graph is that before the commit or after it.

use std::sync::Arc;

use crate::graphs::{MemoryDevice, TestGraph};
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::{Buffer, Device};
use cenote_store::format::HEADER_BYTES;
use cenote_store::header::PageHeader;
use cenote_store::{
    Decoded, Direction, Graph, LookupConfig, Result, Store, StoreError, check, check_device,
};

const PAGE: usize = 4096;

/// The list of a vertex in a version of its page: the length is always the same.
fn list(vertices: u32, vertex: u32, version: u32) -> Vec<u32> {
    let start = (vertex * 13 + version * 5) % (vertices - 8);
    (start..start + 1 + vertex % 7).collect()
}

fn graph(vertices: u32) -> TestGraph {
    TestGraph::with_lists((0..vertices).map(|v| list(vertices, v, 0)).collect())
}

fn stored(vertices: u32) -> MemoryDevice {
    let device = MemoryDevice::default();
    graph(vertices).write(&device, usize::MAX).unwrap();
    device
}

fn plan() -> impl FnOnce(&cenote_store::Superblock) -> LookupConfig {
    |_| LookupConfig::default()
}

fn read_page(graph: &Graph, page: u64) -> Result<Buffer> {
    let offset = graph.physical(page) * PAGE as u64;
    Ok(cenote_device::read_exact(graph.device().as_ref(), offset, PAGE, Buffer::new(PAGE)?)?)
}

/// The version of every page of lists.
type Versions = Vec<u32>;

/// Commits a new version of some pages.
fn commit(store: &Store, version: u32, wanted: impl Fn(u64) -> bool) -> Result<u64> {
    let graph = store.graph(plan())?;
    let adjacency = graph.adjacency(Direction::Out).unwrap();
    let mut transaction = store.begin()?;
    for page in (0..adjacency.pages()).filter(|&page| wanted(page)) {
        let bytes = read_page(&graph, adjacency.first_page() + page)?;
        let mut decoded = Decoded::new();
        let view = adjacency.parse(page, &bytes, &mut decoded)?;
        let new = view.lists().flat_map(|of| list(graph.vertices() as u32, of.vertex, version));
        let new: Vec<u8> = new.flat_map(u32::to_le_bytes).collect();
        let header = PageHeader::read(&bytes);
        transaction.write(adjacency.first_page() + page, header, |page| {
            page.copy_from_slice(&bytes);
            page[HEADER_BYTES..HEADER_BYTES + new.len()].copy_from_slice(&new);
        })?;
    }
    transaction.commit()
}

/// Whether every list is that of its page's version, by a pass and by look-ups.
fn assert_versions(graph: &Graph, versions: &[u32]) {
    let vertices = graph.vertices() as u32;
    let mut expected = Vec::new();
    graph
        .scan(Direction::Out, &mut |page, view| {
            for of in view.lists() {
                let wanted = list(vertices, of.vertex, versions[page as usize]);
                assert_eq!(of.targets, wanted, "page {page}");
                expected.push(wanted);
            }
            Ok(())
        })
        .unwrap();
    let vertices: Vec<u32> = (0..vertices).step_by(97).collect();
    let found = graph.lookup().unwrap().read(Direction::Out, &vertices).unwrap();
    for (v, found) in vertices.iter().zip(found) {
        assert_eq!(found, expected[*v as usize]);
    }
}

fn assert_whole(graph: &Graph) {
    let report = check(graph, &mut |_, _| true).unwrap();
    assert!(report.is_whole(), "{report:#?}");
}

/// Pages of lists.
fn pages(device: &MemoryDevice) -> usize {
    let graph = Graph::open(device.shared()).unwrap();
    graph.adjacency(Direction::Out).unwrap().pages() as usize
}

#[test]
fn readers_of_old_epochs_keep_reading_their_pages() {
    let device = stored(9_000);
    let store = Store::open(device.shared()).unwrap();
    let mut versions = vec![0; pages(&device)];
    let mut readers = Vec::new();
    for version in 1..12 {
        readers.push((store.graph(plan()).unwrap(), versions.clone()));
        let wanted = |page| (page + u64::from(version)) % 3 == 0;
        assert_eq!(commit(&store, version, wanted).unwrap(), u64::from(version) + 1);
        (0..).zip(&mut versions).filter(|(page, _)| wanted(*page)).for_each(|(_, v)| *v = version);
        for (reader, versions) in &readers {
            assert_versions(reader, versions);
        }
        // Every third reader leaves.
        if version % 3 == 0 {
            readers.remove(0);
        }
        let newest = store.graph(plan()).unwrap();
        assert_versions(&newest, &versions);
        assert_whole(&newest);
    }
    assert_versions(&Graph::open(device.shared()).unwrap(), &versions);
}

#[test]
fn pages_that_no_reader_needs_are_written_to_again() {
    let device = stored(9_000);
    let store = Store::open(device.shared()).unwrap();
    let before = store.graph(plan()).unwrap().superblock().pages_total;
    let size = |store: &Store| store.graph(plan()).unwrap().superblock().pages_total;
    let some = |page: u64| page < 4;
    for version in 1..20 {
        commit(&store, version, some).unwrap();
    }
    // The present epoch, the one in the other slot, and the one that is written.
    assert!(size(&store) <= before + 8, "{} pages, {before} before", size(&store));
    let reader = store.graph(plan()).unwrap();
    for version in 20..30 {
        commit(&store, version, some).unwrap();
    }
    assert!(size(&store) >= before + 40, "a reader holds its pages, and what came after them");
    drop(reader);
    let grown = size(&store);
    for version in 30..50 {
        commit(&store, version, some).unwrap();
    }
    assert_eq!(size(&store), grown);
    assert_whole(&store.graph(plan()).unwrap());
}

#[test]
fn page_table_and_free_list_that_do_not_fit_a_slot_lie_in_pages() {
    let device = stored(90_000);
    let count = pages(&device);
    assert!(count > 300);
    let mut versions = vec![0; count];
    for (version, wanted) in [(1, 2), (2, 3), (3, 5), (4, 1), (5, 7)] {
        // The store is opened anew each time: all is read back.
        let store = Store::open(device.shared()).unwrap();
        commit(&store, version, |page| page % wanted == 0).unwrap();
        versions.iter_mut().step_by(wanted as usize).for_each(|v| *v = version);
        let graph = Graph::open(device.shared()).unwrap();
        assert_versions(&graph, &versions);
        assert_whole(&graph);
        let runs = graph.adjacency(Direction::Out).unwrap();
        let runs = graph.extents(runs.first_page()..runs.first_page() + runs.pages()).count();
        assert!(version != 1 || runs > 150, "{runs} runs");
    }
}

#[test]
fn a_change_that_is_dropped_changes_nothing() {
    let device = stored(9_000);
    let store = Store::open(device.shared()).unwrap();
    let graph = store.graph(plan()).unwrap();
    let page = graph.adjacency(Direction::Out).unwrap().first_page();
    let mut transaction = store.begin().unwrap();
    let header = PageHeader::read(&read_page(&graph, page).unwrap());
    transaction.write(page, header, |page| page.fill(7)).unwrap();
    drop(transaction);
    assert_eq!(store.epoch(), 1);
    assert_versions(&Graph::open(device.shared()).unwrap(), &vec![0; pages(&device)]);
    assert_eq!(commit(&store, 1, |_| true).unwrap(), 2);
    assert_whole(&Graph::open(device.shared()).unwrap());
}

#[test]
fn a_page_that_is_written_twice_or_freed_has_one_place_or_none() {
    let device = stored(9_000);
    let store = Store::open(device.shared()).unwrap();
    let graph = store.graph(plan()).unwrap();
    let page = graph.adjacency(Direction::Out).unwrap().first_page();
    let bytes = read_page(&graph, page).unwrap();
    let mut transaction = store.begin().unwrap();
    for _ in 0..3 {
        let fill = |page: &mut [u8]| page.copy_from_slice(&bytes);
        transaction.write(page, PageHeader::read(&bytes), fill).unwrap();
    }
    let new = transaction.allocate(3);
    for page in new.clone() {
        transaction.write(page, PageHeader::read(&bytes), |_| {}).unwrap();
    }
    transaction.free(new);
    assert_eq!(transaction.commit().unwrap(), 2);
    assert_whole(&Graph::open(device.shared()).unwrap());
}

#[test]
fn pages_of_no_section_and_sections_without_pages_are_not_committed() {
    let device = stored(9_000);
    let store = Store::open(device.shared()).unwrap();
    let mut transaction = store.begin().unwrap();
    let page = transaction.allocate(1).start;
    transaction.write(page, PageHeader::default(), |_| {}).unwrap();
    let error = transaction.commit().unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    let mut transaction = store.begin().unwrap();
    transaction.superblock().sections[0].pages += 1;
    let error = transaction.commit().unwrap_err();
    assert!(matches!(error, StoreError::Unwritable { .. }), "{error}");
    assert_eq!(commit(&store, 1, |_| true).unwrap(), 2, "nothing had changed");
}

#[test]
fn an_older_version_of_a_page_is_an_error() {
    let device = stored(9_000);
    let old = device.bytes();
    let store = Store::open(device.shared()).unwrap();
    let page = 3;
    commit(&store, 1, |at| at == 1).unwrap();
    let graph = Graph::open(device.shared()).unwrap();
    let physical = graph.physical(page) as usize;
    assert_ne!(physical, page as usize);
    // A write that was lost: the place holds what it held before, a page of another epoch.
    let salt = graph.superblock().salt;
    device.change(|bytes| {
        let place = &mut bytes[physical * PAGE..][..PAGE];
        place.copy_from_slice(&old[page as usize * PAGE..][..PAGE]);
        PageHeader::read(place).seal(place, salt, physical as u64);
    });
    let error = graph.scan(Direction::Out, &mut |_, _| Ok(())).unwrap_err().to_string();
    let bytes = format!("bytes {}..{}", physical * PAGE, (physical + 1) * PAGE);
    assert!(error.contains("page 3") && error.contains(&bytes), "{error}");
    assert!(error.contains("it was written in epoch 1, expected 2"), "{error}");
}

#[test]
fn a_torn_slot_falls_back_to_the_other_and_both_torn_are_an_error() {
    let device = stored(9_000);
    let store = Store::open(device.shared()).unwrap();
    commit(&store, 1, |_| true).unwrap();
    commit(&store, 2, |page| page == 0).unwrap();
    let whole = device.bytes();
    assert!(Graph::open(device.shared()).unwrap().other_slot_fault().is_none());
    for (torn, epoch) in [(0, 2), (1, 3)] {
        device.change(|bytes| bytes[torn * PAGE + 2000..(torn + 1) * PAGE].fill(9));
        let graph = Graph::open(device.shared()).unwrap();
        assert_eq!(graph.superblock().epoch, epoch);
        let fault = graph.other_slot_fault().expect("a fault of the slot").to_string();
        assert!(fault.contains(&format!("page {torn} (superblock")), "{fault}");
        graph.scan(Direction::Out, &mut |_, _| Ok(())).unwrap();
        let report = check(&graph, &mut |_, _| true).unwrap();
        assert_eq!((report.faults.len(), report.faults[0].page), (1, Some(torn as u64)));
        device.change(|bytes| bytes.copy_from_slice(&whole));
    }
    device.change(|bytes| bytes[..PAGE].fill(0));
    assert_eq!(Graph::open(device.shared()).unwrap().superblock().epoch, 2);
    device.change(|bytes| bytes[PAGE + 100] ^= 1);
    assert!(Graph::open(device.shared()).is_err());
    device.change(|bytes| bytes[0] ^= 1);
    let error = Graph::open(device.shared()).unwrap_err();
    assert!(error.to_string().contains("page 0"), "{error}");
}

#[test]
fn a_write_that_fails_poisons_the_store_and_leaves_the_graph() {
    let device = stored(9_000);
    let copy = MemoryDevice::with_bytes(device.bytes());
    commit(&Store::open(copy.shared()).unwrap(), 1, |_| true).unwrap();
    let writes = copy.writes().iter().flatten().count();
    let versions = vec![0; pages(&device)];
    for good in 0..writes {
        let device = MemoryDevice::with_bytes(device.bytes());
        let store = Store::open(device.shared()).unwrap();
        device.fail_after_writes(good);
        let error = commit(&store, 1, |_| true).unwrap_err();
        assert!(matches!(error, StoreError::Device(_)), "{error}");
        let error = store.begin().err().unwrap();
        assert!(matches!(error, StoreError::Poisoned { .. }), "{error}");
        assert_versions(&Graph::open(device.shared()).unwrap(), &versions);
    }
}

fn sim(contents: &[u8], faults: FaultPlan) -> SimDevice {
    let model = Preset::all()[0].model();
    let config = SimConfig::new(model).faults(faults).block_bytes(4096).jitter(0.5);
    SimDevice::with_contents(config, contents)
}

/// Which pages a commit of the story changes.
fn wanted(version: u32, page: u64) -> bool {
    (page * 7 + u64::from(version)).is_multiple_of(u64::from(version) % 3 + 1)
}

const COMMITS: u32 = 4;

/// Commits one after the other. How many were acknowledged, and the error that ended it.
fn story(device: &Arc<SimDevice>) -> (u32, Option<StoreError>) {
    let store = match Store::open(Arc::clone(device) as Arc<dyn Device>) {
        Ok(store) => store,
        Err(error) => return (0, Some(error)),
    };
    for version in 1..=COMMITS {
        if let Err(error) = commit(&store, version, |page| wanted(version, page)) {
            return (version - 1, Some(error));
        }
    }
    (COMMITS, None)
}

#[test]
fn power_cut_at_any_operation_leaves_the_graph_before_or_after_a_commit() {
    cut_power(&|seed, operation| operation % 2 == seed);
}

#[test]
#[ignore = "long: make soak"]
fn longer_power_cut_at_any_operation_leaves_the_graph_before_or_after_a_commit() {
    cut_power(&|_, _| true);
}

/// Cuts the power at each operation, with the seeds that are chosen for it.
fn cut_power(is_chosen: &dyn Fn(u64, u64) -> bool) {
    for vertices in [2_000, 40_000] {
        let memory = stored(vertices);
        let (base, count) = (memory.bytes(), pages(&memory));
        let mut expected = vec![vec![0; count]];
        for version in 1..=COMMITS {
            let mut next: Versions = expected.last().unwrap().clone();
            for (page, at) in (0..).zip(&mut next) {
                *at = if wanted(version, page) { version } else { *at };
            }
            expected.push(next);
        }
        let calm = Arc::new(sim(&base, FaultPlan::none()));
        assert!(story(&calm).1.is_none());
        let step = if vertices > 10_000 { 23 } else { 1 };
        let mut outcomes = [0; 2];
        for seed in 0..2 {
            let operations = (0..calm.operations()).step_by(step);
            for operation in operations.filter(|operation| is_chosen(seed, *operation)) {
                let device = Arc::new(sim(&base, FaultPlan::power_cut(seed, operation)));
                let (acknowledged, error) = story(&device);
                assert!(error.is_some(), "operation {operation}");
                let found: Arc<dyn Device> = Arc::new(device.restart(FaultPlan::none()));
                let graph = Graph::open(Arc::clone(&found)).unwrap();
                let commits = graph.superblock().epoch as u32 - 1;
                let case = format!("{acknowledged} of {commits}, seed {seed}, {operation}");
                assert!((acknowledged..=acknowledged + 1).contains(&commits), "{case}");
                outcomes[(commits - acknowledged) as usize] += 1;
                assert_versions(&graph, &expected[commits as usize]);
                let faults = check(&graph, &mut |_, _| true).unwrap().faults;
                let slot = graph.superblock().epoch % 2;
                assert!(faults.iter().all(|fault| fault.page == Some(slot)), "{faults:?}");
                // The next writer goes on.
                let store = Store::open(Arc::clone(&found)).unwrap();
                assert!(check_device(Arc::clone(&found), &mut |_, _| true).unwrap().is_whole());
                commit(&store, 9, |_| true).unwrap();
                let graph = Graph::open(found).unwrap();
                assert_versions(&graph, &vec![9; count]);
                assert_whole(&graph);
            }
        }
        println!("{vertices}: {} before a commit, {} after it", outcomes[0], outcomes[1]);
        assert!(outcomes[0] > 0 && outcomes[1] > 0 || step > 1);
    }
}

//! Snapshots beside a graph that changes: what they hold, the space that they take and give back,
//! readers of removed ones, names, and damage.

use crate::graphs::model::{KINDS, Model, add, changes, delete, random_batch, random_graph};
use crate::graphs::{MemoryDevice, Random, TestGraph};
use crate::live::{Live, assert_same};
use cenote_store::format::HEADER_BYTES;
use cenote_store::header::PageHeader;
use cenote_store::{
    CheckReport, Graph, LookupConfig, Snapshot, Store, StoreError, WeightType, WriteLimits, check,
    check_device, check_snapshot,
};

const PAGE: usize = 4096;

fn config() -> impl FnOnce(&cenote_store::Superblock) -> LookupConfig {
    |_| LookupConfig::default()
}

fn open_at(device: &MemoryDevice, name: &str) -> Result<Graph, StoreError> {
    Graph::open_at(device.shared(), name, config())
}

fn checked(device: &MemoryDevice) -> CheckReport {
    check_device(device.shared(), &mut |_, _| true).unwrap()
}

fn pages_total(store: &Store) -> u64 {
    store.superblock().pages_total
}

/// Compares all snapshots, as the store has them and as another process finds them.
fn assert_snapshots(live: &Live, expected: &[(String, Model)]) {
    let names = |all: Vec<Snapshot>| all.into_iter().map(|one| one.name).collect::<Vec<_>>();
    let wanted: Vec<_> = expected.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names(live.store.snapshots()), wanted);
    assert_eq!(names(live.graph().snapshots().unwrap()), wanted);
    for (name, model) in expected {
        let graph = live.store.graph_at(name, config()).unwrap();
        assert_same(&graph, model);
        let found = open_at(&live.device, name).unwrap();
        assert_eq!(found.superblock(), graph.superblock());
        assert_eq!((found.snapshot_name(), graph.snapshots().unwrap()), (Some(&**name), vec![]));
        assert!(check(&found, &mut |_, _| true).unwrap().is_whole());
        let alone = check_snapshot(live.device.shared(), name, &mut |_, _| true).unwrap();
        assert!(alone.is_whole() && alone.pages >= 2, "{alone:?}");
    }
}

/// Readers of removed snapshots are compared after one of so many rounds, and at their end.
fn play(seed: u64, weights: Option<WeightType>, one_in: usize) {
    let mut random = Random(seed);
    let mut live = Live::new(TestGraph { weights, ..random_graph(&mut random) });
    let limits = WriteLimits::default().bytes(64 << 10).changes(500);
    let open = |live: &Live| Store::open(live.device.shared()).unwrap().with_limits(limits);
    live.store = open(&live);
    let mut snapshots: Vec<(String, Model)> = Vec::new();
    let mut readers: Vec<(Graph, Model)> = Vec::new();
    for round in 0..14 {
        let kind = KINDS[(random.next() % KINDS.len() as u64) as usize];
        println!("seed {seed}, {weights:?}, round {round}: {kind:?}");
        match random.below(8) {
            0..2 => {
                let epoch = live.store.epoch() + u64::from(live.store.logged_changes() > 0);
                let made = live.store.snapshot(None, 7).unwrap();
                // New vertices without an edge are in the log as well.
                assert!(made.epoch >= epoch && made.epoch + 1 == live.store.epoch(), "{made:?}");
                assert_eq!(made.edges, live.model.edges.len() as u64);
                assert_eq!(made.name, format!("epoch-{}", made.epoch));
                snapshots.push((made.name, live.model.clone()));
            }
            2 if !snapshots.is_empty() => {
                let (name, model) = snapshots.remove(random.below(snapshots.len() as u64) as usize);
                readers.push((live.store.graph_at(&name, config()).unwrap(), model));
                assert_eq!(live.store.remove_snapshot(&name).unwrap().name, name);
            }
            3 => {
                assert_all(&readers);
                readers.clear();
                live.store = open(&live);
            }
            4 => {
                let batch = random_batch(&live.model, kind, &mut random);
                live.model.apply(&batch);
                live.store.update(&batch).unwrap();
            }
            _ => {
                let batch = random_batch(&live.model, kind, &mut random);
                live.commit(&batch);
            }
        }
        live.assert_same();
        if round % 4 == 1 {
            assert_snapshots(&live, &snapshots);
        }
        if round % one_in == 1 % one_in {
            assert_all(&readers);
        }
    }
    assert_all(&readers);
}

fn assert_all(readers: &[(Graph, Model)]) {
    readers.iter().for_each(|(reader, model)| assert_same(reader, model));
}

#[test]
fn snapshots_hold_the_graph_as_it_was_whatever_changes() {
    play(0, None, 4);
    play(20, Some(WeightType::F32), 4);
}

#[test]
#[ignore = "long: make soak"]
fn snapshots_hold_the_graph_longer() {
    (0..8).for_each(|seed| play(seed, None, 1));
    (20..21).for_each(|seed| play(seed, Some(WeightType::F32), 1));
    (21..23).for_each(|seed| play(seed, Some(WeightType::F64), 1));
}

// ------------------------------------------------------------------------------------------------
// Space

/// A graph of lists that fill some hundred pages.
fn wide() -> Live {
    let list = |v: u32| (0..20).map(|i| (v * 37 + i * 211) % 20_000).collect();
    let mut lists: Vec<Vec<u32>> = (0..20_000).map(list).collect();
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists.iter_mut().for_each(Vec::dedup);
    let mut live = Live::new(TestGraph { duplicates_kept: false, ..TestGraph::with_lists(lists) });
    live.store =
        Store::open(live.device.shared()).unwrap().with_limits(WriteLimits::default().bytes(0));
    live
}

/// Adds and deletes edges in turn at so many places.
fn flip(live: &mut Live, places: u32, round: u32) {
    let change = if round.is_multiple_of(2) { add } else { delete };
    let batch =
        changes((0..places).map(|place| change(place * 173 % 20_000, place * 173 % 20_000)));
    live.model.apply(&batch);
    live.store.update(&batch).unwrap();
}

#[test]
fn removal_gives_the_space_back_and_an_old_snapshot_does_not_make_the_file_grow_on() {
    let mut live = wide();
    (0..8).for_each(|round| flip(&mut live, 20, round));
    let before = pages_total(&live.store);
    live.store.snapshot(Some("old"), 1).unwrap();
    (0..8).for_each(|round| flip(&mut live, 20, round));
    let with_one = pages_total(&live.store);
    assert!(with_one <= before + 60, "{with_one} pages, {before} before");
    (0..20).for_each(|round| flip(&mut live, 20, round));
    assert_eq!(pages_total(&live.store), with_one, "it holds its own pages and no others");
    let held = live.store.snapshots()[0].pages_held;
    assert!((20..=before).contains(&held), "{held} pages held");
    assert_eq!(live.graph().snapshot_pages().unwrap(), held);
    let free = live.graph().free_pages();
    assert_eq!(live.store.remove_snapshot("old").unwrap().pages_held, held);
    assert!(live.graph().free_pages() >= free, "they are free");
    // All pages that it held are used before the file grows.
    let mut grown = 0;
    for round in 0..12 {
        flip(&mut live, 20 + held as u32 / 8, round);
        grown = pages_total(&live.store) - with_one;
    }
    assert!(grown < 40, "{grown} pages more");
    live.assert_same();
}

#[test]
fn a_reader_of_a_snapshot_keeps_its_pages_when_it_is_removed() {
    let mut live = wide();
    live.store.snapshot(Some("old"), 1).unwrap();
    let (reader, model) = (live.store.graph_at("old", config()).unwrap(), live.model.clone());
    flip(&mut live, 40, 0);
    live.store.remove_snapshot("old").unwrap();
    let error = live.store.graph_at("old", config()).unwrap_err();
    assert!(matches!(error, StoreError::NoSnapshot { .. }), "{error}");
    for round in 1..8 {
        flip(&mut live, 40, round);
        assert_same(&reader, &model);
    }
    let held = live.graph().free_pages();
    drop(reader);
    let total = pages_total(&live.store);
    (0..8).for_each(|round| flip(&mut live, 40, round));
    assert_eq!(pages_total(&live.store), total);
    assert!(live.graph().free_pages() <= held);
    live.assert_same();
}

#[test]
fn the_commit_after_a_removal_leaves_the_snapshot_to_the_slot_before_it() {
    let mut live = wide();
    live.store.snapshot(Some("old"), 1).unwrap();
    let model = live.model.clone();
    (0..6).for_each(|round| flip(&mut live, 40, round));
    live.store.remove_snapshot("old").unwrap();
    let slots = live.device.bytes()[..2 * PAGE].to_vec();
    let newest = live.store.superblock().slot() as usize * PAGE;
    flip(&mut live, 40, 6);
    // The commit did not reach its slot, and the slot of the removal is damaged later.
    live.device.change(|bytes| {
        bytes[..2 * PAGE].copy_from_slice(&slots);
        bytes[newest + 100] ^= 1;
    });
    assert_same(&open_at(&live.device, "old").unwrap(), &model);
    let faults = checked(&live.device).faults;
    let of_slot = |fault: &cenote_store::check::Fault| fault.page == Some((newest / PAGE) as u64);
    assert!(faults.iter().all(of_slot), "{faults:?}");
}

#[test]
fn a_snapshot_of_a_page_table_that_does_not_fit_a_page_keeps_its_pages_too() {
    let mut live = wide();
    flip(&mut live, 100, 0);
    let mut snapshots = Vec::new();
    for (round, name) in (1..).zip(["a", "b", "c"]) {
        live.store.snapshot(Some(name), 1).unwrap();
        snapshots.push((name.to_owned(), live.model.clone()));
        flip(&mut live, 60, round);
    }
    let first = live.store.superblock().snapshots.start as usize;
    let table_page = live.device.change(|bytes| number(&bytes[first * PAGE..], 224));
    assert!(table_page > 0, "the page table has pages of its own");
    (4..8).for_each(|round| flip(&mut live, 1500, round));
    live.store = Store::open(live.device.shared()).unwrap();
    assert_snapshots(&live, &snapshots);
    let held = live.graph().snapshot_pages().unwrap();
    let own: u64 = live.store.snapshots().iter().map(|snapshot| snapshot.pages_held).sum();
    assert!(0 < own && own < held, "{own} of one snapshot and {held} of any");
    let removed = live.store.remove_snapshot("b").unwrap();
    snapshots.remove(1);
    let now_held = live.graph().snapshot_pages().unwrap();
    assert!(removed.pages_held > 0 && held - removed.pages_held == now_held, "{removed:?}");
    (8..14).for_each(|round| flip(&mut live, 700, round));
    assert_snapshots(&live, &snapshots);
    live.assert_same();
}

#[test]
fn what_a_snapshot_writes_does_not_depend_on_the_graph() {
    let live = wide();
    let before = live.device.writes().len();
    live.store.snapshot(Some("one"), 1).unwrap();
    let writes: usize = live.device.writes()[before..].iter().flatten().map(|(_, len)| len).sum();
    assert_eq!(writes, 2 * PAGE, "the page of the snapshot and the slot");
}

// ------------------------------------------------------------------------------------------------
// Threads

#[test]
fn snapshots_that_are_made_while_threads_commit_have_the_first_batches_of_each() {
    const THREADS: u32 = 3;
    const BATCHES: u32 = 60;
    let Live { device, store, .. } = Live::new(TestGraph {
        duplicates_kept: false,
        ..TestGraph::with_lists(vec![Vec::new(); 400])
    });
    let store = store.with_limits(WriteLimits::default().bytes(64 << 10).changes(40));
    let (done, store) = (std::sync::atomic::AtomicU32::new(0), &store);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let done = &done;
            scope.spawn(move || {
                for batch in 0..BATCHES {
                    store.commit(&changes([add(thread, 100 + batch)])).unwrap();
                }
                done.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            });
        }
        let mut number = 0;
        // At least one, if the threads are faster.
        while number == 0 || done.load(std::sync::atomic::Ordering::SeqCst) < THREADS {
            store.snapshot(Some(&number.to_string()), 1).unwrap();
            if number >= 4 {
                store.remove_snapshot(&(number - 4).to_string()).unwrap();
            }
            number += 1;
        }
    });
    assert!(checked(&device).is_whole());
    let snapshots = store.snapshots();
    let mut before = 0;
    for Snapshot { name, edges, .. } in &snapshots {
        let graph = open_at(&device, name).unwrap();
        let mut found = 0;
        for thread in 0..THREADS {
            let mut list = Vec::new();
            graph.read_list(cenote_store::Direction::Out, thread, &mut list).unwrap();
            assert_eq!(list, (100..100 + list.len() as u32).collect::<Vec<_>>(), "{name}");
            found += list.len() as u64;
        }
        assert!(found == *edges && found >= before, "{name}: {found} edges of {edges}");
        before = found;
    }
    assert!(!snapshots.is_empty());
}

// ------------------------------------------------------------------------------------------------
// Names

fn square() -> Live {
    Live::new(TestGraph {
        duplicates_kept: false,
        ..TestGraph::undirected(5, &[(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    })
}

#[test]
fn wrong_names_are_refused_and_nothing_is_changed() {
    let store = square().store;
    store.snapshot(Some("first"), 1).unwrap();
    let long = "x".repeat(65);
    for (name, words) in [
        ("first", "the graph has one of that name: remove it or choose another name"),
        ("", "its name is empty"),
        ("a/b", "has a control character, `/` or `@`: choose"),
        ("a\nb", "`a\\nb` cannot be made"),
        (&long, "is longer than 64 bytes"),
    ] {
        let error = store.snapshot(Some(name), 1).unwrap_err().to_string();
        assert!(error.contains(words) && error.starts_with("memory.cenote: "), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = store.remove_snapshot("second").unwrap_err().to_string();
    assert!(error.contains("no snapshot `second`: the graph has `first`"), "{error}");
    assert_eq!(store.epoch(), 2);
    store.snapshot(Some(&"ü".repeat(32)), 1).unwrap();
    for number in store.snapshots().len()..64 {
        store.snapshot(Some(&format!("{number}")), 1).unwrap();
    }
    let error = store.snapshot(Some("more"), 1).unwrap_err().to_string();
    assert!(error.contains("the graph has 64, the most that are possible: remove one"), "{error}");
    assert_eq!(store.epoch(), 65);
    store.remove_snapshot("17").unwrap();
    store.snapshot(Some("more"), 1).unwrap();
    assert_eq!(store.snapshots().last().unwrap().epoch, 66);
}

#[test]
fn an_older_program_refuses_a_graph_with_snapshots_and_reads_it_once_they_are_removed() {
    let Live { device, store, .. } = square();
    let features = || {
        let slot = store.superblock().slot() as usize * PAGE;
        device.bytes()[slot + 64]
    };
    assert_eq!(features(), 0);
    store.snapshot(Some("a"), 1).unwrap();
    store.snapshot(Some("b"), 1).unwrap();
    assert_eq!(features(), 2);
    store.remove_snapshot("a").unwrap();
    assert_eq!(features(), 2);
    store.remove_snapshot("b").unwrap();
    assert_eq!((features(), store.snapshots()), (0, vec![]));
}

// ------------------------------------------------------------------------------------------------
// Damage

/// A graph with two snapshots, with the physical pages of both.
fn with_two() -> (MemoryDevice, [usize; 2]) {
    let Live { device, store, .. } = square();
    store.update(&changes([add(1, 3)])).unwrap();
    store.snapshot(Some("first"), 1).unwrap();
    store.update(&changes([delete(1, 3)])).unwrap();
    store.snapshot(Some("second"), 2).unwrap();
    store.update(&changes([add(1, 4)])).unwrap();
    let page = store.superblock().snapshots.start as usize;
    (device, [page, page + 1])
}

/// Everything that reads snapshots gives an error, and the graph itself is whole.
fn assert_damaged(device: &MemoryDevice, words: &str) {
    let graph = Graph::open(device.shared()).unwrap();
    let mut errors = vec![graph.snapshots().unwrap_err()];
    errors.extend(Store::open(device.shared()).err());
    errors.extend(open_at(device, "first").err());
    assert_eq!(errors.len(), 3, "{words}");
    let messages = errors.iter().map(ToString::to_string);
    let faults = checked(device).faults.into_iter().map(|fault| fault.message);
    for message in messages.chain(faults) {
        assert!(message.contains(words), "{words}: {message}");
    }
    assert!(!checked(device).is_whole());
    graph.scan(cenote_store::Direction::Out, &mut |_, _| Ok(())).unwrap();
}

#[test]
fn every_flipped_bit_of_a_snapshot_is_an_error_that_names_its_page() {
    let (device, pages) = with_two();
    assert!(checked(&device).is_whole());
    for (page, byte) in pages.into_iter().flat_map(|page| (0..PAGE).map(move |at| (page, at))) {
        let flip = || device.change(|bytes| bytes[page * PAGE + byte] ^= 1 << (byte % 8));
        flip();
        let words = format!("page {page} (snapshot, bytes {}..", page * PAGE);
        if byte.is_multiple_of(16) {
            assert_damaged(&device, &words);
        } else {
            let error = open_at(&device, "first").unwrap_err().to_string();
            assert!(error.contains(&words), "byte {byte}: {error}");
        }
        flip();
    }
}

/// Changes a page of a snapshot and makes its checksum right again.
fn forge(device: &MemoryDevice, page: usize, change: impl FnOnce(&mut [u8])) {
    let salt = Graph::open(device.shared()).unwrap().superblock().salt;
    device.change(|bytes| {
        let bytes = &mut bytes[page * PAGE..(page + 1) * PAGE];
        change(bytes);
        PageHeader::read(bytes).seal(bytes, salt, page as u64);
    });
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn put(page: &mut [u8], at: usize, number: u64) {
    page[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

#[test]
fn snapshots_that_contradict_the_graph_or_each_other_are_damaged() {
    let (whole, [first, second]) = with_two();
    let whole = whole.bytes();
    let assert_fault = |page: usize, words: &str, change: &dyn Fn(&mut [u8])| {
        let device = MemoryDevice::with_bytes(whole.clone());
        forge(&device, page, change);
        assert_damaged(&device, words);
    };
    assert_fault(second, "there are two snapshots `first`", &|page| {
        put(page, 312, 5);
        page[320..326].copy_from_slice(b"first\0");
    });
    assert_fault(first, "do not ascend", &|page| put(page, 160, 4));
    assert_fault(first, "epoch", &|page| put(page, 160, 99));
    assert_fault(first, "epoch", &|page| put(page, 160, 0));
    assert_fault(first, "pages", &|page| put(page, 168, 1 << 40));
    assert_fault(first, "no superblock of this graph", &|page| put(page, 152, 1));
    assert_fault(first, "has no log", &|page| put(page, 64, 1));
    assert_fault(first, "its name \"\" is empty", &|page| {
        put(page, 312, 0);
        page[320..384].fill(0);
    });
    assert_fault(first, "control character", &|page| page[320] = b'/');
    assert_fault(first, "not UTF-8", &|page| page[320] = 0xff);
    assert_fault(first, "bytes of a name", &|page| put(page, 312, 65));
    assert_fault(first, "behind the last character", &|page| page[383] = 1);
    assert_fault(first, "header", &|page| page[16] = 1);
    // The first extent of its page table.
    let extents = HEADER_BYTES + 1744;
    assert_fault(first, "page 0 is used twice", &|page| put(page, extents + 8, 0));
    assert_fault(first, "first page of an extent", &|page| put(page, extents + 8, 1 << 60));
    assert_fault(first, "order at logical page", &|page| put(page, extents, 0));
    assert_fault(first, "epoch of pages", &|page| put(page, extents + 24, 77));
}

#[test]
fn a_snapshot_whose_pages_are_elsewhere_is_damaged() {
    let mut live = wide();
    (0..6).for_each(|round| flip(&mut live, 4, round));
    live.store.snapshot(Some("first"), 1).unwrap();
    flip(&mut live, 2, 6);
    live.store.snapshot(Some("second"), 1).unwrap();
    (7..12).for_each(|round| flip(&mut live, 6, round));
    let newest = live.store.superblock();
    let words = ["is used twice", "another snapshot has another", "was used again by a later"];
    let mut faults = std::collections::BTreeSet::new();
    for (page, at) in newest.snapshots.clone().flat_map(|page| [(page, 1), (page, 3), (page, 5)]) {
        let (page, at) = (page as usize, 1792 + at * 32);
        let of = |at| live.device.change(|bytes| number(&bytes[page * PAGE..], at));
        let (place, pages, total) = (of(at + 8), of(at + 16), of(168));
        for forged in (2..=total - pages).filter(|forged| *forged != place) {
            forge(&live.device, page, |page| put(page, at + 8, forged));
            let Err(error) = open_at(&live.device, "first") else {
                // A page that was freed later: it is another one.
                assert!(!checked(&live.device).is_whole(), "{forged} for {place}");
                continue;
            };
            let error = error.to_string();
            let fault = words.into_iter().find(|words| error.contains(words));
            faults.insert(fault.unwrap_or_else(|| panic!("{error}")));
        }
        forge(&live.device, page, |page| put(page, at + 8, place));
    }
    assert_eq!(faults.len(), words.len(), "{faults:?}");
    assert!(checked(&live.device).is_whole());
}

#[test]
fn hostile_snapshots_with_a_valid_checksum_never_panic() {
    let (whole, [first, second]) = with_two();
    let good = whole.bytes();
    let superblock = Graph::open(whole.shared()).unwrap().superblock().clone();
    let (slot, salt) = (superblock.slot() as usize, superblock.salt);
    let mut random = Random(5);
    let mut opened = 0;
    for _ in 0..3000 {
        let device = MemoryDevice::with_bytes(good.clone());
        let page = [first, second, slot][random.below(3) as usize];
        let salt = if page == slot { 0 } else { salt };
        device.change(|bytes| {
            let bytes = &mut bytes[page * PAGE..(page + 1) * PAGE];
            for _ in 0..1 + random.below(3) {
                let at = match random.below(3) {
                    0 => 280 + 8 * random.below(29),
                    1 => 1792 + 8 * random.below(16),
                    _ => 56 + 8 * random.below(217),
                } as usize;
                let old = number(bytes, at);
                let number = match random.below(3) {
                    0 => [0, 1, 2, 3, 64, 1 << 32, 1 << 62, u64::MAX][random.below(8) as usize],
                    1 => old ^ (1 << random.below(64)),
                    _ => old.wrapping_add(random.below(5)).wrapping_sub(2),
                };
                put(bytes, at, number);
            }
            PageHeader::read(bytes).seal(bytes, salt, page as u64);
        });
        checked(&device);
        for name in ["first", "second"] {
            opened += u64::from(open_at(&device, name).is_ok());
        }
        if let Ok(store) = Store::open(device.shared()) {
            let _ = store.remove_snapshot("first");
            let _ = store.update(&changes([add(2, 4)]));
        }
    }
    assert!(opened > 100, "{opened} snapshots opened");
}

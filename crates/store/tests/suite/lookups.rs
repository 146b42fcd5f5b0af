//! Look-ups of lists and ids in random order read and verify each page once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::graphs::{MemoryDevice, Random, TestGraph, TestIds};
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_device::wrapper::Layer;
use cenote_device::{Device, Queue, QueueConfig};
use cenote_pool::Pool;
use cenote_store::{
    Choose, Codec, Direction, Graph, ListsRead, LookupConfig, StoreError, VertexId,
};

const VERTICES: u32 = 40_000;
const FRAMES: usize = 64;
/// Vertex of a list that is longer than what a look-up takes through the pool.
const HUB: VertexId = 42;

/// More pages of each kind than the pool has frames.
fn graph(strings: bool) -> TestGraph {
    let mut random = Random(9);
    let mut edges: Vec<_> = (0..150_000)
        .map(|_| (random.below(VERTICES.into()) as u32, random.below(VERTICES.into()) as u32))
        .chain((0..9_000).map(|v| (HUB, v)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let ids = if strings {
        TestIds::Strings((0..VERTICES).map(|v| format!("{v:06} {}", "x".repeat(9))).collect())
    } else {
        TestIds::Integers((0..u64::from(VERTICES)).map(|v| v * 3).collect())
    };
    TestGraph { ids, ..TestGraph::directed(VERTICES as usize, &edges) }
}

fn sim_of(graph: &TestGraph) -> Arc<SimDevice> {
    let config = SimConfig::new(Preset::all()[0].model()).block_bytes(4096);
    let config = config.faults(FaultPlan::none());
    Arc::new(SimDevice::with_contents(config, &graph.stored_bytes()))
}

fn list(graph: &Graph, direction: Direction, vertex: VertexId) -> Result<Vec<u32>, StoreError> {
    let mut list = Vec::new();
    graph.read_list(direction, vertex, &mut list)?;
    Ok(list)
}

#[test]
fn pages_that_were_looked_up_come_from_memory() {
    for strings in [false, true] {
        let test = graph(strings);
        let device = sim_of(&test);
        let graph = Graph::open(device.clone()).unwrap();
        let ids = graph.ids().unwrap();
        let look_up = |v: usize| {
            assert_eq!(list(&graph, Direction::Out, v as u32).unwrap(), test.out[v]);
            assert_eq!(ids.id_of(v as u32).unwrap(), test.id_of(v));
            assert_eq!(ids.vertex_of(&test.id_of(v).to_string()).unwrap(), Some(v as u32));
        };
        let opened = device.operations();
        look_up(20_000);
        let cold = device.operations() - opened;
        look_up(20_000);
        assert_eq!(device.operations() - opened, cold, "strings: {strings}");
        // A page of the list, log2 of the ids' pages for the search, no page twice.
        assert!((2..16).contains(&cold), "{cold} reads");
        (0..VERTICES as usize).step_by(1_111).for_each(look_up);
    }
}

#[test]
fn memory_counts_the_pool_once_something_was_looked_up() {
    let test = graph(false);
    let device = sim_of(&test);
    let graph = Graph::open(device.clone()).unwrap();
    let ids = graph.ids().unwrap();
    let indexes = graph.memory_bytes();
    assert_eq!(ids.memory_bytes(), 0);
    // A long list is streamed, and nothing of it is kept.
    assert!(list(&graph, Direction::Out, HUB).unwrap().len() >= 9_000);
    assert_eq!(graph.memory_bytes(), indexes);
    let frames = FRAMES * Pool::frame_bytes(4096) as usize;
    list(&graph, Direction::In, 7).unwrap();
    assert_eq!(graph.memory_bytes(), indexes + frames);
    assert_eq!(ids.memory_bytes(), frames);
    // Most of a pass over the ids goes past the frames, and a hub's list too.
    let before = device.operations();
    list(&graph, Direction::Out, HUB).unwrap();
    ids.for_each(0..VERTICES, |_, _| Ok::<(), StoreError>(())).unwrap();
    list(&graph, Direction::In, 7).unwrap();
    let passes = device.operations();
    list(&graph, Direction::In, 7).unwrap();
    assert_eq!(device.operations(), passes, "the page is still there");
    assert!(passes > before);
}

#[test]
fn graph_smaller_than_the_pool_takes_no_more_frames_than_it_has_pages() {
    let test = TestGraph::undirected(3, &[(0, 1)]);
    let graph = test.store();
    let indexes = graph.memory_bytes();
    assert_eq!(list(&graph, Direction::Out, 0).unwrap(), [1]);
    let frames = graph.superblock().pages_total as usize;
    assert_eq!(graph.memory_bytes() - indexes, frames * Pool::frame_bytes(4096) as usize);
}

#[test]
fn damaged_page_is_the_same_error_through_a_look_up_as_through_a_pass() {
    for strings in [false, true] {
        let test = graph(strings);
        let device = MemoryDevice::with_bytes(test.stored_bytes());
        let whole = Graph::open(device.shared()).unwrap();
        let mut random = Random(5);
        for direction in [Direction::Out, Direction::In] {
            let adjacency = whole.adjacency(direction).unwrap();
            for _ in 0..40 {
                let vertex = random.below(VERTICES.into()) as u32;
                let page = adjacency.first_page() + adjacency.pages_of(vertex).start();
                let at = page as usize * 4096 + random.below(4096) as usize;
                device.change(|bytes| bytes[at] ^= 4);
                let graph = Graph::open(device.shared()).unwrap();
                let pass = graph.scan(direction, &mut |_, _| Ok(())).unwrap_err();
                assert!(matches!(pass, StoreError::Page(_)), "{pass}");
                // A page that was refused is not kept: the second look-up refuses it again.
                for _ in 0..2 {
                    let found = list(&graph, direction, vertex).unwrap_err();
                    assert!(matches!(found, StoreError::Page(_)), "{found}");
                    assert_eq!(found.to_string(), pass.to_string());
                }
                device.change(|bytes| bytes[at] ^= 4);
                assert_eq!(list(&graph, direction, vertex).unwrap(), {
                    let lists = match direction {
                        Direction::Out => &test.out,
                        Direction::In => test.back.as_ref().unwrap(),
                    };
                    lists[vertex as usize].clone()
                });
            }
        }
    }
}

#[test]
fn damaged_page_of_ids_is_the_same_error_through_a_look_up_as_through_a_pass() {
    for strings in [false, true] {
        let test = graph(strings);
        let device = MemoryDevice::with_bytes(test.stored_bytes());
        let section = *Graph::open(device.shared()).unwrap().superblock().sections.last().unwrap();
        // Every search begins with the page in the middle.
        let at = (section.first_page + section.pages / 2) as usize * 4096 + 777;
        device.change(|bytes| bytes[at] ^= 1);
        let graph = Graph::open(device.shared()).unwrap();
        let ids = graph.ids().unwrap();
        let pass = ids.for_each(0..VERTICES, |_, _| Ok::<(), StoreError>(())).unwrap_err();
        let vertex = VERTICES / 2;
        let name = test.id_of(vertex as usize).to_string();
        assert_eq!(ids.vertex_of(&name).unwrap_err().to_string(), pass.to_string());
        assert!(pass.to_string().contains("ids, bytes"), "{pass}");
        device.change(|bytes| bytes[at] ^= 1);
        assert_eq!(ids.vertex_of(&name).unwrap(), Some(vertex));
    }
}

#[test]
fn threads_look_up_beside_each_other_with_fewer_frames_than_pages() {
    let test = graph(true);
    let graph = test.store();
    assert!(graph.superblock().pages_total > 3 * FRAMES as u64);
    let ids = graph.ids().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (test, graph, ids) = (&test, &graph, &ids);
            scope.spawn(move || {
                let mut random = Random(thread);
                for _ in 0..300 {
                    let v = random.below(VERTICES.into()) as usize;
                    let found = list(graph, Direction::Out, v as u32).unwrap();
                    assert_eq!(found, test.out[v], "thread {thread}, vertex {v}");
                    assert_eq!(ids.id_of(v as u32).unwrap(), test.id_of(v));
                    let id = test.id_of(v).to_string();
                    assert_eq!(ids.vertex_of(&id).unwrap(), Some(v as u32), "{id}");
                }
            });
        }
    });
}

#[test]
fn many_lists_come_in_the_order_asked_for_each_page_once() {
    let test = graph(false);
    let device = sim_of(&test);
    let plan = |_: &_| LookupConfig::default().frames(4096).read_depth(16);
    let graph = Graph::open_with(device.clone(), plan).unwrap();
    let mut random = Random(3);
    let mut asked: Vec<_> = (0..500).map(|_| random.below(VERTICES.into()) as VertexId).collect();
    asked.extend([HUB, 0, VERTICES - 1, HUB]);
    let expected = |out: &[Vec<u32>]| -> Vec<Vec<u32>> {
        asked.iter().map(|&v| out[v as usize].clone()).collect()
    };
    let mut lookup = graph.lookup().unwrap();
    let before = device.operations();
    let found = lookup.read(Direction::Out, &asked).unwrap();
    assert_eq!(found, expected(&test.out));
    let read = device.operations() - before;
    let pages = graph.adjacency(Direction::Out).unwrap().pages();
    assert!((100..=pages).contains(&read), "{read} reads of {pages} pages");
    assert_eq!(lookup.read(Direction::Out, &asked).unwrap(), found);
    assert_eq!(device.operations() - before, read, "all pages were in memory");
    // With as few frames as may be, pages come and go.
    let plan = |_: &_| LookupConfig::default().frames(8).read_depth(2);
    let graph = Graph::open_with(sim_of(&test), plan).unwrap();
    let mut lookup = graph.lookup().unwrap();
    assert_eq!(lookup.read(Direction::Out, &asked).unwrap(), found);
    let message = lookup.read(Direction::Out, &[1, VERTICES]).unwrap_err().to_string();
    assert!(message.contains("40000"), "{message}");
    assert_eq!(lookup.read(Direction::Out, &[HUB]).unwrap(), [test.out[HUB as usize].clone()]);
}

#[test]
fn lists_are_read_as_long_as_there_is_room() {
    let test = graph(false);
    let graph = Graph::open(sim_of(&test)).unwrap();
    let mut lookup = graph.lookup().unwrap();
    let asked = [5, HUB, 900, 5];
    let degrees = asked.map(|vertex| test.out[vertex as usize].len() as u64);
    let all: u64 = degrees.iter().sum();
    let mut read_within = |room: u64, asked: &[u32]| {
        let mut left = room;
        let mut reserve = |len: u64| {
            let has_room = len <= left;
            left -= if has_room { len } else { 0 };
            has_room
        };
        lookup.read_within(Direction::Out, asked, &mut reserve).unwrap()
    };
    let lists = asked.map(|vertex| test.out[vertex as usize].clone()).to_vec();
    assert_eq!(read_within(all, &asked), ListsRead::Whole(lists));
    assert!(matches!(read_within(all - 1, &asked), ListsRead::NoRoom { .. }));
    let refused = ListsRead::NoRoom { vertex: HUB, degree: degrees[1] };
    assert_eq!(read_within(degrees[1] - 1, &[HUB]), refused);
    assert_eq!(read_within(0, &[]), ListsRead::Whole(vec![]));
}

#[test]
fn a_list_within_a_page_takes_one_read() {
    let test = graph(false);
    let device = sim_of(&test);
    let graph = Graph::open(device.clone()).unwrap();
    let lists = graph.adjacency(Direction::Out).unwrap();
    let mut lookup = graph.lookup().unwrap();
    let mut pages = 0;
    for vertex in (0..VERTICES).step_by(1_777) {
        let of_list = lists.pages_of(vertex);
        let count = of_list.end() - of_list.start() + 1;
        let before = device.operations();
        let found = lookup.read(Direction::Out, &[vertex]).unwrap();
        assert_eq!(found[0], test.out[vertex as usize]);
        assert_eq!(device.operations() - before, count, "vertex {vertex}");
        pages += count;
    }
    assert!((20..30).contains(&pages), "nearly all of 23 lists are within a page: {pages} pages");
}

/// Positions of a list that spans many pages: ascending, far apart.
fn far_apart(degree: u64, count: u64) -> Vec<u64> {
    (0..count).map(|at| (2 * at + 1) * degree / (2 * count)).collect()
}

#[test]
fn chosen_entries_of_a_hub_take_the_pages_on_which_they_lie() {
    let hub: Vec<_> = (0..400_000).filter(|v| v % 7 != 3).map(|v| (HUB, v)).collect();
    for codec in Codec::ALL {
        let test = TestGraph { codec, ..TestGraph::directed(400_000, &hub) };
        let device = sim_of(&test);
        let plan = |_: &_| LookupConfig::default().frames(4096).read_depth(16);
        let graph = Graph::open_with(device.clone(), plan).unwrap();
        let lists = graph.adjacency(Direction::Out).unwrap();
        let span = lists.pages_of(HUB);
        let pages = span.end() - span.start() + 1;
        assert!(pages > if codec == Codec::Raw { 300 } else { 30 }, "{pages} pages");
        let expected = &test.out[HUB as usize];
        let mut lookup = graph.lookup().unwrap();
        let mut read = |count: u64, shift: u64| {
            let choose: Choose<'_> = &mut |_, degree, positions| {
                let far = far_apart(degree - shift, count).into_iter();
                positions.extend(far.map(|position| position + shift));
            };
            let before = device.operations();
            let found = lookup.read_chosen(Direction::Out, &[HUB], choose).unwrap();
            let (positions, entries) = found.list(0);
            let at = positions.iter().map(|position| expected[*position as usize]);
            assert!(positions.len() as u64 == count && at.eq(entries.iter().copied()));
            device.operations() - before
        };
        // Each entry has a page of its own, and the first page of the list says how long it is. An
        // import fills raw pages, so their places are known; those of packed ones are guessed.
        let first = read(10, 0);
        let most = if codec == Codec::Raw { 11 } else { 16 };
        assert!((10..=most).contains(&first), "{codec:?}: {first} reads of {pages} pages");
        assert_eq!(read(10, 0), 0, "all pages are in memory");
        let second = read(10, expected.len() as u64 / 20);
        assert!((1..most).contains(&second), "{codec:?}: {second} reads, the length is known");
        // All entries: the pages that are not in memory yet, each once.
        let rest = read(expected.len() as u64, 0);
        assert_eq!(first + second + rest, pages, "{codec:?}");
    }
}

#[test]
fn what_is_known_of_long_lists_is_counted_as_memory() {
    let test = graph(false);
    let graph = test.store();
    let mut lookup = graph.lookup().unwrap();
    lookup.read(Direction::Out, &[HUB]).unwrap();
    let before = graph.memory_bytes();
    let choose: Choose<'_> = &mut |_, degree, positions| positions.push(degree - 1);
    let found = lookup.read_chosen(Direction::Out, &[HUB], choose).unwrap();
    assert_eq!(found.list(0).1, test.out[HUB as usize].last().map(std::slice::from_ref).unwrap());
    let pages = graph.adjacency(Direction::Out).unwrap().pages() as usize;
    assert_eq!(graph.memory_bytes() - before, 16 * pages);
}

#[test]
fn look_ups_one_after_the_other_open_one_queue() {
    let test = graph(false);
    let device = Arc::new(Counting { inner: sim_of(&test), queues: AtomicUsize::new(0) });
    let graph = Graph::open(device.clone()).unwrap();
    let opened = device.queues.load(Ordering::Relaxed);
    for vertex in [HUB, 7, 20_000] {
        let mut lookup = graph.lookup().unwrap();
        assert_eq!(lookup.read(Direction::In, &[vertex]).unwrap().len(), 1);
        assert!(lookup.read(Direction::Out, &[VERTICES]).is_err(), "it reads nothing");
    }
    assert_eq!(device.queues.load(Ordering::Relaxed) - opened, 1);
}

#[test]
fn damaged_pages_of_chosen_entries_are_errors_and_later_look_ups_go_on() {
    let test = graph(false);
    let device = MemoryDevice::with_bytes(test.stored_bytes());
    let graph = Graph::open(device.shared()).unwrap();
    let lists = graph.adjacency(Direction::Out).unwrap();
    let page = lists.first_page() + lists.pages_of(HUB).end();
    let at = page as usize * 4096 + 700;
    device.change(|bytes| bytes[at] ^= 4);
    let mut lookup = graph.lookup().unwrap();
    let choose: Choose<'_> = &mut |_, degree, positions| positions.extend([0, degree - 1]);
    let fault = lookup.read_chosen(Direction::Out, &[3, HUB], choose).unwrap_err();
    assert!(matches!(fault, StoreError::Page(_)), "{fault}");
    device.change(|bytes| bytes[at] ^= 4);
    let choose: Choose<'_> = &mut |_, degree, positions| positions.extend([0, degree - 1]);
    let found = lookup.read_chosen(Direction::Out, &[HUB], choose).unwrap();
    let list = &test.out[HUB as usize];
    assert_eq!(found.list(0).1, [list[0], list[list.len() - 1]]);
    let choose: Choose<'_> = &mut |_, _, _| {};
    let fault = lookup.read_chosen(Direction::Out, &[VERTICES], choose).unwrap_err();
    assert!(matches!(fault, StoreError::NoVertex { .. }), "{fault}");
}

/// Counts the queues that are opened.
#[derive(Debug)]
struct Counting {
    inner: Arc<SimDevice>,
    queues: AtomicUsize,
}

impl Layer for Counting {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn queue(&self, config: &QueueConfig) -> cenote_device::Result<Box<dyn Queue>> {
        self.queues.fetch_add(1, Ordering::Relaxed);
        self.inner.queue(config)
    }
}

#[test]
fn searches_of_ids_one_after_the_other_open_one_queue() {
    for strings in [false, true] {
        let test = graph(strings);
        let device = Arc::new(Counting { inner: sim_of(&test), queues: AtomicUsize::new(0) });
        let graph = Graph::open(device.clone()).unwrap();
        let ids = graph.ids().unwrap();
        let (opened, before) = (device.queues.load(Ordering::Relaxed), device.inner.operations());
        for v in (0..VERTICES as usize).step_by(500) {
            assert_eq!(ids.vertex_of(&test.id_of(v).to_string()).unwrap(), Some(v as u32));
            assert_eq!(ids.id_of(v as u32).unwrap(), test.id_of(v));
        }
        assert!(device.inner.operations() - before > 70, "pages of ids come and go");
        assert_eq!(device.queues.load(Ordering::Relaxed) - opened, 1, "strings: {strings}");
    }
}

#[test]
fn names_are_found_among_similar_and_long_ones_and_others_are_not() {
    let mut random = Random(11);
    let mut names = BTreeSet::new();
    while names.len() < 3000 {
        // Of few letters, so that many share their beginning; some are longer than a page.
        let letters =
            if random.below(200) == 0 { 3000 + random.below(9000) } else { random.below(9) };
        let name = (0..=letters).map(|_| ["a", "b", "é", "\u{1}"][random.below(4) as usize]);
        names.insert(name.collect::<String>());
    }
    let stored: Vec<String> = names.iter().cloned().collect();
    let made =
        TestGraph { ids: TestIds::Strings(stored.clone()), ..TestGraph::undirected(3000, &[]) };
    let sim = sim_of(&made);
    let graph = Graph::open(sim).unwrap();
    let ids = graph.ids().unwrap();
    for (vertex, name) in (0..).zip(&stored) {
        assert_eq!(ids.vertex_of(name).unwrap(), Some(vertex), "{name:.20}");
        let shorter: String = name.chars().take(name.chars().count() - 1).collect();
        for other in [format!("{name}a"), format!("{name}z"), shorter, format!("{name:.2}\u{2}")] {
            let found = ids.vertex_of(&other).unwrap();
            assert_eq!(found.is_some(), names.contains(&other), "{other:.20}");
        }
    }
}

//! What a kernel of a user's own may do, and what a run may be asked for.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod corrections;
mod graph;
mod whole_lists;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cenote_device::{Buffer, write_all};
use cenote_engine::{
    ActiveSet, Assembled, AsynchronousConfig, Bitmap, Cancel, Direction, Engine, EngineConfig,
    EngineError, Frontier, Kernel, List, Messages, NamedPages, Needs, PageTask, Schedule, Sender,
    Strategy, THREADS_MAX, VertexId,
};

const STRATEGIES: [Strategy; 3] = [Strategy::Auto, Strategy::Block, Strategy::Vertex];

/// Vertices of the graph.
const VERTICES: u32 = 20_000;

/// The list of a vertex: all others of vertex 0, the next ten of the others.
fn list(v: u32) -> Vec<u32> {
    let mut list: Vec<u32> = match v {
        0 => (1..VERTICES).collect(),
        v => (1..=10).map(|i| (v + i) % VERTICES).collect(),
    };
    list.sort_unstable();
    list
}

fn engine_of(config: EngineConfig) -> Result<Engine, EngineError> {
    let graph = graph::of((0..VERTICES).map(list).collect());
    Engine::new(graph, config, &Needs { what: "test", state_bytes: 0, scratch_bytes: 0 })
}

fn engine(strategy: Strategy) -> Engine {
    engine_of(EngineConfig::with_memory(64 << 20).strategy(strategy).threads(2)).unwrap()
}

/// Calls a closure with every list.
struct Each<F>(F);

impl<F: Fn(&List<'_>) + Sync> Kernel for Each<F> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        self.0(list);
    }
}

/// Entries that a full visit brings.
fn entries(engine: &Engine) -> Result<u64, EngineError> {
    let entries = AtomicU64::new(0);
    let count = |list: &List<'_>| {
        entries.fetch_add(list.targets.len() as u64, Ordering::Relaxed);
    };
    engine.visit("count", Direction::Out, ActiveSet::All, &Each(count))?;
    Ok(entries.into_inner())
}

const ENTRIES: u64 = (VERTICES as u64 - 1) * 11;

#[test]
fn single_lists_come_backwards_by_every_strategy_on_any_thread() {
    for strategy in STRATEGIES {
        let engine = engine(strategy);
        let look_up = || {
            let mut lookup = engine.lookup(Direction::Out).unwrap();
            for v in [0, 1, VERTICES - 1, 0] {
                let mut found: Vec<VertexId> = Vec::new();
                lookup.list_backwards(v, |list| found.extend(list.targets.iter().rev())).unwrap();
                found.reverse();
                assert_eq!(found, list(v), "{strategy}");
            }
            lookup.finish("lists");
        };
        look_up();
        engine.install(look_up);
        assert_eq!(entries(&engine).unwrap(), ENTRIES, "{strategy}");
        look_up();
        assert!(engine.stats().bytes_read > 0);
    }
}

#[test]
fn visits_from_within_a_kernel_are_refused_and_the_visit_goes_on() {
    for strategy in STRATEGIES {
        let engine = engine(strategy);
        let refused = AtomicU64::new(0);
        let seen = AtomicU64::new(0);
        let kernel = Each(|list: &List<'_>| {
            seen.fetch_add(list.targets.len() as u64, Ordering::Relaxed);
            if list.vertex % 5000 != 1 {
                return;
            }
            let outcomes = [
                entries(&engine).err(),
                engine.lookup(Direction::Out).err(),
                engine
                    .visit_pages(
                        "pages",
                        Direction::Out,
                        NamedPages::of_pass(&[]),
                        &Each(|_: &List<'_>| ()),
                    )
                    .err(),
                engine
                    .visit_asynchronously(
                        "asynchronous",
                        Direction::Out,
                        &[0],
                        AsynchronousConfig::default(),
                        &Each(|_: &List<'_>| ()),
                    )
                    .err(),
                engine.install(|| entries(&engine)).err(),
                std::thread::scope(|scope| scope.spawn(|| entries(&engine).err()).join().unwrap()),
            ];
            for outcome in outcomes {
                assert!(matches!(outcome, Some(EngineError::Busy)), "{strategy}: {outcome:?}");
                refused.fetch_add(1, Ordering::Relaxed);
            }
        });
        engine.visit("all", Direction::Out, ActiveSet::All, &kernel).unwrap();
        assert_eq!(refused.into_inner(), 4 * 6, "{strategy}");
        assert_eq!(seen.into_inner(), ENTRIES, "{strategy}");
        assert_eq!(entries(&engine).unwrap(), ENTRIES, "{strategy}: the engine is free again");
    }
}

#[test]
fn a_visit_is_refused_while_there_is_a_look_up() {
    let engine = engine(Strategy::Block);
    let lookup = engine.lookup(Direction::Out).unwrap();
    assert!(matches!(entries(&engine), Err(EngineError::Busy)));
    drop(lookup);
    assert_eq!(entries(&engine).unwrap(), ENTRIES);
}

/// While a kernel waits in Rayon, its thread may run whatever else the workers have to do: of
/// another visit that starts meanwhile, too.
#[test]
fn parallel_kernels_survive_visits_from_other_threads() {
    for strategy in STRATEGIES {
        let engine = engine(strategy);
        let goes_on = AtomicBool::new(true);
        let kernel = Each(|list: &List<'_>| {
            if list.vertex % 200 == 1 {
                let pause = || std::thread::sleep(Duration::from_micros(300));
                rayon::join(pause, pause);
            }
        });
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                while goes_on.load(Ordering::Relaxed) {
                    match entries(&engine) {
                        Ok(found) => assert_eq!(found, ENTRIES),
                        Err(error) => assert!(matches!(error, EngineError::Busy), "{error}"),
                    }
                }
            });
            let mut done = 0;
            while done < 3 {
                match engine.visit("parallel", Direction::Out, ActiveSet::All, &kernel) {
                    Ok(_) => done += 1,
                    Err(error) => assert!(matches!(error, EngineError::Busy), "{error}"),
                }
            }
            goes_on.store(false, Ordering::Relaxed);
            other.join().unwrap();
        });
    }
}

#[test]
fn a_kernel_that_panics_leaves_an_engine_that_works() {
    for strategy in STRATEGIES {
        let engine = engine(strategy);
        let kernel = Each(|list: &List<'_>| assert_ne!(list.vertex, 777, "as it should"));
        let visit = || engine.visit("all", Direction::Out, ActiveSet::All, &kernel);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(visit));
        assert!(panicked.is_err());
        assert_eq!(entries(&engine).unwrap(), ENTRIES, "{strategy}");
    }
}

#[test]
fn every_depth_does() {
    for strategy in STRATEGIES {
        for depth in [0, 1, 7, 4096, 4097, 10_000, usize::MAX] {
            for threads in [1, 2] {
                let config = EngineConfig::with_memory(64 << 30).strategy(strategy);
                let engine = engine_of(config.threads(threads).depth(Some(depth))).unwrap();
                assert!(engine.schedule().worker_depth() < 4096);
                let found = entries(&engine).unwrap();
                assert_eq!(found, ENTRIES, "{strategy}, {threads} threads, depth {depth}");
            }
        }
    }
}

#[test]
fn threads_out_of_range_are_an_error() {
    for threads in [0, THREADS_MAX + 1, usize::MAX] {
        let config = EngineConfig::with_memory(64 << 20).threads(threads);
        let refused = engine_of(config.clone()).err();
        assert!(matches!(refused, Some(EngineError::Threads { .. })), "{refused:?}");
        let graph = graph::of(vec![vec![]]);
        let needs = Needs { what: "test", state_bytes: 0, scratch_bytes: 0 };
        let refused = Engine::plan(&graph, &config, &needs).err();
        assert!(matches!(refused, Some(EngineError::Threads { .. })), "{refused:?}");
    }
    let none = EngineConfig::with_memory(64 << 20).threads(0);
    assert!(Assembled::bytes_for(&graph::of(vec![vec![]]), &none) < 64 << 20);
}

#[test]
fn passes_have_requests_in_flight_instead_of_a_few_cached_pages() {
    let (n, degree) = (40_000u32, 60);
    let list = |v| (1..=degree).map(|i| (v + i) % n).collect();
    let graph = graph::of((0..n).map(list).collect());
    let needs = Needs { what: "test", state_bytes: 0, scratch_bytes: 0 };
    let fixed = graph.memory_bytes() as u64;
    let planned = |left: u64, passes: bool| {
        let config = EngineConfig::with_memory(fixed + left).threads(2).passes(passes);
        let (schedule, memory) = Engine::plan(&graph, &config, &needs).unwrap();
        assert!(memory.total_bytes() <= fixed + left, "{memory:?}");
        (schedule, memory)
    };
    for left in [1 << 20, 2 << 20, 3 << 20] {
        let [(few, few_memory), (many, many_memory)] = [false, true].map(|it| planned(left, it));
        let in_flight = |of: &Schedule| of.request_bytes * of.depth;
        assert!(in_flight(&many) * 2 > in_flight(&few) * 3, "{left} bytes: {few:?}, {many:?}");
        assert_eq!(many.depth, many.depth_max, "no buffer waits until a greater depth is tried");
        assert!(many_memory.cache_bytes < few_memory.cache_bytes);
    }
    // Where pages are many more than buffers need, nothing changes.
    let [(few, few_memory), (many, many_memory)] = [false, true].map(|it| planned(48 << 20, it));
    assert_eq!((few.depth, few.request_bytes), (many.depth, many.request_bytes));
    assert_eq!(few_memory, many_memory);
}

#[test]
fn needs_beyond_all_memory_are_an_error() {
    for memory_bytes in [0, 64 << 20, u64::MAX - 1] {
        let config = EngineConfig::with_memory(memory_bytes);
        let needs = Needs { what: "test", state_bytes: u64::MAX, scratch_bytes: u64::MAX };
        let refused = Engine::new(graph::of(vec![vec![]]), config, &needs).err();
        assert!(matches!(refused, Some(EngineError::Budget { .. })), "{refused:?}");
    }
}

#[test]
fn vertices_that_the_graph_lacks_are_an_error() {
    for strategy in STRATEGIES {
        let engine = engine(strategy);
        let kernel = Each(|_: &List<'_>| ());
        let how = AsynchronousConfig::default();
        for vertex in [VERTICES, VertexId::MAX] {
            let from = [0, vertex];
            let refused = [
                engine.visit_asynchronously("reach", Direction::Out, &from, how, &kernel).err(),
                engine.lookup(Direction::Out).unwrap().list_backwards(vertex, |_| ()).err(),
            ];
            for error in refused {
                assert!(matches!(error, Some(EngineError::Vertex { .. })), "{error:?}");
            }
        }
        for vertices in [0, 100, VERTICES as usize + 64] {
            let frontier = Frontier::new(vertices).unwrap();
            let bits = Bitmap::new(vertices).unwrap();
            for active in [ActiveSet::In(&frontier), ActiveSet::NotIn(&bits)] {
                let refused = engine.visit("other", Direction::Out, active, &kernel).err();
                let is_right = matches!(refused, Some(EngineError::ActiveSet { .. }));
                assert!(is_right, "{strategy} {vertices}: {refused:?}");
                assert_eq!(engine.active_pages(Direction::Out, &active), 0);
            }
        }
        assert_eq!(entries(&engine).unwrap(), ENTRIES, "{strategy}");
    }
}

#[test]
fn what_the_graph_lacks_is_an_error() {
    let engine = engine(Strategy::Auto);
    let kernel = Each(|_: &List<'_>| ());
    let refused = [
        engine.visit("in", Direction::In, ActiveSet::All, &kernel).err(),
        engine.visit_weighted("weights", Direction::Out, ActiveSet::All, &kernel).err(),
        engine.visit_hub_neighbours("hub neighbours", &kernel).err(),
        engine.lookup(Direction::In).err(),
    ];
    for error in refused {
        assert!(matches!(error, Some(EngineError::Missing { .. })), "{error:?}");
    }
    assert_eq!(engine.active_pages(Direction::In, &ActiveSet::All), 0);
    assert_eq!(entries(&engine).unwrap(), ENTRIES);
}

#[test]
fn tasks_that_do_not_ascend_are_an_error() {
    let engine = engine(Strategy::Auto);
    let kernel = Each(|_: &List<'_>| ());
    let pages = engine.graph().adjacency(Direction::Out).unwrap().pages();
    for wrong in [vec![3, 2], vec![5, 5], vec![0, pages]] {
        let tasks: Vec<_> = wrong.iter().map(|&page| PageTask { page, from: 0, to: 0 }).collect();
        let refused =
            engine.visit_pages("wrong", Direction::Out, NamedPages::of_pass(&tasks), &kernel).err();
        assert!(matches!(refused, Some(EngineError::Tasks { .. })), "{wrong:?}: {refused:?}");
    }
}

#[test]
fn passes_in_parts_find_what_fits_in_memory() {
    let config = EngineConfig::with_memory(400 << 10).threads(1).depth(Some(1));
    let engine = engine_of(config).unwrap();
    let pages = engine.graph().adjacency(Direction::Out).unwrap().pages();
    let tasks: Vec<_> = (0..pages).map(|page| PageTask { page, from: 0, to: 0 }).collect();
    let kernel = Each(|_: &List<'_>| ());
    let pass = || {
        let before = engine.stats().bytes_read;
        for part in tasks.chunks(8) {
            let part = NamedPages::of_pass(part);
            engine.visit_pages("part", Direction::Out, part, &kernel).unwrap();
        }
        (engine.stats().bytes_read - before) / 4096
    };
    let (first, second) = (pass(), pass());
    assert_eq!(first, pages);
    let found = pages - second;
    assert!(found > 40, "the second pass read {second} of {pages} pages");
    assert_eq!(pass(), second);
}

#[test]
fn small_visits_of_pages_nearby_read_each_page_about_once() {
    let config = EngineConfig::with_memory(400 << 10).threads(1).depth(Some(1));
    let engine = engine_of(config).unwrap();
    let pages = engine.graph().adjacency(Direction::Out).unwrap().pages();
    assert!(pages > 200, "{pages} pages would fit in memory");
    let seen = AtomicU64::new(0);
    let kernel = Each(|_: &List<'_>| {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    for first in 0..pages - 6 {
        let tasks = [first, first + 6].map(|page| PageTask { page, from: 0, to: 0 });
        engine.visit_pages("step", Direction::Out, NamedPages::of_step(&tasks), &kernel).unwrap();
    }
    let passes = engine.stats().bytes_read as f64 / (4096 * pages) as f64;
    assert!(passes < 1.2, "{passes:.2} passes");
    assert!(seen.into_inner() > u64::from(VERTICES));
}

/// Pages and requests that an engine reads in steps of one page each, in this order of the pages.
fn read_in_steps(order: impl Fn(u64) -> Vec<u64>) -> (u64, u64, u64) {
    let config = EngineConfig::with_memory(500 << 10).threads(1).depth(Some(1));
    let engine = engine_of(config).unwrap();
    let pages = engine.graph().adjacency(Direction::Out).unwrap().pages();
    assert!(engine.cached_fraction() < 0.5);
    let lists = AtomicU64::new(0);
    let kernel = Each(|_: &List<'_>| {
        lists.fetch_add(1, Ordering::Relaxed);
    });
    for page in order(pages) {
        let task = [PageTask { page, from: 0, to: 0 }];
        engine.visit_pages("step", Direction::Out, NamedPages::of_step(&task), &kernel).unwrap();
    }
    assert!(lists.into_inner() >= u64::from(VERTICES), "each page was passed to the kernel");
    let stats = engine.stats();
    (pages, stats.bytes_read / 4096, stats.read_requests)
}

#[test]
fn steps_that_follow_the_file_read_ahead_and_others_do_not() {
    for backwards in [false, true] {
        let (pages, read, requests) = read_in_steps(|pages| {
            (0..pages).map(|page| if backwards { pages - 1 - page } else { page }).collect()
        });
        assert_eq!(read, pages, "backwards: {backwards}");
        assert!(requests < pages / 3, "{requests} requests, backwards: {backwards}");
    }
    let (pages, read, requests) = read_in_steps(|pages| {
        let bits = pages.next_power_of_two().trailing_zeros();
        let reversed = (0..1 << bits).map(|page: u64| page.reverse_bits() >> (64 - bits));
        reversed.filter(|page| *page < pages).collect()
    });
    assert_eq!((read, requests), (pages, pages), "each by itself");
}

#[test]
fn a_damaged_page_that_is_read_ahead_is_an_error_of_the_step_that_needs_it() {
    let config = EngineConfig::with_memory(500 << 10).threads(1).depth(Some(1));
    let engine = engine_of(config).unwrap();
    let graph = engine.graph();
    let (damaged, page_bytes) = (30, graph.page_bytes());
    let place = graph.physical(graph.adjacency(Direction::Out).unwrap().first_page() + damaged);
    let mut buffer = Buffer::new(page_bytes).unwrap();
    buffer.fill(7);
    let offset = place * page_bytes as u64;
    write_all(graph.device().as_ref(), offset, page_bytes, buffer).unwrap();
    let kernel = Each(|_: &List<'_>| ());
    let step = |page| {
        let task = [PageTask { page, from: 0, to: 0 }];
        engine.visit_pages("step", Direction::Out, NamedPages::of_step(&task), &kernel)
    };
    for page in 0..damaged {
        step(page).unwrap();
    }
    assert!(engine.stats().bytes_read / 4096 > damaged, "the damaged page was read");
    let error = step(damaged).unwrap_err().to_string();
    assert!(error.contains("page"), "{error}");
    step(damaged + 1).unwrap();
}

#[test]
fn a_closure_with_state_ends_a_visit() {
    for strategy in STRATEGIES {
        let asked = Arc::new(AtomicU64::new(0));
        let times = Arc::clone(&asked);
        let cancel = Cancel::when(move || times.fetch_add(1, Ordering::Relaxed) >= 5);
        let config = EngineConfig::with_memory(64 << 20).strategy(strategy).cancel(cancel);
        let ended = entries(&engine_of(config.threads(1)).unwrap());
        assert!(matches!(ended, Err(EngineError::Interrupted)), "{strategy}: {ended:?}");
        assert!(asked.load(Ordering::Relaxed) >= 6);
    }
}

/// Adds whatever was not met before.
struct Reach(Mutex<Vec<bool>>);

impl Kernel for Reach {
    type Local = u64;

    fn local(&self) -> u64 {
        0
    }

    fn expand(&self, count: &mut u64, list: &List<'_>, next: &mut Vec<VertexId>) {
        *count += list.targets.len() as u64;
        let mut met = self.0.lock().unwrap();
        let is_new = |&v: &VertexId| !std::mem::replace(&mut met[v as usize], true);
        next.extend(list.targets.iter().copied().filter(is_new));
    }
}

#[test]
fn lists_that_make_lists_active_come_once_each() {
    for strategy in STRATEGIES {
        let mut met = vec![false; VERTICES as usize];
        met[1] = true;
        let kernel = Reach(Mutex::new(met));
        let engine = engine(strategy);
        let how = AsynchronousConfig::default();
        let counts =
            engine.visit_asynchronously("reach", Direction::Out, &[1], how, &kernel).unwrap();
        assert_eq!(counts.into_iter().sum::<u64>(), ENTRIES, "{strategy}");
    }
}

/// Sends every entry to the band of its target.
struct Send<'a>(&'a Messages<'a, 8>);

impl<'a> Kernel for Send<'a> {
    type Local = Sender<'a, 8>;

    fn local(&self) -> Sender<'a, 8> {
        self.0.sender()
    }

    fn list(&self, sender: &mut Sender<'a, 8>, list: &List<'_>) {
        for &target in list.targets {
            let message = u64::from(target) << 32 | u64::from(list.vertex);
            sender.send(target as usize / BAND, &message.to_le_bytes());
        }
    }

    fn end(&self, sender: &mut Sender<'a, 8>) {
        sender.finish();
    }
}

const BAND: usize = 3000;

#[test]
fn messages_come_to_their_band_once_and_their_place_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let config = EngineConfig::with_memory(64 << 20).threads(3);
    let engine = engine_of(config.state_dir(Some(folder.path().to_owned()))).unwrap();
    let bands = (VERTICES as usize).div_ceil(BAND);
    let mut ends = Vec::new();
    engine.install(|| {
        let file = engine.state_file(64 << 10).unwrap();
        let messages = Messages::new(&engine, &file, bands, 8192);
        for _ in 0..3 {
            let sent = engine.visit("send", Direction::Out, ActiveSet::All, &Send(&messages));
            messages.post(sent.unwrap()).unwrap();
            let found = Mutex::new(Vec::new());
            for band in 0..bands {
                let before = found.lock().unwrap().len();
                let take = |message: &[u8; 8]| {
                    let message = u64::from_le_bytes(*message);
                    let (target, source) = ((message >> 32) as u32, message as u32);
                    assert_eq!(target as usize / BAND, band);
                    found.lock().unwrap().push((source, target));
                };
                messages.take(band, take).unwrap();
                assert!(found.lock().unwrap().len() > before);
                messages.take(band, |_| panic!("it was taken before")).unwrap();
            }
            let mut found = found.into_inner().unwrap();
            found.sort_unstable();
            let sent = (0..VERTICES).flat_map(|v| list(v).into_iter().map(move |t| (v, t)));
            assert!(found.into_iter().eq(sent));
            ends.push(file.reserve(0));
        }
    });
    assert_eq!(ends[1], ends[2], "the file does not grow");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

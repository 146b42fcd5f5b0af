//! Shortest paths against Bellman and Ford's plain rounds over lists in memory: every type of
//! weight, all strategies, 1 to 3 threads, with pages in memory and without.

mod residual;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plain::STRATEGIES;
use cenote_algo::AlgoError;
use cenote_algo::sssp::{self, Distance, SsspConfig};
use cenote_device::backend::sim::{SimConfig, SimDevice};
use cenote_device::model::preset::Preset;
use cenote_engine::{Direction, Engine, EngineConfig, EngineError, Strategy};
use cenote_store::format::Codec;
use cenote_store::{Counts, Graph, GraphSpec, GraphWriter, IdsSource, Weight, WeightType};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// A graph in memory; weights are in quarters of `unit`.
struct Plain {
    directed: bool,
    kind: Option<WeightType>,
    out: Vec<BTreeMap<u32, Weight>>,
}

fn weight(kind: WeightType, number: u64) -> Weight {
    match kind {
        WeightType::F32 => Weight::F32(number as f32 * 0.1),
        WeightType::F64 => Weight::F64(number as f64 * 0.1),
        WeightType::U32 => Weight::U32(number as u32),
        WeightType::I64 => Weight::I64(number as i64),
    }
}

impl Plain {
    fn new(vertices: usize, directed: bool, kind: Option<WeightType>) -> Self {
        Self { directed, kind, out: vec![BTreeMap::new(); vertices] }
    }

    fn edge(&mut self, source: u32, target: u32, number: u64) {
        let weight = weight(self.kind.unwrap_or(WeightType::U32), number);
        self.out[source as usize].insert(target, weight);
        if !self.directed {
            self.out[target as usize].insert(source, weight);
        }
    }

    fn stored(&self) -> Arc<Graph> {
        let model = Preset::by_name("optane-p4800x").unwrap().model();
        let device = || Arc::new(SimDevice::new(SimConfig::new(model.clone())));
        let spec = GraphSpec {
            page_bytes: 4096,
            vertices: self.out.len() as u64,
            directed: self.directed,
            in_edges: false,
            duplicates_kept: false,
            self_loops_kept: true,
            salt: 7,
        };
        let file = device();
        let mut writer = match self.kind {
            Some(kind) => {
                // Both codecs, by the number of vertices.
                let packed = self.out.len() % 2 == 1;
                let codec = if packed { Codec::Packed } else { Codec::Raw };
                GraphWriter::create_weighted(file.clone(), spec, (codec, kind), device()).unwrap()
            }
            None => GraphWriter::create(file.clone(), spec).unwrap(),
        };
        for list in &self.out {
            writer.push_list(&list.keys().copied().collect::<Vec<_>>()).unwrap();
            if self.kind.is_some() {
                writer.extend_weights(&list.values().copied().collect::<Vec<_>>()).unwrap();
            }
        }
        let entries: usize = self.out.iter().map(BTreeMap::len).sum();
        let own = |(v, list): (usize, &BTreeMap<u32, Weight>)| list.contains_key(&(v as u32));
        let loops = self.out.iter().enumerate().filter(|&item| own(item)).count();
        let edges = if self.directed { entries } else { (entries + loops) / 2 } as u64;
        let counts = Counts { edges, duplicates: 0, self_loops: loops as u64 };
        writer.finish(IdsSource::Dense, counts).unwrap();
        Arc::new(Graph::open(file).unwrap())
    }

    /// Rounds over all edges until nothing changes.
    fn distances(&self, sources: &[u32]) -> Vec<Option<f64>> {
        let mut distances = vec![None; self.out.len()];
        sources.iter().for_each(|&source| distances[source as usize] = Some(0.0));
        loop {
            let mut changed = false;
            for u in 0..self.out.len() {
                let Some(before) = distances[u] else { continue };
                for (&v, weight) in &self.out[u] {
                    let length = if self.kind.is_some() { weight.to_f64() } else { 1.0 };
                    let sum: f64 = before + length;
                    if distances[v as usize].is_none_or(|known| sum < known) {
                        distances[v as usize] = Some(sum);
                        changed = true;
                    }
                }
            }
            if !changed {
                return distances;
            }
        }
    }
}

fn random_graph(seed: u64, directed: bool, kind: Option<WeightType>) -> Plain {
    let mut random = Random(seed);
    let vertices = 2 + random.below(400);
    let mut graph = Plain::new(vertices as usize, directed, kind);
    for _ in 0..random.below(4 * vertices) {
        let (source, target) = (random.below(vertices), random.below(vertices));
        // Many equal weights, and many of 0.
        let number = if random.below(3) == 0 { random.below(3) } else { random.below(1000) };
        graph.edge(source as u32, target as u32, number);
    }
    graph
}

/// A hub whose list and weights run over many pages, with chains behind its leaves.
fn hub(kind: Option<WeightType>) -> Plain {
    let (leaves, chain) = (6000, 30);
    let mut graph = Plain::new(1 + leaves + chain, false, kind);
    let mut random = Random(11);
    for leaf in 1..=leaves as u32 {
        graph.edge(0, leaf, 1 + random.below(500));
    }
    for link in 0..chain as u32 {
        graph.edge(leaves as u32 + link, leaves as u32 + 1 + link, random.below(7));
        graph.edge(1 + random.below(leaves as u64) as u32, leaves as u32 + 1 + link, 90);
    }
    graph
}

fn config(strategy: Strategy, threads: usize, memory_bytes: u64) -> EngineConfig {
    EngineConfig::with_memory(memory_bytes).strategy(strategy).threads(threads)
}

fn assert_paths(graph: &Plain, search: &SsspConfig, what: &str) {
    let stored = graph.stored();
    let expected = graph.distances(&search.sources);
    let mut parents: Option<Vec<Option<u32>>> = None;
    for strategy in STRATEGIES {
        for (threads, memory) in [(1, 64 << 20), (2, 64 << 20), (3, 7 << 20)] {
            let config = config(strategy, threads, memory);
            let found = match sssp::run(&stored, config, search) {
                Err(error) if error.to_string().contains("memory budget") => continue,
                found => found.unwrap(),
            };
            let what = format!("{what}, {strategy}, {threads} threads");
            for (v, distance) in expected.iter().enumerate() {
                let got = found.distance(v as u32).map(Distance::to_f64);
                assert_eq!(got, *distance, "vertex {v}: {what}");
            }
            assert_eq!(found.reached, expected.iter().flatten().count() as u64, "{what}");
            sssp::verify(&stored, &found).unwrap();
            let own: Vec<_> = (0..expected.len() as u32).map(|v| found.parent(v)).collect();
            assert!(*parents.get_or_insert_with(|| own.clone()) == own, "other parents: {what}");
        }
    }
    assert!(parents.is_some(), "no budget did: {what}");
}

fn from(source: u32) -> SsspConfig {
    SsspConfig::default().sources(vec![source]).parents(true)
}

fn kinds() -> impl Iterator<Item = Option<WeightType>> + Clone {
    WeightType::NAMES.into_iter().map(|(_, kind)| Some(kind)).chain([None])
}

#[test]
fn random_graphs_have_the_distances_of_plain_rounds() {
    for (round, kind) in kinds().cycle().take(20).enumerate() {
        let seed = 40 + round as u64;
        let graph = random_graph(seed, round % 2 == 0, kind);
        let mut search = from(round as u32 % graph.out.len() as u32);
        search.delta = [None, Some(0.05), Some(7.0), Some(1e6)][round % 4];
        if round % 3 == 0 {
            search.sources.push(0);
        }
        assert_paths(&graph, &search, &format!("seed {seed}, {kind:?}"));
    }
}

#[test]
fn hubs_over_many_pages_have_the_distances_of_plain_rounds() {
    check_hubs(|at| &[0, 17, 6030][at % 3..][..1]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_hubs_over_many_pages_have_the_distances_of_plain_rounds() {
    check_hubs(|_| &[0, 17, 6030]);
}

/// Searches graphs of every kind from the sources that are chosen for it.
fn check_hubs(sources: impl Fn(usize) -> &'static [u32]) {
    for (at, kind) in kinds().enumerate() {
        for &source in sources(at) {
            assert_paths(&hub(kind), &from(source), &format!("hub, {kind:?}, from {source}"));
        }
    }
}

#[test]
fn parents_over_edges_of_no_length_lead_to_the_source() {
    // A ring of zeros behind vertex 1, which is at distance 5.
    let mut graph = Plain::new(7, true, Some(WeightType::U32));
    graph.edge(6, 1, 5);
    for (source, target) in [(1, 3), (3, 2), (2, 3), (2, 4), (4, 1), (4, 0), (0, 5), (3, 5)] {
        graph.edge(source, target, 0);
    }
    assert_paths(&graph, &from(6), "zeros");
    let found = sssp::run(&graph.stored(), config(Strategy::Auto, 2, 64 << 20), &from(6)).unwrap();
    let parents: Vec<_> = (0..7).map(|v| found.parent(v).unwrap()).collect();
    assert_eq!(parents, [4, 6, 3, 1, 2, 3, 6]);
    assert_eq!(found.path_to(0).unwrap(), [6, 1, 3, 2, 4, 0]);
}

#[test]
fn a_target_ends_the_search_where_it_is_known_to_be_nearest() {
    let graph = hub(Some(WeightType::F64));
    let (stored, all) = (graph.stored(), graph.distances(&[0]));
    let target = 4000;
    assert!(all.iter().flatten().filter(|d| Some(**d) > all[target]).count() > 100);
    for delta in [0.01, 3.0, 1e9] {
        for strategy in STRATEGIES {
            let targets = vec![target as u32];
            let search = from(0).targets(targets).delta(Some(delta));
            let found = sssp::run(&stored, config(strategy, 2, 64 << 20), &search).unwrap();
            for (v, distance) in all.iter().enumerate() {
                let near = distance.filter(|distance| Some(*distance) <= all[target]);
                assert_eq!(found.distance(v as u32).map(Distance::to_f64), near, "vertex {v}");
            }
            sssp::verify(&stored, &found).unwrap();
        }
    }
}

#[test]
fn what_has_no_answer_is_refused() {
    let mut graph = Plain::new(3, true, Some(WeightType::I64));
    graph.edge(0, 1, 3);
    graph.out[1].insert(2, Weight::I64(-4));
    let refusal = |graph: &Plain, search: &SsspConfig| {
        sssp::run(&graph.stored(), config(Strategy::Auto, 1, 64 << 20), search).unwrap_err()
    };
    let error = refusal(&graph, &from(0));
    assert!(matches!(error, AlgoError::Parameter { .. }), "{error}");
    assert!(error.to_string().contains("smallest weight of the graph is -4"), "{error}");
    graph.out[1].insert(2, Weight::I64(i64::MAX));
    graph.out[2].insert(0, Weight::I64(1000));
    assert!(sssp::run(&graph.stored(), config(Strategy::Auto, 1, 64 << 20), &from(1)).is_ok());
    graph.out[2].insert(0, Weight::I64(i64::MAX));
    graph.out[0].insert(1, Weight::I64(i64::MAX));
    graph.out[1] = BTreeMap::from([(0, Weight::I64(i64::MAX))]);
    let error = refusal(&graph, &from(2));
    assert!(error.to_string().contains("beyond 2^64"), "{error}");
    for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let search = from(0).delta(Some(delta));
        assert!(refusal(&graph, &search).to_string().contains("`delta`"), "{delta}");
    }
    assert!(refusal(&graph, &from(3)).to_string().contains("3 vertices"));
    assert!(refusal(&Plain::new(0, true, None), &SsspConfig::default()).to_string().contains("0"));
}

#[test]
fn a_graph_without_edges_reaches_its_source() {
    for kind in kinds() {
        assert_paths(&Plain::new(5, false, kind), &from(3), "no edges");
    }
}

/// A grid with random weights whose vertices lie pages apart, and a hub joined to some of them.
fn scattered_grid(kind: Option<WeightType>, directed: bool) -> Plain {
    let (rows, columns, n) = (110, 100, 11_003);
    let name = |row: u64, column: u64| ((row * columns + column) * 7919 % n) as u32;
    let mut random = Random(9);
    let mut graph = Plain::new(n as usize, directed, kind);
    for row in 0..rows {
        for column in 0..columns {
            if row + 1 < rows {
                graph.edge(name(row, column), name(row + 1, column), 1 + random.below(50));
            }
            if column + 1 < columns {
                graph.edge(name(row, column), name(row, column + 1), 1 + random.below(50));
            }
        }
    }
    // Without weights the hub would make it shallow.
    for row in (0..rows).filter(|_| kind.is_some()) {
        (0..columns).for_each(|column| {
            graph.edge(name(rows / 2, 7), name(row, column), 2_000 + random.below(500));
        });
    }
    graph
}

/// Compares searches of scattered grids, on so many threads, with the distances of all steps.
fn check_many_steps(threads: impl Fn(usize) -> &'static [usize]) {
    for directed in [false, true] {
        for (at, kind) in kinds().enumerate() {
            let graph = scattered_grid(kind, directed);
            let stored = graph.stored();
            let expected = graph.distances(&[0]);
            for (memory, label) in [(64 << 20, "all lists"), (0, "round")] {
                for &threads in threads(at + usize::from(directed) + usize::from(memory == 0)) {
                    let search = from(0).parents(true).delta(Some(3.0));
                    let given = |bytes| {
                        let depth = if memory == 0 { Some(1) } else { None };
                        config(Strategy::Auto, threads, bytes).depth(depth).explain(true)
                    };
                    let needs = sssp::needs(&stored, &given(0), &search).unwrap();
                    let least = match Engine::plan(&stored, &given(1), &needs) {
                        Err(EngineError::Budget { needed, .. }) => needed,
                        plan => panic!("{plan:?}"),
                    };
                    let found = sssp::run(&stored, given(least.max(memory)), &search).unwrap();
                    let taken = found.run.steps.iter().any(|step| step.label.starts_with(label));
                    assert!(taken, "{kind:?} {directed}: {label}: {:?}", found.run.steps);
                    sssp::verify(&stored, &found).unwrap();
                    for (v, expected) in (0..).zip(&expected) {
                        let distance = found.distance(v).map(Distance::to_f64);
                        assert_eq!(distance, *expected, "{v} {kind:?} {directed} {label}");
                    }
                }
            }
        }
    }
}

#[test]
fn searches_of_many_steps_end_without_steps_with_the_same_distances() {
    check_many_steps(|at| [&[1], &[3]][at % 2]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_searches_of_many_steps_end_without_steps_with_the_same_distances() {
    check_many_steps(|_| &[1, 2, 3, 4]);
}

/// All lists with weights take less than 64 bytes a vertex of a grid; the distances, sets and
/// copies of a step are beside them.
#[test]
fn lists_of_a_grid_are_searched_in_memory_for_few_bytes_a_vertex() {
    let graph = scattered_grid(Some(WeightType::U32), false).stored();
    // With buckets of a width that was chosen it does not go on on the residual graph.
    let search = from(0).delta(Some(400.0));
    let n = graph.vertices() as u64;
    let given = |bytes| config(Strategy::Auto, 1, bytes).explain(true);
    let needs = sssp::needs(&graph, &given(0), &search).unwrap();
    assert!(needs.scratch_bytes < 64 * n, "{needs:?}");
    let memory = needs.state_bytes + needs.scratch_bytes + graph.memory_bytes() as u64 + (4 << 20);
    let found = sssp::run(&graph, given(memory), &search).unwrap();
    assert!(found.run.steps.iter().any(|step| step.label == "all lists"));
    sssp::verify(&graph, &found).unwrap();
}

/// A lattice whose lists fit is searched in memory after few steps, long before it has visited half
/// of the pages.
#[test]
fn a_lattice_that_fits_is_searched_in_memory_after_few_steps() {
    let side = 300;
    let mut random = Random(4);
    let mut graph = Plain::new(side * side, false, Some(WeightType::U32));
    let name = |row: usize, column: usize| (row * side + column) as u32;
    for row in 0..side {
        for column in 1..side {
            graph.edge(name(row, column - 1), name(row, column), 1 + random.below(50));
            graph.edge(name(column - 1, row), name(column, row), 1 + random.below(50));
        }
    }
    let stored = graph.stored();
    let given = config(Strategy::Auto, 2, 64 << 20).explain(true);
    let found = sssp::run(&stored, given, &from(0).delta(Some(1.0))).unwrap();
    let steps: Vec<_> = found.run.steps.iter().map(|step| step.label.as_str()).collect();
    // In order it is as many parts as threads.
    let at = steps.iter().position(|label| *label == "part 1").expect("it ended in memory");
    assert_eq!(steps[at..], ["part 1", "part 2", "parents"], "each is read once");
    assert!((8..40).contains(&at), "{at} steps: {steps:?}");
    sssp::verify(&stored, &found).unwrap();
}

/// A grid in the order of its rows, with a hub in every 30th that has edges to this row and the one
/// below it: its list is too long for a byte, and for what is left of its page.
fn grid_in_order(kind: Option<WeightType>, directed: bool, rows: u64, columns: u64) -> Plain {
    let name = |row: u64, column: u64| (row * columns + column) as u32;
    let mut random = Random(6);
    let mut graph = Plain::new((rows * columns) as usize, directed, kind);
    for row in 0..rows {
        for column in 0..columns {
            for (row_after, column_after) in [(row + 1, column), (row, column + 1)] {
                if row_after < rows && column_after < columns {
                    let (here, there) = (name(row, column), name(row_after, column_after));
                    graph.edge(here, there, 1 + random.below(50));
                    // Ways back, so that shortest paths leave a part and return.
                    graph.edge(there, here, 1 + random.below(50));
                }
            }
        }
    }
    for row in (0..rows - 1).step_by(30).filter(|_| kind.is_some()) {
        for far in 2..2 * columns {
            let length = 40 * (far % columns) + random.below(500);
            graph.edge(name(row, 0), name(row, far), length);
        }
    }
    graph
}

/// Searches grids part by part, and compares with Bellman and Ford.
fn check_parts(kinds: &[Option<WeightType>], threads: &[usize]) {
    for (&kind, directed) in kinds.iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let graph = grid_in_order(kind, directed, 150, 170);
        let (stored, expected) = (graph.stored(), graph.distances(&[170]));
        for &threads in threads {
            let search = from(170).parents(true).delta(Some(3.0));
            let given = |bytes| config(Strategy::Auto, threads, bytes).explain(true);
            let needs = sssp::needs(&stored, &given(0), &search).unwrap();
            let Err(EngineError::Budget { needed, .. }) = Engine::plan(&stored, &given(1), &needs)
            else {
                panic!("a byte is too little");
            };
            for share in [3, 5] {
                let memory = needed + needs.scratch_bytes / share;
                let found = sssp::run(&stored, given(memory), &search).unwrap();
                let labels = found.run.steps.iter().map(|step| step.label.as_str());
                let parts = labels.filter(|label| label.starts_with("part ")).count();
                assert!((4..200).contains(&parts), "{kind:?} {directed} {share}: {parts} parts");
                sssp::verify(&stored, &found).unwrap();
                for (v, expected) in (0..).zip(&expected) {
                    let distance = found.distance(v).map(Distance::to_f64);
                    assert_eq!(distance, *expected, "{v} {kind:?} {directed} {share} {threads}");
                }
                let to = search.clone().targets(vec![40_u32]);
                let near = sssp::run(&stored, given(memory), &to).unwrap();
                assert_eq!(near.distance(40), found.distance(40));
                let farther = |v: &u32| expected[*v as usize] > expected[40];
                assert!((0..25_500).filter(farther).all(|v| near.distance(v).is_none()));
            }
        }
    }
}

#[test]
fn a_lattice_that_does_not_fit_is_searched_part_by_part() {
    check_parts(&[None, Some(WeightType::F32)], &[1, 3]);
}

#[test]
#[ignore = "long: make soak"]
fn longer_a_lattice_that_does_not_fit_is_searched_part_by_part() {
    check_parts(&kinds().collect::<Vec<_>>(), &[1, 2, 3, 4, 12]);
}

/// Cliques in a row, in the order of the file, each joined to the next by an edge.
fn chain_of_cliques(cliques: usize, size: usize) -> Plain {
    let mut random = Random(5);
    let mut graph = Plain::new(cliques * size, false, Some(WeightType::U32));
    for first in (0..cliques * size).step_by(size) {
        for low in first..first + size {
            let behind = usize::from(low == first + size - 1 && low + 1 < cliques * size);
            for high in low + 1..first + size + behind {
                graph.edge(low as u32, high as u32, 1 + random.below(255));
            }
        }
    }
    graph
}

/// Searches a graph in the order of its file with little memory beside its state: few requests read
/// it. Returns how many pages were visited in steps whose label starts so, and the pages of lists.
fn visits_of(plain: &Plain, label: &str, search: &SsspConfig) -> (u64, u64) {
    let stored = plain.stored();
    let given = |bytes| config(Strategy::Auto, 2, bytes).explain(true);
    let needs = sssp::needs(&stored, &given(0), search).unwrap();
    let memory = needs.state_bytes + stored.memory_bytes() as u64 + (1 << 20);
    let found = sssp::run(&stored, given(memory), search).unwrap();
    sssp::verify(&stored, &found).unwrap();
    let steps = found.run.steps.iter().filter(|step| step.label.starts_with(label));
    // Of pages of lists, and of those of weights, which are as many.
    let visits = steps.map(|step| step.pages_cached + step.pages_read).sum();
    let pages = stored.adjacency(Direction::Out).unwrap().pages();
    let requests = found.run.stats.read_requests;
    assert!(requests < pages, "{requests} requests for {pages} pages, and those of weights");
    (visits, pages)
}

/// On a chain of dense parts distances change in waves, and a round that let them follow close upon
/// one another would visit each page hundreds of times.
#[test]
fn a_chain_of_cliques_is_searched_in_few_visits_and_requests() {
    let (visits, pages) =
        visits_of(&chain_of_cliques(4_000, 30), "round", &from(9).delta(Some(70.0)));
    assert!(visits > pages && visits < 60 * pages, "{visits} visits of {pages} pages");
}

/// Where no vertex has many edges, all of which lead nearby, parts are searched in memory.
#[test]
fn a_chain_of_small_cliques_is_searched_part_by_part() {
    let (visits, pages) = visits_of(&chain_of_cliques(12_000, 10), "part", &from(9));
    assert!(visits > pages && visits < 5 * pages, "{visits} visits of {pages} pages");
}

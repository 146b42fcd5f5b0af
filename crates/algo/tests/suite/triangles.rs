//! Triangles and clustering coefficients on graphs whose answers are counted by definition.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::plain::{Plain, STRATEGIES, config, random_with_hubs};
use crate::walk::Random;
use cenote_algo::lcc;
use cenote_algo::triangles::{self, TrianglesConfig};
use cenote_algo::{AlgoError, Run};
use cenote_engine::{Direction, EngineConfig, Strategy};
use cenote_store::Graph;

/// What the definitions say, by sets and three loops.
struct Expected {
    triangles: u64,
    of_vertex: Vec<u64>,
    coefficients: Vec<f64>,
}

fn expected(plain: &Plain) -> Expected {
    let n = plain.lists.len();
    let edges: BTreeSet<(u32, u32)> = (0..n as u32)
        .flat_map(|v| plain.lists[v as usize].iter().map(move |&w| (v, w)))
        .filter(|(v, w)| v != w)
        .collect();
    let mut found = Expected { triangles: 0, of_vertex: vec![], coefficients: vec![] };
    for v in 0..n as u32 {
        let beside = |w: &u32| edges.contains(&(v, *w)) || edges.contains(&(*w, v));
        let neighbours: Vec<u32> = (0..n as u32).filter(beside).collect();
        let (mut pairs, mut directed) = (0, 0);
        for &a in &neighbours {
            for &b in neighbours.iter().filter(|&&b| b != a) {
                directed += u64::from(edges.contains(&(a, b)));
                pairs += u64::from(edges.contains(&(a, b)) || edges.contains(&(b, a)));
            }
        }
        found.of_vertex.push(pairs / 2);
        let degree = neighbours.len() as u64;
        let all = degree * degree.saturating_sub(1);
        found.coefficients.push(if all == 0 { 0.0 } else { directed as f64 / all as f64 });
    }
    found.triangles = found.of_vertex.iter().sum::<u64>() / 3;
    found
}

fn counted(graph: &Arc<Graph>, config: EngineConfig) -> triangles::Triangles {
    let found = triangles::run(graph, config.clone(), &TrianglesConfig::default().per_vertex(true))
        .unwrap();
    let total = triangles::run(graph, config, &TrianglesConfig::default()).unwrap();
    assert_eq!(found.triangles, total.triangles);
    assert_eq!(total.of(0), None, "not requested");
    found
}

fn assert_agrees(expected: &Expected, graph: &Arc<Graph>, config: &EngineConfig) -> (u64, Run) {
    let n = expected.of_vertex.len() as u32;
    let found = counted(graph, config.clone());
    assert_eq!(found.triangles, expected.triangles);
    let of_vertex: Vec<u64> = (0..n).map(|v| found.of(v).unwrap()).collect();
    assert_eq!(of_vertex, expected.of_vertex);
    triangles::verify(graph, &found).unwrap();
    let coefficients = lcc::run(graph, config.clone()).unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let found_coefficients: Vec<f64> = (0..n).map(|v| coefficients.coefficient(v)).collect();
    assert_eq!(bits(&found_coefficients), bits(&expected.coefficients));
    lcc::verify(graph, &coefficients).unwrap();
    (found.chunks, found.run)
}

/// The smallest budget that a run is given without an error.
fn least(graph: &Arc<Graph>, config: &EngineConfig) -> u64 {
    let tiny = config.clone().memory_bytes(1);
    let mut budget = 1;
    loop {
        let config = tiny.clone().memory_bytes(budget);
        match lcc::estimate(graph, &config) {
            Ok(_) => return budget,
            Err(AlgoError::Engine(cenote_engine::EngineError::Budget { needed, .. })) => {
                assert!(needed > budget);
                budget = needed;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn triangles_of_random_graphs_are_those_of_the_definition() {
    for seed in 0..6 {
        for directed in [false, true] {
            let plain =
                random_with_hubs(seed, 60 + 40 * seed as usize, 4 + 3 * seed as usize, directed);
            let (graph, expected) = (plain.stored(), expected(&plain));
            for strategy in STRATEGIES {
                for threads in 1..=3 {
                    println!("seed {seed}, directed {directed}, {strategy}, {threads} threads");
                    assert_agrees(&expected, &graph, &config(strategy, threads));
                }
            }
        }
    }
}

#[test]
fn hubs_with_lists_over_pages_are_rows_of_bits() {
    for directed in [false, true] {
        let mut plain = random_with_hubs(11, 3000, 6, directed);
        for hub in 0..90 {
            plain.lists[hub] = (0..3000).filter(|v| (v * 7 + hub as u32) % 5 < 3).collect();
        }
        let plain = if directed { plain } else { Plain::symmetric(plain.lists) };
        let graph = plain.stored();
        let expected = triangles_by_marks(&plain);
        for strategy in STRATEGIES {
            let config = config(strategy, 2);
            let found = counted(&graph, config.clone());
            assert_eq!(found.triangles, expected);
            assert_eq!(found.chunks, 1, "all plain fit");
            triangles::verify(&graph, &found).unwrap();
            lcc::verify(&graph, &lcc::run(&graph, config).unwrap()).unwrap();
        }
    }
}

/// For each edge the neighbours that its ends have in common.
fn triangles_by_marks(plain: &Plain) -> u64 {
    let mut neighbours = vec![Vec::new(); plain.lists.len()];
    for (v, list) in plain.lists.iter().enumerate() {
        for &w in list.iter().filter(|&&w| w as usize != v) {
            neighbours[v].push(w as usize);
            neighbours[w as usize].push(v);
        }
    }
    for of_one in &mut neighbours {
        of_one.sort_unstable();
        of_one.dedup();
    }
    let (mut triangles, mut is_neighbour) = (0, vec![false; neighbours.len()]);
    for (v, of_v) in neighbours.iter().enumerate() {
        of_v.iter().for_each(|&w| is_neighbour[w] = true);
        for &w in of_v.iter().filter(|&&w| w > v) {
            triangles += neighbours[w].iter().filter(|&&x| x > w && is_neighbour[x]).count();
        }
        of_v.iter().for_each(|&w| is_neighbour[w] = false);
    }
    triangles as u64
}

#[test]
fn many_chunks_find_what_one_finds() {
    for directed in [false, true] {
        let plain = random_with_hubs(5, 8_000, 30, directed);
        let graph = plain.stored();
        let expected = triangles_by_marks(&plain);
        for strategy in STRATEGIES {
            let roomy = config(strategy, 2);
            let one = counted(&graph, roomy.clone());
            let least = least(&graph, &roomy);
            let tight = counted(&graph, roomy.memory_bytes(least + 16_000));
            assert_eq!((one.chunks, one.triangles), (1, expected));
            assert!(tight.chunks > 2, "{} chunks", tight.chunks);
            assert_eq!(tight.triangles, expected);
            assert!((0..8_000).all(|v| one.of(v) == tight.of(v)));
            triangles::verify(&graph, &tight).unwrap();
        }
    }
}

/// The file ends with pages that have no list but a piece of one; entries come once or twice.
#[test]
fn other_lists_pass_each_chunk_in_one_visit() {
    let hubs = 3;
    let mut plain = random_with_hubs(9, 20_000, 8, false);
    for hub in plain.lists.len() - hubs..plain.lists.len() {
        let others = (0..20_000).filter(|v| (v * 7 + hub as u32) % 5 < 3);
        plain.lists[hub] = others.collect();
    }
    let once = Plain::symmetric(plain.lists);
    let twice = once.lists.iter().map(|list| list.iter().flat_map(|&to| [to, to]).collect());
    let twice = Plain::of_lists(twice.collect(), false);
    for plain in [once, twice] {
        let graph = plain.stored();
        let expected = triangles_by_marks(&plain);
        for threads in [1, 2, 5] {
            let config = config(Strategy::Auto, threads);
            let config = config.clone().memory_bytes(least(&graph, &config) + 16_000);
            let found = counted(&graph, config.explain(true));
            assert_eq!(found.triangles, expected, "{threads} threads");
            triangles::verify(&graph, &found).unwrap();
            let visits = |label: String| {
                found.run.steps.iter().filter(move |step| step.label == label).count()
            };
            assert!(found.chunks > 3, "{} chunks", found.chunks);
            for chunk in 1..=found.chunks {
                assert_eq!(visits(format!("past chunk {chunk}")), 1);
                let loads = visits(format!("chunk {chunk}"));
                assert!(chunk == 1 || loads <= 4, "{loads} loads of chunk {chunk}");
            }
        }
    }
}

/// A square grid with a diagonal in each square: neighbours have similar ids, and all vertices are
/// in triangles.
fn triangulated_grid(side: u32, directed: bool) -> Plain {
    Plain::of(side * side, &triangulated_grid_edges(side), directed)
}

fn triangulated_grid_edges(side: u32) -> Vec<(u32, u32)> {
    let corners =
        (0..side - 1).flat_map(|row| (0..side - 1).map(move |column| row * side + column));
    corners.flat_map(|v| [1, side, side + 1].map(|to| (v, v + to))).collect()
}

/// Passes over the pages of lists that a run read.
fn passes(graph: &Graph, run: &Run) -> f64 {
    let directions = &[Direction::Out, Direction::In][..1 + usize::from(graph.is_directed())];
    let lists = directions.iter().filter_map(|&direction| graph.adjacency(direction));
    let pages: u64 = lists.map(|lists| lists.pages()).sum();
    run.stats.bytes_read as f64 / (4096 * pages) as f64
}

#[test]
fn lists_without_edges_into_a_chunk_are_not_read_for_it() {
    // The centre of a star has too many neighbours for a window.
    let centre = 40_000;
    let mut edges: Vec<(u32, u32)> = (0..100).map(|v| (v, centre)).collect();
    edges.extend(triangulated_grid_edges(200));
    for directed in [false, true] {
        let plain = Plain::of(centre + 1, &edges, directed);
        let (graph, expected) = (plain.stored(), triangles_by_marks(&plain));
        let config = config(Strategy::Auto, 2);
        let least = least(&graph, &config);
        let found = counted(&graph, config.memory_bytes(least + 16_000));
        assert_eq!(found.triangles, expected);
        triangles::verify(&graph, &found).unwrap();
        let passes = passes(&graph, &found.run);
        assert!(found.chunks > 5, "{} chunks", found.chunks);
        assert!(passes < 3.0, "{passes:.1} passes for {} chunks", found.chunks);
    }
}

/// As [`assert_agrees`], for a graph with too many vertices for the definition, with hardly
/// more than the least memory.
fn counted_with(plain: &Plain, threads: usize) -> (Arc<Graph>, triangles::Triangles) {
    let (graph, expected) = (plain.stored(), triangles_by_marks(plain));
    let config = config(Strategy::Auto, threads);
    let least = least(&graph, &config);
    let config = config.memory_bytes(least + 1_000).explain(true);
    let found = counted(&graph, config.clone());
    assert_eq!(found.triangles, expected, "{threads} threads");
    triangles::verify(&graph, &found).unwrap();
    lcc::verify(&graph, &lcc::run(&graph, config).unwrap()).unwrap();
    (graph, found)
}

#[test]
fn edges_that_lead_nearby_take_one_pass_in_little_memory() {
    let plain = triangulated_grid(300, false);
    for threads in [1, 2, 5] {
        let (graph, found) = counted_with(&plain, threads);
        let passes = passes(&graph, &found.run);
        assert_eq!(found.chunks, 1);
        assert!(passes < 1.1, "{passes:.2} passes, {threads} threads");
    }
}

#[test]
fn middle_vertices_that_left_the_window_are_read_again() {
    let (side, far) = (300, 4);
    let mut edges = triangulated_grid_edges(side);
    // The vertices of the last row close triangles with edges of the first.
    let last = side * (side - 1);
    edges.extend((0..far * 10).step_by(10).flat_map(|v| [(v, last + v), (v + 1, last + v)]));
    let plain = Plain::of(side * side, &edges, false);
    let twice = plain.lists.iter().map(|list| list.iter().flat_map(|&to| [to, to]).collect());
    let twice = Plain::of_lists(twice.collect(), false);
    for plain in [plain, twice] {
        for threads in [1, 2, 5] {
            let (graph, found) = counted_with(&plain, threads);
            let passes = passes(&graph, &found.run);
            assert_eq!(found.chunks, 1);
            assert!(passes > 1.0 && passes < 1.2, "{passes:.2} passes, {threads} threads");
            assert!((0..far * 10).step_by(10).all(|v| found.of(last + v).unwrap() > 0));
        }
    }
}

#[test]
fn edges_that_lead_far_are_counted_by_chunks() {
    let mut random = Random(3);
    let mut near = triangulated_grid_edges(300);
    // From the first vertices on, or only behind those that a window sees first.
    for from in [0, 45_000] {
        near.retain(|&(v, _)| v < from);
        let others = (0..200_000)
            .map(|_| [(); 2].map(|()| from + random.below(u64::from(90_000 - from)) as u32));
        let edges: Vec<_> = near.iter().copied().chain(others.map(|[a, b]| (a, b))).collect();
        let (_, found) = counted_with(&Plain::of(90_000, &edges, false), 2);
        assert!(found.chunks > 1, "{} chunks", found.chunks);
        let tried = found.run.steps.iter().filter(|step| step.label == "window").count();
        assert!(if from == 0 { tried == 1 } else { tried > 2 }, "{tried} batches in vain");
        near = triangulated_grid_edges(300);
    }
}

#[test]
fn one_pass_is_read_where_all_lists_fit() {
    let plain = random_with_hubs(8, 20_000, 30, false);
    let graph = plain.stored();
    let found = counted(&graph, config(Strategy::Auto, 2));
    let pages = graph.adjacency(Direction::Out).unwrap().pages();
    assert_eq!(found.run.stats.bytes_read, pages * 4096);
}

#[test]
fn a_star_takes_one_pass_in_the_least_memory() {
    let leaves: Vec<(u32, u32)> = (1..20_000).map(|leaf| (0, leaf)).collect();
    for directed in [false, true] {
        let graph = Plain::of(20_000, &leaves, directed).stored();
        let config = config(Strategy::Auto, 2);
        let config = config.clone().memory_bytes(least(&graph, &config));
        let found = lcc::run(&graph, config).unwrap();
        assert_eq!((found.chunks(), found.mean), (1, 0.0));
        lcc::verify(&graph, &found).unwrap();
    }
}

#[test]
fn loops_and_repeated_edges_make_no_triangle() {
    // 0 - 1 twice, 1 - 2, a loop at each.
    let plain = Plain::of_lists(vec![vec![0, 1, 1], vec![0, 0, 1, 2], vec![1, 2]], false);
    let graph = plain.stored();
    for strategy in STRATEGIES {
        let found = counted(&graph, config(strategy, 2));
        assert_eq!((found.triangles, found.wedges), (0, 1));
        triangles::verify(&graph, &found).unwrap();
        let coefficients = lcc::run(&graph, config(strategy, 2)).unwrap();
        assert_eq!(coefficients.mean, 0.0);
        lcc::verify(&graph, &coefficients).unwrap();
    }
}

#[test]
fn edges_both_ways_count_as_two_between_neighbours() {
    // 0 is beside 1 and 2, which point at each other.
    let both = Plain::of_lists(vec![vec![1], vec![2], vec![0, 1]], true);
    let found = lcc::run(&both.stored(), config(Strategy::Auto, 1)).unwrap();
    let values: Vec<f64> = (0..3).map(|v| found.coefficient(v)).collect();
    assert_eq!(values, [1.0, 0.5, 0.5]);
}

#[test]
fn graphs_without_edges_have_no_triangle() {
    for n in [0, 1, 5] {
        for directed in [false, true] {
            let plain = Plain::of_lists(vec![vec![]; n], directed);
            let graph = plain.stored();
            for strategy in STRATEGIES {
                let found = counted_of_few(&graph, config(strategy, 2));
                assert_eq!((found.triangles, found.transitivity()), (0, 0.0));
                assert_eq!(lcc::run(&graph, config(strategy, 2)).unwrap().mean, 0.0);
            }
        }
    }
}

fn counted_of_few(graph: &Arc<Graph>, config: EngineConfig) -> triangles::Triangles {
    triangles::run(graph, config, &TrianglesConfig::default().per_vertex(true)).unwrap()
}

#[test]
fn a_directed_graph_without_in_edges_is_refused() {
    let plain = Plain::of_lists(vec![vec![1], vec![2], vec![0]], true);
    let graph = plain.clone().without_in_edges().stored();
    let refused = triangles::run(&graph, config(Strategy::Auto, 1), &TrianglesConfig::default());
    assert!(refused.unwrap_err().to_string().contains("`in_edges`"));
    assert!(lcc::estimate(&graph, &config(Strategy::Auto, 1)).is_err());
}

#[test]
fn a_verifier_sees_counts_of_another_graph() {
    let one = Plain::symmetric(vec![vec![1, 2], vec![2], vec![], vec![]]).stored();
    let other = Plain::symmetric(vec![vec![1, 2], vec![2], vec![3], vec![0]]).stored();
    let found = counted(&one, config(Strategy::Auto, 1));
    assert!(triangles::verify(&other, &found).is_err());
    let coefficients = lcc::run(&one, config(Strategy::Auto, 1)).unwrap();
    assert!(lcc::verify(&other, &coefficients).is_err());
}

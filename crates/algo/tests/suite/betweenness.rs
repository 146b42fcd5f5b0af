//! Betweenness on graphs whose shortest paths are counted one by one.

use std::sync::Arc;

use crate::plain::{Plain, STRATEGIES, config, random_with_hubs};
use cenote_algo::AlgoError;
use cenote_algo::betweenness::{self, Betweenness, BetweennessConfig, Scale, sample};
use cenote_engine::{EngineConfig, EngineError, Strategy};
use cenote_store::Graph;

fn from(sources: &[u32]) -> BetweennessConfig {
    BetweennessConfig::default().sources(sources.to_vec())
}

/// All distances, and the number of shortest paths, by the definition: the paths from s to t
/// through v are those from s to v times those from v to t, if v lies between.
fn expected(plain: &Plain, sources: &[u32]) -> Vec<f64> {
    let n = plain.lists.len();
    let searches: Vec<_> = (0..n).map(|v| distances(plain, v)).collect();
    let mut sums = vec![0.0; n];
    for &s in sources {
        let (from_s, paths_s) = &searches[s as usize];
        for v in (0..n).filter(|&v| v != s as usize && from_s[v] < usize::MAX) {
            let (from_v, paths_v) = &searches[v];
            for t in (0..n).filter(|&t| t != v && t != s as usize && from_v[t] < usize::MAX) {
                if from_s[v] + from_v[t] == from_s[t] {
                    sums[v] += paths_s[v] * paths_v[t] / paths_s[t];
                }
            }
        }
    }
    sums
}

fn distances(plain: &Plain, source: usize) -> (Vec<usize>, Vec<f64>) {
    let n = plain.lists.len();
    let (mut levels, mut paths) = (vec![usize::MAX; n], vec![0.0; n]);
    (levels[source], paths[source]) = (0, 1.0);
    for level in 0.. {
        let mut more = false;
        for v in (0..n).filter(|&v| levels[v] == level).collect::<Vec<_>>() {
            let mut list = plain.lists[v].clone();
            list.dedup();
            for w in list {
                if levels[w as usize] > level {
                    levels[w as usize] = level + 1;
                    paths[w as usize] += paths[v];
                    more = true;
                }
            }
        }
        if !more {
            break;
        }
    }
    (levels, paths)
}

fn sums(found: &Betweenness, n: usize) -> Vec<f64> {
    (0..n as u32).map(|v| found.sum(v)).collect()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    for (v, (found, expected)) in found.iter().zip(expected).enumerate() {
        let off = (found - expected).abs();
        assert!(off <= 1e-9 * expected.max(1.0), "vertex {v}: {found}, not {expected}");
    }
}

#[test]
fn sums_over_random_graphs_are_those_of_the_definition() {
    for seed in 0..4 {
        for directed in [false, true] {
            let n = 40 + 25 * seed as usize;
            let plain = random_with_hubs(seed, n, 2 + seed as usize, directed);
            let graph = plain.stored();
            let sources: Vec<u32> = (0..n as u32).filter(|v| v % 3 != 1).collect();
            let expected = expected(&plain, &sources);
            let mut first: Option<Vec<u64>> = None;
            for strategy in STRATEGIES {
                for threads in 1..=3 {
                    println!("seed {seed}, directed {directed}, {strategy}, {threads} threads");
                    let found =
                        betweenness::run(&graph, config(strategy, threads), &from(&sources));
                    let found = found.unwrap();
                    betweenness::verify(&graph, &found).unwrap();
                    let sums = sums(&found, n);
                    assert_close(&sums, &expected);
                    assert_eq!(*first.get_or_insert_with(|| bits(&sums)), bits(&sums));
                }
            }
        }
    }
}

/// The smallest budget, in bytes, for these sources.
fn least(graph: &Arc<Graph>, config: &EngineConfig, sources: &[u32]) -> u64 {
    let tiny = config.clone().memory_bytes(1);
    match betweenness::estimate(graph, &tiny, &from(sources)) {
        Err(AlgoError::Engine(EngineError::Budget { needed, .. })) => needed + 300_000,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_budget_changes_the_batch_and_not_a_bit_of_the_answer() {
    for directed in [false, true] {
        let n = 8_000;
        let plain = random_with_hubs(3, n, 12, directed);
        let graph = plain.stored();
        let sources: Vec<u32> = (0..12).map(|i| i * 331).collect();
        for strategy in STRATEGIES {
            let roomy = config(strategy, 2);
            let wide = betweenness::run(&graph, roomy.clone(), &from(&sources)).unwrap();
            let memory_bytes = least(&graph, &roomy, &sources);
            let tight = roomy.memory_bytes(memory_bytes);
            let narrow = betweenness::run(&graph, tight, &from(&sources)).unwrap();
            assert!(wide.batch == 12 && narrow.batch < 6, "{} {}", wide.batch, narrow.batch);
            assert_eq!(bits(&sums(&wide, n)), bits(&sums(&narrow, n)));
            assert!(wide.run.stats.bytes_read * 2 < narrow.run.stats.bytes_read);
            betweenness::verify(&graph, &narrow).unwrap();
        }
    }
}

#[test]
fn lists_over_pages_and_levels_that_are_listed_or_searched_for_agree() {
    // A hub between many leaves, and a path so long that its levels are listed.
    let (leaves, path) = (5000u32, 300);
    let mut out = vec![(1..=leaves).collect::<Vec<u32>>()];
    out.resize(leaves as usize + 1, vec![]);
    out[1].push(leaves + 1);
    out.extend((1..path).map(|i| vec![leaves + 1 + i]));
    out.push(vec![]);
    let plain = Plain::symmetric(out);
    let n = plain.lists.len();
    let graph = plain.stored();
    for strategy in STRATEGIES {
        let found = betweenness::run(&graph, config(strategy, 2), &from(&[5, 0])).unwrap();
        betweenness::verify(&graph, &found).unwrap();
        // From 5: all but itself, the hub and the target that is asked for. From 0: nothing.
        assert_eq!(found.sum(0), (n - 2) as f64);
        assert_eq!(found.sum(1), 2.0 * f64::from(path));
        assert_eq!(found.sum(leaves + path), 0.0);
    }
}

#[test]
fn repeated_edges_and_loops_are_no_paths_of_their_own() {
    let lists = vec![vec![0, 1, 1, 2], vec![0, 0, 3], vec![0, 3], vec![1, 2, 4], vec![3]];
    let plain = Plain::of_lists(lists, false);
    let graph = plain.stored();
    for strategy in STRATEGIES {
        let found = betweenness::run(&graph, config(strategy, 2), &from(&[0, 0])).unwrap();
        assert_eq!(found.sources, [0], "a source that is given twice counts once");
        assert_eq!(sums(&found, 5), [0.0, 1.0, 1.0, 1.0, 0.0]);
        betweenness::verify(&graph, &found).unwrap();
    }
}

#[test]
fn scales_are_those_of_networkx() {
    // A path of 4: of all pairs, two vertices lie between 2 each.
    let graph = Plain::symmetric(vec![vec![1], vec![2], vec![3], vec![]]).stored();
    let run = |sources: &[u32], scale| {
        let wanted = BetweennessConfig::default().sources(sources.to_vec()).scale(scale);
        let found = betweenness::run(&graph, config(Strategy::Auto, 1), &wanted).unwrap();
        (0..4).map(|v| found.betweenness(v)).collect::<Vec<_>>()
    };
    let all = [0, 1, 2, 3];
    assert_eq!(run(&all, Scale::Sum), [0.0, 4.0, 4.0, 0.0]);
    assert_eq!(run(&all, Scale::Full), [0.0, 2.0, 2.0, 0.0]);
    assert_eq!(run(&all, Scale::Normalized), [0.0, 4.0 / 6.0, 4.0 / 6.0, 0.0]);
    assert_eq!(run(&[0], Scale::Normalized), [0.0, 1.0, 0.5, 0.0]);
    assert_eq!(run(&[1], Scale::Full), [0.0, 0.0, 1.5, 0.0]);
}

#[test]
fn graphs_without_edges_have_no_paths() {
    for n in [0, 1, 4] {
        for directed in [false, true] {
            let graph = Plain::of_lists(vec![vec![]; n], directed).stored();
            for strategy in STRATEGIES {
                let found = betweenness::run(&graph, config(strategy, 2), &from(&[])).unwrap();
                assert_eq!(sums(&found, n), vec![0.0; n]);
                assert_eq!(found.top(3).len(), n.min(3));
            }
        }
    }
}

/// Diamonds in a row, each of which doubles the paths from vertex 0.
fn diamonds(count: u32) -> Vec<Vec<u32>> {
    let mut out = Vec::new();
    for first in (0..count).map(|i| 3 * i) {
        out.extend([vec![first + 1, first + 2], vec![first + 3], vec![first + 3]]);
    }
    out.push(vec![]);
    out
}

#[test]
fn more_paths_than_a_number_can_count_are_no_hindrance() {
    let count = 3000;
    let n = 3 * count as usize + 1;
    // All behind a vertex between diamonds need it, half of them one in a diamond.
    let from_first = |v: usize| {
        let behind = (n - 1 - v) as f64;
        [behind, (behind - 1.0) / 2.0, behind / 2.0][v % 3]
    };
    for directed in [false, true] {
        let graph = match directed {
            true => Plain::of_lists(diamonds(count), true).stored(),
            false => Plain::symmetric(diamonds(count)).stored(),
        };
        // Once alone, once beside a search from the other end.
        for sources in [&[0][..], &[0, 3 * count]] {
            let found =
                betweenness::run(&graph, config(Strategy::Auto, 2), &from(sources)).unwrap();
            betweenness::verify(&graph, &found).unwrap();
            for v in 1..n - 1 {
                let back = !directed && sources.len() == 2;
                let expected = from_first(v) + if back { from_first(n - 1 - v) } else { 0.0 };
                assert_eq!(found.sum(v as u32), expected, "{directed}, {sources:?}, vertex {v}");
            }
        }
    }
}

#[test]
fn paths_of_one_distance_may_be_as_unlike_as_they_are() {
    // A path beside the diamonds, as long as their row.
    let count = 2000;
    let mut out = diamonds(count);
    let first = out.len() as u32;
    out[0].push(first);
    out.extend((1..2 * count).map(|i| vec![first + i]));
    out.push(vec![]);
    for graph in [Plain::symmetric(out.clone()).stored(), Plain::of_lists(out, true).stored()] {
        for sources in [&[0][..], &[3 * count / 2], &[0, 1, 3 * count / 2]] {
            // Strategies of the papers go level by level as long as the counts allow.
            for strategy in STRATEGIES {
                let found = betweenness::run(&graph, config(strategy, 2), &from(sources)).unwrap();
                betweenness::verify(&graph, &found).unwrap();
            }
        }
    }
}

/// A grid of `rows` x `columns`; directed edges run to the right and down, every seventh back too.
/// The first vertex of each row has a neighbour more in a list that is longer than a page.
fn grid_with_long_lists(rows: u32, columns: u32, directed: bool) -> Plain {
    let mut edges = Vec::new();
    for v in 0..rows * columns {
        let right = ((v + 1) % columns != 0).then_some(v + 1);
        let down = (v + columns < rows * columns).then_some(v + columns);
        for to in right.into_iter().chain(down) {
            edges.push((v, to));
            edges.extend((to % 7 == 0).then_some((to, v)));
        }
    }
    let hub = rows * columns;
    edges.extend((0..rows).map(|row| (row * columns, hub)));
    edges.extend((1..=3000).map(|leaf| (hub, hub + leaf)));
    Plain::of(hub + 3001, &edges, directed)
}

#[test]
fn searches_by_page_and_by_level_agree_to_the_last_bit() {
    for directed in [false, true] {
        let plain = grid_with_long_lists(100, 60, directed);
        let n = plain.lists.len();
        let graph = plain.stored();
        for sources in [&[0][..], &[3000], &[7, 3000, 5999]] {
            let run = |strategy, threads| {
                let config = config(strategy, threads);
                let found = betweenness::run(&graph, config, &from(sources)).unwrap();
                betweenness::verify(&graph, &found).unwrap();
                bits(&sums(&found, n))
            };
            let by_level = run(Strategy::Block, 2);
            (1..=3).for_each(|threads| assert!(by_level == run(Strategy::Auto, threads)));
        }
    }
}

/// A path whose vertices also have edges to others nearby, with loops and repeated edges.
fn tangled_path(n: u32, directed: bool) -> Plain {
    let list = |v: u32| {
        let (ahead, back) = (v * 7919 % 6, v * 104_729 % 4);
        let mut list: Vec<u32> = [v + 1, v + ahead, v + ahead, v.saturating_sub(back)].into();
        list.retain(|&w| w < n);
        list.sort_unstable();
        list
    };
    let lists = (0..n).map(list).collect();
    if directed { Plain::of_lists(lists, true) } else { Plain::symmetric(lists) }
}

#[test]
fn tangled_paths_have_the_same_sums_by_page() {
    for directed in [false, true] {
        let plain = tangled_path(8000, directed);
        let n = plain.lists.len();
        let graph = plain.stored();
        let run = |strategy, threads| {
            let config = config(strategy, threads).explain(true);
            let found = betweenness::run(&graph, config, &from(&[0, 1, 4000])).unwrap();
            betweenness::verify(&graph, &found).unwrap();
            let by_page = found.run.steps.iter().any(|step| step.label.starts_with("paths"));
            assert_eq!(by_page, strategy == Strategy::Auto, "{:?}", found.run.steps.last());
            bits(&sums(&found, n))
        };
        let by_level = run(Strategy::Block, 2);
        (1..=3).for_each(|threads| assert!(by_level == run(Strategy::Auto, threads)));
    }
}

/// The list of vertex 0 spans pages, and its neighbours become known one round after the other:
/// behind some of them are others, and behind some of these still others, on pages of their own.
#[test]
fn a_long_list_whose_neighbours_are_known_in_turn_counts_once() {
    let (wide, path) = (3000, 4000);
    for directed in [false, true] {
        let first = (1..=wide).map(|v| (0, v));
        let second = (1..=wide).filter(|v| v % 2 == 0).map(|v| (v, wide + v));
        let third = (1..=wide).filter(|v| v % 4 == 0).map(|v| (wide + v, 2 * wide + v));
        // The way from the source makes the search deep.
        let on_path = |i| if i == path { 0 } else { 3 * wide + 1 + i };
        let before = (0..path).map(|i| (on_path(i), on_path(i + 1)));
        let edges: Vec<_> = first.chain(second).chain(third).chain(before).collect();
        let graph = Plain::of(3 * wide + 1 + path, &edges, directed).stored();
        for threads in 1..=3 {
            let sources = from(&[on_path(0)]);
            let found = betweenness::run(&graph, config(Strategy::Auto, threads), &sources);
            let found = found.unwrap();
            assert_eq!(found.sum(0), f64::from(wide + wide / 2 + wide / 4));
            betweenness::verify(&graph, &found).unwrap();
        }
    }
}

#[test]
fn many_levels_are_searched_with_few_visits_of_each_page() {
    let (rows, columns) = (300, 300);
    let n = rows * columns;
    for directed in [false, true] {
        let edges = |at: &dyn Fn(u32) -> u32| {
            let right = (0..n).filter(|v| (v + 1) % columns != 0).map(|v| (v, v + 1));
            let down = (0..n - columns).map(|v| (v, v + columns));
            right.chain(down).map(|(v, w)| (at(v), at(w))).collect::<Vec<_>>()
        };
        let natural = Plain::of(n, &edges(&|v| v), directed).stored();
        // Neighbours lie on different pages: these searches return to levels.
        let scattered = Plain::of(n, &edges(&|v| (v * 7919) % n), directed).stored();
        for (graph, is_natural) in [(&natural, true), (&scattered, false)] {
            let roomy = config(Strategy::Auto, 2).explain(true);
            let tight = roomy.clone().memory_bytes(least(graph, &roomy, &[0]));
            let found = betweenness::run(graph, tight, &from(&[0])).unwrap();
            let by_level =
                betweenness::run(graph, config(Strategy::Block, 2).explain(true), &from(&[0]))
                    .unwrap();
            assert_eq!(bits(&sums(&found, n as usize)), bits(&sums(&by_level, n as usize)));
            betweenness::verify(graph, &found).unwrap();
            let visits = |found: &Betweenness| {
                let steps = found.run.steps.iter();
                steps.map(|step| step.pages_cached + step.pages_read).sum::<u64>()
            };
            let (found, by_level) = (visits(&found), visits(&by_level));
            println!(
                "directed {directed}, natural {is_natural}: {found} visits, {by_level} by level"
            );
            let most = if is_natural { by_level / 20 } else { by_level * 6 / 5 };
            assert!(found < most);
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let cycle = Plain::of_lists(vec![vec![1], vec![2], vec![0]], true);
    let graph = cycle.clone().without_in_edges().stored();
    let run = |graph, sources: &[u32]| {
        betweenness::run(graph, config(Strategy::Auto, 1), &from(sources)).unwrap_err().to_string()
    };
    assert!(run(&graph, &[0]).contains("`in_edges`"));
    let graph = cycle.stored();
    assert!(run(&graph, &[3]).contains("the graph has 3 vertices"));
    assert!(sample(&graph, 4, 1).is_err() && sample(&graph, 0, 1).is_err());
}

#[test]
fn samples_differ_by_seed_and_cover_the_graph() {
    let graph = Plain::of_lists(vec![vec![]; 100], false).stored();
    let all = sample(&graph, 100, 9).unwrap();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    assert_eq!(sample(&graph, 7, 9).unwrap(), sample(&graph, 7, 9).unwrap());
    assert_ne!(sample(&graph, 7, 9).unwrap(), sample(&graph, 7, 10).unwrap());
    let mut times = [0; 100];
    for seed in 0..1000 {
        let chosen = sample(&graph, 10, seed).unwrap();
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        chosen.into_iter().for_each(|v| times[v as usize] += 1);
    }
    assert!(times.iter().all(|count| (60..=140).contains(count)), "{times:?}");
}

#[test]
fn a_verifier_sees_sums_of_another_graph() {
    let one = Plain::symmetric(vec![vec![1], vec![2], vec![3], vec![]]).stored();
    let other = Plain::symmetric(vec![vec![1, 2], vec![], vec![3], vec![]]).stored();
    let found = betweenness::run(&one, config(Strategy::Auto, 1), &from(&[0])).unwrap();
    assert!(betweenness::verify(&other, &found).is_err());
}

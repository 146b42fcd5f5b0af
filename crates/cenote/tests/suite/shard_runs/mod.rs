//! Supersteps of shards give the answers of plain serial algorithms, in any number of shards.

mod cores;
mod set;

use std::collections::BTreeSet;
use std::path::Path;

use cenote::shards::{OpenShard, ShardAlgorithm, Values};
use cenote::{Error, Graph, Import};

use set::{ALL, KINDS, Kind, MEMORY, Set, any, sum};

/// The numbers of shards and threads in which a kind of graph is tried: two of them, or all.
fn counts(kind: Kind, is_long: bool) -> impl Iterator<Item = (u64, usize)> {
    let few = match kind {
        Kind::Undirected => [1, 7],
        Kind::Directed => [2, 7],
        Kind::InEdges => [1, 3],
    };
    let all = [(1, 1), (2, 2), (3, 1), (7, 3)];
    all.into_iter().filter(move |(shards, _)| is_long || few.contains(shards))
}

/// Graphs of all kinds in shards, and in how many threads each is tried.
fn sets(is_long: bool) -> impl Iterator<Item = (Set, usize)> {
    KINDS.into_iter().flat_map(move |kind| {
        counts(kind, is_long).map(move |(shards, threads)| (Set::new(kind, shards), threads))
    })
}

/// Shards with hub neighbours, which [`sets`] have not.
fn sets_with_hub_neighbours() -> impl Iterator<Item = (Set, usize)> {
    let sets = [(Kind::Undirected, 1, 2), (Kind::Undirected, 3, 1), (Kind::InEdges, 2, 2)];
    let sets = sets.into_iter();
    sets.map(|(kind, shards, threads)| (Set::with_hub_neighbours(kind, shards), threads))
}

#[test]
fn components_of_shards_are_those_of_repeated_minima() {
    check_components(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_components_of_shards_are_those_of_repeated_minima() {
    check_components(true);
}

fn check_components(is_long: bool) {
    for (set, threads) in sets(is_long).chain(sets_with_hub_neighbours()) {
        // Any hub will do, also one that is in no shard's largest component.
        for hub in [set.hub(), 399] {
            let (mut known, mut names) = (None, 0);
            let found = set.run(&ShardAlgorithm::Wcc { hub }, threads, vec![], |_, reports| {
                let least = reports.iter().map(|report| report["least"]).min();
                let is_known = known.is_none() || known == least;
                names = sum(reports, "components");
                known = least;
                let goes_on = any(reports, "sent") || any(reports, "unsent") || !is_known;
                goes_on.then(|| Vec::from_iter(least))
            });
            let expected: Vec<u32> = set.components().into_iter().map(|v| v as u32).collect();
            let distinct = BTreeSet::from_iter(&expected).len() as u64;
            assert_eq!(names, distinct, "{:?}", set.kind);
            assert_eq!(found, [Values::U32(expected)], "{:?}", set.kind);
        }
    }
}

#[test]
fn levels_and_parents_of_shards_are_those_of_plain_searches_in_both_ways() {
    check_levels(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_levels_and_parents_of_shards_are_those_of_plain_searches_in_both_ways() {
    check_levels(true);
}

fn check_levels(is_long: bool) {
    for (set, threads) in sets(is_long).chain(sets_with_hub_neighbours()) {
        let levels = set.distances(5, false);
        for (parents, every) in [(false, 0), (true, 0), (false, 1), (true, 1), (true, 2)] {
            let algorithm = ShardAlgorithm::Bfs { sources: vec![5], parents };
            let mut before = 0;
            let found = set.run(&algorithm, threads, vec![0, 0], |superstep, reports| {
                let goes_on = match before {
                    0 => sum(reports, "found") + sum(reports, "sent") > 0,
                    _ => sum(reports, "reached") > 0,
                };
                let up = every > 0 && set.kind != Kind::Directed && (superstep + 1) % every == 0;
                let shared = vec![before, up.into()];
                before = up.into();
                goes_on.then_some(shared)
            });
            let expected: Vec<u32> =
                levels.iter().map(|l| u32::try_from(*l).unwrap_or(u32::MAX)).collect();
            assert_eq!(found[0], Values::U32(expected), "{:?} {every}", set.kind);
            if parents {
                let parent = |v: usize| match levels[v] {
                    ALL => ALL,
                    0 => v as u64,
                    level => {
                        let mut before =
                            set.inward[v].iter().filter(|&&u| levels[u].wrapping_add(1) == level);
                        *before.next().unwrap() as u64
                    }
                };
                let expected = (0..set.out.len()).map(parent).collect();
                assert_eq!(found[1], Values::U64(expected), "{:?} {every}", set.kind);
            }
        }
    }
}

#[test]
fn distances_of_shards_are_those_of_bellman_and_ford() {
    check_distances(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_distances_of_shards_are_those_of_bellman_and_ford() {
    check_distances(true);
}

fn check_distances(is_long: bool) {
    for (set, threads) in sets(is_long) {
        let expected = Values::U64(set.distances(5, true));
        for first in [0, 4, ALL] {
            let algorithm = ShardAlgorithm::Sssp { sources: vec![5] };
            let mut bound = first;
            let found = set.run(&algorithm, threads, vec![first], |_, reports| {
                let nearest = reports.iter().min_by_key(|report| report["nearest"]).unwrap();
                if !any(reports, "sent") {
                    bound = nearest["end"];
                }
                (any(reports, "sent") || nearest["nearest"] != ALL).then(|| vec![bound])
            });
            assert_eq!(found, std::slice::from_ref(&expected), "{:?}", set.kind);
        }
    }
}

/// The other shard is to have something to do.
#[test]
fn a_shard_in_which_many_vertices_become_nearer_at_once_sends_before_it_goes_on() {
    let edges: Vec<_> = (1..1000).map(|v| (0, v, 1)).collect();
    let set = Set::of(&edges, Kind::Undirected, 2);
    let mut waiting = Vec::new();
    let algorithm = ShardAlgorithm::Sssp { sources: vec![0] };
    let found = set.run(&algorithm, 1, vec![ALL], |_, reports| {
        let is_waiting = reports.iter().any(|report| report["nearest"] != ALL);
        waiting.push((any(reports, "sent"), is_waiting));
        (any(reports, "sent") || is_waiting).then(|| vec![ALL])
    });
    assert_eq!(found, [Values::U64(set.distances(0, true))]);
    assert_eq!(waiting[0], (true, true), "{waiting:?}");
}

#[test]
fn labels_cores_and_degrees_of_shards_are_those_of_the_definitions() {
    check_labels(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_labels_cores_and_degrees_of_shards_are_those_of_the_definitions() {
    check_labels(true);
}

fn check_labels(is_long: bool) {
    for (set, threads) in sets(is_long) {
        let degrees = set.run(&ShardAlgorithm::Degrees, threads, vec![], |step, _| {
            (set.kind == Kind::Directed && step == 0).then(Vec::new)
        });
        let out = Values::U64(set.out.iter().map(|list| list.len() as u64).collect());
        let inward = Values::U64(set.inward.iter().map(|list| list.len() as u64).collect());
        assert_eq!(degrees, [out, inward][..degrees.len()], "{:?}", set.kind);
        if set.kind == Kind::Directed {
            continue;
        }
        let labels = set.run(&ShardAlgorithm::Cdlp, threads, vec![0], |superstep, _| {
            (superstep < 6).then(|| vec![u64::from(superstep == 5)])
        });
        let expected = set.labels(6).into_iter().map(|v| v as u32).collect();
        assert_eq!(labels, [Values::U32(expected)], "{:?}", set.kind);
        assert_eq!(set.found_cores(threads), [Values::U32(set.cores())], "{:?}", set.kind);
    }
}

#[test]
fn ranks_of_shards_are_the_same_bits_for_any_number_of_shards() {
    check_ranks(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_ranks_of_shards_are_the_same_bits_for_any_number_of_shards() {
    check_ranks(true);
}

fn check_ranks(is_long: bool) {
    for kind in KINDS {
        let mut first: Option<Vec<f64>> = None;
        for (shards, threads) in counts(kind, is_long) {
            let set = Set::new(kind, shards);
            let algorithm = ShardAlgorithm::PageRank { damping: 0.85 };
            let found = set.run(&algorithm, threads, vec![0, 0], |superstep, reports| {
                let shared = vec![sum(reports, "dangling"), u64::from(superstep == 9)];
                (superstep < 10).then_some(shared)
            });
            let [Values::F64(ranks)] = found.as_slice() else { panic!("a column of ranks") };
            assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let bits = |ranks: &[f64]| ranks.iter().map(|r| r.to_bits()).collect::<Vec<_>>();
            let expected = first.get_or_insert_with(|| ranks.clone());
            assert_eq!(bits(ranks), bits(expected), "{kind:?} in {shards} shards");
            let plain = plain_ranks(&set);
            assert!(ranks.iter().zip(plain).all(|(a, b)| (a - b).abs() < 1e-12), "{kind:?}");
        }
    }
}

fn plain_ranks(set: &Set) -> Vec<f64> {
    let vertices = set.out.len() as f64;
    let mut ranks = vec![1.0 / vertices; set.out.len()];
    for _ in 0..10 {
        let without = |v: &usize| set.out[*v].is_empty();
        let dangling: f64 = (0..ranks.len()).filter(without).map(|v| ranks[v]).sum();
        let mut next = vec![(0.15 + 0.85 * dangling) / vertices; set.out.len()];
        for (v, list) in set.out.iter().enumerate() {
            for (u, _) in list {
                next[*u] += 0.85 * ranks[v] / list.len() as f64;
            }
        }
        ranks = next;
    }
    ranks
}

#[test]
fn what_does_not_fit_or_is_another_state_is_refused() {
    let set = Set::new(Kind::Undirected, 2);
    let shards = set.shards();
    let error = shards[0].run(&ShardAlgorithm::Kcore, 1 << 12, Some(1), || false).unwrap_err();
    let Error::MemoryBudget { suggested, what, .. } = error else { panic!("{error}") };
    assert!(what.contains("kcore") && what.contains("shard 0"), "{what}");
    shards[0].run(&ShardAlgorithm::Kcore, suggested << 20, Some(1), || false).unwrap();
    assert!(matches!(
        shards[0].run(&ShardAlgorithm::Cdlp, MEMORY, Some(0), || false),
        Err(Error::Parameter { .. })
    ));
    let start = |algorithm| shards[0].run(&algorithm, MEMORY, Some(1), || false).unwrap();
    let mut run = start(ShardAlgorithm::Wcc { hub: 0 });
    let state = start(ShardAlgorithm::Cdlp).state();
    let found = run.restore(|name| state.iter().find(|s| s.0 == name).map(|s| s.1.bytes()));
    assert!(found.unwrap_err().to_string().contains("one without the array"));
    let found = run.restore(|_| Some(&[0; 4]));
    assert!(found.unwrap_err().to_string().contains("remove the checkpoint"));
    let is_wrong = OpenShard::new(&set.graphs[0], 0, &set.starts, false).is_ok();
    assert!(is_wrong, "the file of a shard");
    let names = Import::new().edges([("a", "b")]).memory("64MiB");
    let path = Path::new(set.folder.path()).join("names.cenote");
    names.run(&path).unwrap();
    let graph = Graph::open(&path).unwrap();
    let error = OpenShard::new(&graph, 0, &[0, 2], false).unwrap_err();
    assert!(error.to_string().contains("it is no shard"), "{error}");
}

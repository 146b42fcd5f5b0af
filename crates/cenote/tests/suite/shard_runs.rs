//! Supersteps of shards give the answers of plain serial algorithms, in any number of shards.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cenote::import::WeightType;
use cenote::shards::{
    Manifest, OpenShard, Received, ShardAlgorithm, ShardRun, Sharding, Step, Values,
};
use cenote::{Error, Graph, Import};

const VERTICES: u64 = 400;
const MEMORY: u64 = 16 << 20;
const ALL: u64 = u64::MAX;

/// Edges with a hub, a path, repetitions, self-loops and components of their own.
fn edges() -> Vec<(u64, u64, u32)> {
    let hub = (1..90).map(|v| (5, v * 4 % 360, 3));
    let path = (200..300).map(|v| (v, v + 1, 1 + (v % 9) as u32));
    let others = (0..900u64).map(|i| (i * i % 211, i * 7 % 173, 1 + (i % 5) as u32));
    let apart = (360..400).map(|v| (v, 360 + v * 3 % 40, 7));
    hub.chain(path).chain(others).chain(apart).chain([(9, 9, 1), (399, 399, 1)]).collect()
}

/// The same and many more edges, so that searches ask hub neighbours, also when they reach the
/// path: they do not reach vertices from 301 on, which have long lists.
fn many_edges() -> Vec<(u64, u64, u32)> {
    let more = (0..12_000u64).map(|i| (i % 199, i / 199 * 7 % 197, 1));
    let not_reached = (0..8_000u64).map(|i| (301 + i % 97, 301 + i / 97, 1));
    edges().into_iter().chain(more).chain(not_reached).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Undirected,
    Directed,
    InEdges,
}

const KINDS: [Kind; 3] = [Kind::Undirected, Kind::Directed, Kind::InEdges];

/// A graph in shards, and its lists: of each vertex the targets with weights, and the sources.
struct Set {
    _folder: tempfile::TempDir,
    graphs: Vec<Graph>,
    starts: Vec<u64>,
    kind: Kind,
    /// The budget of a shard.
    memory: u64,
    out: Vec<Vec<(usize, u64)>>,
    inward: Vec<Vec<usize>>,
}

impl Set {
    fn new(kind: Kind, shards: u64) -> Self {
        Self::of(&edges(), kind, shards)
    }

    fn with_hub_neighbours(kind: Kind, shards: u64) -> Self {
        let set = Self::of(&many_edges(), kind, shards);
        let has = |graph: &Graph| graph.stored().superblock().hub_neighbours_of_part().is_some();
        assert!(set.graphs.iter().all(has), "shards have the hub neighbours of the graph");
        set
    }

    fn of(edges: &[(u64, u64, u32)], kind: Kind, shards: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.cenote");
        let import = Import::new()
            .edges(edges.iter().map(|&(a, b, w)| (a, b, f64::from(w))))
            .vertices(0..VERTICES)
            .keep_self_loops()
            .weights(WeightType::U32)
            .memory("64MiB");
        let import = match kind {
            Kind::Undirected => import,
            Kind::Directed => import.directed(),
            Kind::InEdges => import.directed().in_edges(),
        };
        import.run(&path).unwrap();
        let out = folder.path().join("shards");
        Sharding::new(&Graph::open(&path).unwrap(), shards).write(&out).unwrap();
        let manifest = Manifest::read(&out).unwrap();
        let mut starts: Vec<u64> = manifest.shards.iter().map(|s| s.first_vertex).collect();
        starts.push(manifest.vertices);
        let open = |file: &String| Graph::open(out.join(file)).unwrap();
        let graphs = manifest.shards.iter().map(|shard| open(&shard.file)).collect();
        let mut lightest = BTreeMap::new();
        for &(a, b, w) in edges {
            let both = if kind == Kind::Undirected { vec![(a, b), (b, a)] } else { vec![(a, b)] };
            for pair in both {
                let weight = lightest.entry(pair).or_insert(u64::from(w));
                *weight = (*weight).min(w.into());
            }
        }
        let mut lists = vec![Vec::new(); VERTICES as usize];
        let mut inward = vec![Vec::new(); VERTICES as usize];
        for ((a, b), w) in lightest {
            lists[a as usize].push((b as usize, w));
            inward[b as usize].push(a as usize);
        }
        Self { _folder: folder, graphs, starts, kind, memory: MEMORY, out: lists, inward }
    }

    fn shards(&self) -> Vec<OpenShard<'_>> {
        let is_directed = self.kind != Kind::Undirected;
        let open = |(at, graph)| OpenShard::new(graph, at, &self.starts, is_directed).unwrap();
        let shards: Vec<OpenShard<'_>> = self.graphs.iter().enumerate().map(open).collect();
        let mirrored: Vec<Vec<Vec<u32>>> = (0..shards.len())
            .map(|owner| {
                let first = self.starts[owner];
                let known = shards.iter().enumerate().map(|(at, shard)| {
                    let part = shard.part();
                    let run = part.runs[owner].clone();
                    let run = if at == owner { 0..0 } else { run };
                    run.map(|v| (part.numbers[v as usize] - first) as u32).collect()
                });
                known.collect()
            })
            .collect();
        shards.into_iter().zip(mirrored).map(|(shard, lists)| shard.connected(lists)).collect()
    }

    /// Runs supersteps until `decide` tells no more. Of every third superstep the state is restored
    /// in a new run or in one that starts again. Returns the columns.
    fn run(
        &self,
        algorithm: &ShardAlgorithm,
        threads: usize,
        first: Vec<u64>,
        mut decide: impl FnMut(u64, &[BTreeMap<&'static str, u64>]) -> Option<Vec<u64>>,
    ) -> Vec<Values> {
        let shards = self.shards();
        let start = |shard: &OpenShard<'_>| {
            shard.run(algorithm, self.memory, Some(threads), || false).unwrap()
        };
        let mut runs: Vec<ShardRun> = shards.iter().map(start).collect();
        let boundary: usize =
            shards.iter().map(|shard| shard.part().places() - shard.part().own_count()).sum();
        let (mut shared, mut inbox): (_, Vec<Vec<Option<cenote::shards::Message>>>) =
            (first, vec![Vec::new(); runs.len()]);
        for superstep in 0.. {
            assert!(superstep < 2_000, "{algorithm:?} does not end");
            if superstep % 3 == 2 {
                for (run, shard) in runs.iter_mut().zip(&shards) {
                    let state = run.state();
                    if superstep % 2 == 0 || !run.restart(algorithm).unwrap() {
                        *run = start(shard);
                    }
                    let of = |name: &str| state.iter().find(|(known, _)| *known == name);
                    run.restore(|name| of(name).map(|(_, values)| values.bytes())).unwrap();
                }
            }
            let steps: Vec<Step> = runs
                .iter_mut()
                .zip(&inbox)
                .map(|(run, mail)| {
                    let received: Vec<Option<Received<'_>>> = mail
                        .iter()
                        .map(|message| {
                            message.as_ref().map(|message| Received {
                                positions: message.positions.as_deref().map(bytes),
                                values: message.values.bytes(),
                            })
                        })
                        .collect();
                    run.step(superstep, &shared, &received).unwrap()
                })
                .collect();
            let sent: usize = steps
                .iter()
                .flat_map(|step| step.messages.iter().flatten())
                .map(|m| m.values.bytes().len() + m.positions.as_ref().map_or(0, |p| 4 * p.len()))
                .sum();
            assert!(sent <= 8 * boundary, "{algorithm:?}: {sent} bytes, {boundary} in boundaries");
            let reports: Vec<BTreeMap<&'static str, u64>> =
                steps.iter().map(|step| step.report.iter().copied().collect()).collect();
            match decide(superstep, &reports) {
                Some(next) => shared = next,
                None => break,
            }
            inbox = (0..runs.len())
                .map(|to| steps.iter().map(|step| step.messages[to].clone()).collect())
                .collect();
        }
        let columns: Vec<_> = runs.iter().map(ShardRun::columns).collect();
        let of = |at: usize| columns.iter().map(|columns| columns[at].1.clone()).collect();
        (0..columns[0].len()).map(|at| joined(of(at))).collect()
    }

    fn both(&self) -> Vec<Vec<usize>> {
        let lists = self.out.iter().zip(&self.inward);
        lists
            .map(|(out, inward)| {
                let mut all: Vec<usize> = out.iter().map(|(target, _)| *target).collect();
                if self.kind != Kind::Undirected {
                    all.extend(inward);
                }
                all
            })
            .collect()
    }

    fn hub(&self) -> u64 {
        self.shards().iter().map(OpenShard::hub).max_by_key(|(_, degree)| *degree).unwrap().0
    }

    fn components(&self) -> Vec<u64> {
        let lists = self.both();
        let mut labels: Vec<u64> = (0..VERTICES).collect();
        loop {
            let before = labels.clone();
            for (v, list) in lists.iter().enumerate() {
                for &u in list {
                    let least = labels[v].min(labels[u]);
                    (labels[v], labels[u]) = (least, least);
                }
            }
            if before == labels {
                return labels;
            }
        }
    }

    /// The distances with weights, or with 1 for each.
    fn distances(&self, source: usize, weighted: bool) -> Vec<u64> {
        let mut distances = vec![u64::MAX; VERTICES as usize];
        distances[source] = 0;
        for _ in 0..VERTICES {
            for (v, list) in self.out.iter().enumerate() {
                for &(u, weight) in list {
                    let length = if weighted { weight } else { 1 };
                    distances[u] = distances[u].min(distances[v].saturating_add(length));
                }
            }
        }
        distances
    }

    fn labels(&self, iterations: usize) -> Vec<u64> {
        let lists = self.both();
        let mut labels: Vec<u64> = (0..VERTICES).collect();
        for _ in 0..iterations {
            let most = |(v, list): (usize, &Vec<usize>)| {
                let mut counts = BTreeMap::new();
                list.iter().for_each(|&u| *counts.entry(labels[u]).or_insert(0) += 1);
                let best = counts.into_iter().max_by_key(|&(l, c)| (c, std::cmp::Reverse(l)));
                best.map_or(labels[v], |(label, _)| label)
            };
            labels = lists.iter().enumerate().map(most).collect();
        }
        labels
    }

    fn found_cores(&self, threads: usize) -> Vec<Values> {
        self.run(&ShardAlgorithm::Kcore, threads, vec![], |superstep, reports| {
            let goes_on = any(reports, "sent") || any(reports, "waiting");
            (superstep == 0 || goes_on).then(Vec::new)
        })
    }

    fn cores(&self) -> Vec<u32> {
        let lists = self.both();
        let mut cores = vec![0; VERTICES as usize];
        let mut is_alive = vec![true; VERTICES as usize];
        for k in 0.. {
            if !is_alive.contains(&true) {
                return cores;
            }
            loop {
                let left = |v: usize| lists[v].iter().filter(|&&u| u != v && is_alive[u]).count();
                let gone: Vec<usize> =
                    (0..lists.len()).filter(|&v| is_alive[v] && left(v) <= k).collect();
                if gone.is_empty() {
                    break;
                }
                for v in gone {
                    (is_alive[v], cores[v]) = (false, k as u32);
                }
            }
        }
        unreachable!("each k removes a vertex, or there is none")
    }
}

/// One column of the parts of all shards.
fn joined(parts: Vec<Values>) -> Values {
    let all = parts.into_iter().reduce(|all, part| match (all, part) {
        (Values::U32(all), Values::U32(part)) => Values::U32([all, part].concat()),
        (Values::U64(all), Values::U64(part)) => Values::U64([all, part].concat()),
        (Values::F64(all), Values::F64(part)) => Values::F64([all, part].concat()),
        _ => panic!("columns of one type"),
    });
    all.expect("there is a shard")
}

fn bytes(positions: &[u32]) -> &[u8] {
    // As they lie in memory.
    let values = positions.iter().flat_map(|at| at.to_ne_bytes()).collect::<Vec<u8>>();
    Box::leak(values.into_boxed_slice())
}

fn any(reports: &[BTreeMap<&'static str, u64>], name: &str) -> bool {
    reports.iter().any(|report| report[name] > 0)
}

fn sum(reports: &[BTreeMap<&'static str, u64>], name: &str) -> u64 {
    reports.iter().fold(0, |sum, report| sum.wrapping_add(report[name]))
}

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
                let expected = (0..VERTICES as usize).map(parent).collect();
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

/// Vertices of a square, with edges to those around: bounds fall from its border inward, below
/// those of the vertices that are joined with its middle, of which some are joined with a clique
/// too. Bounds of the path fall one by one, that of the hub by most of it.
fn square() -> Vec<(u64, u64, u32)> {
    let side = 17;
    let around = [(0, 1), (1, 0), (1, 1), (1, -1)];
    let of = |x: i64, y: i64| (x * side + y) as u64;
    let inside = |x: i64, y: i64| (0..side).contains(&x) && (0..side).contains(&y);
    let cells = (0..side * side).map(|v| (v / side, v % side));
    let ends = cells.flat_map(|(x, y)| around.map(|(dx, dy)| (x, y, x + dx, y + dy)));
    let square = ends.filter(|&(_, _, x, y)| inside(x, y));
    let square = square.map(|(a, b, x, y)| (of(a, b), of(x, y), 1));
    let joined = (0..8i64).flat_map(|i| {
        let middle = move |nth: i64| of((nth + 6 * i) / 7 + 5, (nth + 6 * i) % 7 + 5);
        let some = (0..6 - i % 2 * (1 + i % 3)).map(middle);
        let clique = (0..i % 2 * 3).map(move |nth| 360 + 2 * i as u64 + nth as u64);
        some.chain(clique).map(move |u| (289 + i as u64, u, 1)).collect::<Vec<_>>()
    });
    let clique = (360..390).flat_map(|v| (v + 1..390).map(move |u| (v, u, 1)));
    let path = (300..350).map(|v| (v, v + 1, 1));
    let hub = (0..100).map(|i| (395, i * 13 % 289, 1));
    square.chain(joined.collect::<Vec<_>>()).chain(clique).chain(path).chain(hub).collect()
}

#[test]
fn bounds_that_fall_far_or_have_no_room_in_memory_become_the_core_numbers() {
    for (shards, threads) in [(1, 1), (2, 2), (5, 1)] {
        for kind in [Kind::Undirected, Kind::InEdges] {
            for edges in [square(), edges()] {
                let mut set = Set::of(&edges, kind, shards);
                let expected = [Values::U32(set.cores())];
                assert_eq!(set.found_cores(threads), expected, "{kind:?} in {shards} shards");
                // The least memory has no room for lists.
                let least = |shard: &OpenShard<'_>| {
                    let run = shard.run(&ShardAlgorithm::Kcore, 1 << 12, Some(threads), || false);
                    match run.unwrap_err() {
                        Error::MemoryBudget { needed, .. } => needed,
                        error => panic!("{error}"),
                    }
                };
                set.memory = set.shards().iter().map(least).max().unwrap();
                assert_eq!(set.found_cores(threads), expected, "{kind:?} in {shards} shards");
            }
        }
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
    let mut ranks = vec![1.0 / VERTICES as f64; VERTICES as usize];
    for _ in 0..10 {
        let without = |v: &usize| set.out[*v].is_empty();
        let dangling: f64 = (0..ranks.len()).filter(without).map(|v| ranks[v]).sum();
        let mut next = vec![(0.15 + 0.85 * dangling) / VERTICES as f64; VERTICES as usize];
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
    let path = Path::new(set._folder.path()).join("names.cenote");
    names.run(&path).unwrap();
    let graph = Graph::open(&path).unwrap();
    let error = OpenShard::new(&graph, 0, &[0, 2], false).unwrap_err();
    assert!(error.to_string().contains("it is no shard"), "{error}");
}

//! Samples of neighbourhoods: the same for every order, codec, budget and number of threads, and of
//! a changed graph as of a compacted one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cenote::graph::{Sample, SampleOptions};
use cenote::import::IdKind;
use cenote::{Direction, Error, Graph, Import, Update};
use cenote_store::{Codec, Order, WeightType};

use crate::graphs::Random;

const ORDERS: [Order; 5] =
    [Order::Natural, Order::Degree, Order::Bfs, Order::Cluster, Order::Random { seed: 5 }];

/// What a sample is by ids: those of its vertices, and of each layer the edges with their places.
type ById = (Vec<String>, usize, Vec<Vec<(u32, u32, u64)>>);

fn by_id(sample: &Sample) -> ById {
    let layers = sample.layers.iter().map(|layer| {
        let ends = layer.sources.iter().zip(&layer.targets);
        ends.zip(&layer.positions).map(|((a, b), place)| (*a, *b, *place)).collect()
    });
    let ids = sample.ids.iter().map(ToString::to_string).collect();
    (ids, sample.seeds, layers.collect())
}

/// Hubs whose lists span pages, a path, a star, a clique and isolated ends; some edges twice.
fn edges() -> Vec<(u64, u64)> {
    let mut random = Random(4);
    let hubs = (0..9_000).map(|at| (at % 3, 10 + random.below(6_000)));
    let mut edges: Vec<(u64, u64)> = hubs.collect();
    edges.extend((0..2_000).map(|at| (10 + at, 11 + at)));
    edges.extend((0..1_500).map(|at| (20_000, 20_001 + at)));
    edges.extend((0..40).flat_map(|a| (0..a).map(move |b| (30_000 + a, 30_000 + b))));
    edges.extend([(5, 5), (5, 0), (0, 10), (0, 10), (0, 10)]);
    edges
}

fn import(edges: &[(u64, u64)], path: &Path, set: impl FnOnce(Import) -> Import) {
    set(Import::new().slice(edges).memory("64MiB").threads(1)).run(path).unwrap();
}

/// Several budgets and numbers of threads, which make no difference.
const LOOKUPS: [(u64, usize); 3] = [(1 << 20, 1), (64 << 20, 2), (3 << 20, 7)];

/// Those of the case with this place among others: all, or one in turn.
fn lookups_of(is_long: bool, at: usize) -> &'static [(u64, usize)] {
    if is_long { &LOOKUPS } else { &LOOKUPS[at % 3..][..1] }
}

/// Samples a graph with several budgets and numbers of threads.
fn sampled(
    lookups: &[(u64, usize)],
    path: &Path,
    seeds: &[&str],
    options: SampleOptions,
    direction: Direction,
) -> ById {
    let mut found: Option<ById> = None;
    for &(memory_bytes, threads) in lookups {
        let graph = Graph::options().lookups(memory_bytes, threads).open(path).unwrap();
        // The second time all that can be known of long lists is known.
        for _ in 0..2 {
            let mut lists = graph.neighbors().threads(threads).direction(direction);
            lists = seeds.iter().fold(lists, |lists, seed| lists.of(seed));
            let sample = lists.sample_with(&[15, 10, 3], 7, options).unwrap();
            assert_is_sample(&graph, &sample, options, direction);
            let sample = by_id(&sample);
            assert_eq!(found.get_or_insert_with(|| sample.clone()), &sample);
        }
    }
    found.unwrap()
}

/// Compares each sampled edge with the list of its vertex, and their number with the fanouts.
fn assert_is_sample(graph: &Graph, sample: &Sample, options: SampleOptions, direction: Direction) {
    let of_all = graph.neighbors().weights(false).direction(direction);
    let lists = sample.ids.iter().fold(of_all, |lists, id| lists.of(id)).collect().unwrap();
    let mut new = 0..sample.seeds as u32;
    for (layer, fanout) in sample.layers.iter().zip([15, 10, 3]) {
        let mut edges: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        for (at, target) in layer.targets.iter().enumerate() {
            edges.entry(*target).or_default().push((layer.positions[at], layer.sources[at]));
        }
        for target in new.clone() {
            let (id, list) = (&sample.ids[target as usize], &lists[target as usize]);
            let found = edges.remove(&target).unwrap_or_default();
            let count = match options.replace && !list.is_empty() {
                true => fanout,
                false => list.len().min(fanout),
            };
            assert_eq!(found.len(), count, "of {id}");
            let places: BTreeSet<u64> = found.iter().map(|(place, _)| *place).collect();
            assert!(found.is_sorted() && (options.replace || places.len() == count), "of {id}");
            for (place, source) in found {
                assert_eq!(list[place as usize], sample.ids[source as usize], "of {id}");
            }
        }
        assert!(edges.is_empty(), "only those of vertices that are new");
        let known = layer.sources.iter().map(|source| source + 1).max().unwrap_or(0);
        new = new.end..known.max(new.end);
    }
    assert_eq!(new.end as usize, sample.ids.len());
    for (id, vertex) in sample.ids.iter().zip(&sample.vertices) {
        assert_eq!(graph.vertex_of(id).unwrap(), *vertex);
    }
}

/// Places that were chosen of 4,999 neighbours of vertex 0 and of 5,000 of the vertex "hub", when
/// whole lists were read to choose them.
const GOLDEN: [u64; 8] = [104, 1448, 1490, 2761, 3456, 4441, 4480, 4538];
const GOLDEN_OF_NAME: [u64; 8] = [346, 811, 981, 1195, 1378, 1719, 1916, 4965];

const SEEDS: [&str; 8] = ["0", "2", "5", "17", "20000", "30039", "21400", "2"];

/// Compares samples of graphs in all orders; with one codec, budget and number of threads each, in
/// turn, or with all of them.
fn check_samples(is_long: bool) {
    let (edges, folder) = (edges(), tempfile::tempdir().unwrap());
    let path = folder.path().join("g.cenote");
    for (directed, replace) in [(false, false), (false, true), (true, false)] {
        let options = SampleOptions::default().replace(replace);
        let mut found = None;
        let layouts = ORDERS.iter().flat_map(|order| Codec::ALL.map(|codec| (*order, codec)));
        let is_chosen = |at: usize| is_long || at % 2 == at / 2 % 2;
        let chosen = layouts.enumerate().filter(|(at, _)| is_chosen(*at));
        for (turn, (_, (order, codec))) in chosen.enumerate() {
            import(&edges, &path, |import| {
                let import = import.order(order).codec(codec).overwrite();
                if directed { import.directed().in_edges() } else { import }
            });
            let directions =
                if directed { &[Direction::In, Direction::Out][..] } else { &[Direction::Out] };
            let lookups = lookups_of(is_long, turn);
            let sample = |direction| sampled(lookups, &path, &SEEDS, options, direction);
            let samples: Vec<ById> =
                directions.iter().map(|direction| sample(*direction)).collect();
            assert_eq!(
                found.get_or_insert_with(|| samples.clone()),
                &samples,
                "{order}, {codec:?}"
            );
        }
    }
}

#[test]
fn samples_are_the_same_for_every_order_codec_budget_and_number_of_threads() {
    check_samples(false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_samples_are_the_same_for_every_order_codec_budget_and_number_of_threads() {
    check_samples(true);
}

#[test]
fn samples_are_those_that_earlier_versions_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let edges: Vec<(u64, u64)> = (1..5_000).map(|v| (0, 3 * v)).collect();
    import(&edges, &path, |import| import);
    let sample = Graph::open(&path).unwrap().neighbors().of(0).sample(&[8, 2], 7).unwrap();
    assert_eq!(sample.layers[0].positions, GOLDEN);
    let ids: Vec<String> = GOLDEN.iter().map(|place| (3 * (place + 1)).to_string()).collect();
    assert_eq!(by_id(&sample).0[1..], ids);
    let names: Vec<(String, String)> =
        (0..5_000).map(|v| ("hub".into(), format!("v{v:04}"))).collect();
    Import::new().edges(names).ids(IdKind::String).memory("64MiB").overwrite().run(&path).unwrap();
    let sample = Graph::open(&path).unwrap().neighbors().of("hub").sample(&[8], 7).unwrap();
    assert_eq!(sample.layers[0].positions, GOLDEN_OF_NAME);
}

#[test]
fn repeated_edges_are_sampled_as_often_as_they_are_there() {
    let (edges, folder) = (edges(), tempfile::tempdir().unwrap());
    let path = folder.path().join("g.cenote");
    let mut found = None;
    for (order, codec) in ORDERS.iter().flat_map(|order| Codec::ALL.map(|c| (*order, c))) {
        import(&edges, &path, |import| {
            let import = import.keep_duplicates().keep_self_loops().overwrite();
            import.order(order).codec(codec)
        });
        let options = SampleOptions::default();
        let sample = sampled(&LOOKUPS, &path, &["10", "5"], options, Direction::Out);
        assert_eq!(found.get_or_insert_with(|| sample.clone()), &sample, "{order}, {codec:?}");
    }
    let graph = Graph::open(&path).unwrap();
    let all = graph.neighbors().of(10).sample(&[usize::MAX], 1).unwrap();
    let of_ten = edges.iter().filter(|(a, b)| *a == 10 || *b == 10).count();
    assert_eq!(all.layers[0].sources.len(), of_ten);
    assert!(all.ids.len() <= of_ten - 2, "an edge is there three times");
}

#[test]
fn weighted_samples_are_the_same_for_every_order() {
    let mut random = Random(8);
    let weighted: Vec<(u64, u64, f64)> =
        edges().into_iter().map(|(a, b)| (a, b, random.below(9) as f64)).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    let mut found = None;
    for (order, codec) in ORDERS.iter().flat_map(|order| Codec::ALL.map(|c| (*order, c))) {
        let import = Import::new().edges(weighted.clone()).weights(WeightType::F64);
        import.order(order).codec(codec).memory("64MiB").overwrite().run(&path).unwrap();
        let graph = Graph::open(&path).unwrap();
        let samples = [false, true].map(|replace| {
            let lists = SEEDS.iter().fold(graph.neighbors(), |lists, seed| lists.of(seed));
            let options = SampleOptions::default().replace(replace).weighted(true);
            by_id(&lists.sample_with(&[15, 10], 7, options).unwrap())
        });
        assert_eq!(found.get_or_insert_with(|| samples.clone()), &samples, "{order}, {codec:?}");
    }
}

#[test]
fn changed_graphs_give_the_samples_of_compacted_ones() {
    check_changed(&[(Order::Degree, Codec::Packed)], false);
}

#[test]
#[ignore = "long: make soak"]
fn longer_changed_graphs_give_the_samples_of_compacted_ones() {
    let packed = [Order::Degree, Order::Bfs].map(|order| (order, Codec::Packed));
    check_changed(&[(Order::Natural, Codec::Raw), packed[0], packed[1]], true);
}

/// Compares samples of changed graphs, as [`check_samples`] does.
fn check_changed(layouts: &[(Order, Codec)], is_long: bool) {
    let (edges, folder) = (edges(), tempfile::tempdir().unwrap());
    let [path, compacted] = ["g.cenote", "c.cenote"].map(|name| folder.path().join(name));
    for &(order, codec) in layouts {
        import(&edges, &path, |import| import.order(order).codec(codec).overwrite());
        let mut random = Random(3);
        // Batches that stay in the log, and one that becomes a run.
        for (round, changes) in [20, 4_000, 30].into_iter().enumerate() {
            let mut update = Update::open(&path).unwrap();
            for _ in 0..changes {
                let (a, b) = (random.below(3), 10 + random.below(7_000));
                if random.below(3) == 0 {
                    update.delete(a, b).unwrap()
                } else {
                    update.add(a, b).unwrap()
                }
            }
            // New vertices whose ids come between, before and behind the others.
            for id in [7_000 + round, 15_000 + round, 90_000 + round] {
                update.add(2, id).unwrap();
                update.add(id, 12).unwrap();
            }
            update.delete_vertex(30_030 + round).unwrap();
            update.commit().unwrap();
            let graph = Graph::open(&path).unwrap();
            graph.compact().out(&compacted).overwrite().memory("64MiB").run().unwrap();
            for replace in [false, true] {
                let options = SampleOptions::default().replace(replace);
                let seeds = ["0", "1", "2", "17", "12", "15000", "30039"];
                let lookups = lookups_of(is_long, 2 * round + usize::from(replace));
                let found = sampled(lookups, &path, &seeds, options, Direction::Out);
                let plenty = [(64 << 20, 2)];
                let expected = sampled(&plenty, &compacted, &seeds, options, Direction::Out);
                assert_eq!(found, expected, "{order}, {codec:?}, round {round}");
            }
        }
    }
}

#[test]
fn a_sample_that_does_not_fit_its_memory_is_refused_with_the_memory_that_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    import(&edges(), &path, |import| import.order(Order::Degree));
    let graph = Graph::open(&path).unwrap();
    let sample = |memory_bytes, fanouts: &[usize], replace| {
        let lists = graph.neighbors().of(0).of(1).threads(2).memory(memory_bytes);
        lists.sample_with(fanouts, 7, SampleOptions::default().replace(replace))
    };
    for (fanouts, replace) in
        [(vec![100_000], true), (vec![100, 2_000], true), (vec![2_000], false)]
    {
        let small = sample(128 << 10, &fanouts, replace);
        let Err(Error::MemoryBudget { needed, .. }) = small else {
            panic!("{fanouts:?}: {small:?}")
        };
        assert!(sample(needed, &fanouts, replace).is_ok(), "{fanouts:?}: {needed}");
    }
    // A list is no longer than it is, whatever the fanout.
    let whole = sample(1 << 20, &[usize::MAX], false).unwrap();
    assert!(whole.layers[0].sources.len() > 4_000);
    let endless = sample(u64::MAX, &[1 << 30], true);
    assert!(matches!(endless, Err(Error::Parameter { parameter: "fanouts", .. })));
}

#[test]
fn odd_seeds_and_graphs_are_sampled_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.cenote");
    Import::new()
        .slice(&[(1u64, 2u64), (4, 4)])
        .vertices([7u64])
        .memory("64MiB")
        .run(&path)
        .unwrap();
    let graph = Graph::open(&path).unwrap();
    let sample = graph.neighbors().of(7).of(1).of(7).sample(&[3, 3], 1).unwrap();
    assert_eq!(by_id(&sample).0, ["7", "1", "2"]);
    assert_eq!(
        (sample.seeds, &sample.layers[0].targets, &sample.layers[1].targets),
        (2, &vec![1], &vec![2])
    );
    let none = graph.neighbors().sample(&[2], 1).unwrap();
    assert!(none.ids.is_empty() && none.layers.len() == 1);
    let unknown = graph.neighbors().of(1).of(3).sample(&[2], 1).unwrap_err();
    assert!(unknown.to_string().contains('3'), "{unknown}");
    let inward = graph.neighbors().of(1).direction(Direction::In).sample(&[2], 1).unwrap();
    assert_eq!(inward.ids.len(), 2, "an undirected graph has both");
    let cancelled = graph.neighbors().of(1).cancel(|| true).sample(&[2], 1).unwrap_err();
    assert!(matches!(cancelled, cenote::Error::Cancelled), "{cancelled:?}");
    Import::new().slice(&[(1u64, 2u64)]).directed().overwrite().memory("64MiB").run(&path).unwrap();
    let graph = Graph::open(&path).unwrap();
    let inward = graph.neighbors().of(1).direction(Direction::In).sample(&[2], 1).unwrap_err();
    assert!(inward.to_string().contains("in_edges"), "{inward}");
}

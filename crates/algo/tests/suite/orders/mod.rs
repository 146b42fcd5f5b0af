//! Every answer is defined by the user's ids: it is the same in every order of the vertices,
//! whatever the codec, the strategy, the budget and the number of threads.
//!
//! A new algorithm is covered by a line in [`ALGORITHMS`].

mod graphs;

use std::sync::Arc;

use crate::plain::{Plain, Random, STRATEGIES, config, random_graph};
use cenote_algo::betweenness::{self, BetweennessConfig, Scale};
use cenote_algo::bfs::{self, BfsConfig};
use cenote_algo::cdlp::{self, CdlpConfig};
use cenote_algo::communities::{self, CommunitiesConfig, Method};
use cenote_algo::dfs::lexicographic::{self, LexicographicConfig};
use cenote_algo::dfs::pseudo::{self, PseudoDfsConfig};
use cenote_algo::hyperball::{self, HyperballConfig};
use cenote_algo::kcore::{self, KcoreConfig};
use cenote_algo::mis::{self, MisConfig};
use cenote_algo::msf::{self, Total};
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::ppr::{self, PprConfig};
use cenote_algo::reach::{self, ReachConfig};
use cenote_algo::similar::{self, Measure, SimilarConfig};
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::triangles::{self, TrianglesConfig};
use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig};
use cenote_algo::{AlgoError, Result, degrees, lcc, scc, wcc};
use cenote_engine::{EngineConfig, EngineError, Graph, Order};
use cenote_store::{Codec, WeightType};
pub use graphs::{inverse, stored, stored_in_pages, vertex_of, weight};

// ------------------------------------------------------------------------------------------------
// Answers by ids

/// A graph with ids `0..n`, and how an algorithm is to run on it.
struct Case {
    graph: Arc<Graph>,
    vertex_of: Vec<u32>,
    rank_of: Vec<u32>,
    config: EngineConfig,
}

const NONE: u64 = u64::MAX;

impl Case {
    /// What `value` says of every vertex, in the order of the ids.
    fn each(&self, value: impl Fn(u32) -> u64) -> Vec<u64> {
        self.vertex_of.iter().map(|&v| value(v)).collect()
    }

    fn id(&self, v: u32) -> u64 {
        u64::from(self.rank_of[v as usize])
    }

    fn id_if(&self, v: Option<u32>) -> u64 {
        v.map_or(NONE, |v| self.id(v))
    }

    fn path(&self, path: Option<Vec<u32>>) -> Vec<u64> {
        path.map_or(vec![NONE], |path| path.into_iter().map(|v| self.id(v)).collect())
    }

    fn top(&self, top: Vec<(u32, f64)>) -> Vec<u64> {
        top.into_iter().flat_map(|(v, value)| [self.id(v), value.to_bits()]).collect()
    }

    /// Some vertices, by their ids.
    fn some(&self, count: u32) -> Vec<u32> {
        let n = self.vertex_of.len() as u32;
        (0..count).map(|i| self.vertex_of[((i * 7919 + 3) % n) as usize]).collect()
    }

    fn config(&self) -> EngineConfig {
        self.config.clone()
    }
}

type Algorithm = fn(&Case) -> Result<Vec<u64>>;

const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("betweenness", |case| betweenness_of(case, Vec::new(), Scale::Sum)),
    ("betweenness of a sample", |case| {
        let samples = case.graph.vertices().min(5) as u64;
        let sources = betweenness::sample(&case.graph, samples, 3)?;
        betweenness_of(case, sources, Scale::Full)
    }),
    ("bfs", |case| bfs_of(case, BfsConfig::default())),
    ("bfs with parents", |case| bfs_of(case, BfsConfig::default().parents(true))),
    ("bfs to targets", |case| {
        let targets = case.some(4).split_off(2);
        bfs_of(case, BfsConfig::default().sources(case.some(2)).targets(targets).parents(true))
    }),
    ("cdlp", |case| {
        let config = CdlpConfig::default().iterations(6);
        let found = cdlp::run(&case.graph, case.config(), &config)?;
        cdlp::verify(&case.graph, &config, &found)?;
        let mut answer = case.each(|v| case.id(found.label(v)));
        answer.extend([found.communities, found.largest, case.id_if(found.largest_label)]);
        Ok(answer)
    }),
    ("degrees", |case| {
        let found = degrees::run(&case.graph, case.config())?;
        degrees::verify(&case.graph, &found)?;
        let mut answer = case.each(|v| found.out_degree(v));
        answer.extend(case.each(|v| found.in_degree(v)));
        answer.extend([found.entries, found.isolated]);
        answer.extend(found.top(7).into_iter().flat_map(|(v, degree)| [case.id(v), degree]));
        Ok(answer)
    }),
    ("dfs", |case| {
        let config = PseudoDfsConfig::default();
        let found = pseudo::run(&case.graph, case.config(), &config)?;
        pseudo::verify(&case.graph, &config, &found)?;
        Ok(case.each(|v| u64::from(found.is_reached(v))))
    }),
    ("dfs, lexicographic", |case| lexicographic_of(case, LexicographicConfig::default())),
    ("dfs, lexicographic, to targets", |case| {
        let config =
            LexicographicConfig::default().source(Some(case.some(1)[0])).targets(case.some(3));
        lexicographic_of(case, config)
    }),
    ("hyperball", |case| {
        let config = HyperballConfig::default().registers(16).seed(3).iterations(Some(5));
        let found = hyperball::run(&case.graph, case.config(), &config)?;
        hyperball::verify(&case.graph, &config, &found)?;
        let mut answer = case.each(|v| found.harmonic(v).to_bits());
        answer.extend(case.each(|v| found.closeness(v).to_bits()));
        answer.extend(found.neighborhood.iter().map(|pairs| pairs.to_bits()));
        answer.extend(case.top(found.top(7)));
        Ok(answer)
    }),
    ("kcore", |case| {
        let found = kcore::run(&case.graph, case.config(), &KcoreConfig::default())?;
        kcore::verify(&case.graph, &found)?;
        Ok(case.each(|v| u64::from(found.core(v))))
    }),
    ("lcc", |case| {
        let found = lcc::run(&case.graph, case.config())?;
        lcc::verify(&case.graph, &found)?;
        let mut answer = case.each(|v| found.coefficient(v).to_bits());
        answer.push(found.mean.to_bits());
        Ok(answer)
    }),
    ("leiden", |case| communities_of(case, CommunitiesConfig::of(Method::Leiden))),
    ("leiden on stored lists", |case| {
        communities_of(case, CommunitiesConfig::of(Method::Leiden).small_entries(0))
    }),
    ("louvain on stored lists", |case| {
        let config = CommunitiesConfig::of(Method::Louvain).small_entries(0);
        communities_of(case, config.resolution(1.7).iterations(2))
    }),
    ("mis", |case| {
        let config = MisConfig::default().seed(5);
        let found = mis::run(&case.graph, case.config(), &config)?;
        mis::verify(&case.graph, &config, &found)?;
        Ok(case.each(|v| u64::from(found.contains(v))))
    }),
    ("msf", |case| {
        let found = msf::run(&case.graph, case.config())?;
        msf::verify(&case.graph, &found)?;
        let total = match found.total {
            Total::Integer(weight) => weight as u64,
            Total::Float(weight) => weight.to_bits(),
        };
        let edges = found.edges().flat_map(|edge| {
            [case.id(edge.source), case.id(edge.target), edge.weight.to_f64().to_bits()]
        });
        Ok(edges.chain([found.components, total]).collect())
    }),
    ("pagerank", |case| pagerank_of(case, PageRankConfig::default())),
    ("pagerank, weighted", |case| pagerank_of(case, PageRankConfig::default().weighted(true))),
    ("pagerank, personalised", |case| {
        let personalize = case.some(3);
        pagerank_of(case, PageRankConfig::default().iterations(4).personalize(personalize))
    }),
    ("ppr", |case| {
        let config = PprConfig::default().seeds(case.some(2)).top_k(6).tolerance(1e-4);
        let found = ppr::run(&case.graph, case.config(), &config)?;
        ppr::verify(&case.graph, &config, &found)?;
        let rows = found.rows.iter();
        let rows =
            rows.flat_map(|row| [case.id(row.seed), case.id(row.vertex), row.rank.to_bits()]);
        Ok(rows.chain(found.unsettled.iter().map(|mass| mass.to_bits())).collect())
    }),
    ("reach", |case| {
        let config = ReachConfig::default().source(None).targets(case.some(6));
        let found = reach::run(&case.graph, case.config(), &config)?;
        reach::verify(&case.graph, &config, &found)?;
        let answers = found.reachable.iter().map(|&answer| u64::from(answer));
        Ok(answers.chain([case.id(found.source)]).collect())
    }),
    ("scc", |case| {
        let found = scc::run(&case.graph, case.config())?;
        scc::verify(&case.graph, &found)?;
        let mut answer = case.each(|v| case.id(found.label(v)));
        answer.extend([found.components, found.largest, found.single]);
        answer.push(case.id_if(found.largest_label));
        Ok(answer)
    }),
    ("similar, pairs", |case| {
        let pairs = case.some(9).into_iter().zip(case.some(5).into_iter().cycle().skip(2));
        let config = SimilarConfig::default().measure(Measure::AdamicAdar).pairs(pairs.collect());
        similar_of(case, &config)
    }),
    ("similar, top", |case| {
        similar_of(case, &SimilarConfig::default().sources(case.some(4)).top(5))
    }),
    ("sssp", |case| sssp_of(case, SsspConfig::default().parents(true))),
    ("sssp to targets", |case| {
        let (sources, targets) = (case.some(2), case.some(4).split_off(2));
        sssp_of(case, SsspConfig::default().sources(sources).targets(targets).parents(true))
    }),
    ("triangles", |case| {
        let config = TrianglesConfig::default().per_vertex(true);
        let found = triangles::run(&case.graph, case.config(), &config)?;
        triangles::verify(&case.graph, &found)?;
        let mut answer = case.each(|v| found.of(v).unwrap_or(NONE));
        answer.push(found.transitivity().to_bits());
        Ok(answer)
    }),
    ("walk", |case| {
        let walkers = (2 * case.graph.vertices() as u64).min(100);
        walk_of(case, WalkConfig::default().walkers(walkers).seed(9))
    }),
    ("walk, node2vec", |case| {
        let starts = Starts::Random;
        walk_of(case, WalkConfig::default().walkers(60).starts(starts).p(0.5).q(3.0))
    }),
    ("walk with restarts", |case| {
        let (starts, dead_ends) = (Starts::Listed(case.some(3)), DeadEnds::Restart);
        let restart = 0.2;
        walk_of(
            case,
            WalkConfig::default().walkers(40).starts(starts).restart(restart).dead_ends(dead_ends),
        )
    }),
    ("walk by weight", |case| {
        let dead_ends = DeadEnds::Restart;
        walk_of(case, WalkConfig::default().walkers(90).weighted(true).dead_ends(dead_ends))
    }),
    ("walk by weight, node2vec", |case| {
        let starts = Starts::Random;
        let config = WalkConfig::default().walkers(40).starts(starts).p(2.0).q(0.5);
        walk_of(case, config.weighted(true))
    }),
    ("wcc", |case| {
        let found = wcc::run(&case.graph, case.config())?;
        wcc::verify(&case.graph, &found)?;
        let mut answer = case.each(|v| case.id(found.label(v)));
        answer.extend([found.components, found.largest, case.id_if(found.largest_label)]);
        Ok(answer)
    }),
];

fn betweenness_of(case: &Case, sources: Vec<u32>, scale: Scale) -> Result<Vec<u64>> {
    let config = BetweennessConfig::default().sources(sources).scale(scale);
    let found = betweenness::run(&case.graph, case.config(), &config)?;
    betweenness::verify(&case.graph, &found)?;
    let mut answer = case.each(|v| found.betweenness(v).to_bits());
    answer.extend(found.sources.iter().map(|&v| case.id(v)));
    answer.extend(case.top(found.top(7)));
    Ok(answer)
}

fn bfs_of(case: &Case, config: BfsConfig) -> Result<Vec<u64>> {
    let found = bfs::run(&case.graph, case.config(), &config)?;
    bfs::verify(&case.graph, &found)?;
    let mut answer = case.each(|v| found.level(v).map_or(NONE, u64::from));
    answer.extend(case.each(|v| case.id_if(found.parent(v))));
    answer.extend([found.reached, found.depth.into(), found.ended_early.into()]);
    answer.extend(found.sources.iter().map(|&v| case.id(v)));
    config.targets.iter().for_each(|&v| answer.extend(case.path(found.path_to(v))));
    Ok(answer)
}

fn communities_of(case: &Case, config: CommunitiesConfig) -> Result<Vec<u64>> {
    let found = communities::run(&case.graph, case.config(), &config)?;
    communities::verify(&case.graph, &config, &found)?;
    let mut answer = case.each(|v| case.id(found.label(v)));
    answer.extend([found.communities, found.single, found.largest, found.levels]);
    answer.extend([found.modularity.to_bits(), found.iterations.into()]);
    answer.push(case.id_if(found.largest_label));
    Ok(answer)
}

fn lexicographic_of(case: &Case, config: LexicographicConfig) -> Result<Vec<u64>> {
    let found = lexicographic::run(&case.graph, case.config(), &config)?;
    lexicographic::verify(&case.graph, &config, &found)?;
    let mut answer = case.each(|v| found.order(v).map_or(NONE, u64::from));
    answer.extend(case.each(|v| found.finish(v).map_or(NONE, u64::from)));
    answer.extend(case.each(|v| case.id_if(found.parent(v))));
    answer.extend([found.reached, found.depth, found.ended_early.into()]);
    Ok(answer)
}

fn pagerank_of(case: &Case, config: PageRankConfig) -> Result<Vec<u64>> {
    let found = pagerank::run(&case.graph, case.config(), &config)?;
    pagerank::verify(&case.graph, &config, &found)?;
    let mut answer = case.each(|v| found.rank(v).to_bits());
    answer.extend(case.top(found.top(7)));
    Ok(answer)
}

fn sssp_of(case: &Case, config: SsspConfig) -> Result<Vec<u64>> {
    let found = sssp::run(&case.graph, case.config(), &config)?;
    sssp::verify(&case.graph, &found)?;
    let bits = |distance: sssp::Distance| distance.to_f64().to_bits();
    let mut answer = case.each(|v| found.distance(v).map_or(NONE, bits));
    answer.extend(case.each(|v| case.id_if(found.parent(v))));
    answer.extend([found.reached, case.id(found.farthest.0), bits(found.farthest.1)]);
    config.targets.iter().for_each(|&v| answer.extend(case.path(found.path_to(v))));
    Ok(answer)
}

fn similar_of(case: &Case, config: &SimilarConfig) -> Result<Vec<u64>> {
    let found = similar::run(&case.graph, case.config(), config)?;
    similar::verify(&case.graph, config, &found)?;
    let rows = found.rows.iter();
    Ok(rows
        .flat_map(|row| [case.id(row.source), case.id(row.target), row.score.to_bits()])
        .collect())
}

fn walk_of(case: &Case, config: WalkConfig) -> Result<Vec<u64>> {
    let mut rows = Vec::new();
    let mut sink = |walk, row: &[u32]| {
        rows.push((walk, row.to_vec()));
        Ok(())
    };
    let folder = std::env::temp_dir();
    let output = Output { folder: &folder, sink_bytes: 0, sink: &mut sink };
    let found = walk::run(&case.graph, case.config(), &config, Some(output))?;
    walk::verify(&case.graph, &config, rows.iter().map(|(walk, row)| (*walk, row.as_slice())))?;
    let mut answer = vec![found.steps, found.restarts, found.dead_ends, found.fingerprint];
    for (walk, row) in rows {
        answer.extend([NONE, walk]);
        answer.extend(row.into_iter().map(|v| case.id(v)));
    }
    Ok(answer)
}

// ------------------------------------------------------------------------------------------------
// Comparison

/// The answer with the budget that is given, or with the least that does; `None` where the graph
/// lacks what the algorithm needs.
fn answer(case: &mut Case, algorithm: Algorithm) -> Option<Vec<u64>> {
    loop {
        match algorithm(case) {
            Ok(answer) => return Some(answer),
            Err(AlgoError::Unsupported { .. }) => return None,
            Err(AlgoError::Engine(EngineError::Budget { suggested, .. })) => {
                assert!(suggested << 20 > case.config.memory_bytes, "the error helps");
                case.config.memory_bytes = suggested << 20;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

const ORDERS: [Order; 4] = [Order::Degree, Order::Bfs, Order::Cluster, Order::Random { seed: 11 }];
const CODECS: [Codec; 2] = [Codec::Raw, Codec::Packed];

fn configs(threads: &[usize]) -> Vec<EngineConfig> {
    let mut configs = Vec::new();
    for strategy in STRATEGIES {
        for &threads in threads {
            let roomy = config(strategy, threads);
            // The least that does, and no page stays in memory.
            configs.push(roomy.clone().memory_bytes(1).cache_bytes(Some(0)));
            configs.push(roomy);
        }
    }
    configs
}

/// How many of all combinations of an order, a codec and a configuration are compared.
#[derive(Clone, Copy)]
enum Share {
    All,
    /// One of each order and codec, with as many configurations in turn; of two graphs with places
    /// one after the other, those of the second are the others.
    InTurn(usize),
}

impl Share {
    /// All, or those of a graph with this place among the others.
    fn of(all: bool, turn: usize) -> Self {
        if all { Self::All } else { Self::InTurn(turn) }
    }
}

/// Every algorithm, in every order, against the natural one.
fn compare(plain: &Plain, weights: Option<WeightType>, threads: &[usize], share: Share) {
    let case = |order, codec, config| {
        let vertex_of = vertex_of(plain, order);
        let rank_of = inverse(&vertex_of);
        Case { graph: stored(plain, order, codec, weights), vertex_of, rank_of, config }
    };
    let configs = configs(threads);
    let mut natural = case(Order::Natural, Codec::Raw, config(STRATEGIES[0], 1));
    let expected: Vec<_> =
        ALGORITHMS.iter().map(|(_, algorithm)| answer(&mut natural, *algorithm)).collect();
    for (i, order) in ORDERS.into_iter().enumerate() {
        for (j, codec) in CODECS.into_iter().enumerate() {
            let mut ordered = case(order, codec, natural.config());
            for (k, config) in configs.iter().enumerate() {
                if let Share::InTurn(turn) = share
                    && k != (i + ORDERS.len() * (j + CODECS.len() * turn)) % configs.len()
                {
                    continue;
                }
                for ((name, algorithm), expected) in ALGORITHMS.iter().zip(&expected) {
                    ordered.config = config.clone();
                    let Some(found) = answer(&mut ordered, *algorithm) else { continue };
                    let (strategy, threads) = (config.strategy, config.threads);
                    assert!(
                        expected.as_ref() == Some(&found),
                        "{name}: {} of {} vertices, {order}, {codec:?}, {strategy}, {threads} \
                         threads, {} bytes: {found:?}, not {expected:?}",
                        plain.name,
                        plain.vertices(),
                        config.memory_bytes,
                    );
                }
            }
        }
    }
}

fn compare_small(all: bool) {
    let (odd, one_way) = if all { (6, 24) } else { (3, 22) };
    for seed in 0..odd {
        let plain = random_graph(seed, seed % 2 == 0).named("random");
        compare(&plain, None, &[1, 3], Share::of(all, seed as usize));
    }
    for seed in 20..one_way {
        let plain = random_graph(seed, true).without_in_edges().named("one-way");
        compare(&plain, None, &[2], Share::of(all, seed as usize));
    }
}

fn compare_weighted(all: bool) {
    let kinds = [WeightType::F32, WeightType::F64, WeightType::U32, WeightType::I64];
    for (seed, kind) in (40..).zip(kinds) {
        let plain = random_graph(seed, seed % 2 == 0).named("weighted");
        compare(&plain, Some(kind), &[2], Share::of(all, seed as usize));
    }
}

fn compare_hubs(directed: bool, all: bool) {
    let kinds = [None, Some(WeightType::F32)];
    let is_compared = |kind: &Option<_>| all || kind.is_some() == directed;
    for kind in kinds.into_iter().filter(is_compared) {
        compare(&hubs(directed), kind, &[2], Share::of(all, usize::from(directed)));
    }
}

#[test]
fn small_graphs_give_the_answers_of_the_natural_order() {
    compare_small(false);
}

#[test]
fn graphs_with_weights_give_the_answers_of_the_natural_order() {
    compare_weighted(false);
}

#[test]
#[ignore = "long: make soak"]
fn small_graphs_in_all_orders_longer() {
    compare_small(true);
    compare_weighted(true);
}

/// Hubs whose lists run over pages, leaves with several of them, and a path.
fn hubs(directed: bool) -> Plain {
    let mut random = Random(77);
    let mut pairs: Vec<(u32, u32)> = (0..5000)
        .map(|_| (random.below(1600), random.below(3)))
        .map(|(leaf, hub)| if directed && leaf % 2 == 0 { (hub, leaf) } else { (leaf, hub) })
        .collect();
    pairs.extend((0..1300).map(|_| (random.below(1600), random.below(1600))));
    pairs.extend((1600..1700).map(|v| (v, v + 1)));
    Plain::of(1710, &pairs, directed).named("hubs")
}

#[test]
fn graphs_with_hubs_give_the_answers_of_the_natural_order() {
    [false, true].into_iter().for_each(|directed| compare_hubs(directed, false));
}

#[test]
#[ignore = "long: make soak"]
fn graphs_with_hubs_in_all_orders_longer() {
    [false, true].into_iter().for_each(|directed| compare_hubs(directed, true));
}

//! A budget that is too small names one that does, for every algorithm.

use crate::plain::{Plain, Random, STRATEGIES, config};
use cenote_algo::betweenness::BetweennessConfig;
use cenote_algo::bfs::BfsConfig;
use cenote_algo::cdlp::CdlpConfig;
use cenote_algo::communities::{CommunitiesConfig, Method};
use cenote_algo::hyperball::HyperballConfig;
use cenote_algo::kcore::KcoreConfig;
use cenote_algo::pagerank::PageRankConfig;
use cenote_algo::ppr::PprConfig;
use cenote_algo::similar::SimilarConfig;
use cenote_algo::sssp::SsspConfig;
use cenote_algo::triangles::TrianglesConfig;
use cenote_algo::walk::WalkConfig;
use cenote_algo::{
    AlgoError, Estimate, Result, betweenness, bfs, cdlp, communities, degrees, dfs, hyperball,
    kcore, lcc, mis, msf, pagerank, ppr, reach, scc, similar, sssp, triangles, walk, wcc,
};
use cenote_engine::{EngineConfig, EngineError, Graph};

type Estimator = fn(&Graph, &EngineConfig) -> Result<Estimate>;

const ALGORITHMS: [(&str, Estimator); 23] = [
    ("betweenness", |g, c| betweenness::estimate(g, c, &BetweennessConfig::default())),
    ("bfs", |g, c| bfs::estimate(g, c, &BfsConfig::default())),
    ("cdlp", |g, c| cdlp::estimate(g, c, &CdlpConfig::default())),
    ("degrees", degrees::estimate),
    ("dfs", dfs::pseudo::estimate),
    ("dfs, lexicographic", dfs::lexicographic::estimate),
    ("hyperball", |g, c| hyperball::estimate(g, c, &HyperballConfig::default())),
    ("kcore", |g, c| kcore::estimate(g, c, &KcoreConfig::default())),
    ("lcc", lcc::estimate),
    ("leiden", |g, c| communities::estimate(g, c, &CommunitiesConfig::of(Method::Leiden))),
    ("louvain", |g, c| communities::estimate(g, c, &CommunitiesConfig::of(Method::Louvain))),
    ("mis", mis::estimate),
    ("msf", msf::estimate),
    ("pagerank", |g, c| pagerank::estimate(g, c, &PageRankConfig::default())),
    ("ppr", |g, c| ppr::estimate(g, c, &PprConfig::default().seeds(vec![1, 2, 3]))),
    ("reach", reach::estimate),
    ("scc", scc::estimate),
    ("similar, pairs", |g, c| {
        similar::estimate(g, c, &SimilarConfig::default().pairs(vec![(1, 2), (3, 4), (5, 1)]))
    }),
    ("similar, top", |g, c| {
        similar::estimate(g, c, &SimilarConfig::default().sources(vec![1, 2, 3]))
    }),
    ("sssp", |g, c| sssp::estimate(g, c, &SsspConfig::default())),
    ("triangles", |g, c| triangles::estimate(g, c, &TrianglesConfig::default())),
    ("walk", |g, c| walk::estimate(g, c, &WalkConfig::default(), None)),
    ("wcc", wcc::estimate),
];

/// The budget that the error names; `None` where this one does.
fn suggested(estimate: Result<Estimate>, memory_bytes: u64, case: &str) -> Option<u64> {
    match estimate {
        Ok(estimate) => {
            assert!(estimate.memory.total_bytes() <= memory_bytes, "{case}");
            assert!(estimate.used_bytes_at_least <= estimate.used_bytes, "{case}");
            assert!(estimate.used_bytes <= estimate.memory.total_bytes(), "{case}");
            assert!(estimate.bytes_read_at_least <= estimate.bytes_read, "{case}");
            assert!(estimate.bytes_read <= estimate.bytes_read_at_most, "{case}");
            None
        }
        Err(AlgoError::Engine(EngineError::Budget { given, suggested, .. })) => {
            assert_eq!(given, memory_bytes, "{case}");
            Some(suggested << 20)
        }
        Err(AlgoError::Unsupported { .. }) => None,
        Err(error) => panic!("{case}: {error}"),
    }
}

#[test]
fn a_budget_too_small_names_one_that_is_accepted_at_once() {
    // Lists over many pages, and enough of them that putting them together wants more memory the
    // more there is.
    let mut random = Random(5);
    let pairs: Vec<_> = (0..900_000).map(|_| (random.below(200), random.below(40_000))).collect();
    for directed in [false, true] {
        let graph = Plain::of(40_000, &pairs, directed).stored();
        for strategy in STRATEGIES {
            for (name, estimate) in ALGORITHMS {
                for memory_bytes in [1, 1 << 20, 3 << 20, 6 << 20] {
                    let case = format!("{name} {strategy} directed {directed} {memory_bytes}");
                    let given = config(strategy, 2).memory_bytes(memory_bytes);
                    let Some(enough) = suggested(estimate(&graph, &given), memory_bytes, &case)
                    else {
                        continue;
                    };
                    let given = given.memory_bytes(enough);
                    assert_eq!(suggested(estimate(&graph, &given), enough, &case), None, "{case}");
                }
            }
        }
    }
}

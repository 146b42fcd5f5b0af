//! All algorithms on one graph, with answers by the users' ids: they are the same in every order of
//! the vertices, so also where vertices came later.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use cenote_algo::betweenness::{self, BetweennessConfig};
use cenote_algo::bfs::{self, BfsConfig};
use cenote_algo::cdlp::{self, CdlpConfig};
use cenote_algo::communities::{self, CommunitiesConfig, Method};
use cenote_algo::dfs::lexicographic::{self, LexicographicConfig};
use cenote_algo::dfs::pseudo::{self, PseudoDfsConfig};
use cenote_algo::hyperball::{self, HyperballConfig};
use cenote_algo::kcore::{self, KcoreConfig};
use cenote_algo::mis::{self, MisConfig};
use cenote_algo::msf;
use cenote_algo::pagerank::{self, PageRankConfig};
use cenote_algo::ppr::{self, PprConfig};
use cenote_algo::reach::{self, ReachConfig};
use cenote_algo::similar::{self, SimilarConfig};
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::triangles::{self, TrianglesConfig};
use cenote_algo::walk::{self, Starts, WalkConfig};
use cenote_algo::{AlgoError, Result, degrees, lcc, scc, wcc};
use cenote_engine::{EngineConfig, Strategy, VertexId};
use cenote_store::Graph;

use crate::Outcome;

/// A graph and the order of its ids.
#[derive(Debug)]
pub struct View {
    graph: Arc<Graph>,
    /// By rank.
    vertex_of: Vec<VertexId>,
    /// By vertex.
    rank_of: Vec<u64>,
}

/// The answers of some algorithms.
pub type Answers = Vec<NamedAnswer>;

/// The name of an algorithm, and its answer or the message of its error.
pub type NamedAnswer = (&'static str, Outcome<Vec<u64>>);

const NONE: u64 = u64::MAX;

/// Budget of the algorithms that run at every crash point: buffers cost time.
const LITTLE_MEMORY: u64 = 1 << 20;

const MEMORY: u64 = 64 << 20;

impl View {
    /// A view of a graph whose vertices these are, without the deleted ones, in the order of their
    /// ids.
    pub fn new(graph: Arc<Graph>, vertex_of: Vec<VertexId>) -> Self {
        let mut rank_of = vec![NONE; graph.vertices()];
        (0..).zip(&vertex_of).for_each(|(rank, &v)| rank_of[v as usize] = rank);
        Self { graph, vertex_of, rank_of }
    }

    fn each(&self, value: impl Fn(VertexId) -> u64) -> Vec<u64> {
        self.vertex_of.iter().map(|&v| value(v)).collect()
    }

    fn id(&self, v: VertexId) -> u64 {
        self.rank_of[v as usize]
    }

    fn id_if(&self, v: Option<VertexId>) -> u64 {
        v.map_or(NONE, |v| self.id(v))
    }

    /// Some vertices, by their ids.
    fn some(&self, count: usize) -> Vec<VertexId> {
        let n = self.vertex_of.len();
        (0..count).map(|i| self.vertex_of[(i * 7919 + 3) % n]).collect()
    }

    fn little(&self) -> EngineConfig {
        self.config().memory_bytes(LITTLE_MEMORY)
    }

    fn config(&self) -> EngineConfig {
        // The defaults are read from files of the system.
        static CONFIG: OnceLock<EngineConfig> = OnceLock::new();
        CONFIG.get_or_init(|| EngineConfig::with_memory(MEMORY).threads(1)).clone()
    }
}

type Algorithm = fn(&View) -> Result<Vec<u64>>;

/// The algorithms of which one runs at every crash point.
const CHEAP: &[(&str, Algorithm)] = &[
    ("bfs", |view| {
        let config = BfsConfig::default().parents(true);
        let found = bfs::run(&view.graph, view.little(), &config)?;
        let mut answer = view.each(|v| found.level(v).map_or(NONE, u64::from));
        answer.extend(view.each(|v| view.id_if(found.parent(v))));
        answer.extend(found.sources.iter().map(|&v| view.id(v)));
        Ok(answer)
    }),
    ("wcc", |view| {
        let found = wcc::run(&view.graph, view.little())?;
        let mut answer = view.each(|v| view.id(found.label(v)));
        answer.extend([found.components, found.largest, view.id_if(found.largest_label)]);
        Ok(answer)
    }),
];

/// The others.
const COSTLY: &[(&str, Algorithm)] = &[
    ("bfs to targets", |view| {
        let config = BfsConfig::default().sources(view.some(2)).targets(view.some(4)).parents(true);
        let found = bfs::run(&view.graph, view.config(), &config)?;
        Ok(view.some(4).into_iter().map(|v| found.level(v).map_or(NONE, u64::from)).collect())
    }),
    ("betweenness", |view| {
        let found = betweenness::run(&view.graph, view.config(), &BetweennessConfig::default())?;
        Ok(view.each(|v| found.betweenness(v).to_bits()))
    }),
    ("cdlp", |view| {
        let config = CdlpConfig::default().iterations(4);
        let found = cdlp::run(&view.graph, view.config(), &config)?;
        let mut answer = view.each(|v| view.id(found.label(v)));
        answer.extend([found.communities, found.largest, view.id_if(found.largest_label)]);
        Ok(answer)
    }),
    ("degrees", |view| {
        let found = degrees::run(&view.graph, view.config())?;
        let mut answer = view.each(|v| found.out_degree(v));
        answer.extend(view.each(|v| found.in_degree(v)));
        answer.extend([found.entries, found.isolated]);
        Ok(answer)
    }),
    ("dfs", |view| {
        let found = pseudo::run(&view.graph, view.config(), &PseudoDfsConfig::default())?;
        Ok(view.each(|v| u64::from(found.is_reached(v))))
    }),
    ("dfs, lexicographic", |view| {
        let config = LexicographicConfig::default();
        let found = lexicographic::run(&view.graph, view.config(), &config)?;
        let mut answer = view.each(|v| found.order(v).map_or(NONE, u64::from));
        answer.extend(view.each(|v| found.finish(v).map_or(NONE, u64::from)));
        answer.extend(view.each(|v| view.id_if(found.parent(v))));
        Ok(answer)
    }),
    ("hyperball", |view| {
        let config = HyperballConfig::default().registers(32).iterations(Some(6));
        let found = hyperball::run(&view.graph, view.config(), &config)?;
        let mut answer = view.each(|v| found.harmonic(v).to_bits());
        answer.extend(view.each(|v| found.closeness(v).to_bits()));
        answer.extend(found.neighborhood.iter().map(|pairs| pairs.to_bits()));
        Ok(answer)
    }),
    ("kcore", |view| {
        let found = kcore::run(&view.graph, view.config(), &KcoreConfig::default())?;
        Ok(view.each(|v| u64::from(found.core(v))))
    }),
    ("lcc", |view| {
        let found = lcc::run(&view.graph, view.config())?;
        let mut answer = view.each(|v| found.coefficient(v).to_bits());
        answer.push(found.mean.to_bits());
        Ok(answer)
    }),
    ("leiden", |view| {
        let config = CommunitiesConfig::of(Method::Leiden);
        let found = communities::run(&view.graph, view.config(), &config)?;
        Ok(view.each(|v| view.id(found.label(v))))
    }),
    ("mis", |view| {
        let found = mis::run(&view.graph, view.config(), &MisConfig::default().seed(5))?;
        Ok(view.each(|v| u64::from(found.contains(v))))
    }),
    ("msf", |view| {
        let found = msf::run(&view.graph, view.config())?;
        let edges = found.edges().flat_map(|edge| {
            [view.id(edge.source), view.id(edge.target), edge.weight.to_f64().to_bits()]
        });
        Ok(edges.chain([found.components]).collect())
    }),
    ("pagerank", |view| {
        let found = pagerank::run(&view.graph, view.config(), &PageRankConfig::default())?;
        Ok(view.each(|v| found.rank(v).to_bits()))
    }),
    ("pagerank, personalised", |view| {
        let config = PageRankConfig::default().iterations(4).personalize(view.some(3));
        let found = pagerank::run(&view.graph, view.config(), &config)?;
        Ok(view.each(|v| found.rank(v).to_bits()))
    }),
    ("ppr", |view| {
        let config = PprConfig::default().seeds(view.some(3)).top_k(6).tolerance(1e-4);
        let found = ppr::run(&view.graph, view.config(), &config)?;
        let rows = found.rows.iter();
        let rows =
            rows.flat_map(|row| [view.id(row.seed), view.id(row.vertex), row.rank.to_bits()]);
        Ok(rows.collect())
    }),
    ("reach", |view| {
        let config = ReachConfig::default().source(None).targets(view.some(6));
        let found = reach::run(&view.graph, view.config(), &config)?;
        let answers = found.reachable.iter().map(|&answer| u64::from(answer));
        Ok(answers.chain([view.id(found.source)]).collect())
    }),
    ("scc", |view| {
        let found = scc::run(&view.graph, view.config())?;
        let mut answer = view.each(|v| view.id(found.label(v)));
        answer.extend([found.components, found.largest, found.single]);
        answer.push(view.id_if(found.largest_label));
        Ok(answer)
    }),
    ("similar", |view| {
        let config = SimilarConfig::default().sources(view.some(3)).top(6);
        let found = similar::run(&view.graph, view.config(), &config)?;
        let rows = found.rows.iter();
        let rows =
            rows.flat_map(|row| [view.id(row.source), view.id(row.target), row.score.to_bits()]);
        Ok(rows.collect())
    }),
    ("sssp", |view| {
        let found = sssp::run(&view.graph, view.config(), &SsspConfig::default().parents(true))?;
        Ok(view.each(|v| found.distance(v).map_or(NONE, |d| d.to_f64().to_bits())))
    }),
    ("triangles", |view| {
        let config = TrianglesConfig::default().per_vertex(true);
        let found = triangles::run(&view.graph, view.config(), &config)?;
        let mut answer = view.each(|v| found.of(v).unwrap_or(NONE));
        answer.push(found.transitivity().to_bits());
        Ok(answer)
    }),
    ("walk", |view| walks(view, &WalkConfig::default().walkers(50).seed(9))),
    ("walk by weight", |view| {
        walks(view, &WalkConfig::default().walkers(50).seed(9).weighted(true))
    }),
    ("sssp page by page", |view| {
        let config = view.little().strategy(Strategy::Block);
        let found = sssp::run(&view.graph, config, &SsspConfig::default())?;
        Ok(view.each(|v| found.distance(v).map_or(NONE, |d| d.to_f64().to_bits())))
    }),
    ("walk, node2vec", |view| {
        let config = WalkConfig::default().walkers(40).starts(Starts::Random).p(0.5).q(3.0);
        walks(view, &config)
    }),
    ("walk with restarts", |view| {
        let starts = Starts::Listed(view.some(3));
        walks(view, &WalkConfig::default().walkers(30).starts(starts).restart(0.2))
    }),
];

fn walks(view: &View, config: &WalkConfig) -> Result<Vec<u64>> {
    let found = walk::run(&view.graph, view.config(), config, None)?;
    // The fingerprint is made of ranks.
    Ok(vec![found.steps, found.restarts, found.dead_ends, found.fingerprint])
}

fn ask(view: &View, algorithms: &[(&'static str, Algorithm)]) -> Answers {
    let answer = |algorithm: Algorithm| {
        algorithm(view).map_err(|error| match error {
            // Its text names the file.
            AlgoError::Unsupported { .. } => "unsupported".to_owned(),
            error => format!("fails: {error}"),
        })
    };
    algorithms.iter().map(|(name, algorithm)| (*name, answer(*algorithm))).collect()
}

/// The answers of the cheap algorithms.
pub fn cheap(view: &View) -> Answers {
    ask(view, CHEAP)
}

/// The answers of all algorithms.
pub fn all(view: &View) -> Answers {
    [cheap(view), ask(view, COSTLY)].concat()
}

/// The answer of one of the cheap algorithms, and the place of its expected one.
pub fn one_cheap(view: &View, at: usize) -> (Range<usize>, Answers) {
    let at = at % CHEAP.len();
    (at..at + 1, ask(view, &CHEAP[at..=at]))
}

/// Compares answers with the expected ones. An algorithm may refuse where it is expected to.
pub fn compare(found: &[NamedAnswer], expected: &[NamedAnswer]) -> Outcome {
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        if let Err(error) = found
            && error != "unsupported"
        {
            return Err(format!("{name} {error}"));
        }
        if found != expected {
            return Err(format!("{name}: {found:?}, imported from scratch {expected:?}"));
        }
    }
    Ok(())
}

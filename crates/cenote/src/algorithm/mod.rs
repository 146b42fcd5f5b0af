//! The algorithms, one file each: parameters, result, output columns and summary.
//!
//! [`Graph`] has a method for each, which begins a [`Run`]. Definitions, sources
//! and costs are in the modules of [`cenote_algo`].

/// In an [`Algorithm`](crate::run::Algorithm), the calls of a module of [`cenote_algo`]: `config`
/// in the brackets of the functions that take it.
macro_rules! calls {
    (@config $config:expr) => {
        $config
    };
    (
        $module:ident:
        estimate($($estimate:ident)?) run($($run:ident)?) verify($($verify:ident)?)
    ) => {
        fn estimate(
            config: &Self::Config,
            job: &crate::run::Job<'_>,
        ) -> crate::Result<cenote_algo::Estimate> {
            let _ = config;
            Ok($module::estimate(job.graph, &job.engine $(, calls!(@$estimate config))?)?)
        }

        fn run(
            config: &mut Self::Config,
            job: &crate::run::Job<'_>,
        ) -> crate::Result<Self::Output> {
            let _ = &config;
            Ok($module::run(job.graph, job.engine.clone() $(, calls!(@$run config))?)?)
        }

        fn verify(
            config: &Self::Config,
            graph: &crate::graph::StoredGraph,
            output: &Self::Output,
        ) -> crate::Result<()> {
            let _ = config;
            Ok($module::verify(graph $(, calls!(@$verify config))?, output)?)
        }

        fn engine_run(output: &Self::Output) -> &cenote_algo::Run {
            &output.run
        }
    };
}

mod betweenness;
mod bfs;
mod cdlp;
mod communities;
mod components;
mod degrees;
mod dfs;
mod earlier;
mod ends;
mod hyperball;
mod kcore;
mod lcc;
mod mis;
mod msf;
mod pagerank;
mod ppr;
mod reach;
mod similar;
mod sssp;
mod target;
mod triangles;
mod walk;

pub use self::betweenness::{Betweenness, BetweennessSummary};
pub use self::bfs::{Bfs, BfsSummary};
pub use self::cdlp::{Cdlp, CdlpSummary};
pub use self::communities::{CommunitiesSummary, Leiden, Louvain};
pub use self::components::{Scc, SccSummary, Wcc, WccSince, WccSummary};
pub use self::degrees::{Degree, Degrees, DegreesSummary};
pub use self::dfs::{DfsOrder, DfsSummary, LexicographicDfs, PseudoDfs};
pub use self::hyperball::{Harmonic, Hyperball, HyperballSummary};
pub use self::kcore::{Kcore, KcoreSummary, Shell};
pub use self::lcc::{Lcc, LccSummary};
pub use self::mis::{Mis, MisSummary};
pub use self::msf::{Msf, MsfSummary};
pub use self::pagerank::{PageRank, PageRankSummary};
pub use self::ppr::{Ppr, PprSummary};
pub use self::reach::{Reach, ReachSummary};
pub use self::similar::{Similar, SimilarSummary};
pub use self::sssp::{Sssp, SsspSummary, TargetDistance};
pub use self::target::Target;
pub use self::triangles::{Triangles, TrianglesSummary};
pub use self::walk::{StartsAt, Walk, WalkAnswer, WalkSummary};

use cenote_store::{Id, Ids, VertexId};
use serde::Serialize;

use crate::error::Result;
use crate::graph::Graph;
use crate::run::Run;

/// How many vertices of largest value a summary names.
pub(crate) const TOP: usize = 10;

impl Graph {
    /// Betweenness centrality from given sources.
    pub fn betweenness(&self) -> Run<'_, Betweenness> {
        Run::new(self, Betweenness::default())
    }

    /// Breadth-first search: levels and parents.
    pub fn bfs(&self) -> Run<'_, Bfs> {
        Run::new(self, Bfs::default())
    }

    /// Communities by label propagation (LDBC Graphalytics).
    pub fn cdlp(&self) -> Run<'_, Cdlp> {
        Run::new(self, Cdlp::default())
    }

    /// Degrees of all vertices, as a run: written, estimated and verified as those of other
    /// algorithms. [`Graph::degrees`] returns those of one direction.
    pub fn count_degrees(&self) -> Run<'_, Degrees> {
        Run::new(self, Degrees)
    }

    /// Pseudo-DFS: which vertices can be reached.
    pub fn dfs(&self) -> Run<'_, PseudoDfs> {
        Run::new(self, PseudoDfs::default())
    }

    /// Depth-first search in lexicographic order: preorder, parents and postorder.
    pub fn lexicographic_dfs(&self) -> Run<'_, LexicographicDfs> {
        Run::new(self, LexicographicDfs::default())
    }

    /// Neighbourhood function, effective diameter and distance centralities, estimated.
    pub fn hyperball(&self) -> Run<'_, Hyperball> {
        Run::new(self, Hyperball::default())
    }

    /// Core numbers, or the members of one k-core.
    pub fn kcore(&self) -> Run<'_, Kcore> {
        Run::new(self, Kcore::default())
    }

    /// Local clustering coefficient of every vertex.
    pub fn lcc(&self) -> Run<'_, Lcc> {
        Run::new(self, Lcc)
    }

    /// Communities of high modularity by the Leiden algorithm: each of them is connected.
    pub fn leiden(&self) -> Run<'_, Leiden> {
        Run::new(self, Leiden::default())
    }

    /// Communities of high modularity by the Louvain algorithm.
    pub fn louvain(&self) -> Run<'_, Louvain> {
        Run::new(self, Louvain::default())
    }

    /// A maximal independent set.
    pub fn mis(&self) -> Run<'_, Mis> {
        Run::new(self, Mis::default())
    }

    /// A minimum spanning forest.
    pub fn msf(&self) -> Run<'_, Msf> {
        Run::new(self, Msf)
    }

    /// PageRank by power iteration.
    pub fn pagerank(&self) -> Run<'_, PageRank> {
        Run::new(self, PageRank::default())
    }

    /// Personalised PageRank of many seeds: the vertices of highest rank of each.
    pub fn ppr(&self) -> Run<'_, Ppr> {
        Run::new(self, Ppr::default())
    }

    /// Whether vertices can be reached.
    pub fn reach(&self) -> Run<'_, Reach> {
        Run::new(self, Reach::default())
    }

    /// Strongly connected components.
    pub fn scc(&self) -> Run<'_, Scc> {
        Run::new(self, Scc)
    }

    /// Similarity by common neighbours: of given pairs, or the most similar vertices of sources.
    pub fn similar(&self) -> Run<'_, Similar> {
        Run::new(self, Similar::default())
    }

    /// Shortest paths over weighted edges, from one source or several.
    pub fn sssp(&self) -> Run<'_, Sssp> {
        Run::new(self, Sssp::default())
    }

    /// Triangles of the graph, and of every vertex.
    pub fn triangles(&self) -> Run<'_, Triangles> {
        Run::new(self, Triangles::default())
    }

    /// Random walks: uniform, node2vec, with restart.
    pub fn walk(&self) -> Run<'_, Walk> {
        Run::new(self, Walk::default())
    }

    /// Weakly connected components.
    pub fn wcc(&self) -> Run<'_, Wcc> {
        Run::new(self, Wcc::default())
    }
}

/// The same vertices by the user's ids.
fn ids_of<T>(ids: &Ids, top: Vec<(VertexId, T)>) -> Result<Vec<(Id, T)>> {
    top.into_iter().map(|(vertex, value)| Ok((ids.id_of(vertex)?, value))).collect()
}

/// A vertex and its rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// The user's id.
    pub vertex: Id,
    /// Its rank.
    pub rank: f64,
}

/// A vertex and its betweenness.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Central {
    /// The user's id.
    pub vertex: Id,
    /// Its betweenness.
    pub betweenness: f64,
}

//! Similarity of vertices by the neighbours that they have in common.
//!
//! **Returns** for given pairs of vertices their similarity, or for given sources the vertices that
//! are most similar, of all that have a neighbour in common with the source. With N(v) for the set
//! of targets of v's list, the measures ([`Measure`]) are:
//! - common neighbours: |N(u) ∩ N(v)|
//! - Jaccard: |N(u) ∩ N(v)| / |N(u) ∪ N(v)|, 0 where both are empty
//! - overlap: |N(u) ∩ N(v)| / min(|N(u)|, |N(v)|), 0 where one is empty
//! - Adamic–Adar: the sum of 1 / ln d(w) over the common neighbours w of more than one edge
//!
//! On a directed graph N(v) are the targets of the edges that leave v, and d(w) is the number of
//! edges that lead to w. A self-loop makes a vertex its own neighbour. On simple graphs these are
//! NetworkX's `jaccard_coefficient` and `adamic_adar_index`.
//!
//! **Source.** Liben-Nowell and Kleinberg, "The link prediction problem for social networks", 2003;
//! Adamic and Adar, "Friends and neighbors on the web", 2003.
//!
//! **Trick.** Of each pair the shorter list is kept in memory, as numbers or as a bit for every
//! vertex, whichever is smaller; the longer one passes by in pieces, so it may be longer than
//! memory, and once for all its pairs whose other lists fit in memory together ([`pairs`]). For a
//! source, the lists of its neighbours are counted, each read once for all sources that run side by
//! side ([`top`]). Logarithms are rounded to fixed point, so no sum depends on an order.

mod pairs;
mod top;
mod verify;

use std::sync::Arc;

use cenote_engine::{
    Bitmap, Direction, EngineConfig, Frontier, Graph, HugeVec, Needs, VertexId, setters,
};

use crate::estimate::{Estimate, Reads, engine_for, kept, plan_for};
use crate::ranks::{Ranks, default_source, sort_by_id};
use crate::report::{AlgoError, Result, Run, check_vertices, demand_in_edges, pages};
use pairs::Pairs;
use top::{Expected, Top};
pub use verify::verify;

const NAME: &str = "similar";

/// Bits behind the point of a sum of logarithms.
const FRACTION: u32 = 31;

/// How similar two vertices are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The share of all their neighbours that are common ones.
    #[default]
    Jaccard,
    /// The share of the neighbours of the vertex of smaller degree.
    Overlap,
    /// Common neighbours, less where these have many edges.
    AdamicAdar,
    /// The number of common neighbours.
    Common,
}

/// Parameters of similarity.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SimilarConfig {
    /// How similar two vertices are.
    pub measure: Measure,
    /// Pairs of vertices, each of which gets a row.
    pub pairs: Vec<(VertexId, VertexId)>,
    /// Without pairs: vertices whose most similar ones are found; empty: the vertex of largest
    /// degree. Duplicates count once.
    pub sources: Vec<VertexId>,
    /// Rows for each source, at most.
    pub top: u32,
}

impl Default for SimilarConfig {
    fn default() -> Self {
        Self { measure: Measure::Jaccard, pairs: Vec::new(), sources: Vec::new(), top: 10 }
    }
}

impl SimilarConfig {
    setters! {
        measure: Measure,
        pairs: Vec<(VertexId, VertexId)>,
        sources: Vec<VertexId>,
        top: u32,
    }

    fn check(&self, graph: &Graph) -> Result<()> {
        check_vertices(graph, "source", &self.sources)?;
        for (a, b) in &self.pairs {
            check_vertices(graph, "pairs", &[*a, *b])?;
        }
        let bad = |parameter, given: usize, expected: &str| {
            let (given, expected) = (given.to_string(), expected.to_owned());
            Err(AlgoError::Parameter { parameter, given, expected })
        };
        if !self.pairs.is_empty() && !self.sources.is_empty() {
            return bad("source", self.sources.len(), "pairs or sources are possible, not both");
        }
        let rows = self.sources.len().max(1) as u64 * u64::from(self.top);
        if self.top == 0 || rows.max(self.pairs.len() as u64) > u64::from(u32::MAX) {
            let expected = "at least 1, and 4294967295 rows in all at most, are possible";
            return bad("top", self.top as usize, expected);
        }
        if graph.superblock().duplicates_kept {
            return Err(AlgoError::Unsupported {
                what: NAME,
                needs: "a graph without repeated edges",
                remedy: "import without `keep_duplicates`",
            });
        }
        if self.pairs.is_empty() || self.measure == Measure::AdamicAdar {
            demand_in_edges(graph, NAME)?;
        }
        Ok(())
    }

    /// Whether degrees of both directions are needed.
    fn needs_in_degrees(&self, graph: &Graph) -> bool {
        graph.is_directed() && (self.pairs.is_empty() || self.measure == Measure::AdamicAdar)
    }
}

/// A similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// A source, or the first vertex of a pair.
    pub source: VertexId,
    /// The other vertex.
    pub target: VertexId,
    /// How similar they are.
    pub score: f64,
}

/// The similarities.
#[derive(Debug)]
#[non_exhaustive]
pub struct Similar {
    /// The pairs in the given order; or the sources in the order of their ids, each with its most
    /// similar vertices, highest score first, ties in the order of ids. A source has fewer than
    /// asked for where fewer have a neighbour in common with it.
    pub rows: Vec<Similarity>,
    /// How often lists were gathered in memory, as many as fit.
    pub batches: u64,
    /// Statistics of the run.
    pub run: Run,
}

/// The lengths of all lists.
struct Degrees {
    out: HugeVec<u32>,
    /// Of a directed graph, if they are needed.
    inward: Option<HugeVec<u32>>,
}

impl Degrees {
    fn bytes_for(graph: &Graph, similar: &SimilarConfig) -> u64 {
        let each = if similar.needs_in_degrees(graph) { 8 } else { 4 };
        each * graph.vertices() as u64
    }

    fn load(graph: &Graph, similar: &SimilarConfig) -> Result<Self> {
        let of = |direction| -> Result<HugeVec<u32>> {
            let mut degrees = HugeVec::zeroed(graph.vertices())?;
            graph.degrees(direction, &mut |first, some| {
                for (place, &degree) in degrees[first as usize..].iter_mut().zip(some) {
                    // Without repeated edges no list is longer than the number of vertices.
                    *place = u32::try_from(degree).unwrap_or(u32::MAX);
                }
            })?;
            Ok(degrees)
        };
        let is_both = similar.needs_in_degrees(graph);
        let inward = if is_both { Some(of(Direction::In)?) } else { None };
        Ok(Self { out: of(Direction::Out)?, inward })
    }

    #[inline(always)]
    fn of(&self, v: VertexId) -> u32 {
        self.out[v as usize]
    }

    /// The number of edges that lead to `w`.
    #[inline(always)]
    fn towards(&self, w: VertexId) -> u32 {
        self.inward.as_ref().unwrap_or(&self.out)[w as usize]
    }
}

/// How common neighbours count, and what a score is.
#[derive(Clone, Copy)]
struct Rules<'a> {
    measure: Measure,
    degrees: &'a Degrees,
}

impl Rules<'_> {
    /// What a common neighbour adds to a sum.
    #[inline(always)]
    fn value(&self, w: VertexId) -> u64 {
        match self.measure {
            Measure::AdamicAdar => logarithm(self.degrees.towards(w)),
            _ => 1,
        }
    }

    /// The score of two vertices by the sum over their common neighbours.
    fn score(&self, u: VertexId, v: VertexId, sum: u64) -> f64 {
        let (of_u, of_v) = (u64::from(self.degrees.of(u)), u64::from(self.degrees.of(v)));
        let share = |all: u64| if all == 0 { 0.0 } else { sum as f64 / all as f64 };
        match self.measure {
            Measure::Jaccard => share((of_u + of_v).saturating_sub(sum)),
            Measure::Overlap => share(of_u.min(of_v)),
            Measure::AdamicAdar => sum as f64 / (1u64 << FRACTION) as f64,
            Measure::Common => sum as f64,
        }
    }
}

/// 1 / ln of a degree, in fixed point.
fn logarithm(degree: u32) -> u64 {
    match degree {
        0 | 1 => 0,
        _ => ((1u64 << FRACTION) as f64 / f64::from(degree).ln()).round() as u64,
    }
}

/// Memory: 4 bytes a vertex for its degree (8 on a directed graph, for sources and Adamic–Adar),
/// two sets, 4 bytes if the graph is not in the order of its ids; for pairs 36 bytes each, and one
/// list of at most a bit a vertex; for sources 24 bytes a row, and for one source 24 bytes a
/// neighbour and at most 8 a vertex. Optionally lists of further pairs, or counts of further
/// sources.
pub fn needs(graph: &Graph, config: &EngineConfig, similar: &SimilarConfig) -> Needs {
    let n = graph.vertices();
    let sets = Bitmap::bytes_for(n) + 2 * Frontier::bytes_for(n, config.threads);
    let common = Degrees::bytes_for(graph, similar) + sets + Ranks::bytes_for(graph);
    let (own, scratch_bytes) = match similar.pairs.is_empty() {
        true => Top::bytes_for(graph, similar),
        false => Pairs::bytes_for(graph, similar.pairs.len() as u64),
    };
    Needs { what: NAME, state_bytes: common.saturating_add(own), scratch_bytes }
}

/// Estimates the memory and reads of a run.
///
/// # Errors
/// As [`run`].
pub fn estimate(graph: &Graph, config: &EngineConfig, similar: &SimilarConfig) -> Result<Estimate> {
    similar.check(graph)?;
    let needs = |config: &EngineConfig| needs(graph, config, similar);
    let plan = plan_for(graph, config, needs)?;
    let pass = pages(graph, Direction::Out) as f64;
    let (expected, because) = match similar.pairs.is_empty() {
        true => (
            Top::reads_for(graph, similar, plan.1.scratch_bytes),
            "the pages of the sources' lists and of their neighbours'",
        ),
        false => (
            Pairs::reads_for(graph, similar.pairs.len() as u64, plan.1.scratch_bytes),
            "the pages of both lists of each pair",
        ),
    };
    let Expected { lists, entries, batches } = expected;
    let of_list = 1.0 + entries * 4.0 / graph.page_bytes() as f64;
    // A batch reads a page at most once, but for what is read of the sources themselves.
    let missing = 1.0 - kept(graph, &plan.1, pass as u64);
    let likely = (lists * of_list).min(pass * (1.0 + batches * missing));
    let because = format!("{because}, once for all that run side by side");
    let full = if plan.1.scratch_bytes == needs(config).scratch_bytes { 0.3 } else { 1.0 };
    let reads = Reads::between(likely / 10.0, likely, 3.0 * likely + pass).filling(0.01, full);
    Ok(Estimate::new(graph, plan, reads, because))
}

/// Computes the similarities.
///
/// # Errors
/// A vertex that is not in the graph, a parameter out of range; repeated edges; a directed graph
/// without in-edges, for sources and Adamic–Adar; any error of the engine.
pub fn run(graph: &Arc<Graph>, config: EngineConfig, similar: &SimilarConfig) -> Result<Similar> {
    similar.check(graph)?;
    let mut sources = similar.sources.clone();
    if similar.pairs.is_empty() && sources.is_empty() && graph.live_vertices() > 0 {
        sources.push(default_source(graph)?);
    }
    sort_by_id(graph, &mut sources)?;
    let engine = engine_for(graph, config, |config| needs(graph, config, similar))?;
    engine.install(|| {
        let degrees = Degrees::load(graph, similar)?;
        let rules = Rules { measure: similar.measure, degrees: &degrees };
        let (rows, batches) = match similar.pairs.is_empty() {
            true => Top::new(&engine, rules, similar.top)?.run(&sources)?,
            false => Pairs::new(&engine, rules, &similar.pairs)?.run()?,
        };
        Ok(Similar { rows, batches, run: Run::of(&engine) })
    })
}

fn wrong(fault: String) -> AlgoError {
    AlgoError::Wrong { what: NAME, fault }
}

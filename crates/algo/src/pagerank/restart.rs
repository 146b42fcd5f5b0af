//! The distribution of the surfer when it follows no edge.

use cenote_engine::{Bitmap, Graph, VertexId};

use super::{PageRankConfig, Variant};
use crate::report::{AlgoError, Result};

/// A distribution over all or given vertices.
#[derive(Debug)]
pub(super) struct Restart {
    /// The given vertices, or those that are not deleted; `None` for all.
    members: Option<Bitmap>,
    /// The probability of each of them, if these are equal.
    each: f64,
    /// Else those of the given vertices, ascending by vertex.
    unequal: Vec<(VertexId, f64)>,
    damping: f64,
    /// Whether the mass of vertices without out-edges is distributed; otherwise it is lost.
    keeps_dangling: bool,
}

/// The mass of a vertex in one iteration without its in-neighbours' shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base<'a> {
    restart: &'a Restart,
    mass: f64,
    /// The mass of each member, where these are equal.
    each: f64,
}

impl Restart {
    /// # Errors
    /// Vertices that are not in the graph; given vertices with [`Variant::Cave`]; weights that are
    /// no distribution.
    pub fn new(graph: &Graph, config: &PageRankConfig) -> Result<Self> {
        let (n, chosen) = (graph.vertices(), &config.personalize);
        let live = graph.live_vertices();
        if let Some(v) = chosen.iter().find(|&&v| v as usize >= n || graph.is_deleted(v)) {
            return refused(v.to_string(), format!("the graph has {live} vertices"));
        }
        if config.variant == Variant::Cave && !chosen.is_empty() {
            let expected = "the CAVE paper's variant starts anywhere, use the standard one";
            return refused(format!("{} vertices", chosen.len()), expected.to_string());
        }
        let unequal = probabilities(config)?;
        let is_all = chosen.is_empty() && live == n;
        let members = if is_all { None } else { Some(Bitmap::new(n)?) };
        let count = match &members {
            None => n,
            Some(members) if chosen.is_empty() => {
                (0..n as VertexId).for_each(|v| {
                    members.insert(v);
                });
                graph.deleted().iter().for_each(|&v| members.remove(v));
                live
            }
            Some(members) => chosen.iter().filter(|&&v| members.insert(v)).count(),
        };
        Ok(Self {
            members,
            each: 1.0 / count.max(1) as f64,
            unequal,
            damping: config.damping,
            keeps_dangling: config.variant == Variant::Standard,
        })
    }

    /// Bytes of the distribution.
    pub fn bytes_for(graph: &Graph, config: &PageRankConfig) -> u64 {
        let is_all = config.personalize.is_empty() && graph.deleted().is_empty();
        let members = if is_all { 0 } else { Bitmap::bytes_for(graph.vertices()) };
        members + (config.personalize_weights.len() * size_of::<(VertexId, f64)>()) as u64
    }

    /// The distribution before the first iteration.
    pub fn start(&self) -> Base<'_> {
        Base { restart: self, mass: 1.0, each: self.each }
    }

    /// The mass that each vertex gets if `dangling` of the mass is on vertices without out-edges.
    pub fn base(&self, dangling: f64) -> Base<'_> {
        let dangling = if self.keeps_dangling { dangling } else { 0.0 };
        let mass = 1.0 - self.damping + self.damping * dangling;
        Base { restart: self, mass, each: mass * self.each }
    }
}

fn refused<T>(given: String, expected: String) -> Result<T> {
    Err(AlgoError::Parameter { parameter: "personalize", given, expected })
}

/// The probabilities of the given vertices, ascending by vertex; none if they have no weights.
/// Weights of a vertex that is given more often add up.
fn probabilities(config: &PageRankConfig) -> Result<Vec<(VertexId, f64)>> {
    let (chosen, weights) = (&config.personalize, &config.personalize_weights);
    if weights.is_empty() {
        return Ok(Vec::new());
    }
    if weights.len() != chosen.len() {
        let given = format!("{} weights of {} vertices", weights.len(), chosen.len());
        return refused(given, "a weight of each vertex is needed".to_string());
    }
    let mut own: Vec<_> = chosen.iter().copied().zip(weights.iter().copied()).collect();
    own.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    own.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    // In ascending order, so that it does not depend on the numbers of the vertices.
    let mut ascending: Vec<f64> = own.iter().map(|(_, weight)| *weight).collect();
    ascending.sort_unstable_by(f64::total_cmp);
    let sum: f64 = ascending.into_iter().sum();
    if let Some(weight) = weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
        return refused(format!("the weight {weight:?}"), "weights are at least 0".to_string());
    }
    if !(sum > 0.0 && sum.is_finite()) {
        let expected = "a finite sum above 0 is needed".to_string();
        return refused(format!("weights that add up to {sum:?}"), expected);
    }
    own.iter_mut().for_each(|(_, weight)| *weight /= sum);
    Ok(own)
}

impl Base<'_> {
    /// The mass of `v`.
    #[inline(always)]
    pub fn of(&self, v: VertexId) -> f64 {
        match &self.restart.members {
            None => self.each,
            Some(members) if !members.contains(v) => 0.0,
            Some(_) if self.restart.unequal.is_empty() => self.each,
            Some(_) => self.of_member(v),
        }
    }

    /// The masses of consecutive vertices.
    #[inline(always)]
    pub fn of_all(&self, first: VertexId, masses: &mut [f64]) {
        match &self.restart.members {
            None => masses.fill(self.each),
            Some(_) => (first..).zip(masses).for_each(|(v, mass)| *mass = self.of(v)),
        }
    }

    #[inline(never)]
    fn of_member(&self, v: VertexId) -> f64 {
        let own = &self.restart.unequal;
        let at = own.binary_search_by_key(&v, |(of, _)| *of);
        at.map_or(0.0, |at| self.mass * own[at].1)
    }
}

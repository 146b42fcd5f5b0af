//! The distribution of the surfer when it follows no edge.

use cenote_engine::{Bitmap, Graph, VertexId};

use super::{PageRankConfig, Variant};
use crate::report::{AlgoError, Result};

/// The uniform distribution over all or given vertices.
#[derive(Debug)]
pub(super) struct Restart {
    /// The given vertices, or those that are not deleted; `None` for all.
    members: Option<Bitmap>,
    /// The probability of each of them.
    each: f64,
    damping: f64,
    /// Whether the mass of vertices without out-edges is distributed; otherwise it is lost.
    keeps_dangling: bool,
}

/// The mass of a vertex in one iteration without its in-neighbours' shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base<'a> {
    members: Option<&'a Bitmap>,
    each: f64,
}

impl Restart {
    /// # Errors
    /// Vertices that are not in the graph; given vertices with [`Variant::Cave`].
    pub fn new(graph: &Graph, config: &PageRankConfig) -> Result<Self> {
        let (n, chosen) = (graph.vertices(), &config.personalize);
        let refused = |given: String, expected| {
            Err(AlgoError::Parameter { parameter: "--personalize", given, expected })
        };
        let live = graph.live_vertices();
        if let Some(v) = chosen.iter().find(|&&v| v as usize >= n || graph.is_deleted(v)) {
            return refused(v.to_string(), format!("the graph has {live} vertices"));
        }
        if config.variant == Variant::Cave && !chosen.is_empty() {
            let expected = "the CAVE paper's variant starts anywhere, use the standard one";
            return refused(format!("{} vertices", chosen.len()), expected.to_string());
        }
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
            damping: config.damping,
            keeps_dangling: config.variant == Variant::Standard,
        })
    }

    /// Bytes of the distribution.
    pub fn bytes_for(graph: &Graph, config: &PageRankConfig) -> u64 {
        let is_all = config.personalize.is_empty() && graph.deleted().is_empty();
        if is_all { 0 } else { Bitmap::bytes_for(graph.vertices()) }
    }

    /// The distribution before the first iteration.
    pub fn start(&self) -> Base<'_> {
        Base { members: self.members.as_ref(), each: self.each }
    }

    /// The mass that each vertex gets if `dangling` of the mass is on vertices without out-edges.
    pub fn base(&self, dangling: f64) -> Base<'_> {
        let dangling = if self.keeps_dangling { dangling } else { 0.0 };
        let mass = 1.0 - self.damping + self.damping * dangling;
        Base { members: self.members.as_ref(), each: mass * self.each }
    }
}

impl Base<'_> {
    /// The mass of `v`.
    #[inline(always)]
    pub fn of(&self, v: VertexId) -> f64 {
        match self.members {
            Some(members) if !members.contains(v) => 0.0,
            _ => self.each,
        }
    }
}

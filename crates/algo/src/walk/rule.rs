//! The definition of a walk: starts, restarts, proposals, verdicts.

use cenote_engine::{Graph, VertexId, setters};

use super::draw::{below, draw, unit};
use crate::ranks::{Ranks, Vertices};
use crate::report::{AlgoError, Result, check_weights};

pub(super) use super::draw::Draw;

/// No vertex.
pub(super) const NONE: VertexId = VertexId::MAX;

/// The smallest `p` and `q`, and the reciprocal of the largest: beyond, a step could take millions
/// of trials.
const BIAS_MIN: f64 = 1e-3;

/// Where walks start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starts {
    /// All vertices in the order of their ids, repeatedly.
    All,
    /// A random vertex for each walk.
    Random,
    /// These vertices in this order, repeatedly.
    Listed(Vec<VertexId>),
}

impl Starts {
    /// Whether any vertex may be a start.
    pub(super) fn is_anywhere(&self) -> bool {
        !matches!(self, Self::Listed(_))
    }
}

/// What a walk does at a vertex without a possible neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadEnds {
    /// It ends there.
    #[default]
    End,
    /// It continues from its start; it ends only if its start is the dead end.
    Restart,
}

/// Parameters of random walks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WalkConfig {
    /// Number of walks.
    pub walkers: u64,
    /// Where they start.
    pub starts: Starts,
    /// The most steps of a walk.
    pub steps: u32,
    /// Probability of going back to the start instead of to a neighbour, 0 to 1.
    pub restart: f64,
    /// node2vec: the vertex before is 1/p as likely as a common neighbour.
    pub p: f64,
    /// node2vec: a vertex that is not a common neighbour is 1/q as likely as one.
    pub q: f64,
    /// What happens at a vertex without a neighbour.
    pub dead_ends: DeadEnds,
    /// Whether neighbours are chosen in proportion to the weights of their edges.
    pub weighted: bool,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for WalkConfig {
    fn default() -> Self {
        Self {
            walkers: 1,
            starts: Starts::All,
            steps: 10,
            restart: 0.0,
            p: 1.0,
            q: 1.0,
            dead_ends: DeadEnds::End,
            weighted: false,
            seed: 1,
        }
    }
}

impl WalkConfig {
    setters! {
        walkers: u64,
        starts: Starts,
        steps: u32,
        restart: f64,
        p: f64,
        q: f64,
        dead_ends: DeadEnds,
        weighted: bool,
        seed: u64,
    }

    /// Whether steps depend on the vertex before.
    pub fn is_second_order(&self) -> bool {
        self.p != 1.0 || self.q != 1.0
    }

    /// Returns an error for a parameter that is out of range for `graph`.
    pub(super) fn check(&self, graph: &Graph) -> Result<()> {
        let wrong = |parameter, given: String, expected: &str| {
            Err(AlgoError::Parameter { parameter, given, expected: expected.to_owned() })
        };
        if !(0.0..=1.0).contains(&self.restart) {
            return wrong(
                "restart",
                format!("{:?}", self.restart),
                "expected a probability, 0 to 1",
            );
        }
        for (parameter, bias) in [("p", self.p), ("q", self.q)] {
            if !(BIAS_MIN..=1.0 / BIAS_MIN).contains(&bias) {
                return wrong(parameter, format!("{bias:?}"), "expected 0.001 to 1000");
            }
        }
        if self.steps == u32::MAX {
            return wrong("steps", self.steps.to_string(), "expected at most 4294967294");
        }
        let (numbers, vertices) = (graph.vertices(), graph.live_vertices());
        if let Starts::Listed(list) = &self.starts {
            let is_none = |v: VertexId| v as usize >= numbers || graph.is_deleted(v);
            if let Some(v) = list.iter().find(|v| is_none(**v)) {
                return wrong("a start", v.to_string(), &format!("the graph has {vertices}"));
            }
            if list.is_empty() && self.walkers > 0 {
                return wrong("starts", "empty".to_owned(), "expected one id a line");
            }
        }
        if vertices == 0 && self.walkers > 0 {
            let expected = "the graph has no vertex to start from";
            return wrong("walkers", self.walkers.to_string(), expected);
        }
        if self.weighted {
            check_walk_weights(graph)?;
        }
        Ok(())
    }
}

/// Refuses graphs without weights or with negative ones.
fn check_walk_weights(graph: &Graph) -> Result<()> {
    if !graph.is_weighted() {
        return Err(AlgoError::Unsupported {
            what: "`weighted`",
            needs: "a graph with weights",
            remedy: "import it with `weights` of f32, f64, u32 or i64, or leave `weighted` out",
        });
    }
    check_weights(graph, "walks by weight need weights that are not negative; import others")
}

/// The verdict on a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Taken,
    Refused,
    /// Accepted if whether it is a neighbour of the vertex before equals `neighbour`.
    TakenIf {
        neighbour: bool,
    },
}

/// The parameters, prepared for steps.
#[derive(Debug)]
pub(super) struct Rule<'a> {
    config: &'a WalkConfig,
    vertices: u64,
    pub ranks: Ranks,
    /// Unless starts are listed.
    by_rank: Option<Vertices>,
    /// Acceptance probabilities: of the vertex before, its neighbours, others. The largest is 1.
    back: f64,
    common: f64,
    away: f64,
    second_order: bool,
}

impl<'a> Rule<'a> {
    /// Bytes of the rule.
    pub fn bytes_for(config: &WalkConfig, graph: &Graph) -> u64 {
        Ranks::bytes_for(graph) * if config.starts.is_anywhere() { 2 } else { 1 }
    }

    pub fn new(config: &'a WalkConfig, graph: &Graph) -> Result<Self> {
        let (back, away) = (1.0 / config.p, 1.0 / config.q);
        let largest = back.max(1.0).max(away);
        let anywhere = config.starts.is_anywhere();
        Ok(Self {
            config,
            vertices: graph.live_vertices() as u64,
            ranks: Ranks::load(graph)?,
            by_rank: anywhere.then(|| Vertices::load(graph)).transpose()?,
            back: back / largest,
            common: 1.0 / largest,
            away: away / largest,
            second_order: config.is_second_order(),
        })
    }

    pub fn is_weighted(&self) -> bool {
        self.config.weighted
    }

    pub fn steps(&self) -> u32 {
        self.config.steps
    }

    #[inline]
    pub fn draw(&self, walk: u64, step: u32, trial: u32) -> Draw {
        draw(self.config.seed, walk, step, trial)
    }

    /// The start of a walk.
    #[inline]
    pub fn start(&self, walk: u64) -> VertexId {
        let rank = match &self.config.starts {
            Starts::All => (walk % self.vertices) as VertexId,
            Starts::Random => below(self.draw(walk, 0, 0).position, self.vertices) as VertexId,
            Starts::Listed(list) => return list[(walk % list.len() as u64) as usize],
        };
        self.by_rank.as_ref().map_or(rank, |vertices| vertices.of(rank))
    }

    /// Whether a step goes back to the start; `draw` gives its trial 0.
    #[inline]
    pub fn restarts(&self, draw: impl FnOnce() -> Draw) -> bool {
        self.config.restart > 0.0 && unit(draw().restart) < self.config.restart
    }

    /// Whether a walk at the dead end `at` continues from `start`.
    pub fn leaves_dead_end(&self, at: VertexId, start: VertexId) -> bool {
        self.config.dead_ends == DeadEnds::Restart && at != start
    }

    /// The entry of a list of `degree` that is proposed without weights.
    #[inline]
    pub fn position(&self, draw: &Draw, degree: u64) -> u64 {
        below(draw.position, degree)
    }

    /// Whether a walk that came from `before` accepts `target`, of a list of `degree` entries:
    /// rejection sampling as in KnightKing (SOSP 2019), which tests an edge only if the result
    /// matters.
    #[inline]
    pub fn verdict(&self, draw: &Draw, target: VertexId, before: VertexId, degree: u64) -> Verdict {
        if !self.second_order || before == NONE || degree == 1 {
            return Verdict::Taken;
        }
        let chance = unit(draw.accept);
        if target == before {
            return if chance < self.back { Verdict::Taken } else { Verdict::Refused };
        }
        match (chance < self.common, chance < self.away) {
            (true, true) => Verdict::Taken,
            (false, false) => Verdict::Refused,
            (neighbour, _) => Verdict::TakenIf { neighbour },
        }
    }
}

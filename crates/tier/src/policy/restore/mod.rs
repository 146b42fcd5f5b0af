//! `restore`: ReStore, one learning agent for each tier (dissertation 6.4).
//!
//! An agent's state is s1, the mean temperature of its tier's pages, and s2, the requests that wait
//! there times l_r / k_r + alpha l_r / k_w. Its value function has four fuzzy rules
//! ([`value`](Rules)). An accessed page is promoted from tier i to j if
//!
//! > v_up(i) + v_up(j) >= v_not(i) + v_not(j)    (6.4)
//!
//! for the states after and before the move; if j is full, its coldest page is demoted. At the end
//! of each state the agents learn by TD(lambda) (6.6) with the text's rate
//! 0.1 / (1 + 100 sum phi) and the negative mean response time of all requests.
//!
//! Choices where the text is open: a state lasts 100 accesses and is one unit of time (beta = 0.1,
//! lambda = 0.8, as in the authors' program); mean and range of the state variables are those of
//! 500 samples, one every 4 accesses; the reward is negative, as in its definition but not its
//! formula, and is "the overall response time", the same for all agents; the states after the move
//! include the demoted page and all four reads and writes; parameters start at 0, so the first
//! values tie and those pages are promoted.
//!
//! The authors' program is a different algorithm: `restore:code`. Its single options, and others:
//!
//! | option | instead |
//! |---|---|
//! | `additive` | four rules of one membership each |
//! | `code-diff` | upgrade if the change of v(j) is at least that of v(i) |
//! | `s1-weighted` | Eq. 6.4 with each v times its s1, as the prose behind it says |
//! | `guard` | also require that the page is hotter than the demoted one |
//! | `tier-reward` | each agent gets the mean response time of its own tier |
//! | `model-reward` | all agents get Eq. 6.1's sum, negative, and nothing measured |
//! | `rate=X` | a constant learning rate |
//! | `explore=X` | pages of the slower tiers are also promoted with this probability |
//! | `escape` | upgrade while either value is exactly 0 |

mod value;

use cenote_device::mix;
use serde::{Deserialize, Serialize};

use super::lowest::Lowest;
use super::saved::{ACCESSES_MAX, Load, StateHeader, check};
use super::temperature::{self, ONE, Temperatures};
use super::{Access, Context, Options, Policy, PolicyKind};
use crate::error::Result;
use crate::placement::{Move, Page, Placement, Tier};
use crate::spec::TierSpec;
pub use value::Rules;
use value::{Agent, Learning, Samples};

/// Accesses of one state, and between two samples of the state variables.
const STATE_ACCESSES: u64 = 100;
const SAMPLE_ACCESSES: u64 = 4;

const BETA: f64 = 0.1;
const LAMBDA: f64 = 0.8;

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Equation 6.4.
    Sum,
    /// The authors' program: the faster tier gains at least what the slower does.
    Difference,
    /// Equation 6.4 with each value times the mean temperature of its tier.
    Weighted,
}

/// The reward of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// Mean response time of their own tier.
    Tier,
    /// Mean response time of all tiers.
    System,
    /// Equation 6.1.
    Model,
}

/// ReStore's options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReStoreConfig {
    /// How memberships combine to rules.
    pub rules: Rules,
    /// How values are compared.
    pub criterion: Criterion,
    /// The reward of the agents.
    pub reward: Reward,
    /// Never demote a page that is hotter than the promoted one.
    pub guard: bool,
    /// A constant learning rate.
    pub rate: Option<f64>,
    /// Probability of a random promotion.
    pub explore: f64,
    /// Promote while either value is 0.
    pub escape: bool,
    /// Warming by a request: 0.2 in the text.
    pub gain: f64,
}

impl ReStoreConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        let is_code = options.word("code");
        let mut or_code = |word| options.word(word) || is_code;
        let additive = or_code("additive");
        let difference = or_code("code-diff");
        let model = or_code("model-reward");
        let escape = or_code("escape");
        let rate = options.number("rate", if is_code { 1e-4 } else { 0.0 }, 0.0..=1.0)?;
        let explore = options.number("explore", if is_code { 0.005 } else { 0.0 }, 0.0..=1.0)?;
        Ok(Self {
            rules: if additive { Rules::Additive } else { Rules::Product },
            criterion: match (options.word("s1-weighted"), difference) {
                (true, _) => Criterion::Weighted,
                (false, true) => Criterion::Difference,
                (false, false) => Criterion::Sum,
            },
            reward: match (options.word("tier-reward"), model) {
                (true, _) => Reward::Tier,
                (false, true) => Reward::Model,
                (false, false) => Reward::System,
            },
            guard: options.word("guard"),
            rate: (rate > 0.0).then_some(rate),
            explore,
            escape,
            gain: options.number("gain", 0.2, 0.001..=10.0)?,
        })
    }
}

/// Discounted sum and number of a state's response times.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Responses {
    sum_ms: f64,
    count: u64,
}

impl Responses {
    fn reward(self) -> f64 {
        if self.count == 0 { 0.0 } else { -self.sum_ms / self.count as f64 }
    }
}

/// The policy.
#[derive(Debug)]
pub struct ReStore {
    header: StateHeader,
    config: ReStoreConfig,
    learning: Learning,
    temperatures: Temperatures,
    coldest: Lowest,
    agents: Vec<Agent>,
    responses: Vec<Responses>,
    /// By tier, in milliseconds: the weight of a waiting request in s2, and the mean I/O time.
    task_ms: Vec<f64>,
    access_ms: Vec<f64>,
    accesses: u64,
    seed: u64,
}

/// The average I/O time of Equation 6.1: half reads, half writes.
fn access_ms(tier: &TierSpec) -> f64 {
    (tier.read_ns + tier.write_ns) as f64 / 2e6
}

/// l_r / k_r + alpha l_r / k_w.
fn task_ms(tier: &TierSpec) -> f64 {
    (tier.read_share_ns() + tier.write_share_ns()) / 1e6
}

impl ReStore {
    pub(super) fn new(config: ReStoreConfig, context: &Context<'_>) -> Self {
        let Context { tiers, placement, seed, .. } = *context;
        let temperatures = Temperatures::new(placement, config.gain);
        let coldest = Lowest::new(placement, |page| temperatures.key(page));
        let task_ms: Vec<f64> = tiers.iter().map(task_ms).collect();
        let range_min = 0.1 / f64::from(placement.pages());
        let agent = |&task: &f64| {
            Agent::new(config.rules, [Samples::new(0.5, range_min), Samples::new(task, 2.0 * task)])
        };
        Self {
            header: StateHeader::new(PolicyKind::ReStore(config), context),
            config,
            learning: Learning { gamma: (-BETA).exp(), lambda: LAMBDA, rate: config.rate },
            agents: task_ms.iter().map(agent).collect(),
            responses: vec![Responses::default(); tiers.len()],
            access_ms: tiers.iter().map(access_ms).collect(),
            temperatures,
            coldest,
            task_ms,
            accesses: 0,
            seed,
        }
    }

    fn state(&self, tier: Tier, access: &Access<'_>, placement: &Placement) -> [f64; 2] {
        let sum = self.temperatures.sum(tier) as f64 / ONE as f64;
        let s1 = sum / placement.count(tier).max(1) as f64;
        let queued = access.queued.get(usize::from(tier)).copied().unwrap_or(0);
        [s1, f64::from(queued) * self.task_ms[usize::from(tier)]]
    }

    /// Lets the agents sample their states and, at the end of a state, learn.
    fn observe(&mut self, access: &Access<'_>, placement: &Placement) {
        let samples = self.accesses.is_multiple_of(SAMPLE_ACCESSES);
        let learns = self.accesses.is_multiple_of(STATE_ACCESSES);
        if !samples && !learns {
            return;
        }
        let tiers = 0..placement.tiers() as Tier;
        let states: Vec<[f64; 2]> = tiers.map(|tier| self.state(tier, access, placement)).collect();
        for (agent, state) in self.agents.iter_mut().zip(&states).filter(|_| samples) {
            agent.windows[0].sample(state[0]);
            agent.windows[1].sample(state[1]);
        }
        if !learns {
            return;
        }
        let system = self.system_reward(&states, placement);
        for (tier, state) in states.iter().enumerate() {
            let own = std::mem::take(&mut self.responses[tier]).reward();
            let reward = if self.config.reward == Reward::Tier { own } else { system };
            if self.accesses == STATE_ACCESSES {
                self.agents[tier].begin(*state);
            } else {
                self.agents[tier].learn(reward, *state, &self.learning);
            }
        }
    }

    fn system_reward(&self, states: &[[f64; 2]], placement: &Placement) -> f64 {
        if self.config.reward != Reward::Model {
            let sum_ms = self.responses.iter().map(|r| r.sum_ms).sum();
            return Responses { sum_ms, count: self.responses.iter().map(|r| r.count).sum() }
                .reward();
        }
        let cost = |(tier, state): (usize, &[f64; 2])| {
            let pages = placement.count(tier as Tier) as f64;
            self.access_ms[tier] * pages * ((1.0 + state[0]) / 2.0).exp()
        };
        -states.iter().enumerate().map(cost).sum::<f64>() / f64::from(placement.pages())
    }

    /// The states of the slower and the faster tier, each before and after the moves.
    fn states(
        &self,
        access: &Access<'_>,
        placement: &Placement,
        [here, above]: [Tier; 2],
        victim: Option<Page>,
    ) -> [[[f64; 2]; 2]; 2] {
        let warmth = |page| self.temperatures.now(page) as f64 / ONE as f64;
        let gained = warmth(access.page) - victim.map_or(0.0, warmth);
        let moved = 1.0 + f64::from(u8::from(victim.is_some()));
        let pages_moved = 2.0 - moved;
        let after = |tier: Tier, before: [f64; 2], sign: f64| {
            let pages = placement.count(tier) as f64;
            let left = (pages + sign * pages_moved).max(1.0);
            let s1 = (before[0] * pages + sign * gained) / left;
            [s1.max(0.0), before[1] + moved * self.task_ms[usize::from(tier)]]
        };
        let below = self.state(here, access, placement);
        let top = self.state(above, access, placement);
        [[below, after(here, below, -1.0)], [top, after(above, top, 1.0)]]
    }

    /// Whether to promote the page, by the criterion.
    fn rises(&self, states: &[[[f64; 2]; 2]; 2], [here, above]: [Tier; 2]) -> bool {
        let value = |tier: Tier, state: [f64; 2]| {
            let value = self.agents[usize::from(tier)].value(state);
            if self.config.criterion == Criterion::Weighted { value * state[0] } else { value }
        };
        let [[low_not, low_up], [high_not, high_up]] = *states;
        let (low_not, low_up) = (value(here, low_not), value(here, low_up));
        let (high_not, high_up) = (value(above, high_not), value(above, high_up));
        if self.config.escape && (low_not == 0.0 || high_not == 0.0) {
            return true;
        }
        match self.config.criterion {
            Criterion::Difference => high_up - high_not >= low_up - low_not,
            Criterion::Sum | Criterion::Weighted => low_up + high_up >= low_not + high_not,
        }
    }

    /// Whether to promote a page of the slower tiers at random.
    fn explores(&self, above: Tier) -> bool {
        let random = mix(mix(self.seed) ^ self.accesses) >> 11;
        above > 0 && (random as f64) < self.config.explore * (1u64 << 53) as f64
    }
}

impl Policy for ReStore {
    fn access(&mut self, access: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        let page = access.page;
        let here = placement.tier_of(page);
        self.accesses += 1;
        let before = self.temperatures.touch(page, here);
        let key = self.temperatures.key(page);
        if key < before {
            self.coldest.push(here, page, key);
        }
        self.observe(access, placement);
        let Some(above) = here.checked_sub(1) else { return };
        let mut victim = None;
        if !placement.has_room(above) {
            let temperatures = &self.temperatures;
            let coldest = self.coldest.get(above, placement, |p| temperatures.key(p));
            let Some((rank, coldest)) = coldest else { return };
            if self.config.guard && rank >= key {
                return;
            }
            victim = Some(coldest);
        }
        let states = self.states(access, placement, [here, above], victim);
        if self.rises(&states, [here, above]) || self.explores(above) {
            moves.extend(victim.map(|victim| Move { page: victim, to: here }));
            moves.push(Move { page, to: above });
        }
    }

    fn moved(&mut self, page: Page, from: Tier, to: Tier) {
        self.temperatures.moved(page, from, to);
        self.coldest.push(to, page, self.temperatures.key(page));
    }

    fn responded(&mut self, tier: Tier, _arrival_ns: u64, response_ns: u64) {
        let passed = (self.accesses % STATE_ACCESSES) as f64 / STATE_ACCESSES as f64;
        let responses = &mut self.responses[usize::from(tier)];
        responses.sum_ms += response_ns as f64 / 1e6 * (-BETA * passed).exp();
        responses.count += 1;
    }

    fn set_speeds(&mut self, tiers: &[TierSpec]) {
        self.task_ms = tiers.iter().map(task_ms).collect();
        self.access_ms = tiers.iter().map(access_ms).collect();
    }

    fn wants_responses(&self) -> bool {
        true
    }

    fn memory_bytes(&self) -> usize {
        self.temperatures.memory_bytes() + self.coldest.memory_bytes()
    }

    fn save(&self) -> Result<Vec<u8>> {
        let learned = (&self.agents, &self.responses, self.accesses, self.seed);
        self.header.pack((self.temperatures.state(), learned))
    }

    fn heat(&self, page: Page) -> Option<f64> {
        self.temperatures.heat(page)
    }
}

impl Load for ReStore {
    fn load(&mut self, placement: &Placement, bytes: &[u8]) -> Result<()> {
        let ((temperatures, learned), pages): ((temperature::Saved, _), _) =
            self.header.unpack(bytes)?;
        let (agents, responses, accesses, seed): (Vec<Agent>, Vec<Responses>, u64, u64) = learned;
        let tiers = self.agents.len();
        check(agents.len() == tiers && responses.len() == tiers, || {
            format!("{} agents for {tiers} tiers", agents.len())
        })?;
        check(accesses == temperatures.3, || format!("{accesses} accesses"))?;
        let can_be = |r: &Responses| r.sum_ms.is_finite() && r.count <= ACCESSES_MAX;
        check(responses.iter().all(can_be), || "response times".into())?;
        for (agent, saved) in self.agents.iter_mut().zip(agents) {
            agent.load(saved)?;
        }
        self.temperatures.load(placement, temperatures, pages)?;
        (self.responses, self.accesses, self.seed) = (responses, accesses, seed);
        self.coldest = Lowest::new(placement, |page| self.temperatures.key(page));
        Ok(())
    }
}

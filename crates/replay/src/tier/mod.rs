//! Replays loads through tiers in virtual time, with each migration policy.
//!
//! - [`tier_replay`] with its [`TierReplayConfig`]: the entry point
//! - [`load`]: loads of tiers
//! - [`capacity`]: capacities of tiers
//! - [`row`]: the results
//! - [`simulation`]: tiers, a placement and a policy in virtual time

pub mod capacity;
pub mod load;
pub mod row;
pub mod simulation;

use cenote_tier::placement::Placement;
use cenote_tier::policy::{Context, Oracle, Policy, PolicySpec};
use cenote_tier::spec::{TIERS_MAX, TierSpec};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::chart::{Body, Chart};
use crate::control::{Control, Meter};
use crate::error::{Result, require};
use crate::load::{LoadConfig, Sizes};
use capacity::Capacities;
use load::{TierLoad, TierLoadKind};
use row::{Case, Row};
use simulation::{Arrivals, Decisions, Replay, Report};

/// Pages and accesses of the dissertation's evaluation (6.6.1).
pub const PAPER_PAGES: u64 = 10_000;
const PAPER_OPS: u64 = 1_000_000;

/// Capacities of the dissertation's upper tiers.
const PAPER_CAPACITY: &str = "3%,8%";

/// Accesses between two reads of the CPU clock.
const CHUNK: usize = 4096;

/// Configuration of a replay: loads, tiers and policies.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TierReplayConfig {
    /// The loads, with different names.
    pub loads: Vec<TierLoadKind>,
    /// Tiers from the fastest; default: the dissertation's three.
    pub tiers: Vec<TierSpec>,
    /// Choices of capacities of the tiers but the slowest, which holds all pages. Empty means 3%
    /// and 8%.
    pub capacities: Vec<Capacities>,
    /// Migration policies.
    pub policies: Vec<PolicySpec>,
    /// The arrivals of requests.
    pub arrivals: Arrivals,
    /// The parameters of the loads; the seed is also that of the initial placement.
    pub load: LoadConfig,
    /// Accesses for the measurement of CPU time, the first half as a warm-up; 0 for none.
    pub cpu_ops: u64,
}

impl Default for TierReplayConfig {
    /// All policies on the dissertation's tiers, without loads.
    fn default() -> Self {
        Self {
            loads: Vec::new(),
            tiers: TierSpec::text().to_vec(),
            capacities: Vec::new(),
            policies: PolicySpec::all(),
            arrivals: Arrivals::Closed { clients: 32 },
            load: LoadConfig { read_share: Some(0.5), ..LoadConfig::default() },
            cpu_ops: 200_000,
        }
    }
}

/// All results.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TierReplay {
    /// The tiers, as in options.
    pub tiers: String,
    /// Clients of closed arrivals.
    pub clients: Option<u32>,
    /// Time between two requests of open arrivals.
    pub interval_us: Option<f64>,
    /// The seed of loads and placement.
    pub seed: u64,
    /// A row for each load, choice of capacities and policy.
    pub rows: Vec<Row>,
}

/// Replays every load with every choice of capacities and every policy.
///
/// # Errors
/// Invalid parameters, before anything is replayed; traces that cannot be read.
pub fn tier_replay(config: &TierReplayConfig, control: Control<'_>) -> Result<TierReplay> {
    let tiers: Vec<String> = config.tiers.iter().map(ToString::to_string).collect();
    let (clients, interval_us) = match config.arrivals {
        Arrivals::Closed { clients } => (Some(clients), None),
        Arrivals::Open { interval_ns } => (None, Some(interval_ns as f64 / 1e3)),
    };
    let rows = config.rows(control)?;
    Ok(TierReplay { tiers: tiers.join(","), clients, interval_us, seed: config.load.seed, rows })
}

/// A load on a choice of capacities.
struct Setting<'a> {
    load: &'a TierLoad,
    tiers: &'a [TierSpec],
    placement: &'a Placement,
    oracle: Option<&'a Oracle>,
    seed: u64,
    meter: &'a Meter<'a>,
}

impl Setting<'_> {
    fn begin(&self, spec: &PolicySpec) -> Result<(Placement, Box<dyn Policy>)> {
        let Self { tiers, placement, oracle, seed, .. } = *self;
        let context = Context { tiers, placement, seed, oracle };
        let initial = spec.initial(&context)?;
        let policy = spec.build(&Context { placement: &initial, ..context })?;
        Ok((initial, policy))
    }

    fn replay(&self, spec: &PolicySpec, arrivals: Arrivals) -> Result<Report> {
        let (placement, policy) = self.begin(spec)?;
        let mut replay = Replay::new(self.tiers, placement, policy, arrivals)?;
        let mut done = 0u64;
        self.load.for_each(&self.meter.control, |request| {
            done += 1;
            if done.is_multiple_of(1 << 12) {
                self.meter.advance(1 << 12);
            }
            replay.push(request)?;
            Ok(true)
        })?;
        Ok(replay.finish())
    }

    /// CPU time per decision in microseconds, over the second half of `most` accesses.
    fn cpu_us(&self, spec: &PolicySpec, most: u64) -> Result<f64> {
        if most == 0 {
            return Ok(0.0);
        }
        let (placement, policy) = self.begin(spec)?;
        let mut decisions = Decisions::new(self.tiers, placement, policy);
        let most = most.min(self.load.ops);
        let (mut done, mut timed, mut ns) = (0u64, 0u64, 0u64);
        let mut chunk = Vec::with_capacity(CHUNK);
        self.load.for_each(&self.meter.control, |request| {
            chunk.push(request);
            done += 1;
            if chunk.len() == CHUNK || done == most {
                let start = cpu_ns();
                for request in chunk.drain(..) {
                    decisions.push(request)?;
                }
                if done > most / 2 {
                    timed += CHUNK.min(done as usize) as u64;
                    ns += cpu_ns() - start;
                }
            }
            Ok(done < most)
        })?;
        Ok(ns as f64 / 1e3 / timed.max(1) as f64)
    }
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl TierReplayConfig {
    fn loads(&self, control: &Control<'_>) -> Result<Vec<TierLoad>> {
        let pages = self.load.pages.unwrap_or(PAPER_PAGES);
        let sizes = Sizes { pages, ops: self.load.ops.unwrap_or(PAPER_OPS) };
        let mut loads: Vec<TierLoad> = Vec::new();
        for kind in &self.loads {
            let load = TierLoad::survey(kind.clone(), self.load.clone(), sizes, control)?;
            require(loads.iter().all(|other| other.name != load.name), || {
                format!("two loads are called {}: replay them in two runs", load.name)
            })?;
            loads.push(load);
        }
        Ok(loads)
    }

    fn rows(&self, control: Control<'_>) -> Result<Vec<Row>> {
        let count = self.tiers.len();
        require((2..=TIERS_MAX).contains(&count), || {
            format!("`tiers`: {count} of them, expected 2 to {TIERS_MAX}")
        })?;
        let loads = self.loads(&control)?;
        let capacities = match &self.capacities[..] {
            [] => vec![PAPER_CAPACITY.parse().map_err(crate::ReplayError::Config)?],
            given => given.to_vec(),
        };
        let mut placements = Vec::new();
        for load in &loads {
            for capacity in &capacities {
                placements.push((load, capacity, capacity.pages(count, load.pages.into())?));
            }
        }
        let ops = placements.iter().fold(0u64, |sum, (load, ..)| sum.saturating_add(load.ops));
        let meter = &Meter::new(control, "replay", ops.saturating_mul(self.policies.len() as u64));
        let mut rows = Vec::new();
        for (load, capacity, pages) in placements {
            let placement = &Placement::shuffled(load.pages, &pages, self.load.seed)?;
            let wants_oracle = self.policies.iter().any(PolicySpec::wants_oracle);
            let oracle = wants_oracle.then(|| load.oracle(&control)).transpose()?;
            let (tiers, seed, oracle) = (&self.tiers[..], self.load.seed, oracle.as_ref());
            let setting = Setting { load, tiers, placement, oracle, seed, meter };
            for policy in &self.policies {
                let case = Case {
                    workload: load.name.clone(),
                    policy: policy.to_string(),
                    capacity: capacity.to_string(),
                    pages: load.pages,
                    seed,
                };
                let report = setting.replay(policy, self.arrivals)?;
                rows.push(Row::new(case, &report, setting.cpu_us(policy, self.cpu_ops)?));
            }
        }
        Ok(rows)
    }
}

impl TierReplay {
    /// Runtimes as bars: a group for each load and choice of capacities, a bar for each policy.
    pub fn chart(&self) -> Chart {
        let group = |row: &Row| format!("{} {}", row.workload, row.capacity);
        let bars = self.rows.iter().map(|row| (group(row), row.policy.clone(), row.runtime_s));
        let title = "Runtime by policy".to_owned();
        Chart { title, unit: "seconds", level: None, body: Body::bars(bars) }
    }
}

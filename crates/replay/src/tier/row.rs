//! The result of one combination of load, capacities and policy.

use serde::Serialize;

use super::simulation::Report;

/// One load with one policy and one choice of capacities. The names are a contract: scripts read
/// them.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The load.
    pub workload: String,
    /// Migration policy.
    pub policy: String,
    /// What the tiers above the slowest hold.
    pub capacity: String,
    /// From the start until all is done.
    pub runtime_s: f64,
    /// Mean response time.
    pub response_us_mean: f64,
    /// Median response time.
    pub response_us_p50: f64,
    /// The response time that 99% do not exceed.
    pub response_us_p99: f64,
    /// Pages moved to a faster tier.
    pub migrations: u64,
    /// Pages moved to a slower tier.
    pub demotions: u64,
    /// Pages moved, by where from and where to.
    pub migration_pairs: Vec<Pair>,
    /// Which part of all page reads and writes were for moves.
    pub migration_io_share: f64,
    /// Processor time of the decision about one access.
    pub cpu_us_per_access: f64,
    /// Bytes of the policy and of the map from pages to tiers.
    pub bytes_per_page: f64,
    /// By tier, from the fastest.
    pub tiers: Vec<TierRow>,
    /// Pages of the load.
    pub pages: u32,
    /// Accesses.
    pub ops: u64,
    /// Of the load and of where pages lie at the start.
    pub seed: u64,
}

/// Pages that moved from one tier to another, which are counted from 1.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Where from.
    pub from: usize,
    /// Where to.
    pub to: usize,
    /// How many.
    pub pages: u64,
}

/// What one tier did.
#[derive(Clone, Debug, Serialize)]
pub struct TierRow {
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Pages read to move them away.
    pub migration_reads: u64,
    /// Pages written that moved here.
    pub migration_writes: u64,
    /// Time for which the whole device would have been busy.
    pub busy_s: f64,
}

/// Which load and which policy a report is of.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// See [`Row::workload`].
    pub workload: String,
    /// See [`Row::policy`].
    pub policy: String,
    /// See [`Row::capacity`].
    pub capacity: String,
    /// See [`Row::pages`].
    pub pages: u32,
    /// See [`Row::seed`].
    pub seed: u64,
}

impl Row {
    /// The row of a replay.
    pub(crate) fn new(case: Case, report: &Report, cpu_us_per_access: f64) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let us = |ns: f64| ns / 1e3;
        let tiers = report.tiers.iter().map(|tier| TierRow {
            reads: tier.reads,
            writes: tier.writes,
            migration_reads: tier.move_reads,
            migration_writes: tier.move_writes,
            busy_s: seconds(tier.busy_ns),
        });
        let Case { workload, policy, capacity, pages, seed } = case;
        let bytes = report.policy_bytes + report.map_bytes;
        Self {
            workload,
            policy,
            capacity,
            runtime_s: seconds(report.runtime_ns),
            response_us_mean: us(report.response_ns_mean),
            response_us_p50: us(report.response_ns_p50 as f64),
            response_us_p99: us(report.response_ns_p99 as f64),
            migrations: report.promotions(),
            demotions: report.demotions(),
            migration_pairs: pairs(report),
            migration_io_share: report.move_io_share(),
            cpu_us_per_access,
            bytes_per_page: bytes as f64 / f64::from(pages),
            tiers: tiers.collect(),
            pages,
            ops: report.ops,
            seed,
        }
    }
}

fn pairs(report: &Report) -> Vec<Pair> {
    let each = report.moves.iter().enumerate().flat_map(|(from, to)| {
        to.iter().enumerate().map(move |(to, &pages)| Pair { from: from + 1, to: to + 1, pages })
    });
    each.filter(|pair| pair.pages > 0).collect()
}

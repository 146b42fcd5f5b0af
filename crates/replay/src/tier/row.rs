//! The result of one combination of load, capacities and policy.

use serde::Serialize;

use super::simulation::Report;

/// One load with one policy and one choice of capacities. The field names are a contract.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The load.
    pub workload: String,
    /// Migration policy.
    pub policy: String,
    /// Capacities of the tiers but the slowest.
    pub capacity: String,
    /// Time from the start until all requests and moves are done.
    pub runtime_s: f64,
    /// Mean response time.
    pub response_us_mean: f64,
    /// Median response time.
    pub response_us_p50: f64,
    /// 99th percentile of the response time.
    pub response_us_p99: f64,
    /// Pages moved to a faster tier.
    pub migrations: u64,
    /// Pages moved to a slower tier.
    pub demotions: u64,
    /// Pages moved, by source and target.
    pub migration_pairs: Vec<Pair>,
    /// Share of moves in all page reads and writes.
    pub migration_io_share: f64,
    /// CPU time of the policy's decision per access.
    pub cpu_us_per_access: f64,
    /// Bytes of the policy and of the map, per page.
    pub bytes_per_page: f64,
    /// By tier, from the fastest.
    pub tiers: Vec<TierRow>,
    /// Pages of the load.
    pub pages: u32,
    /// Accesses.
    pub ops: u64,
    /// The seed of the load and the initial placement.
    pub seed: u64,
}

/// Pages moved from one tier to another; tiers count from 1.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// Source.
    pub from: usize,
    /// Target.
    pub to: usize,
    /// Number of pages.
    pub pages: u64,
}

/// Counts of one tier.
#[derive(Clone, Debug, Serialize)]
pub struct TierRow {
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Pages read for moves to other tiers.
    pub migration_reads: u64,
    /// Pages written for moves from other tiers.
    pub migration_writes: u64,
    /// Time for which the fully used device would be busy.
    pub busy_s: f64,
}

/// The load and policy of a report.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub workload: String,
    pub policy: String,
    pub capacity: String,
    pub pages: u32,
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

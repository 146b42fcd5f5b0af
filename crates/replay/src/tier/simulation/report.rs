//! The report of a replay.

use cenote_tier::placement::Tier;

/// Counts of one tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierReport {
    /// Read requests.
    pub reads: u64,
    /// Write requests.
    pub writes: u64,
    /// Pages read for moves to other tiers.
    pub move_reads: u64,
    /// Pages written for moves from other tiers.
    pub move_writes: u64,
    /// Time for which the fully used device would be busy.
    pub busy_ns: u64,
}

/// The results of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Requests.
    pub ops: u64,
    /// Time from the start until all requests and moves are done.
    pub runtime_ns: u64,
    /// Mean response time.
    pub response_ns_mean: f64,
    /// Median response time, to 1/64.
    pub response_ns_p50: u64,
    /// 99th percentile of the response time, to 1/64.
    pub response_ns_p99: u64,
    /// Pages moved, `[from][to]`.
    pub moves: Vec<Vec<u64>>,
    /// By tier, from the fastest.
    pub tiers: Vec<TierReport>,
    /// Bytes of the policy at the end.
    pub policy_bytes: u64,
    /// Bytes of the map from pages to tiers.
    pub map_bytes: u64,
}

impl Report {
    pub(super) fn new(tiers: usize) -> Self {
        Self {
            ops: 0,
            runtime_ns: 0,
            response_ns_mean: 0.0,
            response_ns_p50: 0,
            response_ns_p99: 0,
            moves: vec![vec![0; tiers]; tiers],
            tiers: vec![TierReport::default(); tiers],
            policy_bytes: 0,
            map_bytes: 0,
        }
    }

    pub(super) fn served(&mut self, tier: Tier, write: bool, end_ns: u64) {
        let tier = &mut self.tiers[tier as usize];
        if write {
            tier.writes += 1;
        } else {
            tier.reads += 1;
        }
        self.ops += 1;
        self.runtime_ns = self.runtime_ns.max(end_ns);
    }

    pub(super) fn moved(&mut self, from: Tier, to: Tier) {
        self.moves[from as usize][to as usize] += 1;
        self.tiers[from as usize].move_reads += 1;
        self.tiers[to as usize].move_writes += 1;
    }

    /// Pages that moved to a faster tier: migrations in the dissertation.
    pub fn promotions(&self) -> u64 {
        let each = self.moves.iter().enumerate();
        each.map(|(from, to)| to[..from].iter().sum::<u64>()).sum()
    }

    /// Pages that moved to a slower tier.
    pub fn demotions(&self) -> u64 {
        let each = self.moves.iter().enumerate();
        each.map(|(from, to)| to[from..].iter().sum::<u64>()).sum()
    }

    /// Share of moves in all reads and writes.
    pub fn move_io_share(&self) -> f64 {
        let moves = 2 * (self.promotions() + self.demotions());
        moves as f64 / (self.ops + moves).max(1) as f64
    }
}

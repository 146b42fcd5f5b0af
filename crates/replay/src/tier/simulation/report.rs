//! What is told of a replay.

use cenote_tier::placement::Tier;

/// What one tier did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierReport {
    /// Requests that read here.
    pub reads: u64,
    /// Requests that wrote here.
    pub writes: u64,
    /// Pages read to move them away.
    pub move_reads: u64,
    /// Pages written that moved here.
    pub move_writes: u64,
    /// Time for which all of the device would have been busy with what it did.
    pub busy_ns: u64,
}

/// What all tiers did.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Requests.
    pub ops: u64,
    /// From the start until the last tier had done its work, moves included.
    pub runtime_ns: u64,
    /// Mean response time.
    pub response_ns_mean: f64,
    /// Median response time, to 1/64.
    pub response_ns_p50: u64,
    /// The response time that 99% do not exceed, to 1/64.
    pub response_ns_p99: u64,
    /// Pages moved, `[from][to]`.
    pub moves: Vec<Vec<u64>>,
    /// By tier, from the fastest.
    pub tiers: Vec<TierReport>,
    /// Bytes that the policy held at the end.
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

    /// Pages that moved to a faster tier: what the dissertation counts as migrations.
    pub fn promotions(&self) -> u64 {
        let each = self.moves.iter().enumerate();
        each.map(|(from, to)| to[..from].iter().sum::<u64>()).sum()
    }

    /// Pages that moved to a slower tier.
    pub fn demotions(&self) -> u64 {
        let each = self.moves.iter().enumerate();
        each.map(|(from, to)| to[from..].iter().sum::<u64>()).sum()
    }

    /// Which part of all reads and writes were for moves.
    pub fn move_io_share(&self) -> f64 {
        let moves = 2 * (self.promotions() + self.demotions());
        moves as f64 / (self.ops + moves).max(1) as f64
    }
}

//! Configuration of a sweep.

use super::data::{DEPTHS, SIZES};
use crate::model::knee;
use crate::op::Op;
use crate::setters;

/// What a sweep measures. The defaults of [`full`](Self::full) and [`quick`](Self::quick) suit
/// every drive; tests and experiments narrow them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileConfig {
    /// Request sizes, ascending, multiples of the device's block size.
    pub sizes: Vec<u64>,
    /// Depths of random requests, ascending, at most 4,096.
    pub depths: Vec<u32>,
    /// Depths of sequential requests, ascending.
    pub depths_sequential: Vec<u32>,
    /// Reads, writes or both. Writes overwrite the region.
    pub ops: Vec<Op>,
    /// Seconds for which a cell is counted.
    pub cell_seconds: f64,
    /// Times that each cell is measured; the median counts.
    pub repetitions: u32,
    /// Depths that may be added on each curve to narrow k down.
    pub refinements: u32,
    /// Seconds of uncounted requests at the start.
    pub warm_up_seconds: f64,
    /// Seconds after which cells that are still missing are left out; what was measured counts.
    pub seconds_max: f64,
    /// Share of the maximal throughput at which a device counts as saturated.
    pub saturation_share: f64,
    /// Seed of the offsets and the written bytes.
    pub seed: u64,
    /// Whether the profile is recorded as quick.
    pub quick: bool,
}

impl ProfileConfig {
    /// All sizes and depths, random and sequential, three times: a few minutes.
    pub fn full() -> Self {
        Self {
            sizes: SIZES.to_vec(),
            depths: DEPTHS.to_vec(),
            depths_sequential: DEPTHS.to_vec(),
            ops: vec![Op::Read, Op::Write],
            cell_seconds: 0.2,
            repetitions: 3,
            refinements: 4,
            warm_up_seconds: 3.0,
            seconds_max: 600.0,
            saturation_share: knee::SATURATION_SHARE,
            seed: 1,
            quick: false,
        }
    }

    /// Five sizes, sequential requests at three depths, short cells: within 20 seconds.
    pub fn quick() -> Self {
        Self {
            sizes: vec![4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
            depths_sequential: vec![1, 8, 32],
            cell_seconds: 0.02,
            refinements: 2,
            warm_up_seconds: 0.3,
            seconds_max: 13.0,
            quick: true,
            ..Self::full()
        }
    }

    setters! {
        sizes: Vec<u64>,
        depths: Vec<u32>,
        depths_sequential: Vec<u32>,
        ops: Vec<Op>,
        cell_seconds: f64,
        repetitions: u32,
        refinements: u32,
        warm_up_seconds: f64,
        seconds_max: f64,
        saturation_share: f64,
        seed: u64,
    }

    /// Deepest queue and largest request of the sweep.
    pub(super) fn extremes(&self) -> (u32, u64) {
        let depths = self.depths.iter().chain(&self.depths_sequential);
        (depths.copied().max().unwrap_or(1), self.sizes.iter().copied().max().unwrap_or(4096))
    }
}

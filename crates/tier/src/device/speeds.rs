//! How fast the tiers are, as requests show it.
//!
//! A profile may be of another day, or of a drive that others use now. So queues pass on how long
//! requests took, and the worker corrects what the policy knows of the tiers: of the requests of
//! one block that ended it takes the lower quartile, because a request that ends while its thread
//! computes is found late. Where more requests are in flight than a tier does at once, each has
//! waited for others, and only its share counts.

use cenote_device::Op;

use super::recorded::Response;
use crate::spec::TierSpec;

/// Requests of a tier from which its speed is learned at a time.
const LEARN_AT: usize = 64;

/// The policy gets the new latencies once one has changed by more than this share of it.
const CHANGE_MIN: f64 = 0.1;

/// The speeds of the tiers: at first those of their profiles.
#[derive(Debug)]
pub(super) struct Speeds {
    block_bytes: u32,
    tiers: Vec<TierSpec>,
    /// The speeds as [`Speeds::changed`] last returned them.
    told: Vec<TierSpec>,
    /// By tier, the times of reads and of writes that are not counted yet.
    times_ns: Vec<[Vec<u64>; 2]>,
}

impl Speeds {
    pub fn new(tiers: &[TierSpec], block_bytes: u32) -> Self {
        let times_ns = tiers.iter().map(|_| Default::default()).collect();
        Self { block_bytes, tiers: tiers.to_vec(), told: tiers.to_vec(), times_ns }
    }

    /// Counts a request.
    pub fn count(&mut self, response: &Response) {
        if response.len != self.block_bytes {
            return;
        }
        let tier = &mut self.tiers[usize::from(response.tier)];
        let (at, k, time_ns) = match response.op {
            Op::Read => (0, tier.k_r, &mut tier.read_ns),
            Op::Write => (1, tier.k_w, &mut tier.write_ns),
        };
        let waited = (f64::from(response.in_flight) / f64::from(k)).max(1.0);
        let times_ns = &mut self.times_ns[usize::from(response.tier)][at];
        times_ns.push((response.latency_ns as f64 / waited) as u64);
        if times_ns.len() == LEARN_AT {
            let (_, quartile_ns, _) = times_ns.select_nth_unstable(LEARN_AT / 4);
            *time_ns = time_ns.midpoint(*quartile_ns).max(1);
            times_ns.clear();
        }
    }

    /// The speeds, if they have changed much since the last call that returned them.
    pub fn changed(&mut self) -> Option<&[TierSpec]> {
        let is_far = |now: u64, told: u64| (now as f64 / told as f64 - 1.0).abs() > CHANGE_MIN;
        let mut pairs = self.tiers.iter().zip(&self.told);
        let is_changed = pairs.any(|(now, told)| {
            is_far(now.read_ns, told.read_ns) || is_far(now.write_ns, told.write_ns)
        });
        is_changed.then(|| {
            self.told.copy_from_slice(&self.tiers);
            &self.told[..]
        })
    }

    /// The speeds as they were last returned.
    pub fn told(&self) -> &[TierSpec] {
        &self.told
    }

    /// Requests of each tier that wait, with so many in flight.
    pub fn waiting(&self, in_flight: impl Iterator<Item = u32>) -> Vec<u32> {
        self.tiers
            .iter()
            .zip(in_flight)
            .map(|(tier, count)| count.saturating_sub(tier.k_r))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u32 = 4096;

    fn response(op: Op, in_flight: u32, latency_ns: u64) -> Response {
        Response { tier: 1, op, len: BLOCK, in_flight, latency_ns }
    }

    fn count(speeds: &mut Speeds, times: usize, response: &Response) {
        (0..times).for_each(|_| speeds.count(response));
    }

    #[test]
    fn a_speed_follows_the_faster_requests_of_one_block() {
        let tiers = &TierSpec::text()[..2];
        let mut speeds = Speeds::new(tiers, BLOCK);
        count(&mut speeds, LEARN_AT - 1, &response(Op::Read, 1, 1_000_000));
        assert_eq!(speeds.changed(), None, "too few requests");
        let large = Response { len: 4 * BLOCK, ..response(Op::Read, 1, 1) };
        count(&mut speeds, 1000, &large);
        assert_eq!(speeds.changed(), None, "the time of a large request is not that of a block");
        // Half of all are found late.
        for round in 0..20 {
            count(&mut speeds, LEARN_AT / 2, &response(Op::Read, 1, 1_000_000));
            count(&mut speeds, LEARN_AT / 2, &response(Op::Read, 1, 9_000_000 + round));
        }
        let changed = speeds.changed().unwrap();
        assert_eq!(changed[0], tiers[0]);
        assert!(changed[1].read_ns.abs_diff(1_000_000) < 1_000, "{changed:?}");
        assert_eq!(changed[1].write_ns, tiers[1].write_ns);
        assert_eq!(speeds.changed(), None, "told before");
    }

    #[test]
    fn requests_that_waited_for_others_count_with_their_share() {
        let tiers = &TierSpec::text()[..2];
        let mut speeds = Speeds::new(tiers, BLOCK);
        // Sixteen at once on a tier that does four.
        count(&mut speeds, 10 * LEARN_AT, &response(Op::Read, 16, 4 * tiers[1].read_ns));
        count(&mut speeds, 10 * LEARN_AT, &response(Op::Write, 2, tiers[1].write_ns));
        assert_eq!(speeds.changed(), None);
        count(&mut speeds, 30 * LEARN_AT, &response(Op::Write, 2, 0));
        assert_eq!(speeds.changed().unwrap()[1].write_ns, 1, "no time of a tier is 0");
        assert_eq!(speeds.waiting([9, 1].into_iter()), [1, 0]);
    }
}

//! How fast the tiers are, as requests show it.
//!
//! A profile may be of another day, or of a drive that others use now. So queues pass on how long
//! requests took, and the worker corrects what the policy knows of the tiers, the time of a request
//! of one block, by how much longer or shorter they took than the model of the drive says of
//! requests of this size with as many in flight.
//!
//! It is the sum of many times that counts. A drive that is limited to a rate may let a hundred
//! requests through at once and then none for a while: most of them tell nothing of the rate, but
//! all together do, by Little's law. Requests that end while their thread computes are found late;
//! that prolongs the times of all tiers.

use cenote_device::Op;
use cenote_device::model::DeviceModel;

use super::recorded::Response;
use crate::spec::TierSpec;

/// Requests of a tier from which its speed is learned at a time.
const LEARN_AT: u32 = 256;

/// The policy gets the new latencies once one has changed by more than this share of it.
const CHANGE_MIN: f64 = 0.1;

/// The speeds of the tiers: at first those of their profiles.
#[derive(Debug)]
pub(super) struct Speeds {
    block_bytes: u32,
    tiers: Vec<TierSpec>,
    /// The speeds as [`Speeds::changed`] last returned them.
    reported: Vec<TierSpec>,
    learned: Vec<Learned>,
}

/// What is known of the requests of a tier.
#[derive(Debug)]
struct Learned {
    /// By the profile.
    first: TierSpec,
    /// None if only requests of exactly one block count.
    model: Option<DeviceModel>,
    /// The reads and the writes from which nothing was learned yet.
    times: [Times; 2],
}

/// How long some requests took.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    count: u32,
    sum_ns: f64,
    /// By the profile.
    expected_ns: f64,
}

impl Learned {
    /// How long a request takes by the profile, with so many in flight; none if it is not known.
    fn expected_ns(&self, response: &Response, block_bytes: u32) -> Option<f64> {
        let Response { op, len, in_flight, .. } = *response;
        match &self.model {
            Some(model) => Some(model.latency_ns(op, len.into(), in_flight) as f64),
            None if len == block_bytes => {
                let waited = (f64::from(in_flight) / f64::from(self.first.k(op))).max(1.0);
                Some(self.first.time_ns(op) as f64 * waited)
            }
            None => None,
        }
    }
}

impl Speeds {
    /// The speeds of the tiers for blocks, and their models, or none.
    pub fn new(tiers: &[TierSpec], models: &[DeviceModel], block_bytes: u32) -> Self {
        let learned = |(at, &first): (usize, &TierSpec)| {
            let model = models.get(at).cloned();
            Learned { first, model, times: Default::default() }
        };
        let learned = tiers.iter().enumerate().map(learned).collect();
        Self { block_bytes, tiers: tiers.to_vec(), reported: tiers.to_vec(), learned }
    }

    /// Counts a request.
    pub fn count(&mut self, response: &Response) {
        let Response { tier, op, latency_ns, .. } = *response;
        let learned = &mut self.learned[usize::from(tier)];
        let Some(expected_ns) = learned.expected_ns(response, self.block_bytes) else { return };
        let tier = &mut self.tiers[usize::from(tier)];
        let (at, time_ns) = match op {
            Op::Read => (0, &mut tier.read_ns),
            Op::Write => (1, &mut tier.write_ns),
        };
        let times = &mut learned.times[at];
        times.count += 1;
        times.sum_ns += latency_ns as f64;
        times.expected_ns += expected_ns;
        if times.count == LEARN_AT {
            let ratio = times.sum_ns / times.expected_ns;
            let seen_ns = (learned.first.time_ns(op) as f64 * ratio) as u64;
            *time_ns = time_ns.midpoint(seen_ns).max(1);
            *times = Times::default();
        }
    }

    /// The speeds, if they have changed much since the last call that returned them.
    pub fn changed(&mut self) -> Option<&[TierSpec]> {
        let is_far =
            |now: u64, reported: u64| (now as f64 / reported as f64 - 1.0).abs() > CHANGE_MIN;
        let mut pairs = self.tiers.iter().zip(&self.reported);
        let is_changed = pairs.any(|(now, reported)| {
            is_far(now.read_ns, reported.read_ns) || is_far(now.write_ns, reported.write_ns)
        });
        is_changed.then(|| {
            self.reported.copy_from_slice(&self.tiers);
            &self.reported[..]
        })
    }

    /// The speeds as they were last returned.
    pub fn reported(&self) -> &[TierSpec] {
        &self.reported
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
    use cenote_device::model::preset::Preset;

    use super::*;

    const BLOCK: u32 = 4096;

    fn response(op: Op, in_flight: u32, latency_ns: u64) -> Response {
        Response { tier: 1, op, len: BLOCK, in_flight, latency_ns }
    }

    fn count(speeds: &mut Speeds, times: u32, response: &Response) {
        (0..times).for_each(|_| speeds.count(response));
    }

    #[test]
    fn a_speed_follows_the_requests_of_one_block() {
        let tiers = &TierSpec::text()[..2];
        let mut speeds = Speeds::new(tiers, &[], BLOCK);
        count(&mut speeds, LEARN_AT - 1, &response(Op::Read, 1, 1_000_000));
        assert_eq!(speeds.changed(), None, "too few requests");
        let large = Response { len: 4 * BLOCK, ..response(Op::Read, 1, 1) };
        count(&mut speeds, 1000, &large);
        assert_eq!(speeds.changed(), None, "the time of a large request is not that of a block");
        for _ in 0..20 {
            count(&mut speeds, LEARN_AT / 2, &response(Op::Read, 1, 1_000_000));
            count(&mut speeds, LEARN_AT / 2, &response(Op::Read, 1, 3_000_000));
        }
        let changed = speeds.changed().unwrap();
        assert_eq!(changed[0], tiers[0]);
        assert!(changed[1].read_ns.abs_diff(2_000_000) < 10_000, "{changed:?}");
        assert_eq!(changed[1].write_ns, tiers[1].write_ns);
        assert_eq!(speeds.changed(), None, "reported before");
    }

    #[test]
    fn requests_that_waited_for_others_count_with_their_share() {
        let tiers = &TierSpec::text()[..2];
        let mut speeds = Speeds::new(tiers, &[], BLOCK);
        // Sixteen at once on a tier that does four.
        count(&mut speeds, 10 * LEARN_AT, &response(Op::Read, 16, 4 * tiers[1].read_ns));
        count(&mut speeds, 10 * LEARN_AT, &response(Op::Write, 2, tiers[1].write_ns));
        assert_eq!(speeds.changed(), None);
        count(&mut speeds, 30 * LEARN_AT, &response(Op::Write, 2, 0));
        assert_eq!(speeds.changed().unwrap()[1].write_ns, 1, "no time of a tier is 0");
        assert_eq!(speeds.waiting([9, 1].into_iter()), [1, 0]);
    }

    #[test]
    fn requests_count_as_the_model_says_of_their_size_and_of_as_many_in_flight() {
        let model = Preset::all()[0].model();
        let block_bytes = 16 << 10;
        let block = TierSpec::of_model(&model, block_bytes).unwrap();
        let mut speeds = Speeds::new(&[block; 2], &[model.clone(), model.clone()], 16 << 10);
        for len in [BLOCK, 16 << 10] {
            for in_flight in [1, block.k_r / 2, 4 * block.k_r] {
                let latency_ns = model.latency_ns(Op::Read, len.into(), in_flight);
                let as_known = Response { len, ..response(Op::Read, in_flight, latency_ns) };
                count(&mut speeds, 10 * LEARN_AT, &as_known);
                assert_eq!(speeds.changed(), None, "{as_known:?}");
            }
        }
        let slower = 3 * model.latency_ns(Op::Read, BLOCK.into(), 2);
        count(&mut speeds, 30 * LEARN_AT, &response(Op::Read, 2, slower));
        let changed = speeds.changed().unwrap();
        assert!(
            changed[1].read_ns.abs_diff(3 * block.read_ns) < 1000,
            "{changed:?}, not {block:?}"
        );
        assert_eq!((changed[0], changed[1].write_ns), (block, block.write_ns));
    }

    #[test]
    fn a_drive_limited_to_a_rate_is_as_slow_with_few_requests_in_flight() {
        // A thousand requests a second, of which it does 64 at once and each alone at once.
        let mut model = Preset::all()[0].model();
        model.curves.clear();
        for size in &mut model.sizes {
            (size.k_r, size.read_iops_max, size.read_us_qd1) = (64, 1000.0, 100.0);
        }
        let known = TierSpec::of_model(&model, BLOCK.into()).unwrap();
        assert_eq!(known.read_share_ns(), 1e6);
        let mut speeds = Speeds::new(&[known; 2], &[model.clone(), model], BLOCK);
        count(&mut speeds, 30 * LEARN_AT, &response(Op::Read, 16, 16_000_000));
        assert_eq!(speeds.changed(), None);
        // In bursts: in a tenth of a second a hundred at once, then sixteen wait for the next one.
        for _ in 0..100 {
            count(&mut speeds, 84, &response(Op::Read, 16, 100_000));
            count(&mut speeds, 16, &response(Op::Read, 16, 99_500_000));
        }
        let read_ns = speeds.tiers[1].read_ns;
        assert!(read_ns.abs_diff(known.read_ns) < known.read_ns / 5, "{read_ns}, not {known:?}");
    }
}

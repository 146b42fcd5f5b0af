//! How fast the tiers are, as requests show it.
//!
//! A profile may be of another day, or of a drive that others use now. So queues pass on how long
//! requests took, and the worker corrects what the policy knows of the tiers, the time of a request
//! of one block. A request of another size counts as the block would have taken: as much longer or
//! shorter as the model of the drive says. Of the times it takes the lower quartile, because a
//! request that ends while its thread computes is found late. Where more requests are in flight
//! than a tier does at once, each has waited for others, and only its share counts.

use cenote_device::Op;
use cenote_device::model::DeviceModel;

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
    learned: Vec<Learned>,
}

/// What is known of the requests of a tier.
#[derive(Debug, Default)]
struct Learned {
    /// None if only requests of exactly one block count.
    model: Option<DeviceModel>,
    /// The speeds by the model for the sizes that were seen, in bytes; none where it has none.
    sizes: Vec<(u32, Option<TierSpec>)>,
    /// The times of reads and of writes that are not counted yet.
    times_ns: [Vec<u64>; 2],
}

impl Learned {
    /// The speed by the model for requests of this size.
    fn speed_at(&mut self, bytes: u32) -> Option<TierSpec> {
        if let Some((_, speed)) = self.sizes.iter().find(|(of, _)| *of == bytes) {
            return *speed;
        }
        let model = self.model.as_ref();
        let speed = model.and_then(|model| TierSpec::of_model(model, bytes.into()).ok());
        self.sizes.push((bytes, speed));
        speed
    }
}

impl Speeds {
    /// The speeds of the tiers for blocks, and their models, or none.
    pub fn new(tiers: &[TierSpec], models: &[DeviceModel], block_bytes: u32) -> Self {
        let learned = |at| Learned { model: models.get(at).cloned(), ..Learned::default() };
        let learned = (0..tiers.len()).map(learned).collect();
        Self { block_bytes, tiers: tiers.to_vec(), told: tiers.to_vec(), learned }
    }

    /// Counts a request.
    pub fn count(&mut self, response: &Response) {
        let Response { tier, op, len, in_flight, latency_ns } = *response;
        let learned = &mut self.learned[usize::from(tier)];
        let tier = &mut self.tiers[usize::from(tier)];
        let (k, blocks) = if len == self.block_bytes {
            (tier.k(op), 1.0)
        } else {
            let (own, block) = (learned.speed_at(len), learned.speed_at(self.block_bytes));
            let (Some(own), Some(block)) = (own, block) else { return };
            (own.k(op), own.time_ns(op) as f64 / block.time_ns(op) as f64)
        };
        let waited = (f64::from(in_flight) / f64::from(k)).max(1.0);
        let (at, time_ns) = match op {
            Op::Read => (0, &mut tier.read_ns),
            Op::Write => (1, &mut tier.write_ns),
        };
        let times_ns = &mut learned.times_ns[at];
        times_ns.push((latency_ns as f64 / waited / blocks) as u64);
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
    use cenote_device::model::preset::Preset;

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
        let mut speeds = Speeds::new(tiers, &[], BLOCK);
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
    fn requests_of_other_sizes_count_as_the_model_says_of_a_block() {
        let model = Preset::all()[0].model();
        let block_bytes = 16 << 10;
        let of = |bytes| TierSpec::of_model(&model, bytes).unwrap();
        let (page, block) = (of(4 << 10), of(block_bytes));
        assert!(page.read_ns < block.read_ns, "a model without sizes shows nothing");
        let mut speeds = Speeds::new(&[block; 2], &[model.clone(), model.clone()], 16 << 10);
        let as_known = response(Op::Read, 1, page.read_ns);
        count(&mut speeds, 10 * LEARN_AT, &as_known);
        assert_eq!(speeds.changed(), None, "pages that are as fast as the model says");
        count(&mut speeds, 30 * LEARN_AT, &Response { latency_ns: 3 * page.read_ns, ..as_known });
        let changed = speeds.changed().unwrap();
        assert!(changed[1].read_ns.abs_diff(3 * block.read_ns) < 10, "{changed:?}, not {block:?}");
        assert_eq!((changed[0], changed[1].write_ns), (block, block.write_ns));
    }
}

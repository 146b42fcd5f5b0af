//! Response times in buckets of at most 1/64 of their value, so that a quantile of any number of
//! them takes constant memory.

/// Buckets between two powers of two.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Response times.
#[derive(Clone, Debug)]
pub struct Responses {
    buckets: Vec<u64>,
    count: u64,
    sum_ns: u128,
}

impl Default for Responses {
    fn default() -> Self {
        let buckets = vec![0; bucket(u64::MAX) + 1];
        Self { buckets, count: 0, sum_ns: 0 }
    }
}

fn bucket(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let shift = ns.ilog2() - STEP_BITS;
    (u64::from(shift) * STEPS + (ns >> shift)) as usize
}

/// The least value of a bucket.
fn floor(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    (bucket - shift * STEPS) << shift
}

impl Responses {
    /// One more.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.buckets[bucket(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
    }

    /// The exact mean; 0 of none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// The value that a share `q` of them do not exceed, to 1/64; 0 of none.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        let wanted = ((q * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (number, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return floor(number);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let mut last = 0;
        for ns in (0..5_000).chain((0..50).map(|e| (1u64 << 14) + (1 << e))) {
            let least = floor(bucket(ns));
            assert!(least <= ns && ns - least <= ns / STEPS, "{ns} lies in the bucket of {least}");
        }
        for number in 0..=bucket(u64::MAX) {
            assert_eq!(bucket(floor(number)), number);
            assert!(floor(number) >= last);
            last = floor(number);
        }
    }

    #[test]
    fn quantiles_and_mean_are_those_of_the_values() {
        let mut responses = Responses::default();
        assert_eq!((responses.mean_ns(), responses.quantile_ns(0.99)), (0.0, 0));
        (1..=100).for_each(|ns| responses.record(ns));
        assert_eq!(responses.mean_ns(), 50.5);
        assert_eq!((responses.quantile_ns(0.5), responses.quantile_ns(0.99)), (50, 99));
    }
}

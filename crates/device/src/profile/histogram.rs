//! Latencies by their logarithm: percentiles within 1% in constant memory.

/// Buckets per power of two.
const BUCKETS_PER_OCTAVE: u64 = 128;
const BUCKET_BITS: u32 = BUCKETS_PER_OCTAVE.trailing_zeros();

/// Counts of latencies in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        let octaves = u64::from(u64::BITS - BUCKET_BITS) + 1;
        Self { counts: vec![0; (octaves * BUCKETS_PER_OCTAVE) as usize], total: 0 }
    }

    pub(super) fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
    }

    /// The latency in microseconds that a share (0 to 1) of requests does not exceed; 0 if none.
    pub(super) fn quantile_us(&self, share: f64) -> f64 {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle_ns(index) / 1e3;
            }
        }
        0.0
    }
}

/// Exact below 128, then 128 buckets for each power of two.
fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BUCKET_BITS + 1);
    (u64::from(shift) * BUCKETS_PER_OCTAVE + (ns >> shift)) as usize
}

fn middle_ns(index: usize) -> f64 {
    let index = index as u64;
    let shift = (index / BUCKETS_PER_OCTAVE).saturating_sub(1);
    let mantissa = index - shift * BUCKETS_PER_OCTAVE;
    let width = (1_u64 << shift) as f64;
    mantissa as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_comes_back_within_one_percent() {
        for ns in (0..60).flat_map(|bit| [1_u64 << bit, (1 << bit) + (1 << bit) / 3, u64::MAX]) {
            let back = middle_ns(bucket(ns));
            assert!((back - ns as f64).abs() <= ns as f64 * 0.01, "{ns} came back as {back}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_latencies() {
        let mut histogram = Histogram::new();
        for ns in 1..=100_000 {
            histogram.add(ns);
        }
        for share in [0.01, 0.5, 0.99, 1.0] {
            let (found, expected) = (histogram.quantile_us(share), share * 100.0);
            assert!((found / expected - 1.0).abs() < 0.01, "{share}: {found}");
        }
        assert_eq!(Histogram::new().quantile_us(0.5), 0.0);
    }
}

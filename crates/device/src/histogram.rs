//! Logarithmic histograms: quantiles of any number of values in constant memory.

use std::ops::RangeInclusive;

/// Counts in buckets: one for each value below `STEPS`, a power of two, then `STEPS` for each power
/// of two. So a bucket is at most 1/`STEPS` of its values wide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogHistogram<const STEPS: u64> {
    /// Values by bucket, up to the last bucket with any.
    counts: Vec<u64>,
}

impl<const STEPS: u64> LogHistogram<STEPS> {
    pub(crate) const BUCKETS: usize = Self::bucket(u64::MAX) + 1;

    pub(crate) fn of_counts(mut counts: Vec<u64>) -> Self {
        let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        counts.truncate(used);
        Self { counts }
    }

    #[inline]
    pub(crate) const fn bucket(value: u64) -> usize {
        let bits = u64::BITS - value.leading_zeros();
        let shift = bits.saturating_sub(STEPS.trailing_zeros() + 1);
        (shift as u64 * STEPS + (value >> shift)) as usize
    }

    fn values(bucket: usize) -> RangeInclusive<u64> {
        let bucket = bucket as u64;
        let shift = (bucket / STEPS).saturating_sub(1);
        let start = (bucket - shift * STEPS) << shift;
        start..=start + ((1 << shift) - 1)
    }

    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = Self::bucket(value);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
    }

    /// The buckets with values, ascending: their range, and how many they have.
    pub fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, &count)| (Self::values(bucket), count))
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The bucket of the quantile `share` (0 to 1); `None` if nothing was counted.
    pub fn quantile(&self, share: f64) -> Option<RangeInclusive<u64>> {
        let rank = ((self.count() as f64 * share.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|&here| {
            seen += here;
            seen >= rank
        });
        reached.map(Self::values)
    }

    /// The quantile `share` (0 to 1) of latencies in nanoseconds, at most 1/`STEPS` too high;
    /// `None` if nothing was counted.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        self.quantile(share).map(|values| *values.end())
    }

    /// The values counted since an earlier snapshot.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().chain(std::iter::repeat(&0));
        Self { counts: self.counts.iter().zip(before).map(|(now, then)| now - then).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets_are_whole<const STEPS: u64>() {
        let last = LogHistogram::<STEPS>::BUCKETS - 1;
        for bucket in 0..=last {
            let values = LogHistogram::<STEPS>::values(bucket);
            let ends = [*values.start(), *values.end()].map(LogHistogram::<STEPS>::bucket);
            assert_eq!(ends, [bucket; 2]);
            assert!(values.end() - values.start() <= values.start() / STEPS, "{values:?}");
            if bucket < last {
                assert_eq!(*LogHistogram::<STEPS>::values(bucket + 1).start(), values.end() + 1);
            }
        }
        assert_eq!(*LogHistogram::<STEPS>::values(last).end(), u64::MAX);
    }

    #[test]
    fn buckets_cover_every_value_without_gap_or_overlap() {
        buckets_are_whole::<8>();
        buckets_are_whole::<64>();
        buckets_are_whole::<128>();
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut histogram = LogHistogram::<8>::default();
        (1..=10_000).for_each(|value| histogram.record(value));
        for (share, exact) in [(0.5, 5_000), (0.99, 9_900), (1.0, 10_000), (0.0, 1)] {
            let found = histogram.quantile(share).unwrap();
            assert!(found.contains(&exact), "{share}: {found:?}, not {exact}");
        }
        assert_eq!(LogHistogram::<8>::default().quantile(0.5), None);
        let buckets: Vec<_> = histogram.buckets().collect();
        assert!(
            buckets
                .iter()
                .all(|(values, count)| (values.end() - values.start()) < 10_000 && *count > 0)
        );
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 10_000);
        assert_eq!((buckets[0].clone(), buckets[6].clone()), ((1..=1, 1), (7..=7, 1)));
    }
}

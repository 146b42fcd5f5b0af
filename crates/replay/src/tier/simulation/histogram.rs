//! Mean and quantiles of response times, in constant memory.

use cenote_device::LogHistogram;

/// Response times.
#[derive(Clone, Debug, Default)]
pub struct Responses {
    histogram: LogHistogram<64>,
    sum_ns: u128,
}

impl Responses {
    /// Adds a response time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.record(ns);
        self.sum_ns += u128::from(ns);
    }

    /// The exact mean; 0 if there are none.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.histogram.count().max(1) as f64
    }

    /// The quantile `q` (0 to 1), at most 1/64 too low; 0 if there are none.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        self.histogram.quantile(q).map_or(0, |values| *values.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_mean_are_those_of_the_values() {
        let mut responses = Responses::default();
        assert_eq!((responses.mean_ns(), responses.quantile_ns(0.99)), (0.0, 0));
        (1..=100).for_each(|ns| responses.record(ns));
        assert_eq!(responses.mean_ns(), 50.5);
        assert_eq!((responses.quantile_ns(0.5), responses.quantile_ns(0.99)), (50, 99));
    }
}

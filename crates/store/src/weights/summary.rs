//! Summaries of weights: how they are stored, their smallest, largest and mean.

use crate::weights::format::WeightFormat;
use crate::weights::value::{Weight, WeightType};

/// Summary of the weights of all lists of targets, as in the superblock. Exact after an import;
/// changes make bounds of the smallest and the largest, and an estimate of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightSummary {
    /// How the weights are stored.
    pub(crate) format: WeightFormat,
    /// Ordered bits of the smallest; 0 if there are no weights.
    pub(crate) min_ordered: u64,
    /// Ordered bits of the largest; 0 if there are no weights.
    pub(crate) max_ordered: u64,
    /// Bits of the mean as `f64`.
    pub(crate) mean_bits: u64,
    /// Whether there are weights.
    pub(crate) any: bool,
}

impl WeightSummary {
    /// Type of the weights.
    #[inline]
    pub fn kind(&self) -> WeightType {
        self.format.kind()
    }

    /// How the weights are stored.
    pub fn format(&self) -> WeightFormat {
        self.format
    }

    /// Whether this may be what changes have made of a summary, where `exact` is that of the
    /// weights.
    pub(crate) fn covers(&self, exact: &Self) -> bool {
        (self.kind(), self.any) == (exact.kind(), exact.any)
            && self.min_ordered <= exact.min_ordered
            && self.max_ordered >= exact.max_ordered
    }

    /// The shortest format that has all weights, those of changes too.
    pub fn shortest_format(&self) -> WeightFormat {
        match self.any {
            true => WeightFormat::shortest(self.kind(), [self.min_ordered, self.max_ordered]),
            false => WeightFormat::of_none(self.kind()),
        }
    }

    /// The smallest weight, or a smaller one if edges have changed; `None` if there is no edge.
    pub fn min(&self) -> Option<Weight> {
        self.any.then(|| self.kind().weight(self.min_ordered))
    }

    /// The largest weight, or a larger one if edges have changed; `None` if there is no edge.
    pub fn max(&self) -> Option<Weight> {
        self.any.then(|| self.kind().weight(self.max_ordered))
    }

    /// The mean over the entries of all lists of targets, an estimate if edges have changed; 0 if
    /// there are none or their sum overflows.
    pub fn mean(&self) -> f64 {
        f64::from_bits(self.mean_bits)
    }
}

/// Summarises weights. Adds them in order: the same sequence gives the same bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    kind: WeightType,
    count: u64,
    min: u64,
    max: u64,
    float_sum: f64,
    integer_sum: i128,
}

impl Tally {
    pub fn new(kind: WeightType) -> Self {
        Self { kind, count: 0, min: u64::MAX, max: 0, float_sum: 0.0, integer_sum: 0 }
    }

    #[inline]
    pub fn add(&mut self, ordered: u64) {
        self.count += 1;
        self.min = self.min.min(ordered);
        self.max = self.max.max(ordered);
        match self.kind.weight(ordered) {
            Weight::F32(value) => self.float_sum += f64::from(value),
            Weight::F64(value) => self.float_sum += value,
            Weight::U32(value) => self.integer_sum += i128::from(value),
            Weight::I64(value) => self.integer_sum += i128::from(value),
        }
    }

    /// The summary of the weights, in the shortest format for them.
    pub fn summary(&self) -> WeightSummary {
        let any = self.count > 0;
        let sum = if self.kind.is_integer() { self.integer_sum as f64 } else { self.float_sum };
        let mean = if any && sum.is_finite() { sum / self.count as f64 } else { 0.0 };
        let min_ordered = if any { self.min } else { 0 };
        let mean_bits = (mean + 0.0).to_bits();
        let (format, max_ordered) = (WeightFormat::full(self.kind), self.max);
        let summary = WeightSummary { format, min_ordered, max_ordered, mean_bits, any };
        WeightSummary { format: summary.shortest_format(), ..summary }
    }
}

/// Follows a summary while weights come and go: bounds of them, and an estimate of the mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SummaryEdit {
    summary: WeightSummary,
    sum: f64,
}

impl SummaryEdit {
    /// The summary of `count` weights.
    pub fn new(summary: WeightSummary, count: u64) -> Self {
        Self { summary, sum: summary.mean() * count as f64 }
    }

    pub fn remove(&mut self, ordered: u64) {
        self.remove_number(self.summary.kind().weight(ordered).to_f64());
    }

    /// Removes a weight that is about this number.
    pub fn remove_number(&mut self, weight: f64) {
        self.sum -= weight;
    }

    pub fn add(&mut self, ordered: u64) {
        let WeightSummary { format, min_ordered, max_ordered, any, .. } = &mut self.summary;
        self.sum += format.kind().weight(ordered).to_f64();
        *min_ordered = if *any { ordered.min(*min_ordered) } else { ordered };
        *max_ordered = if *any { ordered.max(*max_ordered) } else { ordered };
        *any = true;
    }

    /// The summary of `count` weights now.
    pub fn finish(self, count: u64) -> WeightSummary {
        let (Some(min), Some(max), true) = (self.summary.min(), self.summary.max(), count > 0)
        else {
            let none = Tally::new(self.summary.kind()).summary();
            return WeightSummary { format: self.summary.format, ..none };
        };
        let mean = (self.sum / count as f64).clamp(min.to_f64(), max.to_f64());
        let mean = if mean.is_finite() { mean + 0.0 } else { 0.0 };
        WeightSummary { mean_bits: mean.to_bits(), ..self.summary }
    }
}

//! Scales: where a value lies on an axis, and which values have a label.

use super::format::Unit;
use super::page::Axis;

/// The most labels of an axis.
const TICKS_MAX: usize = 6;

/// An axis from its first to its last value.
#[derive(Clone, Debug)]
pub struct Scale {
    start: f64,
    end: f64,
    log: bool,
    /// The values with a label, ascending.
    pub ticks: Vec<f64>,
}

impl Scale {
    /// A scale for `values`; from 0 if it is linear, `tight` if it ends where the values do.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, tight: bool) -> Self {
        let values = values.chain(axis.includes.iter().copied());
        let values = values.filter(|value| value.is_finite() && (!axis.log || *value > 0.0));
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        match (low <= high, axis.log) {
            (false, true) => Self::logarithmic((1.0, 10.0), axis.unit),
            (false, false) => Self::linear((0.0, 1.0), axis.unit, tight),
            (true, true) => Self::logarithmic((low, high), axis.unit),
            (true, false) => Self::linear((low.min(0.0), high), axis.unit, tight),
        }
    }

    fn linear((start, high): (f64, f64), unit: Unit, tight: bool) -> Self {
        let high = if high > start { high } else { start + 1.0 };
        let rough = (high - start) / (TICKS_MAX - 1) as f64;
        let step = step(rough, unit);
        let first = (start / step).floor();
        let end = if tight { high } else { (high / step).ceil() * step };
        let ticks = (0..=TICKS_MAX).map(|tick| (first + tick as f64) * step);
        let ticks = ticks.filter(|&tick| tick >= start && tick <= end * 1.000_001).collect();
        Self { start, end, log: false, ticks }
    }

    /// From the power of ten, or of ten times 2 or 5, at or below `low` to that at or above `high`;
    /// of bytes, powers of two.
    fn logarithmic((low, high): (f64, f64), unit: Unit) -> Self {
        let is_binary = matches!(unit, Unit::Bytes | Unit::PowersOfTwo);
        let base: f64 = if is_binary { 2.0 } else { 10.0 };
        let is_wide = is_binary || high / low > 50.0;
        let steps: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let power = |value: f64| value.log(base).floor() as i32;
        let all = (power(low) - 1..=power(high) + 2)
            .flat_map(|power| steps.iter().map(move |step| step * base.powi(power)));
        let all: Vec<f64> = all.collect();
        let from = all.iter().rposition(|&tick| tick <= low * 1.000_001).unwrap_or(0);
        let to = all.iter().position(|&tick| tick >= high * 0.999_999).unwrap_or(all.len() - 1);
        let to = to.max(from + 1).min(all.len() - 1);
        let every = (to - from).div_ceil(TICKS_MAX).max(1);
        let ticks = all[from..=to].iter().copied().step_by(every).collect();
        Self { start: all[from], end: all[to], log: true, ticks }
    }

    /// Where a value lies, 0 to 1; values beyond the ends lie at the ends.
    pub fn place(&self, value: f64) -> f64 {
        let (value, start, end) = match self.log {
            true => (value.max(self.start).log10(), self.start.log10(), self.end.log10()),
            false => (value, self.start, self.end),
        };
        ((value - start) / (end - start)).clamp(0.0, 1.0)
    }
}

/// The distance of labels at `rough` or beyond that is easy to read.
fn step(rough: f64, unit: Unit) -> f64 {
    let (base, digits): (f64, &[f64]) = match unit {
        Unit::Bytes => (2.0, &[1.0]),
        // Things that are counted have no halves.
        Unit::Count => (10.0, &[1.0, 2.0, 5.0]),
        _ => (10.0, &[1.0, 2.0, 2.5, 5.0]),
    };
    let power = base.powf(rough.log(base).floor());
    let digit = digits.iter().find(|digit| *digit * power >= rough * 0.999_999);
    let step = digit.unwrap_or(&base) * power;
    if unit == Unit::Count { step.max(1.0) } else { step }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_cover_their_values_with_few_labels() {
        for (low, high) in [(0.0, 1.0), (0.0, 0.37), (1e-9, 3e-9), (0.0, 7.3e12), (5.0, 5.0)] {
            for tight in [false, true] {
                let axis = Axis::linear("x", Unit::Number);
                let scale = Scale::new(&axis, [low, high].into_iter(), tight);
                assert!((2..=TICKS_MAX + 1).contains(&scale.ticks.len()), "{scale:?}");
                assert!(scale.start <= low && scale.end >= high, "{scale:?}");
                assert_eq!(scale.place(scale.start), 0.0);
                assert!(!tight || scale.end == high, "{scale:?}");
            }
        }
        for (low, high) in [(1.0, 1.0), (1.0, 8.0), (3.0, 4e9), (1e-12, 0.3), (64.0, 100.0)] {
            let axis = Axis::log("x", Unit::Number);
            let scale = Scale::new(&axis, [low, high, 0.0, f64::NAN].into_iter(), false);
            assert!((2..=TICKS_MAX + 1).contains(&scale.ticks.len()), "{scale:?}");
            let ends = (scale.start <= low * 1.001, scale.end >= high * 0.999);
            assert_eq!(ends, (true, true), "{scale:?}");
            let middle = (scale.start * scale.end).sqrt();
            assert!((scale.place(middle) - 0.5).abs() < 1e-9, "{scale:?}");
        }
        let bytes = Scale::new(&Axis::linear("x", Unit::Bytes), [28e6].into_iter(), false);
        assert_eq!(bytes.ticks, [0, 8, 16, 24, 32].map(|mebibytes| f64::from(mebibytes << 20)));
        let few = Scale::new(&Axis::linear("x", Unit::Count), [2.0].into_iter(), false);
        assert_eq!(few.ticks, [0.0, 1.0, 2.0]);
        let empty = Scale::new(&Axis::log("x", Unit::Count), std::iter::empty(), false);
        assert_eq!((empty.place(1.0), empty.place(0.0)), (0.0, 0.0));
    }
}

//! Path lengths in 64 bits whose order as unsigned integers is the order of the lengths, so that
//! one atomic minimum works for all: the bits of non-negative floating-point numbers, and integers.

use cenote_engine::{Graph, WeightNumber, Weights, with_numbers};

/// The length if there is no path.
pub const UNREACHED: u64 = u64::MAX;
/// The length of a path that does not fit.
pub const OVERFLOW: u64 = u64::MAX - 1;

/// How lengths are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// As `f64`.
    Floats,
    /// As `u64`, exactly.
    Integers,
}

impl Lengths {
    /// Those of the paths of a graph.
    pub fn of(graph: &Graph) -> Self {
        let weights = graph.superblock().weights;
        let is_integer = weights.is_none_or(|weights| weights.kind().is_integer());
        if is_integer { Self::Integers } else { Self::Floats }
    }

    /// The end of the bucket that begins with `first`; always above it.
    pub fn bucket_end(self, first: u64, delta: f64) -> u64 {
        let end = match self {
            Self::Floats => (f64::from_bits(first) + delta).to_bits(),
            Self::Integers => first.saturating_add((delta as u64).max(1)),
        };
        end.clamp(first + 1, OVERFLOW)
    }
}

#[inline(always)]
pub fn add_float(length: u64, weight: f64) -> u64 {
    let sum = f64::from_bits(length) + weight;
    if sum < f64::INFINITY { sum.to_bits() } else { OVERFLOW }
}

#[inline(always)]
pub fn add_integer(length: u64, weight: u64) -> u64 {
    length.saturating_add(weight).min(OVERFLOW)
}

/// The length of a path that grows by an edge of a weight that is not negative.
#[inline(always)]
pub fn add<W: WeightNumber>(length: u64, weight: W) -> u64 {
    match W::IS_INTEGER {
        true => add_integer(length, weight.bits()),
        false => add_float(length, weight.to_f64()),
    }
}

/// Calls `each` with the position and the new length of every entry of a piece of a list whose
/// vertex is at `length`. Weights are not negative, which was checked.
#[inline(always)]
pub fn for_each_sum(length: u64, weights: Weights<'_>, mut each: impl FnMut(usize, u64)) {
    with_numbers!(weights, numbers => {
        numbers.iter().enumerate().for_each(|(i, weight)| each(i, add(length, *weight)));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_order_as_lengths_do() {
        let floats = [0.0, 5e-324, 1.0, 1.5, 1e300, f64::MAX];
        assert!(floats.map(f64::to_bits).is_sorted());
        assert_eq!(add_float(f64::MAX.to_bits(), f64::MAX), OVERFLOW);
        assert_eq!(add_integer(u64::MAX - 5, 9), OVERFLOW);
        assert!(f64::MAX.to_bits() < OVERFLOW);
    }

    #[test]
    fn buckets_end_above_their_first_length() {
        let first = 1e300f64.to_bits();
        assert_eq!(Lengths::Floats.bucket_end(first, 1.0), first + 1);
        assert_eq!(Lengths::Floats.bucket_end(0, 2.5), 2.5f64.to_bits());
        assert_eq!(Lengths::Integers.bucket_end(7, 0.25), 8);
        assert_eq!(Lengths::Integers.bucket_end(u64::MAX - 2, 9.0), OVERFLOW);
    }
}

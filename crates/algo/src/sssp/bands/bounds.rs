//! Upper bounds of all distances, one byte each.
//!
//! A length has a *code*: linear in the width of a bucket for small lengths, logarithmic for large
//! ones. Codes do not fall as lengths grow, so a path whose code is larger than that of a known one
//! is longer. Of equal codes nothing is known, unless only one length has the code.

use std::sync::atomic::{AtomicU8, Ordering};

use cenote_engine::{HugeVec, VertexId};

use super::super::length::Lengths;
use crate::report::Result;

/// Linear codes; larger ones are logarithmic.
const LINEAR: u64 = 64;

/// Codes of one power of two.
const OCTAVE_BITS: u32 = 3;

/// The largest code.
const CODE_MAX: u64 = 127;

/// Parts of a bucket that have a code of their own.
const BUCKET_PARTS: f64 = 32.0;

/// The bounds.
pub(super) struct Bounds {
    /// Twice the code, and 1 if more than one length has it.
    of: HugeVec<AtomicU8>,
    lengths: Lengths,
    /// Codes per unit of length.
    scale: f64,
}

impl Bounds {
    /// Bytes of memory.
    pub fn bytes_for(vertices: usize) -> u64 {
        vertices as u64
    }

    /// Bounds that no path exceeds, for buckets of width `delta`.
    pub fn new(vertices: usize, lengths: Lengths, delta: f64) -> Result<Self> {
        let scale = BUCKET_PARTS / delta;
        let scale = if lengths == Lengths::Integers { scale.min(1.0) } else { scale };
        let mut of: HugeVec<AtomicU8> = HugeVec::zeroed(vertices)?;
        of.iter_mut().for_each(|bound| *bound.get_mut() = u8::MAX);
        Ok(Self { of, lengths, scale })
    }

    #[inline(always)]
    fn of_length(&self, length: u64) -> u8 {
        let value = match self.lengths {
            Lengths::Integers => length as f64,
            Lengths::Floats => f64::from_bits(length),
        };
        let scaled = value * self.scale;
        if scaled < LINEAR as f64 {
            let is_only_one = self.lengths == Lengths::Integers && self.scale == 1.0;
            return (scaled as u8) << 1 | u8::from(!is_only_one);
        }
        let octaves = |value: f64| value.to_bits() >> (52 - OCTAVE_BITS);
        let code = LINEAR + (octaves(scaled) - octaves(LINEAR as f64));
        (code.min(CODE_MAX) as u8) << 1 | 1
    }

    /// Whether a path of this length may be shorter than all before; remembers it.
    #[inline(always)]
    pub fn may_be_shorter(&self, v: VertexId, length: u64) -> bool {
        let (bound, cell) = (self.of_length(length), &self.of[v as usize]);
        let before = cell.load(Ordering::Relaxed);
        if bound < before {
            cell.fetch_min(bound, Ordering::Relaxed);
        }
        bound < before || bound == before && bound & 1 == 1
    }

    /// Whether a path of this length may be a shortest one, where bounds are those of distances.
    #[inline(always)]
    pub fn may_be_of(&self, v: VertexId, length: u64) -> bool {
        self.of[v as usize].load(Ordering::Relaxed) == self.of_length(length)
    }

    /// Sets the bound of a vertex to what its distance allows.
    pub fn set(&self, v: VertexId, length: u64) {
        self.of[v as usize].store(self.of_length(length), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_do_not_fall_as_lengths_grow() {
        let integers = (0..500).chain((0..57).map(|bits| 1000u64 << bits));
        let integers: Vec<u64> = integers.chain([u64::MAX - 2]).collect();
        let floats: Vec<u64> = integers.iter().map(|&i| (i as f64 / 77.0).to_bits()).collect();
        for (lengths, list) in [(Lengths::Integers, integers), (Lengths::Floats, floats)] {
            for delta in [0.1, 1.0, 32.0, 1e6] {
                let bounds = Bounds::new(1, lengths, delta).unwrap();
                assert!(list.is_sorted_by_key(|&length| bounds.of_length(length)));
            }
        }
    }

    #[test]
    fn small_integers_are_told_apart() {
        let bounds = Bounds::new(1, Lengths::Integers, 1.0).unwrap();
        assert!(bounds.may_be_shorter(0, 9) && !bounds.may_be_shorter(0, 9));
        assert!(!bounds.may_be_shorter(0, 10) && bounds.may_be_shorter(0, 8));
        // Not beyond the linear codes.
        let bounds = Bounds::new(1, Lengths::Integers, 1.0).unwrap();
        assert!(bounds.may_be_shorter(0, 1001) && bounds.may_be_shorter(0, 1000));
    }
}

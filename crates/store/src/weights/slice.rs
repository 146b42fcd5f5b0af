//! Slices of weights, as stored in a page.

use std::ops::Range;

use crate::weights::format::WeightFormat;
use crate::weights::value::{Weight, WeightType};

/// A slice of weights of one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights<'a> {
    kind: WeightType,
    numbers: WeightNumbers<'a>,
}

/// The numbers of a slice of weights. Integers without sign can be of any integer type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightNumbers<'a> {
    /// Of [`WeightType::F32`].
    F32(&'a [f32]),
    /// Of [`WeightType::F64`].
    F64(&'a [f64]),
    /// Of integers that take one byte.
    U8(&'a [u8]),
    /// Of integers that take two bytes.
    U16(&'a [u16]),
    /// Of integers that take four bytes.
    U32(&'a [u32]),
    /// Of [`WeightType::I64`].
    I64(&'a [i64]),
}

/// A number that weights are stored as.
pub trait WeightNumber: bytemuck::Pod {
    /// Whether it is an integer.
    const IS_INTEGER: bool;

    /// The number as a floating-point number; large integers are rounded.
    fn to_f64(self) -> f64;

    /// Its bits, followed by zeros. Those of an integer that is not negative are its value.
    fn bits(self) -> u64;
}

macro_rules! numbers {
    ($($number:ty, $is_integer:literal, $to_f64:expr, $bits:expr;)*) => {
        $(impl WeightNumber for $number {
            const IS_INTEGER: bool = $is_integer;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                $bits(self)
            }
        })*
    };
}

numbers! {
    f32, false, f64::from, |number: f32| number.to_bits().into();
    f64, false, f64::from, f64::to_bits;
    u8, true, f64::from, u64::from;
    u16, true, f64::from, u64::from;
    u32, true, f64::from, u64::from;
    i64, true, |number| number as f64, i64::cast_unsigned;
}

/// Evaluates an expression on the numbers of [`Weights`], whatever their type: a slice of a
/// [`WeightNumber`].
#[macro_export]
macro_rules! with_numbers {
    ($weights:expr, $numbers:ident => $result:expr) => {
        match $weights.numbers() {
            $crate::WeightNumbers::F32($numbers) => $result,
            $crate::WeightNumbers::F64($numbers) => $result,
            $crate::WeightNumbers::U8($numbers) => $result,
            $crate::WeightNumbers::U16($numbers) => $result,
            $crate::WeightNumbers::U32($numbers) => $result,
            $crate::WeightNumbers::I64($numbers) => $result,
        }
    };
}

macro_rules! of_slices {
    ($($kind:ident, $number:ty;)*) => {
        $(impl<'a> From<&'a [$number]> for Weights<'a> {
            fn from(numbers: &'a [$number]) -> Self {
                Self { kind: WeightType::$kind, numbers: WeightNumbers::$kind(numbers) }
            }
        })*
    };
}

of_slices! {
    F32, f32;
    F64, f64;
    U32, u32;
    I64, i64;
}

impl<'a> Weights<'a> {
    /// The weights in bytes of a file.
    ///
    /// # Panics
    /// If the bytes are not aligned to a weight, or not a whole number of them.
    #[inline]
    pub fn from_bytes(format: WeightFormat, bytes: &'a [u8]) -> Self {
        use bytemuck::cast_slice;
        let kind = format.kind();
        let numbers = match (kind, format.bytes()) {
            (WeightType::F32, _) => WeightNumbers::F32(cast_slice(bytes)),
            (WeightType::F64, _) => WeightNumbers::F64(cast_slice(bytes)),
            (_, 1) => WeightNumbers::U8(bytes),
            (_, 2) => WeightNumbers::U16(cast_slice(bytes)),
            (_, 4) => WeightNumbers::U32(cast_slice(bytes)),
            (_, _) => WeightNumbers::I64(cast_slice(bytes)),
        };
        Self { kind, numbers }
    }

    /// Type of the weights.
    #[inline(always)]
    pub fn kind(&self) -> WeightType {
        self.kind
    }

    /// The numbers, for [`with_numbers!`](crate::with_numbers).
    #[inline(always)]
    pub fn numbers(&self) -> WeightNumbers<'a> {
        self.numbers
    }

    /// Number of weights.
    #[inline]
    pub fn len(&self) -> usize {
        with_numbers!(self, numbers => numbers.len())
    }

    /// Whether the slice is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The weight at an index.
    ///
    /// # Panics
    /// If `index` is out of bounds.
    #[inline]
    pub fn get(&self, index: usize) -> Weight {
        self.kind.weight_of_raw(with_numbers!(self, numbers => numbers[index].bits()))
    }

    /// A subslice.
    ///
    /// # Panics
    /// If `range` is out of bounds.
    #[inline]
    pub fn slice(&self, range: Range<usize>) -> Self {
        use WeightNumbers::{F32, F64, I64, U8, U16, U32};
        let numbers = match self.numbers {
            F32(numbers) => F32(&numbers[range]),
            F64(numbers) => F64(&numbers[range]),
            U8(numbers) => U8(&numbers[range]),
            U16(numbers) => U16(&numbers[range]),
            U32(numbers) => U32(&numbers[range]),
            I64(numbers) => I64(&numbers[range]),
        };
        Self { numbers, ..*self }
    }

    /// The bytes of the weights, as in the file.
    #[inline]
    pub fn as_bytes(&self) -> &'a [u8] {
        with_numbers!(self, numbers => bytemuck::cast_slice(numbers))
    }

    /// Writes the weights to bytes, in a format of their type.
    ///
    /// # Panics
    /// If the bytes are not exactly those that the weights take, or a weight does not fit.
    pub fn put(&self, format: WeightFormat, into: &mut [u8]) {
        assert_eq!(into.len(), self.len() * format.bytes(), "room for each weight");
        with_numbers!(self, numbers => match format.bytes() {
            1 => put_numbers::<1>(numbers, into),
            2 => put_numbers::<2>(numbers, into),
            4 => put_numbers::<4>(numbers, into),
            _ => put_numbers::<8>(numbers, into),
        });
    }

    /// Position of the first weight that is not finite.
    pub(crate) fn position_of_infinite(&self) -> Option<usize> {
        if self.kind.is_integer() {
            return None;
        }
        with_numbers!(self, numbers => {
            // A first pass over the whole slice vectorises; the search runs only if it finds any.
            let is_infinite = |number: f64| !number.is_finite();
            let any = numbers.iter().fold(false, |any, number| any | is_infinite(number.to_f64()));
            let position = || numbers.iter().position(|number| is_infinite(number.to_f64()));
            if any { position() } else { None }
        })
    }

    /// Calls `each` with the ordered bits of every weight.
    pub(crate) fn for_each_ordered(&self, mut each: impl FnMut(u64)) {
        let kind = self.kind;
        with_numbers!(self, numbers => {
            numbers.iter().for_each(|number| each(kind.ordered(number.bits())));
        });
    }
}

/// Writes numbers to bytes, so many each. The loop vectorises.
fn put_numbers<const BYTES: usize>(numbers: &[impl WeightNumber], into: &mut [u8]) {
    let mut lost = 0;
    for (into, number) in into.as_chunks_mut::<BYTES>().0.iter_mut().zip(numbers) {
        let bits = number.bits();
        into.copy_from_slice(&bits.to_le_bytes()[..BYTES]);
        lost |= bits.checked_shr(8 * BYTES as u32).unwrap_or(0);
    }
    assert_eq!(lost, 0, "the format has room for the weights");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_any_width_have_their_type() {
        let mut bytes = [0u64; 3];
        let weights = [0, 7, 255].map(|n| WeightType::I64.of_integer(n).unwrap());
        for size in [1, 2, 4, 8] {
            let format = WeightFormat::new(WeightType::I64, size).unwrap();
            let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut bytes)[..3 * format.bytes()];
            for (&weight, into) in weights.iter().zip(bytes.chunks_exact_mut(format.bytes())) {
                format.put(weight, into);
            }
            let slice = Weights::from_bytes(format, bytes);
            assert_eq!((slice.len(), slice.as_bytes().len()), (3, 3 * format.bytes()));
            assert_eq!([0, 1, 2].map(|at| slice.get(at)), [0, 7, 255].map(Weight::I64));
            let mut ordered = Vec::new();
            slice.slice(1..3).for_each_ordered(|weight| ordered.push(weight));
            assert_eq!(ordered, weights[1..]);
            for other in [1, 2, 4, 8] {
                let other = WeightFormat::new(WeightType::I64, other).unwrap();
                let mut bytes = [0u64; 3];
                let bytes = &mut bytemuck::cast_slice_mut(&mut bytes)[..3 * other.bytes()];
                slice.put(other, bytes);
                let copied = Weights::from_bytes(other, bytes);
                assert_eq!([0, 1, 2].map(|at| copied.get(at)), [0, 7, 255].map(Weight::I64));
            }
        }
    }

    #[test]
    #[should_panic = "room for the weights"]
    fn no_weight_is_cut_off() {
        let narrow = WeightFormat::new(WeightType::I64, 1).unwrap();
        Weights::from(&[255i64, 256][..]).put(narrow, &mut [0; 2]);
    }

    #[test]
    fn what_is_not_finite_is_found() {
        let position = |numbers: &[f32]| Weights::from(numbers).position_of_infinite();
        assert_eq!(position(&[0.0, f32::MAX, f32::MIN]), None);
        assert_eq!(position(&[1.0, f32::NAN, f32::INFINITY]), Some(1));
        assert_eq!(Weights::from(&[f64::NEG_INFINITY][..]).position_of_infinite(), Some(0));
    }
}

//! What a weight is.
//!
//! Within import and check a weight is 64 *ordered* bits: their order as unsigned integers is the
//! order of the values, so that keys and weights sort alike whatever the type.

use std::fmt;

const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WeightType {
    /// IEEE 754, 32 bits, finite.
    F32 = 1,
    /// IEEE 754, 64 bits, finite.
    F64 = 2,
    /// Integers from 0 to 2^32 - 1.
    U32 = 3,
    /// Integers from -2^63 to 2^63 - 1.
    I64 = 4,
}

/// One weight.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Weight {
    /// Of [`WeightType::F32`].
    F32(f32),
    /// Of [`WeightType::F64`].
    F64(f64),
    /// Of [`WeightType::U32`].
    U32(u32),
    /// Of [`WeightType::I64`].
    I64(i64),
}

/// What the superblock tells of all weights of the lists of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightSummary {
    /// How they are stored.
    pub kind: WeightType,
    /// Ordered bits of the smallest; 0 where there is none.
    pub(crate) min_ordered: u64,
    /// Ordered bits of the largest; 0 where there is none.
    pub(crate) max_ordered: u64,
    /// Bits of the mean as `f64`.
    pub(crate) mean_bits: u64,
    /// Whether there is any.
    pub(crate) any: bool,
}

impl WeightType {
    /// Every type with its name on the command line.
    pub const NAMES: [(&'static str, WeightType); 4] =
        [("f32", Self::F32), ("f64", Self::F64), ("u32", Self::U32), ("i64", Self::I64)];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::U32 => "u32",
            Self::I64 => "i64",
        }
    }

    /// The type of this code in a file.
    pub(crate) fn of_code(code: u64) -> Option<Self> {
        Self::NAMES.iter().map(|(_, kind)| *kind).find(|kind| *kind as u64 == code)
    }

    /// Bytes of a weight.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 | Self::U32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// Whether weights are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::U32 | Self::I64)
    }

    /// Ordered bits of a weight that was written as text. `None`: it is none of this type.
    pub fn parse(self, token: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(token).ok()?;
        let weight = match self {
            Self::F32 => Weight::F32(text.parse().ok()?),
            Self::F64 => Weight::F64(text.parse().ok()?),
            Self::U32 => Weight::U32(text.parse().ok()?),
            Self::I64 => Weight::I64(text.parse().ok()?),
        };
        weight.ordered()
    }

    /// Ordered bits of a floating-point number as a weight of this type.
    pub fn of_f64(self, value: f64) -> Option<u64> {
        match self {
            Self::F32 => Weight::F32(value as f32).ordered(),
            Self::F64 => Weight::F64(value).ordered(),
            // Every integer of 53 bits, and no fraction.
            Self::U32 | Self::I64
                if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 =>
            {
                self.of_integer(value as i128)
            }
            Self::U32 | Self::I64 => None,
        }
    }

    /// Ordered bits of an integer as a weight of this type.
    pub fn of_integer(self, value: i128) -> Option<u64> {
        match self {
            Self::F32 => Weight::F32(value as f32).ordered(),
            Self::F64 => Weight::F64(value as f64).ordered(),
            Self::U32 => u32::try_from(value).ok().and_then(|value| Weight::U32(value).ordered()),
            Self::I64 => i64::try_from(value).ok().and_then(|value| Weight::I64(value).ordered()),
        }
    }

    /// Ordered bits of minus a weight, for matrices that are symmetric but for the sign.
    pub fn negated(self, ordered: u64) -> Option<u64> {
        match self.weight(ordered) {
            Weight::F32(value) => Weight::F32(-value).ordered(),
            Weight::F64(value) => Weight::F64(-value).ordered(),
            Weight::U32(value) => self.of_integer(-i128::from(value)),
            Weight::I64(value) => self.of_integer(-i128::from(value)),
        }
    }

    /// What a message says that a weight must be.
    pub fn expected(self) -> &'static str {
        match self {
            Self::F32 => "a finite number that f32 can hold",
            Self::F64 => "a finite number",
            Self::U32 => "an integer from 0 to 4294967295",
            Self::I64 => "an integer from -9223372036854775808 to 9223372036854775807",
        }
    }

    /// The weight of ordered bits.
    #[inline]
    pub fn weight(self, ordered: u64) -> Weight {
        let raw = self.raw(ordered);
        match self {
            Self::F32 => Weight::F32(f32::from_bits(raw as u32)),
            Self::F64 => Weight::F64(f64::from_bits(raw)),
            Self::U32 => Weight::U32(raw as u32),
            Self::I64 => Weight::I64(raw.cast_signed()),
        }
    }

    /// From ordered bits to those that stand in the file; zeros above those of four bytes.
    #[inline]
    pub(crate) fn raw(self, ordered: u64) -> u64 {
        match self {
            Self::F32 => {
                let bits = ordered as u32;
                u64::from(if bits & SIGN_32 != 0 { bits ^ SIGN_32 } else { !bits })
            }
            Self::F64 if ordered & SIGN_64 != 0 => ordered ^ SIGN_64,
            Self::F64 => !ordered,
            Self::U32 => ordered,
            Self::I64 => ordered ^ SIGN_64,
        }
    }

    /// From the bits that stand in the file to ordered ones.
    #[inline]
    pub(crate) fn ordered(self, raw: u64) -> u64 {
        match self {
            Self::F32 => {
                let bits = raw as u32;
                u64::from(if bits & SIGN_32 == 0 { bits ^ SIGN_32 } else { !bits })
            }
            Self::F64 if raw & SIGN_64 == 0 => raw ^ SIGN_64,
            Self::F64 => !raw,
            Self::U32 => raw,
            Self::I64 => raw ^ SIGN_64,
        }
    }
}

impl Weight {
    /// The weight as a floating-point number, rounded where it is a large integer.
    #[inline]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::F32(value) => value.into(),
            Self::F64(value) => value,
            Self::U32(value) => value.into(),
            Self::I64(value) => value as f64,
        }
    }

    /// Whether it is less than zero.
    pub fn is_negative(self) -> bool {
        self.to_f64() < 0.0
    }

    /// Ordered bits; minus zero counts as zero. `None` where it is not finite.
    pub(crate) fn ordered(self) -> Option<u64> {
        Some(match self {
            Self::F32(value) if value.is_finite() => {
                WeightType::F32.ordered(u64::from((value + 0.0).to_bits()))
            }
            Self::F64(value) if value.is_finite() => {
                WeightType::F64.ordered((value + 0.0).to_bits())
            }
            Self::F32(_) | Self::F64(_) => return None,
            Self::U32(value) => u64::from(value),
            Self::I64(value) => WeightType::I64.ordered(value.cast_unsigned()),
        })
    }
}

impl fmt::Display for Weight {
    /// As few digits as give the same weight when read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32(value) => write!(f, "{value:?}"),
            Self::F64(value) => write!(f, "{value:?}"),
            Self::U32(value) => write!(f, "{value}"),
            Self::I64(value) => write!(f, "{value}"),
        }
    }
}

impl WeightSummary {
    /// The smallest weight, `None` where the graph has no edge.
    pub fn min(&self) -> Option<Weight> {
        self.any.then(|| self.kind.weight(self.min_ordered))
    }

    /// The largest weight, `None` where the graph has no edge.
    pub fn max(&self) -> Option<Weight> {
        self.any.then(|| self.kind.weight(self.max_ordered))
    }

    /// The mean over the entries of all lists of targets; 0 where there is none, or where their sum
    /// overflows.
    pub fn mean(&self) -> f64 {
        f64::from_bits(self.mean_bits)
    }
}

/// Adds weights up, one after the other: the same weights in the same order give the same bits.
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

    pub fn summary(&self) -> WeightSummary {
        let any = self.count > 0;
        let sum = if self.kind.is_integer() { self.integer_sum as f64 } else { self.float_sum };
        let mean = if any && sum.is_finite() { sum / self.count as f64 } else { 0.0 };
        let min_ordered = if any { self.min } else { 0 };
        let mean_bits = (mean + 0.0).to_bits();
        WeightSummary { kind: self.kind, min_ordered, max_ordered: self.max, mean_bits, any }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_sort_as_the_values_do_and_give_them_back() {
        let texts = ["-9223372036854775808", "-1e30", "-2.5", "-1", "-1e-40", "-0", "0", "1e-40"];
        let texts = [&texts[..], &["0.5", "1", "2", "4294967295", "4294967296", "1e38"]].concat();
        for (name, kind) in WeightType::NAMES {
            let values: Vec<u64> = texts.iter().filter_map(|t| kind.parse(t.as_bytes())).collect();
            assert!(values.len() >= 4, "{name}");
            for &ordered in &values {
                assert_eq!(kind.ordered(kind.raw(ordered)), ordered, "{name}");
                assert_eq!(kind.weight(ordered).ordered(), Some(ordered), "{name}");
                let again = kind.weight(ordered).to_string();
                assert_eq!(kind.parse(again.as_bytes()), Some(ordered), "{name} {again}");
            }
            for pair in values.windows(2).filter(|_| kind != WeightType::I64) {
                let [a, b] = [pair[0], pair[1]].map(|bits| kind.weight(bits).to_f64());
                assert_eq!(a.total_cmp(&b), pair[0].cmp(&pair[1]), "{name} {a} {b}");
            }
        }
    }

    #[test]
    fn what_a_type_cannot_hold_is_no_weight() {
        for token in ["nan", "inf", "-inf", "1e400", "", "x", "0x1", "1,5"] {
            assert_eq!(WeightType::F64.parse(token.as_bytes()), None, "{token}");
        }
        assert_eq!(WeightType::F32.parse(b"1e39"), None);
        for token in ["-1", "4294967296", "1.0", "1e3"] {
            assert_eq!(WeightType::U32.parse(token.as_bytes()), None, "{token}");
        }
        assert_eq!(WeightType::I64.parse(b"9223372036854775808"), None);
        assert_eq!(WeightType::I64.of_f64(0.5), None);
        assert_eq!(WeightType::U32.of_f64(-1.0), None);
        assert_eq!(WeightType::F32.of_f64(1e300), None);
    }
}

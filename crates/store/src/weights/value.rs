//! Weights as values, as bits in the file, and as ordered bits.
//!
//! Import and check use 64 *ordered* bits for a weight of any type: their order as unsigned
//! integers is that of the values.

use std::fmt;

const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

/// Type of stored weights.
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
    /// [`WeightType::F32`].
    F32(f32),
    /// [`WeightType::F64`].
    F64(f64),
    /// [`WeightType::U32`].
    U32(u32),
    /// [`WeightType::I64`].
    I64(i64),
}

/// A number as an integer, if it is one that an `f64` represents exactly.
pub(crate) fn exact_integer(number: f64) -> Option<i64> {
    const MOST: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
    (number.fract() == 0.0 && number.abs() <= MOST).then_some(number as i64)
}

impl WeightType {
    /// Every type and its name on the command line.
    pub const NAMES: [(&'static str, WeightType); 4] =
        [("f32", Self::F32), ("f64", Self::F64), ("u32", Self::U32), ("i64", Self::I64)];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::U32 => "u32",
            Self::I64 => "i64",
        }
    }

    /// The type with this code in a file.
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

    /// Ordered bits of a weight in text form; an integer may be written as a whole number with a
    /// point (`2.0`). `None` if it is not a value of this type.
    pub fn parse(self, token: &[u8]) -> Option<u64> {
        let text = std::str::from_utf8(token).ok()?;
        let weight = match self {
            Self::F32 => Weight::F32(text.parse().ok()?),
            Self::F64 => Weight::F64(text.parse().ok()?),
            Self::U32 | Self::I64 => {
                return match text.parse::<i64>() {
                    Ok(integer) => self.of_integer(integer.into()),
                    Err(_) => self.of_f64(text.parse().ok()?),
                };
            }
        };
        weight.ordered()
    }

    /// Ordered bits of a floating-point number as a weight of this type.
    pub fn of_f64(self, value: f64) -> Option<u64> {
        match self {
            Self::F32 => Weight::F32(value as f32).ordered(),
            Self::F64 => Weight::F64(value).ordered(),
            Self::U32 | Self::I64 => self.of_integer(exact_integer(value)?.into()),
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

    /// Ordered bits of the negated weight, for skew-symmetric matrices.
    pub fn negated(self, ordered: u64) -> Option<u64> {
        match self.weight(ordered) {
            Weight::F32(value) => Weight::F32(-value).ordered(),
            Weight::F64(value) => Weight::F64(-value).ordered(),
            Weight::U32(value) => self.of_integer(-i128::from(value)),
            Weight::I64(value) => self.of_integer(-i128::from(value)),
        }
    }

    /// Description of valid weights for error messages.
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
        self.weight_of_raw(self.raw(ordered))
    }

    /// The weight of the bits in the file.
    #[inline]
    pub(crate) fn weight_of_raw(self, raw: u64) -> Weight {
        match self {
            Self::F32 => Weight::F32(f32::from_bits(raw as u32)),
            Self::F64 => Weight::F64(f64::from_bits(raw)),
            Self::U32 => Weight::U32(raw as u32),
            Self::I64 => Weight::I64(raw.cast_signed()),
        }
    }

    /// Converts ordered bits to the bits in the file; those of four-byte types are the low 32.
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

    /// Converts a word with the bits in the file and zeros to ordered bits. `None` for a number
    /// that is not finite, a zero with a sign, or bits beyond those of the type.
    pub(crate) fn ordered_of_file(self, raw: u64) -> Option<u64> {
        let ordered = self.ordered(raw);
        let is_own = self.bytes() == size_of::<u64>() || raw <= u64::from(u32::MAX);
        let same = |weight: &u64| *weight == ordered;
        is_own.then(|| self.weight(ordered).ordered())?.filter(same)
    }

    /// Converts the bits in the file, or of a [`WeightNumber`](crate::WeightNumber), to ordered
    /// bits.
    #[inline]
    pub fn ordered(self, raw: u64) -> u64 {
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
    /// Its type.
    pub fn kind(self) -> WeightType {
        match self {
            Self::F32(_) => WeightType::F32,
            Self::F64(_) => WeightType::F64,
            Self::U32(_) => WeightType::U32,
            Self::I64(_) => WeightType::I64,
        }
    }

    /// The weight as a floating-point number; large integers are rounded.
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

    /// Bits that are ordered as weights of its type are, from which [`WeightType::weight`] makes
    /// the weight again; minus zero counts as zero. `None` if the weight is not finite.
    #[inline]
    pub fn ordered_bits(self) -> Option<u64> {
        self.ordered()
    }

    /// Ordered bits; minus zero counts as zero. `None` if the weight is not finite.
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
    /// Writes as few digits as identify the weight.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32(value) => write!(f, "{value:?}"),
            Self::F64(value) => write!(f, "{value:?}"),
            Self::U32(value) => write!(f, "{value}"),
            Self::I64(value) => write!(f, "{value}"),
        }
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
    fn whole_numbers_with_a_point_are_integers() {
        for (point, plain) in [("1.0", "1"), ("1e3", "1000"), ("4294967295.0", "4294967295")] {
            for kind in [WeightType::U32, WeightType::I64] {
                let ordered = kind.parse(plain.as_bytes());
                assert!(ordered.is_some() && kind.parse(point.as_bytes()) == ordered, "{point}");
            }
        }
        assert_eq!(WeightType::I64.parse(b"-7.00"), WeightType::I64.parse(b"-7"));
    }

    #[test]
    fn what_a_type_cannot_hold_is_no_weight() {
        for token in ["nan", "inf", "-inf", "1e400", "", "x", "0x1", "1,5"] {
            assert_eq!(WeightType::F64.parse(token.as_bytes()), None, "{token}");
        }
        assert_eq!(WeightType::F32.parse(b"1e39"), None);
        for token in ["-1", "4294967296", "4294967296.0", "-1.0", "1.5", "nan", "inf", "1e400"] {
            assert_eq!(WeightType::U32.parse(token.as_bytes()), None, "{token}");
        }
        for token in ["9223372036854775808", "1e17", "0.5", "-inf"] {
            assert_eq!(WeightType::I64.parse(token.as_bytes()), None, "{token}");
        }
        assert_eq!(WeightType::I64.of_f64(0.5), None);
        assert_eq!(WeightType::U32.of_f64(-1.0), None);
        assert_eq!(WeightType::F32.of_f64(1e300), None);
    }
}

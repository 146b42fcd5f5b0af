//! A value of a vertex, and the type of all values of a graph.

use std::fmt;

use crate::weights::value::exact_integer;

/// Type of the values of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ValueType {
    /// Integers from 0 to 2^64 - 1.
    U64 = 1,
    /// Integers from -2^63 to 2^63 - 1.
    I64 = 2,
    /// IEEE 754, 64 bits, finite.
    F64 = 3,
}

/// The value of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Value {
    /// [`ValueType::U64`].
    U64(u64),
    /// [`ValueType::I64`].
    I64(i64),
    /// [`ValueType::F64`].
    F64(f64),
}

impl ValueType {
    /// Every type and its name on the command line.
    pub const NAMES: [(&'static str, ValueType); 3] =
        [("u64", Self::U64), ("i64", Self::I64), ("f64", Self::F64)];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }

    /// What a value of this type is, for messages.
    pub fn expected(self) -> &'static str {
        match self {
            Self::U64 => "an integer from 0 to 18446744073709551615",
            Self::I64 => "an integer from -9223372036854775808 to 9223372036854775807",
            Self::F64 => "a finite number",
        }
    }

    /// The type with this code in a file.
    pub(crate) fn of_code(code: u64) -> Option<Self> {
        Self::NAMES.iter().map(|(_, kind)| *kind).find(|kind| *kind as u64 == code)
    }

    /// The type of a value in text form: the first of `u64`, `i64` and `f64` that has it.
    pub fn of_text(text: &str) -> Option<Self> {
        Self::NAMES.iter().map(|(_, kind)| *kind).find(|kind| kind.parse_own(text).is_some())
    }

    /// A value in text form; an integer may be written as a whole number with a point (`2.0`).
    /// `None` if it is none of this type.
    pub fn parse(self, text: &str) -> Option<Value> {
        self.parse_own(text).or_else(|| {
            let integer = exact_integer(text.parse().ok()?)?;
            match self {
                Self::U64 => u64::try_from(integer).ok().map(Value::U64),
                Self::I64 => Some(Value::I64(integer)),
                Self::F64 => None,
            }
        })
    }

    /// A value in the usual text form of its type.
    fn parse_own(self, text: &str) -> Option<Value> {
        let value = match self {
            Self::U64 => Value::U64(text.parse().ok()?),
            Self::I64 => Value::I64(text.parse().ok()?),
            Self::F64 => Value::F64(text.parse().ok()?),
        };
        value.is_possible().then_some(value)
    }

    /// The value of bits in a file. `None` if they are none of this type.
    pub(crate) fn value(self, bits: u64) -> Option<Value> {
        let value = match self {
            Self::U64 => Value::U64(bits),
            Self::I64 => Value::I64(bits.cast_signed()),
            Self::F64 => Value::F64(f64::from_bits(bits)),
        };
        (value.is_possible() && value.bits() == bits).then_some(value)
    }
}

impl Value {
    /// Its type.
    pub fn kind(self) -> ValueType {
        match self {
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// Whether a graph can have it: numbers are finite.
    pub(crate) fn is_possible(self) -> bool {
        !matches!(self, Self::F64(number) if !number.is_finite())
    }

    /// Its bits in a file; a zero has no sign.
    pub(crate) fn bits(self) -> u64 {
        match self {
            Self::U64(integer) => integer,
            Self::I64(integer) => integer.cast_unsigned(),
            Self::F64(number) => (number + 0.0).to_bits(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U64(integer) => integer.fmt(f),
            Self::I64(integer) => integer.fmt(f),
            Self::F64(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_with_a_point_are_integers() {
        for (kind, text, value) in [
            (ValueType::U64, "4.0", Some(Value::U64(4))),
            (ValueType::I64, "-4.00", Some(Value::I64(-4))),
            (ValueType::I64, "1e3", Some(Value::I64(1000))),
            (ValueType::U64, "-0.0", Some(Value::U64(0))),
            (ValueType::U64, "-1.0", None),
            (ValueType::U64, "4.5", None),
            (ValueType::I64, "1e17", None),
            (ValueType::I64, "inf", None),
            (ValueType::U64, "NaN", None),
            (ValueType::F64, "4.0", Some(Value::F64(4.0))),
        ] {
            assert_eq!(kind.parse(text), value, "{text}");
        }
        assert_eq!(ValueType::of_text("4.0"), Some(ValueType::F64));
    }

    #[test]
    fn text_has_the_first_type_that_holds_it_and_comes_back_from_its_bits() {
        for (text, kind) in [
            ("0", Some(ValueType::U64)),
            ("18446744073709551615", Some(ValueType::U64)),
            ("-1", Some(ValueType::I64)),
            ("-0.5", Some(ValueType::F64)),
            ("1e300", Some(ValueType::F64)),
            ("18446744073709551616", Some(ValueType::F64)),
            ("inf", None),
            ("NaN", None),
            ("", None),
            ("five", None),
        ] {
            assert_eq!(ValueType::of_text(text), kind, "{text}");
            if let Some(value) = kind.and_then(|kind| kind.parse(text)) {
                assert_eq!(value.kind().value(value.bits()), Some(value), "{text}");
            }
        }
        assert_eq!(Value::F64(-0.0).bits(), 0);
        assert_eq!(ValueType::F64.value((-0.0f64).to_bits()), None);
        assert_eq!(ValueType::F64.value(f64::NAN.to_bits()), None);
    }
}

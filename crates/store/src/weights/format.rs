//! How weights are stored: integers in fewer bytes than their type has, where they fit.

use crate::weights::value::WeightType;

/// Type of the weights of a column, and the bytes of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightFormat {
    kind: WeightType,
    bytes: u8,
}

impl WeightFormat {
    /// That of a type, which has every weight of it.
    pub const fn full(kind: WeightType) -> Self {
        Self { kind, bytes: kind.bytes() as u8 }
    }

    /// Weights of a type in so many bytes; `None` if there is no such format.
    pub fn new(kind: WeightType, bytes: u64) -> Option<Self> {
        Self::all(kind).find(|format| u64::from(format.bytes) == bytes)
    }

    /// The formats of a type, ascending. Floating-point numbers have one.
    fn all(kind: WeightType) -> impl Iterator<Item = Self> {
        let narrow = if kind.is_integer() { &[1, 2, 4][..] } else { &[] };
        let narrow = narrow.iter().map(move |&bytes| Self { kind, bytes });
        narrow.take_while(move |format| format.is_narrow()).chain([Self::full(kind)])
    }

    /// The format of no weights: the shortest.
    pub(crate) fn of_none(kind: WeightType) -> Self {
        Self::all(kind).next().expect("every type has a format")
    }

    /// The shortest format that has all weights from one to another, as ordered bits.
    pub(crate) fn shortest(kind: WeightType, [min, max]: [u64; 2]) -> Self {
        let has_both = |format: &Self| format.has(min) && format.has(max);
        Self::all(kind).find(has_both).expect("the full format has every weight")
    }

    /// The shortest format that is at least as long as this one and has this weight.
    pub(crate) fn with(self, ordered: u64) -> Self {
        let is_longer = |format: &Self| format.bytes >= self.bytes && format.has(ordered);
        Self::all(self.kind).find(is_longer).expect("the full format has every weight")
    }

    /// Type of the weights.
    #[inline]
    pub const fn kind(self) -> WeightType {
        self.kind
    }

    /// Bytes of a weight.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.bytes as usize
    }

    /// Whether weights have fewer bytes than their type.
    pub const fn is_narrow(self) -> bool {
        self.bytes() < self.kind.bytes()
    }

    /// Whether a weight, as ordered bits, can be stored.
    pub(crate) fn has(self, ordered: u64) -> bool {
        !self.is_narrow() || self.kind.raw(ordered) >> (8 * self.bytes) == 0
    }

    /// Writes a weight, as ordered bits, to the first bytes.
    #[inline]
    pub(crate) fn put(self, ordered: u64, into: &mut [u8]) {
        assert!(self.has(ordered), "a column has room for its weights");
        into.copy_from_slice(&self.kind.raw(ordered).to_le_bytes()[..self.bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortest(kind: WeightType, min: i64, max: i64) -> usize {
        let ends = [min, max].map(|end| kind.of_integer(end.into()).unwrap());
        WeightFormat::shortest(kind, ends).bytes()
    }

    #[test]
    fn integers_take_the_fewest_bytes_that_have_all() {
        for kind in [WeightType::U32, WeightType::I64] {
            for (max, bytes) in [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)] {
                assert_eq!(shortest(kind, 0, max), bytes, "{max}");
            }
            assert_eq!(shortest(kind, 0, u32::MAX.into()), 4);
        }
        assert_eq!(shortest(WeightType::I64, 0, i64::from(u32::MAX) + 1), 8);
        assert_eq!(shortest(WeightType::I64, -1, 1), 8);
        assert_eq!(shortest(WeightType::F32, 0, 1), 4);
        assert_eq!(shortest(WeightType::F64, 0, 1), 8);
    }

    #[test]
    fn a_format_grows_with_a_weight_and_never_shrinks() {
        let narrow = WeightFormat::new(WeightType::I64, 1).unwrap();
        let with = |format: WeightFormat, weight: i64| {
            format.with(WeightType::I64.of_integer(weight.into()).unwrap())
        };
        assert_eq!(with(narrow, 255), narrow);
        assert_eq!(with(narrow, 256).bytes(), 2);
        assert_eq!(with(with(narrow, 70_000), 0).bytes(), 4);
        assert_eq!(with(narrow, -1), WeightFormat::full(WeightType::I64));
    }

    #[test]
    fn formats_are_those_of_their_type() {
        let of = |kind: WeightType| (0..10).filter_map(move |n| WeightFormat::new(kind, n));
        let bytes = |kind| of(kind).map(WeightFormat::bytes).collect::<Vec<_>>();
        assert_eq!(bytes(WeightType::U32), [1, 2, 4]);
        assert_eq!(bytes(WeightType::I64), [1, 2, 4, 8]);
        assert_eq!((bytes(WeightType::F32), bytes(WeightType::F64)), (vec![4], vec![8]));
    }
}

//! Searches that begin at the start of a sorted slice.

use std::cell::Cell;

/// Where the last search of a sorted slice ended: for many searches, most of which go on behind it.
#[derive(Debug, Default)]
pub(crate) struct Cursor(Cell<usize>);

impl Cursor {
    /// The place of the last number that is not above `bound`; the first one is not.
    pub fn last_up_to(&self, sorted: &[u32], bound: u32) -> usize {
        let last = self.0.get();
        let from = if sorted[last] <= bound { last } else { 0 };
        let place = from + gallop(&sorted[from..], |number| *number <= bound) - 1;
        self.0.set(place);
        place
    }
}

/// As [`slice::partition_point`], in time that grows with the logarithm of the result instead of
/// that of the length: for many searches that go on where the one before ended.
pub(crate) fn gallop<T>(sorted: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let (mut from, mut step) = (0, 1);
    while sorted.get(from + step - 1).is_some_and(&is_before) {
        from += step;
        step *= 2;
    }
    let end = (from + step - 1).min(sorted.len());
    from + sorted[from..end].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_finds_what_a_bisection_does_in_any_order() {
        let sorted = [0, 0, 3, 3, 3, 8, 9, 20, 20];
        let cursor = Cursor::default();
        for bound in [0, 1, 3, 7, 8, 25, 2, 20, 19, 0, 9] {
            let expected = sorted.partition_point(|number| *number <= bound) - 1;
            assert_eq!(cursor.last_up_to(&sorted, bound), expected, "{bound}");
        }
    }

    #[test]
    fn a_gallop_ends_where_a_bisection_does() {
        for length in 0..70 {
            let sorted: Vec<usize> = (0..length).map(|i| i / 3).collect();
            for least in 0..25 {
                let is_before = |i: &usize| *i < least;
                assert_eq!(gallop(&sorted, is_before), sorted.partition_point(is_before));
            }
        }
    }
}

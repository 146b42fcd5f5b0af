//! Searches that begin at the start of a sorted slice.

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

//! Sets of pages as ranges that ascend and do not touch.

use std::ops::Range;

use cenote_pool::PageId;

/// The pages of any ranges.
pub(crate) fn union(ranges: impl Iterator<Item = Range<PageId>>) -> Vec<Range<PageId>> {
    let mut all: Vec<_> = ranges.filter(|pages| !pages.is_empty()).collect();
    all.sort_unstable_by_key(|pages| pages.start);
    let mut merged: Vec<Range<PageId>> = Vec::with_capacity(all.len());
    for pages in all {
        match merged.last_mut() {
            Some(last) if last.end >= pages.start => last.end = last.end.max(pages.end),
            _ => merged.push(pages),
        }
    }
    merged
}

/// The pages of both sets.
pub(crate) fn intersection(
    first: &[Range<PageId>],
    second: &[Range<PageId>],
) -> Vec<Range<PageId>> {
    let (mut common, mut others) = (Vec::new(), second.iter().peekable());
    for pages in first {
        while others.next_if(|other| other.end <= pages.start).is_some() {}
        while let Some(other) = others.peek().filter(|other| other.start < pages.end) {
            common.push(pages.start.max(other.start)..pages.end.min(other.end));
            if other.end > pages.end {
                break;
            }
            others.next();
        }
    }
    common
}

/// Number of pages of a set.
pub(crate) fn pages(set: &[Range<PageId>]) -> u64 {
    set.iter().map(|pages| pages.end - pages.start).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Ranges from the bits of a number.
    fn ranges(bits: u32) -> Vec<Range<PageId>> {
        (0..16).filter(|at| bits >> at & 1 == 1).map(|at| at..at + 1).collect()
    }

    fn set(ranges: &[Range<PageId>]) -> BTreeSet<PageId> {
        ranges.iter().cloned().flatten().collect()
    }

    #[test]
    fn sets_are_those_of_their_pages() {
        for (first, second) in
            (0..2000u32).map(|n| ((n * 40_503) >> 3, n.wrapping_mul(2_654_435_761) >> 9))
        {
            let [a, b] = [first, second].map(|bits| union(ranges(bits).into_iter().rev()));
            assert!(a.windows(2).all(|pair| pair[0].end < pair[1].start), "{a:?}");
            let common = intersection(&a, &b);
            assert_eq!(set(&common), &set(&ranges(first)) & &set(&ranges(second)), "{a:?} {b:?}");
            assert_eq!(pages(&common), set(&common).len() as u64);
        }
        let touching = union([3..9, 4..5, 9..11, 2..2, 13..14].into_iter());
        assert_eq!(touching, [3..11, 13..14]);
    }
}

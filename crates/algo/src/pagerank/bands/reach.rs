//! Which bands the lists of each window reach, so that others need not be visited for a band.
//!
//! Where edges lead nearby, as on paths, roads and crawls, the lists of a window have entries in
//! one band or two: they are read for these alone, and the sums of the window are complete after
//! the last of them.

use std::ops::Range;

use cenote_engine::VertexId;

/// The vertices of a window from the first to the last with an entry in a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    from: VertexId,
    to: VertexId,
}

impl Span {
    pub const EMPTY: Self = Self { from: VertexId::MAX, to: 0 };

    pub fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// The vertices, if there are any.
    pub fn vertices(self) -> Option<(VertexId, VertexId)> {
        (!self.is_empty()).then_some((self.from, self.to))
    }

    pub fn len(self) -> usize {
        self.to.saturating_sub(self.from) as usize
    }

    #[inline(always)]
    pub fn include(&mut self, v: VertexId) {
        self.from = self.from.min(v);
        self.to = self.to.max(v + 1);
    }

    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

/// The spans of all windows and bands, as far as they are known.
#[derive(Debug)]
pub(super) struct Reach {
    bands: usize,
    /// By window, then band; those of a window are found in one visit.
    spans: Vec<Span>,
    is_known: Vec<bool>,
}

impl Reach {
    /// Bytes for so many windows and bands.
    pub fn bytes_for(windows: usize, bands: usize) -> u64 {
        (windows * (bands * size_of::<Span>() + size_of::<bool>())) as u64
    }

    pub fn new(windows: usize, bands: usize) -> Self {
        Self { bands, spans: vec![Span::EMPTY; windows * bands], is_known: vec![false; windows] }
    }

    pub fn is_known(&self, w: usize) -> bool {
        self.is_known[w]
    }

    /// Takes over the spans of a window from what each worker has seen of it.
    pub fn learn<'s>(&mut self, w: usize, of_workers: impl Iterator<Item = &'s [Span]>) {
        let spans = &mut self.spans[w * self.bands..][..self.bands];
        for seen in of_workers {
            spans.iter_mut().zip(seen).for_each(|(span, &seen)| *span = span.and(seen));
        }
        self.is_known[w] = true;
    }

    /// The vertices of a window that is known with entries in a band.
    pub fn span(&self, w: usize, band: usize) -> Span {
        self.spans[w * self.bands + band]
    }
}

/// The entries of a list in each band that has any; bands are of so many vertices.
#[inline(always)]
pub(super) fn by_band(
    targets: &[VertexId],
    band_vertices: usize,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = *targets.get(at)? as usize;
        let band = first / band_vertices;
        let end = (band + 1) * band_vertices;
        let from = at;
        at += targets[at..].partition_point(|&t| (t as usize) < end);
        Some((band, from..at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_cut_at_bands() {
        let found: Vec<_> = by_band(&[0, 3, 10, 11, 29, 30], 10).collect();
        assert_eq!(found, [(0, 0..2), (1, 2..4), (2, 4..5), (3, 5..6)]);
        assert_eq!(by_band(&[], 10).count(), 0);
        assert_eq!(by_band(&[7], 1).collect::<Vec<_>>(), [(7, 0..1)]);
    }

    #[test]
    fn workers_know_parts_of_a_window() {
        let mut reach = Reach::new(2, 2);
        let (mut a, mut b) = ([Span::EMPTY; 2], [Span::EMPTY; 2]);
        a[0].include(12);
        b[0].include(17);
        assert!(!reach.is_known(1));
        reach.learn(1, [&a[..], &b[..]].into_iter());
        assert_eq!(reach.span(1, 0).vertices(), Some((12, 18)));
        assert_eq!(reach.span(1, 1).vertices(), None);
        assert!(reach.is_known(1) && !reach.is_known(0));
    }
}

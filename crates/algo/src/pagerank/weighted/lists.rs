//! One sum for each list, of lists that arrive in pieces.
//!
//! A visit with weights divides a list where a page of lists or of weights ends, and at changes of
//! the log. The pieces within one page come to the worker that read it, which adds them up. Of a
//! list that spans pages, a *boundary* between two pages has the sum of the pieces around it, as
//! in [`pull`](super::super::pull).

use std::sync::{Mutex, PoisonError};

use cenote_engine::{Adjacency, Kernel, List, VertexId, Weights};
use rustc_hash::FxHashMap;

use crate::parallel;

/// A sum that is the same in any order and grouping.
pub(super) trait Sum: Copy + Default + Send {
    /// The sum of two sums.
    fn and(self, other: Self) -> Self;
}

/// What is added up.
pub(super) trait Terms: Sync {
    type Sum: Sum;

    /// The sum over a piece of a list.
    fn sum(&self, targets: &[VertexId], weights: Weights<'_>) -> Self::Sum;

    /// Prefetches what it keeps of targets.
    fn prefetch(&self, _targets: &[VertexId]) {}

    /// Takes the sum over the list of `v`. Empty lists have none.
    fn take(&self, v: VertexId, sum: Self::Sum);
}

/// Sums at the boundaries of pages: slot i is for the piece that page i begins with and for the
/// pieces of the same list on the page before, if it begins there.
#[derive(Debug)]
pub(super) struct Boundaries<S>(Vec<Mutex<S>>);

impl<S: Sum> Boundaries<S> {
    /// Bytes of the sums of so many pages.
    pub fn bytes_for(pages: u64) -> u64 {
        size_of::<Mutex<S>>() as u64 * pages
    }

    /// A sum for each page of lists.
    pub fn new(adjacency: &Adjacency) -> Self {
        Self((0..adjacency.pages()).map(|_| Mutex::default()).collect())
    }

    fn add(&self, page: usize, sum: S) {
        // A list that claims to continue behind the last page is reported by `check`.
        if let Some(slot) = self.0.get(page) {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            *slot = slot.and(sum);
        }
    }

    fn take(&self, page: usize) -> S {
        std::mem::take(&mut *self.0[page].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds up the terms of every list.
pub(super) struct ListSums<'a, T: Terms> {
    pub adjacency: &'a Adjacency,
    pub terms: T,
    pub boundaries: &'a Boundaries<T::Sum>,
}

/// The sum of the pieces that have arrived, and how many entries are missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incomplete<S> {
    sum: S,
    missing: u64,
}

impl<T: Terms> Kernel for ListSums<'_, T> {
    /// Lists within one page that have not arrived as a whole: no more than pieces that wait for
    /// weights.
    type Local = FxHashMap<VertexId, Incomplete<T::Sum>>;

    fn local(&self) -> Self::Local {
        FxHashMap::default()
    }

    #[inline(always)]
    fn prefetch(&self, targets: &[VertexId]) {
        self.terms.prefetch(targets);
    }

    #[inline(always)]
    fn weighted_list(&self, local: &mut Self::Local, list: &List<'_>, weights: Weights<'_>) {
        let sum = self.terms.sum(list.targets, weights);
        if list.is_whole() {
            self.terms.take(list.vertex, sum);
        } else {
            self.add_piece(local, list, sum);
        }
    }
}

impl<T: Terms> ListSums<'_, T> {
    #[inline(never)]
    fn add_piece(&self, local: &mut <Self as Kernel>::Local, list: &List<'_>, sum: T::Sum) {
        let pages = self.adjacency.pages_of(list.vertex);
        if pages.start() < pages.end() {
            let page = list.page - self.adjacency.first_page();
            return self.boundaries.add(page.max(pages.start() + 1) as usize, sum);
        }
        let nothing = Incomplete { sum: T::Sum::default(), missing: list.degree };
        let incomplete = local.entry(list.vertex).or_insert(nothing);
        incomplete.sum = incomplete.sum.and(sum);
        incomplete.missing = incomplete.missing.saturating_sub(list.targets.len() as u64);
        if incomplete.missing == 0 {
            self.terms.take(list.vertex, incomplete.sum);
            local.remove(&list.vertex);
        }
    }

    /// Takes the sums of lists that span pages, after a visit. Clears the boundaries.
    pub fn finish(&self) {
        let continued = |page: usize| {
            let page = page as u64;
            self.adjacency.continues(page).then(|| self.adjacency.vertices_in(page).start)
        };
        let pages = self.boundaries.0.len();
        parallel::for_each(pages.saturating_sub(1), |before| {
            let page = before + 1;
            let Some(v) = continued(page).filter(|&v| continued(page - 1) != Some(v)) else {
                return;
            };
            let of_list = (page..pages).take_while(|&page| continued(page) == Some(v));
            let sum =
                of_list.fold(T::Sum::default(), |sum, page| sum.and(self.boundaries.take(page)));
            self.terms.take(v, sum);
        });
    }
}

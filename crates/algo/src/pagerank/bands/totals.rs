//! The sums of the weights of out-lists, window by window.

use std::sync::{Mutex, PoisonError};

use cenote_engine::{ActiveSet, Direction, Engine, Kernel, List, VertexId, Weights};

use super::super::weighted::{WeightSum, is_wrong, refuse};
use crate::report::Result;

/// Bytes of a vertex of the window.
pub(super) const TOTAL_BYTES: usize = size_of::<Mutex<WeightSum>>();

/// The totals of a window.
pub(super) struct Totals(Vec<Mutex<WeightSum>>);

/// Adds up the weights of the window's out-lists.
struct AddUp<'a> {
    window: (VertexId, VertexId),
    totals: &'a [Mutex<WeightSum>],
}

impl Kernel for AddUp<'_> {
    type Local = ();

    fn local(&self) {}

    fn weighted_list(&self, (): &mut (), list: &List<'_>, weights: Weights<'_>) {
        let (from, to) = self.window;
        if (from..to).contains(&list.vertex) {
            // Several workers may have pieces of one list.
            let total = &self.totals[(list.vertex - from) as usize];
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            *total = total.and(WeightSum::of(weights));
        }
    }
}

impl Totals {
    /// Totals of windows of so many vertices.
    pub fn new(window: usize) -> Self {
        Self((0..window).map(|_| Mutex::default()).collect())
    }

    /// The totals of a window's vertices. `once`: whether out-lists are not visited later.
    ///
    /// # Errors
    /// A total that is too small or too large; a page that cannot be read.
    pub fn of(
        &mut self,
        engine: &Engine,
        window: (VertexId, VertexId),
        once: bool,
    ) -> Result<impl Iterator<Item = f64>> {
        let kernel = AddUp { window, totals: &self.0 };
        let active = ActiveSet::Within { from: window.0, to: window.1 };
        let label = "sums of weights";
        match once {
            true => engine.visit_weighted_once(label, Direction::Out, active, &kernel)?,
            false => engine.visit_weighted(label, Direction::Out, active, &kernel)?,
        };
        let totals = &mut self.0[..(window.1 - window.0) as usize];
        refuse(totals.iter_mut().map(|total| sum_of(total).value()).find(is_wrong))?;
        Ok(totals.iter_mut().map(|total| std::mem::take(sum_of(total)).value()))
    }
}

fn sum_of(total: &mut Mutex<WeightSum>) -> &mut WeightSum {
    total.get_mut().unwrap_or_else(PoisonError::into_inner)
}

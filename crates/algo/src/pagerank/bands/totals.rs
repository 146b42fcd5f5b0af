//! The sums of the weights of out-lists, window by window.

use std::sync::{Mutex, PoisonError};

use cenote_engine::{ActiveSet, Direction, Kernel, List, VertexId, Weights};

use super::super::fixed::{from_fixed, to_fixed};
use super::super::restart::Restart;
use super::super::weighted::{WeightSum, is_wrong, refuse};
use super::state::State;
use crate::report::Result;

/// Bytes of a vertex of the window.
pub(super) const TOTAL_BYTES: usize = size_of::<Mutex<WeightSum>>();

/// Adds up the weights of a window's out-lists.
struct Totals<'a> {
    window: (VertexId, VertexId),
    totals: &'a [Mutex<WeightSum>],
}

impl Kernel for Totals<'_> {
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

/// Writes the first numbers and the totals. Returns the mass of vertices whose total is 0.
///
/// # Errors
/// A total that is too small or too large; a page that cannot be read.
pub(super) fn begin(state: &mut State<'_>, restart: &Restart) -> Result<f64> {
    let (start, mut dangling) = (restart.start(), 0u64);
    let mut totals: Vec<_> =
        (0..state.plan.layout.window).map(|_| Mutex::<WeightSum>::default()).collect();
    for w in 0..state.plan.layout.windows() {
        let window = state.window(w);
        let kernel = Totals { window, totals: &totals };
        let active = ActiveSet::Within { from: window.0, to: window.1 };
        let label = "sums of weights";
        // The lists of iterations may stay in memory; others need no room there.
        match state.plan.direction {
            Direction::Out => {
                state.engine.visit_weighted(label, Direction::Out, active, &kernel)?
            }
            Direction::In => {
                state.engine.visit_weighted_once(label, Direction::Out, active, &kernel)?
            }
        };
        for (v, total) in (window.0..window.1).zip(&mut totals) {
            let total = std::mem::take(total.get_mut().unwrap_or_else(PoisonError::into_inner));
            let (rank, total) = (start.of(v), total.value());
            if is_wrong(&total) {
                refuse(Some(total))?;
            }
            dangling += if total == 0.0 { to_fixed(rank) } else { 0 };
            state.push(rank, total);
        }
        state.flush(window.1 as usize)?;
    }
    Ok(from_fixed(dangling))
}

//! Estimates how many passes over the pages the walks of a sweep take.

use super::rule::WalkConfig;
use super::sweep::{WINDOW_MIN, WINDOWS};

/// Additional pages per proposal of a walk that tests edges, measured on a Kronecker graph.
const PAGES_PER_TEST: f64 = 0.3;

/// Pages read in gaps per active page, where few pages are active: of lists, and of weights, whose
/// active pages lie closer together.
pub(super) const GAPS_OF_LISTS: f64 = 8.0;
pub(super) const GAPS_OF_WEIGHTS: f64 = 3.0;

/// Passes over the pages for batches of `rows` walks; `cached`: the fraction of the pages that
/// stays in memory; `gaps`: pages read between active ones.
///
/// On a graph without locality the pages of a walk are a random sequence. A sweep covers a rising
/// run of it, less what falls into the same window; the number of runs is nearly normal. For p and
/// q, most neighbours of a vertex are assumed not to be neighbours of the vertex before.
pub(super) fn passes(
    walk: &WalkConfig,
    rows: u64,
    (pages, gaps): (u64, f64),
    cached: f64,
    batches: f64,
) -> f64 {
    let (crowd, windows) = (rows as f64 / pages as f64, rows as f64 / WINDOW_MIN as f64);
    let same_window = 1.0 / windows.clamp(1.0, WINDOWS as f64);
    let mut visits = f64::from(walk.steps) * (1.0 - walk.restart);
    if walk.is_second_order() {
        let largest = (1.0 / walk.p).max(1.0).max(1.0 / walk.q);
        visits *= walk.q * largest * (1.0 + PAGES_PER_TEST);
    }
    let runs = (visits * (1.0 + same_window) + 1.0) / 2.0;
    let spread = ((visits + 1.0) / 12.0).sqrt();
    let mut swept = 0.0;
    for sweep in 1..=(runs + 6.0 * spread).ceil() as u64 {
        let alive = 1.0 / (1.0 + (1.702 * (sweep as f64 - 0.5 - runs) / spread).exp());
        let active = 1.0 - (-crowd * alive * visits / runs).exp();
        // Short gaps between active pages are read.
        let covered = 1.0 - (-gaps * active).exp();
        swept += covered * if sweep == 1 { 1.0 } else { 1.0 - cached };
    }
    // Later batches find the cached pages of the first.
    swept + (batches - 1.0).max(0.0) * (swept * (1.0 - cached))
}

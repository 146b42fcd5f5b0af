//! How many passes over the pages a sweep takes, as estimated beforehand.

use super::rule::WalkConfig;
use super::sweep::{WINDOW_MIN, WINDOWS};

/// Further pages for each proposal of a walk that asks for edges, as measured on a Kronecker graph.
const PAGES_PER_QUESTION: f64 = 0.3;

/// For every active page of lists, one at which walks wait, so many more are read in gaps between
/// active ones, where few are active; active pages of weights lie closer together.
pub(super) const GAPS_OF_LISTS: f64 = 8.0;
pub(super) const GAPS_OF_WEIGHTS: f64 = 3.0;

/// Passes over the pages that batches of `rows` walks will read, where `cached` is the share of the
/// pages that stays in memory, and `gaps` what is read between active pages.
///
/// On a graph without locality the pages of a walk are a random sequence. A sweep serves a rising
/// run of it, less what falls into the same window; the number of runs is nearly normal. With p or
/// q most of a vertex's neighbours are taken to be no neighbours of the vertex before.
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
        visits *= walk.q * largest * (1.0 + PAGES_PER_QUESTION);
    }
    let runs = (visits * (1.0 + same_window) + 1.0) / 2.0;
    let spread = ((visits + 1.0) / 12.0).sqrt();
    let mut swept = 0.0;
    for sweep in 1..=(runs + 6.0 * spread).ceil() as u64 {
        let alive = 1.0 / (1.0 + (1.702 * (sweep as f64 - 0.5 - runs) / spread).exp());
        let active = 1.0 - (-crowd * alive * visits / runs).exp();
        // Gaps between active pages are read through while they are short.
        let covered = 1.0 - (-gaps * active).exp();
        swept += covered * if sweep == 1 { 1.0 } else { 1.0 - cached };
    }
    // Later batches find in memory what the first has left there.
    swept + (batches - 1.0).max(0.0) * (swept * (1.0 - cached))
}

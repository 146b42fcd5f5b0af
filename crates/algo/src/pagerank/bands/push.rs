//! Push in bands: mass that the band has received in memory, shares of the window.
//!
//! For each band of targets the ranks of all windows that reach it are read. New ranks go to an
//! array of their own, since later bands need the old ones.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{HugeVec, VertexId, prefetch};

use super::super::Step;
use super::super::fixed::{from_fixed, to_fixed};
use super::super::pull::Masses;
use super::super::restart::Restart;
use super::state::{State, label};
use super::sums::Runs;
use crate::report::Result;

/// How many entries ahead to prefetch; see the pull in memory.
const PREFETCH_ENTRIES: usize = 128;

/// The state between iterations.
pub(super) struct Push<'a> {
    pub state: State<'a>,
    damping: f64,
    restart: Restart,
    dangling: f64,
    /// Place of the next ranks.
    next: u64,
    /// Mass in fixed point that the vertices of the band have received.
    received: HugeVec<AtomicU64>,
    /// What the vertices of the window give each out-neighbour, in fixed point; by weight they give
    /// their numbers times the weights.
    shares: Vec<u64>,
}

impl<'a> Push<'a> {
    pub fn new(
        state: impl FnOnce(&Restart) -> Result<(State<'a>, f64)>,
        damping: f64,
        restart: Restart,
    ) -> Result<Self> {
        let (state, dangling) = state(&restart)?;
        let layout = &state.plan.layout;
        Ok(Self {
            damping,
            restart,
            dangling,
            next: state.file.reserve(8 * layout.vertices as u64),
            received: HugeVec::zeroed(layout.band.min(layout.vertices))?,
            shares: Vec::with_capacity(layout.window),
            state,
        })
    }

    pub fn step(&mut self, iteration: u32) -> Result<Step> {
        let (engine, bands) = (self.state.engine, self.state.plan.layout.bands);
        let mut masses = Masses::default();
        for band in 0..bands {
            engine.step(label(iteration, band, bands), || self.band(band, &mut masses))?;
        }
        std::mem::swap(&mut self.state.numbers, &mut self.next);
        self.dangling = from_fixed(masses.dangling);
        Ok(Step { change: from_fixed(masses.change) })
    }

    /// Gives the vertices of a band their next ranks.
    fn band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        self.received.iter_mut().for_each(|mass| *mass.get_mut() = 0);
        for w in 0..self.state.plan.layout.windows() {
            if !self.state.may_reach(w, band) {
                continue;
            }
            self.state.engine.check_cancel()?;
            self.state.load(self.state.window(w))?;
            self.shares.clear();
            let State { window_numbers, window_divisors, plan, .. } = &self.state;
            for (at, &number) in window_numbers.iter().enumerate() {
                let divisor = window_divisors.of(at);
                if !plan.weighted {
                    self.shares.push(if divisor == 0.0 { 0 } else { to_fixed(number / divisor) });
                }
            }
            let (received, shares, numbers) = (&*self.received, &*self.shares, window_numbers);
            let add = |runs: &Runs| match runs.weights.is_empty() {
                true => add(received, runs, |v, _| shares[v]),
                false => add(received, runs, |v, at| to_fixed(numbers[v] * runs.weights[at])),
            };
            let seen = self.state.entries(band, w, &add)?;
            self.state.learn(w, seen);
        }
        self.finish_band(band, masses)
    }

    fn finish_band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        let (first, end) = self.state.band(band);
        let base = self.restart.base(self.dangling);
        for from in (first..end).step_by(self.state.plan.layout.window) {
            let to = end.min(from + self.state.plan.layout.window as VertexId);
            self.state.load((from, to))?;
            let State { window_numbers, window_divisors, plan, .. } = &mut self.state;
            for (at, cell) in window_numbers.iter_mut().enumerate() {
                let (v, divisor) = (from + at as VertexId, window_divisors.of(at));
                let received = self.received[(v - first) as usize].load(Ordering::Relaxed);
                let before = plan.rank_of(*cell, divisor);
                let after = base.of(v) + self.damping * from_fixed(received);
                masses.change = masses.change.wrapping_add(to_fixed((after - before).abs()));
                *cell = plan.number_of(after, divisor);
                if divisor == 0.0 {
                    masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
                }
            }
            self.state.file.write(self.next + 8 * u64::from(from), &self.state.window_numbers)?;
        }
        Ok(())
    }

    /// The last ranks, in the place of `numbers`; the memory of the band.
    pub fn into_parts(self) -> (State<'a>, HugeVec<u64>) {
        (self.state, self.received.into_plain())
    }
}

/// Adds `mass` of the runs' vertices and entries to their targets.
#[inline(always)]
fn add(
    received: &[AtomicU64],
    Runs { runs, entries, .. }: &Runs,
    mass: impl Fn(usize, usize) -> u64,
) {
    let mut from = 0;
    for &(v, count) in runs {
        let to = from + count as usize;
        for at in from..to {
            if let Some(&later) = entries.get(at + PREFETCH_ENTRIES) {
                prefetch(received, later as usize);
            }
            received[entries[at] as usize].fetch_add(mass(v as usize, at), Ordering::Relaxed);
        }
        from = to;
    }
}

//! Push in bands: mass that the band has received in memory, shares of the window.
//!
//! For each band of targets all ranks are read once, window by window. New ranks go to an array of
//! their own, since later bands need the old ones.

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
    /// Place of the next ranks.
    next: u64,
    /// Mass in fixed point that the vertices of the band have received.
    received: HugeVec<AtomicU64>,
    /// What the vertices of the window give each out-neighbour, in fixed point.
    shares: Vec<u64>,
}

fn rank(rank: f64, _: u64) -> f64 {
    rank
}

impl<'a> Push<'a> {
    pub fn new(
        state: impl FnOnce(&Restart, fn(f64, u64) -> f64) -> Result<(State<'a>, f64)>,
        damping: f64,
        restart: Restart,
    ) -> Result<Self> {
        let (state, _) = state(&restart, rank)?;
        let layout = &state.plan.layout;
        Ok(Self {
            damping,
            restart,
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
        Ok(Step { change: from_fixed(masses.change) })
    }

    /// Gives the vertices of a band their next ranks.
    fn band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        self.received.iter_mut().for_each(|mass| *mass.get_mut() = 0);
        for w in 0..self.state.plan.layout.windows() {
            self.state.engine.check_cancel()?;
            self.state.load(self.state.window(w))?;
            self.shares.clear();
            let State { window_numbers, window_degrees, .. } = &self.state;
            for (&rank, &degree) in window_numbers.iter().zip(window_degrees) {
                let is_dangling = degree == 0;
                if is_dangling && band == 0 {
                    masses.dangling += to_fixed(rank);
                }
                self.shares.push(if is_dangling { 0 } else { to_fixed(rank / f64::from(degree)) });
            }
            let (received, shares) = (&*self.received, &*self.shares);
            self.state.entries(band, w, &|runs| add(received, shares, runs))?;
        }
        self.finish_band(band, masses)
    }

    fn finish_band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        let (first, end) = self.state.band(band);
        let base = self.restart.base(from_fixed(masses.dangling));
        for from in (first..end).step_by(self.state.plan.layout.window) {
            let to = end.min(from + self.state.plan.layout.window as VertexId);
            self.state.load((from, to))?;
            for (v, cell) in (from..).zip(&mut self.state.window_numbers) {
                let received = self.received[(v - first) as usize].load(Ordering::Relaxed);
                let after = base.of(v) + self.damping * from_fixed(received);
                masses.change = masses.change.wrapping_add(to_fixed((after - *cell).abs()));
                *cell = after;
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

/// Adds the shares of the runs' vertices to their targets.
fn add(received: &[AtomicU64], shares: &[u64], Runs { runs, entries }: &Runs) {
    let mut from = 0;
    for &(v, count) in runs {
        let (share, to) = (shares[v as usize], from + count as usize);
        for at in from..to {
            if let Some(&later) = entries.get(at + PREFETCH_ENTRIES) {
                prefetch(received, later as usize);
            }
            received[entries[at] as usize].fetch_add(share, Ordering::Relaxed);
        }
        from = to;
    }
}

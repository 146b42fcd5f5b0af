//! Pull in bands: shares of the band in memory, sums of the window.

use cenote_engine::{HugeVec, VertexId};
use rayon::prelude::*;

use super::super::Step;
use super::super::fixed::{from_fixed, to_fixed};
use super::super::pull::{rank, share};
use super::super::restart::Restart;
use super::state::{Masses, State, label};
use super::sums::{Sums, slot_bytes};
use crate::report::Result;

/// Vertices that a thread finishes at a time.
const FINISH_TOGETHER: usize = 1 << 12;

/// The state between iterations.
pub(super) struct Pull<'a> {
    pub state: State<'a>,
    damping: f64,
    restart: Restart,
    dangling: f64,
    /// Place of the sums between bands.
    stored: u64,
    /// Words of the stored sums of each window.
    stored_words: Vec<u32>,
    /// Shares of the band.
    pub band: HugeVec<u64>,
    sums: Sums,
}

impl<'a> Pull<'a> {
    pub fn new(
        state: impl FnOnce(&Restart, fn(f64, u64) -> f64) -> Result<(State<'a>, f64)>,
        damping: f64,
        restart: Restart,
    ) -> Result<Self> {
        let (state, dangling) = state(&restart, share)?;
        let layout = &state.plan.layout;
        let windows = layout.windows();
        let sums_bytes = if layout.bands > 1 { slot_bytes(layout.window) } else { 0 };
        Ok(Self {
            damping,
            restart,
            dangling,
            stored: state.file.reserve(windows as u64 * sums_bytes),
            stored_words: vec![0; windows],
            band: HugeVec::zeroed(layout.band.min(layout.vertices))?,
            sums: Sums::new(layout.window)?,
            state,
        })
    }

    pub fn step(&mut self, iteration: u32) -> Result<Step> {
        let (engine, bands) = (self.state.engine, self.state.plan.layout.bands);
        let mut masses = Masses::default();
        for band in 0..bands {
            engine.step(label(iteration, band, bands), || self.band(band, &mut masses))?;
        }
        self.dangling = from_fixed(masses.dangling);
        Ok(Step { change: from_fixed(masses.change) })
    }

    /// Adds the shares of a band to all sums; the last band finishes all vertices.
    fn band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        let (layout, file) = (self.state.plan.layout, self.state.file);
        let (first, end) = self.state.band(band);
        let len = (end - first) as usize;
        file.read(self.state.numbers + 8 * u64::from(first), &mut self.band[..len])?;
        let slot = slot_bytes(layout.window);
        for w in 0..layout.windows() {
            self.state.engine.check_cancel()?;
            let stored = self.stored + slot * w as u64;
            if band == 0 {
                self.sums.clear();
            } else {
                let words = self.stored_words[w] as usize;
                file.read(stored, self.sums.stored(words))?;
                self.sums.load();
            }
            let (sums, shares) = (&self.sums, &self.band[..len]);
            self.state.entries(band, w, &|runs| sums.add(shares, runs))?;
            if band + 1 < layout.bands {
                let sums = self.sums.store();
                self.stored_words[w] = sums.len() as u32;
                file.write(stored, sums)?;
            } else {
                *masses = masses.and(self.finish_window(w)?);
            }
        }
        Ok(())
    }

    /// Gives the vertices of a window their next shares.
    fn finish_window(&mut self, w: usize) -> Result<Masses> {
        let (from, to) = self.state.window(w);
        self.state.load((from, to))?;
        let (base, damping, sums) = (self.restart.base(self.dangling), self.damping, &self.sums);
        let finish = |(i, (shares, degrees)): (usize, (&mut [f64], &[u32]))| {
            let mut masses = Masses::default();
            for (v, (cell, &degree)) in (i * FINISH_TOGETHER..).zip(shares.iter_mut().zip(degrees))
            {
                let degree = u64::from(degree);
                let before = rank(*cell, degree);
                let after = base.of(from + v as VertexId) + damping * sums.of(v).mass();
                *cell = share(after, degree);
                masses.change = masses.change.wrapping_add(to_fixed((after - before).abs()));
                if degree == 0 {
                    masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
                }
            }
            masses
        };
        let State { file, numbers, window_numbers, window_degrees, .. } = &mut self.state;
        let shares = window_numbers.par_chunks_mut(FINISH_TOGETHER);
        let parts = shares.zip(window_degrees.par_chunks(FINISH_TOGETHER)).enumerate().map(finish);
        let masses = parts.reduce(Masses::default, Masses::and);
        file.write(*numbers + 8 * u64::from(from), window_numbers)?;
        Ok(masses)
    }
}

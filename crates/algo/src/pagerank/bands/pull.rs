//! Pull in bands: shares of the band in memory, sums of the window.

use std::sync::{Mutex, PoisonError};

use cenote_engine::{HugeVec, VertexId};

use super::super::Step;
use super::super::fixed::{from_fixed, to_fixed};
use super::super::pull::Masses;
use super::super::restart::Restart;
use super::state::{State, label};
use super::sums::{Sums, slot_bytes};
use crate::parallel;
use crate::report::Result;

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
    /// Stored sums of the next window, and what the window before left: sums, or shares.
    ahead: Vec<u32>,
    behind: Vec<u32>,
    behind_shares: Vec<f64>,
}

impl<'a> Pull<'a> {
    pub fn new(
        state: impl FnOnce(&Restart) -> Result<(State<'a>, f64)>,
        damping: f64,
        restart: Restart,
    ) -> Result<Self> {
        let (state, dangling) = state(&restart)?;
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
            ahead: Vec::with_capacity(sums_bytes as usize / 4),
            behind: Vec::with_capacity(sums_bytes as usize / 4),
            behind_shares: Vec::with_capacity(layout.window),
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

    /// Adds the shares of a band to all sums; the last band finishes all vertices. Another thread
    /// writes what the window before left and reads what the next one needs meanwhile.
    fn band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        let (layout, file) = (self.state.plan.layout, self.state.file);
        let (first, end) = self.state.band(band);
        let len = (end - first) as usize;
        file.read(self.state.numbers + 8 * u64::from(first), &mut self.band[..len])?;
        let (windows, is_last) = (layout.windows(), band + 1 == layout.bands);
        if band > 0 {
            self.ahead.resize(self.stored_words[0] as usize, 0);
            file.read(self.stored, &mut self.ahead)?;
        }
        for w in 0..windows {
            self.state.engine.check_cancel()?;
            match band {
                0 => self.sums.clear(),
                _ => self.sums.load(&self.ahead),
            }
            let next = if band > 0 && w + 1 < windows { self.stored_words[w + 1] } else { 0 };
            self.ahead.resize(next as usize, 0);
            let mut of_window = self.state.take_window(w);
            let places = [w.wrapping_sub(1), w + 1].map(|w| self.stored_place(w));
            let before = w.checked_sub(1).map(|w| self.state.window(w).0);
            let (ahead, behind) = (&mut self.ahead, (&self.behind, &self.behind_shares));
            let (numbers, state) = (self.state.numbers, &self.state);
            let transfer = || {
                match before {
                    Some(from) if is_last => file.write(numbers + 8 * u64::from(from), behind.1)?,
                    Some(_) => file.write(places[0], behind.0)?,
                    None => {}
                }
                file.read(places[1], ahead)?;
                if is_last { state.read_window(&mut of_window) } else { Ok(()) }
            };
            let (sums, shares) = (&self.sums, &self.band[..len]);
            beside(transfer, || state.entries(band, w, &|runs| sums.add(shares, runs)))?;
            self.state.put_window(of_window);
            if is_last {
                *masses = masses.and(self.finish_window(w));
                std::mem::swap(&mut self.behind_shares, &mut self.state.window_numbers);
            } else {
                self.sums.store(&mut self.behind);
                self.stored_words[w] = self.behind.len() as u32;
            }
        }
        let from = self.state.window(windows - 1).0;
        match is_last {
            true => file.write(self.state.numbers + 8 * u64::from(from), &self.behind_shares)?,
            false => file.write(self.stored_place(windows - 1), &self.behind)?,
        }
        Ok(())
    }

    /// The place of the stored sums of a window.
    fn stored_place(&self, w: usize) -> u64 {
        self.stored.wrapping_add(slot_bytes(self.state.plan.layout.window).wrapping_mul(w as u64))
    }

    /// Gives the vertices of a window their next shares.
    fn finish_window(&mut self, w: usize) -> Masses {
        let (from, _) = self.state.window(w);
        let (base, damping, sums) = (self.restart.base(self.dangling), self.damping, &self.sums);
        let State { window_numbers, window_divisors, plan, .. } = &mut self.state;
        let all = Mutex::new(Masses::default());
        parallel::for_each_chunk_mut(window_numbers, parallel::BLOCK, |first, shares| {
            let mut masses = Masses::default();
            for (v, cell) in (first..).zip(shares) {
                let divisor = window_divisors.of(v);
                let before = plan.rank_of(*cell, divisor);
                let after = base.of(from + v as VertexId) + damping * sums.of(v).mass();
                *cell = plan.number_of(after, divisor);
                masses.change = masses.change.wrapping_add(to_fixed((after - before).abs()));
                if divisor == 0.0 {
                    masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
                }
            }
            *all.lock().unwrap_or_else(PoisonError::into_inner) += masses;
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does `transfer` on a thread of its own while this one does `work`.
fn beside(
    transfer: impl FnOnce() -> cenote_engine::Result<()> + Send,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let transfer = scope.spawn(transfer);
        work()?;
        Ok(transfer.join().expect("a transfer does not panic")?)
    })
}

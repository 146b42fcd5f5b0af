//! Pull in bands: shares of the band in memory, sums of the window.

use std::sync::{Mutex, PoisonError};

use cenote_engine::{HugeVec, VertexId};

use super::super::Step;
use super::super::fixed::{from_fixed, to_fixed};
use super::super::pull::Masses;
use super::super::restart::Restart;
use super::state::{State, label};
use super::sums::{Runs, Sums, slot_bytes};
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
    /// Words of the stored sums of each window; 0 as long as there are none.
    stored_words: Vec<u32>,
    /// Shares of the band.
    pub band: HugeVec<u64>,
    sums: Sums,
    /// Stored sums of the next window, none if empty; what the window before left: sums, or shares.
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

    /// Adds the shares of a band to the sums of the windows that reach it, and finishes those whose
    /// last band it is. Another thread writes what the window before left and reads what the next
    /// one needs meanwhile.
    fn band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        let file = self.state.file;
        let (first, end) = self.state.band(band);
        let len = (end - first) as usize;
        file.read(self.state.numbers + 8 * u64::from(first), &mut self.band[..len])?;
        if band == 0 {
            self.stored_words.fill(0);
        }
        let (mut left, mut next) = (Left::Nothing, self.next_window(0, band));
        self.resize_ahead(next);
        file.read(self.stored_place(next.unwrap_or(0)), &mut self.ahead)?;
        while let Some(w) = next {
            self.state.engine.check_cancel()?;
            match self.ahead.is_empty() {
                true => self.sums.clear(),
                false => self.sums.load(&self.ahead),
            }
            next = self.next_window(w + 1, band);
            self.resize_ahead(next);
            let place = self.stored_place(next.unwrap_or(0));
            let ends = self.state.last_band(w) == band;
            let mut of_window = self.state.take_window(w);
            let mut ahead = std::mem::take(&mut self.ahead);
            let transfer = || {
                self.write(left)?;
                file.read(place, &mut ahead)?;
                if ends { self.state.read_window(&mut of_window) } else { Ok(()) }
            };
            let (sums, shares) = (&self.sums, &self.band[..len]);
            let add = |runs: &Runs| sums.add(shares, runs);
            let seen = beside(transfer, || self.state.entries(band, w, &add))?;
            self.ahead = ahead;
            self.state.put_window(of_window);
            self.state.learn(w, seen);
            if self.state.last_band(w) <= band {
                if !ends {
                    self.state.load(self.state.window(w))?;
                }
                *masses = masses.and(self.finish_window(w));
                std::mem::swap(&mut self.behind_shares, &mut self.state.window_numbers);
                left = Left::Shares(w);
            } else if self.state.may_reach(w, band) {
                self.sums.store(&mut self.behind);
                self.stored_words[w] = self.behind.len() as u32;
                left = Left::Sums(w);
            } else {
                left = Left::Nothing;
            }
        }
        Ok(self.write(left)?)
    }

    /// The first window from `w` on that a band adds to, or finishes.
    fn next_window(&self, w: usize, band: usize) -> Option<usize> {
        let is_visited =
            |&w: &usize| self.state.may_reach(w, band) || self.state.last_band(w) == band;
        (w..self.stored_words.len()).find(is_visited)
    }

    /// Makes room for the stored sums of a window, if there are any.
    fn resize_ahead(&mut self, window: Option<usize>) {
        self.ahead.resize(window.map_or(0, |w| self.stored_words[w]) as usize, 0);
    }

    /// Writes what a window has left.
    fn write(&self, left: Left) -> cenote_engine::Result<()> {
        let (numbers, file) = (self.state.numbers, self.state.file);
        match left {
            Left::Nothing => Ok(()),
            Left::Sums(w) => file.write(self.stored_place(w), &self.behind),
            Left::Shares(w) => {
                let from = u64::from(self.state.window(w).0);
                file.write(numbers + 8 * from, &self.behind_shares)
            }
        }
    }

    /// The place of the stored sums of a window.
    fn stored_place(&self, w: usize) -> u64 {
        self.stored + slot_bytes(self.state.plan.layout.window) * w as u64
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

/// What is in memory of a window and not yet in the file.
#[derive(Clone, Copy)]
enum Left {
    Nothing,
    Sums(usize),
    Shares(usize),
}

/// Does `transfer` on a thread of its own while this one does `work`.
fn beside<T>(
    transfer: impl FnOnce() -> cenote_engine::Result<()> + Send,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    std::thread::scope(|scope| {
        let transfer = scope.spawn(transfer);
        let done = work()?;
        transfer.join().expect("a transfer does not panic")?;
        Ok(done)
    })
}

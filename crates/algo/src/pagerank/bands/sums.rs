//! The sums of a window: added to by many workers, and stored between bands.
//!
//! Stored, a window is a word with the number of sums, a bit for each vertex that has one, and the
//! sums: 12 bytes each (53 bits of the high part, 43 of the low one), or 16 if one of the window
//! does not fit that. A sum that is zero takes a bit only.

use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{HugeVec, STATE_ALIGN_BYTES, prefetch};

use super::super::fixed::WideSum;
use crate::report::Result;

/// How many entries ahead to prefetch; see the pull in memory.
const PREFETCH_ENTRIES: usize = 128;

/// Entries that a worker adds at a time: prefetching pays for more than a few lists' entries.
pub(super) const ENTRIES_TOGETHER: usize = 2048;

/// The most bytes of a worker's runs from lists: of fewer than twice as many entries.
pub(super) const fn runs_bytes_max(weighted: bool) -> u64 {
    let weight = if weighted { 8 } else { 0 };
    2 * ENTRIES_TOGETHER as u64 * (4 + 8 + weight) * 4 / 3
}

const HIGH_BITS: u32 = 53;
const LOW_BITS: u32 = 43;

/// Bytes of a window with `sums` sums that are not zero; half of the last 4 KiB is not used, about.
pub(super) fn window_bytes(window: usize, sums: f64) -> f64 {
    let align = STATE_ALIGN_BYTES as f64;
    let bytes = 8.0 + window as f64 / 8.0 + 12.0 * sums.min(window as f64);
    (bytes + align / 2.0).max(align)
}

/// The most bytes of a window.
pub(super) fn slot_bytes(window: usize) -> u64 {
    (8 + window as u64 / 8 + 16 * window as u64).next_multiple_of(STATE_ALIGN_BYTES)
}

/// Lists, or pieces of them, in one band.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The place in the window, and how many entries follow those of the run before.
    pub runs: Vec<(u32, u32)>,
    /// Places in the band.
    pub entries: Vec<u32>,
    /// By weight, those of the entries.
    pub weights: Vec<f64>,
}

impl Runs {
    pub fn clear(&mut self) {
        self.runs.clear();
        self.entries.clear();
        self.weights.clear();
    }
}

/// The sums of the vertices of a window.
pub(super) struct Sums {
    high: HugeVec<AtomicU64>,
    low: HugeVec<AtomicU64>,
}

impl Sums {
    pub fn new(window: usize) -> Result<Self> {
        Ok(Self { high: HugeVec::zeroed(window)?, low: HugeVec::zeroed(window)? })
    }

    /// Sets all sums to zero.
    pub fn clear(&mut self) {
        for cell in self.high.iter_mut().chain(self.low.iter_mut()) {
            *cell.get_mut() = 0;
        }
    }

    /// Adds the shares of a band for these runs; by weight, times the weights.
    pub fn add(&self, band: &[u64], runs: &Runs) {
        match runs.weights.is_empty() {
            true => self.add_masses(band, runs, |share, _| share),
            false => self.add_masses(band, runs, |share, at| share * runs.weights[at]),
        }
    }

    #[inline(always)]
    fn add_masses(
        &self,
        band: &[u64],
        Runs { runs, entries, .. }: &Runs,
        mass: impl Fn(f64, usize) -> f64,
    ) {
        for &entry in &entries[..entries.len().min(PREFETCH_ENTRIES)] {
            prefetch(band, entry as usize);
        }
        let mut from = 0;
        for &(v, count) in runs {
            let to = from + count as usize;
            let mut sum = WideSum::default();
            for at in from..to {
                if let Some(&later) = entries.get(at + PREFETCH_ENTRIES) {
                    prefetch(band, later as usize);
                }
                sum.add_biased(mass(f64::from_bits(band[entries[at] as usize]), at));
            }
            let sum = sum.without_bias(to - from);
            // Several workers may have pieces of one list.
            self.high[v as usize].fetch_add(sum.high, Ordering::Relaxed);
            self.low[v as usize].fetch_add(sum.low, Ordering::Relaxed);
            from = to;
        }
    }

    /// The sum of a vertex.
    #[inline(always)]
    pub fn of(&self, v: usize) -> WideSum {
        let high = self.high[v].load(Ordering::Relaxed);
        WideSum { high, low: self.low[v].load(Ordering::Relaxed) }
    }

    /// Replaces `stored` by the sums as they are stored.
    pub fn store(&self, stored: &mut Vec<u32>) {
        let window = self.high.len();
        stored.clear();
        stored.resize(2 + window / 32, 0);
        let (mut count, mut is_short) = (0u32, true);
        for v in 0..window {
            let WideSum { high, low } = self.of(v);
            if (high, low) != (0, 0) {
                stored[2 + v / 32] |= 1 << (v % 32);
                count += 1;
                let top = low as i64 >> (LOW_BITS - 1);
                is_short &= high >> HIGH_BITS == 0 && (top == 0 || top == -1);
            }
        }
        (stored[0], stored[1]) = (count, u32::from(is_short));
        for v in 0..window {
            let WideSum { high, low } = self.of(v);
            if (high, low) == (0, 0) {
                continue;
            }
            if is_short {
                let low = u128::from(low & ((1 << LOW_BITS) - 1));
                let both = u128::from(high) | low << HIGH_BITS;
                stored.extend([both as u32, (both >> 32) as u32, (both >> 64) as u32]);
            } else {
                stored.extend([high as u32, (high >> 32) as u32, low as u32]);
                stored.push((low >> 32) as u32);
            }
        }
    }

    /// Takes over sums as they are stored.
    pub fn load(&mut self, stored: &[u32]) {
        self.clear();
        let window = self.high.len();
        let (head, values) = stored.split_at(2 + window / 32);
        let is_short = head[1] != 0;
        let mut values = values.chunks_exact(if is_short { 3 } else { 4 });
        for v in (0..window).filter(|v| head[2 + v / 32] >> (v % 32) & 1 == 1) {
            let value = values.next().expect("a sum for each bit");
            let first = u64::from(value[0]) | u64::from(value[1]) << 32;
            let sum = if is_short {
                let both = u128::from(first) | u128::from(value[2]) << 64;
                let low = (both >> HIGH_BITS) as u64;
                // Extends the sign.
                let low = ((low << (64 - LOW_BITS)) as i64 >> (64 - LOW_BITS)) as u64;
                WideSum { high: first & ((1 << HIGH_BITS) - 1), low }
            } else {
                WideSum { high: first, low: u64::from(value[2]) | u64::from(value[3]) << 32 }
            };
            *self.high[v].get_mut() = sum.high;
            *self.low[v].get_mut() = sum.low;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_come_back_whatever_their_bits() {
        let window = 1024;
        let short = |v: u64| (v << 40 | v, ((v as i64 - 512) << 30) as u64);
        let long = |v: u64| (u64::MAX - v, v << 50);
        for of in [short as fn(u64) -> (u64, u64), long] {
            let sums = Sums::new(window).unwrap();
            for v in (0..window).filter(|v| v % 3 > 0) {
                let (high, low) = of(v as u64);
                sums.high[v].store(high, Ordering::Relaxed);
                sums.low[v].store(low, Ordering::Relaxed);
            }
            let mut stored = Vec::new();
            sums.store(&mut stored);
            assert!(4 * stored.len() as u64 <= slot_bytes(window));
            let mut found = Sums::new(window).unwrap();
            found.load(&stored);
            assert!((0..window).all(|v| sums.of(v) == found.of(v)));
        }
    }
}

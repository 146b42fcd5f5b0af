//! Chooses the four bit widths of a run of numbers and counts the bits that the run takes.

use crate::error::{PageFault, at_most, other};

/// Number of bit lengths: 0 to 32.
pub(crate) const LENGTHS: usize = 33;

/// Bits of a number without leading zeros.
#[inline]
pub(crate) fn bit_length(value: u32) -> usize {
    (u32::BITS - value.leading_zeros()) as usize
}

/// Checks that widths ascend and none exceeds `limit`.
pub(crate) fn check(what: &'static str, widths: [u8; 4], limit: u8) -> Result<(), PageFault> {
    at_most(what, widths[3].into(), limit.into())?;
    if widths.is_sorted() { Ok(()) } else { Err(other(format!("{what} falls"))) }
}

/// The bit lengths of a run of numbers, and the bits that the run takes with the current widths.
/// These are optimal only after [`Run::optimise`]; until then they are those of some numbers or a
/// page ago, a good guess.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    counts: [u32; LENGTHS],
    widths: [u8; 4],
    /// Bits of a number of each length, without its code.
    cost: [u8; LENGTHS],
    bits: usize,
}

impl Run {
    pub fn new() -> Self {
        let mut run = Self { counts: [0; LENGTHS], widths: [0; 4], cost: [0; LENGTHS], bits: 0 };
        run.set([0; 4]);
        run
    }

    pub fn widths(&self) -> [u8; 4] {
        self.widths
    }

    /// Bits of all numbers.
    pub fn bits(&self) -> usize {
        self.bits
    }

    #[inline]
    pub fn add(&mut self, length: usize) {
        if length > usize::from(self.widths[3]) {
            self.widen(length);
        }
        self.counts[length] += 1;
        self.bits += usize::from(self.cost[length]);
    }

    #[inline]
    pub fn remove(&mut self, length: usize) {
        self.counts[length] -= 1;
        self.bits -= usize::from(self.cost[length]);
    }

    /// Removes all numbers; keeps the widths as a guess for the next ones.
    pub fn clear(&mut self) {
        self.counts = [0; LENGTHS];
        self.bits = 0;
    }

    #[cold]
    fn widen(&mut self, length: usize) {
        let [_, a, b, c] = self.widths;
        self.set([a, b, c, length as u8]);
    }

    fn set(&mut self, widths: [u8; 4]) {
        self.widths = widths;
        for (length, cost) in self.cost.iter_mut().enumerate() {
            let fits = widths.iter().find(|width| usize::from(**width) >= length);
            *cost = fits.copied().unwrap_or(0);
        }
        let bits = |(count, cost): (&u32, &u8)| *count as usize * usize::from(*cost);
        self.bits = self.counts.iter().zip(&self.cost).map(bits).sum();
    }

    /// Sets the four widths that store these numbers in the fewest bits.
    pub fn optimise(&mut self) {
        let mut present = [(0u8, 0u64); LENGTHS];
        let mut len = 0;
        let mut total = 0;
        for (length, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            total += u64::from(*count);
            // A length, and the number of numbers that are no longer.
            present[len] = (length as u8, total);
            len += 1;
        }
        if len > 0 {
            self.set(best(&present[..len]));
        }
    }
}

/// The best four widths by dynamic programming: `cost[i]` is the size of all numbers up to length
/// `i` with the widths so far, the largest of which is length `i`.
fn best(present: &[(u8, u64)]) -> [u8; 4] {
    let last = present.len() - 1;
    let mut cost = [0u64; LENGTHS];
    let mut from = [[0u8; LENGTHS]; 4];
    for (i, (length, up_to)) in present.iter().enumerate() {
        cost[i] = u64::from(*length) * up_to;
        from[0][i] = i as u8;
    }
    for level in &mut from[1..] {
        // Descending, so that `cost` below `i` is still that of one width fewer.
        for i in (0..=last).rev() {
            let (length, up_to) = present[i];
            level[i] = i as u8;
            for j in 0..i {
                let with = cost[j] + u64::from(length) * (up_to - present[j].1);
                if with < cost[i] {
                    cost[i] = with;
                    level[i] = j as u8;
                }
            }
        }
    }
    let mut widths = [0; 4];
    let mut i = last;
    for (width, level) in widths.iter_mut().zip(&from).rev() {
        *width = present[i].0;
        i = usize::from(level[i]);
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(lengths: &[usize]) -> Run {
        let mut run = Run::new();
        lengths.iter().for_each(|length| run.add(*length));
        run
    }

    /// Every choice of four widths, one after the other.
    fn fewest_bits(lengths: &[usize]) -> usize {
        let top = *lengths.iter().max().unwrap();
        let mut fewest = usize::MAX;
        for (a, b, c) in (0..=top)
            .flat_map(|a| (a..=top).map(move |b| (a, b)))
            .flat_map(|(a, b)| (b..=top).map(move |c| (a, b, c)))
        {
            let width = |length: &usize| *[a, b, c, top].iter().find(|w| *w >= length).unwrap();
            fewest = fewest.min(lengths.iter().map(width).sum());
        }
        fewest
    }

    #[test]
    fn no_other_four_widths_take_fewer_bits() {
        let mut seed = 1u64;
        for _ in 0..200 {
            let mut next = |below: u64| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 33) % below
            };
            let count = 1 + next(60);
            let lengths: Vec<_> = (0..count).map(|_| (next(5) * next(5)) as usize).collect();
            let mut run = run_of(&lengths);
            run.optimise();
            assert_eq!(run.bits(), fewest_bits(&lengths), "{lengths:?}: {:?}", run.widths());
            assert!(check("a width", run.widths(), 32).is_ok());
        }
    }

    #[test]
    fn numbers_taken_back_leave_no_bits() {
        let mut run = run_of(&[3, 9]);
        run.optimise();
        run.add(32);
        run.add(0);
        run.optimise();
        assert_eq!(run.bits(), 3 + 9 + 32);
        for length in [32, 0, 9, 3] {
            run.remove(length);
        }
        assert_eq!(run.bits(), 0);
    }

    #[test]
    fn widths_that_fall_or_are_too_large_are_faults() {
        assert!(check("w", [0, 3, 3, 32], 32).is_ok());
        assert!(check("w", [0, 4, 3, 32], 32).is_err());
        assert!(check("w", [40, 4, 3, 2], 32).is_err());
        assert!(check("w", [0, 0, 0, 33], 32).is_err());
    }
}

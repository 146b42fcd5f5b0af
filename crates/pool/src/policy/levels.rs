//! The first frames of an order by use count and then by distance from a hand.
//!
//! A hand that decrements the use counts it passes (Clock Sweep, SIEVE) evicts in laps: pages
//! without a use in the first, those with one in the second. One visit of each frame, in the order
//! of distance, finds the first `n` of all laps.

use super::FrameId;

/// Collects the first `n` frames of an order of `LEVELS` laps.
pub(super) struct Levels<const LEVELS: usize> {
    n: usize,
    /// Frames of this level and above cannot be among the first `n`.
    closed: usize,
    found: [Vec<FrameId>; LEVELS],
}

impl<const LEVELS: usize> Levels<LEVELS> {
    pub fn new(n: usize) -> Self {
        let closed = if n == 0 { 0 } else { LEVELS };
        Self { n, closed, found: [const { Vec::new() }; LEVELS] }
    }

    /// Whether the next frame may be among the first `n` if it has this level.
    pub fn wants(&self, level: u8) -> bool {
        usize::from(level).min(LEVELS - 1) < self.closed
    }

    /// Whether no further frame can be among the first `n`.
    pub fn is_full(&self) -> bool {
        self.closed == 0
    }

    /// Adds the next frame by distance.
    pub fn push(&mut self, level: u8, frame: FrameId) {
        self.found[usize::from(level).min(LEVELS - 1)].push(frame);
        let mut sum = 0;
        for (level, frames) in self.found[..self.closed].iter().enumerate() {
            sum += frames.len();
            if sum >= self.n {
                self.closed = level;
                return;
            }
        }
    }

    /// Appends the first `n` in their order.
    pub fn append_to(self, out: &mut Vec<FrameId>) {
        out.extend(self.found.into_iter().flatten().take(self.n));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_frame_of_a_low_level_displaces_an_early_one_of_a_high_level() {
        let mut levels = Levels::<6>::new(2);
        levels.push(3, 10);
        levels.push(5, 11);
        assert!(!levels.wants(5) && levels.wants(4));
        levels.push(0, 12);
        assert!(!levels.wants(3) && levels.wants(2) && !levels.is_full());
        levels.push(0, 13);
        assert!(levels.is_full());
        let mut out = vec![];
        levels.append_to(&mut out);
        assert_eq!(out, [12, 13]);
    }
}

//! The random choices of a simulation, from one seed.

use cenote_workload::random::Counter;

/// A sequence of random choices.
#[derive(Clone, Debug)]
pub struct Random {
    numbers: Counter,
    next: u64,
}

impl Random {
    /// The choices of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { numbers: Counter::new(seed, 0x51a), next: 0 }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.next += 1;
        self.numbers.at(self.next)
    }

    /// A number in `0..bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next += 1;
        self.numbers.below(self.next, bound)
    }

    /// An index into `len` items.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True with a probability of `percent`.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }
}

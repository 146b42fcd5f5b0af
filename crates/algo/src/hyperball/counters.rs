//! HyperLogLog counters, in groups of 16 registers.
//!
//! A register is a byte: the largest number of trailing zeros of the hashes that fall to it, and
//! one more. Eight registers are a word, so the union of two counters is a maximum of bytes in
//! words. A group counts the vertices whose hashes fall to its registers; its estimate is rounded
//! to fixed point, so a sum of estimates does not depend on the order.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{HugeVec, VertexId};

use super::Result;
use crate::mix::{GOLDEN, mix};
use crate::ranks::Ranks;

/// Registers of a group.
pub(super) const GROUP: usize = 16;

/// Words of a group.
pub(super) const GROUP_WORDS: usize = GROUP / 8;

/// Bits behind the point of an estimate.
pub(super) const FRACTION: u32 = 20;

/// The largest value of a register: more trailing zeros do not occur among 2^32 vertices.
const REGISTER_MAX: u32 = 40;

/// The highest bit of each register. Values are below it.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Limit of alpha for many registers, 1 / (2 ln 2).
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// By how much the estimate of a group is too high with that limit: with 16 registers, of few
/// vertices (16 ln(16 / 15)), and of many (the limit over Flajolet's 0.673).
const BIAS_FEW: f64 = 1.032_616;
const BIAS_MANY: f64 = 1.071_839;

/// The relative standard deviation of a counter; Flajolet et al., figure 3, for 16 registers.
pub(super) fn error_of(registers: u32) -> f64 {
    1.106 / f64::from(registers).sqrt()
}

/// The hash of a vertex by the place of its id; `None` for one that was deleted.
#[inline(always)]
pub(super) fn hash(seed: u64, ids: &Ranks, v: VertexId) -> Option<u64> {
    let rank = ids.live_of(v)?;
    // The output of SplitMix64 with this number, from a state that the seed gives.
    let state = mix(seed.wrapping_add(GOLDEN));
    Some(mix(state.wrapping_add((u64::from(rank) + 1).wrapping_mul(GOLDEN))))
}

/// The register that a hash falls to, and the value that it gives.
#[inline(always)]
pub(super) fn place(hash: u64, registers: u32) -> (usize, u8) {
    let register = (hash >> (64 - registers.trailing_zeros())) as usize;
    (register, (hash.trailing_zeros() + 1).min(REGISTER_MAX) as u8)
}

/// How the registers of a counter are divided into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Registers of a counter.
    pub registers: u32,
    /// Groups that are computed at a time.
    pub groups: u32,
}

impl Layout {
    /// All layouts, the one with the fewest slices first.
    pub fn all(registers: u32) -> impl Iterator<Item = Self> {
        let most = registers / GROUP as u32;
        (0..=most.trailing_zeros())
            .map(move |halvings| Self { registers, groups: most >> halvings })
    }

    /// Whether no layout has smaller slices.
    pub fn is_last(self) -> bool {
        self.groups == 1
    }

    pub fn slices(self) -> u32 {
        self.registers / GROUP as u32 / self.groups
    }

    /// Words of a counter in a slice.
    pub fn words(self) -> usize {
        self.groups as usize * GROUP_WORDS
    }

    /// The word of a slice with the only register of a vertex that is not 0, and its value there.
    pub fn first(self, slice: u32, hash: u64) -> Option<(usize, u64)> {
        let (register, value) = place(hash, self.registers);
        let place = register.checked_sub((slice * self.groups) as usize * GROUP)?;
        let word = place / 8;
        (word < self.words()).then(|| (word, u64::from(value) << (place % 8 * 8)))
    }
}

/// The larger one of each register of two words.
#[inline(always)]
pub(super) fn max(a: u64, b: u64) -> u64 {
    // The high bit of a register of `is_a` is set if that of `a` is not smaller.
    let is_a = ((a | HIGH) - b) & HIGH;
    let from_a = (is_a >> 7) * 0xFF;
    (a & from_a) | (b & !from_a)
}

/// A counter for every vertex.
#[derive(Debug)]
pub(super) struct Counters {
    words: HugeVec<AtomicU64>,
    /// Words of a counter.
    of_one: usize,
}

impl Counters {
    pub fn bytes_for(vertices: usize, layout: Layout) -> u64 {
        (vertices * layout.words() * 8) as u64
    }

    pub fn new(vertices: usize, layout: Layout) -> Result<Self> {
        let of_one = layout.words();
        Ok(Self { words: HugeVec::zeroed(vertices * of_one)?, of_one })
    }

    #[inline(always)]
    pub fn of(&self, v: VertexId) -> &[AtomicU64] {
        &self.words[v as usize * self.of_one..][..self.of_one]
    }

    /// Words of a counter.
    pub fn of_one(&self) -> usize {
        self.of_one
    }

    #[inline(always)]
    pub fn prefetch(&self, v: VertexId) {
        let first = v as usize * self.of_one;
        for word in (0..self.of_one).step_by(8) {
            cenote_engine::prefetch(&self.words, first + word);
        }
    }

    /// Joins `counter` to that of `v`; true if that changes it.
    #[inline(always)]
    pub fn join(&self, v: VertexId, counter: &[u64]) -> bool {
        let mut changes = false;
        for (word, &other) in self.of(v).iter().zip(counter) {
            let mut old = word.load(Ordering::Relaxed);
            loop {
                let new = max(old, other);
                if new == old {
                    break;
                }
                match word.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        changes = true;
                        break;
                    }
                    Err(now) => old = now,
                }
            }
        }
        changes
    }
}

/// Copies a counter.
#[inline(always)]
pub(super) fn load(counter: &[AtomicU64], copy: &mut [u64]) {
    for (copy, word) in copy.iter_mut().zip(counter) {
        *copy = word.load(Ordering::Relaxed);
    }
}

/// The estimates of the groups of a counter or a slice of it, in fixed point.
#[inline(always)]
pub(super) fn estimates(counter: &[AtomicU64]) -> impl Iterator<Item = i64> + '_ {
    counter.chunks_exact(GROUP_WORDS).map(estimate_of_group)
}

fn estimate_of_group(group: &[AtomicU64]) -> i64 {
    // The sum of 2^-r over all registers r that are not 0, exactly.
    let (mut sum, mut zeros) = (0u64, 0usize);
    for word in group {
        for register in word.load(Ordering::Relaxed).to_le_bytes() {
            match register {
                0 => zeros += 1,
                _ => sum += 1 << (REGISTER_MAX - u32::from(register)),
            }
        }
    }
    estimate_of(zeros, sum as f64 / (1u64 << REGISTER_MAX) as f64)
}

/// The estimate of a group of which so many registers are 0, and the others have this sum of 2^-r.
pub(super) fn estimate_of(zeros: usize, sum: f64) -> i64 {
    if zeros == GROUP {
        return 0;
    }
    let share = zeros as f64 / GROUP as f64;
    let bias = BIAS_MANY + (BIAS_FEW - BIAS_MANY) * share;
    let size = GROUP as f64;
    let estimate = ALPHA / bias * size * size / (size * SIGMA[zeros] + sum);
    (estimate * f64::from(1u32 << FRACTION)).round() as i64
}

/// Ertl's sigma of the share of registers that are 0, by their number.
static SIGMA: LazyLock<[f64; GROUP]> =
    LazyLock::new(|| std::array::from_fn(|zeros| sigma(zeros as f64 / GROUP as f64)));

/// x + Σ x^(2^k) 2^(k - 1) for k from 1 on; x is below 1.
fn sigma(x: f64) -> f64 {
    let (mut power, mut factor, mut sum) = (x, 1.0, x);
    loop {
        power *= power;
        let before = sum;
        sum += power * factor;
        factor *= 2.0;
        if sum == before {
            return sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_that_of_each_register() {
        let mut x = 1u64;
        for _ in 0..1000 {
            let (a, b) = (mix(x) & !HIGH, mix(x + 1) & !HIGH);
            let bytes = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            let expected: Vec<u8> = bytes.map(|(a, b)| a.max(b)).collect();
            assert_eq!(max(a, b).to_le_bytes(), expected[..]);
            x += 2;
        }
    }

    /// Of random sets of each size: the mean is near to the size, and the deviation is that of
    /// [`error_of`] or less.
    #[test]
    fn estimates_have_the_size_of_the_set_and_the_stated_deviation() {
        const SETS: u64 = 3000;
        const REGISTERS: u32 = 64;
        let mut next = 0u64;
        for size in [1, 2, 5, 20, 60, 120, 200, 400, 2000] {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..SETS {
                let counter: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(0)).collect();
                for _ in 0..size {
                    next += 1;
                    let layout = Layout { registers: REGISTERS, groups: 4 };
                    let (word, value) = layout.first(0, mix(next.wrapping_mul(GOLDEN))).unwrap();
                    let old = counter[word].load(Ordering::Relaxed);
                    counter[word].store(max(old, value), Ordering::Relaxed);
                }
                let share = estimates(&counter).sum::<i64>() as f64
                    / f64::from(1 << FRACTION)
                    / f64::from(size);
                sum += share;
                squares += share * share;
            }
            let mean = sum / SETS as f64;
            let deviation = (squares / SETS as f64 - mean * mean).max(0.0).sqrt();
            assert!((mean - 1.0).abs() < 0.015, "{size}: {mean}");
            assert!(deviation < 1.05 * error_of(REGISTERS), "{size}: {deviation}");
        }
    }
}

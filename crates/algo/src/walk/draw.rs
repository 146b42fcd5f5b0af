//! Random numbers of walks: a pure function of (seed, walk, step, trial).
//!
//! Philox4x64-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011) maps a counter to 256 random bits without state, so a step costs the same on any thread
//! at any time. NumPy's `Philox` gives the same numbers for the same key and counter (it increments
//! before it draws).

const MULTIPLIERS: [u64; 2] = [0xD2E7_470E_E14C_6C93, 0xCA5A_8263_9512_1157];
const KEY_STEPS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0xBB67_AE85_84CA_A73B];
const ROUNDS: u32 = 10;

/// Second word of the key: separates walks from other uses of the seed.
const WALKS: u64 = u64::from_le_bytes(*b"walks\0\0\0");

/// The random words of one trial: 64 uniform bits each, each for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    /// Whether the walk restarts (of trial 0 only).
    pub restart: u64,
    /// Which entry of the list is proposed; at step 0, the start among all vertices.
    pub position: u64,
    /// Whether the proposal is accepted.
    pub accept: u64,
}

/// The numbers of one trial of one step.
#[inline]
pub(super) fn draw(seed: u64, walk: u64, step: u32, trial: u32) -> Draw {
    let counter = [walk, u64::from(step), u64::from(trial), 0];
    let [restart, position, accept, _] = philox([seed, WALKS], counter);
    Draw { restart, position, accept }
}

/// A number in `0..bound`: multiply-shift, whose bias is below `bound` / 2^64.
#[inline]
pub(super) fn below(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

/// A number in [0, 1), a multiple of 2^-53.
#[inline]
pub(super) fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

// Out of line it costs a walk a tenth of its processor time.
#[inline(always)]
fn philox(mut key: [u64; 2], mut counter: [u64; 4]) -> [u64; 4] {
    for round in 0..ROUNDS {
        if round > 0 {
            key = [key[0].wrapping_add(KEY_STEPS[0]), key[1].wrapping_add(KEY_STEPS[1])];
        }
        let products = [
            u128::from(MULTIPLIERS[0]) * u128::from(counter[0]),
            u128::from(MULTIPLIERS[1]) * u128::from(counter[2]),
        ];
        let [(low_0, high_0), (low_1, high_1)] = products.map(|p| (p as u64, (p >> 64) as u64));
        counter = [high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        // Random123's known answer, and one of NumPy's.
        let zero = philox([0; 2], [0; 4]);
        assert_eq!(zero[..2], [0x1655_4d9e_ca36_314c, 0xdb20_fe9d_672d_0fdc]);
        assert_eq!(zero[2..], [0xd7e7_72ce_e186_176b, 0x7e68_b68a_ec7b_a23b]);
        let other = philox([0x1, 0x2], [3, 4, 5, 0]);
        assert_eq!(other[0], OTHER);
    }

    const OTHER: u64 = 0x3f28_5085_eb60_e36d;

    #[test]
    fn every_part_of_the_counter_and_the_seed_matters() {
        let base = draw(1, 2, 3, 4);
        for other in [draw(9, 2, 3, 4), draw(1, 9, 3, 4), draw(1, 2, 9, 4), draw(1, 2, 3, 9)] {
            assert_ne!(base, other);
        }
        assert_eq!(base, draw(1, 2, 3, 4));
    }

    #[test]
    fn bounds_hold_at_both_ends() {
        assert_eq!((below(0, 7), below(u64::MAX, 7)), (0, 6));
        assert_eq!((below(u64::MAX, 1), below(u64::MAX, u64::MAX)), (0, u64::MAX - 1));
        assert!(unit(0) == 0.0 && unit(u64::MAX) < 1.0);
    }
}

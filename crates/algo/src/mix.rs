//! The mixer of hashes, priorities and samples.

/// 2^64 over the golden ratio: multiples of it spread evenly, and 0 is no fixed point behind it.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Stafford's mixer 13, as in SplitMix64: a bijection.
#[inline(always)]
pub(crate) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

//! The sum of the shares of a list.

use std::sync::atomic::AtomicU64;

use cenote_engine::prefetch;

use super::fixed::WideSum;
use super::load;

/// How many entries ahead to prefetch. A bare gather on two cores, with 71 MB of shares and skewed
/// random targets, does in million entries a second: 240 without, 300 at 16, 400 at 32, 580 at 64,
/// 770 at 128.
pub(crate) const PREFETCH_ENTRIES: usize = 128;

/// The sum of the shares of `entries[from..to]`; prefetches ahead in all `entries`.
#[inline(always)]
pub(crate) fn gather(shares: &[AtomicU64], entries: &[u32], from: usize, to: usize) -> WideSum {
    let ahead_max = entries.len().saturating_sub(PREFETCH_ENTRIES).clamp(from, to);
    let near = &entries[from..ahead_max];
    let far = &entries[(from + PREFETCH_ENTRIES).min(entries.len())..];
    let mut sum = WideSum::default();
    for (&target, &later) in near.iter().zip(far) {
        prefetch(shares, later as usize);
        sum.add_biased(load(&shares[target as usize]));
    }
    for &target in &entries[ahead_max..to] {
        sum.add_biased(load(&shares[target as usize]));
    }
    sum.without_bias(to - from)
}

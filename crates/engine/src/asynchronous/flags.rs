//! Atomic flags of vertices and pages.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_device::HugeVec;

use crate::error::Result;

const BITS: u64 = u64::BITS as u64;

/// A bit per vertex or page, set and cleared in acquire-release order: the writes of a worker
/// before it changes a bit are visible to workers that change the bit later.
#[derive(Debug)]
pub(super) struct Flags {
    words: HugeVec<AtomicU64>,
}

impl Flags {
    pub fn new(len: u64) -> Result<Self> {
        Ok(Self { words: HugeVec::zeroed(len.div_ceil(BITS) as usize)? })
    }

    pub fn bytes_for(len: u64) -> u64 {
        len.div_ceil(BITS) * 8
    }

    #[inline(always)]
    pub fn get(&self, i: u64) -> bool {
        self.words[(i / BITS) as usize].load(Ordering::Acquire) >> (i % BITS) & 1 == 1
    }

    /// Sets a bit; true if it was clear.
    #[inline(always)]
    pub fn set(&self, i: u64) -> bool {
        let bit = 1 << (i % BITS);
        self.words[(i / BITS) as usize].fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    /// Clears a bit; true if it was set.
    #[inline(always)]
    pub fn clear(&self, i: u64) -> bool {
        let bit = 1 << (i % BITS);
        self.words[(i / BITS) as usize].fetch_and(!bit, Ordering::AcqRel) & bit != 0
    }

    /// The first bit of `range` that is set.
    #[inline]
    pub fn first_in(&self, range: Range<u64>) -> Option<u64> {
        let mut from = range.start;
        while from < range.end {
            let word = self.words[(from / BITS) as usize].load(Ordering::Acquire) >> (from % BITS);
            if word != 0 {
                let first = from + u64::from(word.trailing_zeros());
                return (first < range.end).then_some(first);
            }
            from = (from / BITS + 1) * BITS;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_set_bit_of_a_range_is_found_across_words() {
        let flags = Flags::new(300).unwrap();
        assert!(flags.set(70) && !flags.set(70) && flags.set(255));
        assert_eq!(flags.first_in(0..300), Some(70));
        assert_eq!(flags.first_in(71..255), None);
        assert_eq!(flags.first_in(71..256), Some(255));
        assert_eq!(flags.first_in(80..80), None);
        assert!(flags.clear(70) && !flags.clear(70) && !flags.get(70) && flags.get(255));
    }
}

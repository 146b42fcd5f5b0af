//! Memory of ids.

use super::integers::IntegerSet;

/// Memory of the ids, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdsMemory {
    /// What they take during the whole import.
    pub held: usize,
    /// What a bitmap with room for all of them takes beside.
    pub bitmap: usize,
    /// What ids take for which the bitmap has no room.
    pub beside_bitmap: usize,
    /// What the first pass takes beside, if it is still to come.
    pub collecting: usize,
}

impl IdsMemory {
    /// Integers: how many have a place in the bitmap, of so many chunks of 65,536, and how many are
    /// 2^32 or more.
    pub fn of_integers(low: u64, chunks: usize, high: u64) -> Self {
        let [low, high] = [low, high].map(|ids| ids as usize);
        let merging = if high > 0 { IntegerSet::merge_bytes(high) } else { 0 };
        Self {
            held: IntegerSet::MAP_BYTES + high * IntegerSet::RUN_BYTES,
            bitmap: IntegerSet::chunk_bytes(chunks.min(low)),
            beside_bitmap: low * IntegerSet::RUN_BYTES + IntegerSet::merge_bytes(low),
            collecting: IntegerSet::COLLECTING_BYTES + merging,
        }
    }
}

//! The map in memory: one word per block, read without a lock.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::entry::{Entry, Place, Stage};

/// Blocks whose entries are allocated together.
const CHUNK_BLOCKS: usize = 1 << 14;

type Chunk = Box<[AtomicU64]>;

/// The entries of all blocks. The map grows without moving them, so readers never wait.
pub(super) struct BlockMap {
    chunks: Box<[OnceLock<Chunk>]>,
}

/// Shows only entries with a migration or writes in flight.
impl fmt::Debug for BlockMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (at, chunk) in self.chunks.iter().enumerate() {
            for (within, bits) in chunk.get().into_iter().flatten().enumerate() {
                let entry = Entry::from_bits(bits.load(Ordering::SeqCst));
                if entry.stage() != Stage::Idle || entry.writers() > 0 {
                    let state = (entry.place(), entry.stage(), entry.writers());
                    map.entry(&(at * CHUNK_BLOCKS + within), &state);
                }
            }
        }
        map.finish()
    }
}

/// The result of pinning a block for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pin {
    /// Pinned at this place.
    At(Place),
    /// The block has no slot.
    Absent,
    /// The block is being committed.
    Wait,
    /// The block is read-only: see [`Stage::Doubtful`].
    Refused,
}

impl BlockMap {
    pub(super) fn new(blocks_max: u32) -> Self {
        let chunks = (blocks_max as usize).div_ceil(CHUNK_BLOCKS);
        Self { chunks: (0..chunks).map(|_| OnceLock::new()).collect() }
    }

    fn cell(&self, block: u32) -> &AtomicU64 {
        let (chunk, within) = (block as usize / CHUNK_BLOCKS, block as usize % CHUNK_BLOCKS);
        let absent = || (0..CHUNK_BLOCKS).map(|_| AtomicU64::new(Entry::ABSENT.bits())).collect();
        &self.chunks[chunk].get_or_init(absent)[within]
    }

    #[inline]
    pub(super) fn get(&self, block: u32) -> Entry {
        let (chunk, within) = (block as usize / CHUNK_BLOCKS, block as usize % CHUNK_BLOCKS);
        let chunk = self.chunks.get(chunk).and_then(OnceLock::get);
        // Sequentially consistent with `ReadSections`: a reader that enters after a switch sees the
        // new place.
        chunk.map_or(Entry::ABSENT, |chunk| Entry::from_bits(chunk[within].load(Ordering::SeqCst)))
    }

    /// Replaces an entry by the result of `change`, if there is one. Returns the entry before.
    pub(super) fn update(
        &self,
        block: u32,
        mut change: impl FnMut(Entry) -> Option<Entry>,
    ) -> Result<Entry, Entry> {
        let change = |bits| change(Entry::from_bits(bits)).map(Entry::bits);
        let done = self.cell(block).fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
        done.map(Entry::from_bits).map_err(Entry::from_bits)
    }

    pub(super) fn set(&self, block: u32, entry: Entry) {
        self.cell(block).store(entry.bits(), Ordering::SeqCst);
    }

    /// All blocks that have a place.
    pub(super) fn placed(&self) -> impl Iterator<Item = (u32, Place)> {
        let chunks = self.chunks.iter().enumerate();
        let entries = chunks.flat_map(|(at, chunk)| {
            let entries = chunk.get().into_iter().flatten().enumerate();
            entries.map(move |(within, bits)| (at * CHUNK_BLOCKS + within, bits))
        });
        entries.filter_map(|(block, bits)| {
            let entry = Entry::from_bits(bits.load(Ordering::SeqCst));
            Some((block as u32, entry.place()?))
        })
    }

    /// Removes the places of all blocks from `blocks` on. Only before the map is shared.
    pub(super) fn truncate(&self, blocks: u32) {
        let first = blocks as usize / CHUNK_BLOCKS;
        for (at, chunk) in self.chunks.iter().enumerate().skip(first) {
            let keep = (blocks as usize).saturating_sub(at * CHUNK_BLOCKS);
            for bits in chunk.get().into_iter().flatten().skip(keep) {
                bits.store(Entry::ABSENT.bits(), Ordering::SeqCst);
            }
        }
    }

    /// Counts a write in flight to a block, and cancels its copy.
    pub(super) fn pin(&self, block: u32) -> Pin {
        let pinned = self.update(block, |entry| {
            entry.place()?;
            match entry.stage() {
                Stage::Idle | Stage::Copying => entry.staged(Stage::Idle).with_writer(),
                Stage::Committing | Stage::Doubtful => None,
            }
        });
        match pinned {
            Ok(before) => before.place().map_or(Pin::Absent, Pin::At),
            Err(found) if found.place().is_none() => Pin::Absent,
            Err(found) if found.stage() == Stage::Doubtful => Pin::Refused,
            Err(_) => Pin::Wait,
        }
    }

    pub(super) fn unpin(&self, block: u32) {
        let ended = self.update(block, |entry| Some(entry.without_writer()));
        debug_assert!(ended.is_ok(), "the update always succeeds");
    }

    /// Bytes of the allocated entries.
    pub(super) fn memory_bytes(&self) -> usize {
        let known = self.chunks.iter().filter(|chunk| chunk.get().is_some()).count();
        known * CHUNK_BLOCKS * 8 + self.chunks.len() * size_of::<OnceLock<Chunk>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_cancels_a_copy_and_waits_for_a_commit() {
        let map = BlockMap::new(40_000);
        let place = Place { tier: 1, slot: 9 };
        assert_eq!(map.pin(33_000), Pin::Absent);
        map.set(33_000, Entry::of(place).staged(Stage::Copying));
        assert_eq!(map.pin(33_000), Pin::At(place));
        assert_eq!((map.get(33_000).stage(), map.get(33_000).writers()), (Stage::Idle, 1));
        map.unpin(33_000);
        for (stage, pin) in [(Stage::Committing, Pin::Wait), (Stage::Doubtful, Pin::Refused)] {
            map.set(33_000, Entry::of(place).staged(stage));
            assert_eq!(map.pin(33_000), pin);
        }
        assert_eq!(map.get(0), Entry::ABSENT);
        map.set(3, Entry::of(place));
        assert_eq!(map.placed().collect::<Vec<_>>(), [(3, place), (33_000, place)]);
        map.truncate(33_000);
        assert_eq!(map.placed().collect::<Vec<_>>(), [(3, place)]);
        map.truncate(3);
        assert_eq!(map.placed().count(), 0);
    }
}

//! Pages that stay in memory between steps.
//!
//! Two ways: *fixed* keeps what came first until it is full and never evicts, which is what a
//! repeated full pass wants (LRU or Clock would evict every page just before it is needed again);
//! *Clock* is the papers' cache (second chance, one reference bit). A page is found under the
//! lock of its shard; no lock is shared by all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::{Arena, Buffer, Result};
use rustc_hash::FxHashMap;

const SHARDS: u64 = 64;

/// Bytes that a cached page takes beside its frame: table entry, slot, pointers.
const FRAME_OVERHEAD_BYTES: u64 = 96;

/// Who leaves when the cache is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Nobody: what came first stays.
    Fixed,
    /// Second chance.
    Clock,
}

/// A page in memory; it stays readable while this is held, evicted or not.
pub type CachedPage = Arc<Buffer>;

/// A cache of whole pages by page number.
#[derive(Debug)]
pub struct PageCache {
    shards: Vec<Mutex<Shard>>,
    replacement: Replacement,
    frames: u64,
    page_bytes: usize,
}

#[derive(Debug, Default)]
struct Shard {
    slot_of_page: FxHashMap<u64, usize>,
    slots: Vec<Slot>,
    free: Vec<Buffer>,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    page: u64,
    frame: CachedPage,
    referenced: bool,
}

impl PageCache {
    /// A cache that takes at most `bytes`, frames and bookkeeping together, and no more frames
    /// than `pages`.
    pub fn new(
        bytes: u64,
        pages: u64,
        page_bytes: usize,
        replacement: Replacement,
    ) -> Result<Self> {
        let frames = Self::frames_in(bytes, page_bytes).min(pages);
        let mut shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        if frames > 0 {
            let count = usize::try_from(frames).expect("frames fit the address space");
            let (_, buffers) = Arena::carve(page_bytes, count)?;
            for (i, buffer) in buffers.into_iter().enumerate() {
                shards[i % SHARDS as usize].free.push(buffer);
            }
        }
        let shards = shards.into_iter().map(Mutex::new).collect();
        Ok(Self { shards, replacement, frames, page_bytes })
    }

    /// Frames that `bytes` hold.
    pub fn frames_in(bytes: u64, page_bytes: usize) -> u64 {
        bytes / (page_bytes as u64 + FRAME_OVERHEAD_BYTES)
    }

    /// Bytes that hold `frames`.
    pub fn bytes_for(frames: u64, page_bytes: usize) -> u64 {
        frames * (page_bytes as u64 + FRAME_OVERHEAD_BYTES)
    }

    /// Pages it can hold.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The page, if it is here.
    pub fn get(&self, page: u64) -> Option<CachedPage> {
        if self.frames == 0 {
            return None;
        }
        let mut shard = self.shard(page);
        let slot = *shard.slot_of_page.get(&page)?;
        let slot = &mut shard.slots[slot];
        slot.referenced = true;
        Some(Arc::clone(&slot.frame))
    }

    /// Copies a page that was just read into the cache, if there is, or can be made, room.
    pub fn offer(&self, page: u64, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.page_bytes, "whole pages are cached");
        if self.frames == 0 {
            return;
        }
        let mut shard = self.shard(page);
        if shard.slot_of_page.contains_key(&page) {
            return;
        }
        if let Some(mut frame) = shard.free.pop() {
            frame.copy_from_slice(bytes);
            let slot = shard.slots.len();
            shard.slots.push(Slot { page, frame: Arc::new(frame), referenced: false });
            shard.slot_of_page.insert(page, slot);
        } else if self.replacement == Replacement::Clock {
            shard.replace(page, bytes);
        }
    }

    fn shard(&self, page: u64) -> MutexGuard<'_, Shard> {
        // A thread that panicked while it held the lock left the shard whole: every change of it
        // is a single assignment or insertion.
        self.shards[(page % SHARDS) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    /// Second chance: the first slot from the hand on that was not referenced since the hand
    /// passed it last, and that nobody holds, takes the new page. Two rounds find one unless all
    /// are held; then the page is not cached.
    fn replace(&mut self, page: u64, bytes: &[u8]) {
        for _ in 0..2 * self.slots.len() {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.slots.len();
            let slot = &mut self.slots[at];
            if std::mem::take(&mut slot.referenced) {
                continue;
            }
            let Some(frame) = Arc::get_mut(&mut slot.frame) else { continue };
            frame.copy_from_slice(bytes);
            self.slot_of_page.remove(&slot.page);
            slot.page = page;
            self.slot_of_page.insert(page, at);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(fill: u8) -> Vec<u8> {
        vec![fill; 4096]
    }

    #[test]
    fn fixed_cache_keeps_what_came_first() {
        let cache = PageCache::new(64 * 4192, 1000, 4096, Replacement::Fixed).unwrap();
        assert_eq!(cache.frames(), 64);
        for p in 0..128 {
            cache.offer(p, &page(p as u8));
        }
        for p in 0..64 {
            assert_eq!(cache.get(p).unwrap()[0], p as u8);
            assert!(cache.get(p + 64).is_none());
        }
    }

    #[test]
    fn clock_gives_a_referenced_page_a_second_chance() {
        let cache = PageCache::new(128 * 4192, 1000, 4096, Replacement::Clock).unwrap();
        cache.offer(0, &page(1));
        cache.offer(64, &page(2));
        assert!(cache.get(0).is_some());
        cache.offer(128, &page(3));
        assert!(cache.get(64).is_none(), "the page not referenced leaves");
        assert_eq!(cache.get(0).unwrap()[0], 1);
        assert_eq!(cache.get(128).unwrap()[0], 3);
    }

    #[test]
    fn a_page_that_is_held_is_not_overwritten() {
        let cache = PageCache::new(64 * 4192, 1000, 4096, Replacement::Clock).unwrap();
        cache.offer(0, &page(1));
        let held = cache.get(0).unwrap();
        cache.offer(64, &page(2));
        assert_eq!(held[0], 1);
        assert!(cache.get(64).is_none());
    }
}

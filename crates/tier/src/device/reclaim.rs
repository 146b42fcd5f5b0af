//! Reclaims slots as Linux's SRCU does: readers are in read-side sections, and a slot's release is
//! deferred until all sections that may use it have ended.
//!
//! A reader enters the current one of two sections before it reads the map. After an entry was
//! switched, the old slot is free once each section was seen empty: later readers saw the new
//! entry. New readers enter the section that is not waited for, so both become empty under any
//! load.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::entry::Place;

/// The readers in each of the two sections.
#[derive(Debug, Default)]
pub(super) struct ReadSections {
    current: AtomicUsize,
    readers: [Readers; 2],
}

/// A counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Readers(AtomicU64);

impl ReadSections {
    /// Enters the current section; returns it, for [`Self::leave`].
    pub(super) fn enter(&self) -> usize {
        let section = self.current.load(Ordering::SeqCst);
        self.readers[section].0.fetch_add(1, Ordering::SeqCst);
        section
    }

    pub(super) fn leave(&self, section: usize) {
        let before = self.readers[section].0.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a section is left once per entry");
    }

    fn is_empty(&self, section: usize) -> bool {
        self.readers[section].0.load(Ordering::SeqCst) == 0
    }
}

/// Slots to free once their readers have left.
#[derive(Debug, Default)]
pub(super) struct DeferredFrees {
    /// Slots of the next and of the present round.
    next: Vec<Place>,
    waiting: Vec<Place>,
    /// The section that must become empty.
    section: usize,
}

impl DeferredFrees {
    pub(super) fn push(&mut self, place: Place) {
        self.next.push(place);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.next.capacity() + self.waiting.capacity()) * size_of::<Place>()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty() && self.waiting.is_empty()
    }

    /// Calls `free` with each slot that has no readers any more.
    pub(super) fn poll(&mut self, readers: &ReadSections, mut free: impl FnMut(Place)) {
        loop {
            if self.waiting.is_empty() {
                if self.next.is_empty() {
                    return;
                }
                std::mem::swap(&mut self.waiting, &mut self.next);
                self.section = 0;
                readers.current.store(1, Ordering::SeqCst);
            }
            if !readers.is_empty(self.section) {
                return;
            }
            if self.section == 0 {
                self.section = 1;
                readers.current.store(0, Ordering::SeqCst);
            } else {
                self.waiting.drain(..).for_each(&mut free);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_when_all_readers_of_its_time_have_left() {
        let (readers, mut deferred) = (ReadSections::default(), DeferredFrees::default());
        let place = |slot| Place { tier: 0, slot };
        let poll = |deferred: &mut DeferredFrees| {
            let mut freed = Vec::new();
            deferred.poll(&readers, |place| freed.push(place.slot));
            freed
        };
        let early = readers.enter();
        deferred.push(place(1));
        assert!(poll(&mut deferred).is_empty());
        let late = readers.enter();
        deferred.push(place(2));
        assert_ne!(early, late, "new readers enter the other section");
        readers.leave(early);
        assert!(poll(&mut deferred).is_empty(), "the second section is not empty");
        let later = readers.enter();
        readers.leave(late);
        assert_eq!(poll(&mut deferred), [1]);
        readers.leave(later);
        assert_eq!(poll(&mut deferred), [2]);
    }
}

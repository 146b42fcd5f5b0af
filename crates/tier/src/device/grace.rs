//! When nobody reads a slot any more.
//!
//! Whoever reads enters one of two rooms before it looks at the map. After an entry was switched,
//! the old slot is free once each room was seen empty: whoever came later saw the new entry. New
//! readers are sent to the room that is not being waited for, so both run empty under any load
//! (the idea of Linux's SRCU).

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::entry::Place;

/// Who is inside.
#[derive(Debug, Default)]
pub(super) struct Grace {
    door: AtomicUsize,
    inside: [Room; 2],
}

/// A counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Room(AtomicU64);

impl Grace {
    /// Enters; the room that must be left.
    pub(super) fn enter(&self) -> usize {
        let room = self.door.load(Ordering::SeqCst);
        self.inside[room].0.fetch_add(1, Ordering::SeqCst);
        room
    }

    pub(super) fn leave(&self, room: usize) {
        let before = self.inside[room].0.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "whoever leaves has entered");
    }

    fn is_empty(&self, room: usize) -> bool {
        self.inside[room].0.load(Ordering::SeqCst) == 0
    }
}

/// Slots that are free once their readers are gone.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    /// They wait for the next round, and for this one.
    next: Vec<Place>,
    waiting: Vec<Place>,
    /// Which room is to run empty.
    room: usize,
}

impl Quarantine {
    pub(super) fn push(&mut self, place: Place) {
        self.next.push(place);
    }

    /// Bytes of the lists.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.next.capacity() + self.waiting.capacity()) * size_of::<Place>()
    }

    /// Whether no slot waits.
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_empty() && self.waiting.is_empty()
    }

    /// Calls `free` with each slot that nobody can be reading.
    pub(super) fn poll(&mut self, grace: &Grace, mut free: impl FnMut(Place)) {
        loop {
            if self.waiting.is_empty() {
                if self.next.is_empty() {
                    return;
                }
                std::mem::swap(&mut self.waiting, &mut self.next);
                self.room = 0;
                grace.door.store(1, Ordering::SeqCst);
            }
            if !grace.is_empty(self.room) {
                return;
            }
            if self.room == 0 {
                self.room = 1;
                grace.door.store(0, Ordering::SeqCst);
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
    fn a_slot_is_free_when_all_who_were_inside_have_left() {
        let (grace, mut quarantine) = (Grace::default(), Quarantine::default());
        let place = |slot| Place { tier: 0, slot };
        let poll = |quarantine: &mut Quarantine| {
            let mut freed = Vec::new();
            quarantine.poll(&grace, |place| freed.push(place.slot));
            freed
        };
        let early = grace.enter();
        quarantine.push(place(1));
        assert!(poll(&mut quarantine).is_empty());
        let late = grace.enter();
        quarantine.push(place(2));
        assert_ne!(early, late, "newcomers go to the other room");
        grace.leave(early);
        assert!(poll(&mut quarantine).is_empty(), "the second room is not empty");
        let later = grace.enter();
        grace.leave(late);
        assert_eq!(poll(&mut quarantine), [1]);
        grace.leave(later);
        assert_eq!(poll(&mut quarantine), [2]);
    }
}

//! Bitmaps of a tier's slots: which are taken, and which may hold old bytes.

#[derive(Debug)]
pub(super) struct Slots {
    capacity: u32,
    taken: Vec<u64>,
    count: u32,
    /// All slots below are taken.
    hint: u32,
    /// Slots used since the tier was opened; earlier uses are below `used_before`.
    touched: Vec<u64>,
    used_before: u32,
}

fn bit(words: &[u64], slot: u32) -> bool {
    words.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
}

fn set(words: &mut Vec<u64>, slot: u32) {
    let word = slot as usize / 64;
    if words.len() <= word {
        words.resize(word + 1, 0);
    }
    words[word] |= 1 << (slot % 64);
}

impl Slots {
    /// All slots free; the first `used_before` may hold old bytes, the others hold zeros.
    pub(super) fn new(capacity: u32, used_before: u32) -> Self {
        let (taken, touched) = (Vec::new(), Vec::new());
        Self { capacity, taken, count: 0, hint: 0, touched, used_before }
    }

    pub(super) fn free(&self) -> u32 {
        self.capacity - self.count
    }

    fn is_taken(&self, slot: u32) -> bool {
        bit(&self.taken, slot)
    }

    /// Takes a slot; false if it is taken or does not exist.
    pub(super) fn mark(&mut self, slot: u32) -> bool {
        if slot >= self.capacity || self.is_taken(slot) {
            return false;
        }
        set(&mut self.taken, slot);
        self.count += 1;
        true
    }

    /// Whether a slot may hold old bytes; marks that it may from now on.
    pub(super) fn touch(&mut self, slot: u32) -> bool {
        let before = slot < self.used_before || bit(&self.touched, slot);
        set(&mut self.touched, slot);
        before
    }

    /// Takes the slot `wanted` or else the first free one, if more than `spare` are free.
    pub(super) fn take(&mut self, wanted: u32, spare: u32) -> Option<u32> {
        if self.capacity - self.count <= spare {
            return None;
        }
        if self.mark(wanted) {
            return Some(wanted);
        }
        let first = self.first_free();
        self.hint = first;
        self.mark(first).then_some(first)
    }

    fn first_free(&self) -> u32 {
        let start = self.hint as usize / 64;
        let words = self.taken.get(start..).unwrap_or_default();
        let full = words.iter().take_while(|word| **word == u64::MAX).count();
        let word = start + full;
        let within = self.taken.get(word).map_or(0, |word| word.trailing_ones());
        (word * 64) as u32 + within
    }

    pub(super) fn release(&mut self, slot: u32) {
        assert!(self.is_taken(slot), "slot {slot} is released twice");
        self.taken[slot as usize / 64] &= !(1 << (slot % 64));
        self.count -= 1;
        self.hint = self.hint.min(slot);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.taken.capacity() + self.touched.capacity()) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_taken_once_and_the_spare_ones_are_left() {
        let mut slots = Slots::new(130, 5);
        assert!(slots.touch(4) && !slots.touch(5) && slots.touch(5));
        assert_eq!(slots.take(100, 2), Some(100));
        let all: Vec<_> = std::iter::from_fn(|| slots.take(100, 2)).collect();
        assert_eq!(all, (0..100).chain(101..128).collect::<Vec<_>>());
        assert_eq!(slots.take(0, 1), Some(128));
        assert!(slots.mark(129) && !slots.mark(129) && !slots.mark(130));
        assert_eq!((slots.take(0, 0), slots.count), (None, 130));
        slots.release(64);
        slots.release(3);
        assert_eq!([slots.take(200, 0), slots.take(200, 0)], [Some(3), Some(64)]);
    }
}

//! A slab for requests in flight.

/// Values under small keys that are used again, such as the tags of requests in flight.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    /// An empty slab that holds `capacity` values without allocating again.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { places: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Values that it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts a value and returns its tag.
    #[inline]
    pub fn insert(&mut self, value: T) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(value);
        place as u64
    }

    /// The value of a tag.
    ///
    /// # Panics
    /// If the tag has no value.
    #[inline]
    pub fn get_mut(&mut self, tag: u64) -> &mut T {
        self.places[tag as usize].as_mut().expect("the tag has a value")
    }

    /// Removes the value of a tag and returns it.
    ///
    /// # Panics
    /// If the tag has no value.
    #[inline]
    pub fn remove(&mut self, tag: u64) -> T {
        let value = self.places[tag as usize].take().expect("the tag has a value");
        self.free.push(tag as usize);
        value
    }

    /// All values, with their tags.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        (0..).zip(&mut self.places).filter_map(|(tag, place)| Some((tag, place.as_mut()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_used_again_and_things_stay_under_theirs() {
        let mut slab = Slab::with_capacity(2);
        assert_eq!((slab.insert('a'), slab.insert('b')), (0, 1));
        assert_eq!((slab.remove(0), slab.insert('c'), slab.insert('d')), ('a', 0, 2));
        *slab.get_mut(2) = 'e';
        let all: Vec<_> = slab.iter_mut().map(|(tag, value)| (tag, *value)).collect();
        assert_eq!(all, [(0, 'c'), (1, 'b'), (2, 'e')]);
        assert_eq!([0, 1, 2].map(|tag| slab.remove(tag)), ['c', 'b', 'e']);
        assert!(slab.is_empty());
    }
}

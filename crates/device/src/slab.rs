//! Things under way, each found by the tag of its request.

/// Things kept under small numbers, which requests carry as their tags.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    /// An empty one; no memory is allocated up to `capacity` things.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { places: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Things that it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a thing; its tag.
    #[inline]
    pub fn insert(&mut self, thing: T) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(thing);
        place as u64
    }

    /// The thing of this tag.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn get_mut(&mut self, tag: u64) -> &mut T {
        self.places[tag as usize].as_mut().expect("a tag has its thing until it is removed")
    }

    /// Takes the thing of this tag out.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn remove(&mut self, tag: u64) -> T {
        let thing = self.places[tag as usize].take().expect("a tag's thing is removed once");
        self.free.push(tag as usize);
        thing
    }

    /// All things, with their tags.
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
        let all: Vec<_> = slab.iter_mut().map(|(tag, thing)| (tag, *thing)).collect();
        assert_eq!(all, [(0, 'c'), (1, 'b'), (2, 'e')]);
        assert_eq!([0, 1, 2].map(|tag| slab.remove(tag)), ['c', 'b', 'e']);
        assert!(slab.is_empty());
    }
}

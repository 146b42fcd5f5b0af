//! Many ids of one kind, in little memory.

use std::thread::Builder;

use super::IdRef;
use crate::superblock::IdKind;

/// Fewer ids are sorted by one thread.
const HALVES_MIN: usize = 1 << 14;

/// Ids of one kind, by position.
#[derive(Clone, Debug)]
pub enum IdColumn {
    /// Numbers.
    Integers(Vec<u64>),
    /// Names.
    Strings {
        /// All of them, one after the other.
        text: String,
        /// Where each ends.
        ends: Vec<usize>,
    },
}

impl IdColumn {
    /// No ids, with room for so many of a graph with ids of this kind.
    pub fn with_capacity(kind: IdKind, count: usize) -> Self {
        match kind {
            IdKind::Dense | IdKind::Integers => Self::Integers(Vec::with_capacity(count)),
            IdKind::Strings => {
                Self::Strings { text: String::new(), ends: Vec::with_capacity(count) }
            }
        }
    }

    /// No ids, of this kind.
    pub fn new(kind: IdKind) -> Self {
        Self::with_capacity(kind, 0)
    }

    /// Adds an id.
    ///
    /// # Panics
    /// If it is of the other kind.
    #[inline]
    pub fn push(&mut self, id: IdRef<'_>) {
        match (self, id) {
            (Self::Integers(integers), IdRef::Integer(integer)) => integers.push(integer),
            (Self::Strings { text, ends }, IdRef::String(string)) => {
                text.push_str(string);
                ends.push(text.len());
            }
            _ => panic!("the ids of a column are of one kind"),
        }
    }

    /// The id at a position.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn get(&self, at: usize) -> IdRef<'_> {
        match self {
            Self::Integers(integers) => IdRef::Integer(integers[at]),
            Self::Strings { text, ends } => {
                let start = if at == 0 { 0 } else { ends[at - 1] };
                IdRef::String(&text[start..ends[at]])
            }
        }
    }

    /// How many ids there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(integers) => integers.len(),
            Self::Strings { ends, .. } => ends.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All ids in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = IdRef<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Removes all ids, and keeps their memory.
    pub fn clear(&mut self) {
        match self {
            Self::Integers(integers) => integers.clear(),
            Self::Strings { text, ends } => {
                text.clear();
                ends.clear();
            }
        }
    }

    /// Bytes of names.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Integers(_) => 0,
            Self::Strings { text, .. } => text.len(),
        }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Integers(integers) => integers.capacity() * size_of::<u64>(),
            Self::Strings { text, ends } => text.capacity() + ends.capacity() * size_of::<usize>(),
        }
    }

    /// Calls `find` with the ids, each once, ascending, so many at a time at most. Returns the
    /// place of each position among them. There are at most 2^32 positions.
    ///
    /// # Errors
    /// The first one of `find`.
    pub fn for_distinct<E>(
        &self,
        most: usize,
        find: &mut dyn FnMut(&[IdRef<'_>]) -> Result<(), E>,
    ) -> Result<Vec<u32>, E> {
        match self {
            Self::Integers(integers) => {
                for_distinct(integers.iter().copied(), IdRef::Integer, most, find)
            }
            Self::Strings { .. } => for_distinct(self.iter(), |id| id, most, find),
        }
    }

    /// The ids, if they are numbers below this one.
    pub fn integers_below(&self, end: u64) -> Option<&[u64]> {
        match self {
            Self::Integers(integers) => {
                integers.iter().all(|id| *id < end).then_some(integers.as_slice())
            }
            Self::Strings { .. } => None,
        }
    }

    /// Removes the ids of the first positions.
    pub fn remove_first(&mut self, count: usize) {
        match self {
            Self::Integers(integers) => drop(integers.drain(..count)),
            Self::Strings { text, ends } => {
                let bytes = if count == 0 { 0 } else { ends[count - 1] };
                text.drain(..bytes);
                ends.drain(..count);
                ends.iter_mut().for_each(|end| *end -= bytes);
            }
        }
    }

    /// Removes all ids but those of the first positions.
    pub fn truncate(&mut self, count: usize) {
        match self {
            Self::Integers(integers) => integers.truncate(count),
            Self::Strings { text, ends } => {
                ends.truncate(count);
                text.truncate(ends.last().copied().unwrap_or(0));
            }
        }
    }

    /// The positions by ascending ids.
    pub fn ascending(&self) -> Vec<u32> {
        match self {
            Self::Integers(integers) => ascending(integers.iter().copied()),
            Self::Strings { .. } => ascending(self.iter()),
        }
    }
}

/// Sorting pairs reads memory in order, where comparing ids by position does not. Two threads sort
/// a half each.
fn for_distinct<'c, I: Ord + Copy + Send, E>(
    all: impl ExactSizeIterator<Item = I>,
    id: impl Fn(I) -> IdRef<'c>,
    most: usize,
    find: &mut dyn FnMut(&[IdRef<'_>]) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let mut places = vec![0; all.len()];
    let mut pairs: Vec<(I, u32)> = all.zip(0..).collect();
    let (mut first, mut second) = sort_halves(&mut pairs);
    let mut ids: Vec<IdRef<'c>> = Vec::new();
    let (mut last, mut found) = (None, 0);
    while !(first.is_empty() && second.is_empty()) {
        let is_first = second.is_empty() || !first.is_empty() && first[0] < second[0];
        let rest = if is_first { &mut first } else { &mut second };
        let (next, at) = rest[0];
        *rest = &rest[1..];
        if last != Some(next) {
            if ids.len() == most {
                find(&ids)?;
                found += ids.len();
                ids.clear();
            }
            ids.push(id(next));
            last = Some(next);
        }
        places[at as usize] = (found + ids.len() - 1) as u32;
    }
    find(&ids)?;
    Ok(places)
}

fn sort_halves<T: Ord + Send>(all: &mut [T]) -> (&[T], &[T]) {
    let middle = if all.len() < HALVES_MIN { 0 } else { all.len() / 2 };
    let (first, second) = all.split_at_mut(middle);
    let is_sorted = std::thread::scope(|scope| {
        let sort = || first.sort_unstable();
        let spawned = (middle > 0).then(|| Builder::new().spawn_scoped(scope, sort).is_ok());
        second.sort_unstable();
        spawned.unwrap_or(false)
    });
    if !is_sorted {
        first.sort_unstable();
    }
    (first, second)
}

fn ascending<I: Ord>(all: impl Iterator<Item = I>) -> Vec<u32> {
    let mut sorted: Vec<(I, u32)> = all.zip(0..).collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    fn column(kind: IdKind, ids: &[IdRef<'_>]) -> IdColumn {
        let mut column = IdColumn::new(kind);
        ids.iter().for_each(|id| column.push(*id));
        column
    }

    #[test]
    fn ids_are_found_by_position_and_sorted_with_their_places() {
        let integers = [7, 3, 7, 0].map(IdRef::Integer);
        let strings = ["b", "", "b", "äö"].map(IdRef::String);
        for (kind, ids) in [(IdKind::Integers, integers), (IdKind::Strings, strings)] {
            let column = column(kind, &ids);
            assert!(column.iter().eq(ids) && column.len() == 4 && !column.is_empty());
            for most in [1, 2, 3, 100] {
                let mut distinct = Vec::new();
                let places = column.for_distinct(most, &mut |some| {
                    assert!(some.len() <= most);
                    distinct.extend(some.iter().map(|id| id.to_id()));
                    Ok::<(), ()>(())
                });
                assert!(distinct.is_sorted_by(|a, b| a < b) && distinct.len() == 3);
                let places = places.unwrap();
                assert!(places.iter().map(|place| distinct[*place as usize].as_ref()).eq(ids));
            }
            let mut rest = column.clone();
            rest.remove_first(0);
            assert!(rest.iter().eq(ids));
            rest.remove_first(3);
            assert!(rest.iter().eq(ids[3..].iter().copied()));
            let ascending = column.ascending();
            assert!(ascending.iter().map(|at| ids[*at as usize]).is_sorted());
            assert_eq!(ascending.len(), 4);
        }
        let mut strings = column(IdKind::Strings, &strings);
        assert_eq!(strings.text_bytes(), 6);
        strings.clear();
        assert_eq!((strings.len(), strings.text_bytes()), (0, 0));
    }

    #[test]
    #[should_panic(expected = "one kind")]
    fn a_name_among_numbers_is_refused() {
        column(IdKind::Integers, &[IdRef::String("x")]);
    }

    #[test]
    fn many_ids_are_sorted_in_halves() {
        let id = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        let mut column = IdColumn::new(IdKind::Integers);
        (0..2 * HALVES_MIN).for_each(|at| column.push(IdRef::Integer(id(at))));
        let mut distinct = Vec::new();
        let places = column.for_distinct(1_000, &mut |some| {
            distinct.extend(some.iter().map(|id| id.to_id()));
            Ok::<(), ()>(())
        });
        assert!(distinct.is_sorted_by(|a, b| a < b));
        let found = places.unwrap().into_iter().map(|place| distinct[place as usize].clone());
        assert!(found.eq((0..2 * HALVES_MIN).map(|at| Id::Integer(id(at)))));
        let failed = column.for_distinct(1_000, &mut |_| Err("no"));
        assert_eq!(failed, Err("no"));
    }
}

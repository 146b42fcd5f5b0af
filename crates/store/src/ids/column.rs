//! Many ids of one kind, in little memory.

use super::IdRef;
use crate::superblock::IdKind;

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

    /// The ids, each once, ascending, and the place of each position among them.
    pub fn distinct(&self) -> (Vec<IdRef<'_>>, Vec<usize>) {
        match self {
            Self::Integers(integers) => distinct(integers.iter().copied(), IdRef::Integer),
            Self::Strings { .. } => distinct(self.iter(), |id| id),
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

/// Sorting pairs reads memory in order, where comparing ids by position does not.
fn distinct<'c, I: Ord + Copy>(
    all: impl ExactSizeIterator<Item = I>,
    id: impl Fn(I) -> IdRef<'c>,
) -> (Vec<IdRef<'c>>, Vec<usize>) {
    let mut places = vec![0; all.len()];
    let mut sorted: Vec<(I, usize)> = all.zip(0..).collect();
    sorted.sort_unstable();
    let mut ids = Vec::new();
    for same in sorted.chunk_by(|a, b| a.0 == b.0) {
        same.iter().for_each(|&(_, at)| places[at] = ids.len());
        ids.push(id(same[0].0));
    }
    (ids, places)
}

fn ascending<I: Ord>(all: impl Iterator<Item = I>) -> Vec<u32> {
    let mut sorted: Vec<(I, u32)> = all.zip(0..).collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let (distinct, places) = column.distinct();
            assert!(distinct.is_sorted_by(|a, b| a < b) && distinct.len() == 3);
            assert!(places.iter().map(|place| distinct[*place]).eq(ids));
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
}

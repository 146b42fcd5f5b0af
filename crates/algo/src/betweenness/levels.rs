//! The levels of a batch of searches, from the first to the last and back.

use cenote_engine::{Bitmap, HugeVec, VertexId};

use crate::report::Result;

/// The vertices of each level, as long as there is room: a level is noted while the searches go
/// forward and taken on their way back.
pub(super) struct Levels {
    /// The vertices of levels that have a list, one level after the other.
    listed: HugeVec<VertexId>,
    /// Of each place of `listed`, whether a level begins there.
    begins: Bitmap,
    used: usize,
    /// Levels without a list, in ascending order: they had many vertices.
    unlisted: Vec<u32>,
    /// From this level on there was no room for lists.
    full_from: u32,
}

impl Levels {
    /// Bytes for a graph of so many vertices.
    pub fn bytes_for(vertices: usize) -> u64 {
        4 * vertices as u64 + Bitmap::bytes_for(vertices)
    }

    pub fn new(vertices: usize) -> Result<Self> {
        let (listed, begins) = (HugeVec::zeroed(vertices)?, Bitmap::new(vertices)?);
        Ok(Self { listed, begins, used: 0, unlisted: Vec::new(), full_from: u32::MAX })
    }

    pub fn clear(&mut self) {
        self.begins.clear();
        self.used = 0;
        self.unlisted.clear();
        self.full_from = u32::MAX;
    }

    /// Notes the next level; `list` has its vertices if they are few.
    pub fn note(&mut self, level: u32, list: Option<&[VertexId]>) {
        if level > self.full_from {
            return;
        }
        let Some(list) = list else { return self.unlisted.push(level) };
        let end = self.used + list.len();
        if end > self.listed.len() {
            self.full_from = level;
            return;
        }
        self.begins.insert(self.used as VertexId);
        self.listed[self.used..end].copy_from_slice(list);
        self.used = end;
    }

    /// The vertices of the last level that was noted and not taken yet, which is `level`; None if
    /// it has no list.
    pub fn take(&mut self, level: u32) -> Option<&[VertexId]> {
        if level >= self.full_from {
            return None;
        }
        if self.unlisted.last() == Some(&level) {
            self.unlisted.pop();
            return None;
        }
        let end = self.used;
        loop {
            self.used -= 1;
            if self.begins.contains(self.used as VertexId) {
                self.begins.remove(self.used as VertexId);
                return Some(&self.listed[self.used..end]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_back_in_reverse() {
        let mut levels = Levels::new(200).unwrap();
        for _ in 0..2 {
            let long: Vec<VertexId> = (0..150).collect();
            levels.note(0, Some(&[7]));
            levels.note(1, None);
            levels.note(2, Some(&long));
            levels.note(3, Some(&[1, 2]));
            // 153 places are taken.
            levels.note(4, Some(&long));
            levels.note(5, Some(&[3]));
            assert_eq!(levels.take(5), None);
            assert_eq!(levels.take(4), None);
            assert_eq!(levels.take(3), Some(&[1, 2][..]));
            assert_eq!(levels.take(2), Some(&long[..]));
            assert_eq!(levels.take(1), None);
            // The first level stays, as after a search.
            levels.clear();
        }
        levels.note(0, Some(&[9]));
        assert_eq!(levels.take(0), Some(&[9][..]));
    }
}

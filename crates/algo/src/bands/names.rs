//! Entries that are values or the names of vertices.

use std::ops::Range;

use cenote_engine::VertexId;

/// Names of the vertices of a range, which no value is.
pub(crate) struct Named {
    range: Range<VertexId>,
}

impl Named {
    /// Of no vertex if names would be values, which are at most `most`.
    pub fn of(range: Range<VertexId>, most: u32) -> Self {
        let is_apart = u64::from(most) + (range.len() as u64) < u64::from(u32::MAX);
        Self { range: if is_apart { range } else { 0..0 } }
    }

    /// The name of a vertex; `None` outside of the range.
    #[inline(always)]
    pub fn name(&self, v: VertexId) -> Option<u32> {
        self.range.contains(&v).then(|| u32::MAX - (v - self.range.start))
    }

    /// The vertex of a name; `None` if it is a value.
    #[inline(always)]
    pub fn vertex(&self, entry: u32) -> Option<VertexId> {
        let place = (u32::MAX - entry) as usize;
        (place < self.range.len()).then(|| self.range.start + place as VertexId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_values() {
        let named = Named::of(100..200, u32::MAX - 101);
        for v in 100..200 {
            let name = named.name(v).unwrap();
            assert!(name > u32::MAX - 101);
            assert_eq!(named.vertex(name), Some(v));
        }
        assert_eq!([99, 200].map(|v| named.name(v)), [None; 2]);
        assert_eq!([0, u32::MAX - 101, u32::MAX - 100].map(|value| named.vertex(value)), [None; 3]);
        assert_eq!(Named::of(100..200, u32::MAX - 100).name(100), None, "as many values as names");
    }
}

//! The numbers of vertices across shards, and how they are cut into ranges.

use std::ops::Range;

use cenote_store::VertexId;

use crate::error::Result;
use crate::graph::Graph;

/// Translates between the vertices of a graph and their numbers.
pub(super) struct Numbers {
    count: u64,
    /// Vertices by number and numbers by vertex, unless they are the same.
    tables: Option<(Vec<VertexId>, Vec<VertexId>)>,
}

impl Numbers {
    /// Bytes of the tables of a graph.
    pub fn bytes_for(graph: &Graph) -> Result<u64> {
        let is_same = is_same(graph)?;
        Ok(if is_same { 0 } else { 2 * 4 * graph.stored().vertices() as u64 })
    }

    pub fn of(graph: &Graph) -> Result<Self> {
        let stored = graph.stored();
        let count = stored.live_vertices() as u64;
        if is_same(graph)? {
            return Ok(Self { count, tables: None });
        }
        let mut vertices = Vec::with_capacity(stored.live_vertices());
        let mut numbers = vec![0; stored.vertices()];
        graph.kept_ids()?.for_each_vertex(|vertex| {
            numbers[vertex as usize] = vertices.len() as VertexId;
            vertices.push(vertex);
        })?;
        Ok(Self { count, tables: Some((vertices, numbers)) })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The vertex of a number.
    pub fn vertex(&self, number: u64) -> VertexId {
        match &self.tables {
            None => number as VertexId,
            Some((vertices, _)) => vertices[number as usize],
        }
    }

    /// The number of a vertex.
    pub fn number(&self, vertex: VertexId) -> u64 {
        match &self.tables {
            None => vertex.into(),
            Some((_, numbers)) => numbers[vertex as usize].into(),
        }
    }
}

/// Whether vertices are in the order of their ids, and none is deleted.
fn is_same(graph: &Graph) -> Result<bool> {
    Ok(graph.kept_ids()?.is_natural() && graph.stored().deleted().is_empty())
}

/// Cuts numbers into as many ranges as `shards`, none of them empty, of nearly equal weight: a
/// vertex weighs the entries of its lists and one more, for its own state.
pub(super) fn ranges(count: u64, shards: u64, entries: impl Fn(u64) -> u64) -> Vec<Range<u64>> {
    assert!((1..=count).contains(&shards), "a shard has a vertex");
    let total: u128 = (0..count).map(|number| u128::from(entries(number)) + 1).sum();
    let (mut ranges, mut first, mut weight) = (Vec::new(), 0, 0u128);
    for number in 0..count {
        let own = u128::from(entries(number)) + 1;
        let (done, left) = (ranges.len() as u64, count - number);
        // The shards that are open, with this one, and the vertices that the others need.
        let open = shards - done;
        let limit = total * u128::from(done + 1) / u128::from(shards);
        // The vertex goes to the side of the cut on which more of it lies.
        let is_full = 2 * (weight + own) > 2 * limit + own || left < open;
        if open > 1 && number > first && is_full {
            ranges.push(first..number);
            first = number;
        }
        weight += own;
    }
    ranges.push(first..count);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_vertices_and_have_nearly_equal_weight() {
        for count in [1, 2, 5, 100, 1_000] {
            for shards in [1, 2, 3, 4, 7].into_iter().filter(|shards| *shards <= count) {
                let entries = |number: u64| if number == 0 { 300 } else { number * 7 % 11 };
                let ranges = ranges(count, shards, entries);
                assert_eq!(ranges.len() as u64, shards, "{count} vertices");
                assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, count));
                assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start), "{ranges:?}");
                assert!(ranges.iter().all(|range| !range.is_empty()), "{ranges:?}");
                if count == 1_000 {
                    let weights: Vec<u64> = ranges
                        .iter()
                        .map(|range| range.clone().map(|number| entries(number) + 1).sum())
                        .collect();
                    let (least, most) = (weights.iter().min(), weights.iter().max());
                    assert!(most.unwrap() - least.unwrap() < 20, "{weights:?}");
                }
            }
        }
    }

    #[test]
    fn vertices_with_everything_do_not_leave_the_other_shards_empty() {
        let last = |number: u64| if number == 4 { 1_000 } else { 0 };
        assert_eq!(ranges(5, 3, last), [0..3, 3..4, 4..5]);
        let first = |number: u64| if number == 0 { 1_000 } else { 0 };
        assert_eq!(ranges(5, 3, first), [0..1, 1..2, 2..5]);
    }
}

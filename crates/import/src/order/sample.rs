//! Samples edges to choose an order of the vertices.
//!
//! The edges with the smallest hashes of all (a bottom-k sketch: Cohen and Kaplan, "Summarizing
//! data using bottom-k sketches", PODC 2007): whichever workers read them, in whatever order and
//! however often, they are the same.

use cenote_device::mix;
use cenote_store::VertexId;

use super::cluster::{CAPACITY, VERTEX};

/// Edges of a sample.
const EDGES: usize = 1 << 15;

/// The lists of a smaller graph take 10 MiB at most: an order saves little there.
const VERTICES_MIN: u64 = 1 << 18;
/// Most entries of lists a vertex, of a graph in which a search may take many steps.
const ENTRIES_MAX: u64 = 8;
/// Most share of the entries of lists that are vertices with long lists. Where there are more, most
/// vertices are few steps from each other. A uniform graph has less than a thousandth, Kronecker
/// graphs of 2^20 and 2^22 vertices 0.34 and 0.20, with a sample of this size.
const HUBS_MAX: f64 = 0.05;
/// Least edges for a hundred vertices: a graph of fewer has many small components, in which no
/// search is long.
const EDGES_MIN_PERCENT: u64 = 95;
/// Most share of edges whose ends lie close together in natural order, about on one page: clusters
/// would have to leave a third of the others apart, or fewer.
const NEAR_MAX: f64 = 0.85;

/// A sample of edges by the user's ids.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Hash, source, target.
    edges: Vec<(u64, u64, u64)>,
    /// Edges of this hash and above are not among the smallest.
    limit: u64,
}

impl Sample {
    /// Bytes of memory.
    pub const BYTES: usize = 2 * EDGES * size_of::<(u64, u64, u64)>();

    pub fn new() -> Self {
        Self { edges: Vec::with_capacity(2 * EDGES), limit: u64::MAX }
    }

    #[inline]
    pub fn add(&mut self, source: u64, target: u64) {
        let hash = mix(mix(source).wrapping_add(target));
        if hash < self.limit {
            self.edges.push((hash, source, target));
            if self.edges.len() == 2 * EDGES {
                self.shrink();
            }
        }
    }

    pub fn merge(&mut self, other: Self) {
        for (_, source, target) in other.edges {
            self.add(source, target);
        }
    }

    fn shrink(&mut self) {
        self.edges.sort_unstable();
        self.edges.dedup();
        if self.edges.len() > EDGES {
            self.edges.truncate(EDGES);
        }
        if self.edges.len() == EDGES {
            self.limit = self.edges[EDGES - 1].0;
        }
    }

    /// The edges, by ascending hash.
    pub fn finish(mut self) -> Vec<(u64, u64)> {
        self.shrink();
        self.edges.into_iter().map(|(_, source, target)| (source, target)).collect()
    }
}

/// What a sample says of a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    vertices: u64,
    /// Entries of all lists, and edges, with those that are repeated.
    entries: u64,
    edges: u64,
    /// Share of the entries of lists that are vertices with long lists.
    hubs: f64,
    /// Share of the edges whose ends lie close together.
    near: f64,
}

impl Shape {
    /// The shape of a graph, by a sample of its edges in natural order.
    pub fn of(
        sample: &[(VertexId, VertexId)],
        directed: bool,
        (vertices, edges): (u64, u64),
    ) -> Self {
        let entries = if directed { edges } else { 2 * edges };
        // Vertices whose lists are long by one half of the sample are hubs, whose share the other
        // half shows without bias. An undirected edge is in the lists of both ends.
        let (half, other) = sample.split_at(sample.len() / 2);
        let ends = |edges: &[(VertexId, VertexId)], which: [bool; 2]| -> Vec<VertexId> {
            let both = edges.iter().flat_map(|&(source, target)| [source, target]);
            both.zip(which.into_iter().cycle())
                .filter(|(_, is_in)| *is_in)
                .map(|(v, _)| v)
                .collect()
        };
        let mut seen = ends(half, [true, !directed]);
        seen.sort_unstable();
        let hubs: Vec<VertexId> = seen
            .chunk_by(|a, b| a == b)
            .filter_map(|same| (same.len() > 1).then_some(same[0]))
            .collect();
        let other = ends(other, [!directed, true]);
        let at_hubs = other.iter().filter(|end| hubs.binary_search(end).is_ok()).count();
        // Half of the vertices whose lists fill a page.
        let distance_max = CAPACITY * vertices / (entries + VERTEX * vertices).max(1) / 2;
        let is_near = |&&(source, target): &&(VertexId, VertexId)| {
            u64::from(source.abs_diff(target)) <= distance_max
        };
        let near = sample.iter().filter(is_near).count();
        let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
        let (hubs, near) = (share(at_hubs, other.len()), share(near, sample.len()));
        Self { vertices, entries, edges, hubs, near }
    }

    /// Why the natural order is taken; `None` where clusters may bring vertices together that their
    /// ids do not.
    pub fn why_natural(self) -> Option<String> {
        let Self { vertices, entries, edges, hubs, near } = self;
        if vertices < VERTICES_MIN {
            Some(format!("there are {vertices} vertices, for which an order saves little"))
        } else if edges * 100 < EDGES_MIN_PERCENT * vertices {
            Some(format!("{edges} edges leave {vertices} vertices in many components"))
        } else if entries > ENTRIES_MAX * vertices {
            let mean = entries as f64 / vertices as f64;
            Some(format!("with {mean:.1} entries a list, searches take few steps"))
        } else if hubs > HUBS_MAX {
            let hubs = percent(hubs);
            Some(format!("few vertices with long lists have {hubs} of the entries"))
        } else if near > NEAR_MAX {
            Some(format!("the ids bring the ends of {} of the edges together", percent(near)))
        } else {
            None
        }
    }
}

/// A share as text.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(count: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..count).map(|at| (mix(at) % 100_000, mix(at + 1) % 100_000))
    }

    fn sample(parts: &[Vec<(u64, u64)>]) -> Vec<(u64, u64)> {
        let mut all = Sample::new();
        for part in parts {
            let mut one = Sample::new();
            part.iter().for_each(|&(source, target)| one.add(source, target));
            all.merge(one);
        }
        all.finish()
    }

    #[test]
    fn a_sample_depends_on_the_set_of_edges_alone() {
        for count in [0, 10, EDGES as u64, 400_000] {
            let whole: Vec<_> = edges(count).collect();
            let expected = sample(std::slice::from_ref(&whole));
            assert_eq!(expected.len() as u64, count.min(EDGES as u64));
            let mut parts: Vec<Vec<_>> = vec![Vec::new(); 7];
            // Each edge once or twice, from the last to the first.
            for (at, &edge) in whole.iter().enumerate().rev() {
                parts[at % 7].push(edge);
                if at % 3 == 0 {
                    parts[at % 5].push(edge);
                }
            }
            assert!(sample(&parts) == expected, "{count} edges");
            let mut smallest: Vec<_> =
                whole.iter().map(|&(s, t)| (mix(mix(s).wrapping_add(t)), s, t)).collect();
            smallest.sort_unstable();
            smallest.dedup();
            assert!(smallest.iter().zip(&expected).all(|(a, b)| (a.1, a.2) == *b));
        }
    }

    #[test]
    fn clusters_are_tried_where_a_large_sparse_graph_has_neither_hubs_nor_near_ids() {
        let natural_of =
            |directed, (vertices, mean): (u64, u64), pair: &dyn Fn(u64) -> [u64; 2]| {
                let edges: Vec<(VertexId, VertexId)> = (0..EDGES as u64)
                    .map(|at| pair(at).map(|end| (end % vertices) as VertexId).into())
                    .collect();
                Shape::of(&edges, directed, (vertices, mean * vertices / 2)).why_natural()
            };
        let natural = |vertices, pair: &dyn Fn(u64) -> [u64; 2]| {
            natural_of(false, (vertices, 6), pair).unwrap_or_default()
        };
        let far = |at| mix(at) % (1 << 40);
        let hub = |at: u64| mix(at % 300) % (1 << 40);
        let flat = |at| [far(at), far(at + (1 << 20))];
        assert_eq!(natural(8 << 20, &flat), "");
        assert!(natural(1 << 17, &flat).contains("131072 vertices"));
        let dense = natural_of(false, (8 << 20, 9), &flat).unwrap();
        assert!(dense.contains("9.0 entries"), "{dense}");
        let scattered = natural_of(false, (8 << 20, 1), &flat).unwrap();
        assert!(scattered.contains("in many components"), "{scattered}");
        let skewed = |at| [far(at), if at % 2 == 0 { hub(at) } else { far(at + (1 << 20)) }];
        assert!(natural(8 << 20, &skewed).contains("long lists"));
        // The hubs are targets alone, so their lists are short.
        assert_eq!(natural_of(true, (8 << 20, 6), &skewed), None);
        // 64 vertices of 6 entries and 2 more lie half a page apart.
        let near = |parts: u64, apart: u64| {
            move |at| [far(at), if at % 10 < parts { far(at) + apart } else { far(at + (1 << 20)) }]
        };
        assert!(natural(8 << 20, &near(9, 60)).contains("90% of the edges together"));
        assert_eq!(natural(8 << 20, &near(9, 70)), "");
        assert_eq!(natural(8 << 20, &near(8, 5)), "");
    }
}

//! Groups of vertices, each named by one of them: components and communities.

use std::cmp;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Graph, HugeVec, StateArray, VertexId};

use crate::parallel::{self, fill};
use crate::ranks::{for_each_by_id, is_natural};
use crate::report::Result;

/// Labels that a thread counts at a time.
const COUNT_TOGETHER: usize = 1 << 14;

const NONE: VertexId = VertexId::MAX;

/// The group of every vertex, and counts.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The name of every vertex's group.
    pub labels: StateArray<VertexId>,
    pub count: u64,
    /// Groups of one vertex.
    pub single: u64,
    /// Vertices in the largest group.
    pub largest: u64,
    /// Its name; of several largest groups the smallest by id.
    pub largest_label: Option<VertexId>,
}

/// What labels stand for before groups are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// A vertex of the group, on a graph in natural order the smallest. The group is named after
    /// its vertex with the smallest id.
    Members,
    /// The rank of the vertex that names the group.
    Ranks,
}

impl Groups {
    /// Names and counts the groups. `sizes` holds zeros, one per vertex; cells of vertices that
    /// name no group are not touched, and take no memory.
    pub fn new(
        graph: &Graph,
        kind: Labels,
        labels: HugeVec<AtomicU32>,
        sizes: HugeVec<AtomicU32>,
    ) -> Result<Self> {
        if !is_natural(graph) {
            name(graph, kind, &labels, &sizes)?;
            fill(&sizes, 0);
        }
        let label_of = |label: &AtomicU32| label.load(Ordering::Relaxed);
        parallel::blocks_of(COUNT_TOGETHER, labels.len(), &|range| {
            // Most labels are the largest group's: a run of one label is added at once.
            for run in labels[range].chunk_by(|a, b| label_of(a) == label_of(b)) {
                sizes[label_of(&run[0]) as usize].fetch_add(run.len() as u32, Ordering::Relaxed);
            }
        });
        // A deleted vertex is a group of its own that does not count.
        for &v in graph.deleted() {
            sizes[v as usize].store(0, Ordering::Relaxed);
        }
        let all = parallel::sum_of_blocks(COUNT_TOGETHER, sizes.len(), |range| {
            let mut all = Sizes::default();
            range.for_each(|v| all.add(v as VertexId, label_of(&sizes[v])));
            all
        });
        let largest_label = match all.of_largest {
            0 => None,
            1 => Some(all.largest_label),
            _ => first_of_size(graph, &sizes, all.largest)?,
        };
        let (count, single, largest) = (all.count, all.single, all.largest.into());
        Ok(Self { labels: labels.into_plain().into(), count, single, largest, largest_label })
    }
}

/// Counts of groups.
#[derive(Clone, Copy, Default)]
struct Sizes {
    count: u64,
    single: u64,
    largest: u32,
    /// Groups as large as the largest, and the name of one of them.
    of_largest: u64,
    largest_label: VertexId,
}

impl Sizes {
    /// Adds the group that a vertex names, if `size` is not 0.
    fn add(&mut self, label: VertexId, size: u32) {
        let (group, single) = (u64::from(size > 0), u64::from(size == 1));
        let one =
            Self { count: group, single, largest: size, of_largest: group, largest_label: label };
        *self += one;
    }
}

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.single += other.single;
        match self.largest.cmp(&other.largest) {
            cmp::Ordering::Less => {
                self.largest = other.largest;
                self.of_largest = other.of_largest;
                self.largest_label = other.largest_label;
            }
            cmp::Ordering::Equal => self.of_largest += other.of_largest,
            cmp::Ordering::Greater => {}
        }
    }
}

/// Of the groups of a size the one whose name has the smallest id.
fn first_of_size(graph: &Graph, sizes: &[AtomicU32], size: u32) -> Result<Option<VertexId>> {
    let mut first = None;
    graph.ids()?.for_each_vertex(|v| {
        if first.is_none() && sizes[v as usize].load(Ordering::Relaxed) == size {
            first = Some(v);
        }
    })?;
    Ok(first)
}

/// Replaces labels by names.
fn name(graph: &Graph, kind: Labels, labels: &[AtomicU32], names: &[AtomicU32]) -> Result<()> {
    fill(names, NONE);
    let mut rank = 0;
    for_each_by_id(graph, |v| {
        let place = match kind {
            Labels::Ranks => rank,
            Labels::Members => labels[v as usize].load(Ordering::Relaxed),
        };
        // The first vertex in the order of ids names the group.
        if names[place as usize].load(Ordering::Relaxed) == NONE {
            names[place as usize].store(v, Ordering::Relaxed);
        }
        rank += 1;
    })?;
    parallel::for_each_of(labels, |_, label| {
        let name = names[label.load(Ordering::Relaxed) as usize].load(Ordering::Relaxed);
        label.store(name, Ordering::Relaxed);
    });
    Ok(())
}

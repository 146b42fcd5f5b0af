//! Groups of vertices, each named by one of them: components and communities.

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
        let labels = labels.into_plain().into();
        let mut groups = Self { labels, count: 0, single: 0, largest: 0, largest_label: None };
        graph.ids()?.for_each_vertex(|v| {
            let size = u64::from(label_of(&sizes[v as usize]));
            groups.count += u64::from(size > 0);
            groups.single += u64::from(size == 1);
            if size > groups.largest {
                (groups.largest, groups.largest_label) = (size, Some(v));
            }
        })?;
        Ok(groups)
    }
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

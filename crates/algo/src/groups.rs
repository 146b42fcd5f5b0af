//! Groups of vertices, each named by one vertex: components and communities.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{Graph, HugeVec, VertexId};
use rayon::prelude::*;

use crate::ranks::{for_each_by_id, is_natural};
use crate::report::Result;

/// Labels that are counted by one thread at a time.
const COUNT_TOGETHER: usize = 1 << 14;

const NONE: VertexId = VertexId::MAX;

/// The group of every vertex, and what follows from that.
#[derive(Debug)]
pub(crate) struct Groups {
    /// Of every vertex the name of its group.
    pub labels: HugeVec<VertexId>,
    pub count: u64,
    /// Groups of one vertex.
    pub single: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// Its name; the smallest by id, if several are largest.
    pub largest_label: Option<VertexId>,
}

/// What labels are before they are names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// A vertex of the group; of a graph in natural order the smallest. The name is the one with
    /// the smallest id.
    Members,
    /// The rank of the vertex that is the name.
    Ranks,
}

impl Groups {
    /// Names the groups and counts. `sizes` are zeros, as many as there are labels: places that are
    /// no label are not touched, and take no memory.
    pub fn new(
        graph: &Graph,
        kind: Labels,
        labels: HugeVec<AtomicU32>,
        sizes: HugeVec<AtomicU32>,
    ) -> Result<Self> {
        if !is_natural(graph) {
            name(graph, kind, &labels, &sizes)?;
            clear(&sizes);
        }
        let label_of = |label: &AtomicU32| label.load(Ordering::Relaxed);
        labels.par_chunks(COUNT_TOGETHER).for_each(|labels| {
            // Most are the giant's: a run of one label is added at once.
            for run in labels.chunk_by(|a, b| label_of(a) == label_of(b)) {
                sizes[label_of(&run[0]) as usize].fetch_add(run.len() as u32, Ordering::Relaxed);
            }
        });
        let labels = labels.into_plain();
        let mut groups = Self { labels, count: 0, single: 0, largest: 0, largest_label: None };
        for_each_by_id(graph, |v| {
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

/// Makes an array zeros.
pub(crate) fn clear(numbers: &[AtomicU32]) {
    numbers.par_iter().for_each(|number| number.store(0, Ordering::Relaxed));
}

/// Replaces labels by names.
fn name(graph: &Graph, kind: Labels, labels: &[AtomicU32], names: &[AtomicU32]) -> Result<()> {
    names.par_iter().for_each(|name| name.store(NONE, Ordering::Relaxed));
    let mut rank = 0;
    for_each_by_id(graph, |v| {
        let place = match kind {
            Labels::Ranks => rank,
            Labels::Members => labels[v as usize].load(Ordering::Relaxed),
        };
        // The first in the order of ids stays.
        if names[place as usize].load(Ordering::Relaxed) == NONE {
            names[place as usize].store(v, Ordering::Relaxed);
        }
        rank += 1;
    })?;
    labels.par_iter().for_each(|label| {
        let name = names[label.load(Ordering::Relaxed) as usize].load(Ordering::Relaxed);
        label.store(name, Ordering::Relaxed);
    });
    Ok(())
}

//! Names and counts of communities, whose labels are ranks in a state file.

use cenote_engine::{Bitmap, Graph, HugeVec};

use crate::bands::Gather;
use crate::groups::Groups;
use crate::ranks::for_each_by_id;
use crate::report::Result;

/// Counts the vertices of each label, band by band of labels.
pub(super) fn count(graph: &Graph, labels: u64, gather: &mut Gather<'_>) -> Result<Groups> {
    let mut groups = Groups {
        labels: HugeVec::zeroed(0)?.into(),
        count: 0,
        single: 0,
        largest: 0,
        largest_label: None,
    };
    let (live, mut largest) = (graph.live_vertices(), None);
    for ranks in (0..gather.layout.bands).map(|band| gather.layout.range(band)) {
        gather.band.fill(0);
        gather.for_each_band(labels, &mut |_, labels, sizes| {
            for &label in labels.iter().filter(|&label| ranks.contains(label)) {
                sizes[(label - ranks.start) as usize] += 1;
            }
            false
        })?;
        // Deleted vertices have the last ranks.
        let sizes = ranks.zip(gather.band.iter()).take_while(|(rank, _)| (*rank as usize) < live);
        for (rank, &size) in sizes {
            let size = u64::from(size);
            groups.count += u64::from(size > 0);
            groups.single += u64::from(size == 1);
            if size > groups.largest {
                (groups.largest, largest) = (size, Some(rank));
            }
        }
    }
    let mut rank = 0;
    for_each_by_id(graph, |v| {
        if Some(rank) == largest {
            groups.largest_label = Some(v);
        }
        rank += 1;
    })?;
    Ok(groups)
}

/// Replaces labels by the vertices of these ranks, band by band of ranks. `named` is an empty set
/// of vertices.
pub(super) fn name(
    graph: &Graph,
    labels: u64,
    gather: &mut Gather<'_>,
    named: &Bitmap,
) -> Result<()> {
    for ranks in (0..gather.layout.bands).map(|band| gather.layout.range(band)) {
        let mut rank = 0;
        for_each_by_id(graph, |v| {
            if ranks.contains(&rank) {
                gather.band[(rank - ranks.start) as usize] = v;
            }
            rank += 1;
        })?;
        gather.for_each_band(labels, &mut |vertices, labels, vertex_of| {
            let mut changed = false;
            for (v, label) in vertices.zip(labels) {
                if ranks.contains(label) && !named.contains(v) {
                    *label = vertex_of[(*label - ranks.start) as usize];
                    named.insert(v);
                    changed = true;
                }
            }
            changed
        })?;
    }
    Ok(())
}

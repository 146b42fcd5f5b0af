//! What follows from all distances.

use std::sync::atomic::AtomicU64;

use cenote_engine::{Bitmap, Graph, HugeVec, StateFile, VertexId};

use super::super::length::UNREACHED;
use crate::bands::Layout;
use crate::ranks::for_each_by_id;
use crate::report::Result;

/// Counts of the distances.
pub(super) struct Found {
    pub reached: u64,
    /// The largest distance and its vertex, of several the one with the smallest id; `None` if all
    /// distances are 0.
    pub farthest: Option<(VertexId, u64)>,
}

/// Makes vertices farther than `bound` unreached, and finds the farthest of the others. Of bands
/// that are not `stored` no vertex was reached. `band` and `set` are memory for a band and of a set
/// of all vertices.
pub(super) fn finish(
    graph: &Graph,
    layout: &Layout,
    (file, place, stored): (&StateFile, u64, &[bool]),
    bound: u64,
    (band, set): (&mut HugeVec<AtomicU64>, &mut Bitmap),
) -> Result<Found> {
    let (mut reached, mut largest) = (0, 0);
    let mut plain = std::mem::replace(band, HugeVec::zeroed(0)?).into_plain();
    set.clear();
    for (range, &is_stored) in (0..).map(|band| layout.range(band)).zip(stored) {
        let at = place + 8 * u64::from(range.start);
        let distances = &mut plain[..range.len()];
        if !is_stored {
            distances.fill(UNREACHED);
            file.write(at, distances)?;
            continue;
        }
        file.read(at, distances)?;
        let mut changed = false;
        for distance in distances.iter_mut() {
            if *distance > bound {
                changed |= *distance != UNREACHED;
                *distance = UNREACHED;
            } else {
                reached += 1;
            }
        }
        let reached = distances.iter().copied().filter(|distance| *distance != UNREACHED);
        let most = reached.max().unwrap_or(0);
        if most > largest {
            set.clear();
            largest = most;
        }
        let vertices = range.clone().zip(distances.iter());
        for (v, _) in vertices.filter(|&(_, distance)| most > 0 && *distance == largest) {
            set.insert(v);
        }
        if changed {
            file.write(at, distances)?;
        }
    }
    let mut farthest = None;
    if largest > 0 {
        for_each_by_id(graph, |v| {
            if farthest.is_none() && set.contains(v) {
                farthest = Some((v, largest));
            }
        })?;
    }
    Ok(Found { reached, farthest })
}

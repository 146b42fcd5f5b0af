//! Peeling in memory (Batagelj and Zaveršnik, 2003): always remove the vertices with the fewest
//! remaining neighbours. Levels are found by going through the vertices that remain: a vertex of
//! core number k is looked at k times, which its k neighbours have paid for.

use cenote_engine::VertexId;
use rayon::prelude::*;

use super::bounds::Bounds;
use crate::report::Result;
use crate::residual::{self, Place, ResidualPart};

/// Words per kept list: an entry of the index, of the vertices that remain, and of the stack.
pub(super) const WORDS_BESIDE: usize = size_of::<(VertexId, Place)>() / 4 + 2;

/// Removed vertices between two checks for cancellation.
const CANCEL_VERTICES: usize = 1 << 16;

/// Settles the core numbers of the vertices whose lists are in memory: those from `floor` on are
/// core numbers, those below are `floor - 1`. The entries lead to each other only, and the count of
/// each vertex is the number of its neighbours in memory and of those that are never removed.
pub(super) fn peel(
    parts: &[ResidualPart],
    bounds: &Bounds,
    floor: u32,
    check_cancel: impl Fn() -> Result<()>,
) -> Result<()> {
    let mut index = Vec::with_capacity(parts.iter().map(ResidualPart::lists).sum());
    index.extend(residual::places(parts));
    index.par_sort_unstable();
    let mut remaining: Vec<VertexId> = Vec::with_capacity(index.len());
    for (at, &(v, _)) in (0..).zip(&index) {
        if remaining.last() != Some(&v) {
            remaining.push(v);
            bounds.set(v, at);
        }
    }
    let count = remaining.len();
    let mut peeling = Peeling { parts, bounds, index: &index, stack: Vec::with_capacity(count) };
    peeling.run(remaining, &check_cancel)?;
    let mut last = None;
    for &(v, _) in index.iter().filter(|(v, _)| last.replace(*v) != Some(*v)) {
        let core = bounds.count(v).min(bounds.most);
        if core >= floor {
            bounds.set(v, core);
            bounds.done.insert(v);
        } else {
            bounds.set(v, floor - 1);
        }
    }
    Ok(())
}

struct Peeling<'a> {
    parts: &'a [ResidualPart],
    bounds: &'a Bounds,
    /// The pieces of lists, ascending by vertex.
    index: &'a [(VertexId, Place)],
    /// Vertices of the level whose neighbours are still to be counted down.
    stack: Vec<VertexId>,
}

impl Peeling<'_> {
    fn run(
        &mut self,
        mut remaining: Vec<VertexId>,
        check_cancel: &impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut level = 0;
        // Those left at the largest possible number have it.
        while !remaining.is_empty() && level < self.bounds.most {
            let next = self.take_level(&mut remaining, level);
            if self.stack.is_empty() {
                level = next;
                continue;
            }
            self.remove(level, check_cancel)?;
            level += 1;
        }
        Ok(())
    }

    /// Moves the vertices of `level` to the stack and drops those removed before. Returns the
    /// smallest count of the others.
    fn take_level(&mut self, remaining: &mut Vec<VertexId>, level: u32) -> u32 {
        let mut next = u32::MAX;
        remaining.retain(|&v| {
            let count = self.bounds.count(v);
            if count == level {
                self.stack.push(v);
            } else if count > level {
                next = next.min(count);
            }
            count > level
        });
        next
    }

    /// Removes the vertices on the stack, and those that this leaves with no more than `level`.
    fn remove(&mut self, level: u32, check_cancel: &impl Fn() -> Result<()>) -> Result<()> {
        let mut removed = 0;
        while let Some(v) = self.stack.pop() {
            removed += 1;
            if removed % CANCEL_VERTICES == 0 {
                check_cancel()?;
            }
            let first = self.bounds.get(v) as usize;
            let pieces = self.index[first..].iter().take_while(|&&(of, _)| of == v);
            for &(_, place) in pieces {
                for &target in residual::targets(self.parts, place) {
                    let count = self.bounds.count(target);
                    if count > level {
                        self.bounds.set_count(target, count - 1);
                        if count - 1 == level {
                            self.stack.push(target);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

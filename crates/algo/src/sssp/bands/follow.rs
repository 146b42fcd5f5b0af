//! Small steps within a band: a page of lists is searched until no distance changes inside it,
//! nearest vertex first, so neighbours on one page cost one visit, not one per step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

use cenote_engine::{Adjacency, Kernel, Page, PageTask, Purpose, VertexId};

use super::super::relax::{Sums, for_each_path};
use super::relax::Relax;

/// With more vertices to follow at a time, few of them are neighbours of each other.
const VERTICES_MAX: usize = 1024;

/// Follows the active vertices of pages that are nearer than `end`.
pub(super) struct Follow<'a> {
    pub relax: Relax<'a>,
    pub adjacency: &'a Adjacency,
    pub end: u64,
}

/// What one worker has.
pub(super) struct Local<'a> {
    pub sent: <Relax<'a> as Sums>::Local,
    /// Vertices of the page that are still to be followed, nearest first.
    waiting: BinaryHeap<Reverse<(u64, VertexId)>>,
    /// Vertices of the page whose distance fell, but not below `end`.
    far: Vec<VertexId>,
}

impl Follow<'_> {
    /// The pages of active vertices nearer than `end`, ascending. `None` if these are more than
    /// [`VERTICES_MAX`], or if the list of one of them spans pages.
    pub fn pages(&self) -> Option<Vec<PageTask>> {
        let (band, active) = (self.relax.band, self.relax.active);
        let mut pages: Vec<PageTask> = Vec::new();
        let near = active.iter_in(band.range.clone()).filter(|&v| band.distance(v) < self.end);
        for (i, v) in near.enumerate() {
            let of_list = self.adjacency.pages_of(v);
            if i == VERTICES_MAX || of_list.start() != of_list.end() {
                return None;
            }
            let page = *of_list.start();
            if pages.last().is_none_or(|last| last.page != page) {
                pages.push(PageTask { page, from: 0, to: 0 });
            }
        }
        Some(pages)
    }

    /// The vertices of the band whose whole lists are on a page.
    fn whole(&self, page: u64) -> Range<VertexId> {
        let (band, whole) = (&self.relax.band.range, self.adjacency.whole_in(page));
        whole.start.max(band.start)..whole.end.min(band.end)
    }
}

impl<'a> Kernel for Follow<'a> {
    type Local = Local<'a>;

    fn local(&self) -> Local<'a> {
        let sent = self.relax.local();
        Local { sent, waiting: BinaryHeap::new(), far: Vec::new() }
    }

    fn entries(&self, page: &Page<'_>, _: PageTask) -> Range<usize> {
        0..page.entries().len()
    }

    fn page(&self, local: &mut Local<'a>, page: &Page<'_>, purpose: &Purpose<'_>) {
        let (band, active) = (self.relax.band, self.relax.active);
        let Local { sent, waiting, far } = local;
        let whole = self.whole(purpose.task.page);
        let near = active.iter_in(whole.clone()).filter(|&v| band.distance(v) < self.end);
        let near: Vec<_> = near.inspect(|&v| active.remove(v)).collect();
        // What another worker makes nearer is seen from here on, or active again.
        fence(Ordering::Acquire);
        waiting.extend(near.into_iter().map(|v| Reverse((band.distance(v), v))));
        while let Some(Reverse((before, v))) = waiting.pop() {
            if band.distance(v) < before {
                continue;
            }
            let (lengths, weights) = (self.relax.lengths, purpose.weights.as_ref());
            for_each_path((page, v), (lengths, before), weights, |target, sum| {
                if !band.has(target) {
                    return self.relax.path(sent, v, before, target, sum);
                }
                if sum > self.relax.bound || !band.lower(target, sum) {
                    return;
                }
                if !whole.contains(&target) {
                    // A thread that takes the vertex out of the set sees its distance.
                    fence(Ordering::Release);
                    active.insert(target);
                } else if sum < self.end {
                    waiting.push(Reverse((sum, target)));
                } else {
                    far.push(target);
                }
            });
        }
        for v in far.drain(..).filter(|&v| band.distance(v) >= self.end) {
            active.insert(v);
        }
    }

    fn end(&self, local: &mut Local<'a>) {
        self.relax.end(&mut local.sent);
    }
}

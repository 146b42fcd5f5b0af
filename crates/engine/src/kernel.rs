//! The trait that an algorithm implements: what it does with lists, pages and hub neighbours.
//!
//! All visits share one trait. Every method has a default, so a kernel implements only the methods
//! that its visits call. What a visit does with a page is compiled for each kernel, so an empty
//! default costs nothing; what it does with requests is compiled once. Weights have a method of
//! their own, so kernels without weights never test for them.

use std::ops::Range;

use cenote_store::{EntryOrder, HubNeighbours, List, Page, VertexId, Weights};

use crate::frontier::ActiveSet;
use crate::tasks::PageTask;

/// An algorithm's step, shared by the workers; each worker has its own [`Kernel::Local`].
///
/// | visit | calls |
/// |---|---|
/// | [`visit`](crate::Engine::visit) | [`list`](Kernel::list), or [`page`](Kernel::page) where it
/// is implemented |
/// | [`visit_pages`](crate::Engine::visit_pages) | [`page`](Kernel::page) |
/// | [`visit_weighted`](crate::Engine::visit_weighted),
/// [`visit_weighted_once`](crate::Engine::visit_weighted_once) |
/// [`wants`](Kernel::wants), [`weighted_list`](Kernel::weighted_list), and
/// [`prefetch`](Kernel::prefetch) before it |
/// | [`visit_weighted_pages`](crate::Engine::visit_weighted_pages) | [`entries`](Kernel::entries),
/// then [`page`](Kernel::page) |
/// | [`visit_hub_neighbours`](crate::Engine::visit_hub_neighbours),
/// [`visit_hub_neighbours_of_part`](crate::Engine::visit_hub_neighbours_of_part) |
/// [`hub_neighbours`](Kernel::hub_neighbours) |
/// | [`visit_asynchronously`](crate::Engine::visit_asynchronously) | [`expand`](Kernel::expand),
/// [`may_become_active`](Kernel::may_become_active), [`is_done`](Kernel::is_done) |
///
/// Calls come from many threads in no fixed order; a kernel whose answer depends on that order is
/// wrong. A list that spans several pages comes in pieces (`List::skip`: where the piece starts,
/// `List::degree`: length of the list), each on the worker that read its page;
/// [`Assembled`](crate::Assembled) puts them together.
///
/// A kernel may compute with threads of its own. It must not call a visit or look-up of the same
/// engine: that returns [`EngineError::Busy`](crate::EngineError::Busy).
pub trait Kernel: Sync {
    /// What one worker collects during a visit, returned at its end.
    type Local: Send;

    /// The order of entries that it relies on, in lists with changes, in visits without weights.
    /// [`EntryOrder::Any`] is faster on a graph with changes that are not merged.
    const ORDER: EntryOrder = EntryOrder::Ascending;

    /// The initial `Local` of one worker.
    fn local(&self) -> Self::Local;

    /// Processes an active list, or a piece of it.
    fn list(&self, _local: &mut Self::Local, _list: &List<'_>) {}

    /// Processes an active, non-empty list, or a piece of it, with one weight for each entry.
    /// Pieces also end where a page of weights ends, and at changes of the log.
    fn weighted_list(&self, local: &mut Self::Local, list: &List<'_>, _weights: Weights<'_>) {
        self.list(local, list);
    }

    /// Called in visits of lists with weights when an active list was read: whether it is to be
    /// processed. If not, it need not wait for its weights.
    fn wants(&self, _v: VertexId) -> bool {
        true
    }

    /// Called in visits of lists with weights, and by [`Assembled`](crate::Assembled): targets of
    /// the list that follows and of those behind it, of which a kernel may prefetch what it keeps.
    /// Of a list the first [`AHEAD_ENTRIES`](crate::AHEAD_ENTRIES) are among them.
    fn prefetch(&self, _targets: &[VertexId]) {}

    /// Processes a page with active lists; implemented where that is faster than list by list, or
    /// where the kernel works page by page.
    fn page(&self, local: &mut Self::Local, page: &Page<'_>, purpose: &Purpose<'_>) {
        for list in page.lists() {
            if purpose.active.contains(list.vertex) {
                self.list(local, &list);
            }
        }
    }

    /// Which entries of a page, as indices into [`Page::entries`], need their weights for `task`.
    fn entries(&self, page: &Page<'_>, _task: PageTask) -> Range<usize> {
        0..page.entries().len()
    }

    /// Processes the hub neighbours of consecutive vertices, from `first` on; each vertex once.
    fn hub_neighbours(&self, _local: &mut Self::Local, _first: VertexId, _hubs: &[HubNeighbours]) {}

    /// Processes a list, or a piece of it, and appends to `next` the vertices whose lists become
    /// active. A list that is activated again before it was visited is visited once; activated
    /// after its visit, it is visited again.
    fn expand(&self, local: &mut Self::Local, list: &List<'_>, _next: &mut Vec<VertexId>) {
        self.list(local, list);
    }

    /// Whether `v` may still become active: if so, the engine keeps its list when it reads the
    /// page.
    fn may_become_active(&self, _v: VertexId) -> bool {
        true
    }

    /// Called by each worker, on its thread, when its part of a visit by steps is over.
    fn end(&self, _local: &mut Self::Local) {}

    /// Whether the visit can end early. Called between pages.
    fn is_done(&self, _local: &mut Self::Local) -> bool {
        false
    }
}

/// Why a page was fetched.
#[derive(Clone, Debug)]
pub struct Purpose<'a> {
    /// Which of its lists are active; in visits by pages, all.
    pub active: ActiveSet<'a>,
    /// The task that named the page, in visits by pages.
    pub task: PageTask,
    /// In visits with weights: indices into [`Page::entries`], and the weights of those entries.
    pub weights: Option<(Range<usize>, Weights<'a>)>,
}

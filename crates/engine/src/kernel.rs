//! What an algorithm does with what it is brought: the only part of a visit that is its own.
//!
//! One trait serves all visits. Each of its methods has a default and belongs to some of them, so a
//! kernel writes only what its visits need; the engine compiles every visit for the kernel, and a
//! method that is not written costs nothing. Weights are a method of their own rather than an
//! option beside every list: most kernels need none, and none of these tests for them.

use std::ops::Range;

use cenote_store::{HubNeighbours, List, Page, VertexId, Weights};

use crate::frontier::ActiveSet;
use crate::tasks::PageTask;

/// An algorithm's step. Shared by the workers; each has a [`Kernel::Local`] of its own.
///
/// | visit | calls |
/// |---|---|
/// | [`visit`](crate::Engine::visit) | [`list`](Kernel::list), or [`page`](Kernel::page) where it
/// is written |
/// | [`visit_pages`](crate::Engine::visit_pages) | [`page`](Kernel::page) |
/// | [`visit_weighted`](crate::Engine::visit_weighted) | [`weighted_list`](Kernel::weighted_list) |
/// | [`visit_weighted_pages`](crate::Engine::visit_weighted_pages) | [`entries`](Kernel::entries),
/// then [`page`](Kernel::page) |
/// | [`visit_hub_neighbours`](crate::Engine::visit_hub_neighbours) |
/// [`hub_neighbours`](Kernel::hub_neighbours) |
/// | [`visit_asynchronously`](crate::Engine::visit_asynchronously) | [`expand`](Kernel::expand),
/// [`may_become_active`](Kernel::may_become_active), [`is_done`](Kernel::is_done) |
///
/// Everything comes in no fixed order, from many threads. A list that runs over several pages comes
/// in pieces (`List::skip` says where a piece starts, `List::degree` how long the list is), each to
/// whichever worker read its page; [`Assembled`](crate::Assembled) puts them together. A kernel
/// whose answer would depend on that order is wrong.
///
/// A kernel may compute with threads of its own. A visit or look-up of the same engine from within
/// is refused with [`EngineError::Busy`](crate::EngineError::Busy).
pub trait Kernel: Sync {
    /// What a worker gathers by itself during a visit, given back at its end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// Takes an active list, or a piece of it.
    fn list(&self, _local: &mut Self::Local, _list: &List<'_>) {}

    /// Takes an active list with entries, or a piece of it, and as many weights: pieces also end
    /// where a page of weights does.
    fn weighted_list(&self, local: &mut Self::Local, list: &List<'_>, _weights: Weights<'_>) {
        self.list(local, list);
    }

    /// Takes a page on which some lists are active. Written where a whole page can be done faster
    /// than list by list, or where pages are what the kernel works by.
    fn page(&self, local: &mut Self::Local, page: &Page<'_>, purpose: &Purpose<'_>) {
        for list in page.lists() {
            if purpose.active.contains(list.vertex) {
                self.list(local, &list);
            }
        }
    }

    /// The entries of a page, by their places in [`Page::entries`], whose weights `task` needs.
    fn entries(&self, page: &Page<'_>, _task: PageTask) -> Range<usize> {
        0..page.entries().len()
    }

    /// Takes the hub neighbours of consecutive vertices, from `first` on, each once.
    fn hub_neighbours(&self, _local: &mut Self::Local, _first: VertexId, _hubs: &[HubNeighbours]) {}

    /// Takes a list, or a piece of it, and adds to `next` those vertices whose lists are active
    /// now. A vertex that is added again before its list has come comes once; one that is added
    /// again later comes again.
    fn expand(&self, local: &mut Self::Local, list: &List<'_>, _next: &mut Vec<VertexId>) {
        self.list(local, list);
    }

    /// Whether `v` may be added later on: then its list is kept if it passes by.
    fn may_become_active(&self, _v: VertexId) -> bool {
        true
    }

    /// Whether what was looked for is found: then nothing more is read. Asked between pages.
    fn is_done(&self, _local: &mut Self::Local) -> bool {
        false
    }
}

/// What a page was fetched for.
#[derive(Clone, Debug)]
pub struct Purpose<'a> {
    /// Which of its lists are active; in visits by pages all.
    pub active: ActiveSet<'a>,
    /// The task that named it, in visits by pages.
    pub task: PageTask,
    /// In visits with weights: entries, by their places in [`Page::entries`], and their weights.
    pub weights: Option<(Range<usize>, Weights<'a>)>,
}

//! What an algorithm does with a list: the only part of a visit that is its own.

use cenote_store::{List, Page};

use crate::frontier::Wanted;
use crate::tasks::PageTask;

/// An algorithm's step. Shared by the workers; each has a [`Kernel::Local`] of its own.
///
/// Lists come in no fixed order, from many threads. A list that runs over several pages comes in
/// pieces (`List::skip` says where a piece starts, `List::degree` how long the whole is), each to
/// whichever worker read its page. A kernel whose answer would depend on that order is wrong.
pub trait Kernel: Sync {
    /// What a worker gathers by itself during a visit, given back at its end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// Takes a wanted list, or a piece of it.
    fn list(&self, local: &mut Self::Local, list: &List<'_>);

    /// Takes a page on which some lists are wanted. Overridden where a whole page can be done
    /// faster than list by list; must have the same effect.
    fn page(&self, local: &mut Self::Local, page: &Page<'_>, wanted: &Wanted<'_>) {
        for list in page.lists() {
            if wanted.contains(list.vertex) {
                self.list(local, &list);
            }
        }
    }
}

/// A step that works by pages: [`Engine::visit_pages`](crate::Engine::visit_pages) brings it the
/// pages that it names, in no fixed order, from many threads.
pub trait PageKernel: Sync {
    /// What a worker gathers by itself during a visit, given back at its end.
    type Local: Send;

    /// A fresh local for one worker.
    fn local(&self) -> Self::Local;

    /// Takes a page, and the task that named it.
    fn page(&self, local: &mut Self::Local, page: &Page<'_>, task: PageTask);
}

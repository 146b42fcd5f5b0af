//! Progress and cancellation of merges and large commits.

/// How far the rewriting of lists has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpdateProgress {
    /// Pages of lists that were rewritten, or read to find the places of changes.
    pub pages_done: u64,
    /// Those of all: while the lists of targets are rewritten without those of sources.
    pub pages_total: u64,
}

/// Called after each few pages; `true` ends the work, which then has changed nothing. It must not
/// use the store, except in a merge beside commits.
pub type Watch<'w> = &'w dyn Fn(UpdateProgress) -> bool;

/// Of work that is not watched.
pub(crate) const UNWATCHED: Watch<'static> = &|_| false;

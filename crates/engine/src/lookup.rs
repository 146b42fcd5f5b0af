//! One list after another, for work whose next list only the last one tells.

use std::sync::Arc;

use cenote_pool::{Handle, PageRef};
use cenote_store::{Adjacency, Decoded, Direction, List, VertexId};

use crate::engine::Engine;
use crate::error::Result;
use crate::roam::count_single;
use crate::worker::Counts;

/// Fetches single lists through the pool; the pages of a long one side by side.
pub struct Lookup<'e> {
    engine: &'e Engine,
    adjacency: &'e Adjacency,
    handle: Handle,
    counts: Counts,
    decoded: Decoded,
    started_ns: u64,
}

impl Engine {
    /// A way to single lists.
    ///
    /// # Panics
    /// If the strategy is `auto`, which has no frames for single pages, or `direction` is
    /// [`Direction::In`] on a directed graph without in-edges.
    pub fn lookup(&self, direction: Direction) -> Lookup<'_> {
        let pool = self.pages.as_ref().expect("strategies `block` and `vertex` have frames");
        Lookup {
            engine: self,
            adjacency: self.adjacency(direction),
            handle: Arc::clone(pool).handle(),
            counts: Counts::default(),
            decoded: Decoded::new(),
            started_ns: self.clock.now_ns(),
        }
    }
}

impl Lookup<'_> {
    /// Shows the pieces of a list from its end to its beginning.
    ///
    /// # Errors
    /// A page that cannot be read, or is damaged.
    pub fn list_backwards(&mut self, v: VertexId, mut show: impl FnMut(&List<'_>)) -> Result<()> {
        let Self { engine, adjacency, handle, counts, decoded, .. } = self;
        let section = adjacency.first_page();
        let pages = adjacency.pages_of(v);
        let (first, last) = (section + pages.start(), section + pages.end());
        let ahead = engine.schedule.worker_depth() as u64;
        // Pages down to `asked` have been asked for; pages above `due` have been shown.
        let (mut asked, mut due) = (last + 1, last);
        let mut early: Vec<PageRef<'_>> = Vec::new();
        loop {
            while asked > first && asked + ahead > due + 1 && handle.has_room() {
                asked -= 1;
                let read = handle.ask(asked, 0)?;
                count_single(counts, read, adjacency);
            }
            let here = early.iter().position(|guard| guard.page() == due);
            let guard = match here {
                Some(at) => early.swap_remove(at),
                None => handle.take(true)?.expect("the page that is due was asked for").1,
            };
            if guard.page() != due {
                early.push(guard);
                continue;
            }
            adjacency.reparse_lists(due - section, &guard, &[v], decoded, &mut show)?;
            if due == first {
                return Ok(());
            }
            due -= 1;
        }
    }

    /// Records what was read, as one step.
    pub fn finish(self, label: &str) {
        self.engine.record(label.to_owned(), None, self.counts, self.started_ns);
    }
}

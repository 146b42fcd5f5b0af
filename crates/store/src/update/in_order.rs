//! Works on groups of pages on several threads, and takes the results in the order of the groups.
//!
//! A thread takes the next group once its pages are in memory; the calling thread takes what the
//! threads made of them, in order, and so writes the same pages for any number of threads.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use cenote_pool::Handle;

use super::ahead::{Ahead, Group, Windows};
use crate::error::Result;

/// Most pages of groups that were begun and are not taken yet, unless it is one group. As many
/// copies of them as a commit makes are in memory.
const PAGES_MAX: u64 = 256;

/// Which group is next, for all threads.
struct Turn<'a> {
    windows: Windows<'a>,
    next: usize,
    /// The end of the groups whose pages are in memory.
    loaded: usize,
    /// Pages of groups that were begun and are not taken yet.
    pages: u64,
    /// Whether no more groups are begun: one has failed, or a thread has panicked.
    is_over: bool,
}

struct Turns<'a> {
    groups: &'a [Group],
    turn: Mutex<Turn<'a>>,
    room: Condvar,
}

impl<'a> Turns<'a> {
    fn lock(&self) -> MutexGuard<'_, Turn<'a>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next group and its pages; none if there is no more.
    fn begin(&self, handle: &Handle) -> Result<Option<usize>> {
        let mut turn = self.lock();
        loop {
            let Some(group) = self.groups.get(turn.next).filter(|_| !turn.is_over) else {
                return Ok(None);
            };
            let pages = pages_of(group);
            if turn.pages == 0 || turn.pages + pages <= PAGES_MAX {
                turn.pages += pages;
                break;
            }
            turn = self.room.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        let at = turn.next;
        turn.next += 1;
        if at == turn.loaded {
            turn.loaded = turn.windows.next(handle, at)?;
        }
        Ok(Some(at))
    }

    fn taken(&self, group: usize) {
        self.lock().pages -= pages_of(&self.groups[group]);
        self.room.notify_all();
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.room.notify_all();
    }
}

/// Ends the work where a thread fails, panics, or stops taking results.
struct EndOnDrop<'t, 'a>(&'t Turns<'a>);

impl Drop for EndOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn pages_of(group: &Group) -> u64 {
    group.pages.end - group.pages.start
}

impl Ahead<'_> {
    /// Calls `work` for each group, on so many threads, each with what `begin` makes for it, and
    /// `take` with the results, in the order of the groups. An error of any of them ends it.
    pub fn in_order<W, T: Send>(
        self,
        threads: usize,
        begin: impl Fn() -> Result<W> + Sync,
        work: impl Fn(&mut W, &Handle, &Group) -> Result<T> + Sync,
        mut take: impl FnMut(&Group, T) -> Result<()>,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            let windows = self.begin(scope)?;
            let groups = windows.groups;
            let turn = Turn { windows, next: 0, loaded: 0, pages: 0, is_over: false };
            let turns = Turns { groups, turn: Mutex::new(turn), room: Condvar::new() };
            let each = |visit: &mut dyn FnMut(usize, Result<T>) -> bool| -> Result<()> {
                let (handle, mut worker) = (self.graph.handle()?, begin()?);
                while let Some(at) = turns.begin(&handle)? {
                    if !visit(at, work(&mut worker, &handle, &groups[at])) {
                        break;
                    }
                }
                Ok(())
            };
            std::thread::scope(|workers| {
                let (sender, receiver) = channel();
                let _end = EndOnDrop(&turns);
                let mut running = 0;
                let spawned = if threads > 1 { threads } else { 0 };
                for _ in 0..spawned {
                    let sender = sender.clone();
                    let run = || {
                        let sender = sender;
                        let _end = EndOnDrop(&turns);
                        let done = each(&mut |at, made| sender.send((at, made)).is_ok());
                        // An error of no group ends it as one of a group does.
                        if let Err(error) = done {
                            let _ = sender.send((usize::MAX, Err(error)));
                        }
                    };
                    running += usize::from(Builder::new().spawn_scoped(workers, run).is_ok());
                }
                drop(sender);
                if running == 0 {
                    let mut taken = Ok(());
                    each(&mut |at, made| {
                        taken = made.and_then(|made| take(&groups[at], made));
                        turns.taken(at);
                        taken.is_ok()
                    })?;
                    return taken;
                }
                let (mut early, mut next) = (BTreeMap::new(), 0);
                // Ends early if a thread panics: that shows when it is joined.
                for (at, made) in receiver {
                    early.insert(at, made?);
                    while let Some(made) = early.remove(&next) {
                        take(&groups[next], made)?;
                        turns.taken(next);
                        next += 1;
                    }
                }
                Ok(())
            })
        })
    }
}

//! Works on items on several threads, and takes the results in the order of the items.
//!
//! The calling thread takes what the threads made, in order, and so does the same with it for any
//! number of threads.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use crate::error::Result;

/// How many items there are, and how many are worked on at a time.
#[derive(Clone, Copy)]
pub(super) struct Items<'a> {
    pub count: usize,
    pub threads: usize,
    /// What an item weighs, and most that those weigh that were begun and are not taken yet, unless
    /// it is one.
    pub weight: &'a (dyn Fn(usize) -> u64 + Sync),
    pub weight_max: u64,
}

/// Which item is next, for all threads.
struct Turn<P> {
    /// Called with each item when its turn comes.
    prepare: P,
    next: usize,
    /// Of items that were begun and are not taken yet.
    weight: u64,
    /// Whether no more items are begun: one has failed, or a thread has panicked.
    is_over: bool,
}

struct Turns<'a, P> {
    items: Items<'a>,
    turn: Mutex<Turn<P>>,
    room: Condvar,
}

impl<P> Turns<'_, P> {
    fn lock(&self) -> MutexGuard<'_, Turn<P>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next item; none if there is no more.
    fn begin<W>(&self, worker: &W) -> Result<Option<usize>>
    where
        P: FnMut(&W, usize) -> Result<()>,
    {
        let Items { count, weight, weight_max, .. } = self.items;
        let mut turn = self.lock();
        loop {
            if turn.next == count || turn.is_over {
                return Ok(None);
            }
            let own = weight(turn.next);
            if turn.weight == 0 || turn.weight + own <= weight_max {
                turn.weight += own;
                break;
            }
            turn = self.room.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
        let at = turn.next;
        turn.next += 1;
        (turn.prepare)(worker, at)?;
        Ok(Some(at))
    }

    fn taken(&self, at: usize) {
        self.lock().weight -= (self.items.weight)(at);
        self.room.notify_all();
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.room.notify_all();
    }
}

/// Ends the work where a thread fails, panics, or stops taking results.
struct EndOnDrop<'t, 'a, P>(&'t Turns<'a, P>);

impl<P> Drop for EndOnDrop<'_, '_, P> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Items<'_> {
    /// Calls `work` for each item, each thread with what `begin` makes for it, and `take` with the
    /// results, in the order of the items; before them `prepare`, in that order too and on one
    /// thread at a time. An error of any of them ends it.
    pub fn in_order<W, T: Send>(
        self,
        begin: impl Fn() -> Result<W> + Sync,
        prepare: impl FnMut(&W, usize) -> Result<()> + Send,
        work: impl Fn(&mut W, usize) -> Result<T> + Sync,
        mut take: impl FnMut(usize, T) -> Result<()>,
    ) -> Result<()> {
        let turn = Turn { prepare, next: 0, weight: 0, is_over: false };
        let turns = Turns { items: self, turn: Mutex::new(turn), room: Condvar::new() };
        let each = |visit: &mut dyn FnMut(usize, Result<T>) -> bool| -> Result<()> {
            let mut worker = begin()?;
            while let Some(at) = turns.begin(&worker)? {
                if !visit(at, work(&mut worker, at)) {
                    break;
                }
            }
            Ok(())
        };
        std::thread::scope(|workers| {
            let (sender, receiver) = channel();
            let _end = EndOnDrop(&turns);
            let mut running = 0;
            let spawned = if self.threads > 1 { self.threads } else { 0 };
            for _ in 0..spawned {
                let sender = sender.clone();
                let run = || {
                    let sender = sender;
                    let _end = EndOnDrop(&turns);
                    let done = each(&mut |at, made| sender.send((at, made)).is_ok());
                    // An error of no item ends it as one of an item does.
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
                    taken = made.and_then(|made| take(at, made));
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
                    take(next, made)?;
                    turns.taken(next);
                    next += 1;
                }
            }
            Ok(())
        })
    }
}

//! The work-sharing queue: stacks for workers that have none, how many there may be, and the end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::stack::{Link, Links, Stack};

/// How often a waiting worker looks whether the run is to stop.
const LOOK_UP: Duration = Duration::from_millis(10);

/// The stacks that no worker holds, and how many workers wait for one.
#[derive(Debug)]
pub(super) struct WorkQueue {
    state: Mutex<State>,
    changed: Condvar,
    /// Workers that wait less stacks that lie here; read without the lock as a hint.
    waiting: AtomicUsize,
    /// Stacks that exist.
    stacks: AtomicUsize,
    stacks_max: usize,
    workers: usize,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    stacks: Vec<Stack>,
    waiting: usize,
}

impl WorkQueue {
    /// `first` is the only stack to begin with.
    pub fn new(workers: usize, stacks_max: usize, first: Stack) -> Self {
        Self {
            state: Mutex::new(State { stacks: vec![first], waiting: 0 }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            stacks: AtomicUsize::new(1),
            stacks_max: stacks_max.max(1),
            workers,
            ended: AtomicBool::new(false),
        }
    }

    /// Takes a slot for another stack. Where none is free the stack stays whole until it has grown
    /// further: no worker waits for a slot.
    pub fn may_split(&self) -> bool {
        let more = |count| (count < self.stacks_max).then_some(count + 1);
        self.stacks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A stack is empty: its slot is free.
    pub fn retire(&self) {
        self.stacks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether a worker waits for a stack.
    pub fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether there is nothing more to do.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Ends the work of all workers.
    pub fn end(&self) {
        let _state = self.lock();
        self.ended.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Leaves a stack to others.
    pub fn give(&self, stack: Stack) {
        let mut state = self.lock();
        state.stacks.push(stack);
        self.note(&state);
        self.changed.notify_one();
    }

    /// A stack, if one lies here.
    pub fn take(&self) -> Option<Stack> {
        let mut state = self.lock();
        let stack = state.stacks.pop();
        self.note(&state);
        stack
    }

    /// Waits for a stack; None at the end, which comes when every worker waits, or stops.
    pub fn wait(&self, stopped: impl Fn() -> bool) -> Option<Stack> {
        let mut state = self.lock();
        state.waiting += 1;
        let taken = loop {
            if self.has_ended() || stopped() {
                break None;
            }
            if let Some(stack) = state.stacks.pop() {
                break Some(stack);
            }
            if state.waiting == self.workers {
                self.ended.store(true, Ordering::Relaxed);
                self.changed.notify_all();
                break None;
            }
            self.note(&state);
            let woken = self.changed.wait_timeout(state, LOOK_UP);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.waiting -= 1;
        self.note(&state);
        taken
    }

    fn note(&self, state: &State) {
        let waiting = state.waiting.saturating_sub(state.stacks.len());
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the others' work too if a worker leaves by an error or a panic.
pub(super) struct EndsOthers<'a>(pub &'a WorkQueue);

impl Drop for EndsOthers<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The stacks of one worker that can go on.
#[derive(Debug)]
pub(super) struct Own<'a> {
    pub queue: &'a WorkQueue,
    pub ready: Vec<Stack>,
    threshold: u64,
}

impl<'a> Own<'a> {
    /// A stack of more than `threshold` entries, at least 1, is split.
    pub fn new(queue: &'a WorkQueue, threshold: u64) -> Self {
        Self { queue, ready: Vec::new(), threshold: threshold.max(1) }
    }

    /// A stack to go on with, if there is one. A worker that is `busy`, or has another stack, first
    /// gives one to a worker that waits.
    pub fn next(&mut self, busy: bool) -> Option<Stack> {
        let has_other = busy || self.ready.len() > 1;
        if has_other
            && self.queue.is_awaited()
            && let Some(stack) = self.ready.pop()
        {
            self.queue.give(stack);
        }
        self.ready.pop().or_else(|| self.queue.take())
    }

    /// A stack has been worked at: splits it where it has grown too large, while there may be more.
    pub fn settle<L: Link>(&mut self, mut stack: Stack, links: &Links<L>) {
        while stack.len() > self.threshold && self.queue.may_split() {
            self.ready.push(stack.split(links));
        }
        self.ready.push(stack);
    }
    /// Waits for a stack of another worker; false at the end.
    pub fn wait(&mut self, stopped: impl Fn() -> bool) -> bool {
        let stack = self.queue.wait(stopped);
        let goes_on = stack.is_some();
        self.ready.extend(stack);
        goes_on
    }
}

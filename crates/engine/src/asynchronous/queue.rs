//! The work-sharing queue: hands stacks to idle workers, limits their number, detects the end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::stack::{Link, Links, Stack};

/// How often a waiting worker checks whether the run is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Shared stacks, and how many workers wait for one.
#[derive(Debug)]
pub(super) struct WorkQueue {
    state: Mutex<State>,
    changed: Condvar,
    /// Waiting workers minus shared stacks; a hint, read without the lock.
    waiting: AtomicUsize,
    /// All stacks, shared or held by workers.
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
    /// A queue with one stack, `first`.
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

    /// Counts one more stack; false if there are `stacks_max` already. Never waits.
    pub fn reserve(&self) -> bool {
        let more = |count| (count < self.stacks_max).then_some(count + 1);
        self.stacks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts one stack less, after it has become empty.
    pub fn retire(&self) {
        self.stacks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether a worker waits for a stack.
    pub fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether the visit has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Ends the work of all workers.
    pub fn end(&self) {
        let _state = self.lock();
        self.ended.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Shares a stack.
    pub fn push(&self, stack: Stack) {
        let mut state = self.lock();
        state.stacks.push(stack);
        self.update_hint(&state);
        self.changed.notify_one();
    }

    /// Takes a shared stack, if there is one.
    pub fn pop(&self) -> Option<Stack> {
        let mut state = self.lock();
        let stack = state.stacks.pop();
        self.update_hint(&state);
        stack
    }

    /// Waits for a stack; None when `stopped`, or at the end, when every worker waits.
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
            self.update_hint(&state);
            let woken = self.changed.wait_timeout(state, POLL_INTERVAL);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.waiting -= 1;
        self.update_hint(&state);
        taken
    }

    fn update_hint(&self, state: &State) {
        let waiting = state.waiting.saturating_sub(state.stacks.len());
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the visit for all workers when a worker fails or panics.
pub(super) struct EndsOthers<'a>(pub &'a WorkQueue);

impl Drop for EndsOthers<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The ready stacks of one worker.
#[derive(Debug)]
pub(super) struct OwnStacks<'a> {
    pub queue: &'a WorkQueue,
    pub ready: Vec<Stack>,
    threshold: u64,
}

impl<'a> OwnStacks<'a> {
    /// A stack of more than `threshold` entries, at least 1, is split.
    pub fn new(queue: &'a WorkQueue, threshold: u64) -> Self {
        Self { queue, ready: Vec::new(), threshold: threshold.max(1) }
    }

    /// The next stack, if there is one. If another worker waits, a worker that is `busy` or has
    /// several stacks shares one first.
    pub fn next(&mut self, busy: bool) -> Option<Stack> {
        let has_other = busy || self.ready.len() > 1;
        if has_other
            && self.queue.is_awaited()
            && let Some(stack) = self.ready.pop()
        {
            self.queue.push(stack);
        }
        self.ready.pop().or_else(|| self.queue.pop())
    }

    /// Returns a stack after work on it; splits it above the threshold, up to the most stacks.
    pub fn settle<L: Link>(&mut self, mut stack: Stack, links: &Links<L>) {
        while stack.len() > self.threshold && self.queue.reserve() {
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

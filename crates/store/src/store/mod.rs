//! A graph that can change: commits of new epochs beside readers of old ones.
//!
//! - [`Store`]: the one writer of a graph, and what hands out [`Graph`]s, each as of one epoch
//! - [`Transaction`]: pages written copy-on-write, and the commit that makes them the graph
//! - `allocator`: free pages, and when they may be written to again
//! - `rebuild`: derived sections, made again from the lists

mod allocator;
mod rebuild;
mod transaction;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cenote_device::{Buffer, Device};

use crate::commit::{self, Commit};
use crate::error::{Result, StoreError};
use crate::format::SLOTS;
use crate::graph::Graph;
use crate::pages::LookupConfig;
use crate::superblock::Superblock;

pub use transaction::Transaction;

/// A graph on a device that this process may write to.
///
/// Readers take a [`Graph`], which stays as it is whatever is committed after it: its pages are
/// not written to before it is dropped. There is one writer at a time. No other process may have
/// the graph open meanwhile; the store does not check that.
#[derive(Debug)]
pub struct Store {
    device: Arc<dyn Device>,
    file: Arc<str>,
    state: Mutex<State>,
    /// Held by a transaction.
    writer: Mutex<()>,
    readers: Arc<Readers>,
}

#[derive(Debug)]
struct State {
    commit: Commit,
    /// After a write that failed nobody knows what reached the device.
    poisoned: bool,
}

/// How many graphs of each epoch are open in this process.
#[derive(Debug, Default)]
struct Readers(Mutex<BTreeMap<u64, usize>>);

/// Keeps the pages of an epoch.
#[derive(Debug)]
pub(crate) struct Pin {
    readers: Arc<Readers>,
    epoch: u64,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut readers = lock(&self.readers.0);
        let count = readers.get_mut(&self.epoch).expect("a pin is counted");
        *count -= 1;
        if *count == 0 {
            readers.remove(&self.epoch);
        }
    }
}

/// A panic elsewhere leaves what these mutexes hold whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens a graph for changes. What a commit that was cut short left in its slot is cleared.
    ///
    /// # Errors
    /// As [`Graph::open`], and a device that cannot be written to.
    pub fn open(device: Arc<dyn Device>) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let commit = Commit::read(device.as_ref(), &file)?;
        let superblock = &commit.superblock;
        let other = commit::other_slot(device.as_ref(), superblock)?;
        let is_before = |epoch: u64| epoch.checked_add(1) == Some(superblock.epoch);
        if !matches!(other, Ok(found) if found.is_none_or(is_before)) {
            let page_bytes = superblock.page_bytes as usize;
            let offset = (SLOTS - 1 - superblock.slot()) * page_bytes as u64;
            let zeros = Buffer::new(page_bytes)?;
            cenote_device::write_all(device.as_ref(), offset, page_bytes, zeros)?;
            device.sync()?;
        }
        let state = Mutex::new(State { commit, poisoned: false });
        Ok(Self { device, file, state, writer: Mutex::new(()), readers: Arc::default() })
    }

    /// The epoch of the newest commit.
    pub fn epoch(&self) -> u64 {
        lock(&self.state).commit.superblock.epoch
    }

    /// The graph as the newest commit has it. Loads its indexes.
    pub fn graph(&self, plan: impl FnOnce(&Superblock) -> LookupConfig) -> Result<Graph> {
        let (commit, pin) = {
            // The pin is there before a commit can make the epoch an old one.
            let state = lock(&self.state);
            let epoch = state.commit.superblock.epoch;
            *lock(&self.readers.0).entry(epoch).or_default() += 1;
            (state.commit.clone(), Pin { readers: Arc::clone(&self.readers), epoch })
        };
        let (device, file) = (Arc::clone(&self.device), Arc::clone(&self.file));
        Graph::of_commit(device, file, commit, plan, Some(pin))
    }

    /// Begins a change, when the one before it has ended.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] after a write that failed, and a queue that cannot be had.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let commit = {
            let state = lock(&self.state);
            if state.poisoned {
                return Err(StoreError::Poisoned { file: self.file.to_string() });
            }
            state.commit.clone()
        };
        let reader = lock(&self.readers.0).keys().next().copied();
        Transaction::new(self, writer, commit, reader)
    }

    fn publish(&self, commit: Commit) -> Result<()> {
        self.device.sync()?;
        commit.publish(self.device.as_ref())?;
        lock(&self.state).commit = commit;
        Ok(())
    }
}

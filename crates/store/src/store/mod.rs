//! A graph that can change: commits of new epochs beside readers of old ones.
//!
//! - [`Store`]: the one writer of a graph, and what hands out [`Graph`]s, each as of one epoch
//! - [`Transaction`]: pages written copy-on-write, and the commit that makes them the graph
//! - `allocator`: free pages, and when they may be written to again
//! - `rebuild`: derived sections, made again from the lists

mod allocator;
mod rebuild;
mod transaction;

use std::sync::{Arc, Mutex};

use cenote_device::{Buffer, Device};

use crate::commit::Commit;
use crate::error::{Result, StoreError};
use crate::graph::Graph;
use crate::pages::LookupConfig;
use crate::readers::{Readers, lock};
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

impl Store {
    /// Opens a graph for changes. What a commit that was cut short left in its slot is cleared.
    ///
    /// # Errors
    /// As [`Graph::open`], and a device that cannot be written to.
    pub fn open(device: Arc<dyn Device>) -> Result<Self> {
        let file: Arc<str> = device.name().into();
        let mut commit = Commit::read(device.as_ref(), &file)?;
        if commit.other_slot.take().is_some() {
            let page_bytes = commit.superblock.page_bytes as usize;
            let offset = commit.superblock.other_slot() * page_bytes as u64;
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
            (state.commit.clone(), self.readers.pin(state.commit.superblock.epoch))
        };
        let (device, file) = (Arc::clone(&self.device), Arc::clone(&self.file));
        Graph::of_commit(device, file, commit, plan, Some(pin))
    }

    /// Begins a change, when the one before it has ended.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] after a write that failed, and a queue that cannot be had.
    pub fn begin(&self) -> Result<Transaction<'_>> {
        let writer = lock(&self.writer);
        let commit = {
            let state = lock(&self.state);
            if state.poisoned {
                return Err(StoreError::Poisoned { file: self.file.to_string() });
            }
            state.commit.clone()
        };
        Transaction::new(self, writer, commit, self.readers.oldest())
    }

    fn publish(&self, commit: Commit) -> Result<()> {
        self.device.sync()?;
        commit.publish(self.device.as_ref())?;
        lock(&self.state).commit = commit;
        Ok(())
    }
}

//! What an algorithm on a shard is: supersteps, and arrays that they depend on.

use std::sync::atomic::AtomicU32;

use cenote_engine::{Engine, HugeVec};

use super::Part;
use super::exchange::{Message, Received};
use super::state::{Cells, Values};
use crate::report::Result;

/// What a superstep is given.
pub(super) struct Input<'a> {
    /// Which superstep it is, from 0.
    pub superstep: u64,
    /// Values that are the same for all shards; each algorithm has an order for its own.
    pub shared: &'a [u64],
    /// What each shard has sent.
    pub inbox: &'a [Option<Received<'a>>],
}

impl Input<'_> {
    /// The shared value at a place.
    pub fn shared(&self, at: usize) -> u64 {
        self.shared.get(at).copied().unwrap_or(0)
    }

    /// Whether the shared value at a place is not 0.
    pub fn is_set(&self, at: usize) -> bool {
        self.shared(at) != 0
    }
}

/// What a superstep yields.
#[derive(Debug)]
pub struct Step {
    /// What is sent to each shard.
    pub messages: Vec<Option<Message>>,
    /// What is reported, by name.
    pub report: Vec<(&'static str, u64)>,
}

/// The supersteps of an algorithm on a shard.
pub(super) trait Program: Send + Sync {
    fn step(&mut self, engine: &Engine, part: &Part, input: &Input<'_>) -> Result<Step>;

    /// The arrays that the next superstep depends on.
    fn state(&self) -> Vec<(&'static str, Cells<'_>)>;

    /// Computes what follows from the arrays of the state, which have come from a checkpoint.
    ///
    /// # Errors
    /// There is no memory for it.
    fn restored(&mut self, _part: &Part) -> Result<()> {
        Ok(())
    }

    /// The out-degrees of own vertices for the run that comes next, if the program has them.
    fn into_degrees(self: Box<Self>) -> Option<HugeVec<AtomicU32>> {
        None
    }

    /// The answer: values of own vertices.
    fn columns(&self, part: &Part) -> Vec<(&'static str, Values)>;
}

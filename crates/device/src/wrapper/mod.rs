//! Devices around devices.
//!
//! - [`Layer`]: passes on every call that a wrapper does not override
//! - [`StatsDevice`]: counts requests and bytes, keeps latency histograms
//! - [`BudgetDevice`]: limits the requests in flight over all users of the device
//! - [`ThrottleDevice`]: a slower drive, in real time
//! - [`FaultDevice`]: injects the faults of a [`FaultPlan`](crate::backend::sim::FaultPlan)

pub mod budget;
mod fault;
mod stats;
mod throttle;

pub use budget::{BudgetDevice, BudgetStats, IoBudget};
pub use fault::FaultDevice;
pub use stats::{Histogram, Stats, StatsDevice};
pub use throttle::{Throttle, ThrottleDevice};

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::clock::Clock;
use crate::error::Result;
use crate::{Device, Queue, QueueConfig};

/// A device around another: every method defaults to the inner device's.
pub trait Layer: Any + Send + Sync + Debug {
    /// The device inside.
    fn inner(&self) -> &dyn Device;

    /// As [`Device::queue`].
    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        self.inner().queue(config)
    }

    /// As [`Device::len_bytes`].
    fn len_bytes(&self) -> Result<u64> {
        self.inner().len_bytes()
    }

    /// As [`Device::sync`].
    fn sync(&self) -> Result<()> {
        self.inner().sync()
    }

    /// As [`Device::set_len`].
    fn set_len(&self, bytes: u64) -> Result<()> {
        self.inner().set_len(bytes)
    }

    /// As [`Device::memory_bytes`].
    fn memory_bytes(&self) -> usize {
        self.inner().memory_bytes()
    }
}

impl<L: Layer> Device for L {
    fn name(&self) -> String {
        self.inner().name()
    }

    fn backend(&self) -> &'static str {
        self.inner().backend()
    }

    fn file_id(&self) -> Option<(u64, u64)> {
        self.inner().file_id()
    }

    fn len_bytes(&self) -> Result<u64> {
        Layer::len_bytes(self)
    }

    fn block_bytes(&self) -> usize {
        self.inner().block_bytes()
    }

    fn queue(&self, config: &QueueConfig) -> Result<Box<dyn Queue>> {
        Layer::queue(self, config)
    }

    fn sync(&self) -> Result<()> {
        Layer::sync(self)
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        Layer::set_len(self, bytes)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        self.inner().clock()
    }

    fn memory_bytes(&self) -> usize {
        Layer::memory_bytes(self)
    }

    fn queue_bytes(&self, depth: usize, request_bytes: usize) -> usize {
        self.inner().queue_bytes(depth, request_bytes)
    }
}

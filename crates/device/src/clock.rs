//! Clocks: real time, or the simulator's virtual time.

use std::fmt::Debug;
use std::time::Instant;

/// Time in nanoseconds since the clock was made.
pub trait Clock: Send + Sync + Debug {
    /// Nanoseconds since the clock was made.
    fn now_ns(&self) -> u64;
}

/// Real, monotonic time.
#[derive(Debug)]
pub struct RealClock(Instant);

impl Default for RealClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for RealClock {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).expect("no process runs for 584 years")
    }
}

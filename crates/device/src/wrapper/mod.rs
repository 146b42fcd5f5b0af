//! Devices around devices.
//!
//! - [`StatsDevice`]: counts requests and bytes, keeps latency histograms
//! - [`BudgetDevice`]: no more requests at once than the device takes, over all its users
//! - [`ThrottleDevice`]: a slower drive, in real time
//! - [`FaultDevice`]: a failing drive, by the simulator's
//!   [`FaultPlan`](crate::backend::sim::FaultPlan)

pub mod budget;
mod fault;
mod stats;
mod throttle;

pub use budget::{BudgetDevice, BudgetStats, IoBudget};
pub use fault::FaultDevice;
pub use stats::{Histogram, Stats, StatsDevice};
pub use throttle::{Throttle, ThrottleDevice};

/// Things kept under a small number while a request is on its way through the inner device: it
/// carries the number as its tag.
struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    fn with_capacity(capacity: usize) -> Self {
        let places = (0..capacity).map(|_| None).collect();
        Self { places, free: (0..capacity).rev().collect() }
    }

    fn insert(&mut self, thing: T) -> u64 {
        let place = self.free.pop().expect("as many places as the queue is deep");
        self.places[place] = Some(thing);
        place as u64
    }

    fn remove(&mut self, tag: u64) -> T {
        let place = usize::try_from(tag).expect("tags are places");
        self.free.push(place);
        self.places[place].take().expect("a completion comes once")
    }
}

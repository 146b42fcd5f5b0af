//! One tier's device in virtual time.
//!
//! Requests are served first come, first served. A read takes 1/k_r of the device, a write 1/k_w:
//! k_r reads run at once, or k_w writes, or a mixture that fits. With k_r = k_w this is the thread
//! pool of the dissertation's emulator (6.5). Since requests keep their order, the completion time
//! of a request is known at its arrival.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use cenote_tier::spec::TierSpec;

/// The device's requests in service and waiting.
#[derive(Debug)]
pub struct TierQueue {
    spec: TierSpec,
    /// Free parts of the device, which has k_r x k_w parts.
    free: u64,
    /// Completion times, and parts, of requests in service.
    running: BinaryHeap<Reverse<(u64, u64)>>,
    /// The start of the last request; later ones do not start before.
    last_start_ns: u64,
    /// Future starts, if waiting requests are counted.
    starts_ns: Option<VecDeque<u64>>,
    /// Parts times nanoseconds in service.
    busy: u128,
}

impl TierQueue {
    /// An idle device. Waiting requests are counted only if `counts_waiting` is set.
    pub fn new(spec: TierSpec, counts_waiting: bool) -> Self {
        Self {
            spec,
            free: u64::from(spec.k_r) * u64::from(spec.k_w),
            running: BinaryHeap::new(),
            last_start_ns: 0,
            starts_ns: counts_waiting.then(VecDeque::new),
            busy: 0,
        }
    }

    /// Adds a request at `now_ns`, no earlier than those before. Returns its completion time.
    pub fn push(&mut self, now_ns: u64, write: bool) -> u64 {
        let TierSpec { read_ns, write_ns, k_r, k_w } = self.spec;
        let (service_ns, parts) =
            if write { (write_ns, u64::from(k_r)) } else { (read_ns, u64::from(k_w)) };
        let mut start_ns = now_ns.max(self.last_start_ns);
        while let Some(&Reverse((end_ns, held))) = self.running.peek() {
            if end_ns > start_ns && self.free >= parts {
                break;
            }
            start_ns = start_ns.max(end_ns);
            self.free += held;
            self.running.pop();
        }
        self.free -= parts;
        self.last_start_ns = start_ns;
        self.running.push(Reverse((start_ns + service_ns, parts)));
        self.busy += u128::from(service_ns) * u128::from(parts);
        if let Some(starts_ns) = &mut self.starts_ns {
            starts_ns.push_back(start_ns);
        }
        start_ns + service_ns
    }

    /// Requests that wait at `now_ns`.
    pub fn waiting(&mut self, now_ns: u64) -> u32 {
        let Some(starts_ns) = &mut self.starts_ns else { return 0 };
        while starts_ns.front().is_some_and(|&start_ns| start_ns <= now_ns) {
            starts_ns.pop_front();
        }
        starts_ns.len() as u32
    }

    /// Time for which the fully used device would be busy with its requests.
    pub fn busy_ns(&self) -> u64 {
        let parts = u128::from(self.spec.k_r) * u128::from(self.spec.k_w);
        (self.busy / parts) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(k_r: u32, k_w: u32) -> TierQueue {
        TierQueue::new(TierSpec { read_ns: 10, write_ns: 40, k_r, k_w }, true)
    }

    #[test]
    fn two_servers_take_turns() {
        let mut queue = queue(2, 2);
        // Reads at 0, 0, 0, 5: the third starts at 10 with the first's server, the fourth too.
        let ends: Vec<u64> = [0, 0, 0, 5].into_iter().map(|at| queue.push(at, false)).collect();
        assert_eq!(ends, [10, 10, 20, 20]);
        assert_eq!((queue.waiting(5), queue.waiting(10)), (2, 0));
        assert_eq!(queue.push(100, true), 140);
        assert_eq!(queue.busy_ns(), (4 * 10 + 40) / 2);
    }

    #[test]
    fn reads_and_writes_share_a_device_of_unequal_concurrency() {
        // Four reads or one write at once.
        let mut queue = queue(4, 1);
        let reads: Vec<u64> = (0..5).map(|_| queue.push(0, false)).collect();
        assert_eq!(reads, [10, 10, 10, 10, 20]);
        // The write needs the whole device, and the read behind it does not overtake.
        assert_eq!(queue.push(12, true), 60);
        assert_eq!(queue.push(13, false), 70);
        assert_eq!(queue.busy_ns(), (6 * 10) / 4 + 40);
    }

    #[test]
    fn a_request_that_comes_when_another_ends_takes_its_place() {
        let mut queue = queue(1, 1);
        assert_eq!([queue.push(0, false), queue.push(10, true)], [10, 50]);
        assert_eq!(queue.push(50, false), 60);
        assert_eq!(queue.waiting(50), 0);
    }
}

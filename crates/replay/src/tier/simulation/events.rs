//! The event queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cenote_tier::placement::Tier;

/// An event in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A client starts.
    Ready,
    /// A request completes.
    Answered {
        /// The tier of the page.
        tier: Tier,
        /// When the request arrived.
        arrival_ns: u64,
    },
    /// The read of a page that moves completes; the write follows.
    MoveRead {
        /// The target tier.
        to: Tier,
    },
}

/// Events by time; events of equal time in the order of insertion.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
}

impl Events {
    pub(super) fn push(&mut self, at_ns: u64, event: Event) {
        self.heap.push(Reverse((at_ns, self.number, event)));
        self.number += 1;
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at_ns, _, event))| (at_ns, event))
    }

    /// The next event, if it happens no later than `now_ns`.
    pub(super) fn pop_until(&mut self, now_ns: u64) -> Option<(u64, Event)> {
        let Reverse((at_ns, ..)) = self.heap.peek()?;
        if *at_ns <= now_ns { self.pop() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_and_then_of_their_making() {
        let mut events = Events::default();
        for (at_ns, to) in [(5, 0), (3, 1), (5, 2), (1, 3), (3, 4)] {
            events.push(at_ns, Event::MoveRead { to });
        }
        assert_eq!(events.pop_until(0), None);
        let mut order = Vec::new();
        while let Some((at_ns, Event::MoveRead { to })) = events.pop_until(4) {
            order.push((at_ns, to));
        }
        assert_eq!(order, [(1, 3), (3, 1), (3, 4)]);
        assert_eq!(events.pop(), Some((5, Event::MoveRead { to: 0 })));
    }
}

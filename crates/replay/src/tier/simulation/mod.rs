//! Discrete-event simulation of tiers, a placement and a policy.
//!
//! - [`queue`](TierQueue): one tier's device, which does k_r reads or k_w writes at once
//! - [`histogram`](Responses): response times
//! - [`report`](Report): the result
//!
//! A request goes to the tier of its page; then the policy is notified. A page that moves is read
//! from its old tier and then written to its new one, queued with all requests; from the decision
//! on, requests for it go to the new tier, as in the authors' emulator.
//!
//! Requests come from a number of clients, each with one request at a time, or at a fixed rate,
//! where the result is the time at which the last tier is done (the emulator of the dissertation,
//! 6.5).

mod events;
mod histogram;
mod queue;
mod report;

use cenote_tier::placement::{Move, Page, Placement};
use cenote_tier::policy::{Access, Policy};
use cenote_tier::spec::TierSpec;
use cenote_tier::{Result, TierError};

use events::{Event, Events};
pub use histogram::Responses;
pub use queue::TierQueue;
pub use report::{Report, TierReport};

/// One access of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The page.
    pub page: Page,
    /// Whether it is a write.
    pub write: bool,
}

/// The arrivals of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Each client sends its next request when the last one completes.
    Closed {
        /// Number of clients.
        clients: u32,
    },
    /// Requests at a fixed rate.
    Open {
        /// Time between two requests.
        interval_ns: u64,
    },
}

fn require(
    holds: bool,
    what: &str,
    found: impl ToString,
    expected: impl Into<String>,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    let (what, found) = (what.to_owned(), found.to_string());
    Err(TierError::Spec { what, found, expected: expected.into() })
}

/// A simulation of tiers, a placement and a policy.
#[derive(Debug)]
pub struct Replay {
    queues: Vec<TierQueue>,
    placement: Placement,
    policy: Box<dyn Policy>,
    arrivals: Arrivals,
    events: Events,
    responses: Responses,
    report: Report,
    /// Buffers for the policy's moves and the number of waiting requests by tier.
    moves: Vec<Move>,
    queued: Vec<u32>,
    wants_responses: bool,
}

impl Replay {
    /// Idle tiers. The policy must have been built for this placement.
    pub fn new(
        tiers: &[TierSpec],
        placement: Placement,
        policy: Box<dyn Policy>,
        arrivals: Arrivals,
    ) -> Result<Self> {
        let known = placement.tiers();
        require(tiers.len() == known, "tiers", tiers.len(), format!("{known}, as placed"))?;
        let mut events = Events::default();
        if let Arrivals::Closed { clients } = arrivals {
            require((1..=1 << 20).contains(&clients), "clients", clients, "1 to 2^20")?;
            (0..clients).for_each(|_| events.push(0, Event::Ready));
        }
        let wants_responses = policy.wants_responses();
        Ok(Self {
            queues: tiers.iter().map(|spec| TierQueue::new(*spec, wants_responses)).collect(),
            report: Report::new(tiers.len()),
            responses: Responses::default(),
            moves: Vec::new(),
            queued: vec![0; if wants_responses { tiers.len() } else { 0 }],
            placement,
            policy,
            arrivals,
            events,
            wants_responses,
        })
    }

    /// Simulates the next access of the workload.
    pub fn push(&mut self, request: Request) -> Result<()> {
        let pages = u64::from(self.placement.pages());
        let page = u64::from(request.page);
        if page >= pages {
            return Err(TierError::NoSuchPage { page, pages });
        }
        let now_ns = match self.arrivals {
            Arrivals::Closed { .. } => self.until_ready(),
            Arrivals::Open { interval_ns } => {
                let now_ns = self.report.ops * interval_ns;
                while let Some((at_ns, event)) = self.events.pop_until(now_ns) {
                    self.handle(at_ns, event);
                }
                now_ns
            }
        };
        self.serve(now_ns, request)
    }

    /// Handles events until a client is ready; returns the time.
    fn until_ready(&mut self) -> u64 {
        loop {
            let (at_ns, event) = self.events.pop().expect("every client has an event");
            self.handle(at_ns, event);
            if matches!(event, Event::Ready | Event::Answered { .. }) {
                return at_ns;
            }
        }
    }

    fn handle(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Ready => {}
            Event::Answered { tier, arrival_ns } => {
                if self.wants_responses {
                    self.policy.responded(tier, arrival_ns, at_ns - arrival_ns);
                }
            }
            Event::MoveRead { to } => {
                let end_ns = self.queues[to as usize].push(at_ns, true);
                self.report.runtime_ns = self.report.runtime_ns.max(end_ns);
            }
        }
    }

    fn serve(&mut self, now_ns: u64, request: Request) -> Result<()> {
        let Request { page, write } = request;
        let tier = self.placement.tier_of(page);
        let end_ns = self.queues[tier as usize].push(now_ns, write);
        self.responses.record(end_ns - now_ns);
        self.report.served(tier, write, end_ns);
        let is_closed = matches!(self.arrivals, Arrivals::Closed { .. });
        if is_closed || self.wants_responses {
            self.events.push(end_ns, Event::Answered { tier, arrival_ns: now_ns });
        }
        if self.wants_responses {
            for (queued, queue) in self.queued.iter_mut().zip(&mut self.queues) {
                *queued = queue.waiting(now_ns);
            }
        }
        self.moves.clear();
        let access = Access { page, write, now_ns, queued: &self.queued };
        self.policy.access(&access, &self.placement, &mut self.moves);
        if self.moves.is_empty() { Ok(()) } else { self.migrate(now_ns) }
    }

    fn migrate(&mut self, now_ns: u64) -> Result<()> {
        let Self { placement, policy, queues, report, events, moves, .. } = self;
        placement.carry_out(moves, |page, from, to| {
            policy.moved(page, from, to);
            let read_ns = queues[from as usize].push(now_ns, false);
            events.push(read_ns, Event::MoveRead { to });
            report.moved(from, to);
        })
    }

    /// Completes all requests and moves, and returns the report.
    pub fn finish(mut self) -> Report {
        while let Some((at_ns, event)) = self.events.pop() {
            self.handle(at_ns, event);
        }
        for (tier, queue) in self.report.tiers.iter_mut().zip(&self.queues) {
            tier.busy_ns = queue.busy_ns();
        }
        self.report.response_ns_mean = self.responses.mean_ns();
        self.report.response_ns_p50 = self.responses.quantile_ns(0.5);
        self.report.response_ns_p99 = self.responses.quantile_ns(0.99);
        self.report.policy_bytes = self.policy.memory_bytes() as u64;
        self.report.map_bytes = self.placement.memory_bytes() as u64;
        self.report
    }

    /// Where pages lie now.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }
}

/// The placement and the policy without tiers, to measure the cost of decisions.
#[derive(Debug)]
pub struct Decisions {
    placement: Placement,
    policy: Box<dyn Policy>,
    moves: Vec<Move>,
    queued: Vec<u32>,
    response_ns: Vec<u64>,
    wants_responses: bool,
    now_ns: u64,
}

impl Decisions {
    /// A policy to measure; the response time of a request is its tier's read latency.
    pub fn new(tiers: &[TierSpec], placement: Placement, policy: Box<dyn Policy>) -> Self {
        Self {
            wants_responses: policy.wants_responses(),
            response_ns: tiers.iter().map(|tier| tier.read_ns).collect(),
            queued: vec![0; tiers.len()],
            placement,
            policy,
            moves: Vec::new(),
            now_ns: 0,
        }
    }

    /// Passes an access to the policy and carries out its moves.
    pub fn push(&mut self, request: Request) -> Result<()> {
        let Request { page, write } = request;
        let Self { placement, policy, moves, queued, now_ns, .. } = self;
        let tier = placement.tier_of(page);
        *now_ns += 1_000;
        if self.wants_responses {
            policy.responded(tier, *now_ns, self.response_ns[tier as usize]);
        }
        moves.clear();
        policy.access(&Access { page, write, now_ns: *now_ns, queued }, placement, moves);
        if moves.is_empty() {
            return Ok(());
        }
        placement.carry_out(moves, |page, from, to| policy.moved(page, from, to))
    }
}

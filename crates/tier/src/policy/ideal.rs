//! `ideal`: places the workload's hot pages, known beforehand, on the fastest tiers from the start.
//! The dissertation's *Static* (6.6.1), "the best possible placement with full workload-knowledge
//! without any page migration". Of a workload of several phases it knows the first, as the authors'
//! program does.
//!
//! With `ideal:phases` it knows all phases and moves pages at the start of each, at the usual cost
//! of moves.

use super::saved::{Load, StateHeader, check, take_accesses};
use super::{Access, Context, Options, Oracle, OraclePhase, Policy, PolicyKind};
use crate::error::{Result, TierError};
use crate::placement::{Move, Page, Placement, Tier};

/// Options of `ideal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IdealConfig {
    /// Use all phases, not only the first.
    pub phases: bool,
}

impl IdealConfig {
    pub(super) fn parse(options: &mut Options<'_>) -> Result<Self> {
        Ok(Self { phases: options.word("phases") })
    }
}

#[derive(Debug)]
pub struct Ideal {
    header: StateHeader,
    pages: u32,
    /// The phases still to come, the next one last.
    coming: Vec<OraclePhase>,
    accesses: u64,
}

impl Ideal {
    pub(super) fn new(config: IdealConfig, context: &Context<'_>) -> Self {
        let mut coming = Vec::new();
        if let Some(oracle) = context.oracle.filter(|_| config.phases) {
            coming = oracle.phases.iter().skip(1).rev().cloned().collect();
        }
        let pages = context.placement.pages();
        coming.iter_mut().for_each(|phase| phase.hottest.retain(|&page| page < pages));
        let header = StateHeader::new(PolicyKind::Ideal(config), context);
        Self { header, pages, coming, accesses: 0 }
    }
}

/// The hot pages of the first phase on the fastest tiers.
pub(super) fn initial(placement: &Placement, oracle: &Oracle, seed: u64) -> Result<Placement> {
    let first = oracle.phases.first().ok_or_else(|| {
        TierError::spec("what is known of the workload", "no phases", "at least one")
    })?;
    let capacities: Vec<u64> =
        (0..placement.tiers()).map(|t| placement.capacity(t as Tier)).collect();
    Placement::hottest_first(placement.pages(), &capacities, &first.hottest, seed)
}

/// Appends the fewest moves that bring the hottest pages to the fastest tiers.
fn rearrange(placement: &Placement, hottest: &[Page], moves: &mut Vec<Move>) {
    let mut wanted = vec![Tier::MAX; placement.pages() as usize];
    let mut tier: Tier = 0;
    let mut left = placement.capacity(0);
    for &page in hottest {
        while left == 0 && usize::from(tier) + 1 < placement.tiers() {
            tier += 1;
            left = placement.capacity(tier);
        }
        if left == 0 {
            break;
        }
        if std::mem::replace(&mut wanted[page as usize], tier) == Tier::MAX {
            left -= 1;
        }
    }
    let mut room: Vec<u64> =
        (0..placement.tiers()).map(|t| placement.capacity(t as Tier)).collect();
    wanted.iter().filter(|&&tier| tier != Tier::MAX).for_each(|&tier| room[tier as usize] -= 1);
    // Cold pages stay while there is room, or else go to the slowest tier with room.
    for page in 0..placement.pages() {
        let (here, to) = (placement.tier_of(page), &mut wanted[page as usize]);
        if *to == Tier::MAX && room[here as usize] > 0 {
            room[here as usize] -= 1;
            *to = here;
        }
    }
    for page in 0..placement.pages() {
        let mut to = wanted[page as usize];
        if to == Tier::MAX {
            let slowest = room.iter().rposition(|&left| left > 0);
            to = slowest.expect("all pages fit") as Tier;
            room[to as usize] -= 1;
        }
        if to != placement.tier_of(page) {
            moves.push(Move { page, to });
        }
    }
}

impl Policy for Ideal {
    fn access(&mut self, _: &Access<'_>, placement: &Placement, moves: &mut Vec<Move>) {
        if self.coming.last().is_some_and(|phase| phase.start <= self.accesses) {
            let phase = self.coming.pop().unwrap_or_default();
            rearrange(placement, &phase.hottest, moves);
        }
        self.accesses += 1;
    }

    fn memory_bytes(&self) -> usize {
        self.coming.iter().map(|phase| phase.hottest.capacity() * size_of::<Page>()).sum()
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.header.pack((&self.coming, self.accesses))
    }

    fn heat(&self, _: Page) -> Option<f64> {
        None
    }
}

impl Load for Ideal {
    fn load(&mut self, _: &Placement, bytes: &[u8]) -> Result<()> {
        let ((coming, accesses), _): ((Vec<OraclePhase>, u64), _) = self.header.unpack(bytes)?;
        let mut named = coming.iter().flat_map(|phase| &phase.hottest);
        let unknown = named.find(|page| **page >= self.pages);
        check(unknown.is_none(), || format!("page {} does not exist", unknown.unwrap_or(&0)))?;
        take_accesses(&mut self.accesses, accesses)?;
        self.coming = coming;
        Ok(())
    }
}

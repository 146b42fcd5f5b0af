//! Policies against second implementations that are too simple to be wrong, and what holds for all
//! of them: every page on one tier, no tier too full, the same answer for the same input.
//!
//! - [`saved`]: policies that are saved and taken back
//! - [`simple`]: the second implementations, which look at all pages every time

mod saved;
mod simple;

use cenote_tier::placement::{Move, Placement};
use cenote_tier::policy::{Access, Context, Oracle, OraclePhase, Policy, PolicySpec};
use cenote_tier::spec::TierSpec;
use cenote_workload::random::Counter;
use proptest::prelude::*;
use simple::{Simple, simple};

/// Policies with a second implementation.
const SIMPLE: [&str; 11] = [
    "static",
    "tlru",
    "tlru:no-margin",
    "tlru:always",
    "tlfu",
    "lrfu",
    "lrfu:half-life=0.2",
    "lrfu:code",
    "exd",
    "temp",
    "temp:text",
];

fn all() -> Vec<PolicySpec> {
    let variants = ["ideal:phases", "restore:code", "restore:guard", "restore:s1-weighted"];
    let more = ["restore:tier-reward", "restore:model-reward", "exd:code"];
    let names = SIMPLE.into_iter().chain(variants).chain(more);
    let variants = names.map(|name| name.parse().expect("a policy"));
    PolicySpec::all().into_iter().chain(variants).collect()
}

fn tiers(count: usize) -> Vec<TierSpec> {
    let tier = |i: usize| TierSpec::new(30.0 * 4f64.powi(i as i32), 1.0 + i as f64, 8, 4);
    (0..count).map(|i| tier(i).expect("a tier")).collect()
}

/// A small world: pages, what the tiers hold, accesses.
#[derive(Clone, Debug)]
struct World {
    seed: u64,
    pages: u32,
    capacities: Vec<u64>,
    accesses: u64,
    skew: u64,
}

impl World {
    fn tiers(&self) -> Vec<TierSpec> {
        tiers(self.capacities.len())
    }

    fn placement(&self) -> Placement {
        Placement::shuffled(self.pages, &self.capacities, self.seed).expect("they fit")
    }

    /// Pages low in number are asked for more often; halfway the order turns round.
    fn page(&self, index: u64) -> u32 {
        let random = Counter::new(self.seed, 9);
        let pages = u64::from(self.pages);
        let draws = (0..self.skew).map(|draw| random.below(index * 8 + draw, pages));
        let page = draws.min().unwrap_or(0) as u32;
        if index < self.accesses / 2 { page } else { self.pages - 1 - page }
    }

    fn oracle(&self) -> Oracle {
        let phase = |start: u64, pages: Vec<u32>| OraclePhase { start, hottest: pages };
        let forth = (0..self.pages / 2).collect();
        let back = (self.pages / 2..self.pages).rev().collect();
        Oracle { phases: vec![phase(0, forth), phase(self.accesses / 2, back)] }
    }

    fn build(&self, spec: &PolicySpec) -> (Placement, Box<dyn Policy>) {
        let (tiers, placement, oracle) = (self.tiers(), self.placement(), self.oracle());
        let context =
            Context { tiers: &tiers, placement: &placement, seed: 1, oracle: Some(&oracle) };
        let initial = spec.initial(&context).expect("a placement");
        let policy = spec.build(&Context { placement: &initial, ..context }).expect("a policy");
        (initial, policy)
    }

    /// Runs a policy; calls `each` with every access's moves.
    fn run(&self, spec: &PolicySpec, mut each: impl FnMut(u64, &Placement, &[Move])) -> Placement {
        let (mut placement, mut policy) = self.build(spec);
        let queued = vec![3; self.capacities.len()];
        for index in 0..self.accesses {
            let page = self.page(index);
            let now_ns = index * 1_000;
            if policy.wants_responses() {
                policy.responded(placement.tier_of(page), now_ns, 1_000 * (1 + index % 7));
            }
            let access = Access { page, write: index % 3 == 0, now_ns, queued: &queued };
            let mut moves = Vec::new();
            policy.access(&access, &placement, &mut moves);
            each(index, &placement, &moves);
            let done = placement.carry_out(&moves, |page, from, to| policy.moved(page, from, to));
            done.unwrap_or_else(|e| panic!("{spec}, access {index}: {e}"));
        }
        placement.check().expect("each page lies on one tier");
        placement
    }
}

fn worlds() -> impl Strategy<Value = World> {
    let capacities = prop::collection::vec(0u64..12, 1..4);
    (any::<u64>(), 1u32..40, capacities, 1u64..600, 1u64..5).prop_map(
        |(seed, pages, mut capacities, accesses, skew)| {
            capacities.push(pages.into());
            World { seed, pages, capacities, accesses, skew }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn moves_are_those_of_the_simple_policy(world in worlds()) {
        for name in SIMPLE {
            let spec: PolicySpec = name.parse().expect("a policy");
            let mut simple: Simple = simple(name, &world.placement());
            world.run(&spec, |index, placement, moves| {
                if let Some(wanted) = simple.access(world.page(index), placement) {
                    assert_eq!(moves, &wanted[..], "{name}, access {index} of {world:?}");
                }
            });
        }
    }

    #[test]
    fn no_tier_is_ever_too_full_and_no_page_lost(world in worlds()) {
        for spec in all() {
            world.run(&spec, |index, placement, moves| {
                placement.check().unwrap_or_else(|e| panic!("{spec}, access {index}: {e}"));
                let mut pages: Vec<u32> = moves.iter().map(|step| step.page).collect();
                pages.sort_unstable();
                pages.dedup();
                assert_eq!(pages.len(), moves.len(), "{spec}: a page moves twice at once");
            });
        }
    }

    #[test]
    fn the_same_input_gives_the_same_moves(world in worlds()) {
        for spec in all() {
            let mut first = Vec::new();
            world.run(&spec, |_, _, moves| first.extend_from_slice(moves));
            let mut second = Vec::new();
            world.run(&spec, |_, _, moves| second.extend_from_slice(moves));
            prop_assert_eq!(&first, &second, "{}", spec);
        }
    }

    #[test]
    fn moves_that_were_not_carried_out_change_nothing(world in worlds()) {
        // Tiers that refuse everything: a policy must go on asking, and not lose count.
        for spec in all() {
            let (placement, mut policy) = world.build(&spec);
            let queued = vec![0; world.capacities.len()];
            for index in 0..world.accesses {
                let page = world.page(index);
                let access = Access { page, write: false, now_ns: index, queued: &queued };
                let mut moves = Vec::new();
                policy.access(&access, &placement, &mut moves);
                let mut tried = placement.clone();
                let done = tried.carry_out(&moves, |_, _, _| ());
                prop_assert!(done.is_ok(), "{}, access {}: {:?}", spec, index, done);
            }
        }
    }
}

#[test]
fn memory_by_page_is_reported() {
    let world = World {
        seed: 1,
        pages: 20_000,
        capacities: vec![600, 1_600, 20_000],
        accesses: 40_000,
        skew: 3,
    };
    for spec in PolicySpec::all() {
        let (mut placement, mut policy) = world.build(&spec);
        for index in 0..world.accesses {
            let access =
                Access { page: world.page(index), write: true, now_ns: index, queued: &[0, 0, 0] };
            let mut moves = Vec::new();
            policy.access(&access, &placement, &mut moves);
            let done = placement.carry_out(&moves, |page, from, to| policy.moved(page, from, to));
            done.expect("moves fit");
        }
        let bytes = policy.memory_bytes() as f64 / 20_000.0;
        assert!(bytes <= 32.0, "{spec}: {bytes} bytes a page");
        let holds_nothing = ["static", "ideal"].contains(&spec.name());
        assert_eq!(bytes == 0.0, holds_nothing, "{spec}: {bytes} bytes a page");
    }
}

//! Policies that are saved and taken back: they go on as if nothing had been, and refuse or survive
//! bytes that are not theirs.

use std::iter;

use cenote_tier::TierError;
use cenote_tier::placement::{Move, Placement};
use cenote_tier::policy::{Access, Context, Policy, PolicySpec};
use cenote_workload::random::Counter;
use proptest::prelude::*;

use super::{World, all, worlds};

/// The options that change what is stored, besides those of [`all`].
fn more_specs() -> Vec<PolicySpec> {
    let names = ["restore:additive", "restore:code-diff", "restore:explore=0.3:rate=0.01"];
    let ours = ["cost-benefit:short=0.5", "payback:watch=0.5:trial=2"];
    let names = names.into_iter().chain(ours);
    all().into_iter().chain(names.map(|name| name.parse().expect("a policy"))).collect()
}

/// A policy and where its pages lie.
struct Run<'a> {
    world: &'a World,
    placement: Placement,
    policy: Box<dyn Policy>,
}

impl<'a> Run<'a> {
    fn new(world: &'a World, spec: &PolicySpec) -> Self {
        let (placement, policy) = world.build(spec);
        Self { world, placement, policy }
    }

    /// One access; the moves that it led to.
    fn step(&mut self, index: u64) -> Vec<Move> {
        let page = self.world.page(index);
        let now_ns = index * 1_000;
        let queued = vec![(index % 5) as u32; self.world.capacities.len()];
        if self.policy.wants_responses() {
            let tier = self.placement.tier_of(page);
            self.policy.responded(tier, now_ns, 1_000 * (1 + index % 7));
        }
        let access = Access { page, write: index.is_multiple_of(3), now_ns, queued: &queued };
        let mut moves = Vec::new();
        self.policy.access(&access, &self.placement, &mut moves);
        let Self { placement, policy, .. } = self;
        let done = placement.carry_out(&moves, |page, from, to| policy.moved(page, from, to));
        done.expect("a policy asks for moves that can be");
        moves
    }

    /// The policy of these bytes, for pages that lie as they do now.
    fn restored(&self, spec: &PolicySpec, bytes: &[u8]) -> Result<Self, TierError> {
        let (tiers, oracle) = (self.world.tiers(), self.world.oracle());
        let placement = self.placement.clone();
        // Another seed: a policy that draws lots goes on with its own.
        let context =
            Context { tiers: &tiers, placement: &placement, seed: 77, oracle: Some(&oracle) };
        let policy = spec.restore(&context, bytes)?;
        Ok(Self { world: self.world, placement, policy })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_policy_that_was_restored_goes_on_as_if_nothing_had_been(
        world in worlds(),
        part in 0.0..1.0f64,
    ) {
        let saved_at = (world.accesses as f64 * part) as u64;
        for spec in more_specs() {
            let mut run = Run::new(&world, &spec);
            (0..saved_at).for_each(|index| drop(run.step(index)));
            let bytes = run.policy.save().expect("it can be saved");
            let mut again = run.restored(&spec, &bytes).expect("it is the same policy");
            prop_assert_eq!(again.policy.save(), Ok(bytes), "{}", spec);
            for index in saved_at..world.accesses {
                let (wanted, found) = (run.step(index), again.step(index));
                prop_assert_eq!(found, wanted, "{}, access {} of {:?}", spec, index, world);
            }
            for page in 0..world.pages {
                prop_assert_eq!(again.policy.heat(page), run.policy.heat(page), "{}", spec);
            }
            prop_assert_eq!(again.policy.heat(world.pages), None, "{} knows no such page", spec);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn damaged_states_are_refused_or_run(world in worlds(), seed in any::<u64>()) {
        damage_states(&world, seed)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "long: make soak"]
    fn longer_damaged_states_are_refused_or_run(world in worlds(), seed in any::<u64>()) {
        damage_states(&world, seed)?;
    }
}

fn damage_states(world: &World, seed: u64) -> Result<(), TestCaseError> {
    let random = Counter::new(seed, 3);
    for spec in more_specs() {
        let mut run = Run::new(world, &spec);
        (0..world.accesses).for_each(|index| drop(run.step(index)));
        let bytes = run.policy.save().expect("it can be saved");
        let cut = random.below(0, bytes.len() as u64) as usize;
        prop_assert!(run.restored(&spec, &bytes[..cut]).is_err(), "{}: cut at {}", spec, cut);
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        prop_assert!(run.restored(&spec, &longer).is_err(), "{}: a byte too many", spec);
        for try_ in 1..40 {
            let mut damaged = bytes.clone();
            for flip in 0..=try_ % 3 {
                let bit = random.below(try_ * 8 + flip, bytes.len() as u64 * 8);
                damaged[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            // A long number in place of a short one, to reach the upper ends.
            if try_ % 4 == 0 {
                let at = random.below(try_ * 8 + 7, bytes.len() as u64) as usize;
                damaged.splice(at..at, iter::repeat_n(0xFF, (try_ % 9) as usize));
            }
            if let Ok(mut strange) = run.restored(&spec, &damaged) {
                (world.accesses..world.accesses + 200).for_each(|i| drop(strange.step(i)));
                let heats = (0..world.pages).filter_map(|page| strange.policy.heat(page));
                prop_assert!(heats.count() <= world.pages as usize);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_policy_that_is_restored_for_more_pages_knows_the_old_ones_and_runs(
        world in worlds(),
        more in 1u32..60,
    ) {
        for spec in more_specs() {
            let mut run = Run::new(&world, &spec);
            (0..world.accesses).for_each(|index| drop(run.step(index)));
            let bytes = run.policy.save().expect("it can be saved");
            let mut grown = world.clone();
            grown.pages += more;
            *grown.capacities.last_mut().expect("tiers") += u64::from(more);
            let slowest = world.capacities.len() as u8 - 1;
            let mut map = run.placement.map().to_vec();
            map.resize(grown.pages as usize, slowest);
            let placement = Placement::from_map(map, &grown.capacities).expect("they fit");
            let mut larger = Run { world: &grown, placement, ..Run::new(&grown, &spec) };
            larger = larger.restored(&spec, &bytes).expect("it takes more pages");
            for page in 0..world.pages {
                // A share of all accesses, which small windows overstate.
                let most = if spec.weighs_costs() { 1.0 } else { f64::MAX };
                let heat = |run: &Run<'_>| run.policy.heat(page).unwrap_or(0.0).min(most);
                let heats = [heat(&run), heat(&larger)];
                let scale = heats[0].abs().max(1e-12);
                prop_assert!((heats[0] - heats[1]).abs() <= 1e-4 * scale, "{}: {:?}", spec, heats);
            }
            prop_assert_eq!(larger.policy.heat(grown.pages), None, "{} knows no such page", spec);
            (world.accesses..2 * world.accesses).for_each(|index| drop(larger.step(index)));
            let again = larger.policy.save().expect("it can be saved");
            let restored = larger.restored(&spec, &again).expect("it is the same policy");
            prop_assert_eq!(restored.policy.save(), Ok(again), "{}", spec);
        }
    }
}

fn world() -> World {
    World { seed: 5, pages: 30, capacities: vec![4, 6, 30], accesses: 400, skew: 3 }
}

#[test]
fn the_state_of_another_policy_or_other_tiers_is_refused_by_name() {
    let world = world();
    let specs = more_specs();
    for spec in &specs {
        let mut run = Run::new(&world, spec);
        (0..50).for_each(|index| drop(run.step(index)));
        let bytes = run.policy.save().expect("it can be saved");
        for other in specs.iter().filter(|other| *other != spec) {
            let restored = run.restored(other, &bytes).map(drop);
            assert_refused(restored, &format!("{spec} as {other}"), "expected");
        }
        let fewer_pages = World { pages: 29, ..world.clone() };
        let fewer_tiers = World { capacities: vec![4, 30], ..world.clone() };
        for other in [fewer_pages, fewer_tiers] {
            let refused = Run::new(&other, spec).restored(spec, &bytes).map(drop);
            assert_refused(refused, &format!("{spec} for {other:?}"), "30 pages on 3 tiers");
        }
    }
}

fn assert_refused(result: Result<(), TierError>, what: &str, says: &str) {
    let error = result.expect_err(what);
    assert!(matches!(error, TierError::State { .. }), "{what}: {error}");
    assert!(error.to_string().contains(says), "{what}: {error}");
}

#[test]
fn lengths_that_are_not_there_are_refused_before_room_is_made_for_them() {
    // A vector of 2^63 pages: if room was made, this would end the process.
    let world = world();
    for spec in more_specs() {
        let run = Run::new(&world, &spec);
        let bytes = run.policy.save().expect("it can be saved");
        for at in 0..bytes.len() {
            let mut huge = bytes[..at].to_vec();
            huge.extend([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
            // What stands last may be a number, and not a length.
            let is_last = at + 10 > bytes.len();
            let refused = run.restored(&spec, &huge).is_err();
            assert!(refused || is_last, "{spec}: a huge length at {at}");
        }
        assert!(run.restored(&spec, &[]).is_err(), "{spec}: of nothing");
    }
}

#[test]
fn heat_ranks_pages_by_their_accesses() {
    // Page 29 three times in a row, then each of the pages 0 to 9 once.
    let world = world();
    let order: Vec<u32> = [29, 29, 29].into_iter().chain(0..10).collect();
    for name in ["tlfu", "lrfu", "exd", "exd:code", "temp", "restore", "cost-benefit", "payback"] {
        let (mut placement, mut policy) = world.build(&name.parse().expect("a policy"));
        for (index, &page) in order.iter().enumerate() {
            let access = Access { page, write: false, now_ns: index as u64, queued: &[0; 3] };
            let mut moves = Vec::new();
            policy.access(&access, &placement, &mut moves);
            let done = placement.carry_out(&moves, |page, from, to| policy.moved(page, from, to));
            done.expect("moves that can be");
        }
        let heat = |page| policy.heat(page).expect("it ranks pages");
        assert!(heat(29) > heat(9), "{name}: {} and {}", heat(29), heat(9));
        assert!(heat(9) >= heat(0), "{name}: the later one is no colder");
        assert!(heat(0) > heat(20), "{name}: {} of a page that was never used", heat(20));
    }
    let (_, fixed) = world.build(&"static".parse().expect("a policy"));
    assert_eq!(fixed.heat(0), None);
}

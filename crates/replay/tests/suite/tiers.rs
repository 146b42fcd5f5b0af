//! The replay against times computed by hand and a second one that scans for whatever is next; and
//! what policies must be worth on the loads of the tiering chapter.

use cenote_replay::tier::simulation::{Arrivals, Replay, Report, Request};
use cenote_tier::TierError;
use cenote_tier::placement::{Move, Placement};
use cenote_tier::policy::{Access, Context, Oracle, OraclePhase, Policy, PolicySpec};
use cenote_tier::spec::TierSpec;
use cenote_workload::page::phases::{Phases, PhasesConfig};
use cenote_workload::random::Counter;

const FAST: TierSpec = TierSpec { read_ns: 10, write_ns: 20, k_r: 1, k_w: 1 };
const SLOW: TierSpec = TierSpec { read_ns: 100, write_ns: 400, k_r: 2, k_w: 2 };

/// Makes the given moves at each access.
#[derive(Debug)]
struct Scripted(Vec<Vec<Move>>);

impl Policy for Scripted {
    fn access(&mut self, _: &Access<'_>, _: &Placement, moves: &mut Vec<Move>) {
        if !self.0.is_empty() {
            moves.extend(self.0.remove(0));
        }
    }

    fn memory_bytes(&self) -> usize {
        0
    }

    fn save(&self) -> Result<Vec<u8>, TierError> {
        Ok(Vec::new())
    }

    fn heat(&self, _: u32) -> Option<f64> {
        None
    }
}

/// Pages 0 and 1 on the fast tier, 2 to 5 on the slow one.
fn placement() -> Placement {
    Placement::hottest_first(6, &[2, 6], &[0, 1], 1).expect("they fit")
}

fn replay(arrivals: Arrivals, moves: Vec<Vec<Move>>, requests: &[(u32, bool)]) -> Report {
    let policy = Box::new(Scripted(moves));
    let mut replay = Replay::new(&[FAST, SLOW], placement(), policy, arrivals).expect("valid");
    for &(page, write) in requests {
        replay.push(Request { page, write }).expect("the page exists");
    }
    replay.finish()
}

#[test]
fn one_client_waits_for_each_answer() {
    let report =
        replay(Arrivals::Closed { clients: 1 }, Vec::new(), &[(0, false), (2, true), (1, true)]);
    assert_eq!(report.runtime_ns, 10 + 400 + 20);
    assert_eq!(report.response_ns_mean, 430.0 / 3.0);
    assert_eq!((report.tiers[0].reads, report.tiers[0].writes, report.tiers[1].writes), (1, 1, 1));
    assert_eq!((report.tiers[0].busy_ns, report.tiers[1].busy_ns), (30, 200));
}

#[test]
fn clients_queue_behind_each_other() {
    // Two clients read page 0 at 0: one is answered at 10, the other at 20; the first asks again
    // at 10 and is answered at 30.
    let report =
        replay(Arrivals::Closed { clients: 2 }, Vec::new(), &[(0, false), (0, false), (1, false)]);
    assert_eq!(report.runtime_ns, 30);
    assert_eq!(report.response_ns_mean, (10.0 + 20.0 + 20.0) / 3.0);
}

#[test]
fn an_open_loop_takes_as_long_as_its_busiest_tier() {
    // At 0, 1, 2, 3: three reads of the slow tier with two servers, one of the fast tier.
    let requests = [(2, false), (3, false), (4, false), (0, false)];
    let report = replay(Arrivals::Open { interval_ns: 1 }, Vec::new(), &requests);
    assert_eq!(report.runtime_ns, 200);
    assert_eq!(report.response_ns_mean, (100.0 + 100.0 + 198.0 + 10.0) / 4.0);
}

#[test]
fn a_moved_page_is_read_and_then_written_in_line_with_requests() {
    // The read of page 2 takes until 100. At 0 it goes up and page 0 comes down: 2 is read on the
    // second slow server until 100, 0 on the fast one until 10. Page 0 is then written to the slow
    // tier: both servers are busy until 100, so from 100 to 500.
    let moves = vec![vec![Move { page: 0, to: 1 }, Move { page: 2, to: 0 }]];
    let report = replay(Arrivals::Closed { clients: 1 }, moves, &[(2, false), (2, false)]);
    // At 100 the client has its answer, which was known first, and reads page 2 on the fast tier
    // until 110; then comes the write of the moved page.
    assert_eq!(report.runtime_ns, 500);
    assert_eq!(report.response_ns_mean, (100.0 + 10.0) / 2.0);
    assert_eq!(report.tiers[0].busy_ns, 10 + 10 + 20);
    assert_eq!((report.moves[1][0], report.moves[0][1]), (1, 1));
    assert_eq!((report.promotions(), report.demotions()), (1, 1));
    assert_eq!(report.tiers[0].move_reads + report.tiers[0].move_writes, 2);
    assert_eq!(report.move_io_share(), 4.0 / 6.0);
    assert_eq!(report.tiers[1].busy_ns, (100 + 100 + 400) / 2);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let mut replay = Replay::new(
        &[FAST, SLOW],
        placement(),
        Box::new(Scripted(vec![vec![Move { page: 3, to: 0 }]])),
        Arrivals::Closed { clients: 1 },
    )
    .expect("valid");
    let refused = replay.push(Request { page: 6, write: false });
    assert_eq!(refused, Err(TierError::NoSuchPage { page: 6, pages: 6 }));
    let refused = replay.push(Request { page: 5, write: false });
    assert!(matches!(refused, Err(TierError::Moves { .. })), "the fast tier is full: {refused:?}");
    replay.placement().check().expect("nothing moved");
    let none = Replay::new(
        &[FAST],
        placement(),
        Box::new(Scripted(Vec::new())),
        Arrivals::Open { interval_ns: 0 },
    );
    assert!(none.is_err(), "one tier for a placement on two");
    let none = Arrivals::Closed { clients: 0 };
    assert!(Replay::new(&[FAST, SLOW], placement(), Box::new(Scripted(Vec::new())), none).is_err());
}

/// A second replay: of all that waits it looks for whatever can happen next.
struct Scanned {
    tiers: Vec<TierSpec>,
    /// By tier, when each server is free.
    free_ns: Vec<Vec<u64>>,
    /// Moved pages on their way: when they were read, and where they go.
    on_the_way: Vec<(u64, usize)>,
    end_ns: u64,
}

impl Scanned {
    fn new(tiers: &[TierSpec]) -> Self {
        let free_ns = tiers.iter().map(|tier| vec![0; tier.k_r as usize]).collect();
        Self { tiers: tiers.to_vec(), free_ns, on_the_way: Vec::new(), end_ns: 0 }
    }

    fn serve(&mut self, tier: usize, now_ns: u64, write: bool) -> u64 {
        let spec = self.tiers[tier];
        let server = self.free_ns[tier].iter_mut().min().expect("a server");
        *server = now_ns.max(*server) + if write { spec.write_ns } else { spec.read_ns };
        self.end_ns = self.end_ns.max(*server);
        *server
    }

    /// Writes of moved pages that come before `now_ns`, the first first.
    fn until(&mut self, now_ns: u64) {
        while let Some(at) = (0..self.on_the_way.len()).min_by_key(|&i| self.on_the_way[i].0) {
            if self.on_the_way[at].0 > now_ns {
                return;
            }
            let (at_ns, tier) = self.on_the_way.remove(at);
            self.serve(tier, at_ns, true);
        }
    }
}

#[test]
fn two_replays_agree_to_the_nanosecond() {
    for seed in 0..40 {
        let random = Counter::new(seed, 0);
        // Prime times, so that no two things happen at once and the order of equals can't matter.
        let tier = |read_ns, write_ns, k| TierSpec { read_ns, write_ns, k_r: k, k_w: k };
        let tiers = [tier(10_007, 15_013, 2), tier(70_001, 140_009, 1), tier(200_003, 800_011, 3)];
        let mut map = Placement::shuffled(20, &[3, 5, 20], seed).expect("they fit");
        let spec: PolicySpec = "tlfu".parse().expect("a policy");
        let context = Context { tiers: &tiers, placement: &map, seed, oracle: None };
        let (policy, mut twin) = (spec.build(&context), spec.build(&context).expect("a policy"));
        let arrivals = Arrivals::Open { interval_ns: 50_021 };
        let mut replay =
            Replay::new(&tiers, map.clone(), policy.expect("a policy"), arrivals).expect("valid");
        let mut scanned = Scanned::new(&tiers);
        let mut sum_ns = 0;
        for index in 0..200 {
            let page = random.below(2 * index, 20).min(random.below(2 * index + 1, 20)) as u32;
            let write = index % 3 == 0;
            replay.push(Request { page, write }).expect("the page exists");
            let now_ns = index * 50_021;
            scanned.until(now_ns);
            let tier = map.tier_of(page);
            sum_ns += scanned.serve(tier.into(), now_ns, write) - now_ns;
            let mut moves = Vec::new();
            let access = Access { page, write, now_ns, queued: &[] };
            twin.access(&access, &map, &mut moves);
            let done = map.carry_out(&moves, |page, from, to| {
                twin.moved(page, from, to);
                let read_ns = scanned.serve(from.into(), now_ns, false);
                scanned.on_the_way.push((read_ns, to.into()));
            });
            done.expect("moves fit");
        }
        scanned.until(u64::MAX);
        let report = replay.finish();
        assert_eq!(report.runtime_ns, scanned.end_ns, "seed {seed}");
        assert_eq!(report.response_ns_mean, sum_ns as f64 / 200.0, "seed {seed}");
    }
}

/// Seconds and pages moved up, of a policy on a load of the tiering chapter at 3%/8%.
fn run(name: &str, policy: &str, seed: u64) -> (f64, u64) {
    let (pages, ops) = (4_000, 300_000);
    let config = PhasesConfig::named(name, pages, ops, seed).expect("a load");
    let load = Phases::new(config).expect("a load");
    let narrow = |hot: Vec<u64>| hot.into_iter().map(|page| page as u32).collect();
    let phases = load.hot_pages().into_iter();
    let phases = phases.map(|(start, hot)| OraclePhase { start, hottest: narrow(hot) }).collect();
    let oracle = Oracle { phases };
    let (tiers, spec) = (TierSpec::text(), policy.parse::<PolicySpec>().expect("a policy"));
    let placement = Placement::shuffled(pages as u32, &[120, 320, pages], seed).expect("they fit");
    let context = Context { tiers: &tiers, placement: &placement, seed, oracle: Some(&oracle) };
    let initial = spec.initial(&context).expect("a placement");
    let policy = spec.build(&Context { placement: &initial, ..context }).expect("a policy");
    let arrivals = Arrivals::Closed { clients: 32 };
    let mut replay = Replay::new(&tiers, initial, policy, arrivals).expect("valid");
    for op in load {
        let op = op.expect("made loads have no errors");
        replay.push(Request { page: op.page as u32, write: op.write }).expect("the page exists");
    }
    let report = replay.finish();
    (report.runtime_ns as f64 / 1e9, report.promotions())
}

#[test]
fn ideal_takes_as_long_as_its_formula_says() {
    // 5hf90 at 3%/8%: all hot pages fit the two upper tiers. The slowest one serves
    // (4,000 - 440) / (4,000 - 200) of a tenth of the accesses, 1,250 us on average, two at once.
    let (seconds, moved) = run("5hf90", "ideal", 1);
    let formula = 300_000.0 * 0.1 * (3_560.0 / 3_800.0) * 1_250e-6 / 2.0;
    assert!((seconds / formula - 1.0).abs() < 0.03, "{seconds} s, the formula says {formula}");
    assert_eq!(moved, 0);
}

#[test]
fn payback_finds_the_hot_pages_and_then_leaves_them_alone() {
    for seed in 1..4 {
        let (ideal, _) = run("5hf90", "ideal", seed);
        let (ours, moved) = run("5hf90", "payback", seed);
        let (_, theirs) = run("5hf90", "temp", seed);
        assert!(ours < 1.07 * ideal, "seed {seed}: {ours} s, ideal {ideal}");
        assert!(2 * moved < theirs, "seed {seed}: {moved} pages moved, TEMP moves {theirs}");
    }
}

#[test]
fn payback_follows_a_hot_set_that_changes_and_one_that_slides() {
    for name in ["C", "hot-shift"] {
        let (ours, _) = run(name, "payback", 1);
        for other in ["static", "tlru", "tlfu", "lrfu", "exd", "temp"] {
            let (theirs, _) = run(name, other, 1);
            assert!(ours < 0.95 * theirs, "{name}: {ours} s, {other} {theirs}");
        }
    }
}

#[test]
fn our_policies_leave_a_uniform_load_alone() {
    for policy in ["payback", "cost-benefit"] {
        let (_, moved) = run("0hf0", policy, 1);
        assert!(moved <= 300, "{policy}: {moved} of 300,000 accesses moved a page");
    }
}

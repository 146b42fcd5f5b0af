//! Graphs that are updated while the power is cut or writes fail, at every change of the device.

use cenote_sim::updates::crash::{replay, sweep_on};
use cenote_sim::updates::{History, Step, Sweep, tiered};
use cenote_store::Answer;

#[test]
fn twenty_thousand_faults_leave_the_graph_before_or_after_a_step() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let points = sweep_on(cores, 0, 20_000, &|_, _| {});
    let points = points.unwrap_or_else(|fault| panic!("{fault}"));
    println!("{points} crash points");
    assert!(points >= 20_000);
}

#[test]
fn same_seed_gives_the_same_history_and_the_same_points() {
    for seed in 0..4 {
        let [mut one, mut two] = [(); 2].map(|()| History::new(seed).expect("no faults"));
        assert!(one.contents == two.contents, "seed {seed}");
        let steps = |history: &History| format!("{:?}", history.steps);
        assert_eq!(steps(&one), steps(&two));
        assert_eq!(one.points(seed), two.points(seed));
    }
    assert_eq!(replay(1, 5), Ok(()));
}

#[test]
fn histories_are_of_all_kinds() {
    let histories: Vec<_> = (0..80).map(|seed| History::new(seed).expect("no faults")).collect();
    let answers: Vec<Answer> = histories.iter().flat_map(|h| h.answers.concat()).collect();
    use Answer::{Absent, Done, Present, SelfLoop, Unknown};
    for answer in [Done, Present, Absent, SelfLoop, Unknown] {
        assert!(answers.contains(&answer), "{answer:?}");
    }
    let any = |what: fn(&History) -> bool| histories.iter().any(what);
    let mut batches = histories.iter().flat_map(|h| &h.steps).filter_map(Step::batch);
    assert!(batches.any(|batch| !batch.new_ids.is_empty()));
    assert!(any(|h| h.states.windows(2).any(|pair| pair[0].is_same(&pair[1]))));
    let any_step = |what: fn(&Step) -> bool| histories.iter().any(|h| h.steps.iter().any(what));
    assert!(any_step(|step| matches!(step, Step::Commit(_))));
    assert!(any_step(|step| matches!(step, Step::Update(_))));
    assert!(any_step(|step| matches!(step, Step::Merge)));
    assert!(any_step(|step| matches!(step, Step::Snapshot(_))));
    assert!(any_step(|step| matches!(step, Step::Remove(_))));
    assert!(any(|h| h.states.iter().any(|state| state.snapshots.len() > 1)));
    assert!(any_step(|step| matches!(step, Step::Open(limits) if limits.bytes == 0)));
    assert!(any(|h| h.states.iter().any(|state| state.edges.is_empty())));
    let deleted = |h: &History| h.states.iter().filter(|state| !state.deleted.is_empty()).count();
    assert!(histories.iter().filter(|history| deleted(history) > 0).count() > 20);
    let revives = |pair: &[cenote_sim::updates::State]| {
        pair[0].deleted.difference(&pair[1].deleted).next().is_some()
    };
    assert!(histories.iter().any(|h| h.states.windows(2).any(revives)));
    let repeats = |h: &History| h.states.iter().any(|s| s.edges.values().any(|copies| *copies > 2));
    assert!(histories.iter().filter(|history| repeats(history)).count() > 5);
    let is_weighted = |h: &&History| h.options.weights.is_some();
    assert!((15..50).contains(&histories.iter().filter(is_weighted).count()));
    assert!(any(|h| h.states[0].edges.len() > 1_000) && any(|h| h.states[0].edges.len() < 3));
}

#[test]
fn histories_have_delta_runs_and_merges_beside_other_steps() {
    look_for_runs(24);
}

#[test]
#[ignore = "long: make soak"]
fn longer_histories_have_delta_runs_and_merges_beside_other_steps() {
    look_for_runs(60);
}

fn look_for_runs(seeds: u64) {
    let spilled = (0..seeds).map(|seed| {
        let mut history = History::new(seed).expect("no faults");
        history.points(seed).expect("no faults");
        (history.spilled, history.beside_made, history.beside().is_some_and(|(_, steps)| steps > 0))
    });
    let spilled: Vec<_> = spilled.collect();
    let of = |what: fn(&(usize, usize, bool)) -> bool| spilled.iter().filter(|of| what(of)).count();
    assert!(of(|(spilled, ..)| *spilled > 0) > 3, "{spilled:?}");
    // Runs are merged while other steps are made.
    assert!(of(|(_, made, has_steps)| *made > 0 && *has_steps) > 2, "{spilled:?}");
}

/// A snapshot of another state, or one that is missing, is found.
#[test]
fn wrong_snapshots_are_found() {
    let with_one = |seed: &u64| {
        let history = History::new(*seed).expect("no faults");
        let last = history.states.last().expect("there is a first state");
        let of = |(_, of): &(String, usize)| history.states[*of].edges.is_empty();
        !last.snapshots.is_empty() && !last.snapshots.iter().any(of)
    };
    let with_point = |seed: u64| {
        let mut history = History::new(seed).expect("no faults");
        let points = history.points(seed).expect("no faults");
        let last = history.steps.len();
        let at = points.iter().position(|point| point.from + 1 == last)?;
        Some((seed, history, at, points))
    };
    let found = (0..200).filter(with_one).find_map(with_point);
    let (seed, mut history, at, points) = found.expect("a snapshot and a point at the end");
    let of = history.states.last().expect("there is a first state").snapshots[0].1;
    history.states[of].edges.pop_last();
    let point = &points[at];
    let fault = history.crash(seed, at, point, Sweep::default());
    assert!(fault.is_err(), "it saw no lost edge of a snapshot");
}

/// A simulator that does not find a lost edge proves nothing.
#[test]
fn a_lost_edge_and_a_wrong_epoch_are_found() {
    let seed = 3;
    let mut history = History::new(seed).expect("no faults");
    let points = history.points(seed).expect("no faults");
    for state in &mut history.states {
        state.edges.pop_last();
    }
    let fault = history.crash(seed, 0, &points[0], Sweep::default());
    assert!(fault.is_err(), "it saw no lost edge");
    let mut history = History::new(seed).expect("no faults");
    let points = history.points(seed).expect("no faults");
    for epochs in &mut history.epochs {
        *epochs = epochs.start() + 9..=epochs.end() + 9;
    }
    let fault = history.crash(seed, 0, &points[0], Sweep::default()).expect_err("another epoch");
    assert!(!fault.contains("panicked"), "{fault}");
    assert_eq!(replay(seed, 0), Ok(()), "without harm");
}

#[test]
fn power_cuts_while_blocks_move_between_tiers_leave_the_graph_before_or_after_a_step() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = tiered::sweep_on(cores, 0, 5_000).unwrap_or_else(|fault| panic!("{fault}"));
    println!("{count:?}");
    assert!(count.cuts >= 5_000 && count.moved > 250, "{count:?}");
    assert!(count.ended > 5 && count.failed > 5 && count.full > 0, "{count:?}");
}

/// The same for tiers: a lost edge, and a member whose syncs do nothing, are found.
#[test]
fn a_lost_edge_and_a_member_that_is_not_synced_are_found_over_tiers() {
    let seed = 3;
    let mut history = History::new(seed).expect("no faults");
    history.points(seed).expect("no faults");
    for state in &mut history.states {
        state.edges.pop_last();
    }
    let fault = tiered::cut_history(seed, history).expect_err("it saw no lost edge");
    assert!(!fault.contains("panicked"), "{fault}");
    for member in 0..3 {
        let finds = |seed: &u64| tiered::cut_without_syncs(*seed, member).is_err();
        assert!((0..20).any(|seed| finds(&seed)), "the syncs of member {member} are not missed");
    }
}

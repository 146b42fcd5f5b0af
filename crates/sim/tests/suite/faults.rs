//! Faults and power cuts take effect and leave a graph or an error behind.

use cenote_sim::Outcome;
use cenote_sim::faults::{End, import_under_fault, import_under_power_cut, run_under_fault};
use cenote_sim::random::Random;

/// The ends of so many rounds; a round that fails names its seed.
fn ends<T>(seeds: std::ops::Range<u64>, round: fn(&mut Random) -> Outcome<T>) -> Vec<T> {
    let play = |seed| match round(&mut Random::new(seed)) {
        Ok(end) => end,
        Err(fault) => panic!("seed {seed}: {fault}"),
    };
    seeds.map(play).collect()
}

/// Faults that never strike, or always do, test nothing.
fn assert_both(ends: &[End]) {
    let errors = ends.iter().filter(|&&end| end == End::Error).count();
    assert!(errors > 0 && errors < ends.len(), "{errors} errors in {} ends", ends.len());
}

#[test]
fn fault_during_import_leaves_an_error_or_the_right_graph() {
    assert_both(&ends(100..130, import_under_fault));
}

#[test]
fn power_cut_during_import_leaves_no_graph_or_the_whole_graph() {
    let ends = ends(200..230, import_under_power_cut);
    assert!(ends.contains(&End::Error), "the power was never cut in time");
}

#[test]
fn fault_during_an_algorithm_is_an_error_or_the_right_answer() {
    assert_both(&ends(300..306, run_under_fault).concat());
}

//! The whole system from an edge list to answers, on simulated devices, compared with the oracle.

use cenote_sim::house::Case;
use cenote_sim::random::Random;
use cenote_sim::shape::SHAPES;
use cenote_sim::{fuzz, house};

#[test]
fn same_seed_gives_the_same_case_and_the_same_bytes() {
    for seed in 0..5 {
        let [one, two] = [(); 2].map(|()| Case::random(&mut Random::new(seed)));
        assert_eq!(one.edges, two.edges, "seed {seed}");
        let [one, two] = [one, two].map(|case| case.store().expect("no faults").device.contents());
        assert!(one == two, "seed {seed}: the files differ");
    }
}

#[test]
fn graph_of_every_shape_is_stored_as_the_oracle_has_it() {
    for (seed, shape) in (0..).zip(SHAPES) {
        let mut random = Random::new(seed);
        let mut case = Case::random(&mut random);
        case.edges = shape.edges(&mut random);
        let stored = case.store().expect("no faults");
        let graph = house::open_whole(stored.device).expect("whole");
        let compared = house::compare_stored(&graph, &case.oracle());
        assert_eq!(compared, Ok(()), "{shape:?}, seed {seed}");
    }
}

#[test]
fn house_answers_as_the_oracle_does() {
    assert_eq!(fuzz::run("house", 1000, 8), Ok(()));
}

#[test]
#[ignore = "long: make soak"]
fn longer_house_answers_as_the_oracle_does() {
    assert_eq!(fuzz::run("house", 1000, 20), Ok(()));
}

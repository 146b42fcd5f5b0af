//! A short run of every fuzzer, and of the canary, which must fail.

use cenote_sim::faults::End;
use cenote_sim::fuzz::{self, CANARY, FUZZERS, inputs, pages, tiers};
use cenote_sim::random::Random;

/// An eighth of the rounds: `make soak` runs all, eight times.
#[test]
fn smoke() {
    let failed: Vec<String> = std::thread::scope(|scope| {
        let fuzzers = FUZZERS
            .iter()
            .map(|fuzzer| scope.spawn(move || (fuzzer.run)(1, fuzzer.rounds.div_ceil(8)).err()));
        let fuzzers: Vec<_> = fuzzers.collect();
        fuzzers
            .into_iter()
            .filter_map(|fuzzer| fuzzer.join().expect("faults are reported"))
            .collect()
    });
    assert!(failed.is_empty(), "{} fuzzers failed:\n{}", failed.len(), failed.join("\n\n"));
}

#[test]
fn canary_fails_and_names_its_seed() {
    for seed in 0..4 {
        let fault = (CANARY.run)(seed, 1).expect_err("a simulator that sees no fault");
        assert!(fault.contains(&format!("canary, seed {seed}")), "{fault}");
        assert!(fault.contains(&format!("--example fuzz -- canary {seed}")), "{fault}");
        assert!(fault.contains("of vertex"), "another fault than the one it made: {fault}");
    }
}

#[test]
fn names_are_unique_and_the_error_of_an_unknown_one_lists_them() {
    for fuzzer in FUZZERS {
        let found = fuzz::find(fuzzer.name).expect("it is listed");
        assert_eq!(found.about, fuzzer.about);
    }
    let fault = fuzz::run("nobody", 0, 1).expect_err("nobody is called so");
    assert!(fault.contains("house") && fault.contains("superblock"), "{fault}");
}

/// A fuzzer that never breaks anything, or leaves nothing that still works, tests nothing.
#[test]
fn damage_is_neither_always_fatal_nor_never() {
    break_and_read(8);
}

#[test]
#[ignore = "long: make soak"]
fn longer_damage_is_neither_always_fatal_nor_never() {
    break_and_read(20);
}

fn break_and_read(rounds: usize) {
    let mut random = Random::new(5);
    let (mut pages, mut superblocks, mut images, mut files) = (vec![], vec![], vec![], vec![]);
    let mut tiered = vec![];
    for _ in 0..rounds {
        tiered.push(tiers::damaged(&mut random).expect("a fault of its own"));
        pages.extend(pages::adjacency(&mut random).expect("a fault of its own"));
        superblocks.extend(pages::superblock(&mut random).expect("a fault of its own"));
        images.extend(pages::any_page(&mut random).expect("a fault of its own"));
        files.push(inputs::mutated(&mut random).expect("a fault of its own"));
    }
    for (what, ends) in [
        ("pages", pages),
        ("superblocks", superblocks),
        ("images", images),
        ("files", files),
        ("tiers", tiered),
    ] {
        let errors = ends.iter().filter(|&&end| end == End::Error).count();
        println!("{what}: {errors} of {} are refused", ends.len());
        assert!(errors > 0 && errors < ends.len(), "{what}: {errors} of {}", ends.len());
    }
}

#[test]
fn a_slot_of_the_last_epoch_that_a_word_can_hold_is_refused() {
    assert_eq!(fuzz::run("image", 1_000_290, 1), Ok(()));
}

/// Seeds that found something once.
#[test]
fn lists_that_contradict_each_other_do_not_stop_pagerank() {
    for seed in [777_303, 888_678, 999_356] {
        assert_eq!(fuzz::run("image", seed, 1), Ok(()));
    }
}

#[test]
fn the_last_epoch_that_can_be_written_does_not_stop_tiers() {
    assert_eq!(fuzz::run("tiers", 54_197, 1), Ok(()));
}

//! Every fuzzer for a moment, and the canary, which must fail.

use cenote_sim::fuzz::{self, CANARY, FUZZERS};

#[test]
fn smoke() {
    let failed: Vec<String> = std::thread::scope(|scope| {
        let fuzzers =
            FUZZERS.iter().map(|fuzzer| scope.spawn(move || (fuzzer.run)(1, fuzzer.rounds).err()));
        let fuzzers: Vec<_> = fuzzers.collect();
        fuzzers.into_iter().filter_map(|fuzzer| fuzzer.join().expect("faults are told")).collect()
    });
    assert!(failed.is_empty(), "{} fuzzers failed:\n{}", failed.len(), failed.join("\n\n"));
}

#[test]
fn canary_fails_and_tells_its_seed() {
    for seed in 0..4 {
        let fault = (CANARY.run)(seed, 1).expect_err("a simulator that sees no fault");
        assert!(fault.contains(&format!("canary, seed {seed}")), "{fault}");
        assert!(fault.contains(&format!("--example fuzz -- canary {seed}")), "{fault}");
        assert!(fault.contains("of vertex"), "another fault than the one it made: {fault}");
    }
}

#[test]
fn names_are_unique_and_unknown_ones_are_told_the_known() {
    for fuzzer in FUZZERS {
        let found = fuzz::find(fuzzer.name).expect("it is listed");
        assert_eq!(found.about, fuzzer.about);
    }
    let fault = fuzz::run("nobody", 0, 1).expect_err("nobody is called so");
    assert!(fault.contains("house") && fault.contains("superblock"), "{fault}");
}

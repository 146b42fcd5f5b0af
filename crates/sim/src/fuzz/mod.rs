//! The registry of fuzzers, library functions with names.
//!
//! - [`pages`]: damaged pages with right checksums
//! - [`inputs`]: broken input files
//! - [`roundtrip`]: export and import again; broken compressed files
//! - [`stops`]: cancelled work, and budgets that are too small
//! - [`ways`]: the same answer for all strategies, threads, devices and page sizes
//! - [`weights`]: weighted graphs, whole and damaged
//! - [`sets`]: bitmaps and frontiers compared with a tree set
//! - [`tiered`]: the whole system on tiers while blocks move
//! - [`tiers`]: damaged and hostile sets of tiers
//! - [`canary`]: must fail, which proves that failures are detected
//! - [`house::live`], [`crash::every_point`], [`tiered_updates::every_cut`],
//!   [`threads::cut_among_threads`] and the functions of [`faults`]

pub mod canary;
pub mod inputs;
pub mod pages;
pub mod roundtrip;
pub mod sets;
pub mod stops;
pub mod tiered;
pub mod tiers;
pub mod ways;
pub mod weights;

use crate::guard::{PATIENCE, guarded};
use crate::random::Random;
use crate::updates::{crash, threads, tiered as tiered_updates};
use crate::{Outcome, faults, house};

/// Runs `rounds` rounds from a seed; round i is round 0 of `seed + i`.
pub type Fuzzer = fn(seed: u64, rounds: u32) -> Outcome;

/// A fuzzer and its name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Number of rounds that take a few seconds.
    pub rounds: u32,
    /// Runs the fuzzer.
    pub run: Fuzzer,
}

macro_rules! fuzzers {
    ($($name:literal, $rounds:literal, $round:expr, $about:literal;)*) => {
        &[$(Named {
            name: $name,
            about: $about,
            rounds: $rounds,
            run: |seed, rounds| run_rounds($name, seed, rounds, |random| $round(random).map(drop)),
        }),*]
    };
}

/// All fuzzers that must pass.
pub const FUZZERS: &[Named] = fuzzers! {
    "house", 15, house::live, "import, open, ask, compare with the oracle";
    "import-fault", 15, faults::import_under_fault, "import on devices that fail";
    "import-cut", 15, faults::import_under_power_cut, "import while the power is cut";
    "import-durable", 5, faults::power_cut_after_import, "the power is cut after an import";
    "house-large", 5, house::live_large, "the same with graphs of hundreds of pages";
    "run-fault", 20, faults::run_under_fault, "algorithms on devices that fail";
    "run-fault-large", 2, faults::large_run_under_fault, "the same with hundreds of pages";
    "page", 60, pages::adjacency, "the page parser on damaged pages with right checksums";
    "superblock", 60, pages::superblock, "damaged superblocks with right checksums";
    "image", 40, pages::any_page, "damaged pages of any kind with right checksums";
    "input", 60, inputs::mutated, "broken input files of every format";
    "roundtrip", 15, roundtrip::live, "export, pack, import again: the same graph";
    "packed", 30, roundtrip::mutated, "broken Parquet, gzip and zstd files";
    "stop", 15, stops::cancelled, "import and runs that are cancelled at any time";
    "budget", 10, stops::budgets, "the error of a budget that is too small names one that suffices";
    "ways", 3, ways::agree, "strategies x threads x backends x page sizes give one answer";
    "weights", 20, weights::live, "walks by weight and shortest paths, also over damaged pages";
    "house-tiers", 10, tiered::live, "the whole system on tiers while blocks move";
    "tiers", 150, tiers::damaged, "sets of tiers with a damaged page, or with hostile members";
    "update-cut", 6, crash::every_point, "power cuts and faults at every change of updated graphs";
    "update-tiers", 4, tiered_updates::every_cut, "the same over tiers whose blocks move";
    "update-threads", 40, threads::cut_among_threads, "power cuts while threads commit";
    "sets", 60, sets::agree, "bitmaps and frontiers against a tree set";
};

/// The fuzzer that must fail.
pub const CANARY: Named = Named {
    name: "canary",
    about: "must fail: it finds a fault that it made itself",
    rounds: 1,
    run: |seed, rounds| run_rounds("canary", seed, rounds, canary::wrong_oracle),
};

/// The fuzzer with this name.
pub fn find(name: &str) -> Option<Named> {
    FUZZERS.iter().chain([&CANARY]).find(|fuzzer| fuzzer.name == name).copied()
}

/// Runs the fuzzer with this name.
pub fn run(name: &str, seed: u64, rounds: u32) -> Outcome {
    let fuzzer = find(name).ok_or_else(|| {
        let names: Vec<&str> = FUZZERS.iter().map(|fuzzer| fuzzer.name).collect();
        format!("no fuzzer is called {name}; there are {}", names.join(", "))
    })?;
    (fuzzer.run)(seed, rounds)
}

/// Runs rounds, each on a guarded thread. The error says how to repeat the failure.
fn run_rounds(name: &str, seed: u64, rounds: u32, round: fn(&mut Random) -> Outcome) -> Outcome {
    for i in 0..rounds {
        let seed = seed.wrapping_add(u64::from(i));
        let outcome = guarded(PATIENCE, move || round(&mut Random::new(seed)));
        outcome.and_then(|outcome| outcome).map_err(|fault| {
            format!(
                "{name}, seed {seed}: {fault}\n\
                 again: cargo run -p cenote-sim --example fuzz -- {name} {seed}"
            )
        })?;
    }
    Ok(())
}

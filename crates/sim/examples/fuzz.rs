//! Runs a fuzzer: `cargo run -p cenote-sim --example fuzz -- NAME [SEED [ROUNDS]]`.
//! Without a name it lists them; ROUNDS is 1 unless given. `all` runs each of them, ROUNDS times as
//! long as in the tests, and prints how long each took.

use std::process::ExitCode;
use std::time::Instant;

use cenote_sim::fuzz::{self, CANARY, FUZZERS};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = words.first() else {
        for fuzzer in FUZZERS.iter().chain([&CANARY]) {
            println!("{:15} {}", fuzzer.name, fuzzer.about);
        }
        return ExitCode::SUCCESS;
    };
    let number = |at: usize, default: u64| {
        words.get(at).map_or(Ok(default), |word| word.parse::<u64>().map_err(|_| word))
    };
    let (seed, rounds) = match (number(1, 0), number(2, 1)) {
        (Ok(seed), Ok(rounds)) => (seed, u32::try_from(rounds).unwrap_or(u32::MAX)),
        (Err(word), _) | (_, Err(word)) => {
            eprintln!("{word} is not a number; usage: fuzz NAME [SEED [ROUNDS]]");
            return ExitCode::from(2);
        }
    };
    if name == "all" {
        return run_all(seed, rounds);
    }
    match fuzz::run(name, seed, rounds) {
        Ok(()) => {
            println!("{name}: {rounds} rounds from seed {seed} passed");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn run_all(seed: u64, times: u32) -> ExitCode {
    for fuzzer in FUZZERS {
        let (begin, rounds) = (Instant::now(), fuzzer.rounds * times);
        if let Err(fault) = (fuzzer.run)(seed, rounds) {
            eprintln!("{fault}");
            return ExitCode::FAILURE;
        }
        let seconds = begin.elapsed().as_secs_f64();
        println!("{:15} {rounds} rounds from seed {seed} passed in {seconds:.1} s", fuzzer.name);
    }
    ExitCode::SUCCESS
}

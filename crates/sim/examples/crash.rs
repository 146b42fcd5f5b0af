//! Power cuts and failing writes at every change of graphs that are updated.
//!
//! `cargo run -p cenote-sim --example crash -- POINTS [SEED]` plays so many crash points on all
//! cores, `cargo run -p cenote-sim --example crash -- replay SEED [POINT]` one again, or all of a
//! seed; `cargo run -p cenote-sim --example crash -- tiers SEED [SEEDS]` those of so many histories
//! over tiers.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cenote_sim::updates::crash::{Sweep, replay, sweep, sweep_on};
use cenote_sim::updates::tiered;

/// Points between two lines of progress.
const PRINT_EACH: u64 = 20_000;

const USAGE: &str =
    "usage: crash POINTS [SEED] | crash replay SEED [POINT] | crash tiers SEED [SEEDS]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let verb = words.first().filter(|word| word.parse::<u64>().is_err());
    let numbers = words.iter().skip(usize::from(verb.is_some())).map(|word| word.parse::<u64>());
    let Ok(numbers) = numbers.collect::<Result<Vec<u64>, _>>() else { return usage() };
    let outcome = match (verb.map(String::as_str), &numbers[..]) {
        (Some("replay"), [seed]) => sweep(*seed..*seed + 1, u64::MAX, Sweep::default()),
        (Some("replay"), [seed, point]) => replay(*seed, *point as usize).map(|()| 1),
        (Some("tiers"), [seed]) => tiered::sweep(*seed..*seed + 1).map(|count| count.cuts),
        (Some("tiers"), [seed, seeds]) => {
            tiered::sweep(*seed..*seed + *seeds).map(|count| count.cuts)
        }
        (None, [points]) => on_all_cores(*points, 0),
        (None, [points, seed]) => on_all_cores(*points, *seed),
        _ => return usage(),
    };
    match outcome {
        Ok(points) => {
            println!("{points} crash points passed");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn on_all_cores(points: u64, seed: u64) -> Result<u64, String> {
    let (begin, printed) = (Instant::now(), AtomicU64::new(0));
    let progress = |done: u64, seed| {
        if printed.fetch_max(done / PRINT_EACH, Ordering::Relaxed) < done / PRINT_EACH {
            println!("{done} points up to seed {seed}, {} s", begin.elapsed().as_secs());
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    sweep_on(cores, seed, points, &progress)
}

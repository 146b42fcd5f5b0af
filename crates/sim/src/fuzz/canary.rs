//! A fuzzer that must fail: it proves that the simulator detects wrong answers.

use cenote_device::backend::sim::FaultPlan;

use crate::Outcome;
use crate::disk::drive_with;
use crate::house::{Case, compare_answer, open_whole};
use crate::question::{Question, random_config};
use crate::random::Random;

/// Stores a graph and compares it with the oracle of another graph, in which vertex 0 has a
/// different list.
pub fn wrong_oracle(random: &mut Random) -> Outcome {
    let case = Case::random(random);
    let contents = case.store()?.device.contents();
    let graph = open_whole(drive_with(&case.drive, FaultPlan::none(), &contents))?;
    let mut other = case.oracle();
    let last = other.out.len() as u32 - 1;
    // This changes the component and the rank of vertex 0.
    other.out[0] = if other.out[0] == [last] { vec![] } else { vec![last] };
    other.back = crate::oracle::Oracle::of_lists(&other.out).back;
    for question in [Question::Bfs { source: 0 }, Question::PageRank { iterations: 2 }] {
        compare_answer(&graph, &other, question, &random_config(random))?;
    }
    Ok(())
}

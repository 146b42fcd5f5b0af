//! Runs of the whole system with failing devices and power cuts: the result is the right answer or
//! a clean error, never a graph other than the one imported.

use std::sync::Arc;

use cenote_algo::AlgoError;
use cenote_device::backend::sim::{Effect, FaultPlan, SimConfig, SimDevice, Unsynced, When};
use cenote_engine::EngineConfig;
use cenote_store::Graph;

use crate::disk::{SimWorkspace, drive_with};
use crate::house::{Case, compare_stored, open_whole};
use crate::oracle::Oracle;
use crate::question::{Answer, Question, ask_within_budget, random_config};
use crate::random::Random;
use crate::shape::LARGE_SHAPES;
use crate::{Outcome, demand};

/// `EIO` and `ENOSPC`.
const ERRNOS: [i32; 2] = [5, 28];

/// Fates of unsynced writes.
const UNSYNCED: [Unsynced; 4] = [Unsynced::Random, Unsynced::Kept, Unsynced::Lost, Unsynced::Torn];

/// How a run with a fault ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the right answer, unaffected by the fault.
    Right,
    /// With an error.
    Error,
}

/// Checks that an error is readable: one line, not empty.
pub fn clean(error: &dyn std::error::Error) -> Outcome<End> {
    let message = error.to_string();
    let readable = !message.trim().is_empty() && !message.contains('\n');
    demand(readable, || format!("an error is not one line: {message:?}"))?;
    Ok(End::Error)
}

/// A random fault other than a power cut, at an operation below `operations`.
fn random_fault(random: &mut Random, operations: u64) -> FaultPlan {
    let n = random.below(operations.max(1));
    let plan = FaultPlan::seeded(random.bits());
    match random.below(6) {
        0 => plan.with(When::Operation(n), Effect::Errno(random.pick(&ERRNOS))),
        1 => plan.with(When::Operation(n), Effect::ShortRead),
        2 => plan.with(When::Operation(n), Effect::TornWrite),
        3 => plan.with(When::Operation(n), Effect::LostWrite),
        4 => plan.with(When::ReadChance(0.05), Effect::ShortRead),
        _ => FaultPlan { capacity_bytes: Some(random.below(200_000)), ..plan },
    }
}

/// A power cut at an operation below `operations`.
fn random_cut(random: &mut Random, operations: u64) -> FaultPlan {
    let n = random.below(operations.max(1));
    FaultPlan { unsynced: random.pick(&UNSYNCED), ..FaultPlan::power_cut(random.bits(), n) }
}

/// Imports with a fault of the output or of the spill files.
pub fn import_under_fault(random: &mut Random) -> Outcome<End> {
    let case = Case::random(random);
    let stored = case.store()?;
    let none = FaultPlan::none();
    let (spill, output) = if random.chance(50) {
        (random_fault(random, stored.spill_operations), none)
    } else {
        (none, random_fault(random, stored.device.operations()))
    };
    let context = format!("spill {spill:?}, output {output:?}");
    faulty_import(&case, spill, output).map_err(|fault| format!("{context}: {fault}"))
}

fn faulty_import(case: &Case, spill: FaultPlan, output: FaultPlan) -> Outcome<End> {
    let workspace = SimWorkspace::new(case.drive.clone(), spill, output);
    match case.import(&workspace) {
        Err(error) => {
            demand(!workspace.is_published(), || format!("published in spite of: {error}"))?;
            clean(&error)
        }
        Ok(_) => {
            let device = workspace.written().ok_or("no output")?;
            // A drive that lost an acknowledged write shows it after the restart.
            nothing_but_the_graph(&device, &case.oracle(), Drive::Lied)
        }
    }
}

/// Imports with a power cut of the output or of the spill files.
pub fn import_under_power_cut(random: &mut Random) -> Outcome<End> {
    let case = Case::random(random);
    let stored = case.store()?;
    let none = FaultPlan::none();
    let (spill, output) = if random.chance(20) {
        (random_cut(random, stored.spill_operations), none)
    } else {
        (none, random_cut(random, stored.device.operations()))
    };
    let context = format!("{:?} graph, spill {spill:?}, output {output:?}", case.shape);
    cut_import(&case, spill, output).map_err(|fault| format!("{context}: {fault}"))
}

fn cut_import(case: &Case, spill: FaultPlan, output: FaultPlan) -> Outcome<End> {
    let workspace = SimWorkspace::new(case.drive.clone(), spill, output);
    let done = case.import(&workspace);
    let Some(device) = workspace.written() else {
        return done.map_or_else(|error| clean(&error), |_| Err("done without an output".into()));
    };
    match done {
        Err(error) => {
            demand(!workspace.is_published(), || format!("published in spite of: {error}"))?;
            clean(&error)?;
            nothing_but_the_graph(&device, &case.oracle(), Drive::Honest)
        }
        // Thread timing may have left the operation unreached.
        Ok(_) if !device.is_power_cut() => Ok(End::Right),
        Ok(_) => Err("import reports success though the power was cut".into()),
    }
}

/// Whether the drive kept the writes that it acknowledged and synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drive {
    Honest,
    Lied,
}

/// Checks that after a restart the device does not open, or holds the graph. If the drive lied, the
/// graph may open damaged, but then `check` finds the damage and no answer is wrong.
fn nothing_but_the_graph(device: &SimDevice, oracle: &Oracle, drive: Drive) -> Outcome<End> {
    let found: Arc<SimDevice> = Arc::new(device.restart(FaultPlan::none()));
    let graph = match Graph::open(found) {
        Ok(graph) => graph,
        Err(error) => return clean(&error),
    };
    let report = cenote_store::check(&graph, &mut |_, _| true).map_err(|e| e.to_string())?;
    if report.is_whole() {
        compare_stored(&graph, oracle)?;
        return Ok(End::Right);
    }
    demand(drive == Drive::Lied, || format!("half a graph opens: {:?}", report.faults))?;
    // Damage that `check` finds must not become an answer.
    let graph = Arc::new(graph);
    for question in Question::all(graph.vertices(), &mut Random::new(0)) {
        let config = EngineConfig::with_memory(64 << 20);
        match ask_within_budget(question, &graph, &config) {
            Ok(found) => right(&found, &question.answer(oracle))?,
            Err(error) => clean(&error)?,
        };
    }
    Ok(End::Error)
}

/// Cuts the power right after an import. The published graph must survive.
pub fn power_cut_after_import(random: &mut Random) -> Outcome {
    let case = Case::random(random);
    for unsynced in UNSYNCED {
        let plan = FaultPlan { unsynced, ..FaultPlan::seeded(random.bits()) };
        let workspace = SimWorkspace::new(case.drive.clone(), FaultPlan::none(), plan);
        case.import(&workspace).map_err(|error| format!("import failed: {error}"))?;
        let device = workspace.written().ok_or("no output")?;
        let graph = open_whole(Arc::new(device.restart(FaultPlan::none())))?;
        compare_stored(&graph, &case.oracle())?;
    }
    Ok(())
}

/// Runs every algorithm with faults while it opens the graph or runs.
pub fn run_under_fault(random: &mut Random) -> Outcome<Vec<End>> {
    let case = Case::random(random);
    faulty_runs(&case, random)
}

/// [`run_under_fault`] on a graph of hundreds of pages.
pub fn large_run_under_fault(random: &mut Random) -> Outcome<Vec<End>> {
    let shape = random.pick(&LARGE_SHAPES);
    faulty_runs(&Case::of_shape(shape, random), random)
}

fn faulty_runs(case: &Case, random: &mut Random) -> Outcome<Vec<End>> {
    let contents = case.store()?.device.contents();
    let oracle = case.oracle();
    let drive = &case.drive;
    let mut ends = Vec::new();
    for question in Question::all(oracle.out.len(), random) {
        let config = random_config(random);
        let sound = drive_with(drive, FaultPlan::none(), &contents);
        if let Err(error) = open_and_ask(&sound, question, &config) {
            let unsupported = matches!(error, AlgoError::Unsupported { .. });
            demand(unsupported, || format!("{question:?} fails without a fault: {error}"))?;
            continue;
        }
        let right_answer = question.answer(&oracle);
        for _ in 0..6 {
            let plan = run_fault(random, sound.operations(), contents.len() as u64);
            let context = || format!("{question:?} with {plan:?} and {}", config.strategy);
            ends.push(
                faulty_run(drive, plan.clone(), &contents, question, &config, &right_answer)
                    .map_err(|fault| format!("{}: {fault}", context()))?,
            );
        }
    }
    Ok(ends)
}

fn run_fault(random: &mut Random, operations: u64, bytes: u64) -> FaultPlan {
    let flipped = (random.below(bytes), random.below(8) as u32);
    match random.below(5) {
        0 => random_cut(random, operations),
        1 | 2 => FaultPlan { flipped_bits: vec![flipped], ..FaultPlan::seeded(random.bits()) },
        _ => FaultPlan { capacity_bytes: None, ..random_fault(random, operations) },
    }
}

fn faulty_run(
    drive: &SimConfig,
    plan: FaultPlan,
    contents: &[u8],
    question: Question,
    config: &EngineConfig,
    right_answer: &Answer,
) -> Outcome<End> {
    let device = drive_with(drive, plan, contents);
    match open_and_ask(&device, question, config) {
        Ok(found) => right(&found, right_answer),
        Err(error) => clean(&error),
    }
}

fn open_and_ask(
    device: &Arc<SimDevice>,
    question: Question,
    config: &EngineConfig,
) -> Result<Answer, AlgoError> {
    let graph = Graph::open(Arc::clone(device) as _)?;
    ask_within_budget(question, &Arc::new(graph), config)
}

fn right(found: &Answer, expected: &Answer) -> Outcome<End> {
    match found.difference(expected) {
        Some(difference) => Err(format!("a wrong answer instead of an error: {difference}")),
        None => Ok(End::Right),
    }
}

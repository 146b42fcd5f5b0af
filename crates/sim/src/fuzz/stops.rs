//! Cancels work at any time, and runs with budgets that are too small.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_algo::AlgoError;
use cenote_device::backend::sim::FaultPlan;
use cenote_engine::{Cancel, EngineError};
use cenote_import::{ImportError, InputSpec, Phase, Progress, import_into};

use crate::disk::SimWorkspace;
use crate::faults::End;
use crate::house::{Case, compare_stored, open_whole};
use crate::input;
use crate::question::{Question, random_config};
use crate::random::Random;
use crate::{Outcome, demand};

/// Cancels after it was polled this number of times.
struct StopAfter(AtomicU64);

impl Progress for StopAfter {
    fn begin(&self, _: Phase, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err()
    }
}

/// Cancels an import, and runs before they begin.
pub fn cancelled(random: &mut Random) -> Outcome<End> {
    let case = Case::random(random);
    let graph = open_whole(case.store()?.device)?;
    let cancel = Cancel::default();
    cancel.raise();
    let config = random_config(random).memory_bytes(64 << 20).cancel(cancel);
    for question in Question::all(graph.vertices(), random) {
        match question.ask(&graph, config.clone()) {
            // Without an iteration nothing can be interrupted.
            Ok(_) if question == (Question::PageRank { iterations: 0 }) => {}
            Err(AlgoError::Engine(EngineError::Interrupted)) => {}
            Err(AlgoError::Unsupported { .. })
                if question.may_be_unsupported(&graph, config.strategy) => {}
            other => return Err(format!("{question:?} was cancelled and gives {other:?}")),
        }
    }
    cancelled_import(&case, random.below(12))
}

fn cancelled_import(case: &Case, asked: u64) -> Outcome<End> {
    let failed = |e: std::io::Error| format!("no file: {e}");
    let file = tempfile::NamedTempFile::new().map_err(failed)?;
    let bytes = input::write(case.format, case.naming, &case.edges);
    std::fs::write(file.path(), bytes).map_err(failed)?;
    let none = FaultPlan::none;
    let workspace = SimWorkspace::new(case.drive.clone(), none(), none());
    let inputs = [InputSpec::with_format(file.path(), case.format)];
    let stop = StopAfter(AtomicU64::new(asked));
    match import_into(&inputs, &workspace, &case.options, &stop) {
        Err(ImportError::Cancelled) => {
            demand(!workspace.is_published(), || "a cancelled import was published".into())?;
            Ok(End::Error)
        }
        Err(error) => Err(format!("cancelled when asked {asked} times: {error}")),
        Ok(_) => {
            let graph = open_whole(workspace.written().ok_or("no output")?)?;
            compare_stored(&graph, &case.oracle())?;
            Ok(End::Right)
        }
    }
}

/// Checks that an error of a budget that is too small names one that helps, and for a run one that
/// suffices.
pub fn budgets(random: &mut Random) -> Outcome {
    let case = Case::random(random);
    let graph = open_whole(case.store()?.device)?;
    for question in Question::all(graph.vertices(), random) {
        let small = random.pick(&[0, 1000, 100_000]);
        let config = random_config(random).memory_bytes(small);
        let refused = match question.ask(&graph, config.clone()) {
            Err(AlgoError::Engine(EngineError::Budget { needed, suggested, .. })) => {
                demand(needed > small && suggested << 20 >= needed, || {
                    format!("{small} is too small, {needed} or {suggested} MiB would do")
                })?;
                [needed, suggested << 20]
            }
            _ => continue,
        };
        for memory_bytes in refused {
            let config = config.clone().memory_bytes(memory_bytes);
            let answer = question.ask(&graph, config);
            if let Err(error @ AlgoError::Engine(_)) = answer {
                return Err(format!("{question:?} in {memory_bytes} bytes, as suggested: {error}"));
            }
        }
    }
    import_budgets(&case, random)
}

fn import_budgets(case: &Case, random: &mut Random) -> Outcome {
    let mut case = case.clone();
    let mut memory_bytes = random.pick(&[0, 100_000, 1 << 20]);
    for _ in 0..20 {
        let none = FaultPlan::none;
        let workspace = SimWorkspace::new(case.drive.clone(), none(), none());
        case.options = case.options.memory_bytes(memory_bytes);
        match case.import(&workspace) {
            Err(ImportError::Memory { needed, .. }) => {
                demand(needed > memory_bytes, || format!("{memory_bytes} -> {needed}"))?;
                memory_bytes = needed;
            }
            Err(error) => return Err(format!("import in {memory_bytes} bytes: {error}")),
            Ok(report) => {
                let peak = report.peak_memory_bytes;
                demand(peak <= memory_bytes as u64, || format!("{peak} of {memory_bytes}"))?;
                let device: Arc<_> = workspace.written().ok_or("no output")?;
                return compare_stored(&*open_whole(device)?, &case.oracle());
            }
        }
    }
    Err(format!("after 20 budgets, each as suggested, {memory_bytes} is still too small"))
}

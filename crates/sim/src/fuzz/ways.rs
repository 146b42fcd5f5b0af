//! The same answer for all strategies, threads, devices and page sizes.

use std::path::Path;
use std::sync::Arc;

use cenote_device::Device;
use cenote_device::backend::file::{self, BackendChoice, OpenOptions};
use cenote_device::backend::sim::{FaultPlan, SimDevice};
use cenote_engine::EngineConfig;
use cenote_import::ImportConfig;
use cenote_store::Graph;

use crate::disk::drive_with;
use crate::house::{Case, PAGE_SIZES, compare_answer, open_whole, options};
use crate::question::{Answer, Question, STRATEGIES, ask_within_budget, random_config};
use crate::random::Random;
use crate::{Outcome, demand};

/// Asks the same questions in all configurations.
pub fn agree(random: &mut Random) -> Outcome {
    let mut case = Case::random(random);
    let oracle = case.oracle();
    let questions = Question::all(oracle.out.len(), random);
    for page_bytes in [PAGE_SIZES[0], random.pick(&PAGE_SIZES[1..])] {
        case.options = case.options.page_bytes(page_bytes);
        let contents = case.store()?.device.contents();
        same_bytes(&case, &contents, random)?;
        let file = tempfile::NamedTempFile::new().map_err(|e| format!("no file: {e}"))?;
        std::fs::write(file.path(), &contents).map_err(|e| format!("no file: {e}"))?;
        let mut ranks: Option<Answer> = None;
        for device in devices(&case, &contents, file.path())? {
            let backend = device.backend();
            let graph = open_whole(device)?;
            for strategy in STRATEGIES {
                let threads = 1 + random.index(4);
                let config = random_config(random).strategy(strategy).threads(threads);
                for question in questions {
                    compare_answer(&graph, &oracle, question, &config)
                        .map_err(|fault| format!("{page_bytes} B pages, {backend}: {fault}"))?;
                }
                same_bits(&graph, questions[2], &config, &mut ranks)?;
            }
        }
    }
    Ok(())
}

fn devices(case: &Case, contents: &[u8], path: &Path) -> Outcome<Vec<Arc<dyn Device>>> {
    let sim: Arc<SimDevice> = drive_with(&case.drive, FaultPlan::none(), contents);
    let mut devices: Vec<Arc<dyn Device>> = vec![sim];
    // Without io_uring both use threads.
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let options = OpenOptions::reading().backend(backend);
        devices.push(file::open(path, &options).map_err(|e| format!("no file: {e}"))?);
    }
    Ok(devices)
}

/// Checks that the file does not depend on threads, memory, or the order of the edges.
fn same_bytes(case: &Case, contents: &[u8], random: &mut Random) -> Outcome {
    let mut other = case.clone();
    let ImportConfig { memory_bytes, threads, .. } = options(random);
    other.options = other.options.memory_bytes(memory_bytes).threads(threads);
    let middle = random.index(other.edges.len());
    other.edges.rotate_left(middle);
    let same = other.store()?.device.contents() == contents;
    demand(same, || format!("{:?}: another file with {threads} threads", case.options))
}

/// Checks that ranks are the same to the last bit.
fn same_bits(
    graph: &Arc<Graph>,
    question: Question,
    config: &EngineConfig,
    first: &mut Option<Answer>,
) -> Outcome {
    let found = ask_within_budget(question, graph, config).map_err(|e| e.to_string())?;
    match first {
        None => *first = Some(found),
        Some(first) => demand(*first == found, || {
            let difference = found.difference(first);
            format!("{question:?} differs in its last bits by {config:?}: {difference:?}")
        })?,
    }
    Ok(())
}

//! Checks the snapshots of a graph.

use std::sync::Arc;

use super::{Check, CheckReport, FAULTS_LISTED_MAX, Fault, Progress, page_of, pages_of};
use crate::error::{Result, StoreError};
use crate::format::SLOTS;
use crate::graph::Graph;
use crate::pages::LookupConfig;
use crate::snapshot::SnapshotState;

/// Checks that the pages of the snapshots were not used again, and then each snapshot as the graph
/// itself. Faults of pages that it shares with the graph are in the report already.
pub(super) fn check_snapshots(
    graph: &Graph,
    report: &mut CheckReport,
    progress: Progress<'_>,
) -> Result<()> {
    let snapshots = match graph.read_snapshots() {
        Ok(snapshots) => snapshots,
        Err(error) => return note(report, error),
    };
    for state in &snapshots.all {
        let found = check_one(graph, state, progress);
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                note(report, error)?;
                continue;
            }
        };
        let listed = found.faults.len() as u64;
        let (faults, name) = (found.faults.into_iter(), &state.label.name);
        let new = faults.filter(|fault| !report.faults.contains(fault)).collect::<Vec<_>>();
        report.faults_total += found.faults_total - listed + new.len() as u64;
        let free = FAULTS_LISTED_MAX - report.faults.len();
        report.faults.extend(new.into_iter().take(free).map(|fault| Fault {
            message: format!("snapshot `{name}`: {}", fault.message),
            ..fault
        }));
    }
    Ok(())
}

fn check_one(graph: &Graph, state: &SnapshotState, progress: Progress<'_>) -> Result<CheckReport> {
    let (device, file) = (Arc::clone(graph.device()), Arc::clone(graph.file()));
    let at = Graph::of(device, file, state.latest(), |_| LookupConfig::default(), None)?;
    let report = CheckReport { pages: pages_of(&at), ..CheckReport::default() };
    let mut check = Check { graph: &at, report, done: SLOTS, progress };
    check.run()?;
    Ok(check.report)
}

/// Adds a fault of the file to the report. Passes on an error of the device, and that of a check
/// which the caller has ended.
fn note(report: &mut CheckReport, error: StoreError) -> Result<()> {
    if let StoreError::Device(_) | StoreError::Cancelled { .. } = error {
        return Err(error);
    }
    report.faults_total += 1;
    if report.faults.len() < FAULTS_LISTED_MAX {
        let fault = Fault { page: page_of(&error), message: error.to_string() };
        report.faults.push(fault);
    }
    Ok(())
}

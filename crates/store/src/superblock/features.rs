//! Required features: what a program must know to read a graph.

use super::{Section, SectionKind, Superblock};
use crate::error::{PageFault, other};

/// Required feature: the graph has a log.
pub(super) const LOG: u64 = 1 << 0;
/// Required feature: the graph has snapshots.
pub(super) const SNAPSHOTS: u64 = 1 << 1;
/// Required feature: there are changes in delta runs.
pub(super) const DELTA_RUNS: u64 = 1 << 2;
/// Required feature: some vertices are deleted.
const DELETED: u64 = 1 << 3;
/// Required feature: some vertices have values.
const VALUES: u64 = 1 << 4;
/// Required feature: the changes of the log have weights.
pub(super) const LOGGED_WEIGHTS: u64 = 1 << 5;
/// Required feature: hub neighbours are those of a part of a graph.
const PART_HUB_NEIGHBOURS: u64 = 1 << 6;
/// Required feature: weights take fewer bytes than their type has.
pub(super) const NARROW_WEIGHTS: u64 = 1 << 7;
/// Features of a state: its snapshot has them too.
const FEATURES_OF_STATE: u64 = DELETED | VALUES | PART_HUB_NEIGHBOURS | NARROW_WEIGHTS;
/// Those that this program knows.
pub(super) const FEATURES_KNOWN: u64 = FEATURES_OF_SLOT | FEATURES_OF_STATE;
/// Those that no snapshot has.
pub(super) const FEATURES_OF_SLOT: u64 = LOG | SNAPSHOTS | DELTA_RUNS | LOGGED_WEIGHTS;

impl Superblock {
    /// The features of the graph.
    pub(super) fn features_required(&self) -> u64 {
        let feature = |on: bool, bit: u64| if on { bit } else { 0 };
        feature(!self.log.is_empty(), LOG)
            | feature(!self.log.is_empty() && self.weights.is_some(), LOGGED_WEIGHTS)
            | feature(!self.snapshots.is_empty(), SNAPSHOTS)
            | feature(self.has_delta_runs(), DELTA_RUNS)
            | feature(self.section(SectionKind::DeletedVertices).is_some(), DELETED)
            | feature(self.section(SectionKind::VertexValues).is_some(), VALUES)
            | feature(self.section(SectionKind::PartHubNeighbours).is_some(), PART_HUB_NEIGHBOURS)
            | feature(self.weights.is_some_and(|of| of.format().is_narrow()), NARROW_WEIGHTS)
    }
}

/// Checks that the log has weights exactly where the graph has both.
pub(super) fn check_weights(features_required: u64, is_weighted: bool) -> Result<(), PageFault> {
    let has_log = features_required & LOG != 0;
    match (features_required & LOGGED_WEIGHTS != 0) == (has_log && is_weighted) {
        true => Ok(()),
        false => Err(other("its feature of weights in the log and its log disagree")),
    }
}

/// Checks that the features of a graph are those of its sections.
pub(super) fn check(features_required: u64, sections: &[Section]) -> Result<(), PageFault> {
    let kinds = [
        (DELETED, SectionKind::DeletedVertices),
        (DELTA_RUNS, SectionKind::DeltaRuns),
        (VALUES, SectionKind::VertexValues),
        (PART_HUB_NEIGHBOURS, SectionKind::PartHubNeighbours),
    ];
    for (bit, kind) in kinds {
        let has_section = sections.iter().any(|section| section.kind == kind);
        if has_section != (features_required & bit != 0) {
            let name = kind.name();
            return Err(other(format!("its feature of {name} and its sections disagree")));
        }
    }
    Ok(())
}

//! Sources and targets of searches: the part that their builders share.

use std::path::PathBuf;

use cenote_store::VertexId;

use crate::error::Result;
use crate::keys::Keys;
use crate::run::{Job, Run};

/// Sources and targets.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub(super) sources: Keys,
    pub(super) targets: Keys,
}

impl Ends {
    /// The vertices of sources and targets.
    pub(super) fn vertices(&self, job: &Job<'_>) -> Result<(Vec<VertexId>, Vec<VertexId>)> {
        Ok((job.vertices(&self.sources)?, job.vertices(&self.targets)?))
    }

    /// As [`Ends::vertices`], for a search from one source.
    pub(super) fn one_source(&self, job: &Job<'_>) -> Result<(Option<VertexId>, Vec<VertexId>)> {
        let (sources, targets) = self.vertices(job)?;
        Ok((sources.first().copied(), targets))
    }

    /// The files with their ids.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        [self.sources.files(), self.targets.files()].concat()
    }
}

/// An algorithm that searches from sources for targets.
pub(super) trait Search {
    /// Whether it has only one source, the last given one.
    const FROM_ONE: bool = true;

    fn ends(&mut self) -> &mut Ends;
}

/// A search that may have several sources.
pub(super) trait FromSeveral: Search {}

#[expect(private_bounds, reason = "the searches of this library")]
impl<A: Search> Run<'_, A> {
    /// Adds a source, by the user's id; if the search has only one, sets it [default: the vertex
    /// of largest degree].
    pub fn source(mut self, id: impl ToString) -> Self {
        let sources = &mut self.algorithm.ends().sources;
        if A::FROM_ONE {
            *sources = Keys::default();
        }
        sources.push(id);
        self
    }

    /// Adds a target: the search ends when the results for all targets are known.
    pub fn target(mut self, id: impl ToString) -> Self {
        self.algorithm.ends().targets.push(id);
        self
    }

    /// Adds the targets of a file, one id a line.
    pub fn targets_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.ends().targets.push_file(path);
        self
    }
}

#[expect(private_bounds, reason = "the searches of this library")]
impl<A: FromSeveral> Run<'_, A> {
    /// Adds the sources of a file, one id a line.
    pub fn sources_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.ends().sources.push_file(path);
        self
    }
}

//! Where searches start and end: what they share of their builders.

use std::path::PathBuf;

use cenote_store::VertexId;

use crate::error::Result;
use crate::keys::Keys;
use crate::run::{Job, Run};

/// From where and to which vertices.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub(super) sources: Keys,
    pub(super) targets: Keys,
}

impl Ends {
    /// Sources and targets.
    pub(super) fn vertices(&self, job: &Job<'_>) -> Result<(Vec<VertexId>, Vec<VertexId>)> {
        Ok((job.vertices(&self.sources)?, job.vertices(&self.targets)?))
    }

    /// The same of a search from one source.
    pub(super) fn one_source(&self, job: &Job<'_>) -> Result<(Option<VertexId>, Vec<VertexId>)> {
        let (sources, targets) = self.vertices(job)?;
        Ok((sources.first().copied(), targets))
    }

    /// The files that name them.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        [self.sources.files(), self.targets.files()].concat()
    }
}

/// An algorithm that searches from sources for targets.
pub(super) trait Search {
    /// Whether it has one source: then the last that is given counts.
    const FROM_ONE: bool = true;

    fn ends(&mut self) -> &mut Ends;
}

/// One that may have several sources.
pub(super) trait FromSeveral: Search {}

#[expect(private_bounds, reason = "the searches of this library")]
impl<A: Search> Run<'_, A> {
    /// Adds a source, by the user's id; where a search has only one, sets it [default: the vertex
    /// of largest degree].
    pub fn source(mut self, id: impl ToString) -> Self {
        let sources = &mut self.algorithm.ends().sources;
        if A::FROM_ONE {
            *sources = Keys::default();
        }
        sources.push(id);
        self
    }

    /// Adds a target: the search ends when the answers for all of them are known.
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

//! [`Graph::wcc`](crate::Graph::wcc) and [`Graph::scc`](crate::Graph::scc).

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use cenote_algo::{scc, wcc};
use cenote_store::{Id, Ids};
use serde::Serialize;

use super::earlier::{self, Earlier};
use crate::error::Result;
use crate::graph::StoredGraph;
use crate::run::{Algorithm, Answer, Column, Job, Run};

/// Weakly connected components; [`cenote_algo::wcc`].
#[derive(Clone, Debug, Default)]
pub struct Wcc {
    since: Option<Since>,
}

/// What a run goes on from.
#[derive(Clone, Debug)]
enum Since {
    Answer(Arc<Earlier>),
    File(PathBuf),
}

/// The answer of a run, which its owner may share.
struct OfRun(Arc<Answer<Wcc>>);

impl Deref for OfRun {
    type Target = wcc::Wcc;

    fn deref(&self) -> &wcc::Wcc {
        &self.0
    }
}

/// The earlier answer, until the run drops it, and why everything is computed although one was
/// given.
#[derive(Debug, Default)]
pub struct WccConfig {
    earlier: Option<Arc<Earlier>>,
    everything_because: Option<String>,
}

impl Run<'_, Wcc> {
    /// Goes on from the answer for an earlier state of the graph: if edges were only added since,
    /// their ends are joined, and only the pages of lists that changed are read. If one was
    /// deleted, or the answer is of another graph or of a copy that was written anew, everything is
    /// computed. [`WccSummary::since`] tells which. The answer takes 4 bytes a vertex of the
    /// budget, beside the indexes of its state.
    ///
    /// # Examples
    /// ```
    /// # use cenote::{Graph, Import};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pairs.cenote");
    /// Import::new().edges([(1u64, 2u64), (3, 4), (5, 6)].as_slice()).run(&path)?;
    /// let answer = Graph::open(&path)?.wcc().run()?;
    /// assert_eq!(answer.components, 3);
    ///
    /// let mut update = Graph::open(&path)?.update()?;
    /// update.add(2, 3)?;
    /// update.commit()?;
    /// let answer = Graph::open(&path)?.wcc().since(answer).run()?;
    /// assert_eq!(answer.components, 2);
    /// assert_eq!(answer.since.map(|since| since.added), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn since(mut self, answer: impl Into<Arc<Answer<Wcc>>>) -> Self {
        let answer = answer.into();
        let graph = Arc::clone(answer.graph());
        let earlier = Earlier::of_answer(graph, Box::new(OfRun(answer)));
        self.algorithm.since = Some(Since::Answer(Arc::new(earlier)));
        self
    }

    /// As [`since`](Self::since), with an answer that [`out`](Self::out) has written as `.parquet`.
    ///
    /// The run needs the state of the graph that the answer belongs to: a snapshot, or the newest
    /// commit. Without it, or if the answer belongs to another graph or to a copy, everything is
    /// computed, and [`WccSummary::everything_because`] gives the reason. A file that is no such
    /// answer, or whose rows are not the vertices of that state, is an error. The components
    /// themselves are trusted, not computed again.
    pub fn since_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.algorithm.since = Some(Since::File(path.into()));
        self
    }
}

/// Summary of weakly connected components.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct WccSummary {
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The smallest id in the largest.
    pub largest_label: Option<Id>,
    /// The edges that were added since the earlier answer that this one follows from, and the pages
    /// that were read to find them; `None` if everything was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<WccSince>,
    /// Why everything was computed although an earlier answer was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub everything_because: Option<String>,
}

/// What an answer for components followed from, beside an earlier one.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct WccSince {
    /// Edges that were added.
    pub added: u64,
    /// Pages of lists that were read, of both states.
    pub pages_read: u64,
}

impl Algorithm for Wcc {
    const NAME: &'static str = "wcc";
    type Config = WccConfig;
    type Output = wcc::Wcc;
    type Summary = WccSummary;

    fn config(&self, job: &Job<'_>) -> Result<Self::Config> {
        let earlier = match &self.since {
            None => return Ok(WccConfig::default()),
            Some(Since::Answer(earlier)) => Ok(Arc::clone(earlier)),
            Some(Since::File(path)) => earlier::read(path, job)?.map(Arc::new),
        };
        let earlier = earlier.and_then(|earlier| match is_earlier(&earlier.graph, job.graph) {
            true => Ok(earlier),
            false => Err("the answer is of another graph".to_owned()),
        });
        Ok(match earlier {
            Ok(earlier) => WccConfig { earlier: Some(earlier), everything_because: None },
            Err(reason) => WccConfig { earlier: None, everything_because: Some(reason) },
        })
    }

    /// That of a run without an earlier answer.
    fn estimate(_: &Self::Config, job: &Job<'_>) -> Result<cenote_algo::Estimate> {
        Ok(wcc::estimate(job.graph, &job.engine)?)
    }

    fn run(config: &mut Self::Config, job: &Job<'_>) -> Result<wcc::Wcc> {
        if let Some(earlier) = config.earlier.take() {
            let (before, labels) = (&earlier.graph, earlier.labels());
            if let Some(wcc) = wcc::run_since(job.graph, job.engine.clone(), before, labels)? {
                return Ok(wcc);
            }
            config.everything_because = Some("an edge was deleted since".to_owned());
        }
        Ok(wcc::run(job.graph, job.engine.clone())?)
    }

    fn verify(_: &Self::Config, graph: &StoredGraph, wcc: &wcc::Wcc) -> Result<()> {
        Ok(wcc::verify(graph, wcc)?)
    }

    fn engine_run(wcc: &wcc::Wcc) -> &cenote_algo::Run {
        &wcc.run
    }

    fn summary(config: &Self::Config, ids: &Ids, wcc: &wcc::Wcc) -> Result<WccSummary> {
        let largest_label = wcc.largest_label.map(|v| ids.id_of(v)).transpose()?;
        let since =
            wcc.since.map(|since| WccSince { added: since.added, pages_read: since.pages_read });
        let (components, largest) = (wcc.components, wcc.largest);
        let everything_because = config.everything_because.clone();
        Ok(WccSummary { components, largest, largest_label, since, everything_because })
    }

    fn columns(wcc: &wcc::Wcc) -> Vec<Column<'_>> {
        vec![Column::vertex("component", |v| Some(wcc.label(v)))]
    }

    fn release(wcc: &wcc::Wcc) {
        wcc.release();
    }

    fn metadata(
        wcc: &wcc::Wcc,
        graph: &StoredGraph,
        file: Option<&str>,
    ) -> Vec<(&'static str, String)> {
        earlier::metadata(wcc, graph, file)
    }

    fn inputs(&self) -> Vec<PathBuf> {
        match &self.since {
            Some(Since::File(path)) => vec![path.clone()],
            _ => Vec::new(),
        }
    }
}

/// Whether one graph may be an earlier state of another.
fn is_earlier(before: &StoredGraph, after: &StoredGraph) -> bool {
    let (earlier, later) = (before.superblock(), after.superblock());
    before.device().file_id() == after.device().file_id()
        && earlier.salt == later.salt
        && earlier.vertices <= later.vertices
}

/// Strongly connected components; [`cenote_algo::scc`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Scc;

/// Summary of strongly connected components.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SccSummary {
    /// Number of components.
    pub components: u64,
    /// Vertices in the largest.
    pub largest: u64,
    /// The smallest id in the largest.
    pub largest_label: Option<Id>,
    /// Components of one vertex.
    pub single: u64,
}

impl Algorithm for Scc {
    const NAME: &'static str = "scc";
    type Config = ();
    type Output = scc::Scc;
    type Summary = SccSummary;

    fn config(&self, _: &Job<'_>) -> Result<()> {
        Ok(())
    }

    calls!(scc: estimate() run() verify());

    fn summary(_: &(), ids: &Ids, scc: &scc::Scc) -> Result<SccSummary> {
        let largest_label = scc.largest_label.map(|v| ids.id_of(v)).transpose()?;
        let (components, largest, single) = (scc.components, scc.largest, scc.single);
        Ok(SccSummary { components, largest, largest_label, single })
    }

    fn columns(scc: &scc::Scc) -> Vec<Column<'_>> {
        vec![Column::vertex("component", |v| Some(scc.label(v)))]
    }

    fn release(scc: &scc::Scc) {
        scc.release();
    }
}

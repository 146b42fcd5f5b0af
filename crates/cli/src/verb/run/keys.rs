//! Vertices that the user names on the command line, or in a file, one id a line.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cenote_engine::{Graph, VertexId};
use serde::Serialize;

use crate::graph_file::{JsonId, vertex_of};
use crate::output::count;
use crate::verb::Outcome;

/// Where a search starts, perhaps at several vertices.
#[derive(Debug, clap::Args)]
pub struct Sources {
    /// Where the search starts, by your id; may be given several times [default: the vertex of
    /// largest degree]
    #[arg(long = "source", value_name = "ID")]
    sources: Vec<String>,
    /// Further sources, one id a line
    #[arg(long = "sources", value_name = "FILE")]
    sources_file: Option<PathBuf>,
}

impl Sources {
    /// The vertices, in the order given; the graph's vertex of largest degree where none is.
    pub fn vertices(&self, graph: &Graph) -> Result<Vec<VertexId>> {
        let mut sources = vertices(graph, &self.sources, self.sources_file.as_deref())?;
        if sources.is_empty() {
            sources.push(cenote_algo::default_source(graph)?);
        }
        Ok(sources)
    }

    /// Whether the user chose none.
    pub fn is_default(&self) -> bool {
        self.sources.is_empty() && self.sources_file.is_none()
    }
}

/// What a search is for.
#[derive(Debug, clap::Args)]
pub struct Targets {
    /// End when these are reached, by your ids; exit status 1 where one cannot be
    #[arg(long = "target", value_name = "ID", num_args = 1..)]
    targets: Vec<String>,
    /// Further targets, one id a line
    #[arg(long = "targets", value_name = "FILE")]
    targets_file: Option<PathBuf>,
}

impl Targets {
    /// The vertices, in the order given.
    pub fn vertices(&self, graph: &Graph) -> Result<Vec<VertexId>> {
        vertices(graph, &self.targets, self.targets_file.as_deref())
    }
}

/// The vertices that the user calls `given`, then those of a file, one id a line.
pub fn vertices(graph: &Graph, given: &[String], file: Option<&Path>) -> Result<Vec<VertexId>> {
    let ids = graph.ids()?;
    let mut found = Vec::new();
    for id in given {
        found.push(vertex_of(graph, &ids, id)?);
    }
    let Some(path) = file else { return Ok(found) };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the ids in {}", path.display()))?;
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let vertex = vertex_of(graph, &ids, line.trim())
            .with_context(|| format!("{}: line {}", path.display(), i + 1))?;
        found.push(vertex);
    }
    Ok(found)
}

/// What became of a target.
#[derive(Debug, Serialize)]
pub struct Target {
    pub target: JsonId,
    pub reachable: bool,
    /// Least number of edges to it, where the search tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
    /// The vertices on the way, the target among them, where the search tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<JsonId>>,
}

impl Target {
    /// What `reachable` says of each target.
    pub fn all(
        graph: &Graph,
        targets: &[VertexId],
        reachable: impl Fn(VertexId) -> bool,
    ) -> Result<Vec<Self>> {
        let ids = graph.ids()?;
        let of = |&v: &VertexId| {
            let target = JsonId(ids.id_of(v)?);
            Ok(Target { target, reachable: reachable(v), level: None, path: None })
        };
        targets.iter().map(of).collect()
    }
}

/// A line for people; empty where there were no targets.
pub fn lines(targets: &[Target]) -> Vec<(&'static str, String)> {
    const SHOWN: usize = 5;
    if targets.is_empty() {
        return Vec::new();
    }
    let missing: Vec<_> = targets.iter().filter(|target| !target.reachable).collect();
    let found = (targets.len() - missing.len()) as u64;
    let mut lines =
        vec![("targets", format!("{} of {} reached", count(found), count(targets.len() as u64)))];
    if !missing.is_empty() {
        let mut names: Vec<_> =
            missing.iter().take(SHOWN).map(|target| target.target.0.to_string()).collect();
        if missing.len() > SHOWN {
            names.push("...".to_owned());
        }
        lines.push(("not reached", names.join(", ")));
    }
    lines
}

/// No, where a target cannot be reached.
pub fn outcome(targets: &[Target]) -> Outcome {
    let all = targets.iter().all(|target| target.reachable);
    if all { Outcome::Done } else { Outcome::AnsweredNo }
}

//! Vertices given on the command line, or in a file, one id a line.

use std::path::PathBuf;

use cenote::algorithm::Target;

use super::Line;
use crate::output::count;
use crate::verb::Outcome;

/// Flags for one or several sources.
#[derive(Debug, clap::Args)]
pub struct Sources {
    /// A source of the search, by your id; may be given several times [default: the vertex of
    /// largest degree]
    #[arg(id = "source_ids", long = "source", value_name = "ID")]
    pub ids: Vec<String>,
    /// Further sources, one id a line
    #[arg(id = "source_file", long = "sources", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Flags for targets.
#[derive(Debug, clap::Args)]
pub struct Targets {
    /// End when these are reached, by your ids; exit status 1 if one cannot be
    #[arg(id = "target_ids", long = "target", value_name = "ID", num_args = 1..)]
    pub ids: Vec<String>,
    /// Further targets, one id a line
    #[arg(id = "target_file", long = "targets", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Passes the flags' values to the setters of a run.
macro_rules! apply {
    ($run:expr, $keys:expr, $one:ident, $file:ident) => {{
        let mut run = $run;
        for id in &$keys.ids {
            run = run.$one(id);
        }
        match &$keys.file {
            Some(path) => run.$file(path),
            None => run,
        }
    }};
}
pub(super) use apply;

/// The lines about targets; none without targets.
pub fn lines(targets: &[Target]) -> Vec<Line> {
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
            missing.iter().take(SHOWN).map(|target| target.target.to_string()).collect();
        if missing.len() > SHOWN {
            names.push("...".to_owned());
        }
        lines.push(("not reached", names.join(", ")));
    }
    lines
}

/// Answers no if a target cannot be reached.
pub fn outcome(targets: &[Target]) -> Outcome {
    let all = targets.iter().all(|target| target.reachable);
    if all { Outcome::Done } else { Outcome::AnsweredNo }
}

/// The line about the sources.
pub fn origin(source: &impl ToString, sources: u64, is_chosen: bool) -> String {
    let from = format!("from {}", source.to_string());
    match sources - 1 {
        0 if is_chosen => from + ", the vertex of largest degree",
        0 => from,
        others => format!("{from} and {} other sources", count(others)),
    }
}

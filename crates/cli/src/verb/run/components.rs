//! `cenote run wcc` and `cenote run scc`.

use std::path::PathBuf;

use cenote::Graph;
use cenote::algorithm::{Scc, SccSummary, Wcc, WccSince, WccSummary};
use cenote::run::{Run, Stats};

use super::{Line, Params};
use crate::output::count;
use crate::verb::Outcome;

pub const WCC_ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate wcc kron.cenote --memory 256MiB";

pub const SCC_RUN_EXAMPLES: &str = "\
Examples:
  cenote run scc debian.cenote --memory 256MiB
  cenote run scc web.cenote --out components.parquet";

pub const SCC_ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate scc web.cenote --memory 256MiB";

/// Weak components.
#[derive(Debug, clap::Args)]
pub struct Weak {
    /// Go on from an earlier answer, a .parquet file that --out has written, if edges were only
    /// added since and the state that it belongs to is there, as a snapshot or the last commit;
    /// else everything is computed
    #[arg(long, value_name = "FILE")]
    pub since: Option<PathBuf>,
}

/// An estimate is that of a run without an earlier answer.
#[derive(Debug, clap::Args)]
pub struct WeakAlone {}

/// Strong components have no parameters.
#[derive(Debug, clap::Args)]
pub struct Strong {}

impl Params for Weak {
    type Algorithm = Wcc;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Wcc> {
        match &self.since {
            Some(path) => graph.wcc().since_file(path),
            None => graph.wcc(),
        }
    }

    fn answer(&self, found: &WccSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let mut lines = lines_of(found, stats.vertices);
        if let Some(WccSince { added, pages_read, .. }) = found.since {
            let (added, pages) = (count(added), count(pages_read));
            lines.push(("since", format!("{added} edges added, {pages} pages compared")));
        }
        if let Some(reason) = &found.everything_because {
            lines.push(("since", format!("everything was computed: {reason}")));
        }
        (lines, Outcome::Done)
    }
}

impl Params for WeakAlone {
    type Algorithm = Wcc;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Wcc> {
        graph.wcc()
    }

    fn answer(&self, found: &WccSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        Weak { since: None }.answer(found, stats)
    }
}

impl Params for Strong {
    type Algorithm = Scc;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Scc> {
        graph.scc()
    }

    fn answer(&self, found: &SccSummary, stats: &Stats) -> (Vec<Line>, Outcome) {
        let (components, single) = (count(found.components), count(found.single));
        let components = ("components", format!("{components}, {single} of one vertex"));
        (vec![components, largest(found.largest, stats.vertices)], Outcome::Done)
    }
}

/// The lines of weak components, whatever they were computed from.
pub fn lines_of(found: &WccSummary, vertices: u64) -> Vec<Line> {
    vec![("components", count(found.components)), largest(found.largest, vertices)]
}

fn largest(largest: u64, vertices: u64) -> Line {
    ("largest", format!("{} of {} vertices", count(largest), count(vertices)))
}

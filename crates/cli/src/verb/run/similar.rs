//! `cenote run similar`.

use std::path::PathBuf;

use cenote::Graph;
use cenote::algo::similar::Measure;
use cenote::algorithm::{Similar, SimilarSummary};
use cenote::run::{Run, Stats};

use super::Line;
use super::keys::apply;
use crate::output::count;
use crate::verb::Outcome;

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run similar kron.cenote --source 17 --top 20 --out similar.csv
  cenote run similar kron.cenote --pairs pairs.txt --measure adamic-adar --out scores.parquet

--out writes columns source, target, score: the pairs in the order of the file, or the most similar
vertices of each source.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate similar kron.cenote --pairs pairs.txt --memory 1GiB";

/// Flags of similarity.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// How similar two vertices are: the share of their neighbours that are common ones, of all or
    /// of those of the vertex of smaller degree; or the number of common neighbours, of which
    /// `adamic-adar` counts those of many edges less
    #[arg(long, value_name = "NAME", default_value = "jaccard")]
    measure: MeasureArg,
    /// Pairs of vertices, two of your ids a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source_ids", "source_file", "top"])]
    pairs: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    /// Most similar vertices of each source
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: u32,
}

/// Flags for the sources.
#[derive(Debug, clap::Args)]
struct Sources {
    /// A vertex whose most similar ones are found, by your id; may be given several times [default:
    /// the vertex of largest degree]
    #[arg(id = "source_ids", long = "source", value_name = "ID")]
    ids: Vec<String>,
    /// Further sources, one id a line
    #[arg(id = "source_file", long = "sources", value_name = "FILE")]
    file: Option<PathBuf>,
}

/// How similar two vertices are.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum MeasureArg {
    Jaccard,
    Overlap,
    AdamicAdar,
    Common,
}

impl super::Params for Params {
    type Algorithm = Similar;

    fn start<'g>(&self, graph: &'g Graph) -> Run<'g, Similar> {
        let run = graph.similar().top(self.top).measure(match self.measure {
            MeasureArg::Jaccard => Measure::Jaccard,
            MeasureArg::Overlap => Measure::Overlap,
            MeasureArg::AdamicAdar => Measure::AdamicAdar,
            MeasureArg::Common => Measure::Common,
        });
        let run = apply!(run, self.sources, source, sources_file);
        match &self.pairs {
            Some(path) => run.pairs_file(path),
            None => run,
        }
    }

    fn answer(&self, found: &SimilarSummary, _: &Stats) -> (Vec<Line>, Outcome) {
        let rows =
            format!("{}, {} with a common neighbour", count(found.rows), count(found.similar));
        let mut lines = vec![("rows", rows)];
        if let Some((mean, max)) = found.mean.zip(found.max) {
            lines.push(("scores", format!("{mean:.4} on average, {max:.4} at most")));
        }
        (lines, Outcome::Done)
    }
}

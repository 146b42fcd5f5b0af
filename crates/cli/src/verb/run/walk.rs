//! `cenote run walk`.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Result;
use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig, Walks};
use cenote_engine::{Graph, VertexId};
use serde::Serialize;

use super::corpus_file::CorpusFile;
use super::keys::vertices;
use super::plan::PlanArgs;
use super::summary::Stopwatch;
use crate::output::{count, size};
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run walk kron.cenote --walkers 1000000 --starts random --steps 10 --memory 10%
  cenote run walk friends.cenote --per-vertex 10 --steps 80 --p 0.5 --q 2 --out corpus.txt
  cenote run walk web.cenote --source example.org --walkers 1000 --restart 0.15 --out walks.npy
  cenote run walk roads.cenote --weighted --starts random --walkers 100000 --memory 10%";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate walk kron.cenote --walkers 1000000 --starts random --memory 10%";

/// Flags of `cenote run walk`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    params: Params,
    /// Walk some walks again, one by one from the definition, and compare (takes time)
    #[arg(long)]
    verify: bool,
    /// Show each step: what it wanted, what it read, what it took
    #[arg(long)]
    explain: bool,
}

/// Which walks are taken, and where they go.
#[derive(Debug, clap::Args)]
pub struct Params {
    /// Walks altogether
    #[arg(long, value_name = "N", conflicts_with = "per_vertex")]
    walkers: Option<u64>,
    /// Walks from each start [default: 1, unless --walkers is given]
    #[arg(long, value_name = "K")]
    per_vertex: Option<u64>,
    /// Where walks start: all (vertex after vertex), random, or a file with one id a line
    #[arg(long, value_name = "STARTS", default_value = "all")]
    starts: StartsArg,
    /// Start all walks from this vertex, by your id
    #[arg(long, value_name = "ID", conflicts_with = "starts")]
    source: Option<String>,
    /// Steps of each walk
    #[arg(long, value_name = "N", default_value_t = WalkConfig::default().steps)]
    steps: u32,
    /// Probability of going back to the start instead of to a neighbour
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          default_value_t = WalkConfig::default().restart)]
    restart: f64,
    /// node2vec: weight 1/P of the step back to the vertex before
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          default_value_t = WalkConfig::default().p)]
    p: f64,
    /// node2vec: weight 1/Q of a step to a vertex that the vertex before has no edge to
    #[arg(long, value_name = "Q", allow_negative_numbers = true,
          default_value_t = WalkConfig::default().q)]
    q: f64,
    /// What a walk does where there is no out-neighbour: end, or restart from its start
    #[arg(long, value_name = "WHAT", default_value = "end", value_parser = dead_ends)]
    dead_ends: DeadEnds,
    /// Go to each neighbour in proportion to the weight of the edge instead of to all alike
    ///
    /// Edges of weight 0 are never taken, and a vertex that has no others is a dead end. --p and
    /// --q multiply the weights, as in node2vec.
    #[arg(long)]
    weighted: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = WalkConfig::default().seed)]
    seed: u64,
    /// Write the walks, one a row, to FILE.txt, FILE.txt.zst, FILE.parquet or FILE.npy
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum StartsArg {
    All,
    Random,
    File(PathBuf),
}

impl FromStr for StartsArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(match text {
            "all" => Self::All,
            "random" => Self::Random,
            file => Self::File(file.into()),
        })
    }
}

fn dead_ends(text: &str) -> std::result::Result<DeadEnds, String> {
    match text {
        "end" => Ok(DeadEnds::End),
        "restart" => Ok(DeadEnds::Restart),
        _ => Err("expected end or restart".to_owned()),
    }
}

impl Params {
    fn config(&self, graph: &Graph) -> Result<WalkConfig> {
        let starts = match (&self.source, &self.starts) {
            (Some(id), _) => Starts::Listed(vertices(graph, std::slice::from_ref(id), None)?),
            (None, StartsArg::All) => Starts::All,
            (None, StartsArg::Random) => Starts::Random,
            (None, StartsArg::File(path)) => Starts::Listed(vertices(graph, &[], Some(path))?),
        };
        let start_count = match &starts {
            Starts::Listed(list) => list.len() as u64,
            _ => graph.vertices() as u64,
        };
        let walkers =
            self.walkers.unwrap_or(start_count.saturating_mul(self.per_vertex.unwrap_or(1)));
        Ok(WalkConfig {
            walkers,
            starts,
            steps: self.steps,
            restart: self.restart,
            p: self.p,
            q: self.q,
            dead_ends: self.dead_ends,
            weighted: self.weighted,
            seed: self.seed,
        })
    }

    fn corpus(&self, graph: &Graph, walk: &WalkConfig) -> Result<Option<CorpusFile>> {
        let create = |path: &PathBuf| {
            CorpusFile::create(path, graph, walk.walkers, u64::from(walk.steps) + 1)
        };
        self.out.as_ref().map(create).transpose()
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    walkers: u64,
    steps: u64,
    restarts: u64,
    dead_ends: u64,
    /// A hash of all walks, the same for the same walks in whatever order they were taken.
    fingerprint: String,
    batches: u64,
    spill_bytes: u64,
    /// Bytes of the file with the walks.
    corpus_bytes: Option<u64>,
    walks_verified: Option<usize>,
}

/// Where the walks go: to the file, and those to be verified to memory too.
struct Collect {
    file: Option<CorpusFile>,
    sampled: Option<Vec<(u64, Vec<VertexId>)>>,
}

impl Collect {
    fn row(&mut self, config: &WalkConfig, walk: u64, row: &[VertexId]) -> Result<()> {
        if let Some(file) = &mut self.file {
            file.row(row)?;
        }
        if let Some(sampled) = self.sampled.as_mut().filter(|_| walk::is_sampled(config, walk)) {
            sampled.push((walk, row.to_vec()));
        }
        Ok(())
    }
}

/// Runs it.
pub fn run(args: &Args) -> Result<Outcome> {
    let (graph, config) = args.plan.open(args.explain)?;
    let walk_config = args.params.config(&graph)?;
    let file = args.params.corpus(&graph, &walk_config)?;
    let mut collect = Collect { file, sampled: args.verify.then(Vec::new) };
    let stopwatch = Stopwatch::start();
    let sink_bytes = collect.file.as_ref().map_or(0, CorpusFile::memory_bytes);
    let wanted = collect.file.is_some() || collect.sampled.is_some();
    let mut sink =
        |walk, row: &[VertexId]| collect.row(&walk_config, walk, row).map_err(io::Error::other);
    let folder = folder_of(args.params.out.as_deref());
    let output = wanted.then(|| Output { folder: &folder, sink_bytes, sink: &mut sink });
    let walks = walk::run(&graph, config.clone(), &walk_config, output)?;
    let corpus_bytes = collect.file.map(CorpusFile::finish).transpose()?;
    let answer = Answer {
        walkers: walk_config.walkers,
        steps: walks.steps,
        restarts: walks.restarts,
        dead_ends: walks.dead_ends,
        fingerprint: format!("{:016x}", walks.fingerprint),
        batches: walks.batches,
        spill_bytes: walks.spill_bytes,
        corpus_bytes,
        walks_verified: collect.sampled.as_ref().map(Vec::len),
    };
    let lines = lines(&walk_config, &walks, corpus_bytes);
    let iterations = u64::from(walk_config.steps);
    let mut summary = stopwatch.stop("walk", &graph, &config, &walks.run, iterations, answer);
    if let Some(sampled) = &collect.sampled {
        let rows = sampled.iter().map(|(walk, row)| (*walk, row.as_slice()));
        walk::verify(&graph, &walk_config, rows)?;
        summary.verified = true;
    }
    summary.print(args.plan.json, lines)?;
    Ok(Outcome::Done)
}

/// The folder for what is kept on the way: beside the result.
fn folder_of(out: Option<&Path>) -> PathBuf {
    match out.map(|path| path.parent().unwrap_or(Path::new(""))) {
        None => std::env::temp_dir(),
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
    }
}

fn lines(
    config: &WalkConfig,
    walks: &Walks,
    corpus_bytes: Option<u64>,
) -> Vec<(&'static str, String)> {
    let batches = match walks.batches {
        0 | 1 => String::new(),
        batches => format!(" in {} batches", count(batches)),
    };
    let mut lines = vec![
        ("walk", format!("{} walks{batches}", count(config.walkers))),
        (
            "steps",
            format!(
                "{} along edges, {} back to the start",
                count(walks.steps),
                count(walks.restarts)
            ),
        ),
        ("dead ends", count(walks.dead_ends)),
        ("fingerprint", format!("{:016x}", walks.fingerprint)),
    ];
    if let Some(bytes) = corpus_bytes {
        lines.push(("corpus", size(bytes)));
    }
    lines
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.plan.open_to_estimate()?;
    let walk_config = args.params.config(&graph)?;
    let corpus = args.params.corpus(&graph, &walk_config)?;
    let sink_bytes = corpus.as_ref().map(CorpusFile::memory_bytes);
    let estimate = walk::estimate(&graph, &config, &walk_config, sink_bytes)?;
    estimate::print("walk", &args.plan, &config, &estimate)
}

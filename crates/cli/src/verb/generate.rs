//! `cenote generate`: a graph of a chosen model, streamed into a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use cenote_workload::ba::{Ba, BaConfig};
use cenote_workload::grid::{Grid, GridConfig};
use cenote_workload::kron::{Kron, KronConfig};
use cenote_workload::smallworld::{SmallWorld, SmallWorldConfig};
use cenote_workload::uniform::{Uniform, UniformConfig};
use cenote_workload::{Edge, EdgeSource, stream};
use clap::Subcommand;
use serde::Serialize;

use crate::args::{Report, Threads};
use crate::cancel;
use crate::edge_file::{EdgeFormat, ParquetEdges};
use crate::output::{self, count, size};
use crate::progress::{Progress, Unit};
use crate::verb::Outcome;
use cenote::OutputFile;

/// Generate a graph of a chosen model
///
/// The edges depend on the parameters and the seed alone, never on the number of threads.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote generate kron --scale 20 --edge-factor 16 --out kron.u32
  cenote generate grid --rows 1000 --cols 1000 --out grid.txt")]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Graph500's Kronecker graph: hubs, a short diameter, many duplicates
    #[command(after_help = "\
Example:
  cenote generate kron --scale 20 --edge-factor 16 --seed 1 --out kron.u32")]
    Kron {
        /// The graph has 2^N vertices
        #[arg(long, value_name = "N")]
        scale: u32,
        /// Edges per vertex
        #[arg(long, value_name = "N", default_value_t = 16)]
        edge_factor: u64,
        /// Do not shuffle vertex numbers: vertex 0 is the largest hub
        #[arg(long)]
        no_permute: bool,
        #[command(flatten)]
        random: Random,
        #[command(flatten)]
        to: To,
    },
    /// Erdős–Rényi G(n, m): distinct edges, all pairs alike
    #[command(after_help = "\
Example:
  cenote generate uniform --vertices 1000000 --edges 16000000 --out uniform.u32")]
    Uniform {
        /// Number of vertices
        #[arg(long, value_name = "N")]
        vertices: u64,
        /// Number of distinct edges
        #[arg(long, value_name = "M")]
        edges: u64,
        #[command(flatten)]
        random: Random,
        #[command(flatten)]
        to: To,
    },
    /// Barabási–Albert: vertices with many neighbours get more
    #[command(after_help = "\
Example:
  cenote generate ba --vertices 1000000 --edges-per-vertex 8 --out ba.parquet")]
    Ba {
        /// Number of vertices
        #[arg(long, value_name = "N")]
        vertices: u64,
        /// Edges of each vertex after the first to earlier vertices
        #[arg(long, value_name = "N", default_value_t = 8)]
        edges_per_vertex: u64,
        #[command(flatten)]
        random: Random,
        #[command(flatten)]
        to: To,
    },
    /// A plane grid with four neighbours: no hubs, a huge diameter
    #[command(after_help = "\
Example:
  cenote generate grid --rows 1000 --cols 1000 --out grid.txt")]
    Grid {
        /// Number of rows
        #[arg(long, value_name = "N")]
        rows: u64,
        /// Number of columns
        #[arg(long, value_name = "N")]
        cols: u64,
        #[command(flatten)]
        to: To,
    },
    /// Watts–Strogatz: a ring of neighbours with some shortcuts
    #[command(after_help = "\
Example:
  cenote generate smallworld --vertices 1000000 --neighbors 10 --probability 0.1 --out ring.u32")]
    Smallworld {
        /// Number of vertices
        #[arg(long, value_name = "N")]
        vertices: u64,
        /// Nearest neighbours of a vertex, an even number
        #[arg(long, value_name = "K", default_value_t = 10)]
        neighbors: u64,
        /// Probability of an edge to become a shortcut, 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.1)]
        probability: f64,
        #[command(flatten)]
        random: Random,
        #[command(flatten)]
        to: To,
    },
}

#[derive(clap::Args, Clone, Copy, Debug)]
struct Random {
    /// The same seed gives the same graph
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(clap::Args, Clone, Debug)]
struct To {
    /// File to write: .txt or .tsv text, .u32 or .u64 little-endian pairs, .parquet
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    report: Report,
}

/// The report.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    out: &'a Path,
    vertices: u64,
    edges: u64,
    file_bytes: u64,
    seconds: f64,
}

/// Generates the graph and reports it.
pub fn run(args: &Args) -> Result<Outcome> {
    let (source, to) = args.kind.source()?;
    let start = Instant::now();
    let file_bytes = write(source.as_ref(), to)?;
    let summary = Summary {
        out: &to.out,
        vertices: source.vertices(),
        edges: source.edges(),
        file_bytes,
        seconds: start.elapsed().as_secs_f64(),
    };
    if to.report.json {
        output::json(&summary)?;
    } else {
        output::line(format_args!(
            "{}: {} edges over {} vertices, {} in {:.1} s",
            to.out.display(),
            count(summary.edges),
            count(summary.vertices),
            size(file_bytes),
            summary.seconds
        ))?;
    }
    Ok(Outcome::Done)
}

impl Kind {
    /// The model with checked parameters, and the output.
    fn source(&self) -> Result<(Box<dyn EdgeSource>, &To)> {
        Ok(match *self {
            Self::Kron { scale, edge_factor, no_permute, random: Random { seed }, ref to } => {
                let config = KronConfig::default()
                    .scale(scale)
                    .edge_factor(edge_factor)
                    .permute(!no_permute)
                    .seed(seed);
                (Box::new(Kron::new(config)?), to)
            }
            Self::Uniform { vertices, edges, random: Random { seed }, ref to } => {
                (Box::new(Uniform::new(UniformConfig::new(vertices, edges).seed(seed))?), to)
            }
            Self::Ba { vertices, edges_per_vertex, random: Random { seed }, ref to } => {
                (Box::new(Ba::new(BaConfig::new(vertices, edges_per_vertex).seed(seed))?), to)
            }
            Self::Grid { rows, cols, ref to } => {
                (Box::new(Grid::new(GridConfig::new(rows, cols))?), to)
            }
            Self::Smallworld { vertices, neighbors, probability, random, ref to } => {
                let seed = random.seed;
                let config = SmallWorldConfig::new(vertices, neighbors, probability).seed(seed);
                (Box::new(SmallWorld::new(config)?), to)
            }
        })
    }
}

/// Writes all edges. Returns the size of the file.
fn write(source: &dyn EdgeSource, to: &To) -> Result<u64> {
    let format = EdgeFormat::of(&to.out)?;
    let threads = to.threads.count();
    let _guard = cancel::Guard::new(&to.out);
    let no_inputs: [&Path; 0] = [];
    let mut file = OutputFile::create(&to.out, &no_inputs)?;
    let progress = Progress::new("generate", Some(source.edges()), Unit::Items);
    let failed = || format!("cannot write {}", to.out.display());
    if format == EdgeFormat::Parquet {
        let mut parquet = ParquetEdges::new(file)?;
        stream::for_each_in_order(source, threads, <[Edge]>::to_vec, |edges, chunk| {
            cancel::check()?;
            for [from, onto] in chunk {
                parquet.push(from.into(), onto.into()).with_context(failed)?;
            }
            progress.advance(edges);
            anyhow::Ok(())
        })?;
        file = parquet.finish().with_context(failed)?;
    } else {
        stream::for_each_in_order(
            source,
            threads,
            |chunk| format.encode(chunk),
            |edges, bytes| {
                cancel::check()?;
                file.write_all(&bytes).with_context(failed)?;
                progress.advance(edges);
                anyhow::Ok(())
            },
        )?;
    }
    drop(progress);
    Ok(file.finish()?)
}

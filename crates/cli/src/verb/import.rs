//! `cenote import`: builds a graph file from edge lists.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use cenote::import::{Format, Header, IdKind, ImportError, ImportReport, InputSpec};
use cenote::memory::{self, MemorySize};
use cenote::partial::partial_name;
use cenote::report::import::Summary;
use cenote::report::{self, WorkRecorder};
use cenote::shards::ShardsWritten;
use cenote::tiers::kept;
use cenote::tiers::spec::TierArg;
use cenote::{Graph, Import};
use cenote_store::format::FREE_SPACE_MAX;
use cenote_store::{Codec, HubNeighboursChoice, Order, ValueType, WeightType};
use clap::builder::TypedValueParser;
use serde::Serialize;

use crate::args::{Report, ReportArgs, Threads, command_line};
use crate::cancel::{Guard, cancelled};
use crate::output::{self, count, size};
use crate::progress::{Progress, of_import};
use crate::verb::{Outcome, shard};

/// Build a graph file from edge lists
///
/// The extensions of the inputs give their formats: .txt .el .e edges, .csv, .tsv, .adjlist
/// adjacency lists, .mtx Matrix Market, .graph METIS, .v vertices, .parquet, .u32 and .u64
/// little-endian pairs; .gz and .zst after them are unpacked. Several inputs make one graph.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote import kron.u32 --out kron.cenote
  cenote import cit.txt.gz --directed --in-edges --memory 512MiB --out cit.cenote
  cenote import trips.csv --source-column from --target-column to --out trips.cenote
  cenote import social.e --vertices people.txt --out social.cenote
  cenote import kron.u32 --undirected --out kron.cenote --report import.html
  cenote import roads.e --order bfs --out roads.cenote
  cenote import roads.csv --weights f32 --weight-column km --out roads.cenote
  cenote import kron.u32 --tier fast=/nvme:20GiB --tier slow=/disk --out kron.cenote
  cenote import kron.u32 --shards 4 --out kron.shards
  zcat edges.gz | cenote import - --format edges --out edges.cenote")]
pub struct Args {
    /// Files to read, or - for standard input
    #[arg(value_name = "INPUT", required_unless_present = "vertices")]
    inputs: Vec<PathBuf>,
    /// File of vertices, which may have no edge: an id a line, with its value behind it if it has
    /// one, or .u32 and .u64 integers; - is standard input, without values
    #[arg(long, value_name = "FILE")]
    vertices: Vec<PathBuf>,
    /// Type of the values of vertices [default: of these the first that holds the first value]
    #[arg(long, value_name = "u64|i64|f64", value_parser = named(&ValueType::NAMES))]
    #[arg(requires = "vertices")]
    values: Option<ValueType>,
    /// Graph file to write; with --shards the folder
    #[arg(long, value_name = "GRAPH")]
    out: PathBuf,
    /// Cut the graph into N shards, as `cenote shard` does; the graph file itself is not kept
    #[arg(long, value_name = "N", conflicts_with_all = ["tiers", "overwrite"])]
    shards: Option<u64>,
    #[command(flatten)]
    files: FileArgs,
    /// Edges have no direction (the default)
    #[arg(long, conflicts_with = "directed")]
    undirected: bool,
    /// Edges lead from source to target
    #[arg(long)]
    directed: bool,
    /// Also store the in-edges of each vertex
    #[arg(long, requires = "directed")]
    in_edges: bool,
    /// Store repeated edges as often as they occur
    #[arg(long)]
    keep_duplicates: bool,
    /// Store edges from a vertex to itself
    #[arg(long)]
    keep_self_loops: bool,
    /// Store the weights of edges, as this type; a repeated edge keeps its smallest weight
    ///
    /// Text: the third column, or `{'weight': ...}` as NetworkX writes it. CSV, TSV and Parquet:
    /// the column `weight` or `w`, else the only remaining one. Matrix Market: the values. METIS:
    /// the edge weights. With --keep-duplicates every repeat keeps its own.
    #[arg(long, value_name = "f32|f64|u32|i64", value_parser = named(&WeightType::NAMES))]
    weights: Option<WeightType>,
    /// Column of the weights: its number from 1, or its name in CSV, TSV and Parquet
    #[arg(long, value_name = "COLUMN", requires = "weights")]
    weight_column: Option<String>,
    /// Kind of the vertex ids; auto: that of the columns of Parquet, of text integers if all are
    #[arg(
        long,
        value_name = "auto|integer|string",
        default_value = "auto",
        value_parser = named(&ID_KINDS)
    )]
    ids: IdKind,
    /// Order of the vertices on disk: that of their ids, by descending degree, of a breadth-first
    /// search, by clusters of neighbours, or shuffled; auto: by clusters if the graph is large, has
    /// few edges per vertex and its ids do not bring neighbours together, else that of the ids
    #[arg(
        long,
        value_name = "natural|degree|bfs|cluster|random|auto",
        default_value = "auto",
        value_parser = named(&ORDER_CHOICES)
    )]
    order: OrderChoice,
    /// Seed of `--order random`
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Memory budget; a percentage is of the machine's memory
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: MemorySize,
    /// Page size of the graph file: 4KiB to 64KiB, a power of two
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    page_size: MemorySize,
    /// Percent of each page of lists that stay free, 0 to 50: when changes are merged, lists grow
    /// into it before pages are split
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = free_space())]
    free_space: u32,
    /// How lists are encoded: packed, gaps of few bits, or raw, 4 bytes an entry: two to ten times
    /// as large, and less work for the processor where all of it fits memory
    #[arg(long, value_name = "packed|raw", default_value = "packed", value_parser = named(&CODECS))]
    codec: Codec,
    /// Store the three neighbours of largest degree of each vertex, 12 bytes a vertex: searches and
    /// components then read little else. auto: from a mean degree of 24 on
    #[arg(long, value_name = "auto|yes|no", default_value = "auto", value_parser = named(&CHOICES))]
    hub_neighbours: HubNeighboursChoice,
    /// Spread the graph over several drives, the fastest first: NAME=DIR or NAME=DIR:CAPACITY, once
    /// for each. Pages then move as the policy decides
    #[arg(long = "tier", value_name = "NAME=DIR[:CAPACITY]", value_parser = tier)]
    tiers: Vec<String>,
    /// The policy that decides which pages lie on which tier, as in `cenote tier replay`
    #[arg(long, value_name = "POLICY", default_value = kept::POLICY, value_parser = policy)]
    #[arg(requires = "tiers")]
    tier_policy: String,
    /// The unit of migration between tiers: 4KiB to 1MiB, a power of two
    #[arg(long, value_name = "SIZE", default_value = "16KiB", requires = "tiers")]
    tier_block: MemorySize,
    /// Folder of temporary files [default: that of the graph file]
    #[arg(long, value_name = "DIR")]
    temp_dir: Option<PathBuf>,
    /// Replace the graph file if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    page: ReportArgs,
    #[command(flatten)]
    report: Report,
}

/// Imports the graph and prints the report.
pub fn run(args: &Args) -> Result<Outcome> {
    let guard = Guard::new(&args.out);
    let _page_guard = args.page.checked(&args.files())?;
    let recorder = args.page.report.as_ref().map(|_| WorkRecorder::start()).transpose()?;
    let phases = recorder.as_ref().map(WorkRecorder::phases);
    let bar = Progress::bytes("import");
    let mut shown = of_import(&bar);
    let import = args.builder()?.cancel(cancelled).progress(move |phase, done, total| {
        phases.iter().for_each(|phases| phases.begin(phase.name()));
        shown(phase, done, total);
    });
    let memory_budget_bytes = import.memory_bytes().map_err(with_flags)?;
    let target = Target::of(args)?;
    let _target_guard = Guard::new(&target.path);
    let report = import.run(&target.path).map_err(|error| target.error(error))?;
    drop(bar);
    let shards = target.shard(args, memory_budget_bytes)?;
    drop(guard);
    let summary = Summary {
        out: &args.out,
        report: &report,
        peak_rss_bytes: memory::peak_rss_bytes(),
        memory_budget_bytes,
    };
    if let Some((recorder, path)) = recorder.zip(args.page.report.as_ref()) {
        let page = report::import::page(recorder, &summary, Some(command_line()))?;
        report::write(path, &args.files(), &page)?;
    }
    match (args.report.json, &shards) {
        (true, None) => output::json(&summary)?,
        (true, Some(shards)) => output::json(&Sharded { summary, shards })?,
        (false, _) => print(&args.out, &report)?,
    }
    if let Some(shards) = shards.filter(|_| !args.report.json) {
        shard::print(&args.out, &shards)?;
    }
    Ok(Outcome::Done)
}

/// The report of an import into shards.
#[derive(Serialize)]
struct Sharded<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    shards: &'a ShardsWritten,
}

/// The graph file of an import, which is removed in the end if shards are made of it.
struct Target {
    path: PathBuf,
    shards: Option<u64>,
}

impl Target {
    fn of(args: &Args) -> Result<Self> {
        let shards = args.shards;
        if shards.is_none() {
            return Ok(Self { path: args.out.clone(), shards });
        }
        cenote::shards::check_output(&args.out)?;
        let mut name = partial_name(&args.out);
        name.push(".cenote");
        Ok(Self { path: args.out.with_file_name(name), shards })
    }

    /// The error of the import. What the shards will need is known when they are cut.
    fn error(&self, error: ImportError) -> anyhow::Error {
        let is_memory = matches!(error, ImportError::Memory { .. });
        let error = with_flags(error);
        match self.shards.filter(|_| is_memory) {
            Some(_) => anyhow!("{error} for the graph; cutting it may take several times as much"),
            None => error,
        }
    }

    fn shard(&self, args: &Args, memory_bytes: usize) -> Result<Option<ShardsWritten>> {
        let Some(shards) = self.shards else { return Ok(None) };
        let graph = Graph::open(&self.path)?;
        let memory = MemorySize::Bytes(memory_bytes as u64);
        shard::write(&graph, shards, &args.out, Some(memory), args.threads).map(Some)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.shards.is_some() {
            // It is not there if the import failed.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// The message of a library error, with flags in place of its parameters.
pub(super) fn with_flags(error: ImportError) -> anyhow::Error {
    const PARAMETERS: [&str; 18] = [
        "memory",
        "temp_dir",
        "out",
        "overwrite",
        "format",
        "weights",
        "directed",
        "in_edges",
        "hub_neighbours",
        "keep_duplicates",
        "source_column",
        "target_column",
        "weight_column",
        "ids",
        "threads",
        "tier",
        "tier_block",
        "tier_policy",
    ];
    let name = |message: String, parameter: &&str| {
        message.replace(&format!("`{parameter}`"), &format!("--{}", parameter.replace('_', "-")))
    };
    anyhow::Error::msg(PARAMETERS.iter().fold(error.to_string(), name))
}

/// A share of a page that may stay free.
pub fn free_space() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(0..=i64::from(FREE_SPACE_MAX))
}

impl Args {
    /// Files that a report must not replace.
    fn files(&self) -> Vec<&Path> {
        let files = self.inputs.iter().chain(&self.vertices).map(PathBuf::as_path);
        files.chain([self.out.as_path()]).collect()
    }

    fn builder(&self) -> Result<Import<'_>> {
        let page_bytes = match self.page_size {
            MemorySize::Bytes(bytes) => u32::try_from(bytes).ok(),
            MemorySize::Percent(_) => None,
        };
        let mut import = Import::new()
            .ids(self.ids)
            .memory(self.memory)
            .page_bytes(page_bytes.context("--page-size: expected 4KiB to 64KiB")?)
            .free_space(self.free_space)
            .codec(self.codec)
            .hub_neighbours(self.hub_neighbours)
            .threads(self.threads.given())
            .tier_policy(&self.tier_policy)
            .tier_block(self.tier_block);
        import = self.inputs.iter().fold(import, |import, path| import.input(self.input(path)));
        import = self.vertices.iter().fold(import, Import::vertices_path);
        import = self.tiers.iter().fold(import, Import::tier);
        import = match self.order {
            OrderChoice::Is(order) => import.order(ordered(order, self.seed)),
            OrderChoice::Auto => import.auto_order(),
        };
        import = set(import, self.directed, Import::directed);
        import = set(import, self.in_edges, Import::in_edges);
        import = set(import, self.keep_duplicates, Import::keep_duplicates);
        import = set(import, self.keep_self_loops, Import::keep_self_loops);
        import = set(import, self.overwrite, Import::overwrite);
        if let Some(kind) = self.weights {
            import = import.weights(kind);
        }
        if let Some(kind) = self.values {
            import = import.values(kind);
        }
        if let Some(folder) = &self.temp_dir {
            import = import.temp_dir(folder);
        }
        Ok(import)
    }

    fn input(&self, path: &Path) -> InputSpec {
        self.files.input(path, self.weight_column.clone())
    }
}

/// How files of edges are read.
#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// Format of the files, if their extensions do not give it
    #[arg(long, value_name = "FORMAT", value_parser = named(&Format::NAMES))]
    format: Option<Format>,
    /// Column of the source in CSV, TSV and Parquet: its name, or its number from 1
    #[arg(long, value_name = "COLUMN")]
    source_column: Option<String>,
    /// Column of the target
    #[arg(long, value_name = "COLUMN")]
    target_column: Option<String>,
    /// Whether the first line of CSV and TSV names the columns [default: auto]
    #[arg(long, value_name = "auto|yes|no", value_parser = named(&HEADERS))]
    header: Option<Header>,
}

impl FileArgs {
    /// Whether the format is given.
    pub fn has_format(&self) -> bool {
        self.format.is_some()
    }

    /// The first of these flags that is given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.format.is_some(), "--format"),
            (self.source_column.is_some(), "--source-column"),
            (self.target_column.is_some(), "--target-column"),
            (self.header.is_some(), "--header"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }

    /// A file, with the column of the weights.
    pub fn input(&self, path: &Path, weight_column: Option<String>) -> InputSpec {
        InputSpec {
            path: path.to_owned(),
            format: self.format,
            source_column: self.source_column.clone(),
            target_column: self.target_column.clone(),
            header: self.header.unwrap_or_default(),
            weight_column,
            is_vertices: false,
        }
    }
}

/// An order with its seed.
pub(super) fn ordered(order: Order, seed: u64) -> Order {
    match order {
        Order::Random { .. } => Order::Random { seed },
        order => order,
    }
}

/// Sets an option if its flag is given.
fn set<'a>(
    import: Import<'a>,
    is_set: bool,
    change: impl FnOnce(Import<'a>) -> Import<'a>,
) -> Import<'a> {
    if is_set { change(import) } else { import }
}

/// Checks the syntax of a tier.
fn tier(text: &str) -> Result<String, String> {
    text.parse::<TierArg>().map(|_| text.to_owned())
}

/// Checks the name of a policy.
fn policy(name: &str) -> Result<String, String> {
    kept::policy(name).map(|_| name.to_owned())
}

const HEADERS: [(&str, Header); 3] =
    [("auto", Header::Auto), ("yes", Header::Yes), ("no", Header::No)];
const CODECS: [(&str, Codec); 2] = [("packed", Codec::Packed), ("raw", Codec::Raw)];
pub(super) const CHOICES: [(&str, HubNeighboursChoice); 3] = [
    ("auto", HubNeighboursChoice::Auto),
    ("yes", HubNeighboursChoice::Yes),
    ("no", HubNeighboursChoice::No),
];
pub(super) const ID_KINDS: [(&str, IdKind); 3] =
    [("auto", IdKind::Auto), ("integer", IdKind::Integer), ("string", IdKind::String)];
pub(super) const ORDERS: [(&str, Order); 5] = [
    ("natural", Order::Natural),
    ("degree", Order::Degree),
    ("bfs", Order::Bfs),
    ("cluster", Order::Cluster),
    ("random", Order::Random { seed: 0 }),
];

/// The order of an import, or that the import chooses it.
#[derive(Clone, Copy, Debug)]
enum OrderChoice {
    Is(Order),
    Auto,
}

const ORDER_CHOICES: [(&str, OrderChoice); 6] = [
    ("natural", OrderChoice::Is(Order::Natural)),
    ("degree", OrderChoice::Is(Order::Degree)),
    ("bfs", OrderChoice::Is(Order::Bfs)),
    ("cluster", OrderChoice::Is(Order::Cluster)),
    ("random", OrderChoice::Is(Order::Random { seed: 0 })),
    ("auto", OrderChoice::Auto),
];

/// A parser for named values, which help and messages list.
pub(super) fn named<T: Copy + Send + Sync + 'static>(
    names: &'static [(&'static str, T)],
) -> impl clap::builder::TypedValueParser<Value = T> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(names.iter().map(|(name, _)| *name)).map(|chosen| {
        names.iter().find(|(name, _)| *name == chosen).expect("one of the possible values").1
    })
}

fn print(out: &Path, report: &ImportReport) -> Result<()> {
    let per_second = |amount: u64| (amount as f64 / report.seconds.max(1e-9)) as u64;
    let mut facts = vec![
        ("graph", out.display().to_string()),
        ("vertices", count(report.vertices)),
        ("edges", count(report.edges)),
        ("stored edges", count(report.stored_edges)),
        ("duplicates", count(report.duplicates)),
        ("self-loops", count(report.self_loops)),
        ("seconds", format!("{:.2}", report.seconds)),
        (
            "read",
            format!(
                "{}, {} edges, {} edges/s",
                size(report.input_bytes),
                count(report.input_edges),
                count(per_second(report.input_edges))
            ),
        ),
        ("written", size(report.output_bytes)),
        ("peak memory", size(memory::peak_rss_bytes())),
    ];
    let is_notable = report.order != "natural" || report.order_memory_bytes.is_some();
    if let Some(reason) = report.order_reason.as_ref().filter(|_| is_notable) {
        facts.insert(6, ("order", format!("{}: {reason}", report.order)));
    }
    output::facts(&facts)
}

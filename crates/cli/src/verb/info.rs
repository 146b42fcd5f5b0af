//! `cenote info`: what a graph file holds, from its first page and indexes.

use anyhow::Result;
use cenote_algo::default_source;
use cenote_store::WeightSummary;
use cenote_store::superblock::{IdKind, SectionKind, Superblock};
use serde::Serialize;

use crate::args::Report;
use crate::graph_file::{GraphArg, JsonId, JsonWeight};
use crate::output::{self, count, size};
use crate::verb::Outcome;
use crate::verb::tier::status::{self, TierStatus};
use cenote::tiers::graph::TieredGraph;

/// Describe a graph file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cenote info kron.cenote
  cenote info kron.cenote --json")]
pub struct Args {
    #[command(flatten)]
    graph: GraphArg,
    #[command(flatten)]
    report: Report,
}

/// The fields that DESIGN.md promises to scripts come first.
#[derive(Debug, Serialize)]
struct Info {
    vertices: u64,
    edges: u64,
    stored_edges: u64,
    /// Pages of lists; what an algorithm reads.
    pages: u64,
    page_size: u32,
    page_bytes: u64,
    file_bytes: u64,
    directed: bool,
    in_edges: bool,
    weighted: bool,
    /// Type, smallest, largest and mean of the weights.
    weights: Option<Weights>,
    codec: &'static str,
    /// Whether the neighbours of largest degree of each vertex are stored apart.
    hub_neighbours: bool,
    format_version: u32,
    ids: &'static str,
    /// Order of the vertices, and the seed of a shuffle.
    order: &'static str,
    order_seed: Option<u64>,
    duplicates: u64,
    duplicates_kept: bool,
    self_loops: u64,
    self_loops_kept: bool,
    degree_max: u64,
    degree_max_vertex: Option<JsonId>,
    sections: Vec<Section>,
    /// What lies on which tier, of a graph over several drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    tiers: Option<Vec<TierStatus>>,
}

#[derive(Debug, Serialize)]
struct Weights {
    r#type: &'static str,
    min: Option<JsonWeight>,
    max: Option<JsonWeight>,
    mean: f64,
}

impl From<&WeightSummary> for Weights {
    fn from(summary: &WeightSummary) -> Self {
        Self {
            r#type: summary.kind.name(),
            min: summary.min().map(JsonWeight),
            max: summary.max().map(JsonWeight),
            mean: summary.mean(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Section {
    name: &'static str,
    first_page: u64,
    pages: u64,
    items: u64,
}

/// Describes the graph.
pub fn run(args: &Args) -> Result<Outcome> {
    let graph = args.graph.open()?;
    let superblock = graph.superblock();
    let mut info = Info::new(superblock);
    if superblock.vertices > 0 {
        info.degree_max_vertex = Some(JsonId(graph.ids()?.id_of(default_source(&graph)?)?));
    }
    if let Some(tiered) = TieredGraph::of(&graph) {
        info.tiers = Some(status::tiers(tiered.members())?);
    }
    if args.report.json {
        output::json(&info)?;
    } else {
        print(&info)?;
    }
    Ok(Outcome::Done)
}

impl Info {
    fn new(superblock: &Superblock) -> Self {
        let pages = [SectionKind::OutAdjacency, SectionKind::InAdjacency]
            .iter()
            .filter_map(|&kind| superblock.section(kind))
            .map(|section| section.pages)
            .sum::<u64>();
        Self {
            vertices: superblock.vertices,
            edges: superblock.edges,
            stored_edges: superblock.stored_out + superblock.stored_in,
            pages,
            page_size: superblock.page_bytes,
            page_bytes: pages * u64::from(superblock.page_bytes),
            file_bytes: superblock.file_bytes(),
            directed: superblock.directed,
            in_edges: superblock.in_edges,
            weighted: superblock.weights.is_some(),
            weights: superblock.weights.as_ref().map(Weights::from),
            codec: superblock.codec().name(),
            hub_neighbours: superblock.has_hub_neighbours(),
            format_version: superblock.format_version,
            ids: match superblock.ids {
                IdKind::Dense => "dense",
                IdKind::Integers => "integer",
                IdKind::Strings => "string",
            },
            order: superblock.order.name(),
            order_seed: superblock.order.seed(),
            duplicates: superblock.duplicates,
            duplicates_kept: superblock.duplicates_kept,
            self_loops: superblock.self_loops,
            self_loops_kept: superblock.self_loops_kept,
            degree_max: superblock.degree_max,
            degree_max_vertex: None,
            sections: superblock
                .sections
                .iter()
                .map(|section| Section {
                    name: section.kind.name(),
                    first_page: section.first_page,
                    pages: section.pages,
                    items: section.items,
                })
                .collect(),
            tiers: None,
        }
    }
}

fn print(info: &Info) -> Result<()> {
    let direction = match (info.directed, info.in_edges) {
        (false, _) => "undirected",
        (true, false) => "directed",
        (true, true) => "directed, with in-edges",
    };
    let found = |number, kept| {
        format!("{} found, {}", count(number), if kept { "kept" } else { "left out" })
    };
    let order = match info.order_seed {
        Some(seed) => format!("{}, seed {seed}", info.order),
        None => info.order.to_owned(),
    };
    let bytes_per_edge = info.page_bytes as f64 / info.stored_edges.max(1) as f64;
    let mut facts = vec![
        ("vertices", count(info.vertices)),
        ("edges", format!("{}, {direction}", count(info.edges))),
        ("stored edges", format!("{}, {bytes_per_edge:.2} bytes each", count(info.stored_edges))),
        ("pages", format!("{} of {}", count(info.pages), size(u64::from(info.page_size)))),
        ("page bytes", size(info.page_bytes)),
        ("file bytes", size(info.file_bytes)),
        ("ids", info.ids.to_owned()),
        ("order", order),
        ("duplicates", found(info.duplicates, info.duplicates_kept)),
        ("self-loops", found(info.self_loops, info.self_loops_kept)),
        ("codec", info.codec.to_owned()),
        ("hub_neighbours", if info.hub_neighbours { "yes" } else { "no" }.to_owned()),
        ("format version", info.format_version.to_string()),
    ];
    if let Some(Weights { r#type, min: Some(min), max: Some(max), mean }) = &info.weights {
        let told = format!("{type}, {} to {}, mean {mean:.6}", min.0, max.0);
        facts.push(("weights", told));
    }
    if let Some(tiers) = &info.tiers {
        let told: Vec<String> = tiers.iter().map(ToString::to_string).collect();
        facts.push(("tiers", told.join("; ")));
    }
    if let Some(JsonId(vertex)) = &info.degree_max_vertex {
        facts.push(("largest degree", format!("{}, vertex {vertex}", count(info.degree_max))));
    }
    output::facts(&facts)
}

//! `cenote info`: describes a graph file, from its first page and indexes.

use anyhow::Result;
use cenote::graph::{Info, WeightInfo};

use crate::args::Report;
use crate::graph_file::{GraphArg, SnapshotArg};
use crate::output::{self, count, size};
use crate::verb::{Outcome, snapshot};

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
    at: SnapshotArg,
    #[command(flatten)]
    report: Report,
}

/// Describes the graph.
pub fn run(args: &Args) -> Result<Outcome> {
    let info = args.graph.open(&args.at)?.info()?;
    match args.report.json {
        true => output::json(&info)?,
        false => print(&info)?,
    }
    Ok(Outcome::Done)
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
    let file_bytes = format!(
        "{}, {:.2} times the {} in use",
        size(info.file_bytes),
        info.space_amplification,
        size(info.used_bytes)
    );
    let mut facts = vec![
        ("vertices", count(info.vertices)),
        ("edges", format!("{}, {direction}", count(info.edges))),
        ("stored edges", stored_edges(info.stored_edges, info.page_bytes)),
        ("pages", format!("{} of {}", count(info.pages), size(u64::from(info.page_size)))),
        ("page bytes", size(info.page_bytes)),
        ("file bytes", file_bytes),
        ("ids", info.ids.to_owned()),
        ("order", order),
        ("duplicates", found(info.duplicates, info.duplicates_kept)),
        ("self-loops", found(info.self_loops, info.self_loops_kept)),
        ("codec", info.codec.to_owned()),
        ("free space", format!("{}% of each page of lists", info.free_space)),
        ("hub_neighbours", if info.hub_neighbours { "yes" } else { "no" }.to_owned()),
        ("format version", info.format_version.to_string()),
        ("epoch", count(info.epoch)),
        ("appended", format!("{} vertices", count(info.appended_vertices))),
        ("deleted", format!("{} vertices", count(info.deleted_vertices))),
        ("log", format!("{} changes", count(info.logged_changes))),
        ("free pages", count(info.free_pages)),
    ];
    facts.extend(unmerged(info));
    if let Some(name) = &info.snapshot {
        facts.push(("at snapshot", name.clone()));
    } else if !info.snapshots.is_empty() {
        let (number, pages) = (info.snapshots.len() as u64, count(info.snapshot_pages));
        facts.push(("snapshots", format!("{}, {pages} pages for them only", count(number))));
    }
    for snapshot in &info.snapshots {
        facts.push(("", snapshot::summary(snapshot)));
    }
    if let Some(WeightInfo { r#type, bytes, min: Some(min), max: Some(max), mean, .. }) =
        &info.weights
    {
        let each = if *bytes == 1 { "a byte".to_owned() } else { format!("{bytes} bytes") };
        facts.push(("weights", format!("{type} in {each}, {min} to {max}, mean {mean:.6}")));
    }
    if let Some(values) = &info.values {
        facts.push(("values", format!("{}, of {} vertices", values.r#type, count(values.count))));
    }
    if let Some(tiers) = &info.tiers {
        let used = tiers.iter().map(|tier| {
            format!("{} {} of {}", tier.name, size(tier.used_bytes), size(tier.capacity_bytes))
        });
        facts.push(("tiers", used.collect::<Vec<_>>().join("; ")));
    }
    if let Some(vertex) = &info.degree_max_vertex {
        facts.push(("largest degree", format!("{}, vertex {vertex}", count(info.degree_max))));
    }
    output::facts(&facts)
}

/// What lists do not have yet.
fn unmerged(info: &Info) -> impl Iterator<Item = (&'static str, String)> {
    let (runs, changes) = (count(info.delta_runs), count(info.delta_changes));
    let bytes = size(info.delta_bytes);
    let text = format!("{runs} of {changes} changes, {bytes} that a merge saves each pass");
    let runs = (info.delta_runs > 0).then_some(("delta runs", text));
    let text = format!("{} that a merge writes", count(info.dirty_pages));
    let dirty = (info.dirty_pages > 0).then_some(("dirty pages", text));
    runs.into_iter().chain(dirty)
}

/// How many, and how many bytes of pages each takes.
fn stored_edges(edges: u64, page_bytes: u64) -> String {
    match edges {
        0 => count(0),
        _ => format!("{}, {:.2} bytes each", count(edges), page_bytes as f64 / edges as f64),
    }
}

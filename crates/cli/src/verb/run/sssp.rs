//! `cenote run sssp`.

use anyhow::Result;
use cenote_algo::sssp::{self, Distance, Sssp, SsspConfig};
use cenote_engine::{EngineConfig, Graph, VertexId};
use serde::{Serialize, Serializer};

use super::RunOf;
use super::keys::{self, Sources, Target, Targets};
use super::result_file::{self, Column};
use super::summary::Stopwatch;
use crate::graph_file::JsonId;
use crate::output::count;
use crate::verb::Outcome;
use crate::verb::estimate::{self, EstimateOf};

pub const RUN_EXAMPLES: &str = "\
Examples:
  cenote run sssp roads.cenote --source 17 --memory 256MiB --out distances.parquet
  cenote run sssp roads.cenote --source 17 --target 4711 --parents --json

Weights are those of `cenote import --weights`; without them every edge has length 1. Exit status 1
where a target cannot be reached.";

pub const ESTIMATE_EXAMPLES: &str = "\
Examples:
  cenote estimate sssp roads.cenote --memory 256MiB";

/// What is searched for.
#[derive(Debug, clap::Args)]
pub struct Params {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    targets: Targets,
    /// Width of a bucket of distances, in the unit of the weights [default: 32 times the mean
    /// weight over the mean degree]
    #[arg(long, value_name = "D")]
    delta: Option<f64>,
    /// Find parents too: the smallest vertex over which a shortest path comes
    #[arg(long)]
    parents: bool,
}

impl Params {
    fn config(&self, graph: &Graph) -> Result<SsspConfig> {
        let sources = self.sources.vertices(graph)?;
        let targets = self.targets.vertices(graph)?;
        Ok(SsspConfig { sources, targets, delta: self.delta, parents: self.parents })
    }
}

/// A distance in JSON: an integer where weights are integers.
#[derive(Debug)]
struct JsonDistance(Distance);

impl Serialize for JsonDistance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Distance::Integer(distance) => serializer.serialize_u64(distance),
            Distance::Float(distance) => serializer.serialize_f64(distance),
        }
    }
}

#[derive(Debug, Serialize)]
struct Answer {
    /// The first of them.
    source: JsonId,
    sources: u64,
    source_chosen: bool,
    reached: u64,
    /// The largest distance, and the smallest vertex that has it.
    farthest: JsonId,
    distance_max: JsonDistance,
    delta: f64,
    buckets: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    targets: Vec<Goal>,
}

/// A target and how far it is.
#[derive(Debug, Serialize)]
struct Goal {
    #[serde(flatten)]
    target: Target,
    distance: Option<JsonDistance>,
}

/// Runs it.
pub fn run(args: &RunOf<Params>) -> Result<Outcome> {
    let (graph, config) = args.open()?;
    let sssp_config = args.params.config(&graph)?;
    let stopwatch = Stopwatch::start();
    let sssp = sssp::run(&graph, config.clone(), &sssp_config)?;
    let ids = graph.ids()?;
    let source = ids.id_of(sssp_config.sources[0])?;
    let chosen = args.params.sources.is_default();
    let targets = targets(&graph, &sssp, &sssp_config.targets)?;
    let outcome = keys::outcome(&targets);
    let target_lines = keys::lines(&targets);
    let distances = sssp_config.targets.iter().map(|&v| sssp.distance(v).map(JsonDistance));
    let goals = targets.into_iter().zip(distances);
    let answer = Answer {
        source: JsonId(source.clone()),
        sources: sssp.sources.len() as u64,
        source_chosen: chosen,
        reached: sssp.reached,
        farthest: JsonId(ids.id_of(sssp.farthest.0)?),
        distance_max: JsonDistance(sssp.farthest.1),
        delta: sssp.delta,
        buckets: sssp.buckets,
        targets: goals.map(|(target, distance)| Goal { target, distance }).collect(),
    };
    let steps = sssp.run.stats.steps;
    let mut summary = stopwatch.stop("sssp", &graph, &config, &sssp.run, steps, answer);
    if args.output.verify {
        sssp::verify(&graph, &sssp)?;
        summary.verified = true;
    }
    if let Some(path) = &args.output.out {
        result_file::write(path, &graph, &columns(&sssp))?;
    }
    let mut from = format!("from {source}");
    match sssp.sources.len() as u64 - 1 {
        0 if chosen => from += ", the vertex of largest degree",
        0 => {}
        others => from = format!("{from} and {} other sources", count(others)),
    }
    let (farthest, distance) = (&summary.result.farthest.0, sssp.farthest.1.to_f64());
    let mut lines = vec![
        ("sssp", from),
        ("reached", format!("{} of {} vertices", count(sssp.reached), count(summary.vertices))),
        ("farthest", format!("{farthest}, distance {distance}")),
        ("buckets", format!("{}, delta {}", count(sssp.buckets), sssp.delta)),
    ];
    lines.extend(target_lines);
    if let [Goal { distance: Some(JsonDistance(distance)), .. }] = &summary.result.targets[..] {
        lines.push(("distance", distance.to_f64().to_string()));
    }
    summary.print(args.plan.json, lines)?;
    Ok(outcome)
}

fn targets(graph: &Graph, sssp: &Sssp, vertices: &[VertexId]) -> Result<Vec<Target>> {
    let ids = graph.ids()?;
    let mut targets = Target::all(graph, vertices, |v| sssp.distance(v).is_some())?;
    for (target, &v) in targets.iter_mut().zip(vertices) {
        if let Some(path) = sssp.path_to(v) {
            let path: Result<Vec<_>> = path.iter().map(|&v| Ok(JsonId(ids.id_of(v)?))).collect();
            target.path = Some(path?);
        }
    }
    Ok(targets)
}

fn columns(sssp: &Sssp) -> Vec<Column<'_>> {
    let integer = |v| match sssp.distance(v)? {
        Distance::Integer(distance) => Some(distance),
        Distance::Float(_) => None,
    };
    let mut columns = vec![if sssp.is_integer() {
        Column::count("distance", integer)
    } else {
        Column::measure("distance", |v| sssp.distance(v).map(Distance::to_f64))
    }];
    if sssp.has_parents() {
        columns.push(Column::vertex("parent", |v| sssp.parent(v)));
    }
    columns
}

/// Estimates it.
pub fn estimate(args: &EstimateOf<Params>) -> Result<Outcome> {
    let (graph, config): (_, EngineConfig) = args.plan.open_to_estimate()?;
    let sssp_config = args.params.config(&graph)?;
    estimate::print("sssp", &args.plan, &config, &sssp::estimate(&graph, &config, &sssp_config)?)
}

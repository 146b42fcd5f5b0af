//! Weighted graphs, whole and with damaged pages: serial verifiers confirm weighted walks and
//! shortest paths, or the runs end with an error of one line. Never a panic, a hang, or a wrong
//! answer on a whole graph.

use std::fmt::Write;
use std::sync::Arc;

use cenote_algo::AlgoError;
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig};
use cenote_device::backend::sim::FaultPlan;
use cenote_engine::{EngineConfig, VertexId};
use cenote_import::Format;
use cenote_store::{Direction, Graph, WeightType, check};

use super::pages::Image;
use crate::disk::{SimWorkspace, random_drive};
use crate::faults::{End, clean};
use crate::house::{import_bytes, options};
use crate::question::{random_config, within_budget};
use crate::random::Random;
use crate::shape::SHAPES;
use crate::{Outcome, demand};

/// A file of a weighted graph.
struct Weighted {
    image: Image,
    /// First page of the weights of out-lists, and their number of pages.
    weights: (u64, u64),
}

/// An edge list in text with weights of this type: few or many different ones, rarely negative.
fn edges(kind: WeightType, random: &mut Random) -> String {
    let shape = random.pick(&SHAPES);
    let (limit, negative) = (random.pick(&[1, 2, 100, 1 << 31]), random.chance(5));
    let mut text = String::new();
    for (source, target) in shape.edges(random) {
        let number = random.below(limit);
        let sign = if negative && random.chance(2) && kind != WeightType::U32 { "-" } else { "" };
        let part = if kind.is_integer() { "" } else { random.pick(&["", ".5", "e-30", "e6"]) };
        writeln!(text, "{source} {target} {sign}{number}{part}").expect("memory takes it");
    }
    text
}

impl Weighted {
    fn random(random: &mut Random) -> Outcome<Self> {
        let (_, kind) = random.pick(&WeightType::NAMES);
        let text = edges(kind, random);
        let (drive, none) = (random_drive(random), FaultPlan::none);
        let options = options(random).weights(Some(kind));
        let workspace = SimWorkspace::new(drive.clone(), none(), none());
        import_bytes(text.as_bytes(), Format::Edges, &options, &workspace)
            .map_err(|e| format!("import failed: {e}"))?;
        let device = workspace.written().ok_or("a finished import made no output")?;
        let (image, graph) = Image::of(drive, device)?;
        let column = graph.weights(Direction::Out).ok_or("an import with weights has none")?;
        let weights = (column.first_page(), column.pages());
        Ok(Self { image, weights })
    }

    /// Opens and checks the graph and runs weighted algorithms.
    fn use_all(&self, random: &mut Random) -> Outcome<End> {
        let graph = match self.image.open() {
            Ok(graph) => Arc::new(graph),
            Err(error) => return clean(&error),
        };
        let report = check(&graph, &mut |_, _| true).map_err(|e| format!("check fails: {e}"))?;
        for fault in &report.faults {
            demand(!fault.message.contains('\n'), || format!("a fault is not one line: {fault}"))?;
        }
        for ask in [walks, paths] {
            let (config, seed) = (random_config(random), random.bits());
            let ask = |config| ask(&graph, config, &mut Random::new(seed), report.is_whole());
            match within_budget(&config, ask) {
                Ok(asked) => asked?,
                Err(AlgoError::Parameter { .. } | AlgoError::Unsupported { .. }) => {}
                Err(error) if report.is_whole() => return Err(format!("whole, but: {error}")),
                Err(error) => drop(clean(&error)?),
            }
        }
        Ok(if report.is_whole() { End::Right } else { End::Error })
    }
}

/// The result of a verifier counts only if the graph is whole.
fn verified(found: Result<(), AlgoError>, is_whole: bool) -> Outcome {
    match found {
        Err(error) if is_whole => Err(format!("{error}")),
        _ => Ok(()),
    }
}

fn walks(
    graph: &Arc<Graph>,
    config: EngineConfig,
    random: &mut Random,
    is_whole: bool,
) -> Result<Outcome, AlgoError> {
    let (p, q) = random.pick(&[(1.0, 1.0), (0.5, 2.0), (3.0, 0.25)]);
    let walk = WalkConfig::default()
        .walkers(1 + random.below(2000))
        .starts(if random.chance(50) { Starts::All } else { Starts::Random })
        .steps(1 + random.below(8) as u32)
        .restart(random.pick(&[0.0, 0.0, 0.3]))
        .dead_ends(random.pick(&[DeadEnds::End, DeadEnds::Restart]))
        .weighted(true)
        .seed(random.bits())
        .p(p)
        .q(q);
    let mut rows: Vec<(u64, Vec<VertexId>)> = Vec::new();
    let mut sink = |walk, row: &[VertexId]| {
        rows.push((walk, row.to_vec()));
        Ok(())
    };
    let folder = std::env::temp_dir();
    let output = Output { folder: &folder, sink_bytes: 0, sink: &mut sink };
    walk::run(graph, config, &walk, Some(output))?;
    let sampled = rows.iter().step_by(1 + rows.len() / 50);
    let found = walk::verify(graph, &walk, sampled.map(|(walk, row)| (*walk, row.as_slice())));
    Ok(verified(found, is_whole))
}

fn paths(
    graph: &Arc<Graph>,
    config: EngineConfig,
    random: &mut Random,
    is_whole: bool,
) -> Result<Outcome, AlgoError> {
    let source = random.index(graph.vertices().max(1)) as VertexId;
    let search = SsspConfig::default().sources(vec![source]).parents(true);
    let paths = sssp::run(graph, config, &search)?;
    Ok(verified(sssp::verify(graph, &paths), is_whole))
}

/// Runs on a whole graph, then with damaged pages, of weights or of any kind.
pub fn live(random: &mut Random) -> Outcome<Vec<End>> {
    let mut weighted = Weighted::random(random)?;
    let sound = weighted.image.bytes.clone();
    let mut ends = vec![weighted.use_all(random)?];
    demand(ends[0] == End::Right, || "check finds faults in a whole graph".into())?;
    for _ in 0..6 {
        let page = match weighted.weights {
            (first, pages) if pages > 0 && random.chance(70) => first + random.below(pages),
            _ => random.below(weighted.image.pages() as u64),
        };
        let seals = random.chance(80);
        weighted.image.damage(page as usize, 200, random);
        if seals {
            weighted.image.seal(page as usize);
        }
        ends.push(weighted.use_all(random)?);
        weighted.image.bytes.copy_from_slice(&sound);
    }
    Ok(ends)
}

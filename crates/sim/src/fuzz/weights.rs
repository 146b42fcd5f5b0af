//! Graphs with weights, whole and with damaged pages whose checksums are right: walks by weight and
//! shortest paths are as their serial verifiers find them, or end with an error of one line. Never
//! a panic, a hang, or an answer that a whole graph does not have.

use std::fmt::Write;
use std::sync::Arc;

use cenote_algo::AlgoError;
use cenote_algo::sssp::{self, SsspConfig};
use cenote_algo::walk::{self, DeadEnds, Output, Starts, WalkConfig};
use cenote_device::backend::sim::{FaultPlan, SimConfig};
use cenote_engine::{EngineConfig, EngineError, VertexId};
use cenote_import::{Format, ImportConfig};
use cenote_store::header::PageHeader;
use cenote_store::{Direction, Graph, WeightType, check};

use super::pages::mutate;
use crate::disk::{SimWorkspace, drive_with, random_drive};
use crate::faults::{End, clean};
use crate::house::{import_bytes, options};
use crate::question::random_config;
use crate::random::Random;
use crate::shape::SHAPES;
use crate::{Outcome, demand};

/// A weighted graph's file, where it lies, and how its pages are sealed.
struct Image {
    drive: SimConfig,
    bytes: Vec<u8>,
    page_bytes: usize,
    salt: u64,
    /// First page and pages of the weights of out-lists.
    weights: (u64, u64),
}

/// An edge list in text with weights of this type: few, many, 0, sometimes one below 0.
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

impl Image {
    fn random(random: &mut Random) -> Outcome<Self> {
        let (_, kind) = random.pick(&WeightType::NAMES);
        let text = edges(kind, random);
        let (drive, none) = (random_drive(random), FaultPlan::none);
        let options = ImportConfig { weights: Some(kind), ..options(random) };
        let workspace = SimWorkspace::new(drive.clone(), none(), none());
        import_bytes(text.as_bytes(), Format::Edges, &options, &workspace)
            .map_err(|e| format!("import failed: {e}"))?;
        let device = workspace.written().ok_or("a finished import made no output")?;
        let bytes = device.contents();
        let graph = Graph::open(device).map_err(|e| format!("it does not open: {e}"))?;
        let column = graph.weights(Direction::Out).ok_or("an import with weights has none")?;
        let weights = (column.first_page(), column.pages());
        let (page_bytes, salt) = (graph.page_bytes(), graph.superblock().salt);
        Ok(Self { drive, bytes, page_bytes, salt, weights })
    }

    /// Changes a page here and there; makes its checksum right, or leaves it wrong.
    fn damage(&mut self, page: usize, seals: bool, random: &mut Random) {
        let bytes = &mut self.bytes[page * self.page_bytes..][..self.page_bytes];
        for _ in 0..1 + random.below(3) {
            mutate(bytes, 200, random);
        }
        if seals {
            let salt = if page < 2 { 0 } else { self.salt };
            PageHeader::read(bytes).seal(bytes, salt, page as u64);
        }
    }

    /// Opens, checks and asks.
    fn use_all(&self, random: &mut Random) -> Outcome<End> {
        let graph = match Graph::open(drive_with(&self.drive, FaultPlan::none(), &self.bytes)) {
            Ok(graph) => Arc::new(graph),
            Err(error) => return clean(&error),
        };
        let report = check(&graph, &mut |_, _| {}).map_err(|e| format!("check fails: {e}"))?;
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

/// Asks; where the budget is too small, again with the budget that the error says would do.
fn within_budget<T>(
    config: &EngineConfig,
    ask: impl Fn(EngineConfig) -> Result<T, AlgoError>,
) -> Result<T, AlgoError> {
    match ask(config.clone()) {
        Err(AlgoError::Engine(EngineError::Budget { needed, .. })) => {
            ask(config.clone().memory_bytes(needed))
        }
        asked => asked,
    }
}

/// What the verifier finds of an answer counts where the graph is whole.
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

/// A whole graph, then the same with damaged pages: of weights, or of any kind.
pub fn live(random: &mut Random) -> Outcome<Vec<End>> {
    let mut image = Image::random(random)?;
    let sound = image.bytes.clone();
    let mut ends = vec![image.use_all(random)?];
    demand(ends[0] == End::Right, || "check finds faults in a whole graph".into())?;
    for _ in 0..6 {
        let pages = image.bytes.len() / image.page_bytes;
        let page = match image.weights {
            (first, pages) if pages > 0 && random.chance(70) => first + random.below(pages),
            _ => random.below(pages as u64),
        };
        let seals = random.chance(80);
        image.damage(page as usize, seals, random);
        ends.push(image.use_all(random)?);
        image.bytes.copy_from_slice(&sound);
    }
    Ok(ends)
}

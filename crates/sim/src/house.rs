//! The whole system, end to end: import, open, run, compare.

use std::fs;
use std::sync::Arc;

use cenote_algo::AlgoError;
use cenote_device::Device;
use cenote_device::backend::sim::{FaultPlan, SimConfig, SimDevice};
use cenote_engine::EngineConfig;
use cenote_import::{
    Format, ImportConfig, ImportError, ImportReport, InputSpec, NoProgress, Workspace, import_into,
};
use cenote_store::{Codec, Direction, Graph, StoreError, check};

use crate::disk::{SimWorkspace, random_drive};
use crate::input::{self, INTEGER_FORMATS, NAME_FORMATS};
use crate::oracle::Oracle;
use crate::question::{Question, ask_within_budget, random_config};
use crate::random::Random;
use crate::shape::{LARGE_SHAPES, NAMINGS, Naming, SHAPES, Shape};
use crate::{Outcome, demand};

/// Possible page sizes.
pub const PAGE_SIZES: [u32; 5] = [4096, 8192, 16384, 32768, 65536];

/// Memory that suffices for a small import.
const IMPORT_MEMORY_MIN: usize = 16 << 20;

/// An edge list, its file format, and the options of its import.
#[derive(Clone, Debug)]
pub struct Case {
    /// Shape of the graph.
    pub shape: Shape,
    /// The edges, by numbers from 0.
    pub edges: Vec<(u64, u64)>,
    /// The user's ids of the numbers.
    pub naming: Naming,
    /// Format of the file.
    pub format: Format,
    /// The options of the import.
    pub options: ImportConfig,
    /// The drive under the import.
    pub drive: SimConfig,
}

impl Case {
    /// A random case of a small graph.
    pub fn random(random: &mut Random) -> Self {
        let shape = random.pick(&SHAPES);
        Self::of_shape(shape, random)
    }

    /// A random case of this shape.
    pub fn of_shape(shape: Shape, random: &mut Random) -> Self {
        let naming = random.pick(&NAMINGS);
        let format = match naming {
            Naming::Names => random.pick(&NAME_FORMATS),
            Naming::Dense if random.chance(20) => Format::U32,
            _ => random.pick(&INTEGER_FORMATS),
        };
        let edges = shape.edges(random);
        Self { shape, edges, naming, format, options: options(random), drive: random_drive(random) }
    }

    /// The expected graph.
    pub fn oracle(&self) -> Oracle {
        Oracle::import(&self.edges, self.naming, &self.options)
    }

    /// Imports into a workspace.
    pub fn import(&self, workspace: &dyn Workspace) -> Result<ImportReport, ImportError> {
        let bytes = input::write(self.format, self.naming, &self.edges);
        import_bytes(&bytes, self.format, &self.options, workspace)
    }

    /// Imports without faults.
    pub fn store(&self) -> Outcome<Stored> {
        let none = FaultPlan::none;
        let workspace = SimWorkspace::new(self.drive.clone(), none(), none());
        let report = self.import(&workspace).map_err(|e| format!("import failed: {e}"))?;
        demand(workspace.is_published(), || "a finished import was not published".into())?;
        let device = workspace.written().ok_or("a finished import made no output")?;
        Ok(Stored { device, spill_operations: workspace.spill_operations(), report })
    }
}

/// A graph imported without faults.
#[derive(Debug)]
pub struct Stored {
    /// The device that holds the graph.
    pub device: Arc<SimDevice>,
    /// The largest number of operations on a spill file.
    pub spill_operations: u64,
    /// The report of the import.
    pub report: ImportReport,
}

/// Random options that are consistent.
pub fn options(random: &mut Random) -> ImportConfig {
    let directed = random.chance(50);
    ImportConfig::default()
        .directed(directed)
        .in_edges(directed && random.chance(50))
        .keep_duplicates(random.chance(25))
        .free_space(random.pick(&[0, 0, 0, 1, 10, 50]))
        .keep_self_loops(random.chance(40))
        .memory_bytes(IMPORT_MEMORY_MIN + random.index(16 << 20))
        .page_bytes(random.pick(&[4096, 4096, 4096, 8192, 16384, 32768, 65536]))
        .threads(1 + random.index(3))
        .codec(random.pick(&Codec::ALL))
}

/// Imports a file of these bytes.
pub fn import_bytes(
    bytes: &[u8],
    format: Format,
    options: &ImportConfig,
    workspace: &dyn Workspace,
) -> Result<ImportReport, ImportError> {
    import_parts(&[(bytes, format)], options, workspace)
}

/// Imports several inputs.
pub fn import_parts(
    parts: &[(&[u8], Format)],
    options: &ImportConfig,
    workspace: &dyn Workspace,
) -> Result<ImportReport, ImportError> {
    let file = |bytes: &[u8]| {
        let made = tempfile::NamedTempFile::new();
        made.and_then(|file| fs::write(file.path(), bytes).map(|()| file)).map_err(|source| {
            let input = "the simulation's temporary file".into();
            ImportError::Input { input, action: "write", source }
        })
    };
    let files = parts.iter().map(|(bytes, _)| file(bytes)).collect::<Result<Vec<_>, _>>()?;
    let specs = files.iter().zip(parts);
    let specs = specs.map(|(file, (_, format))| InputSpec::with_format(file.path(), *format));
    import_into(&specs.collect::<Vec<_>>(), workspace, options, &NoProgress)
}

/// Opens a graph that must be whole.
pub fn open_whole(device: Arc<dyn Device>) -> Outcome<Arc<Graph>> {
    let graph = Graph::open(device).map_err(|e| format!("a whole graph does not open: {e}"))?;
    let report = check(&graph, &mut |_, _| true).map_err(|e| format!("check failed: {e}"))?;
    demand(report.is_whole(), || format!("check finds faults: {:?}", report.faults))?;
    Ok(Arc::new(graph))
}

/// The lists of a direction, read in order.
pub fn lists(graph: &Graph, direction: Direction) -> Result<Vec<Vec<u32>>, StoreError> {
    let mut lists = vec![Vec::new(); graph.vertices()];
    graph.scan(direction, &mut |_, page| {
        page.lists().for_each(|list| lists[list.vertex as usize].extend_from_slice(list.targets));
        Ok(())
    })?;
    Ok(lists)
}

/// Compares the lists and ids of a stored graph with the oracle's.
pub fn compare_stored(graph: &Graph, oracle: &Oracle) -> Outcome {
    let failed = |e: StoreError| format!("reading failed: {e}");
    let out = lists(graph, Direction::Out).map_err(failed)?;
    demand(out == oracle.out, || "the lists of targets are not those imported".into())?;
    if graph.has_in_edges() {
        let back = lists(graph, Direction::In).map_err(failed)?;
        demand(back == oracle.back, || "the lists of sources are not those imported".into())?;
    }
    let mut names = Vec::new();
    let mut degrees = Vec::new();
    graph
        .degrees(Direction::Out, &mut |_, some| degrees.extend_from_slice(some))
        .map_err(failed)?;
    let lengths: Vec<u64> = oracle.out.iter().map(|list| list.len() as u64).collect();
    demand(degrees == lengths, || "the degrees are not the lengths of the lists".into())?;
    let ids = graph.ids().map_err(failed)?;
    let every = 0..graph.vertices() as u32;
    ids.for_each(every, |_, id| {
        names.push(id.to_string());
        Ok::<(), StoreError>(())
    })
    .map_err(failed)?;
    demand(names == oracle.names, || "the ids are not those imported".into())?;
    let edges = graph.superblock().edges;
    demand(edges == oracle.edges, || format!("{edges} edges, not {}", oracle.edges))
}

/// Compares the engine's answer with the oracle's. An algorithm may refuse only where it is
/// documented to.
pub fn compare_answer(
    graph: &Arc<Graph>,
    oracle: &Oracle,
    question: Question,
    config: &EngineConfig,
) -> Outcome {
    let way = || {
        let EngineConfig { strategy, threads, memory_bytes, depth, cache_bytes, .. } = config;
        format!(
            "{question:?} by {strategy}, {threads} threads, memory {memory_bytes}, \
             depth {depth:?}, cache {cache_bytes:?}, profile {}",
            config.profile.device
        )
    };
    match ask_within_budget(question, graph, config) {
        Ok(found) => match found.difference(&question.answer(oracle)) {
            Some(difference) => Err(format!("{}: {difference}", way())),
            None => Ok(()),
        },
        Err(AlgoError::Unsupported { .. })
            if question.may_be_unsupported(graph, config.strategy) =>
        {
            Ok(())
        }
        Err(error) => Err(format!("{}: {error}", way())),
    }
}

/// Runs the whole system once.
pub fn live(random: &mut Random) -> Outcome {
    let case = Case::random(random);
    with_context(&case, random)
}

/// Runs the whole system once on a graph of hundreds of pages.
pub fn live_large(random: &mut Random) -> Outcome {
    let shape = random.pick(&LARGE_SHAPES);
    let case = Case::of_shape(shape, random);
    with_context(&case, random)?;
    together(&case, random).map_err(|fault| format!("{shape:?} graph, two runs at once: {fault}"))
}

/// Runs two algorithms on one open graph at the same time.
fn together(case: &Case, random: &mut Random) -> Outcome {
    let graph = open_whole(case.store()?.device)?;
    let oracle = case.oracle();
    let questions = Question::all(graph.vertices(), random);
    let [one, other] = [(); 2].map(|()| (random.pick(&questions), random_config(random)));
    let ask = |(question, config): (Question, EngineConfig)| {
        compare_answer(&graph, &oracle, question, &config)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| ask(other));
        ask(one)?;
        other.join().unwrap_or_else(|_| Err("one of two runs panicked".into()))
    })
}

fn with_context(case: &Case, random: &mut Random) -> Outcome {
    let context = |fault: String| {
        let Case { shape, naming, format, options, .. } = case;
        format!("{shape:?} graph, {naming:?} ids, {format}, {options:?}: {fault}")
    };
    once(case, random).map_err(context)
}

fn once(case: &Case, random: &mut Random) -> Outcome {
    let stored = case.store()?;
    let oracle = case.oracle();
    let graph = open_whole(stored.device)?;
    compare_stored(&graph, &oracle)?;
    let counts = (stored.report.vertices, stored.report.edges);
    let expected = (oracle.out.len() as u64, oracle.edges);
    demand(counts == expected, || format!("import reports {counts:?}, not {expected:?}"))?;
    for question in Question::all(graph.vertices(), random) {
        for _ in 0..2 {
            compare_answer(&graph, &oracle, question, &random_config(random))?;
        }
    }
    Ok(())
}

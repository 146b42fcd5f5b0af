//! Degrees with less memory than those of all vertices take: a band of them at a time is in memory,
//! and written to the state file.
//!
//! In-degrees of a directed graph without in-edges are counted band by band: each band reads the
//! lists and finds its entries by binary search, or one pass writes every entry to the blocks of
//! its band, 4 bytes each. The device's rates tell which is cheaper.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, EngineConfig, EngineError, Graph, HugeVec, Kernel, List,
    Messages, STATE_ALIGN_BYTES, Sender, StateFile, VertexId,
};

use super::{Degrees, counts, stored};
use crate::bands::{BandPlan, Layout, Shape, Traffic};
use crate::estimate::{Estimate, Reads, kept};
use crate::parallel;
use crate::ranks::{Ranks, is_natural};
use crate::report::{Result, Run, pages};

/// Bytes of a degree.
const DEGREE_BYTES: u64 = 8;

/// Bytes of an entry in a block.
const ENTRY_BYTES: usize = 4;

/// A plan, and whether entries are counted from blocks.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    bands: BandPlan,
    from_blocks: bool,
    /// Passes over the lists.
    passes: u64,
}

/// Plans a run in bands; see [`BandPlan::choose`].
pub(super) fn choose(graph: &Graph, config: &EngineConfig, refused: EngineError) -> Result<Plan> {
    let directions = if graph.is_directed() { 2 } else { 1 };
    let counts = counts(graph);
    let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
    let bytes = ENTRY_BYTES as u64 * entries;
    let shape = Shape {
        what: "degrees in bands of vertices",
        vertex_bytes: DEGREE_BYTES * directions,
        messages: counts.into(),
        message_bytes: bytes,
        ..Shape::default()
    };
    let plan = BandPlan::choose(graph, config, &shape, refused)?;
    let (bands, n) = (plan.layout.bands as u64, graph.vertices() as u64);
    let pass = (pages(graph, Direction::Out) * graph.page_bytes() as u64) as f64;
    let missing = 1.0 - kept(graph, &plan.memory, pages(graph, Direction::Out));
    // The last block of every writer is not full.
    let padding = (config.threads as u64 * bands * STATE_ALIGN_BYTES / 2).min(bytes);
    let blocks = bytes + padding;
    let again = plan.seconds(pass * (bands - 1) as f64 * missing, 0.0);
    let from_blocks = counts && again > plan.seconds(blocks as f64, blocks as f64);
    let (block_bytes, passes) = match (counts, from_blocks) {
        (false, _) => (0, 0),
        (true, false) => (0, bands),
        (true, true) => (blocks, 1),
    };
    let degrees = DEGREE_BYTES * directions * n;
    let ranks = if is_natural(graph) { 0 } else { 4 * n };
    let because = match (counts, from_blocks) {
        (false, _) => format!("{bands} bands are read one after the other"),
        (true, false) => format!("each of {bands} bands counts in the lists, which costs least"),
        (true, true) => format!("{bands} bands count in blocks, which costs least"),
    };
    let plan = plan.with(Traffic {
        file_bytes: degrees + ranks + block_bytes,
        // Both degrees of a vertex tell whether it is isolated.
        state_bytes_read: block_bytes + if directions == 2 { DEGREE_BYTES * n } else { 0 },
        bytes_written: degrees + ranks + block_bytes,
        block_bytes,
        because,
    });
    Ok(Plan { bands: plan, from_blocks, passes })
}

impl Plan {
    /// The estimate of the run.
    pub fn estimate(self, graph: &Graph) -> Estimate {
        let degrees: u64 = stored(graph).iter().map(|&of| graph.degree_pages(of)).sum();
        let all = pages(graph, Direction::Out);
        let missing = 1.0 - kept(graph, &self.bands.memory, all);
        let again = self.passes.saturating_sub(1) as f64 * missing;
        let lists = all as f64 * (self.passes.min(1) as f64 + again);
        let visited = (all * self.passes) as f64;
        let because = match self.passes {
            0 => "the pages of degrees, or the lists if these are newer",
            _ => "the pages of out-degrees, and passes over the lists",
        };
        self.bands.estimate(graph, Reads::about(degrees as f64 + lists).visiting(visited), because)
    }
}

/// Reads and counts the degrees in bands.
pub(super) fn run(graph: &Arc<Graph>, config: EngineConfig, plan: &Plan) -> Result<Degrees> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.bands.needs)?;
    engine.install(|| {
        let layout = &plan.bands.layout;
        let file = engine.state_file(layout.buffer_bytes)?;
        let place = || file.reserve(DEGREE_BYTES * layout.vertices as u64);
        let mut writing = Writing {
            layout,
            file: &file,
            band: HugeVec::zeroed(layout.band.min(layout.vertices))?,
            before: HugeVec::zeroed(if graph.is_directed() { layout.band } else { 0 })?,
            out: place(),
            entries: 0,
            isolated: 0,
        };
        engine.step("degrees", || writing.read(graph, Direction::Out, None))?;
        let inward = graph.is_directed().then(place);
        match (inward, counts(graph)) {
            (None, _) => {}
            (Some(inward), false) => {
                engine.step("in-degrees", || writing.read(graph, Direction::In, Some(inward)))?;
            }
            (Some(inward), true) => count(&engine, plan, &mut writing, inward)?,
        }
        let Writing { mut band, out, entries, isolated, .. } = writing;
        let words = bytemuck::cast_slice_mut(&mut band);
        let ranks = Ranks::write(graph, &file, words)?;
        let sealed = file.seal();
        let array = |place| sealed.array(place, layout.vertices);
        let mut run = Run { bands: Some(plan.bands.report.clone()), ..Run::of(&engine) };
        for &direction in stored(graph) {
            run.stats.bytes_read += graph.degree_pages(direction) * graph.page_bytes() as u64;
        }
        Ok(Degrees {
            out: array(out)?,
            inward: inward.map(array).transpose()?,
            ids: Ranks::stored(graph, ranks.map(|place| sealed.array(place, layout.vertices)))?,
            entries,
            isolated: isolated - graph.deleted().len() as u64,
            run,
        })
    })
}

/// Degrees on their way to the file.
struct Writing<'a> {
    layout: &'a Layout,
    file: &'a StateFile,
    /// The degrees of a band in the direction that is written, and its out-degrees.
    band: HugeVec<u64>,
    before: HugeVec<u64>,
    /// Place of the out-degrees.
    out: u64,
    entries: u64,
    /// Vertices without an edge, in either direction, deleted ones too.
    isolated: u64,
}

impl Writing<'_> {
    /// Writes the stored degrees of a direction: out-degrees, or at `inward` the in-degrees.
    fn read(&mut self, graph: &Graph, direction: Direction, inward: Option<u64>) -> Result<()> {
        let (mut at, mut written) = (0, Ok(()));
        graph.degrees(direction, &mut |_, degrees| {
            for &degree in degrees {
                self.band[at % self.layout.band] = degree;
                at += 1;
                if (at == self.layout.vertices || at % self.layout.band == 0) && written.is_ok() {
                    written = self.write((at - 1) / self.layout.band, graph, inward);
                }
            }
        })?;
        written
    }

    /// Writes a band.
    fn write(&mut self, band: usize, graph: &Graph, inward: Option<u64>) -> Result<()> {
        let range = self.layout.range(band);
        let (len, at) = (range.len(), DEGREE_BYTES * u64::from(range.start));
        let degrees = &self.band[..len];
        let Some(inward) = inward else {
            self.entries += parallel::sum(len, |at| degrees[at]);
            if !graph.is_directed() {
                self.isolated += parallel::count(len, |at| degrees[at] == 0) as u64;
            }
            return Ok(self.file.write(self.out + at, degrees)?);
        };
        let before = &mut self.before[..len];
        self.file.read(self.out + at, before)?;
        self.isolated += parallel::count(len, |at| before[at] + degrees[at] == 0) as u64;
        Ok(self.file.write(inward + at, degrees)?)
    }
}

/// Counts the in-degrees in the out-lists.
fn count(engine: &Engine, plan: &Plan, writing: &mut Writing<'_>, inward: u64) -> Result<()> {
    let layout = writing.layout;
    let messages = Messages::new(engine, writing.file, layout.bands, layout.block_bytes);
    if plan.from_blocks {
        let scatter = Scatter { messages: &messages, layout };
        engine.step("blocks", || {
            let sent = engine.visit("blocks", Direction::Out, ActiveSet::All, &scatter)?;
            messages.post(sent)
        })?;
    }
    for band in 0..layout.bands {
        engine.check_cancel()?;
        engine.step(format!("in-degrees, band {} of {}", band + 1, layout.bands), || {
            let range = layout.range(band);
            let degrees = std::mem::replace(&mut writing.band, HugeVec::zeroed(0)?);
            let mut degrees = degrees.into_atomic();
            degrees.iter_mut().for_each(|degree| *degree.get_mut() = 0);
            if plan.from_blocks {
                messages.take(band, |entry| {
                    let i = u32::from_le_bytes(*entry) - range.start;
                    degrees[i as usize].fetch_add(1, Ordering::Relaxed);
                })?;
            } else {
                let kernel = Count { first: range.start, end: range.end, degrees: &degrees };
                engine.visit("in-degrees", Direction::Out, ActiveSet::All, &kernel)?;
            }
            writing.band = degrees.into_plain();
            writing.write(band, engine.graph(), Some(inward))
        })?;
    }
    Ok(())
}

/// Counts the entries that lie in a band.
struct Count<'a> {
    first: VertexId,
    end: VertexId,
    degrees: &'a [AtomicU64],
}

impl Kernel for Count<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let rest = &list.targets[list.targets.partition_point(|&t| t < self.first)..];
        for &target in &rest[..rest.partition_point(|&t| t < self.end)] {
            self.degrees[(target - self.first) as usize].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes all entries to the blocks of their bands.
struct Scatter<'a> {
    messages: &'a Messages<'a, ENTRY_BYTES>,
    layout: &'a Layout,
}

impl<'a> Kernel for Scatter<'a> {
    type Local = Sender<'a, ENTRY_BYTES>;

    fn local(&self) -> Self::Local {
        self.messages.sender()
    }

    fn list(&self, sender: &mut Self::Local, list: &List<'_>) {
        for &target in list.targets {
            sender.send(self.layout.band_of(target), &target.to_le_bytes());
        }
    }

    fn end(&self, sender: &mut Self::Local) {
        sender.finish();
    }

    fn is_done(&self, sender: &mut Self::Local) -> bool {
        sender.has_failed()
    }
}

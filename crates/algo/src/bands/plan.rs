//! Sizes of bands and buffers within a budget, and the estimate of a run.

use cenote_engine::{
    BlockRef, Blocks, Engine, EngineConfig, EngineError, Graph, MemoryPlan, Needs,
    STATE_ALIGN_BYTES, Schedule,
};

use crate::estimate::{Estimate, Reads, may_be_in_bands};
use crate::report::{Bands, Result};

/// Bands are multiples of this, so that their parts of arrays are aligned.
pub(crate) const VERTICES_ALIGN: usize = 1024;

/// The most bands: with more, a band is smaller than everything beside it.
const BANDS_MAX: usize = 64;

/// A frontier keeps a list of up to one vertex in so many, for one part in 32 of the set's memory
/// per thread.
const LIST_SHARE: usize = 1024;

/// The most vertices in the list of a frontier.
pub(crate) fn list_max(vertices: usize) -> usize {
    vertices / LIST_SHARE + 1
}

/// Vertices of a band, and how many bands there are then, for so many at most.
pub(crate) fn band_of_each(vertices: usize, bands: usize) -> (usize, usize) {
    let band = vertices.div_ceil(bands).next_multiple_of(VERTICES_ALIGN);
    (band, vertices.div_ceil(band).max(1))
}

/// Bytes of the buffers for large transfers, in a state of `memory_bytes`.
pub(crate) fn buffer_bytes(memory_bytes: u64) -> u64 {
    (memory_bytes / 16).clamp(32 << 10, 2 << 20)
}

/// Bytes of a block in a state of `memory_bytes`, where each thread has so many of them.
pub(crate) fn block_bytes(memory_bytes: u64, threads: usize, blocks: usize) -> usize {
    const ALIGN: usize = STATE_ALIGN_BYTES as usize;
    let all = usize::try_from((memory_bytes / 8).clamp(4 << 10, 64 << 20)).expect("clamped");
    ((all / threads / blocks).min(256 << 10) / ALIGN).max(1) * ALIGN
}

/// The layout of the fewest bands whose state fits the budget beside `more_bytes` of state and
/// buffers for reads; if none does, the one of the smallest state. `layout` makes one of a number
/// of bands and the memory for it.
pub(crate) fn fewest_bands<L>(
    (graph, config): (&Graph, &EngineConfig),
    more_bytes: u64,
    layout: impl Fn(usize, u64) -> L,
    state_bytes: impl Fn(&L) -> u64,
) -> L {
    let fixed = Engine::fixed_bytes(graph, config) + more_bytes;
    let memory_bytes = config.memory_bytes.saturating_sub(fixed);
    let of_reads = (memory_bytes / 8).clamp(64 << 10, 8 << 20);
    // The least buffers may take more than that.
    let is_planned = |state_bytes| {
        let needs = Needs { what: "bands", state_bytes, scratch_bytes: 0 };
        Engine::plan(graph, config, &needs).is_ok()
    };
    let fits = |layout: &L| {
        let bytes = state_bytes(layout);
        bytes + of_reads <= memory_bytes && is_planned(bytes + more_bytes)
    };
    let fitting = (1..=BANDS_MAX).map(|bands| layout(bands, memory_bytes)).find(fits);
    fitting.unwrap_or_else(|| {
        let least = (1..=BANDS_MAX).map(|bands| layout(bands, 0));
        least.min_by_key(&state_bytes).expect("there is one band")
    })
}

/// What an algorithm has in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// Its name, for messages.
    pub what: &'static str,
    /// Bytes of each vertex of the band.
    pub vertex_bytes: u64,
    /// Bytes beside the band, such as sets of vertices.
    pub fixed_bytes: u64,
    /// Bytes that are in use before the first band is in memory, and free from then on.
    pub before_bytes: u64,
    /// Kinds of messages whose blocks are in memory at a time.
    pub messages: u64,
    /// The most bytes of messages that wait.
    pub message_bytes: u64,
}

/// How large the parts in memory are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub vertices: usize,
    pub bands: usize,
    /// Vertices of a band, of which the last may have fewer.
    pub band: usize,
    /// Buffers for large transfers.
    pub buffer_bytes: u64,
    pub block_bytes: usize,
    /// All of it.
    pub state_bytes: u64,
}

impl Layout {
    /// So many bands with `memory_bytes` for all of the state.
    fn new(
        graph: &Graph,
        config: &EngineConfig,
        shape: &Shape,
        bands: usize,
        memory_bytes: u64,
    ) -> Self {
        let (vertices, threads) = (graph.vertices(), config.threads);
        let (band, bands) = band_of_each(vertices, bands);
        let buffer_bytes = buffer_bytes(memory_bytes);
        let kinds = shape.messages;
        let block_bytes = block_bytes(memory_bytes, threads, (bands + 8) * kinds.max(1) as usize);
        let blocks = match kinds {
            0 => 0,
            // Twice the references, since vectors of them grow.
            _ => {
                kinds * Blocks::memory_bytes(threads, bands, block_bytes)
                    + 2 * BlockRef::bytes_for(shape.message_bytes, block_bytes)
                    + kinds * 64 * (threads as u64 + 1) * bands as u64
            }
        };
        let of_band = shape.vertex_bytes * band.min(vertices) as u64;
        let state_bytes =
            shape.fixed_bytes + of_band.max(shape.before_bytes) + buffer_bytes + blocks;
        Self { vertices, bands, band, buffer_bytes, block_bytes, state_bytes }
    }

    /// The fewest bands that fit the budget.
    fn choose(graph: &Graph, config: &EngineConfig, shape: &Shape) -> Self {
        fewest_bands(
            (graph, config),
            shape.fixed_bytes,
            |bands, memory_bytes| Self::new(graph, config, shape, bands, memory_bytes),
            |layout| layout.state_bytes - shape.fixed_bytes,
        )
    }

    /// The band of a vertex.
    #[inline(always)]
    pub fn band_of(&self, v: u32) -> usize {
        v as usize / self.band
    }

    /// The vertices of a band.
    pub fn range(&self, band: usize) -> std::ops::Range<u32> {
        let first = band * self.band;
        first as u32..(first + self.band).min(self.vertices) as u32
    }
}

/// What a run moves beside lists, as planned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// Bytes of the state file.
    pub file_bytes: u64,
    pub state_bytes_read: u64,
    pub bytes_written: u64,
    /// Bytes of messages; 0 without.
    pub block_bytes: u64,
    /// What is in memory, in words.
    pub because: String,
}

/// A run in bands.
#[derive(Clone, Debug)]
pub(crate) struct BandPlan {
    pub layout: Layout,
    pub needs: Needs,
    /// For statistics.
    pub report: Bands,
    pub memory: MemoryPlan,
    /// Bytes per second of large reads and writes, by the drive's profile.
    pub rates: (f64, f64),
    schedule: Schedule,
}

impl BandPlan {
    /// Plans a run in bands if `refused` says that the state does not fit in memory; otherwise
    /// returns that error, or one that says what bands need.
    pub fn choose(
        graph: &Graph,
        config: &EngineConfig,
        shape: &Shape,
        refused: EngineError,
    ) -> Result<Self> {
        if !may_be_in_bands(graph, config, &refused) {
            return Err(refused.into());
        }
        Self::of(graph, config, shape)
    }

    /// As [`BandPlan::choose`], for one shape after the other until one fits.
    pub fn choose_first(
        graph: &Graph,
        config: &EngineConfig,
        (first, least): (&Shape, &Shape),
        refused: EngineError,
    ) -> Result<(Self, Shape)> {
        if !may_be_in_bands(graph, config, &refused) {
            return Err(refused.into());
        }
        match Self::of(graph, config, first) {
            Ok(plan) => Ok((plan, *first)),
            Err(_) => Ok((Self::of(graph, config, least)?, *least)),
        }
    }

    /// Plans a run in bands.
    pub fn of(graph: &Graph, config: &EngineConfig, shape: &Shape) -> Result<Self> {
        let layout = Layout::choose(graph, config, shape);
        let needs = Needs { what: shape.what, state_bytes: layout.state_bytes, scratch_bytes: 0 };
        let (schedule, memory) = Engine::plan(graph, config, &needs)?;
        let band = layout.band.min(layout.vertices);
        let report = Bands {
            count: layout.bands as u32,
            vertices: band as u32,
            band_bytes: shape.vertex_bytes * band as u64,
            from_blocks: 0,
            block_bytes: 0,
            file_bytes: 0,
            state_bytes_read: 0,
            bytes_written: 0,
            because: String::new(),
        };
        let rates = (schedule.bytes_per_second(), config.write_bytes_per_second(256 << 10));
        Ok(Self { layout, needs, report, memory, rates, schedule })
    }

    /// The same with at least so much state, which another way of the run needs.
    pub fn with_state(
        mut self,
        graph: &Graph,
        config: &EngineConfig,
        state_bytes: u64,
    ) -> Result<Self> {
        self.needs.state_bytes = self.needs.state_bytes.max(state_bytes);
        (self.schedule, self.memory) = Engine::plan(graph, config, &self.needs)?;
        Ok(self)
    }

    /// Adds what the run moves.
    pub fn with(mut self, traffic: Traffic) -> Self {
        let report = &mut self.report;
        report.file_bytes = traffic.file_bytes;
        report.state_bytes_read = traffic.state_bytes_read;
        report.bytes_written = traffic.bytes_written;
        report.block_bytes = traffic.block_bytes;
        report.from_blocks = if traffic.block_bytes > 0 { report.count } else { 0 };
        report.because = format!("the vertex state does not fit in memory: {}", traffic.because);
        self
    }

    /// Seconds of device time to read and to write so many bytes.
    pub fn seconds(&self, read: f64, written: f64) -> f64 {
        read / self.rates.0 + written / self.rates.1
    }

    /// The estimate of a run that reads so many pages of lists.
    pub fn estimate(self, graph: &Graph, reads: Reads, because: &str) -> Estimate {
        let because = format!("{because}; {}", self.report.because);
        let plan = (self.schedule.clone(), self.memory);
        Estimate::new(graph, plan, reads, because).with_bands(
            &self.schedule,
            self.rates.1,
            self.report,
        )
    }
}

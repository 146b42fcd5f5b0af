//! The iterations of pull in bands.

use std::sync::Arc;

use cenote_engine::{
    ActiveSet, BlockRef, Blocks, Direction, Engine, EngineConfig, Graph, HugeVec, StateFile,
    VertexId,
};
use rayon::prelude::*;

use super::super::fixed::{from_fixed, to_fixed};
use super::super::pull::{rank, share};
use super::super::restart::Restart;
use super::super::{PageRank, PageRankConfig, Step, check_sum, iterate};
use super::grid::{FromLists, Scatter, decode};
use super::plan::BandPlan;
use super::sums::{Runs, Sums, slot_bytes};
use crate::ranks::Ranks;
use crate::report::{Result, Run};

/// Vertices that a thread finishes at a time.
const FINISH_TOGETHER: usize = 1 << 12;

/// Computes the ranks in bands.
pub(in super::super) fn run(
    graph: &Arc<Graph>,
    config: EngineConfig,
    pagerank: &PageRankConfig,
    plan: BandPlan,
) -> Result<PageRank> {
    let engine = Engine::new(Arc::clone(graph), config, &plan.needs)?;
    engine.install(|| {
        let restart = Restart::new(graph, pagerank)?;
        let scale = pagerank.scale(graph.live_vertices());
        let file = engine.state_file(plan.layout.buffer_bytes)?;
        let blocks = Blocks::new(&engine, &file, plan.layout.bands, plan.layout.block_bytes);
        let mut pull = Pull::new(&engine, &file, &blocks, &plan, pagerank.damping, restart)?;
        let (iterations, change) = iterate(pagerank, scale, |i| pull.step(i))?;
        let shares = pull.shares;
        let (ids, sum) = engine.step("ranks", || pull.finish(scale))?;
        drop(blocks);
        check_sum(graph, pagerank, sum)?;
        let sealed = file.seal();
        let ranks = sealed.array(shares, graph.vertices())?;
        let ids = Ranks::stored(graph, ids.map(|at| sealed.array(at, graph.vertices())))?;
        let converged =
            pagerank.tolerance.map(|tolerance| change.is_some_and(|change| change < tolerance));
        let run = Run { bands: Some(plan.report.clone()), ..Run::of(&engine) };
        Ok(PageRank { ranks, ids, iterations, converged, change, run })
    })
}

/// The state between iterations.
struct Pull<'a> {
    engine: &'a Engine,
    file: &'a StateFile,
    blocks: &'a Blocks<'a>,
    plan: &'a BandPlan,
    damping: f64,
    restart: Restart,
    dangling: f64,
    /// Places in the file: of shares, degrees, and sums between bands.
    shares: u64,
    degrees: u64,
    stored: u64,
    /// Words of the stored sums of each window.
    stored_words: Vec<u32>,
    /// By band, then window.
    refs: Vec<Vec<BlockRef>>,
    /// Shares of the band.
    band: HugeVec<u64>,
    sums: Sums,
    /// Of the window.
    window_shares: Vec<f64>,
    window_degrees: Vec<u32>,
}

/// Mass in fixed point.
#[derive(Clone, Copy, Default)]
struct Masses {
    change: u64,
    dangling: u64,
}

impl Masses {
    fn and(self, other: Self) -> Self {
        Self {
            change: self.change.wrapping_add(other.change),
            dangling: self.dangling.wrapping_add(other.dangling),
        }
    }
}

impl<'a> Pull<'a> {
    fn new(
        engine: &'a Engine,
        file: &'a StateFile,
        blocks: &'a Blocks<'a>,
        plan: &'a BandPlan,
        damping: f64,
        restart: Restart,
    ) -> Result<Self> {
        let layout = &plan.layout;
        let (n, windows) = (layout.vertices as u64, layout.windows());
        let sums_bytes = if layout.bands > 1 { slot_bytes(layout.window) } else { 0 };
        let mut pull = Self {
            engine,
            file,
            blocks,
            plan,
            damping,
            restart,
            dangling: 0.0,
            shares: file.reserve(8 * n),
            degrees: file.reserve(4 * n),
            stored: file.reserve(windows as u64 * sums_bytes),
            stored_words: vec![0; windows],
            refs: vec![Vec::new(); windows * layout.bands],
            band: HugeVec::zeroed(layout.band.min(layout.vertices))?,
            sums: Sums::new(layout.window)?,
            window_shares: Vec::with_capacity(layout.window),
            window_degrees: Vec::with_capacity(layout.window),
        };
        engine.step("shares", || pull.begin())?;
        if plan.report.block_bytes > 0 {
            engine.step("blocks", || pull.scatter())?;
        }
        Ok(pull)
    }

    /// Writes the first shares and the degrees, window by window.
    fn begin(&mut self) -> Result<()> {
        let (window, mut at, mut dangling) = (self.plan.layout.window, 0, 0u64);
        let start = self.restart.start();
        let (shares, degrees_of) = (&mut self.window_shares, &mut self.window_degrees);
        let (file, places) = (self.file, (self.shares, self.degrees));
        let mut written = Ok(());
        let flush = |at: usize, shares: &mut Vec<f64>, degrees: &mut Vec<u32>| {
            let first = (at - shares.len()) as u64;
            let done = file
                .write(places.0 + 8 * first, shares)
                .and_then(|()| file.write(places.1 + 4 * first, degrees));
            shares.clear();
            degrees.clear();
            done
        };
        self.engine.graph().degrees(Direction::Out, &mut |_, degrees| {
            for &degree in degrees {
                let rank = start.of(at as VertexId);
                shares.push(share(rank, degree));
                degrees_of.push(u32::try_from(degree).unwrap_or(u32::MAX));
                dangling += if degree == 0 { to_fixed(rank) } else { 0 };
                at += 1;
                if shares.len() == window && written.is_ok() {
                    written = flush(at, shares, degrees_of);
                }
            }
        })?;
        written?;
        flush(at, shares, degrees_of)?;
        self.dangling = from_fixed(dangling);
        Ok(())
    }

    /// The vertices of a window.
    fn window(&self, w: usize) -> (VertexId, VertexId) {
        let from = w * self.plan.layout.window;
        let to = (from + self.plan.layout.window).min(self.plan.layout.vertices);
        (from as VertexId, to as VertexId)
    }

    /// Writes the blocks.
    fn scatter(&mut self) -> Result<()> {
        let windows = self.plan.layout.windows();
        for w in 0..windows {
            let window = self.window(w);
            let (layout, in_blocks) = (&self.plan.layout, &self.plan.in_blocks);
            let kernel = Scatter { blocks: self.blocks, layout, in_blocks, window };
            let active = ActiveSet::Within { from: window.0, to: window.1 };
            for written in self.engine.visit("blocks", self.plan.direction, active, &kernel)? {
                for (band, block) in written.result? {
                    self.refs[band * windows + w].push(block);
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, iteration: u32) -> Result<Step> {
        let bands = self.plan.layout.bands;
        let mut masses = Masses::default();
        for band in 0..bands {
            let label = match bands {
                1 => format!("iteration {iteration}"),
                _ => format!("iteration {iteration}, band {} of {bands}", band + 1),
            };
            self.engine.step(label, || self.band(band, &mut masses))?;
        }
        self.dangling = from_fixed(masses.dangling);
        Ok(Step { change: from_fixed(masses.change) })
    }

    /// Adds the shares of a band to all sums; the last band finishes all vertices.
    fn band(&mut self, band: usize, masses: &mut Masses) -> Result<()> {
        let layout = self.plan.layout;
        let first = band * layout.band;
        let len = layout.band.min(layout.vertices - first);
        self.file.read(self.shares + 8 * first as u64, &mut self.band[..len])?;
        let slot = slot_bytes(layout.window);
        for w in 0..layout.windows() {
            self.engine.check_cancel()?;
            let stored = self.stored + slot * w as u64;
            if band == 0 {
                self.sums.clear();
            } else {
                let words = self.stored_words[w] as usize;
                self.file.read(stored, self.sums.stored(words))?;
                self.sums.load();
            }
            self.add(band, w, first as VertexId, len)?;
            if band + 1 < layout.bands {
                let sums = self.sums.store();
                self.stored_words[w] = sums.len() as u32;
                self.file.write(stored, sums)?;
            } else {
                *masses = masses.and(self.finish_window(w)?);
            }
        }
        Ok(())
    }

    /// Adds the shares of a band to the sums of a window.
    fn add(&self, band: usize, w: usize, first: VertexId, len: usize) -> Result<()> {
        let (sums, shares) = (&self.sums, &self.band[..len]);
        if self.plan.in_blocks[band] {
            let width = self.plan.layout.entry_bytes();
            let refs = &self.refs[band * self.plan.layout.windows() + w];
            let add = |runs: &mut Runs, block: &[u8]| {
                decode(block, width, runs);
                sums.add(shares, runs);
                Ok(())
            };
            self.blocks.for_each(refs, Runs::default, add, |_| Ok(()))?;
            return Ok(());
        }
        let window = self.window(w);
        let kernel = FromLists { band: shares, first, window, sums };
        let active = ActiveSet::Within { from: window.0, to: window.1 };
        self.engine.visit("lists", self.plan.direction, active, &kernel)?;
        Ok(())
    }

    /// Gives the vertices of a window their next shares.
    fn finish_window(&mut self, w: usize) -> Result<Masses> {
        let (from, to) = self.window(w);
        self.load_window(from, to)?;
        let (base, damping, sums) = (self.restart.base(self.dangling), self.damping, &self.sums);
        let degrees = self.window_degrees.par_chunks(FINISH_TOGETHER);
        let finish = |(i, (shares, degrees)): (usize, (&mut [f64], &[u32]))| {
            let mut masses = Masses::default();
            for (v, (cell, &degree)) in (i * FINISH_TOGETHER..).zip(shares.iter_mut().zip(degrees))
            {
                let degree = u64::from(degree);
                let before = rank(*cell, degree);
                let after = base.of(from + v as VertexId) + damping * sums.of(v).mass();
                *cell = share(after, degree);
                masses.change = masses.change.wrapping_add(to_fixed((after - before).abs()));
                if degree == 0 {
                    masses.dangling = masses.dangling.wrapping_add(to_fixed(after));
                }
            }
            masses
        };
        let shares = self.window_shares.par_chunks_mut(FINISH_TOGETHER);
        let parts = shares.zip(degrees).enumerate().map(finish);
        let masses = parts.reduce(Masses::default, Masses::and);
        self.file.write(self.shares + 8 * u64::from(from), &self.window_shares)?;
        Ok(masses)
    }

    fn load_window(&mut self, from: VertexId, to: VertexId) -> Result<()> {
        let len = (to - from) as usize;
        self.window_shares.resize(len, 0.0);
        self.window_degrees.resize(len, 0);
        self.file.read(self.shares + 8 * u64::from(from), &mut self.window_shares)?;
        self.file.read(self.degrees + 4 * u64::from(from), &mut self.window_degrees)?;
        Ok(())
    }

    /// Writes the ranks in the place of the shares, times `scale`. Returns the place of the ranks
    /// of the ids, where vertices are not in their order, and the sum of the ranks before scaling.
    fn finish(mut self, scale: f64) -> Result<(Option<u64>, f64)> {
        let mut sum = 0.0;
        for w in 0..self.plan.layout.windows() {
            let (from, to) = self.window(w);
            self.load_window(from, to)?;
            for (cell, &degree) in self.window_shares.iter_mut().zip(&self.window_degrees) {
                let rank = rank(*cell, u64::from(degree));
                sum += rank;
                *cell = if scale == 1.0 { rank } else { scale * rank };
            }
            self.file.write(self.shares + 8 * u64::from(from), &self.window_shares)?;
        }
        let memory = bytemuck::cast_slice_mut(&mut self.band);
        let ids = Ranks::write(self.engine.graph(), self.file, memory)?;
        Ok((ids, sum))
    }
}

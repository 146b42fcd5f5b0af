//! What pull and push in bands share: the arrays in the file, windows of them, and entries by band.

use cenote_engine::{ActiveSet, BlockRef, Blocks, Direction, Engine, StateFile, VertexId};

use super::super::fixed::{from_fixed, to_fixed};
use super::super::restart::Restart;
use super::grid::{FromLists, Scatter, decode};
use super::plan::BandPlan;
use super::sums::Runs;
use crate::report::Result;

/// Arrays in the state file, and blocks of entries.
pub(super) struct State<'a> {
    pub engine: &'a Engine,
    pub file: &'a StateFile,
    blocks: &'a Blocks<'a>,
    pub plan: &'a BandPlan,
    /// Place of one number a vertex: shares or ranks.
    pub numbers: u64,
    degrees: u64,
    /// By band, then window.
    refs: Vec<Vec<BlockRef>>,
    /// Of the window.
    pub window_numbers: Vec<f64>,
    pub window_degrees: Vec<u32>,
}

impl<'a> State<'a> {
    /// Writes `number_of` the first rank and the degree of every vertex, and the blocks. Returns
    /// the state and the mass of vertices without out-edges.
    pub fn new(
        engine: &'a Engine,
        file: &'a StateFile,
        blocks: &'a Blocks<'a>,
        plan: &'a BandPlan,
        restart: &Restart,
        number_of: fn(f64, u64) -> f64,
    ) -> Result<(Self, f64)> {
        let (n, windows) = (plan.layout.vertices as u64, plan.layout.windows());
        let mut state = Self {
            engine,
            file,
            blocks,
            plan,
            numbers: file.reserve(8 * n),
            degrees: file.reserve(4 * n),
            refs: vec![Vec::new(); windows * plan.layout.bands],
            window_numbers: Vec::with_capacity(plan.layout.window),
            window_degrees: Vec::with_capacity(plan.layout.window),
        };
        let dangling = engine.step("vertices", || state.begin(restart, number_of))?;
        if plan.report.block_bytes > 0 {
            engine.step("blocks", || state.scatter())?;
        }
        Ok((state, dangling))
    }

    /// Writes the first numbers and the degrees, window by window.
    fn begin(&mut self, restart: &Restart, number_of: fn(f64, u64) -> f64) -> Result<f64> {
        let (window, mut at, mut dangling) = (self.plan.layout.window, 0, 0u64);
        let start = restart.start();
        let (numbers, degrees_of) = (&mut self.window_numbers, &mut self.window_degrees);
        let (file, places) = (self.file, (self.numbers, self.degrees));
        let mut written = Ok(());
        let flush = |at: usize, numbers: &mut Vec<f64>, degrees: &mut Vec<u32>| {
            let first = (at - numbers.len()) as u64;
            let done = file
                .write(places.0 + 8 * first, numbers)
                .and_then(|()| file.write(places.1 + 4 * first, degrees));
            numbers.clear();
            degrees.clear();
            done
        };
        self.engine.graph().degrees(Direction::Out, &mut |_, degrees| {
            for &degree in degrees {
                let rank = start.of(at as VertexId);
                numbers.push(number_of(rank, degree));
                degrees_of.push(u32::try_from(degree).unwrap_or(u32::MAX));
                dangling += if degree == 0 { to_fixed(rank) } else { 0 };
                at += 1;
                if numbers.len() == window && written.is_ok() {
                    written = flush(at, numbers, degrees_of);
                }
            }
        })?;
        written?;
        flush(at, numbers, degrees_of)?;
        Ok(from_fixed(dangling))
    }

    /// The vertices of a window.
    pub fn window(&self, w: usize) -> (VertexId, VertexId) {
        let from = w * self.plan.layout.window;
        let to = (from + self.plan.layout.window).min(self.plan.layout.vertices);
        (from as VertexId, to as VertexId)
    }

    /// The vertices of a band.
    pub fn band(&self, band: usize) -> (VertexId, VertexId) {
        let from = band * self.plan.layout.band;
        let to = (from + self.plan.layout.band).min(self.plan.layout.vertices);
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

    /// Passes the entries of a window's lists that lie in a band to `add`, on all workers.
    pub fn entries(&self, band: usize, w: usize, add: &(dyn Fn(&Runs) + Sync)) -> Result<()> {
        if self.plan.in_blocks[band] {
            let width = self.plan.layout.entry_bytes();
            let refs = &self.refs[band * self.plan.layout.windows() + w];
            let each = |runs: &mut Runs, block: &[u8]| {
                decode(block, width, runs);
                add(runs);
                Ok(())
            };
            self.blocks.for_each(refs, Runs::default, each, |_| Ok(()))?;
            return Ok(());
        }
        let (window, band) = (self.window(w), self.band(band));
        let kernel = FromLists { band, window, add };
        let active = ActiveSet::Within { from: window.0, to: window.1 };
        self.engine.visit("lists", self.plan.direction, active, &kernel)?;
        Ok(())
    }

    /// Reads numbers and degrees of a range of vertices, which begins at a multiple of 1,024.
    pub fn load(&mut self, (from, to): (VertexId, VertexId)) -> Result<()> {
        let len = (to - from) as usize;
        self.window_numbers.resize(len, 0.0);
        self.window_degrees.resize(len, 0);
        self.file.read(self.numbers + 8 * u64::from(from), &mut self.window_numbers)?;
        self.file.read(self.degrees + 4 * u64::from(from), &mut self.window_degrees)?;
        Ok(())
    }

    /// Takes the buffers of the window, for [`State::read_window`] of the window `w`.
    pub fn take_window(&mut self, w: usize) -> Window {
        let (from, to) = self.window(w);
        let (mut numbers, mut degrees) =
            (std::mem::take(&mut self.window_numbers), std::mem::take(&mut self.window_degrees));
        numbers.resize((to - from) as usize, 0.0);
        degrees.resize((to - from) as usize, 0);
        Window { from, numbers, degrees }
    }

    /// Reads the numbers and degrees of a window.
    pub fn read_window(&self, window: &mut Window) -> cenote_engine::Result<()> {
        let from = u64::from(window.from);
        self.file.read(self.numbers + 8 * from, &mut window.numbers)?;
        self.file.read(self.degrees + 4 * from, &mut window.degrees)
    }

    /// Puts the buffers of the window back.
    pub fn put_window(&mut self, window: Window) {
        (self.window_numbers, self.window_degrees) = (window.numbers, window.degrees);
    }

    /// Replaces every number by `rank_of` it and the degree, times `scale`. Returns the sum before
    /// scaling.
    pub fn finish(&mut self, rank_of: fn(f64, u64) -> f64, scale: f64) -> Result<f64> {
        let mut sum = 0.0;
        for w in 0..self.plan.layout.windows() {
            let window = self.window(w);
            self.load(window)?;
            for (cell, &degree) in self.window_numbers.iter_mut().zip(&self.window_degrees) {
                let rank = rank_of(*cell, u64::from(degree));
                sum += rank;
                *cell = if scale == 1.0 { rank } else { scale * rank };
            }
            self.file.write(self.numbers + 8 * u64::from(window.0), &self.window_numbers)?;
        }
        Ok(sum)
    }
}

/// Numbers and degrees of a window that is being read.
pub(super) struct Window {
    from: VertexId,
    numbers: Vec<f64>,
    degrees: Vec<u32>,
}

/// The label of a band of an iteration.
pub(super) fn label(iteration: u32, band: usize, bands: usize) -> String {
    match bands {
        1 => format!("iteration {iteration}"),
        _ => format!("iteration {iteration}, band {} of {bands}", band + 1),
    }
}

//! What pull and push in bands share: the arrays in the file, windows of them, and entries by band.

use cenote_engine::{ActiveSet, BlockRef, Blocks, Direction, Engine, Kernel, StateFile, VertexId};

use super::super::fixed::{from_fixed, to_fixed};
use super::super::restart::Restart;
use super::divisors::Divisors;
use super::grid::{Collected, FromLists, Scatter, decode};
use super::plan::BandPlan;
use super::reach::Reach;
use super::sums::Runs;
use super::totals::Totals;
use crate::report::Result;

/// Arrays in the state file, and blocks of entries.
pub(super) struct State<'a> {
    pub engine: &'a Engine,
    pub file: &'a StateFile,
    blocks: &'a Blocks<'a>,
    pub plan: &'a BandPlan,
    /// Place of one number a vertex: shares or ranks.
    pub numbers: u64,
    divisors: u64,
    /// By band, then window.
    refs: Vec<Vec<BlockRef>>,
    /// Of bands whose entries come from lists, those of the lists that have any.
    reach: Reach,
    /// Of the window.
    pub window_numbers: Vec<f64>,
    pub window_divisors: Divisors,
}

impl<'a> State<'a> {
    /// Writes the first number and the divisor of every vertex, and the blocks. Returns the state
    /// and the mass of vertices without out-edges.
    pub fn new(
        engine: &'a Engine,
        file: &'a StateFile,
        blocks: &'a Blocks<'a>,
        plan: &'a BandPlan,
        restart: &Restart,
    ) -> Result<(Self, f64)> {
        let (n, windows) = (plan.layout.vertices as u64, plan.layout.windows());
        let mut state = Self {
            engine,
            file,
            blocks,
            plan,
            numbers: file.reserve(8 * n),
            divisors: file.reserve(Divisors::bytes(plan.weighted) as u64 * n),
            refs: vec![Vec::new(); windows * plan.layout.bands],
            reach: Reach::new(windows, plan.layout.bands),
            window_numbers: Vec::with_capacity(plan.layout.window),
            window_divisors: Divisors::with_capacity(plan.weighted, plan.layout.window),
        };
        let dangling = match plan.weighted {
            true => state.begin_by_weight(restart)?,
            false => engine.step("vertices", || state.begin(restart))?,
        };
        if plan.report.block_bytes > 0 {
            engine.step("blocks", || state.scatter())?;
        }
        Ok((state, dangling))
    }

    /// Writes the first numbers and the degrees, window by window.
    fn begin(&mut self, restart: &Restart) -> Result<f64> {
        let (window, mut at, mut dangling) = (self.plan.layout.window, 0, 0u64);
        let (start, engine) = (restart.start(), self.engine);
        let mut written = Ok(());
        engine.graph().degrees(Direction::Out, &mut |_, degrees| {
            for &degree in degrees {
                let rank = start.of(at as VertexId);
                dangling += if degree == 0 { to_fixed(rank) } else { 0 };
                let degree = u32::try_from(degree).unwrap_or(u32::MAX);
                self.push(rank, f64::from(degree));
                at += 1;
                if self.window_numbers.len() == window && written.is_ok() {
                    written = self.flush(at);
                }
            }
        })?;
        written?;
        self.flush(at)?;
        Ok(from_fixed(dangling))
    }

    /// As [`Self::begin`], with totals.
    fn begin_by_weight(&mut self, restart: &Restart) -> Result<f64> {
        let (start, mut dangling) = (restart.start(), 0u64);
        let once = self.plan.direction == Direction::In;
        let mut totals = Totals::new(self.plan.layout.window);
        for w in 0..self.plan.layout.windows() {
            let window = self.window(w);
            let totals = totals.of(self.engine, window, once)?;
            for (v, total) in (window.0..window.1).zip(totals) {
                let rank = start.of(v);
                dangling += if total == 0.0 { to_fixed(rank) } else { 0 };
                self.push(rank, total);
            }
            self.flush(window.1 as usize)?;
        }
        Ok(from_fixed(dangling))
    }

    /// Appends a vertex to the window.
    fn push(&mut self, rank: f64, divisor: f64) {
        self.window_numbers.push(self.plan.number_of(rank, divisor));
        self.window_divisors.push(divisor);
    }

    /// Writes what the window has of the vertices before `end`, and clears it.
    fn flush(&mut self, end: usize) -> cenote_engine::Result<()> {
        let first = (end - self.window_numbers.len()) as u64;
        self.file.write(self.numbers + 8 * first, &self.window_numbers)?;
        self.window_divisors.write(self.file, self.divisors, first)?;
        self.window_numbers.clear();
        self.window_divisors.clear();
        Ok(())
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
            let (bands, band, width) = (layout.bands, layout.band, layout.width);
            let blocks = self.blocks;
            let kernel = Scatter { blocks, bands, band, width, in_blocks, window };
            let active = ActiveSet::Within { from: window.0, to: window.1 };
            for written in self.visit("blocks", active, &kernel)? {
                for (band, block) in written.result? {
                    self.refs[band * windows + w].push(block);
                }
            }
        }
        Ok(())
    }

    /// Passes the entries of a window's lists that lie in a band to `add`, on all workers. If it is
    /// not known which bands the lists reach, returns what workers have seen of that, for
    /// [`State::learn`].
    pub fn entries(
        &self,
        band: usize,
        w: usize,
        add: &(dyn Fn(&Runs) + Sync),
    ) -> Result<Option<Vec<Collected>>> {
        let layout = &self.plan.layout;
        if self.plan.in_blocks[band] {
            let refs = &self.refs[band * layout.windows() + w];
            let each = |runs: &mut Runs, block: &[u8]| {
                decode(block, layout.width, runs);
                add(runs);
                Ok(())
            };
            self.blocks.for_each(refs, Runs::default, each, |_| Ok(()))?;
            return Ok(None);
        }
        let (is_known, window) = (self.reach.is_known(w), self.window(w));
        let (from, to) = match is_known {
            true => self.reach.span(w, band).vertices().unwrap_or((window.0, window.0)),
            false => window,
        };
        let bands = (!is_known).then_some(layout.bands);
        let band = self.band(band);
        let kernel = FromLists { band, band_vertices: layout.band, window, add, bands };
        let seen = self.visit("lists", ActiveSet::Within { from, to }, &kernel)?;
        Ok((!is_known).then_some(seen))
    }

    /// Takes over what [`State::entries`] has returned for a window.
    pub fn learn(&mut self, w: usize, seen: Option<Vec<Collected>>) {
        if let Some(seen) = seen {
            self.reach.learn(w, seen.iter().map(|collected| &*collected.spans));
        }
    }

    /// Whether the lists of a window may have entries in a band.
    pub fn may_reach(&self, w: usize, band: usize) -> bool {
        match self.plan.in_blocks[band] {
            true => !self.refs[band * self.plan.layout.windows() + w].is_empty(),
            false => !self.reach.is_known(w) || !self.reach.span(w, band).is_empty(),
        }
    }

    /// The band after which the sums of a window are complete, and no band needs the numbers of its
    /// vertices; a later one if it is not known yet.
    pub fn last_band(&self, w: usize) -> usize {
        let layout = &self.plan.layout;
        let own = layout.last_own_band(w);
        let is_needed = |&band: &usize| band == own || self.may_reach(w, band);
        (0..layout.bands).rev().find(is_needed).expect("one band has its vertices")
    }

    /// Visits lists, with weights if these count.
    fn visit<K: Kernel>(
        &self,
        label: &str,
        active: ActiveSet<'_>,
        kernel: &K,
    ) -> cenote_engine::Result<Vec<K::Local>> {
        match self.plan.weighted {
            true => self.engine.visit_weighted(label, self.plan.direction, active, kernel),
            false => self.engine.visit(label, self.plan.direction, active, kernel),
        }
    }

    /// Reads numbers and divisors of a range of vertices, which begins at a multiple of 1,024.
    pub fn load(&mut self, (from, to): (VertexId, VertexId)) -> Result<()> {
        let len = (to - from) as usize;
        self.window_numbers.resize(len, 0.0);
        self.window_divisors.resize(len);
        self.file.read(self.numbers + 8 * u64::from(from), &mut self.window_numbers)?;
        self.window_divisors.read(self.file, self.divisors, u64::from(from))?;
        Ok(())
    }

    /// Takes the buffers of the window, for [`State::read_window`] of the window `w`.
    pub fn take_window(&mut self, w: usize) -> Window {
        let (from, to) = self.window(w);
        let (mut numbers, mut divisors) =
            (std::mem::take(&mut self.window_numbers), self.window_divisors.take());
        numbers.resize((to - from) as usize, 0.0);
        divisors.resize((to - from) as usize);
        Window { from, numbers, divisors }
    }

    /// Reads the numbers and divisors of a window.
    pub fn read_window(&self, window: &mut Window) -> cenote_engine::Result<()> {
        let from = u64::from(window.from);
        self.file.read(self.numbers + 8 * from, &mut window.numbers)?;
        window.divisors.read(self.file, self.divisors, from)
    }

    /// Puts the buffers of the window back.
    pub fn put_window(&mut self, window: Window) {
        (self.window_numbers, self.window_divisors) = (window.numbers, window.divisors);
    }

    /// Replaces every number by its rank times `scale`. Returns the sum before scaling.
    pub fn finish(&mut self, scale: f64) -> Result<f64> {
        let mut sum = 0.0;
        for w in 0..self.plan.layout.windows() {
            let window = self.window(w);
            self.load(window)?;
            for (at, cell) in self.window_numbers.iter_mut().enumerate() {
                let rank = self.plan.rank_of(*cell, self.window_divisors.of(at));
                sum += rank;
                *cell = if scale == 1.0 { rank } else { scale * rank };
            }
            self.file.write(self.numbers + 8 * u64::from(window.0), &self.window_numbers)?;
        }
        Ok(sum)
    }
}

/// Numbers and divisors of a window that is being read.
pub(super) struct Window {
    from: VertexId,
    numbers: Vec<f64>,
    divisors: Divisors,
}

/// The label of a band of an iteration.
pub(super) fn label(iteration: u32, band: usize, bands: usize) -> String {
    match bands {
        1 => format!("iteration {iteration}"),
        _ => format!("iteration {iteration}, band {} of {bands}", band + 1),
    }
}

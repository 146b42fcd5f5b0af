//! Passes over lists on the device: the giant component, trimming, colouring.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Assembled, Bitmap, Direction, Engine, Frontier, FrontierPart, HugeVec, Kernel, List,
    VertexId,
};
use rayon::prelude::*;

use super::in_memory::{self, WORDS_BESIDE};
use super::known::Known;
use crate::report::Result;
use crate::residual::{Kept, Parts, ResidualPart};

/// Before colouring, passes over the residual graph are repeated while they settle at least
/// `1 / TRIMMING_SHARE` of it.
const TRIMMING_SHARE: u64 = 16;

/// The backward search uses in-edges once a pass settles less than `1 / BACKWARD_SHARE` of the
/// residual graph.
const BACKWARD_SHARE: u64 = 4;

/// The state between passes.
pub(super) struct Rounds<'e> {
    engine: &'e Engine,
    known: Known,
    frontier: Frontier,
    next: Frontier,
    passes: u32,
}

impl<'e> Rounds<'e> {
    pub fn new(engine: &'e Engine) -> Result<Self> {
        let n = engine.graph().vertices();
        Ok(Self {
            engine,
            known: Known::new(n)?,
            frontier: Frontier::new(n)?,
            next: Frontier::new(n)?,
            passes: 0,
        })
    }

    /// The component of every vertex.
    pub fn labels(mut self) -> Result<HugeVec<AtomicU32>> {
        let graph = self.engine.graph();
        let first = graph.superblock().degree_max_vertex;
        let mut searched = self.engine.memory().scratch_bytes < in_memory::bytes_for(graph);
        if searched {
            self.reach(first)?;
        }
        while let Some(settled) = self.pass_or_finish()? {
            if !searched && !self.known.settled.contains(first) {
                searched = true;
                self.reach(first)?;
            } else if self.known.reached.count() > 0 {
                // The giant component is complete once a pass adds nothing. When passes add little,
                // in-edges lead to its other members.
                let slow = settled * BACKWARD_SHARE < self.unsettled();
                if settled > 0 && slow && graph.has_in_edges() {
                    self.reach_backward()?;
                }
                if settled == 0 || slow && graph.has_in_edges() {
                    self.known.reached.clear();
                }
            } else if settled * TRIMMING_SHARE < self.unsettled() {
                self.colour()?;
            }
        }
        let Known { labels, giant, .. } = self.known;
        if let Some(smallest) = giant.iter().next() {
            giant.iter().for_each(|v| labels[v as usize].store(smallest, Ordering::Relaxed));
        }
        Ok(labels)
    }

    fn unsettled(&self) -> u64 {
        self.engine.graph().vertices() as u64 - self.known.settled.count()
    }

    /// Marks the vertices that `first` reaches; `first` joins the giant component.
    fn reach(&mut self, first: VertexId) -> Result<()> {
        self.known.reached.insert(first);
        self.known.join_giant(first);
        self.frontier.set([first]);
        let mut level = 0;
        while !self.frontier.is_empty() {
            level += 1;
            let kernel = Reach { reached: &self.known.reached, next: &self.next };
            let label = format!("forward {level}");
            let active = ActiveSet::In(&self.frontier);
            let parts = self.engine.visit(label, Direction::Out, active, &kernel)?;
            self.frontier.advance(&mut self.next, parts);
        }
        Ok(())
    }

    /// Adds the reached vertices that reach the giant component.
    fn reach_backward(&mut self) -> Result<()> {
        self.frontier.set(self.known.giant.iter());
        let mut level = 0;
        while !self.frontier.is_empty() {
            level += 1;
            let kernel = ReachBackward { known: &self.known, next: &self.next };
            let label = format!("backward {level}");
            let active = ActiveSet::In(&self.frontier);
            let parts = self.engine.visit(label, Direction::In, active, &kernel)?;
            self.frontier.advance(&mut self.next, parts);
        }
        Ok(())
    }

    /// A pass over the lists of the residual graph. Returns how many vertices it settled, or `None`
    /// if all other lists fitted in memory and their vertices are settled too.
    fn pass_or_finish(&mut self) -> Result<Option<u64>> {
        self.passes += 1;
        let before = self.known.settled.count();
        let threads = self.engine.config().threads;
        let bytes = self.engine.memory().scratch_bytes;
        let parts = Parts::new(bytes, threads, WORDS_BESIDE)?;
        let pull = Pull { known: &self.known, parts };
        let label = format!("pass {}", self.passes);
        let active = ActiveSet::NotIn(&self.known.settled);
        let parts = self.engine.visit(label, Direction::Out, active, &Assembled::new(&pull))?;
        drop(pull);
        if parts.iter().any(ResidualPart::is_full) {
            return Ok(Some(self.known.settled.count() - before));
        }
        self.engine.check_cancel()?;
        in_memory::finish(parts, &self.known);
        Ok(None)
    }

    /// Finds the components of the residual graph without edges from others. The colour of a vertex
    /// is the smallest vertex that reaches it; a root has its own; the vertices of its colour that
    /// reach the root are its component.
    fn colour(&mut self) -> Result<()> {
        let known = &self.known;
        known.labels.par_iter().enumerate().for_each(|(v, label)| {
            if !known.settled.contains(v as VertexId) {
                label.store(v as VertexId, Ordering::Relaxed);
            }
        });
        let mut all_active = true;
        loop {
            let spread = Spread { known: &self.known, next: &self.next };
            let active = match all_active {
                true => ActiveSet::NotIn(&self.known.settled),
                false => ActiveSet::In(&self.frontier),
            };
            let parts = self.engine.visit("colours", Direction::Out, active, &spread)?;
            all_active = false;
            self.frontier.advance(&mut self.next, parts);
            if self.frontier.is_empty() {
                break;
            }
        }
        self.trace_back()
    }

    fn trace_back(&mut self) -> Result<()> {
        let known = &self.known;
        let n = self.engine.graph().vertices() as VertexId;
        let colour = |v: VertexId| known.labels[v as usize].load(Ordering::Relaxed);
        (0..n).into_par_iter().for_each(|v| {
            if colour(v) == v && !known.settled.contains(v) {
                known.reached.insert(v);
            }
        });
        let mut members = 0;
        while known.reached.count() > members {
            members = known.reached.count();
            let active = ActiveSet::NotIn(&known.settled);
            self.engine.visit("colours back", Direction::Out, active, &TraceBack { known })?;
        }
        known.reached.iter().for_each(|v| {
            known.done.insert(v);
            known.settled.insert(v);
        });
        self.known.reached.clear();
        Ok(())
    }
}

/// Forward search.
struct Reach<'a> {
    reached: &'a Bitmap,
    next: &'a Frontier,
}

impl Kernel for Reach<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &target in list.targets {
            if !self.reached.contains(target) && self.reached.insert(target) {
                self.next.add(target, part);
            }
        }
    }
}

/// Backward search over in-lists.
struct ReachBackward<'a> {
    known: &'a Known,
    next: &'a Frontier,
}

impl Kernel for ReachBackward<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &source in list.targets {
            let joins = self.known.reached.contains(source) && !self.known.giant.contains(source);
            if joins && self.next.add(source, part) {
                self.known.join_giant(source);
            }
        }
    }
}

/// Backward search by passes, trimming, and keeping the residual lists.
struct Pull<'a> {
    known: &'a Known,
    parts: Parts,
}

impl Kernel for Pull<'_> {
    type Local = ResidualPart;

    fn local(&self) -> ResidualPart {
        self.parts.take()
    }

    fn list(&self, part: &mut ResidualPart, list: &List<'_>) {
        let v = list.vertex;
        if self.known.settled.contains(v) {
            return;
        }
        if part.is_full() {
            self.known.process(v, list.targets, |_| {});
            return;
        }
        part.begin();
        if !self.known.process(v, list.targets, |target| part.push(target)) {
            part.abandon();
            return;
        }
        part.end(Kept { vertex: v, whole: true });
        if part.is_full() {
            part.retain(|kept, targets| self.known.shorten(kept.vertex, targets));
            if part.reopen() {
                // Processed again, to keep only the targets that still matter.
                part.begin();
                match self.known.process(v, list.targets, |target| part.push(target)) {
                    true => part.end(Kept { vertex: v, whole: true }),
                    false => part.abandon(),
                }
            }
        }
    }
}

/// Propagates colours along edges; the smaller one wins.
struct Spread<'a> {
    known: &'a Known,
    next: &'a Frontier,
}

impl Kernel for Spread<'_> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        let colour = self.known.labels[list.vertex as usize].load(Ordering::Relaxed);
        for &target in list.targets {
            if self.known.settled.contains(target) {
                continue;
            }
            let cell = &self.known.labels[target as usize];
            if cell.load(Ordering::Relaxed) > colour
                && cell.fetch_min(colour, Ordering::Relaxed) > colour
            {
                self.next.add(target, part);
            }
        }
    }
}

/// A vertex with an edge to a member of the same colour is a member.
struct TraceBack<'a> {
    known: &'a Known,
}

impl Kernel for TraceBack<'_> {
    type Local = ();

    fn local(&self) {}

    fn list(&self, (): &mut (), list: &List<'_>) {
        let (known, v) = (self.known, list.vertex);
        let colour = |v: VertexId| known.labels[v as usize].load(Ordering::Relaxed);
        if known.reached.contains(v) {
            return;
        }
        let member = |&&t: &&VertexId| known.reached.contains(t) && colour(t) == colour(v);
        if list.targets.iter().any(|t| member(&t)) {
            known.reached.insert(v);
        }
    }
}

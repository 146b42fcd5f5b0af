//! Passes over lists on the device: the giant component, trimming, colouring.

use std::sync::atomic::{AtomicU32, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, FrontierPart, Graph, HugeVec, Kernel, List, VertexId,
};

use super::in_memory::{self, WORDS_BESIDE};
use super::known::Known;
use super::trim::trim;
use crate::near::leads_nearby;
use crate::parallel;
use crate::report::Result;
use crate::residual::{Kept, Parts, ResidualPart};
use crate::worklist::{Follow, StepBudget, Worklist, follow_while, goes_without_steps};

/// Before colouring, passes over the residual graph are repeated while they settle at least
/// `1 / TRIMMING_SHARE` of it.
const TRIMMING_SHARE: u64 = 16;

/// The backward search uses in-edges once a pass settles less than `1 / BACKWARD_SHARE` of the
/// residual graph.
const BACKWARD_SHARE: u64 = 4;

/// A search of so many steps goes on page by page where edges lead nearby; networks with hubs have
/// fewer.
const STEPS_NEAR: u32 = 6;

/// The state between passes.
pub(super) struct Rounds<'e> {
    engine: &'e Engine,
    known: Known,
    fronts: Fronts,
    passes: u32,
}

impl<'e> Rounds<'e> {
    pub fn new(engine: &'e Engine) -> Result<Self> {
        let n = engine.graph().vertices();
        Ok(Self { engine, known: Known::new(n)?, fronts: Fronts::new(engine.graph())?, passes: 0 })
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
            } else if settled * TRIMMING_SHARE < self.unsettled()
                && self.trim()? * TRIMMING_SHARE < self.unsettled()
            {
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

    fn trim(&mut self) -> Result<u64> {
        trim(self.engine, &mut self.known, self.fronts.next.bits())
    }

    /// Marks the vertices that `first` reaches; `first` joins the giant component. If that takes
    /// many small steps, trimming removes long paths, and may find that `first` is on no cycle.
    fn reach(&mut self, first: VertexId) -> Result<()> {
        let (engine, of) = (self.engine, ("forward", Direction::Out));
        self.begin_giant(first);
        let search = Forward(&self.known);
        if self.fronts.search_or_give_up(engine, of, &search)? {
            return Ok(());
        }
        self.fronts.now.clear();
        self.known.reached.clear();
        self.known.giant.remove(first);
        self.known.settled.remove(first);
        self.trim()?;
        if !self.known.settled.contains(first) {
            self.begin_giant(first);
            self.fronts.search_by_page(engine, of, &Forward(&self.known), |_| true)?;
        }
        Ok(())
    }

    fn begin_giant(&mut self, first: VertexId) {
        self.known.reached.insert(first);
        self.known.join_giant(first);
        self.fronts.now.set([first]);
    }

    /// Adds the reached vertices that reach the giant component.
    fn reach_backward(&mut self) -> Result<()> {
        self.fronts.now.set(self.known.giant.iter());
        self.fronts.search(self.engine, ("backward", Direction::In), &Backward(&self.known))
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
        let parts = self.engine.visit_whole(label, Direction::Out, active, &pull)?;
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
        parallel::for_each_of(&known.labels, |v, label| {
            if !known.settled.contains(v as VertexId) {
                label.store(v as VertexId, Ordering::Relaxed);
            }
        });
        let spread = Spread(&self.known);
        let kernel = Step { search: &spread, next: &self.fronts.next };
        let all = ActiveSet::NotIn(&self.known.settled);
        let parts = self.engine.visit("colours", Direction::Out, all, &kernel)?;
        self.fronts.now.advance(&mut self.fronts.next, parts);
        self.fronts.search(self.engine, ("colours", Direction::Out), &spread)?;
        self.trace_back()
    }

    fn trace_back(&mut self) -> Result<()> {
        let known = &self.known;
        let colour = |v: VertexId| known.labels[v as usize].load(Ordering::Relaxed);
        parallel::for_each(self.engine.graph().vertices(), |v| {
            let v = v as VertexId;
            if colour(v) == v && !known.settled.contains(v) {
                known.reached.insert(v);
            }
        });
        if self.engine.graph().has_in_edges() && goes_without_steps(self.engine.config()) {
            self.fronts.now.set(known.reached.iter());
            let of = ("colours back", Direction::In);
            self.fronts.search_by_page(self.engine, of, &FollowBack(known), |_| true)?;
        } else {
            let mut members = 0;
            while known.reached.count() > members {
                members = known.reached.count();
                let active = ActiveSet::NotIn(&known.settled);
                self.engine.visit("colours back", Direction::Out, active, &TraceBack { known })?;
            }
        }
        known.reached.iter().for_each(|v| {
            known.done.insert(v);
            known.settled.insert(v);
        });
        self.known.reached.clear();
        Ok(())
    }
}

/// The vertices whose lists a search follows next, and those that become active by that. The order
/// does not matter.
struct Fronts {
    now: Frontier,
    /// Empty between two searches.
    next: Frontier,
    budget: StepBudget,
    /// Whether edges lead nearby, so that searches go page by page, if that is known.
    is_near: Option<bool>,
}

impl Fronts {
    fn new(graph: &Graph) -> Result<Self> {
        let of_all = || Frontier::new(graph.vertices());
        let budget = StepBudget::new(graph, false);
        Ok(Self { now: of_all()?, next: of_all()?, budget, is_near: None })
    }

    /// Follows the lists of the frontier, and those that become active by that.
    fn search(&mut self, engine: &Engine, of: Lists<'_>, search: &impl Follow) -> Result<()> {
        if !self.search_in_steps(engine, of, search)? {
            self.search_by_page(engine, of, search, |_| true)?;
        }
        Ok(())
    }

    /// The same, but given up after many small steps, or rounds of few pages: false, and it cannot
    /// go on.
    fn search_or_give_up(
        &mut self,
        engine: &Engine,
        of: Lists<'_>,
        search: &impl Follow,
    ) -> Result<bool> {
        if self.search_in_steps(engine, of, search)? {
            return Ok(true);
        }
        if self.is_near != Some(true) {
            return Ok(false);
        }
        let mut budget = StepBudget::new(engine.graph(), false);
        self.search_by_page(engine, of, search, |pages| {
            !budget.is_exhausted_by_round(engine.graph(), pages)
        })
    }

    /// False if it is to go on by page: after many small steps, or where edges lead nearby.
    fn search_in_steps(
        &mut self,
        engine: &Engine,
        of: Lists<'_>,
        search: &impl Follow,
    ) -> Result<bool> {
        for step in 1.. {
            if self.now.is_empty() {
                break;
            }
            let active = ActiveSet::In(&self.now);
            if goes_without_steps(engine.config()) {
                if step == STEPS_NEAR && self.is_near.is_none() {
                    self.is_near = Some(leads_nearby(engine)?);
                }
                let pages = engine.active_pages(of.1, &active);
                let is_exhausted = self.budget.is_exhausted(engine.graph(), &self.now, pages);
                if is_exhausted || self.is_near == Some(true) {
                    return Ok(false);
                }
            }
            let kernel = Step { search, next: &self.next };
            let parts = engine.visit(of.0, of.1, active, &kernel)?;
            self.now.advance(&mut self.next, parts);
        }
        Ok(true)
    }

    /// Page by page, while `goes_on`, which is given the number of pages of each round. Whether the
    /// search has ended; if not, what is still to be followed is forgotten.
    fn search_by_page(
        &mut self,
        engine: &Engine,
        (label, direction): Lists<'_>,
        search: &impl Follow,
        goes_on: impl FnMut(u64) -> bool,
    ) -> Result<bool> {
        let adjacency = engine.graph().adjacency(direction).expect("it has these lists");
        let mut worklist = Worklist::new(adjacency, self.next.bits())?;
        self.now.bits().iter().for_each(|v| worklist.activate(v, 0));
        self.now.clear();
        let has_ended = follow_while(engine, label, direction, &worklist, search, goes_on)?;
        if !has_ended {
            worklist.clear();
        }
        Ok(has_ended)
    }
}

/// How a visit is called, and the lists that it visits.
type Lists<'a> = (&'a str, Direction);

/// A step of a search: what becomes active is the next frontier.
struct Step<'a, F> {
    search: &'a F,
    next: &'a Frontier,
}

impl<F: Follow> Kernel for Step<'_, F> {
    type Local = FrontierPart;

    fn local(&self) -> FrontierPart {
        FrontierPart::default()
    }

    fn list(&self, part: &mut FrontierPart, list: &List<'_>) {
        for &target in list.targets {
            if let Some(next) = self.search.edge(list.vertex, target) {
                self.next.add(next, part);
            }
        }
    }
}

/// Forward search.
struct Forward<'a>(&'a Known);

impl Follow for Forward<'_> {
    #[inline(always)]
    fn edge(&self, _: VertexId, target: VertexId) -> Option<VertexId> {
        let reached = &self.0.reached;
        (!reached.contains(target) && reached.insert(target)).then_some(target)
    }
}

/// Backward search over in-lists.
struct Backward<'a>(&'a Known);

impl Follow for Backward<'_> {
    #[inline(always)]
    fn edge(&self, _: VertexId, source: VertexId) -> Option<VertexId> {
        let Known { reached, giant, settled, .. } = self.0;
        let joins = reached.contains(source) && !giant.contains(source) && giant.insert(source);
        joins.then(|| settled.insert(source));
        joins.then_some(source)
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
struct Spread<'a>(&'a Known);

impl Follow for Spread<'_> {
    #[inline(always)]
    fn edge(&self, source: VertexId, target: VertexId) -> Option<VertexId> {
        let Known { labels, settled, .. } = self.0;
        if settled.contains(target) {
            return None;
        }
        let colour = labels[source as usize].load(Ordering::Relaxed);
        let cell = &labels[target as usize];
        let is_lowered = cell.load(Ordering::Relaxed) > colour
            && cell.fetch_min(colour, Ordering::Relaxed) > colour;
        is_lowered.then_some(target)
    }
}

/// An in-neighbour of a member that has the same colour is a member.
struct FollowBack<'a>(&'a Known);

impl Follow for FollowBack<'_> {
    #[inline(always)]
    fn edge(&self, member: VertexId, source: VertexId) -> Option<VertexId> {
        let Known { labels, settled, reached, .. } = self.0;
        let colour = |v: VertexId| labels[v as usize].load(Ordering::Relaxed);
        let joins = !settled.contains(source)
            && colour(source) == colour(member)
            && !reached.contains(source)
            && reached.insert(source);
        joins.then_some(source)
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

//! Walks in lockstep: a frontier of all their vertices per step.
//!
//! The CAVE paper's Algorithm 5, for `block` and `vertex`. As in the paper, all pages of a hub's
//! list are read to choose one entry. A step of node2vec takes as many rounds as the walk with the
//! most rejections needs, each of two visits: one proposes, one looks up edges.
//!
//! With weights a walk needs one page and its weights ([`super::weigh`]), as with `auto`: choosing
//! among the pages of a hub needs the sums of their weights anyway.

use std::sync::atomic::{AtomicBool, Ordering};

use cenote_engine::{
    ActiveSet, Direction, Engine, Frontier, HugeVec, NamedPages, PageTask, VertexId,
};
use rayon::prelude::*;

use super::by_id::ProposeById;
use super::log::{Log, LogPart, Tally};
use super::propose::{
    DEAD_END, Propose, ProposeByWeight, REFUSED, Replies, TAKEN, TAKEN_IF_NEIGHBOUR, TestEdges,
    Walker,
};
use super::rule::{NONE, Rule};
use super::weigh::{Weighing, contradiction};
use crate::parallel::{self, fill};
use crate::report::Result;

/// Bytes of a batch of `rows` walks: walkers, proposals, verdicts, and a frontier.
pub(super) fn state_bytes(rows: u64, vertices: usize, workers: usize) -> u64 {
    rows * (size_of::<Walker>() + 4 + 1) as u64 + Frontier::bytes_for(vertices, workers)
}

/// Bytes of the page tasks of weighted walks.
pub(super) fn task_bytes(rows: u64, pages: u64) -> u64 {
    // Vectors double: of pages, and of vertices whose lists may be long.
    2 * (rows.min(pages) * size_of::<PageTask>() as u64 + rows * size_of::<VertexId>() as u64)
}

/// Moves walks `0..rows` of the batch of `log` to their ends.
pub(super) fn run(
    engine: &Engine,
    rule: &Rule<'_>,
    weighing: &mut Option<Weighing<'_>>,
    log: Log<'_>,
    rows: u32,
) -> Result<Tally> {
    Steps::new(engine, rule, weighing, log, rows)?.run()
}

/// The state of one batch of walks.
struct Steps<'a, 'g> {
    engine: &'a Engine,
    rule: &'a Rule<'a>,
    log: Log<'a>,
    part: LogPart,
    /// For weighted walks.
    weighing: &'a mut Option<Weighing<'g>>,
    /// Walks that have not taken the current step come first.
    walkers: Vec<Walker>,
    replies: Replies,
    frontier: Frontier,
}

impl<'a, 'g> Steps<'a, 'g> {
    fn new(
        engine: &'a Engine,
        rule: &'a Rule<'a>,
        weighing: &'a mut Option<Weighing<'g>>,
        log: Log<'a>,
        rows: u32,
    ) -> Result<Self> {
        let mut part = log.part();
        let walker = |row| {
            let at = rule.start(log.first + u64::from(row));
            log.at(&mut part, row, 0, at);
            Walker { position: 0, at, before: NONE, candidate: NONE, row }
        };
        let walkers: Vec<Walker> = (0..rows).map(walker).collect();
        let replies = Replies {
            proposed: HugeVec::zeroed(rows as usize)?,
            verdicts: HugeVec::zeroed(rows as usize)?,
        };
        let frontier = Frontier::new(engine.graph().vertices())?;
        Ok(Self { engine, rule, log, part, weighing, walkers, replies, frontier })
    }

    /// All steps of all walks.
    fn run(mut self) -> Result<Tally> {
        for step in 1..=self.rule.steps() {
            let mut pending = self.restart(step);
            let mut trial = 0;
            while pending > 0 {
                pending = self.trial(step, trial, pending)?;
                trial += 1;
            }
            self.walkers.retain(|walker| walker.at != NONE);
            if self.walkers.is_empty() {
                break;
            }
        }
        Ok(self.log.close(self.part))
    }

    /// Sends walks that restart back to their starts. Returns how many others there are, which
    /// come first.
    fn restart(&mut self, step: u32) -> usize {
        let mut pending = 0;
        for i in 0..self.walkers.len() {
            let walk = self.log.first + u64::from(self.walkers[i].row);
            if self.rule.restarts(|| self.rule.draw(walk, step, 0)) {
                self.go_back(i, step);
            } else {
                self.walkers.swap(i, pending);
                pending += 1;
            }
        }
        pending
    }

    fn go_back(&mut self, i: usize, step: u32) {
        let row = self.walkers[i].row;
        let start = self.rule.start(self.log.first + u64::from(row));
        self.walkers[i].at = start;
        self.walkers[i].before = NONE;
        self.part.tally.restarts += 1;
        self.log.at(&mut self.part, row, step, start);
    }

    /// Makes a proposal to each of the first `pending` walks. Returns how many were rejected.
    fn trial(&mut self, step: u32, trial: u32, pending: usize) -> Result<usize> {
        if self.weighing.is_some() {
            self.propose_by_weight(step, trial, pending)?;
        } else {
            self.propose(step, trial, pending)?;
        }
        if let Some(corpus) = self.log.corpus {
            corpus.check()?;
        }
        let refused = self.settle(step, pending);
        self.test_edges(step, refused)
    }

    fn propose(&mut self, step: u32, trial: u32, pending: usize) -> Result<()> {
        let Self { engine, rule, log, .. } = *self;
        let walkers = &mut self.walkers[..pending];
        parallel::for_each_chunk_mut(walkers, parallel::BLOCK, |_, walkers| {
            for walker in walkers {
                let walk = log.first + u64::from(walker.row);
                walker.position = rule.draw(walk, step, trial).position;
            }
        });
        walkers.par_sort_unstable_by_key(|walker| (walker.at, walker.row));
        parallel::for_each_of(&self.replies.verdicts[..pending], |_, verdict| {
            verdict.store(0, Ordering::Relaxed);
        });
        self.frontier.set(walkers.iter().map(|walker| walker.at));
        let replies = &self.replies;
        let propose = Propose { rule, first: log.first, step, trial, walkers, replies };
        let (label, active) = (label(step, trial), ActiveSet::In(&self.frontier));
        if rule.ranks.is_natural() {
            engine.visit(label, Direction::Out, active, &propose)?;
            return Ok(());
        }
        let contradicted = AtomicBool::new(false);
        let graph = engine.graph();
        let kernel = ProposeById::new(propose, graph, &rule.ranks, &contradicted);
        if rule.is_weighted() {
            engine.visit_weighted(label, Direction::Out, active, &kernel)?;
        } else {
            engine.visit(label, Direction::Out, active, &kernel)?;
        }
        if contradicted.load(Ordering::Relaxed) {
            return Err(contradiction(graph));
        }
        Ok(())
    }

    fn propose_by_weight(&mut self, step: u32, trial: u32, pending: usize) -> Result<()> {
        let Self { engine, rule, log, walkers, weighing, replies, .. } = self;
        let weighing = weighing.as_mut().expect("the caller checked it");
        let walkers = &mut walkers[..pending];
        walkers.par_sort_unstable_by_key(|walker| (walker.at, walker.row));
        let of_vertex = walkers.chunk_by(|a, b| a.at == b.at);
        weighing.learn(engine, of_vertex.map(|same| same[0].at).collect())?;
        let weighing: &Weighing<'_> = weighing;
        parallel::for_each_chunk_mut(walkers, parallel::BLOCK, |_, walkers| {
            for walker in walkers {
                let walk = log.first + u64::from(walker.row);
                let word = || rule.draw(walk, step, trial).position;
                walker.position = weighing.page_of(walker.at, word);
            }
        });
        walkers.par_sort_unstable_by_key(|walker| (walker.position, walker.at, walker.row));
        parallel::for_each_of(&replies.verdicts[..pending], |_, verdict| {
            verdict.store(DEAD_END, Ordering::Relaxed);
        });
        let (mut tasks, mut from) = (Vec::new(), 0);
        for same in walkers.chunk_by(|a, b| a.position == b.position) {
            let to = from + same.len() as u32;
            tasks.push(PageTask { page: same[0].position, from, to });
            from = to;
        }
        let contradicted = AtomicBool::new(false);
        let propose = Propose { rule, first: log.first, step, trial, walkers, replies };
        let kernel = ProposeByWeight { weighing, propose, contradiction: &contradicted };
        engine.visit_weighted_pages(
            label(step, trial),
            Direction::Out,
            NamedPages::of_pass(&tasks),
            &kernel,
        )?;
        if contradicted.load(Ordering::Relaxed) {
            return Err(contradiction(engine.graph()));
        }
        Ok(())
    }

    /// Moves the walks whose proposal is decided. Returns how many others there are, which come
    /// first.
    fn settle(&mut self, step: u32, pending: usize) -> usize {
        let mut left = 0;
        for i in 0..pending {
            match self.replies.verdicts[i].load(Ordering::Relaxed) {
                DEAD_END => self.dead_end(i, step),
                TAKEN => {
                    let target = self.replies.proposed[i].load(Ordering::Relaxed);
                    self.go_on(i, step, target);
                }
                verdict => {
                    let candidate = match verdict {
                        REFUSED => NONE,
                        _ => self.replies.proposed[i].load(Ordering::Relaxed),
                    };
                    self.walkers[i].candidate = candidate;
                    // The free word stores whether the candidate must be a neighbour.
                    self.walkers[i].position = u64::from(verdict == TAKEN_IF_NEIGHBOUR);
                    self.walkers.swap(i, left);
                    left += 1;
                }
            }
        }
        left
    }

    /// Tests whether candidates are neighbours of the vertex before. Returns how many of the first
    /// `pending` walks need another proposal.
    fn test_edges(&mut self, step: u32, pending: usize) -> Result<usize> {
        let walkers = &mut self.walkers[..pending];
        walkers.par_sort_unstable_by_key(|walker| (walker.candidate == NONE, walker.before));
        let testing = walkers.partition_point(|walker| walker.candidate != NONE);
        if testing == 0 {
            return Ok(pending);
        }
        let (walkers, replies) = (&walkers[..testing], &self.replies);
        fill(&replies.proposed[..testing], NONE);
        self.frontier.set(walkers.iter().map(|walker| walker.before));
        let kernel = TestEdges { walkers, replies };
        let active = ActiveSet::In(&self.frontier);
        self.engine.visit(format!("edges {step}"), Direction::Out, active, &kernel)?;
        let mut refused = 0;
        for i in 0..pending {
            let Walker { candidate, position, .. } = self.walkers[i];
            let found = i < testing && self.replies.proposed[i].load(Ordering::Relaxed) != NONE;
            if i < testing && found == (position == 1) {
                self.go_on(i, step, candidate);
            } else {
                self.walkers.swap(i, refused);
                refused += 1;
            }
        }
        Ok(refused)
    }

    fn go_on(&mut self, i: usize, step: u32, target: VertexId) {
        let walker = &mut self.walkers[i];
        walker.before = walker.at;
        walker.at = target;
        self.part.tally.steps += 1;
        self.log.at(&mut self.part, walker.row, step, target);
    }

    fn dead_end(&mut self, i: usize, step: u32) {
        let Walker { at, row, .. } = self.walkers[i];
        if self.rule.leaves_dead_end(at, self.rule.start(self.log.first + u64::from(row))) {
            self.go_back(i, step);
        } else {
            self.walkers[i].at = NONE;
            self.part.tally.dead_ends += 1;
        }
    }
}

fn label(step: u32, trial: u32) -> String {
    if trial == 0 { format!("step {step}") } else { format!("step {step}, trial {}", trial + 1) }
}

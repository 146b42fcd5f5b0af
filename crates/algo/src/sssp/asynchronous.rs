//! Search without steps: for searches of many small steps whose lists do not fit in memory, or
//! whose vertices lie in the order of clusters.
//!
//! **Trick.** A page is searched until no distance changes inside it, nearest vertex first. A round
//! visits the pages of the smallest active distances ([`Worklist`]), which are mostly final.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cenote_engine::{
    Bitmap, Direction, Engine, Kernel, NamedPages, Page, PageTask, Purpose, VertexId,
};

use super::default_delta;
use super::length::{Lengths, UNREACHED};
use super::relax::for_each_path;
use crate::kind::is_clustered;
use crate::report::Result;
use crate::worklist::{IDLE, Progress, Slack, Worklist};

/// A round takes distances of at most so many buckets of the usual width where vertices lie in the
/// order of clusters: the pages that these cross mostly stay in memory until the next.
const BUCKETS_CLUSTERED: f64 = 2.0;

/// A search that lowers distances until no edge can.
pub(super) struct Asynchronous<'a> {
    engine: &'a Engine,
    distances: &'a [AtomicU64],
    lengths: Lengths,
    /// How far distances of a round lie apart at most where pages are clustered.
    apart: f64,
    worklist: Worklist<'a>,
    progress: Progress,
    /// Longer paths are ignored. It only falls.
    bound: AtomicU64,
}

impl<'a> Asynchronous<'a> {
    /// A search without active vertices. `active` is an empty set over the vertices.
    pub fn new(
        engine: &'a Engine,
        distances: &'a [AtomicU64],
        lengths: Lengths,
        active: &'a Bitmap,
    ) -> Result<Self> {
        let adjacency = engine.graph().adjacency(Direction::Out).expect("every graph has lists");
        let worklist = Worklist::new(adjacency, active)?;
        let (progress, bound) = (Progress::default(), AtomicU64::new(u64::MAX));
        let apart = BUCKETS_CLUSTERED * default_delta(engine.graph());
        Ok(Self { engine, distances, lengths, apart, worklist, progress, bound })
    }

    fn distance(&self, v: VertexId) -> u64 {
        self.distances[v as usize].load(Ordering::Relaxed)
    }

    /// Makes the list of `v` active.
    pub fn activate(&self, v: VertexId) {
        self.worklist.activate(v, self.distance(v));
    }

    /// Where the distances of the next round end at the latest.
    fn round_end(&self) -> u64 {
        if !is_clustered(self.engine.graph()) {
            return IDLE;
        }
        match self.worklist.first() {
            IDLE => IDLE,
            first => self.lengths.bucket_end(first, self.apart),
        }
    }

    /// Searches until no distance of at most `bound()` can fall; returns the number of rounds.
    /// `bound` is called before every round and must not rise.
    pub fn run(&self, bound: impl Fn() -> u64) -> Result<u64> {
        let mut slack = Slack::new(1);
        let mut rounds = 0;
        loop {
            let bound = bound();
            self.bound.store(bound, Ordering::Relaxed);
            let end = bound.saturating_add(1).min(self.round_end());
            let tasks = slack.next_round(&self.worklist, end, &self.progress);
            if tasks.is_empty() {
                return Ok(rounds);
            }
            rounds += 1;
            let (label, pages) = (format!("round {rounds}"), NamedPages::of_step(&tasks));
            if self.engine.graph().is_weighted() {
                self.engine.visit_weighted_pages(label, Direction::Out, pages, self)?;
            } else {
                self.engine.visit_pages(label, Direction::Out, pages, self)?;
            }
        }
    }
}

impl Kernel for Asynchronous<'_> {
    /// The vertices of a page that are still to be followed, nearest first.
    type Local = BinaryHeap<Reverse<(u64, VertexId)>>;

    fn local(&self) -> Self::Local {
        BinaryHeap::new()
    }

    /// All of them: which vertices are followed shows while the page is searched.
    fn entries(&self, page: &Page<'_>, _: PageTask) -> Range<usize> {
        0..page.entries().len()
    }

    fn page(&self, waiting: &mut Self::Local, page: &Page<'_>, purpose: &Purpose<'_>) {
        let number = purpose.task.page;
        self.worklist.take(number, page, |v| waiting.push(Reverse((0, v))));
        let taken: Vec<_> = waiting.drain().map(|Reverse((_, v))| v).collect();
        waiting.extend(taken.into_iter().map(|v| Reverse((self.distance(v), v))));
        let (starting, runs_on) = (self.worklist.starting(number), self.worklist.runs_on(number));
        let bound = self.bound.load(Ordering::Relaxed);
        let (mut followed, mut reached) = (0, 0);
        while let Some(Reverse((before, v))) = waiting.pop() {
            if self.distance(v) < before {
                continue;
            }
            followed += 1;
            let weights = purpose.weights.as_ref();
            for_each_path((page, v), (self.lengths, before), weights, |target, sum| {
                let cell = &self.distances[target as usize];
                if sum > bound || sum >= cell.load(Ordering::Relaxed) {
                    return;
                }
                let before = cell.fetch_min(sum, Ordering::Relaxed);
                if sum >= before {
                    return;
                }
                reached += u64::from(before == UNREACHED);
                if !starting.contains(&target) {
                    return self.worklist.activate(target, sum);
                }
                waiting.push(Reverse((sum, target)));
                if runs_on == Some(target) {
                    self.worklist.activate_further(target, sum);
                }
            });
        }
        self.progress.add(followed, reached);
    }
}

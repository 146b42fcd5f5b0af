//! Parents, once all distances are in the file, by the rule of those [in
//! memory](super::super::parents).
//!
//! Band by band the lists are visited once more. The bounds, which are those of the distances now,
//! tell of most edges that no shortest path ends with them. The others are candidates, which go to
//! the band of their target; it has its distance and decides.

use std::ops::Range;
use std::sync::atomic::Ordering;

use cenote_engine::{Bitmap, Engine, Frontier, Messages, Outbox, Sender, StateFile, VertexId};

use super::super::length::{Lengths, UNREACHED};
use super::super::relax::{Sums, visit};
use super::band::Band;
use super::bounds::Bounds;
use super::relax::Waiting;
use crate::bands::Layout;
use crate::bands::parents::{MESSAGE_BYTES, Proposals, Propose};
use crate::parallel;
use crate::report::Result;

/// Bytes of a candidate: target and source of the edge, and the length of the path over it.
pub(super) const CANDIDATE_BYTES: usize = 16;

#[inline(always)]
fn candidate(v: VertexId, parent: VertexId, length: u64) -> [u8; CANDIDATE_BYTES] {
    let pair = u64::from(v) | u64::from(parent) << 32;
    (u128::from(pair) | u128::from(length) << 64).to_le_bytes()
}

#[inline(always)]
fn parts(candidate: &[u8; CANDIDATE_BYTES]) -> (VertexId, VertexId, u64) {
    let all = u128::from_le_bytes(*candidate);
    (all as u32, (all >> 32) as u32, (all >> 64) as u64)
}

/// The finished distances.
pub(super) struct Found<'a> {
    pub engine: &'a Engine,
    pub layout: &'a Layout,
    pub file: &'a StateFile,
    /// Place of the distances.
    pub place: u64,
    pub lengths: Lengths,
    pub sources: &'a [VertexId],
    pub bounds: &'a Bounds,
}

/// Sets of vertices: each takes a bit of each vertex.
pub(super) struct Sets {
    /// Reached, and without a parent.
    pub open: Bitmap,
    /// With an edge that adds nothing to the distance; then, level by level, those whose parents
    /// were found last.
    pub tied: Bitmap,
    pub next: Bitmap,
}

/// Proposes the parents of all reached vertices. The frontier is used as scratch.
pub(super) fn propose(
    found: &Found<'_>,
    sets: Sets,
    frontier: &mut Frontier,
    proposals: &Proposals<'_>,
) -> Result<()> {
    let Found { engine, layout, file, .. } = *found;
    let messages = Messages::new(engine, file, layout.bands, layout.block_bytes);
    let candidates = Candidates {
        messages: &messages,
        outbox: Outbox::new(engine, &messages),
        waiting: (0..layout.bands).map(|_| Waiting::new()).collect(),
    };
    let mut search = Search { found, band: Band::new(layout)?, candidates, proposals, sets };
    search.begin()?;
    search.at_smaller_distances(frontier)?;
    search.at_no_distance(frontier)?;
    proposals.close()
}

/// The search for parents.
struct Search<'a, 'm, 'p> {
    found: &'a Found<'a>,
    band: Band,
    candidates: Candidates<'m>,
    proposals: &'a Proposals<'p>,
    sets: Sets,
}

impl Search<'_, '_, '_> {
    /// Opens all reached vertices but the sources, and sets the bounds to the distances.
    fn begin(&mut self) -> Result<()> {
        let Sets { open, tied, next } = &mut self.sets;
        [open, tied, next].into_iter().for_each(Bitmap::clear);
        for range in self.found.bands() {
            self.found.read(&mut self.band, &range, None)?;
            parallel::for_each_of(&self.band.distances[..range.len()], |at, distance| {
                let distance = distance.load(Ordering::Relaxed);
                let v = range.start + at as VertexId;
                self.found.bounds.set(v, distance);
                if distance != UNREACHED {
                    self.sets.open.insert(v);
                }
            });
        }
        self.proposals.propose_sources(self.found.sources)?;
        self.found.sources.iter().for_each(|&source| self.sets.open.remove(source));
        Ok(())
    }

    /// Finds the parents that are nearer than their vertices, and the vertices with ties.
    fn at_smaller_distances(&mut self, frontier: &mut Frontier) -> Result<()> {
        for range in self.found.bands() {
            self.found.read(&mut self.band, &range, None)?;
            frontier.set(range.filter(|v| self.band.distance(*v) != UNREACHED));
            self.visit("parents", frontier, false)?;
        }
        self.decide(false)
    }

    /// Finds the parents of the others, level by level.
    fn at_no_distance(&mut self, frontier: &mut Frontier) -> Result<()> {
        self.sets.open.iter().for_each(|v| self.sets.tied.remove(v));
        let all = 0..self.found.layout.vertices as VertexId;
        while [&self.sets.open, &self.sets.tied].iter().all(|set| set.any_in(all.clone(), false)) {
            self.sets.next.clear();
            for range in self.found.bands() {
                let few_max = self.band.sparse_max();
                let tied = self.sets.tied.iter_in(range.clone());
                let few: Vec<_> = tied.take(few_max + 1).collect();
                if few.is_empty() {
                    continue;
                }
                let few = Some(few).filter(|few| few.len() <= few_max);
                self.found.read(&mut self.band, &range, few.as_deref())?;
                frontier.set(self.sets.tied.iter_in(range));
                self.visit("parents at no distance", frontier, true)?;
            }
            self.decide(true)?;
            let Sets { open, tied, next } = &mut self.sets;
            next.iter().for_each(|v| open.remove(v));
            std::mem::swap(tied, next);
        }
        Ok(())
    }

    /// Looks at the edges of vertices of the band.
    fn visit(&self, label: &str, frontier: &Frontier, is_tie: bool) -> Result<()> {
        if !frontier.is_empty() {
            let edges = Edges { search: self, is_tie };
            visit(self.found.engine, label.to_owned(), frontier, &edges)?;
            self.candidates.outbox.check()?;
            self.proposals.check()?;
        }
        Ok(())
    }

    /// Has the bands of their targets decide on the candidates.
    fn decide(&mut self, is_tie: bool) -> Result<()> {
        self.candidates.outbox.close()?;
        for (at, range) in self.found.bands().enumerate() {
            let waiting = &self.candidates.waiting[at];
            if waiting.count() == 0 {
                continue;
            }
            self.found.read(&mut self.band, &range, None)?;
            let each = |sender: &mut _, message: &[u8; CANDIDATE_BYTES]| {
                let (v, parent, length) = parts(message);
                if length == self.band.distance(v) {
                    self.proposals.propose(sender, v, parent);
                    self.sets.found(v, is_tie);
                }
            };
            let (begin, end) =
                (|| self.proposals.begin(), |sender: &mut _| self.proposals.end(sender));
            self.candidates.messages.take_with(at, begin, each, end)?;
            self.proposals.check()?;
            waiting.clear();
        }
        Ok(())
    }
}

impl<'a> Found<'a> {
    /// The vertices of each band.
    fn bands(&self) -> impl Iterator<Item = Range<VertexId>> + use<'a> {
        let layout = self.layout;
        (0..layout.bands).map(|band| layout.range(band))
    }

    /// Reads the band of these vertices, if it is not in memory; of few vertices only their pages.
    fn read(
        &self,
        band: &mut Band,
        range: &Range<VertexId>,
        only: Option<&[VertexId]>,
    ) -> Result<()> {
        self.engine.check_cancel()?;
        if only.is_some() || band.range != *range || band.bytes() < 8 * range.len() as u64 {
            let place = self.place + 8 * u64::from(range.start);
            band.read(range.clone(), (self.file, place), only)?;
        }
        Ok(())
    }
}

/// Edges that may be the last of a shortest path, to vertices whose distance is not in memory.
struct Candidates<'m> {
    messages: &'m Messages<'m, CANDIDATE_BYTES>,
    outbox: Outbox<'m, CANDIDATE_BYTES>,
    /// By band.
    waiting: Vec<Waiting>,
}

impl Sets {
    /// Notes that a vertex has a parent. Of ties all parents of a level count, so it stays open
    /// until the level ends.
    fn found(&self, v: VertexId, is_tie: bool) {
        match is_tie {
            true if !self.next.contains(v) => _ = self.next.insert(v),
            false if self.open.contains(v) => self.open.remove(v),
            _ => {}
        }
    }
}

/// Looks for parents among the edges of the vertices of a band.
struct Edges<'a, 'm, 'p> {
    search: &'a Search<'a, 'm, 'p>,
    /// Whether edges count that add nothing to the distance, to open vertices, or those that do.
    is_tie: bool,
}

/// What a worker thread sends with; `None` from its end on.
struct Senders<'m, 'p> {
    candidates: Option<Sender<'m, CANDIDATE_BYTES>>,
    proposals: Option<Sender<'p, MESSAGE_BYTES>>,
}

impl<'m, 'p> Sums for Edges<'_, 'm, 'p> {
    type Local = Senders<'m, 'p>;

    fn local(&self) -> Self::Local {
        let candidates = Some(self.search.candidates.outbox.take());
        Senders { candidates, proposals: self.search.proposals.begin() }
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.search.band.distance(v)
    }

    fn lengths(&self) -> Lengths {
        self.search.found.lengths
    }

    fn end(&self, senders: &mut Self::Local) {
        senders
            .candidates
            .take()
            .into_iter()
            .for_each(|sender| self.search.candidates.outbox.put_back(sender));
        self.search.proposals.end(&mut senders.proposals);
    }

    #[inline(always)]
    fn path(&self, senders: &mut Self::Local, u: VertexId, before: u64, v: VertexId, sum: u64) {
        if u == v || !self.search.found.bounds.may_be_of(v, sum) {
            return;
        }
        match (before == sum, self.is_tie) {
            (true, false) => {
                if !self.search.sets.tied.contains(u) {
                    self.search.sets.tied.insert(u);
                }
                return;
            }
            (true, true) if self.search.sets.open.contains(v) => {}
            (false, false) => {}
            _ => return,
        }
        if self.search.band.has(v) {
            if sum == self.search.band.distance(v) {
                self.search.proposals.propose(&mut senders.proposals, v, u);
                self.search.sets.found(v, self.is_tie);
            }
        } else if let Some(sender) = &mut senders.candidates {
            let band = self.search.found.layout.band_of(v);
            self.search.candidates.waiting[band].add(sum);
            sender.send(band, &candidate(v, u, sum));
        }
    }
}

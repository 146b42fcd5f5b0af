//! Parents, once all distances are in the file, by the rule of those [in
//! memory](super::super::parents).
//!
//! Band by band the lists are visited once more. The bounds, which are those of the distances now,
//! tell of most edges that no shortest path ends with them. The others are candidates, which go to
//! the band of their target; it has its distance and decides.

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
    mut sets: Sets,
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
    let mut band = Band::new(layout)?;
    [&mut sets.open, &mut sets.tied, &mut sets.next].into_iter().for_each(Bitmap::clear);
    for range in (0..layout.bands).map(|at| layout.range(at)) {
        engine.check_cancel()?;
        found.read(&mut band, range.start, None)?;
        parallel::for_each_of(&band.distances[..range.len()], |at, distance| {
            let (v, distance) = (range.start + at as VertexId, distance.load(Ordering::Relaxed));
            found.bounds.set(v, distance);
            if distance != UNREACHED {
                sets.open.insert(v);
            }
        });
    }
    proposals.propose_sources(found.sources)?;
    found.sources.iter().for_each(|&source| sets.open.remove(source));
    for range in (0..layout.bands).map(|at| layout.range(at)) {
        engine.check_cancel()?;
        found.read(&mut band, range.start, None)?;
        let reached = |v: &VertexId| band.distance(*v) != UNREACHED;
        frontier.set(range.filter(reached));
        let (sets, is_tie) = (&sets, false);
        let kernel = Edges { found, band: &band, candidates: &candidates, proposals, sets, is_tie };
        kernel.visit("parents", frontier)?;
    }
    candidates.decide(found, &mut band, (&sets, false), proposals)?;
    let Sets { open, tied, .. } = &sets;
    open.iter().for_each(|v| tied.remove(v));
    while sets.open.any_in(0..layout.vertices as VertexId, false) {
        sets.next.clear();
        let mut is_last = true;
        for range in (0..layout.bands).map(|at| layout.range(at)) {
            if !sets.tied.any_in(range.clone(), false) {
                continue;
            }
            is_last = false;
            engine.check_cancel()?;
            let few: Vec<_> =
                sets.tied.iter_in(range.clone()).take(band.sparse_max() + 1).collect();
            let few = Some(few).filter(|few| few.len() <= band.sparse_max());
            found.read(&mut band, range.start, few.as_deref())?;
            frontier.set(sets.tied.iter_in(range));
            let (sets, is_tie) = (&sets, true);
            let kernel =
                Edges { found, band: &band, candidates: &candidates, proposals, sets, is_tie };
            kernel.visit("parents at no distance", frontier)?;
        }
        if is_last {
            break;
        }
        candidates.decide(found, &mut band, (&sets, true), proposals)?;
        let Sets { open, next, .. } = &sets;
        next.iter().for_each(|v| open.remove(v));
        std::mem::swap(&mut sets.tied, &mut sets.next);
    }
    proposals.close()
}

impl Found<'_> {
    /// Reads the band that begins with this vertex; of few vertices only their pages.
    fn read(&self, band: &mut Band, first: VertexId, only: Option<&[VertexId]>) -> Result<()> {
        let range = self.layout.range(self.layout.band_of(first));
        if only.is_some() || band.range != range || band.bytes() < 8 * range.len() as u64 {
            let place = self.place + 8 * u64::from(range.start);
            band.read(range, (self.file, place), only)?;
        }
        Ok(())
    }
}

/// Edges to other bands that may be the last of a shortest path.
struct Candidates<'m> {
    messages: &'m Messages<'m, CANDIDATE_BYTES>,
    outbox: Outbox<'m, CANDIDATE_BYTES>,
    /// By band.
    waiting: Vec<Waiting>,
}

impl Candidates<'_> {
    /// Has the bands of their targets decide.
    fn decide(
        &self,
        found: &Found<'_>,
        band: &mut Band,
        (sets, is_tie): (&Sets, bool),
        proposals: &Proposals<'_>,
    ) -> Result<()> {
        self.outbox.close()?;
        for (at, waiting) in self.waiting.iter().enumerate().filter(|(_, band)| band.count() > 0) {
            found.engine.check_cancel()?;
            found.read(band, found.layout.range(at).start, None)?;
            let each = |sender: &mut _, message: &[u8; CANDIDATE_BYTES]| {
                let (v, parent, length) = parts(message);
                if length == band.distance(v) {
                    proposals.propose(sender, v, parent);
                    sets.found(v, is_tie);
                }
            };
            let end = |sender: &mut _| proposals.end(sender);
            self.messages.take_with(at, || proposals.begin(), each, end)?;
            proposals.check()?;
            waiting.clear();
        }
        Ok(())
    }
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
    found: &'a Found<'a>,
    band: &'a Band,
    candidates: &'a Candidates<'m>,
    proposals: &'a Proposals<'p>,
    sets: &'a Sets,
    /// Whether edges count that add nothing to the distance, to open vertices, or those that do.
    is_tie: bool,
}

/// What a worker thread sends with; `None` from its end on.
struct Senders<'m, 'p> {
    candidates: Option<Sender<'m, CANDIDATE_BYTES>>,
    proposals: Option<Sender<'p, MESSAGE_BYTES>>,
}

impl Edges<'_, '_, '_> {
    fn visit(&self, label: &str, frontier: &Frontier) -> Result<()> {
        if !frontier.is_empty() {
            visit(self.found.engine, label.to_owned(), frontier, self)?;
            self.candidates.outbox.check()?;
            self.proposals.check()?;
        }
        Ok(())
    }
}

impl<'m, 'p> Sums for Edges<'_, 'm, 'p> {
    type Local = Senders<'m, 'p>;

    fn local(&self) -> Self::Local {
        let candidates = Some(self.candidates.outbox.take());
        Senders { candidates, proposals: self.proposals.begin() }
    }

    #[inline(always)]
    fn distance(&self, v: VertexId) -> u64 {
        self.band.distance(v)
    }

    fn lengths(&self) -> Lengths {
        self.found.lengths
    }

    fn end(&self, senders: &mut Self::Local) {
        senders
            .candidates
            .take()
            .into_iter()
            .for_each(|sender| self.candidates.outbox.put_back(sender));
        self.proposals.end(&mut senders.proposals);
    }

    #[inline(always)]
    fn path(&self, senders: &mut Self::Local, u: VertexId, before: u64, v: VertexId, sum: u64) {
        if u == v || !self.found.bounds.may_be_of(v, sum) {
            return;
        }
        match (before == sum, self.is_tie) {
            (true, false) => {
                if !self.sets.tied.contains(u) {
                    self.sets.tied.insert(u);
                }
                return;
            }
            (true, true) if self.sets.open.contains(v) => {}
            (false, false) => {}
            _ => return,
        }
        if self.band.has(v) {
            if sum == self.band.distance(v) {
                self.proposals.propose(&mut senders.proposals, v, u);
                self.sets.found(v, self.is_tie);
            }
        } else if let Some(sender) = &mut senders.candidates {
            let band = self.found.layout.band_of(v);
            self.candidates.waiting[band].add(sum);
            sender.send(band, &candidate(v, u, sum));
        }
    }
}

//! Parents of searches: of those that are proposed for a vertex, the one with the smallest id.
//!
//! A search sends each vertex with its possible parents as messages to the vertex's band, which
//! takes the smallest of them at the end. Where vertices are not in the order of their ids, ranks
//! decide: they are looked up band by band, and so are the vertices of the smallest ranks.

use std::ops::Range;
use std::sync::atomic::Ordering;

use cenote_engine::{
    Direction, Engine, Graph, HugeVec, Messages, Outbox, Sender, StateFile, VertexId,
};

use super::plan::{Layout, Traffic};
use crate::parallel::fill;
use crate::ranks::{NO_PARENT, Ranks, Vertices, is_natural};
use crate::report::Result;

/// Bytes of a message: a vertex of the band that it is sent to, and a value.
pub(crate) const MESSAGE_BYTES: usize = 8;

/// Pairs of a vertex of the band and a value.
pub(crate) type Pairs<'a> = Messages<'a, MESSAGE_BYTES>;

fn message(key: VertexId, value: u32) -> [u8; MESSAGE_BYTES] {
    (u64::from(key) | u64::from(value) << 32).to_le_bytes()
}

fn parts(message: &[u8; MESSAGE_BYTES]) -> (VertexId, u32) {
    let both = u64::from_le_bytes(*message);
    (both as u32, (both >> 32) as u32)
}

/// The most bytes of proposed parents: each entry of a list leads to a vertex once.
pub(crate) fn message_bytes_max(graph: &Graph) -> u64 {
    let entries = graph.adjacency(Direction::Out).map_or(0, |lists| lists.stored_edges());
    let times = if is_natural(graph) { 1 } else { 2 };
    times * MESSAGE_BYTES as u64 * (entries + graph.vertices() as u64)
}

/// What parents move, of which so many are proposed a vertex.
pub(crate) fn traffic(graph: &Graph, proposed: f64) -> Traffic {
    let (n, pair) = (graph.vertices() as u64, MESSAGE_BYTES as u64);
    let proposals = (proposed * (pair * n) as f64) as u64;
    let (arrays, messages) = match is_natural(graph) {
        true => (0, proposals),
        // Ranks and their vertices, and what is sent to look them up.
        false => (8 * n, 2 * proposals + 2 * pair * n),
    };
    Traffic {
        file_bytes: messages + arrays + 4 * n,
        state_bytes_read: messages + arrays,
        bytes_written: messages + arrays + 4 * n,
        block_bytes: messages,
        because: "; parents go as messages to the bands of their vertices".to_owned(),
    }
}

/// Where a step proposes parents; nowhere, if they are not asked for.
pub(crate) trait Propose: Copy + Sync {
    /// What a worker thread sends with.
    type Sender: Send;

    /// On a worker thread.
    fn begin(self) -> Self::Sender;

    /// Proposes `parent` for `v`.
    fn propose(self, sender: &mut Self::Sender, v: VertexId, parent: VertexId);

    /// Whether the first of ascending parents is the one of the smallest id.
    fn is_first_enough(self) -> bool;

    /// Whether a proposal could not be sent: [`Propose::check`] says why.
    fn has_failed(self, sender: &Self::Sender) -> bool;

    /// On the thread that has begun.
    fn end(self, sender: &mut Self::Sender);

    fn check(self) -> Result<()>;
}

/// Parents are not asked for.
impl Propose for () {
    type Sender = ();

    fn begin(self) {}

    #[inline(always)]
    fn propose(self, (): &mut (), _: VertexId, _: VertexId) {}

    fn is_first_enough(self) -> bool {
        true
    }

    fn has_failed(self, (): &()) -> bool {
        false
    }

    fn end(self, (): &mut ()) {}

    fn check(self) -> Result<()> {
        Ok(())
    }
}

/// Proposes parents in messages.
pub(crate) struct Proposals<'m> {
    outbox: Outbox<'m, MESSAGE_BYTES>,
    layout: &'m Layout,
    /// To the band of the vertex; else to that of the parent, whose rank decides.
    is_natural: bool,
}

impl<'m> Proposals<'m> {
    pub fn new(engine: &'m Engine, layout: &'m Layout, pairs: &'m Pairs<'m>) -> Self {
        let outbox = Outbox::new(engine, pairs);
        Self { outbox, layout, is_natural: is_natural(engine.graph()) }
    }

    /// Proposes each source as its own parent.
    pub fn propose_sources(&self, sources: &[VertexId]) -> Result<()> {
        let mut sender = self.begin();
        sources.iter().for_each(|&source| self.propose(&mut sender, source, source));
        self.end(&mut sender);
        self.check()
    }

    /// Ends the search; all proposals wait for their bands then.
    pub fn close(&self) -> Result<()> {
        Ok(self.outbox.close()?)
    }
}

impl<'m> Propose for &Proposals<'m> {
    /// `None` from its end on.
    type Sender = Option<Sender<'m, MESSAGE_BYTES>>;

    fn begin(self) -> Self::Sender {
        Some(self.outbox.take())
    }

    #[inline(always)]
    fn propose(self, sender: &mut Self::Sender, v: VertexId, parent: VertexId) {
        let (key, value) = if self.is_natural { (v, parent) } else { (parent, v) };
        if let Some(sender) = sender {
            sender.send(self.layout.band_of(key), &message(key, value));
        }
    }

    fn is_first_enough(self) -> bool {
        self.is_natural
    }

    fn has_failed(self, sender: &Self::Sender) -> bool {
        sender.as_ref().is_some_and(Sender::has_failed)
    }

    fn end(self, sender: &mut Self::Sender) {
        if let Some(sender) = sender.take() {
            self.outbox.put_back(sender);
        }
    }

    fn check(self) -> Result<()> {
        Ok(self.outbox.check()?)
    }
}

/// Writes the parents of all vertices, of those that were proposed; returns their place.
pub(crate) fn write(
    engine: &Engine,
    (file, layout): (&StateFile, &Layout),
    proposed: Pairs<'_>,
) -> Result<u64> {
    let bands = Bands { engine, file, layout };
    let mut memory = HugeVec::zeroed(layout.band.min(layout.vertices))?;
    let place = file.reserve(4 * layout.vertices as u64);
    let proposed = match Ranks::write(engine.graph(), file, &mut memory)? {
        None => proposed,
        Some(ranks) => bands.by_rank(proposed, ranks, &mut memory)?,
    };
    bands.for_each_smallest(&proposed, &mut memory, |range, parents| {
        Ok(file.write(place + 4 * u64::from(range.start), parents)?)
    })?;
    Ok(place)
}

/// Bands of values, looked at one after the other.
struct Bands<'a> {
    engine: &'a Engine,
    file: &'a StateFile,
    layout: &'a Layout,
}

impl<'a> Bands<'a> {
    fn pairs(&self) -> Pairs<'a> {
        Pairs::new(self.engine, self.file, self.layout.bands, self.layout.block_bytes)
    }

    /// Of pairs of a parent and a vertex, for each vertex the parent of the smallest rank: pairs of
    /// the vertex and this parent. Buffers of two kinds of pairs are in memory at a time.
    fn by_rank<'p>(
        &self,
        pairs: Pairs<'p>,
        ranks: u64,
        memory: &mut HugeVec<u32>,
    ) -> Result<Pairs<'p>>
    where
        'a: 'p,
    {
        let ranked = self.look_up(&pairs, ranks, memory)?;
        drop(pairs);
        let smallest = self.pairs();
        self.for_each_smallest(&ranked, memory, |range, ranks| {
            let mut sender = smallest.sender();
            for (v, &rank) in range.zip(ranks).filter(|(_, rank)| **rank != NO_PARENT) {
                sender.send(self.layout.band_of(rank), &message(rank, v));
            }
            sender.finish();
            Ok(smallest.post([sender])?)
        })?;
        drop(ranked);
        let vertices = Vertices::write(self.engine.graph(), self.file, memory)?;
        self.look_up(&smallest, vertices, memory)
    }

    /// Turns pairs of a key and a vertex into pairs of the vertex and the value of the key.
    fn look_up(
        &self,
        pairs: &Pairs<'_>,
        values: u64,
        memory: &mut HugeVec<u32>,
    ) -> Result<Pairs<'a>> {
        let found = self.pairs();
        for band in 0..self.layout.bands {
            self.engine.check_cancel()?;
            let range = self.layout.range(band);
            let of_band = &mut memory[..range.len()];
            self.file.read(values + 4 * u64::from(range.start), of_band)?;
            let each = |sender: &mut Sender<'_, MESSAGE_BYTES>, pair: &[u8; MESSAGE_BYTES]| {
                let (key, v) = parts(pair);
                let value = of_band[(key - range.start) as usize];
                sender.send(self.layout.band_of(v), &message(v, value));
            };
            let sent = pairs.take_with(band, || found.sender(), each, Sender::finish)?;
            found.post(sent)?;
        }
        Ok(found)
    }

    /// Calls `each` with the vertices of each band, and for each of them the smallest value that
    /// was sent to it, [`NO_PARENT`] without one.
    fn for_each_smallest(
        &self,
        pairs: &Pairs<'_>,
        memory: &mut HugeVec<u32>,
        mut each: impl FnMut(Range<VertexId>, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let mut smallest = std::mem::replace(memory, HugeVec::zeroed(0)?).into_atomic();
        for band in 0..self.layout.bands {
            self.engine.check_cancel()?;
            let range = self.layout.range(band);
            fill(&smallest, NO_PARENT);
            pairs.take(band, |pair| {
                let (v, value) = parts(pair);
                smallest[(v - range.start) as usize].fetch_min(value, Ordering::Relaxed);
            })?;
            let plain = smallest.into_plain();
            each(range.clone(), &plain[..range.len()])?;
            smallest = plain.into_atomic();
        }
        *memory = smallest.into_plain();
        Ok(())
    }
}
